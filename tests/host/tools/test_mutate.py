# SPDX-License-Identifier: BSD-2-Clause
"""tools/mutate: on a small tree with planted faults, and its data on this checkout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from cellreap.errors import CellreapError, InputError
from cellreap.headers import source_root
from kit.paths import LEAKS, LIES, MEMORY_LEAKS, RECOUNT, ROOT
from mutation.checks import read_plan, telling_line
from mutation.copies import Copy, digest, files_of
from mutation.faults import FaultError, edited, read_named, read_reasons
from mutation.operators import draw, find_faults
from mutation.results import alone

PLAN = """
named = "tools/mutation/named.toml"
reasons = "tools/mutation/reasons.toml"
sources = ["*.py", "*.c"]
without = ["check.py"]
neutral = ["*.md"]
prepare = [["{true}"]]

[check.compiles]
command = ["{python}", "-m", "py_compile", "sums.py"]
builds = true

[check.adds]
command = ["{python}", "check.py", "adds"]

[check.slow]
command = ["{python}", "check.py", "slow"]
thorough = true

[check.whole]
command = ["{python}", "check.py", "adds"]
whole = true

[check.hangs]
command = ["{python}", "check.py", "hangs"]
seconds = 1

[check.each]
command = ["{python}", "check.py", "{config}"]
configs = ["adds", "counts"]

[[rule]]
files = ["sums.py"]
checks = ["adds", "whole", "slow", "compiles"]

[[rule]]
files = ["*"]
checks = ["each"]
"""
TESTS = '[tests]\ncommand = ["{python}", "{config}", "adds"]\n'
NAMED = """
[[fault]]
name = "sums are differences"
[[fault.edit]]
file = "sums.py"
old = "a + b"
new = "a - b"

[[fault]]
name = "nobody looks at this"
[[fault.edit]]
file = "sums.py"
old = "return False"
new = "return None"

[[fault]]
name = "it does not even compile"
[[fault.edit]]
file = "sums.py"
old = "def add(a, b):"
new = "def add(a, b:"
"""
REASONS = """
[[reason]]
fault = "nobody looks at this"
reason = "None is as false as False"
"""
SUMS = """\
def add(a, b):
    # Both are numbers.
    return a + b


def never():
    return False
"""
CHECK = """\
import sys
import time
import sums
if sys.argv[1] == "hangs":
    open("started", "w").close()
    time.sleep(600)
if sys.argv[1] == "adds" and sums.add(2, 3) != 5:
    sys.exit("FAILED two and three")
"""

RUNS_TESTS = """\
import subprocess
import sys
from sums import add

def test_sums(tmp_path):
    (tmp_path / "test_more.py").write_text("def test_more(tmp_path): pass")
    subprocess.run([sys.executable, "-m", "pytest", "test_more.py"], cwd=tmp_path, check=True)
    assert add(2, 3) == 5
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout with a module, a check of it, and the data of the tool."""
    root = tmp_path / "small"
    (root / "tools" / "mutation").mkdir(parents=True)
    for name, text in {
        "sums.py": SUMS,
        "check.py": CHECK,
        "readme.md": "text\n",
        ".gitignore": "/build/\n__pycache__/\n",
        "tools/mutation/plan.toml": PLAN.replace("{true}", "true"),
        "tools/mutation/named.toml": NAMED,
        "tools/mutation/reasons.toml": REASONS,
    }.items():
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def started(tree: Path, *arguments: str) -> subprocess.Popen[str]:
    tool = source_root() / "tools" / "lib" / "mutate.py"
    return subprocess.Popen(
        [sys.executable, str(tool), "--tree", str(tree), *arguments],
        env={**os.environ, "PYTHONPATH": str(source_root() / "pyhost")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def mutate(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    process = started(tree, *arguments)
    out, err = process.communicate()
    assert "Traceback" not in err
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def results(tree: Path) -> list[dict[str, str]]:
    lines = (tree / "build/mutation/results.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_what_notices_each_named_fault_is_said_and_a_survivor_has_its_reason(tree: Path) -> None:
    replace(tree / "tools/mutation/named.toml", NAMED[NAMED.rindex("\n[[fault]]") :], "")
    done = mutate(tree, "--count", "0")
    assert done.returncode == 0, done.stderr
    rows = {line.strip().split("  ")[0]: line.split() for line in done.stdout.splitlines()}
    assert rows["sums are differences"][3:] == ["noticed", "adds", "two", "and", "three"]
    assert rows["nobody looks at this"][4:] == ["survived"]
    assert "SURVIVED: nobody looks at this\n    None is as false as False\n" in done.stdout
    assert "[1/2]" in done.stderr
    # The checkout itself was not touched.
    assert (tree / "sums.py").read_text() == SUMS


def test_a_file_of_tests_is_a_check_and_those_of_a_fault_come_first(tree: Path) -> None:
    plan = tree / "tools/mutation/plan.toml"
    replace(plan, "[check.compiles]", f"{TESTS}\n[check.compiles]")
    named = tree / "tools/mutation/named.toml"
    replace(named, 'differences"\n', 'differences"\nchecks = ["check.py"]\n')
    done = mutate(tree, "--count", "0", "--only", "sums are")
    assert "sums are differences: noticed by check.py: two and three" in done.stderr


def test_a_survivor_without_a_reason_and_a_fault_that_does_not_build_fail(tree: Path) -> None:
    (tree / "tools/mutation/reasons.toml").write_text("")
    done = mutate(tree, "--count", "0")
    assert done.returncode == 1
    assert "SURVIVED: nobody looks at this\n    NO REASON\n" in done.stdout
    assert "DOES NOT BUILD: it does not even compile\n" in done.stdout


def test_a_reason_that_is_needed_no_more_is_said(tree: Path) -> None:
    replace(tree / "tools/mutation/reasons.toml", "nobody looks at this", "sums are differences")
    done = mutate(tree, "--count", "0", "--only", "sums are")
    assert done.returncode == 0
    assert "needs no reason any more, adds notices it: sums are differences\n" in done.stdout


@pytest.mark.slow
def test_results_are_kept_until_what_is_checked_changes(tree: Path) -> None:
    first = mutate(tree, "--count", "2", "--only", "sums")
    kept = results(tree)
    (tree / "readme.md").write_text("another text\n")
    again = mutate(tree, "--count", "2", "--only", "sums")
    assert again.stdout == first.stdout
    assert results(tree) == kept
    (tree / "sums.py").write_text(SUMS + "\n")
    mutate(tree, "--count", "2", "--only", "sums")
    assert len(results(tree)) == 2 * len(kept)
    mutate(tree, "--count", "2", "--only", "sums", "--fresh")
    assert len(results(tree)) == len(kept)


def test_what_survives_a_quick_run_is_tried_again_and_what_was_noticed_is_not(tree: Path) -> None:
    replace(tree / "tools/mutation/plan.toml", 'checks = ["adds", "whole"', 'checks = ["whole"')
    quick = mutate(tree, "--count", "0", "--only", "sums are", "--quick")
    assert "SURVIVED: sums are differences\n" in quick.stdout
    whole = mutate(tree, "--count", "0", "--only", "sums are")
    assert "sums are differences: noticed by whole: two and three" in whole.stderr
    kept = results(tree)
    again = mutate(tree, "--count", "0", "--only", "sums are", "--quick")
    assert again.returncode == 0
    assert results(tree) == kept


def test_a_named_fault_whose_text_has_moved_ends_everything(tree: Path) -> None:
    replace(tree / "sums.py", "a + b", "b + a")
    done = mutate(tree, "--count", "0")
    assert done.returncode == 2
    assert "fault 'sums are differences': its text is 0 times in sums.py" in done.stderr
    assert not (tree / "build").exists()


def test_a_check_that_fails_without_a_fault_is_an_error(tree: Path) -> None:
    replace(tree / "check.py", "!= 5", "!= 6")
    done = mutate(tree, "--count", "0", "--only", "sums are")
    assert done.returncode == 2
    assert "adds fails without a fault: two and three" in done.stderr


@pytest.mark.slow
def test_the_tests_of_a_check_may_run_tests_themselves(tree: Path) -> None:
    (tree / "test_sums.py").write_text(RUNS_TESTS)
    plan = tree / "tools" / "mutation" / "plan.toml"
    command = 'adds]\ncommand = ["{python}", '
    replace(plan, command + '"check.py", "adds"]', command + '"-m", "pytest", "test_sums.py"]')
    done = mutate(tree, "--count", "0", "--only", "differences")
    assert (done.returncode, done.stderr.count("noticed by adds: test_sums.py")) == (0, 1), done


def test_a_copy_that_does_not_build_without_a_fault_is_an_error(tree: Path) -> None:
    replace(tree / "tools/mutation/plan.toml", 'prepare = [["true"]]', 'prepare = [["false"]]')
    done = mutate(tree, "--count", "0", "--only", "sums are")
    assert done.returncode == 2
    assert "the sources do not build without a fault: it said nothing" in done.stderr


@pytest.mark.slow
def test_a_fault_that_hangs_is_noticed_and_interrupting_leaves_nothing_running(
    tree: Path,
) -> None:
    plan = tree / "tools/mutation/plan.toml"
    replace(plan, 'files = ["sums.py"]\nchecks = ["adds", ', 'files = ["sums.py"]\nchecks = [')
    replace(plan, 'checks = ["whole", "slow", "compiles"]', 'checks = ["hangs"]')
    done = mutate(tree, "--count", "0", "--only", "sums are")
    assert done.returncode == 2  # it hangs without the fault, too
    assert "hangs fails without a fault: it hangs: no end after 1 s" in done.stderr
    replace(plan, "seconds = 1\n", "seconds = 600\n")
    mark = tree / "build/mutation/copy-0/tree/started"
    mark.unlink()
    process = started(tree, "--count", "0", "--only", "sums are", "--under", "env MARK=1")
    while not mark.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err.splitlines()[-1] == "tools/mutate: interrupted"
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert not [line for line in running.stdout.splitlines() if line.endswith("check.py hangs")]


def test_seeded_faults_that_do_not_build_are_replaced_by_others(tree: Path) -> None:
    done = mutate(tree, "--no-named", "--count", "3")
    found = [row for row in results(tree) if not row["fault"].startswith("without a fault")]
    built = [row for row in found if row["outcome"] != "unbuilt"]
    assert len(built) == 3
    assert f"{len(built)} seeded faults: " in done.stdout


def test_two_cannot_work_in_one_folder(tree: Path) -> None:
    with alone(tree / "build/mutation"):
        done = mutate(tree, "--count", "0")
    assert done.returncode == 2
    assert "another tools/mutate works there" in done.stderr


def test_bad_data_is_one_line_and_exit_code_2(tree: Path) -> None:
    plan = tree / "tools/mutation/plan.toml"
    replace(plan, 'checks = ["each"]', 'checks = ["eech"]')
    done = mutate(tree, "--count", "0")
    assert done.returncode == 2
    assert "no check is named 'eech'" in done.stderr
    path = tree / "tools/mutation/named.toml"
    path.write_text('[[fault]]\nname = "x"\nedits = []\n')
    with pytest.raises(InputError, match=r"only the keys \['checks', 'edit', 'name'\]"):
        read_named(path, {})


@pytest.mark.parametrize("path", [LIES, LEAKS, MEMORY_LEAKS, RECOUNT], ids=lambda path: path.stem)
def test_each_planted_fault_is_for_a_text_that_exists(path: Path) -> None:
    """Most of them are planted by tests that take long, and must not be out of date until then."""
    assert read_named(path, files_of(ROOT))


# -- operators

C = """\
int limit(int a, int b)
{
    if (a < b && b != LIMIT_LOW) {
        stop("now");
        a = b + 1;
    }
    return a == LIMIT_HIGH ? b : a;
}
"""
PYTHON = '''\
def limit(a: int, b: int) -> None:
    """No fault is planted in here: 1 < 2."""
    if a < b and b is not None:
        stop("now")
        a += 1
    for i in [x for x in a if x]:
        raise Wrong
    return a if b else None
'''


def operators(file: str, text: str) -> set[tuple[str, str]]:
    """(the operator, the line that it leaves) of each fault."""
    found = set()
    for fault in find_faults(file, text.encode(), ["stop"]):
        changed = edited({file: text.encode()}, fault)[file].decode()
        lines = set(changed.splitlines()) - set(text.splitlines())
        found.add((fault.name.split(": ")[1], " ".join(line.strip() for line in sorted(lines))))
    return found


def test_the_operators_of_c() -> None:
    assert operators("a.c", C) == {
        ("return early", "return 0; if (a < b && b != LIMIT_LOW) {"),
        ("negate", "if (!(a < b && b != LIMIT_LOW)) {"),
        ("operator", "if (a <= b && b != LIMIT_LOW) {"),
        ("operator", "if (a < b || b != LIMIT_LOW) {"),
        ("operator", "if (a < b && b == LIMIT_LOW) {"),
        ("constant", "if (a < b && b != LIMIT_HIGH) {"),
        ("drop", "(void)0;"),
        ("operator", "a = b - 1;"),
        ("off by one", "a = b + 2;"),
        ("negate", "return !(a == LIMIT_HIGH) ? b : a;"),
        ("operator", "return a != LIMIT_HIGH ? b : a;"),
        ("constant", "return a == LIMIT_LOW ? b : a;"),
    }


def test_the_operators_of_python() -> None:
    assert operators("a.py", PYTHON) == {
        ("return early", "return"),
        ("negate", "if (not a < b and b is not None):"),
        ("operator", "if a <= b and b is not None:"),
        ("operator", "if a < b or b is not None:"),
        ("operator", "if a < b and b is None:"),
        ("drop", "pass"),
        ("operator", "a -= 1"),
        ("off by one", "a += 2"),
        ("negate", "for i in [x for x in a if (not x)]:"),
        ("negate", "return a if (not b) else None"),
        ("return None", "return None"),
    }


def test_every_fault_of_a_file_has_its_own_name_and_the_seed_its_own_order() -> None:
    twice = {"a.c": (C + C).encode(), "a.py": PYTHON.encode()}
    names = [fault.key for fault in draw(twice, [], seed=1)]
    assert len(names) == len(set(names))
    assert [fault.key for fault in draw(twice, [], seed=1)] == names
    other = [fault.key for fault in draw(twice, [], seed=2)]
    assert other != names
    assert set(other) == set(names)
    assert {names[0].split(":")[0], names[1].split(":")[0]} == {"a.c", "a.py"}


def test_files_of_other_kinds_have_no_operators() -> None:
    with pytest.raises(CellreapError, match="no operators"):
        find_faults("a.txt", b"")


# -- copies


def test_a_copy_follows_the_checkout_and_takes_a_fault_back(tree: Path, tmp_path: Path) -> None:
    files = files_of(tree)
    copy = Copy(tree, files, tmp_path / "copy")
    (fault,) = [f for f in read_named(tree / "tools/mutation/named.toml", files) if "sums" in f.key]
    copy.plant(edited(files, fault))
    assert "a - b" in (copy.tree / "sums.py").read_text()
    copy.restore()
    assert digest(files_of(copy.tree)) == digest(files)
    (tree / "check.py").unlink()
    (tree / "more.py").write_text("x = 1\n")
    files = files_of(tree)
    again = Copy(tree, files, tmp_path / "copy")
    assert digest(files_of(again.tree)) == digest(files)
    with pytest.raises(FaultError, match=r"not in sums\.py"):
        edited({"sums.py": b"def add(a, b): return a - b\n" * 9}, fault)


# -- the data of this checkout


def test_every_named_fault_fits_the_sources_and_has_checks() -> None:
    plan = read_plan(ROOT / "tools/mutation/plan.toml")
    named = read_named(ROOT / plan.named, files_of(ROOT))
    assert len(named) >= 15
    tried = {name for rule in plan.rule for name in rule.checks}
    for fault in named:
        plan.known(fault.checks)
        tried.update((*fault.checks, *plan.checks_for(fault.file)))
    files = {name for name in tried if name.endswith(".py")}
    assert len(files) > 20
    assert {name for name in files if not (ROOT / name).is_file()} == set()
    assert plan.check.keys() <= tried, "each check is tried for something"


def test_every_reason_is_for_a_fault_that_exists() -> None:
    plan = read_plan(ROOT / "tools/mutation/plan.toml")
    files = files_of(ROOT)
    keys = {fault.key for fault in read_named(ROOT / plan.named, files)}
    reasons = read_reasons(ROOT / plan.reasons)
    for file in {key.split(": ")[0] for key in reasons} & files.keys():
        keys |= {fault.key for fault in find_faults(file, files[file], plan.ignored_calls)}
    assert set(reasons) - keys == set()


def test_every_source_has_a_rule() -> None:
    plan = read_plan(ROOT / "tools/mutation/plan.toml")
    sources = [name for name in files_of(ROOT) if plan.is_source(name)]
    assert len(sources) > 150
    assert {name.split("/")[0] for name in sources} == {"roottask", "pds", "pyhost"}
    for name in sources:
        assert plan.checks_for(name)


def test_the_words_for_a_failure_are_the_most_telling() -> None:
    text = textwrap.dedent(
        """\
        some output
        FAILED tests/x.py::test_y - assert 1 == 2
        1 failed, 2 passed
        """
    )
    assert telling_line(text) == "tests/x.py::test_y - assert 1 == 2"
    text = "Nothing.\nFAIL: 2 violations, 5 events\n  a.trace:4: first\n  a.trace:5: second\n"
    assert telling_line(text) == "a.trace:4: first"
    assert telling_line("main.c:1:2: error: expected ';'\nninja: stopped") == "expected ';'"
    assert telling_line("a\nb\n\n") == "b"
    assert telling_line("") == "it said nothing"
