# SPDX-License-Identifier: GPL-2.0-or-later
"""
Messages of the kernel about network devices, as fake-worker replays them: include/uapi/linux/rtnetlink.h,
if_link.h and if_addr.h. Of RDMA there is what a kernel has said (tests/fixtures/netlink).
"""
import ipaddress
import socket
import struct

NEWLINK, NEWADDR = 16, 20  # RTM_…
SET = 17  # no message of the kernel: what is replayed to RTM_SETLINK, whose acknowledgement has no message
MULTI = 2  # NLM_F_MULTI: one of a dump's
UP = 1  # IFF_UP
NAME, PARENT = 3, 56  # IFLA_IFNAME, IFLA_PARENT_DEV_NAME
VFINFO_LIST, VF_INFO, VF_SPOOFCHK, VF_TRUST = 22, 1, 4, 9  # IFLA_…
LOCAL = 2  # IFA_LOCAL


def aligned(data):
    return data.ljust((len(data) + 3) & ~3, b"\0")


def attribute(kind, data):
    return aligned(struct.pack("=HH", 4 + len(data), kind) + data)


def message(kind, body, *attributes, flags=MULTI):
    data = aligned(body) + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(data), kind, flags, 1, 0) + data


def vf_of(index, number, spoof_check, trust):
    """What the network device at this index says of one of its VFs when it is asked, and to each setting of it."""
    settings = [attribute(kind, struct.pack("=II", number, to))
                for kind, to in ((VF_SPOOFCHK, spoof_check), (VF_TRUST, trust))]
    body = struct.pack("=BxHiII", 0, 1, index, 0, 0)
    told = attribute(VFINFO_LIST, attribute(VF_INFO, b"".join(settings)))
    return message(NEWLINK, body, told, flags=0) + message(SET, body, flags=0)


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
