/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who has a NIC in use on the host, as a part saw it in the kernel's netlink and in sysfs. Each
 * user keeps the NIC from a guest, and so does what is not known.
 */
#pragma once

#include <sys/types.h>

#include "core/base/json-struct.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

/* What matters most comes first: that is how they are listed. */
#define NIC_USER_KINDS(X)                                                                          \
	X(NIC_DEFAULT_ROUTE, "default-route")                                                      \
	X(NIC_ELSEWHERE, "elsewhere") /* another network name space or port has its devices */     \
	X(NIC_MASTER, "master")	      /* a bridge, bond, team, VRF, or Open vSwitch */             \
	X(NIC_UPPER, "upper")	      /* a VLAN, macvlan … */                                    \
	X(NIC_SUBFUNCTION, "subfunction")                                                          \
	X(NIC_STORAGE, "storage") /* the way to it */                                              \
	X(NIC_ADDRESS, "address")                                                                  \
	X(NIC_ROUTE, "route")                                                                      \
	X(NIC_RDMA, "rdma") /* a process, or what of the kernel, has objects of it */              \
	X(NIC_UP, "up")

DECLARE_ENUM(nic_user_kind, NicUserKind, NIC_USER_KINDS, NIC_USER_KIND_MAX_);

typedef struct NicUser {
	NicUserKind kind _json_(wrong "is none that there is");
	char *device _json_(plain);	  /* "eth5", "br0 over eth5", "mlx5_0" */
	char *what _json_(plain, if_any); /* "br0 (bridge)", "table 254" */
	/* "10.0.0.5/24", "filer". Apart, for a capture has a stand-in for it. */
	char *peer _json_(as "host", plain, if_any);
	pid_t pid _json_(if_any);	     /* of NIC_RDMA; 0: it is none */
	char *command _json_(plain, if_any); /* comm of that process */
} NicUser;
DECLARE_JSON(NicUser, nic_user_members)
DECLARE_CLEAR(NicUser, nic_user_clear)

/* Of one kind; a host may have a million routes. */
#define NIC_USERS_OF_KIND_MAX 8
#define NIC_USERS_MAX (NIC_USERS_OF_KIND_MAX * NIC_USER_KIND_MAX_)

typedef struct NicUse {
	Bdf bdf;
	char *why _json_(plain, if_any);	  /* a sentence: not all is known; NULL: it is */
	NicUser *users _json_(max NIC_USERS_MAX); /* by kind */
	size_t n_users;
	uint64_t more _json_(or_0);	    /* that are not listed */
	bool vf_read _json_(if_any);	    /* of a VF: what it may do is known */
	char *vf_why _json_(plain, if_any); /* of a VF, a sentence: why not */
	bool spoof_check, trusted _json_(if_any);
} NicUse;
DECLARE_JSON(NicUse, nic_use_members)
DECLARE_CLEAR(NicUse, nic_use_clear)

/* Each once, and so many of a kind. Takes over the texts of `user`. */
void nic_use_add(NicUse *use, NicUser user);
/* Keeps the first. Takes over `why`. */
void nic_use_unknown(NicUse *use, char *why);

/* Its spoof check is on, and it is not trusted. NULL: that is not known. */
bool nic_use_vf_is_ruled(const NicUse *use);

/* NULL: nobody has looked. */
DECLARE_FIND(NicUse, nic_use_find)

/* "0000:42:00.0: eth5 has the address 10.0.0.5/24" */
char *nic_user_text(const Bdf *bdf, const NicUser *user);
/* How the host lets go of it. */
char *nic_user_remedy(const NicUser *user);
