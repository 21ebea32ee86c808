# SPDX-License-Identifier: GPL-2.0-or-later
"""
Messages of the kernel about network devices, as fake-worker replays them: include/uapi/linux/rtnetlink.h,
if_link.h and if_addr.h. Of RDMA there is what a kernel has said (tests/fixtures/netlink).
"""
import ipaddress
import socket
import struct

NEWLINK, NEWADDR = 16, 20  # RTM_…
MULTI = 2  # NLM_F_MULTI: one of a dump's
UP = 1  # IFF_UP
NAME, PARENT = 3, 56  # IFLA_IFNAME, IFLA_PARENT_DEV_NAME
LOCAL = 2  # IFA_LOCAL


def aligned(data):
    return data.ljust((len(data) + 3) & ~3, b"\0")


def attribute(kind, data):
    return aligned(struct.pack("=HH", 4 + len(data), kind) + data)


def message(kind, body, *attributes):
    data = aligned(body) + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(data), kind, MULTI, 1, 0) + data


def link(index, name, parent=None, up=False):
    """A network device, of the function at this address."""
    return message(NEWLINK, struct.pack("=BxHiII", 0, 1, index, UP if up else 0, 0),
                   attribute(NAME, name.encode() + b"\0"),
                   *([attribute(PARENT, parent.encode() + b"\0")] if parent else []))


def address(index, text):
    """192.0.2.5/24"""
    ip = ipaddress.ip_interface(text)
    family = socket.AF_INET if ip.version == 4 else socket.AF_INET6
    return message(NEWADDR, struct.pack("=BBBBI", family, ip.network.prefixlen, 0, 0, index),
                   attribute(LOCAL, ip.packed))
