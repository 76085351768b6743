"""Where a host is: on this machine, in a network that is not routed, or anywhere."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable

from errands_orchestrator.cli.checks.doors import Reach


def reach_of(host: str | None) -> Reach:
    """By its addresses; a name that has none is taken to be anywhere. No name: this machine."""
    if not host:
        return "here"
    try:
        found = socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return "public"
    return reach_of_addresses(str(address[0]) for *_, address in found)


def reach_of_addresses(addresses: Iterable[str]) -> Reach:
    """The widest of them."""
    known = [ipaddress.ip_address(address.partition("%")[0]) for address in addresses]
    if all(one.is_loopback for one in known):
        return "here"
    return "private" if all(one.is_loopback or one.is_private or one.is_link_local for one in known) else "public"
