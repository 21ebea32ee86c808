/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/libvirt/call.h"

#include <stdarg.h>

#include "core/domain/ref.h"
#include "util/clock.h"
#include "util/mutex.h"
#include "util/text.h"
#include "util/xalloc.h"

/* ---- errors ---- */

/* virSaveLastError() copies; virFreeError() frees. */
static void error_freep(virErrorPtr *error)
{
	if (*error)
		virFreeError(*error);
}

/*
 * libvirt has no single code for a lost connection. The call that loses it gets the error of the
 * socket, the keepalive or the RPC layer (VIR_FROM_RPC); later calls get "client socket is closed".
 * With virtproxyd in between, the connection to the proxy lives while the one behind it is gone.
 */
static bool connection_lost(virConnectPtr conn, const virError *error)
{
	if (error && (error->code == VIR_ERR_NO_CONNECT || error->code == VIR_ERR_INVALID_CONN))
		return true;
	if (error && error->domain == VIR_FROM_RPC &&
	    (error->code == VIR_ERR_INTERNAL_ERROR || error->code == VIR_ERR_SYSTEM_ERROR))
		return true;
	return virConnectIsAlive(conn) == 0;
}

int virt_unavailable(const char *uri, const char *why, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
		.reason = xstrdup("libvirt does not answer"),
		.cause = strf("%s: %s", uri ? uri : "libvirt's default connection", why),
		.remedy =
			xstrdup("see `systemctl status libvirtd virtqemud`; gpupass connects again "
				"by itself"));
}

int virt_problem(const VirtCall *call, Problem **ret_problem, GpupassError code, const char *reason,
		 ...)
{
	_cleanup_(error_freep) virErrorPtr error = virSaveLastError();
	const char *message = error && error->message ? error->message : "libvirt gave no reason";
	char *text = NULL;
	va_list ap;

	if (connection_lost(call->conn, error))
		return virt_unavailable(call->virt->uri, message, ret_problem);
	va_start(ap, reason);
	if (vasprintf(&text, reason, ap) < 0)
		text = NULL; /* undefined after a failed vasprintf() */
	va_end(ap);
	/*
	 * libvirt quotes the XML on further lines, and it may have passwords
	 * (virXMLErrorHandler()).
	 */
	return problem_refuse(ret_problem, code, .reason = text,
			      .cause = strf("libvirt: %.*s", (int)strcspn(message, "\n"), message));
}

int virt_no_such_domain(const char *text, Problem **ret_problem)
{
	return domain_ref_missing(text, NULL, ret_problem);
}

int virt_read_problem(const VirtCall *call, const char *name, Problem **ret_problem)
{
	int r;

	if (virt_error_is_no_domain())
		return virt_no_such_domain(name, ret_problem);
	r = virt_problem(call, ret_problem, GPUPASS_ERROR_LIBVIRT_FAILED,
			 "libvirt could not read domain %s", name);
	if (r != PROBLEM || (*ret_problem)->error != GPUPASS_ERROR_LIBVIRT_FAILED)
		return r;
	return problem_remedy(
		*ret_problem,
		"check whether virsh dumpxml can read it; if its text is too long for libvirt, "
		"remove its description (virsh desc) and others' metadata (virsh metadata "
		"--remove)");
}

/* ---- calls ---- */

/* How long a call made at start-up waits for the first attempt to connect. */
#define FIRST_CONNECT_USEC (10 * USEC_PER_SEC)

void virt_wait(Virt *virt, uint64_t deadline)
{
	const struct timespec until = clock_timespec(deadline);

	if (deadline == UINT64_MAX)
		pthread_cond_wait(&virt->changed, &virt->lock);
	else
		pthread_cond_timedwait(&virt->changed, &virt->lock, &until);
}

void virt_hold(Virt *virt)
{
	MUTEX_HOLD(&virt->lock);

	virt->users++;
}

void virt_release(Virt *virt)
{
	MUTEX_HOLD(&virt->lock);

	virt->users--;
	pthread_cond_broadcast(&virt->changed);
}

int virt_call_begin(Virt *virt, VirtCall *ret, Problem **ret_problem)
{
	_cleanup_free_ char *why = NULL;
	uint64_t deadline = virt->started_usec + FIRST_CONNECT_USEC;
	virConnectPtr conn = NULL;
	uint64_t connection;

	pthread_mutex_lock(&virt->lock);
	virt->users++;
	while (!virt->tried && !virt->stopping && now_monotonic() < deadline)
		virt_wait(virt, deadline);
	if (virt->link == LINK_UP && !virt->stopping) {
		conn = virt->conn;
		virConnectRef(conn);
	} else if (virt->stopping) {
		why = xstrdup("the daemon is stopping");
	} else if (virt->last_error) {
		why = xstrdup(virt->last_error);
	} else {
		why = xstrdup("it accepts connections, but does not answer");
	}
	connection = virt->generation;
	pthread_mutex_unlock(&virt->lock);
	if (conn) {
		*ret = (VirtCall){ .virt = virt, .conn = conn, .connection = connection };
		return 0;
	}
	virt_release(virt);
	return virt_unavailable(virt->uri, why, ret_problem);
}

void virt_call_end(VirtCall *call)
{
	if (!call->virt)
		return;
	virConnectClose(call->conn);
	virt_release(call->virt);
	*call = (VirtCall){ 0 };
}

/* ---- domains ---- */

/*
 * Looking up a domain that does not exist is no error here. A text that is no UUID gives
 * VIR_ERR_INVALID_ARG.
 */
static bool lookup_failed(virDomainPtr domain)
{
	const virError *error = virGetLastError();

	if (domain)
		return false;
	return error && error->code != VIR_ERR_NO_DOMAIN && error->code != VIR_ERR_INVALID_ARG;
}

/* Most drivers find names exactly; some use a name that another hypervisor has changed. */
static bool has_name(virDomainPtr domain, const char *name)
{
	return strcmp(virt_domain_name(domain), name) == 0;
}

virDomainPtr virt_lookup_word(virConnectPtr conn, const char *text, bool *ret_failed)
{
	char uuid[DOMAIN_UUID_SIZE];
	virDomainPtr domain;

	if (domain_uuid_parse(text, uuid)) {
		domain = virDomainLookupByUUIDString(conn, uuid);
		*ret_failed = lookup_failed(domain);
		return domain;
	}
	domain = virDomainLookupByName(conn, text);
	*ret_failed = lookup_failed(domain);
	if (domain && !has_name(domain, text)) {
		virDomainFree(domain);
		return NULL;
	}
	return domain;
}

int virt_lookup_uuid(const VirtCall *call, const char *uuid, virDomainPtr *ret,
		     Problem **ret_problem)
{
	virDomainPtr domain;

	domain = virDomainLookupByUUIDString(call->conn, uuid);
	if (lookup_failed(domain))
		return virt_problem(call, ret_problem, GPUPASS_ERROR_LIBVIRT_FAILED,
				    "libvirt could not look up domain %s", uuid);
	if (!domain)
		return virt_no_such_domain(uuid, ret_problem);
	*ret = domain;
	return 0;
}

int virt_call_begin_on(Virt *virt, const char *uuid, VirtCall *ret_call, virDomainPtr *ret,
		       Problem **ret_problem)
{
	int r = virt_call_begin(virt, ret_call, ret_problem);

	return r != 0 ? r : virt_lookup_uuid(ret_call, uuid, ret, ret_problem);
}
