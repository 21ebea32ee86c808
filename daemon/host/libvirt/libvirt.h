/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libvirt, as far as gpupass needs it: the face of this room. Every call here blocks and is
 * thread-safe; none may run on the bus loop. A Virt owns an event thread (virEvent) and one
 * connection with keepalive, which it opens again when it broke. It tells a listener what changed.
 *
 * Problems: LibvirtUnavailable (no connection), NoSuchDomain, DefineFailed, AttachFailed,
 * DetachTimeout (also when the guest or libvirt refuses), StalePlan (the definition is no longer
 * the expected one), UnsupportedDomain (its XML is not understood), InvalidArgument, Internal
 * (libvirt could not read something).
 */
#pragma once

#include "core/base/problem.h"
#include "core/domain/ref.h"
#include "core/domain/use.h"
#include "host/libvirt/guest-agent.h"
#include "host/libvirt/listener.h"

/*
 * Starts the event thread and begins to connect; does not wait for libvirt. One Virt a process
 * (virEventRegisterDefaultImpl is process-wide), until that ends: only tests free one
 * (tests/unit/rig/virt-free.h).
 */
int virt_new(const char *uri, VirtListener listener, void *userdata, Virt **ret);

bool virt_connected(Virt *virt);
/* Of the last connection, without a call; 0: there was none, or it did not say. */
void virt_versions(Virt *virt, uint64_t *ret_libvirt, uint64_t *ret_hypervisor);

/*
 * After a call that lost the connection: waits until there is one again, CLOCK_MONOTONIC. It first
 * pauses for a moment, because the caller hears of the loss before the connection's state shows it.
 * -ETIMEDOUT; -ESHUTDOWN when Virt is being freed.
 */
int virt_wait_connected(Virt *virt, uint64_t timeout_usec);

/* The domain that a word means. From here on its UUID identifies it; the name is for people. */
typedef struct DomainId {
	char uuid[DOMAIN_UUID_SIZE]; /* "": there is no such domain */
	char *name;
} DomainId;

/*
 * Finds a domain by a person's word (gpupass/domain-ref.h); use it for nothing else. 0 with an
 * empty UUID if there is no such domain. That takes no longer than finding one, so that a caller
 * who may know of neither cannot tell them apart by the time.
 */
int virt_domain_find(Virt *virt, const char *name_or_uuid, DomainId *ret, Problem **ret_problem);
void domain_id_clear(DomainId *id);

/* By UUID, never by name. */
int virt_domain_get(Virt *virt, const char *uuid, VirtDomain **ret, Problem **ret_problem);

/*
 * Every domain, running or not, with its PCI hostdevs. A domain whose XML libvirt cannot send, or
 * that is not understood, is listed as unread. `fresh`: all were read after this call began;
 * otherwise what is known is enough, by libvirt's events since it was read.
 */
int virt_domain_uses(Virt *virt, bool fresh, DomainUses **ret, Problem **ret_problem);

/*
 * Defines `xml` if the definition is still `expected` (domain_xml_equivalent). Validates against
 * libvirt's schema, unless it is so long that this would take minutes.
 */
int virt_domain_define(Virt *virt, const char *uuid, const char *expected, const char *xml,
		       Problem **ret_problem);

/*
 * Live only; virt_domain_define() changes the definition. Also succeeds when the device is already
 * there. Waits for as long as libvirt does: QEMU pins the guest's whole memory for its first vfio
 * device.
 */
int virt_domain_attach(Virt *virt, const char *uuid, const char *hostdev_xml,
		       Problem **ret_problem);

/*
 * Asks the guest to let go of the live hostdev with this host address. Waits until libvirt sends
 * DEVICE_REMOVED and the live XML no longer has it, or until DEVICE_REMOVAL_FAILED or the timeout
 * (CLOCK_MONOTONIC). Also succeeds when the device was not there.
 */
int virt_domain_detach(Virt *virt, const char *uuid, const Bdf *function, uint64_t timeout_usec,
		       Problem **ret_problem);

/*
 * Runs programs in the domain's guest, through its agent (guest-agent.h). An obstacle inside the
 * domain is the outcome of the first run; PROBLEM means only that libvirt or the domain is gone.
 */
int virt_guest_run(Virt *virt, const char *uuid, const char *const *const *commands, size_t n,
		   uint64_t deadline_usec, GuestRun *runs, Problem **ret_problem);
