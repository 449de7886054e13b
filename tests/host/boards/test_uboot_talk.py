# SPDX-License-Identifier: BSD-2-Clause
"""The conversation with U-Boot: right with every U-Boot that is right, and clear with all others.

Nothing here has a clock or a console: the U-Boot is kit.scripted_uboot.
"""

from __future__ import annotations

import random

import pytest

from cellreap.boards.talk import (
    Script,
    State,
    Talk,
    UbootError,
    checksum_command,
    serial_command,
    setting_commands,
    tftp_command,
)
from kit.scripted_uboot import ScriptedUboot

SIZE, CHECKSUM = 446808, 0x1000EE88
BOOT = "bootm 0x50000000 - ${fdtcontroladdr}"
LINES = [
    "setenv autoload no",
    "dhcp",
    "tftpboot 0x50000000 10.0.2.2:cellreap.uimg",
    "crc32 0x50000000 0x6d158",
]


def script(*prepare: str) -> Script:
    return Script(
        prompt="=> ",
        autoboot="autoboot",
        interrupt=" ",
        commands=(
            *setting_commands(prepare or LINES[:2], 1),
            tftp_command(0x50000000, "10.0.2.2:cellreap.uimg", SIZE, 2),
            checksum_command(0x50000000, SIZE, CHECKSUM, 3),
        ),
        boot=BOOT,
        prompt_seconds=4,
    )


def hold(uboot: ScriptedUboot, said: Script, chunk: int = 1 << 20) -> None:
    """Holds the whole conversation. chunk: as many bytes of U-Boot's come at a time.

    UbootError as soon as something is wrong, or when both are silent.
    """
    talk = Talk(said)
    heard, asked = uboot.power_on(), False
    while talk.state is not State.BOOTING:
        piece, heard = heard[:chunk], heard[chunk:]
        if piece:
            out, asked = talk.take(piece), False
        elif asked:
            raise talk.late()
        else:
            out, asked = talk.quiet(), True
        heard += uboot.take(out)


@pytest.mark.behaviour("H-04")
@pytest.mark.parametrize("way", ["right", "noisy"])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_the_image_is_loaded_checked_and_booted(way: str, chunk: int) -> None:
    uboot = ScriptedUboot(way, SIZE, CHECKSUM)
    hold(uboot, script(), chunk)
    assert uboot.lines[-5:] == [*LINES, BOOT]
    # The first line may have been sent to what ran before U-Boot, and have stopped the autoboot.
    assert len(uboot.lines) == 5 or (way == "noisy" and LINES[0].endswith(uboot.lines[0]))


@pytest.mark.behaviour("H-04")
@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("silence", "no prompt `=> ` within 4 s: it said nothing"),
        ("garbage", "no prompt `=> ` within 4 s: it said what is no text; is the speed of the"),
        ("no prompt", "no prompt `=> ` within 4 s: it last said `Hit any key to stop autoboot:  2"),
        ("no file", f"`{LINES[2]}` failed: Not retrying..."),
        ("no size", f"`{LINES[2]}`: it does not say how many bytes it loaded: done"),
        ("wrong file", f"`{LINES[2]}`: loaded a wrong file: 446809 bytes, expected 446808"),
        ("checksum error", f"`{LINES[3]}`: checksum error: 1000ee89, expected 1000ee88"),
        ("no checksum", f"`{LINES[3]}`: it tells no checksum: crc32 for 50000000 ..."),
        ("reset midway", f"the board was reset during `{LINES[2]}`"),
        ("hangs", f"no answer to `{LINES[2]}` within 2 s: it last said `Loading: *####T T T`"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_a_wrong_uboot_is_told_from_a_right_one(way: str, message: str, chunk: int) -> None:
    uboot = ScriptedUboot(way, SIZE, CHECKSUM)
    with pytest.raises(UbootError) as error:
        hold(uboot, script(), chunk)
    assert str(error.value).startswith(message)
    assert BOOT not in uboot.lines


@pytest.mark.behaviour("H-04")
def test_a_command_of_the_description_that_fails_ends_the_try() -> None:
    uboot = ScriptedUboot("right", SIZE, CHECKSUM)
    with pytest.raises(UbootError, match="`bad` failed: Unknown command 'bad' - try 'help'"):
        hold(uboot, script("bad", "dhcp"))
    assert uboot.lines == ["bad"]


@pytest.mark.behaviour("H-04", "H-09")
def test_no_garbage_is_taken_for_an_answer() -> None:
    """Whatever is between two answers: an echo, an earlier prompt, or an answer to another line."""
    dice = random.Random(2)
    talk = Talk(script())
    assert talk.take(b"=> ").startswith(LINES[0].encode())
    for noise in (b"cellreap1=$?\r\n=> ", b"\r\n=> ", b"cellreap2=0\r\n=> ", dice.randbytes(500)):
        assert talk.take(noise) == b""
        assert talk.turn == 1
    assert talk.take(b"\r\ncellreap1=0\r\n=> ").startswith(LINES[1].encode())


def test_memory_is_bounded() -> None:
    talk = Talk(script())
    for _ in range(64):
        assert talk.take(b"x" * (1 << 16)) == b""
    assert talk.take(b"\r\n=> ").startswith(LINES[0].encode())


@pytest.mark.behaviour("H-04")
def test_on_the_console_the_transfer_comes_between_command_and_answer() -> None:
    said = Script(
        **{**vars(script()), "commands": (serial_command(0x50000000, 3000, 1),)},
    )
    talk = Talk(said)
    assert talk.take(b"=> ") == b"loadx 0x50000000; echo cellreap1=$?\r"
    ready = b"## Ready for binary (xmodem) download to 0x50000000 at 115200 bps...\r\n"
    assert talk.take(ready) == b""
    assert talk.state is State.TRANSFER
    talk.transferred()
    for told, message in ((2999, "loaded 2999 bytes, expected 3000"), (3072, "")):
        answer = b"## Total Size = 0x%08x = %d Bytes\r\ncellreap1=0\r\n=> " % (told, told)
        if not message:
            assert talk.take(answer).startswith(BOOT.encode())
            continue
        wrong = Talk(said)
        wrong.take(b"=> ")
        with pytest.raises(UbootError, match=message):
            wrong.take(answer)


@pytest.mark.parametrize(
    ("line", "bad"),
    [
        (b"cellreap5=1", True),
        (b"DRAM:  1 GiB", True),
        (b"Hit any key to stop autoboot:  2", True),
        (BOOT.encode() + b"; echo cellreap5=$?", False),
        (b"pd: DRAM: 1", False),
        (b"Starting kernel ...", False),
    ],
)
def test_after_the_boot_uboot_is_known_by_its_lines(line: bytes, bad: bool) -> None:
    talk = Talk(script())
    uboot = ScriptedUboot("right", SIZE, CHECKSUM)
    heard = uboot.power_on()
    while talk.state is not State.BOOTING:
        heard = uboot.take(talk.take(heard))
    assert (talk.ends().search(line) is not None) == bad


def test_a_board_that_is_reset_at_every_command_is_given_up() -> None:
    talk = Talk(script())
    start = ScriptedUboot("right", SIZE, CHECKSUM).power_on()
    assert talk.take(b"=> ")
    assert talk.take(start) == b" "  # so the first prompt was none
    assert talk.take(b"\r\n=> ")
    with pytest.raises(UbootError, match="the board was reset during `setenv autoload no`"):
        talk.take(start)
