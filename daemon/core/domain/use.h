/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which domains use which PCI functions: libvirt's, as read from their XML (live and definition),
 * or Proxmox VE's virtual machines (machine.h).
 */
#pragma once

#include <stdatomic.h>

#include "core/base/problem.h"
#include "core/domain/mirror-tree.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

/* "02:00:00:00:00:00" */
#define DOMAIN_MAC_TEXT_MAX 18
/* "fa/00.0/00.0/00.0/00.0/00.0/00.0", below two switches */
#define DOMAIN_PATH_TEXT_MAX 48

typedef struct DomainHostdev {
	Bdf bdf;
	bool live;    /* in the running domain's XML */
	bool config;  /* in the definition */
	bool managed; /* managed='yes': libvirt binds it */
	bool has_guest;
	Bdf guest; /* its address in the running guest, from libvirt's XML */
	bool has_seen;
	Bdf seen; /* the same as the guest sees it: guest-bus.h */
	/* Its root bus, then slot and function of each bridge, and its own; "": not known */
	char path[DOMAIN_PATH_TEXT_MAX];
	bool argument; /* an argument for QEMU names it, or an override: past libvirt */
	bool maybe;    /* it gets this one or another: a mapping of Proxmox VE with alternatives */
	/* Of an <interface>, by its definition if it has one: what libvirt sets. "": it is none */
	char mac[DOMAIN_MAC_TEXT_MAX];
	unsigned vlan; /* 0: none; UINT_MAX: more than one, or not known */
	bool clique;   /* likewise, peer access over PCIe: xml-clique.c */
	char *alias;   /* "ua-gpupass-pair0-0", "hostdev0"; NULL: none */
} DomainHostdev;

/* <hostdev type='mdev'>: a vGPU, by its UUID. */
typedef struct DomainMdev {
	char *uuid;
	bool live, config;
} DomainMdev;

typedef struct DomainUse {
	char *uuid; /* 36 characters, lower case */
	char *name;
	uint32_t vmid; /* a virtual machine of Proxmox VE; 0: a domain of libvirt */
	bool active;
	bool persistent;
	bool migrated; /* shut off here because its guest runs on another host */
	/*
	 * Why its XML, and so its mark and hostdevs, are not known. Of a machine of Proxmox VE, why
	 * not all of its hostdevs are; begins with the path of a file. NULL: they are.
	 */
	char *unread;
	char *unclear; /* what of its QEMU arguments may take a function, and cannot be judged; or NULL */
	char **disks;	       /* files of the host, below /dev, that it has as disks; or NULL */
	char **gpupass_groups; /* the groups that our <metadata> names; NULL: none */
	bool former_mark;      /* our <metadata> has its name of before 0.9 */
	DomainHostdev *hostdevs;
	size_t n_hostdevs;
	DomainMdev *mdevs;
	size_t n_mdevs;
	MirrorTree *tree;		    /* of the definition: domain_xml_mirror(); NULL: none */
	size_t hostdevs_space, mdevs_space; /* of their arrays, if not less */
} DomainUse;
DECLARE_CLEAR(DomainUse, domain_use_clear)

/* Threads share it, and nobody changes it. */
typedef struct DomainUses {
	DomainUse *items;
	size_t n_items;
	atomic_uint shared; /* references beside the first */
} DomainUses;

const DomainUse *domain_uses_find(const DomainUses *uses, const char *uuid);
/* The first of that name, which only libvirt keeps from being another's tomorrow; NULL: none. */
const DomainUse *domain_uses_find_name(const DomainUses *uses, const char *name);
/* The next domain from *position on that has the function; NULL: none. Advances *position. */
const DomainUse *domain_uses_holding(const DomainUses *uses, const Bdf *bdf, size_t *position);
/*
 * The next domain whose XML is not known: it may have any function. NULL: none. Advances *position.
 */
const DomainUse *domain_uses_unread(const DomainUses *uses, size_t *position);
/* What comes of it, in a sentence before ->unread. */
const char *domain_use_unread_so(const DomainUse *use);
/* What a person can do about such a domain. Caller frees. */
char *domain_use_unread_remedy(const DomainUse *use);
/* What a person takes out so that the domain does not get the function: "hostdev". */
const char *domain_hostdev_noun(const DomainHostdev *hostdev);
const DomainHostdev *domain_use_hostdev(const DomainUse *use, const Bdf *bdf);
/* It has the function, with peer access over PCIe. */
bool domain_use_has_clique(const DomainUse *use, const Bdf *bdf);
/* It has this VF of a NIC so that libvirt sets this MAC and this VLAN, and the guest none other. */
bool domain_use_has_vf(const DomainUse *use, const Bdf *vf, const char *mac, unsigned vlan);
/* Our <metadata> names this group, which may be NULL. */
bool domain_use_names(const DomainUse *use, const char *group);

/* Appends a copy with this alias, which may be NULL. */
void domain_use_add(DomainUse *use, const DomainHostdev *hostdev, const char *alias);
/* Adds the mdev, or what is said of it to the one that is there. */
void domain_use_add_mdev(DomainUse *use, const char *uuid, bool live, bool config);
/* In order of UUID, each once. Whoever writes the XML chooses how many there are. */
void domain_use_fold_mdevs(DomainUse *use);
/* Says it once, however often it is found. */
void domain_use_add_unclear(DomainUse *use, const char *why);
void domain_use_copy(const DomainUse *from, DomainUse *ret);
DECLARE_REF(DomainUses, domain_uses_ref)
/* Lets go of one reference; the last one frees. */
DECLARE_FREE(DomainUses, domain_uses_free)

/* A domain as it is now: who it is, and what libvirt says of it. */
typedef struct VirtDomain {
	char *uuid;
	char *name;
	bool active;
	bool persistent;
	char *config_xml; /* the definition, INACTIVE|SECURE; NULL: the domain is transient */
	char *live_xml;	  /* SECURE; NULL unless active */
} VirtDomain;
DECLARE_FREE(VirtDomain, virt_domain_free)

/* Where gpupassd reads which domains there are, and which PCI functions each has. */
#define DOMAIN_SOURCES(X)                                                                          \
	X(DOMAINS_LIBVIRT, "libvirt")                                                              \
	X(DOMAINS_PROXMOX, "proxmox") /* Uri=none and Guests=yes: by files in /etc/pve */          \
	X(DOMAINS_NONE, "none")	      /* Uri=none: nobody tells; gpupass knows of no domain */

DECLARE_ENUM(domain_source, DomainSource, DOMAIN_SOURCES, DOMAIN_SOURCE_MAX_);

/* "libvirt does not answer": why domains are not known, while they are not. */
const char *domain_source_silence(DomainSource source);
/* PROBLEM (LibvirtUnavailable): so `what`, as in "whether a domain has it", is not known. */
int domain_source_refuse(DomainSource source, const char *what, Problem **ret_problem);
/* What Uri= says if there is no libvirt. */
bool domain_source_is_none(const char *uri);
