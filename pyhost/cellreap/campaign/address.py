# SPDX-License-Identifier: BSD-2-Clause
"""Where the server of a campaign is, and with which secrets it is used.

No secret is in a message, in the text of an object, or in a file.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cellreap.errors import UsageError

PASSWORD = "CELLREAP_JOBBOARD_PASSWORD"
CA = "CELLREAP_JOBBOARD_CA"
CERTIFICATE = "CELLREAP_JOBBOARD_CERT"
PRIVATE_KEY = "CELLREAP_JOBBOARD_KEY"
_SCHEMES = {
    "redis": ("redis", 6379, False),
    "rediss": ("redis", 6379, True),
    "zookeeper": ("zookeeper", 2181, False),
    "zookeepers": ("zookeeper", 2281, True),
}
_EXPECTED = "expected zookeeper://HOST:PORT[,HOST:PORT...][/PATH] or redis://HOST:PORT[/NUMBER]"
_LOOK_SECONDS = 5.0


@dataclass(frozen=True)
class Tls:
    """What a connection with TLS is checked with. Without `ca`, what the system trusts."""

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None


@dataclass(frozen=True)
class Address:
    """Where the server is. hosts: HOST:PORT, several with commas. path: of all campaigns in it."""

    kind: str
    hosts: str
    path: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: Tls | None = None

    def shown(self) -> str:
        """The address without user and password."""
        return f"{self.kind}{'s' if self.tls else ''}://{self.hosts}{self.path}"

    def check_tls(self) -> None:
        """UsageError if a certificate is refused, this machine's or a server's.

        A server that cannot be reached is no error: it may come.
        """
        if self.tls is None:
            return
        try:
            context = ssl.create_default_context(cafile=self.tls.ca)
            if self.tls.certificate is not None:
                context.load_cert_chain(self.tls.certificate, self.tls.key)
        except OSError as error:  # ssl's errors are among them
            files = ", ".join(it for it in (self.tls.ca, self.tls.certificate, self.tls.key) if it)
            raise UsageError(f"{files}: cannot be used for TLS: {_said(error)}") from None
        for host in self.hosts.split(","):
            name, _, port = host.rpartition(":")
            try:
                link = socket.create_connection((name, int(port)), timeout=_LOOK_SECONDS)
            except OSError:
                continue
            with link:
                said = _refused(link, context, name)
            if said is not None:
                raise UsageError(f"{self.shown()}: {host}: {said}")


def _refused(link: socket.socket, context: ssl.SSLContext, name: str) -> str | None:
    """What is wrong with the TLS of a server. None: nothing, or it went away."""
    try:
        context.wrap_socket(link, server_hostname=name).close()
    except ssl.SSLCertVerificationError as error:
        return f"its certificate is refused: {error.verify_message} ({CA})"
    except (ssl.SSLError, TimeoutError) as error:
        return f"does not speak TLS: {_said(error)}"
    except OSError:
        return None
    return None


def _said(error: OSError) -> str:
    return error.strerror or str(error)


def parse_address(url: str, env: Mapping[str, str] | None = None) -> Address:
    """The address in --jobboard, with what the environment says of passwords and certificates.

    UsageError.
    """
    env = os.environ if env is None else env
    shown = re.sub(r"(?<=//).*@", "***@", url, flags=re.DOTALL)
    wrong = UsageError(f"--jobboard {shown}: {_EXPECTED}, with TLS zookeepers:// or rediss://")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise wrong from None
    if parts.scheme not in _SCHEMES or not parts.netloc or parts.query or parts.fragment:
        raise wrong
    kind, port, with_tls = _SCHEMES[parts.scheme]
    hosts = parts.netloc.rpartition("@")[2].split(",")
    named = []
    for host in hosts:
        name, colon, number = host.partition(":")
        if not name or (colon and not (number.isdigit() and 0 < int(number) < 65536)):
            raise wrong
        named.append(host if colon else f"{host}:{port}")
    path = parts.path.rstrip("/")
    if kind == "redis" and (len(named) > 1 or not (path == "" or path[1:].isdigit())):
        raise wrong
    user = unquote(parts.username or "") or None
    password = unquote(parts.password or "") or env.get(PASSWORD) or None
    if user is not None and password is None:
        raise UsageError(f"--jobboard {shown}: has no password: expected {PASSWORD}")
    if kind == "zookeeper" and ((password is not None and user is None) or ":" in (user or "")):
        example = f"zookeeper://USER@HOST, a user without a colon, and {PASSWORD}"
        raise UsageError(f"--jobboard {shown}: has a password without a user: expected {example}")
    return Address(kind, ",".join(named), path, user, password, _tls(env) if with_tls else None)


def _tls(env: Mapping[str, str]) -> Tls:
    """What the environment names. UsageError if a file is not there."""
    found = {name: env.get(name) or None for name in (CA, CERTIFICATE, PRIVATE_KEY)}
    for name, path in found.items():
        if path is not None and not Path(path).is_file():
            raise UsageError(f"{name}={path}: expected a file in PEM format")
    if (found[CERTIFICATE] is None) != (found[PRIVATE_KEY] is None):
        raise UsageError(f"expected {CERTIFICATE} and {PRIVATE_KEY}, or none of them")
    return Tls(found[CA], found[CERTIFICATE], found[PRIVATE_KEY])
