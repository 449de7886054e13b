# SPDX-License-Identifier: BSD-2-Clause
"""Images in the cache: a system that was built before is not linked and worked out again.

The version of an entry is what the user asks for: the file of the configuration, values that
replace its own, kernel, checkout. The id is what that is made from: the text, the parts that CMake
builds, the programs, this package, the secret of the trace. So whoever builds an image anew removes
the one that is out of date, also after the configuration was edited.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

from cellreap.cached import digest_of
from cellreap.progress import Progress
from cellreap.system.cache import Key, Place, digest
from cellreap.system.files import write_atomically
from cellreap.system.image import Overrides
from cellreap.system.parts import Parts
from cellreap.system.programs import Source
from cellreap.system.saved import Saved
from cellreap.system.sdk import Sdk
from cellreap.system.store import use
from cellreap.system.trace_key import secret_id

_NAME = "image"
_IMAGE = "system.img"
_BOUNDS = "bounds.json"


def made_from(
    source: Source,
    sdk: Sdk,
    parts: Parts,
    programs: Mapping[str, bytes],
    overrides: Overrides,
    machine_bytes: int | None,
    saved: Saved,
    fills: Mapping[str, bytes],
) -> str:
    """A name for all that an image is made from, except the secret of its trace.

    Equal on two machines that have the same sources, SDK and compiler.
    """
    return digest_of(
        repr(source.config),
        source.text,
        repr(overrides),
        repr(machine_bytes),
        parts.folder.name,  # an id of sources, SDK and compiler
        sdk.digest,
        _package(),
        repr(saved),
        *(digest_of(name, fills[name]) for name in sorted(fills)),
        *sorted(programs),
        *(digest_of(programs[name]) for name in sorted(programs)),
    )


def image_key(
    source: Source,
    parts: Parts,
    overrides: Overrides,
    machine_bytes: int | None,
    variant: str,
    made: str,
    trace_key: bytes | None,
) -> Key | None:
    """The place of an image in the cache. None: the user's secret cannot be kept, so no image is
    ever the same again.

    variant: what else was asked for besides the file. made: what `made_from` says.
    """
    secret = secret_id(trace_key)
    if secret is None:
        return None
    file = str(source.path.absolute())
    asked = digest_of(file, variant, repr(overrides), repr(machine_bytes))
    version = f"{source.config.system.name}-{parts.folder.parent.name}-{asked[:16]}"
    return Key(_NAME, version, digest_of(made, secret))


@functools.cache
def _package() -> str:
    """A name for the code that makes images."""
    root = Path(__file__).parents[1]
    return digest(root, [root], (), (".py",))


def cached_image(
    key: Key, output: Path, make: Callable[[Path], bytes], progress: Progress
) -> bytes:
    """Writes an image to `output`, of the cache if it is there.

    make: writes the image to a path, and returns its bounds as JSON. What it raises is raised here,
    and leaves nothing in the cache. Returns the bounds.
    """
    failed = False

    def fill(folder: Path) -> str:
        nonlocal failed
        folder.chmod(0o700)  # it has the secret of the image's trace
        try:
            bounds = make(folder / _IMAGE)
        except BaseException:
            failed = True
            raise
        (folder / _BOUNDS).write_bytes(bounds)
        return f"{output}\n"

    try:
        with use(key, fill, progress) as found:
            write_atomically(output, (found.folder / _IMAGE).read_bytes())
            return (found.folder / _BOUNDS).read_bytes()
    except BaseException:
        if failed:
            Place.of(key).remove()
        raise
