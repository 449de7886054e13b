# SPDX-License-Identifier: BSD-2-Clause
"""A system that goes silent: the root task says what each PD does, and the run says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cellreap.cli.main import cli
from cellreap.testing import Target
from kit.kernels import needs_timer

CONFIG = """\
[system]
name = "silent"

[[program]]
name = "spinning"
sources = ["spinning.c"]

[[program]]
name = "calling"
sources = ["calling.c"]

[[program]]
name = "waiting"
sources = ["waiting.c"]

[[program]]
name = "starving"
sources = ["starving.c"]

[[pd]]
name = "server"
program = "spinning"
[[pd.space]]
name = "things"
type = "THING"

[[pd]]
name = "client"
program = "calling"
requests = ["things"]

[[pd]]
name = "waiter"
program = "waiting"

[[pd]]
name = "starved"
program = "starving"
priority = 60
"""
WORK = """\
#include <cellreap/client.h>
static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}
"""
FILES = {
    "silent.toml": CONFIG,
    "spinning.c": f"""\
{WORK}
__attribute__((noinline)) static void spin(volatile uint32_t *turns)
{{
    for (;;) {{
        (*turns)++;
    }}
}}
static uint32_t serve(cr_incoming *m)
{{
    volatile uint32_t turns = 0;
    (void)m;
    spin(&turns);
    return CR_REPLY_BASE;
}}
void cr_main(void)
{{
    static const cr_server server = {{.serve = serve, .work = work}};
    cr_say_text("I serve");
    (void)cr_own_space();
    cr_serve(&server);
}}
""",
    "calling.c": """\
#include <cellreap/client.h>
void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    uint64_t number = 1;
    uint64_t answer = 0;
    uint32_t received;
    if (cr_connect("things", 1, &slot, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    cr_say_text("I call");
    (void)cr_call(slot, 0x200, &number, 1, &answer, 1, &received);
    cr_exit(2);
}
""",
    "waiting.c": f"""\
{WORK}
void cr_main(void)
{{
    cr_say_text("I wait");
    cr_wait_for_work(work);
}}
""",
    # It could run, but the server never lets it.
    "starving.c": """\
#include <cellreap/client.h>
void cr_main(void)
{
    volatile uint32_t turns = 0;
    for (;;) {
        turns++;
    }
}
""",
}


@pytest.fixture(scope="module")
def shown(target: Target, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The report on a run that goes silent, and the folder with its files."""
    folder = tmp_path_factory.mktemp("silent")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    kept = folder / "kept"
    kernel = ["--arch", target.sdk.kernel.arch, "--sdk", str(target.sdk.root)]
    command = ["run", str(folder / "silent.toml"), *kernel, "--idle", "9", "--json", "-o"]
    done = CliRunner().invoke(cli, [*command, str(kept)], standalone_mode=False)
    assert done.return_value == 4, done.output
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found, kept


@pytest.mark.behaviour("Y-05")
def test_each_pd_is_told_with_what_it_waits_for_and_said_last(
    shown: tuple[dict[str, Any], Path],
) -> None:
    silence = shown[0]["silence"]
    assert silence["ms"] >= 5000
    pds = {each["name"]: each for each in silence["pds"]}
    server, client, waiter, starved = (pds[x] for x in ("server", "client", "waiter", "starved"))
    assert (server["state"], server["chance"], server["said"]) == ("runs", True, "I serve")
    assert server["place"].startswith("spin at spinning.c:")
    assert (client["state"], client["on"], client["said"]) == ("call", server["pd"], "I call")
    assert (waiter["state"], waiter["slot"], waiter["said"]) == ("receive", 3, "I wait")
    assert client["chance"]
    assert waiter["chance"]
    assert (starved["chance"], starved["said"]) == (False, None)
    assert (shown[0]["verdict"], shown[0]["violations"]) == ("no end", [])
    assert shown[0]["boot"]["end"] == "silent"


@pytest.mark.behaviour("Y-05", "Y-08")
def test_the_story_of_the_kept_trace_has_a_line_for_each_pd(
    shown: tuple[dict[str, Any], Path],
) -> None:
    kept = shown[1]
    command = ["show", str(kept / "silent.trace"), "--image", str(kept / "silent.img")]
    done = CliRunner().invoke(cli, command, standalone_mode=False)
    assert done.return_value == 4, done.output
    lines = [line.strip() for line in done.output.splitlines()]
    (server,) = (line for line in lines if line.startswith("server (PD_1): runs, in spin at"))
    assert server.endswith('; last said "I serve"')
    told = "client (PD_2): in a call to server (PD_1), in cr_call"
    assert any(line.startswith(told) and line.endswith('"I call"') for line in lines)
    told = "waiter (PD_3): waits for a message in its notification"
    assert any(line.startswith(told) for line in lines)
    (starved,) = (line for line in lines if line.startswith("starved (PD_4):"))
    assert "PDs of its priority did not get the processor" in starved
    assert "last said" not in starved


LATE = """\
[system]
name = "late"

[[program]]
name = "checked"
sources = ["checked.c"]

[[program]]
name = "starving"
sources = ["starving.c"]

[[pd]]
name = "victim"
program = "checked"

[[pd]]
name = "late"
program = "starving"
start = "after-cleanup"

[[crash]]
pd = "victim"
how = "kill"
after_ns = 200000000
"""


@pytest.mark.behaviour("Y-05")
def test_what_was_recorded_before_a_pd_took_the_processor_is_told(
    target: Target, tmp_path: Path
) -> None:
    """The cleanup ends a silence, and has a PD begin that computes for ever."""
    needs_timer(target.sdk)
    (tmp_path / "late.toml").write_text(LATE)
    (tmp_path / "starving.c").write_text(FILES["starving.c"])
    waiting = FILES["waiting.c"].replace(
        "cr_wait_for_work", "cr_checkpoint();\n    cr_wait_for_work"
    )
    (tmp_path / "checked.c").write_text(waiting)
    kernel = ["--arch", target.sdk.kernel.arch, "--sdk", str(target.sdk.root)]
    command = ["run", str(tmp_path / "late.toml"), *kernel, "--idle", "2", "--json"]
    done = CliRunner().invoke(cli, command, standalone_mode=False)
    found = json.loads(done.stdout)
    assert found["violations"] == []
    assert len(found["cleanups"]) == 1
    assert "late" in found["names"].values()
