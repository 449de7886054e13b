# SPDX-License-Identifier: BSD-2-Clause
"""A project outside the repository: a server, a client, and two ELF files that never call us."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cellreap.system.toolchain import find_toolchain

CONFIG = """\
[system]
name = "mine"

[[program]]
name = "summing"
sources = ["src/server.c", "src/sum.c"]
include = ["include"]
flags = ["-DSTEP=5"]

[[program]]
name = "asking"
sources = ["src/client.c"]

[[program]]
name = "loop"
elf = "prebuilt/loop.elf"

[[program]]
name = "null"
elf = "prebuilt/null.elf"

[[pd]]
name = "server"
program = "summing"
[[pd.space]]
name = "sums"
type = "SUM"

[[pd]]
name = "looping"
program = "loop"
background = true
priority = 50

[[pd]]
name = "faulty"
program = "null"

[[pd]]
name = "client"
program = "asking"
requests = ["sums"]
holds_pds = ["looping"]

[[crash]]
pd = "looping"
how = "terminate"
by = "client"
"""
FILES = {
    "mine.toml": CONFIG,
    "include/sum.h": '#include <stdint.h>\n#define NAME "my server"\nuint64_t sum(uint64_t a);\n',
    "src/sum.c": '#include "sum.h"\nuint64_t sum(uint64_t a)\n{\n    return a + STEP;\n}\n',
    "src/server.c": """\
#include "sum.h"
#include <cellreap/client.h>
#include <string.h>

static uint32_t serve(cr_incoming *m)
{
    m->reply[m->reply_count++] = sum(m->words[0]);
    return CR_REPLY_BASE;
}

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {.serve = serve, .work = work};
    char hello[32] = "this is ";
    cr_say_text(strcat(hello, NAME));
    (void)cr_own_space();
    cr_serve(&server);
}
""",
    "src/client.c": """\
#include <cellreap/client.h>

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    if (cr_connect("sums", 1, &slot, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    do {
        uint64_t number = 1;
        uint64_t sum = 0;
        uint32_t received;
        cr_line line = {.used = 0};
        (void)cr_call(slot, 0x200, &number, 1, &sum, 1, &received);
        cr_say(cr_put_number(cr_put(&line, "the sum is "), sum));
        cr_checkpoint();
        cr_poll_work(work);
    } while (cr_next_round());
    cr_wait_for_work(work);
}
""",
}
# Neither is linked with anything of cellreap.
LOOP = "void _start(void)\n{\n    for (;;) {\n    }\n}\n"
NULL = """\
static int zeros[5000];
static int one = 1;
void _start(void)
{
    zeros[4999] += one;
    *(volatile int *)16 = zeros[4999];
    for (;;) {
    }
}
"""


def make_project(folder: Path, arch: str) -> Path:
    """Writes the project, with ELF files for `arch`. Returns its configuration."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "prebuilt").mkdir()
    for name, text in (("loop", LOOP), ("null", NULL)):
        source = folder / f"{name}.c"
        source.write_text(text)
        compiler = find_toolchain(arch).compiler
        output = ["-o", str(folder / "prebuilt" / f"{name}.elf")]
        options = ["-O1", "-static", "-nostdlib", "-no-pie", "-ffreestanding"]
        subprocess.run([compiler, *options, str(source), *output], check=True)
        source.unlink()
    return folder / "mine.toml"
