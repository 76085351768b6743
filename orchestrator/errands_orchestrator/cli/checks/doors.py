"""Who else can come to the store: where it listens, with what password, and what crosses the network in clear. Pure."""

from __future__ import annotations

import ipaddress
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from errands_orchestrator.cli.checks.finding import Finding

Reach: TypeAlias = Literal["here", "private", "public"]
"""Where a host is: on this machine, in a network that is not routed, or anywhere."""

_PASSWORD = "make users with passwords (ACL SETUSER), or set requirepass, and put the login into ERRANDS_REDIS_URL"  # noqa: S105
_TLS = "use TLS: rediss:// in ERRANDS_REDIS_URL"


@dataclass(frozen=True, slots=True)
class WayFacts:
    """The way to the store, as its URL names it."""

    scheme: Literal["redis", "rediss", "unix"]
    reach: Reach
    place: str
    """Host and port, or the socket."""
    has_login: bool
    """A password, or a certificate of our own."""
    verified: bool = True
    """Whether the certificate is checked, of `rediss`."""
    socket_mode: int | None = None


@dataclass(frozen=True, slots=True)
class DoorFacts:
    """What the store says of itself; None where it does not tell."""

    bind: tuple[str, ...] | None
    """Addresses that it listens on; empty: all."""
    listens: bool
    """Whether it has a TCP port at all."""
    protected: bool | None
    """protected-mode: without a password only this machine is let in."""
    open_default: bool | None
    """Whether the user `default` comes in without a password."""
    user: str | None
    """As whom we came in."""


def door_findings(way: WayFacts, door: DoorFacts) -> Iterator[Finding]:
    """Every way by which others could come in or listen."""
    yield from _way(way)
    yield _door(way, door)
    if not _is_only_here(door) and door.open_default is False and door.user == "default":
        text = "we come in as the user `default`, who may do everything: there is no ACL"
        yield Finding("acl", "note", text, "make users of their own for Errands and for people (ACL SETUSER)")


def _way(way: WayFacts) -> Iterator[Finding]:
    if way.socket_mode is not None and stat.S_IMODE(way.socket_mode) & 0o022:
        text = f"others on this machine may use the socket {way.place}"
        yield Finding("transport", "wrong", text, "set unixsocketperm to 700")
    elif way.reach == "here":
        yield Finding("transport", "ok", f"{way.place} is on this machine")
    elif way.scheme == "rediss" and not way.verified:
        text = f"the certificate of {way.place} is not checked: anybody between may pose as the store"
        yield Finding(
            "transport", "wrong", text, "leave ssl_cert_reqs out of ERRANDS_REDIS_URL; name the CA in ssl_ca_certs"
        )
    elif way.scheme == "rediss":
        yield Finding("transport", "ok", f"TLS to {way.place}")
    elif way.has_login:
        text = f"the password for {way.place} and all conversations cross the network in clear"
        yield Finding("transport", "wrong" if way.reach == "public" else "note", text, _TLS)
    else:
        text = f"conversations cross the network to {way.place} in clear"
        yield Finding("transport", "note", text, _TLS)


def _door(way: WayFacts, door: DoorFacts) -> Finding:
    if way.reach != "here" and not way.has_login:
        text = f"{way.place} lets us in without a password, and everybody else who reaches it"
        return Finding("door", "wrong", text, _PASSWORD)
    if not door.listens:
        return Finding("door", "ok", "the store has no TCP port")
    if door.bind is None:
        text = "the store does not tell where it listens"
        return Finding("door", "note", text, "make sure that it wants a password, or is out of others' reach")
    if _is_only_here(door):
        return _only_here(door)
    return _wide(door.bind, door)


def _only_here(door: DoorFacts) -> Finding:
    if door.open_default and door.protected is False:
        text = "the store listens on this machine only, but has neither a password nor protected-mode"
        return Finding("door", "note", text, "set protected-mode to yes: a change of `bind` alone would open it to all")
    return Finding("door", "ok", "the store listens on this machine only")


def _wide(bind: Sequence[str], door: DoorFacts) -> Finding:
    where = f"the store listens on {', '.join(bind) or 'all addresses'}"
    match door.open_default, door.protected:
        case None, _:
            return Finding("door", "note", f"{where} and does not tell whether it wants a password", _PASSWORD)
        case False, _:
            return Finding("door", "ok", f"{where} and wants a password")
        case True, True:
            return Finding("door", "note", f"{where}; only protected-mode keeps others out", _PASSWORD)
        case _:
            text = f"{where} and wants no password: whoever reaches it reads and forges everything"
            return Finding("door", "wrong", text, f"{_PASSWORD}; or bind it to 127.0.0.1")


def _is_only_here(door: DoorFacts) -> bool:
    return not door.listens or (bool(door.bind) and all(_is_loopback(address) for address in door.bind or ()))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.removeprefix("-")).is_loopback
    except ValueError:
        return address.removeprefix("-") == "localhost"
