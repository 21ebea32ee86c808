/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a VF may do, by the NIC that it is of: in the kernel its rules are the NIC's. */
#pragma once

#include "core/facts/nic.h"
#include "host/device/roots.h"
#include "host/net/netlink.h"

/*
 * Reads it into *use, whose address is the VF's. Why that is not known is in use->vf_why. With
 * `set` it first turns the spoof check on and trust off, which takes CAP_NET_ADMIN. -ENOENT: the
 * function is not there. 0: it is no VF. 1: it is one.
 */
int nic_vf_look(const Roots *roots, const Netlink *netlink, bool set, NicUse *use);
