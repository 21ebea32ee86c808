/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libvirt, as far as gpupass needs it. Every call here blocks and is thread-safe; none may run on
 * the bus loop. A Virt owns an event thread (virEvent), one connection with keepalive that is
 * opened again when it broke, and tells a listener what changed.
 *
 * Problems: LibvirtUnavailable (no connection), NoSuchDomain, DefineFailed, AttachFailed,
 * DetachTimeout (also when the guest or libvirt refuses), StalePlan (the definition is no longer
 * the expected one), UnsupportedDomain (its XML is not understood), InvalidArgument, Internal
 * (libvirt failed at reading).
 */
#pragma once

#include "core/base/problem.h"
#include "core/domain/ref.h"
#include "core/domain/use.h"
#include "host/libvirt/guest-agent.h"

typedef struct Virt Virt;

typedef enum VirtEventKind {
	VIRT_EVENT_CONNECTED,
	VIRT_EVENT_DISCONNECTED,
	VIRT_EVENT_DOMAIN, /* this domain was defined, undefined, started, stopped, or its devices changed */
} VirtEventKind;

/*
 * Called on the event thread: must only hand the event on (and not call back into Virt).
 * `uuid` is NULL except for VIRT_EVENT_DOMAIN.
 */
typedef void (*VirtListener)(VirtEventKind kind, const char *uuid, void *userdata);

typedef struct VirtDomain {
	char *uuid;
	char *name;
	bool active;
	bool persistent;
	char *config_xml; /* INACTIVE|SECURE; NULL for a transient domain */
	char *live_xml;	  /* SECURE; NULL unless active */
} VirtDomain;

/*
 * Starts the event thread and begins to connect; does not wait for libvirt. One Virt a process
 * (virEventRegisterDefaultImpl is process-wide).
 */
int virt_new(const char *uri, VirtListener listener, void *userdata, Virt **ret);
/* Closes and joins; bounded: an event thread stuck in libvirt is left behind, not waited for. */
Virt *virt_free(Virt *virt);
DEFINE_CLEANUP(Virt, virt_free)

bool virt_connected(Virt *virt);

/*
 * After a call that lost the connection: waits until there is one again, CLOCK_MONOTONIC. A short
 * pause comes first, because the loss is told to the caller before the connection knows of it.
 * -ETIMEDOUT; -ESHUTDOWN when Virt is being freed.
 */
int virt_wait_connected(Virt *virt, uint64_t timeout_usec);

/* Which domain a word means. From here on it is its UUID, and the name is for people to read. */
typedef struct DomainId {
	char uuid[DOMAIN_UUID_SIZE]; /* "": there is none */
	char *name;
} DomainId;

/*
 * By a person's word (gpupass/domain-ref.h): for a word of somebody's, and for nothing else. 0 with
 * an empty UUID where there is no such domain, and that costs no more than one that is there: a
 * caller who may know of neither shall not tell them apart by the time it takes.
 */
int virt_domain_find(Virt *virt, const char *name_or_uuid, DomainId *ret, Problem **ret_problem);
void domain_id_clear(DomainId *id);

/* By UUID, never by name. */
int virt_domain_get(Virt *virt, const char *uuid, VirtDomain **ret, Problem **ret_problem);
VirtDomain *virt_domain_free(VirtDomain *domain);
DEFINE_CLEANUP(VirtDomain, virt_domain_free)

/*
 * Every domain, running or not, with its PCI hostdevs. One whose XML libvirt cannot send, or that is
 * not understood, is listed as unread.
 */
int virt_domain_uses(Virt *virt, DomainUses **ret, Problem **ret_problem);

/*
 * Defines `xml` if the definition is still `expected` (domain_xml_equivalent). Validates against
 * libvirt's schema, unless it is so long that this would take minutes.
 */
int virt_domain_define(Virt *virt, const char *uuid, const char *expected, const char *xml,
		       Problem **ret_problem);

/*
 * Live only; the definition is virt_domain_define()'s. Success also when it is there already.
 * Waits for as long as libvirt does: QEMU pins the guest's whole memory for its first vfio device.
 */
int virt_domain_attach(Virt *virt, const char *uuid, const char *hostdev_xml,
		       Problem **ret_problem);

/*
 * Asks the guest to let go of the live hostdev with this host address, and waits until libvirt
 * says DEVICE_REMOVED (or DEVICE_REMOVAL_FAILED, or the timeout, CLOCK_MONOTONIC) and the live
 * XML no longer has it. Success also when it was not there.
 */
int virt_domain_detach(Virt *virt, const char *uuid, const Bdf *function, uint64_t timeout_usec,
		       Problem **ret_problem);

/*
 * Runs programs in the domain's guest, through its agent (guest-agent.h). What stands in the way
 * inside the domain is an outcome of the first run; PROBLEM is only that libvirt or the domain is
 * gone.
 */
int virt_guest_run(Virt *virt, const char *uuid, const char *const *const *commands, size_t n,
		   uint64_t deadline_usec, GuestRun *runs, Problem **ret_problem);
