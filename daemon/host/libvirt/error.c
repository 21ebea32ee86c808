/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/libvirt/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/domain/ref.h"
#include "util/text.h"
#include "util/xalloc.h"

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
	r = virt_problem(call, ret_problem, GPUPASS_ERROR_INTERNAL,
			 "libvirt could not read domain %s", name);
	if (r != PROBLEM || (*ret_problem)->error != GPUPASS_ERROR_INTERNAL)
		return r;
	return problem_remedy(
		*ret_problem,
		"check whether virsh dumpxml can read it; if its text is too long for libvirt, "
		"remove its description (virsh desc) and others' metadata (virsh metadata "
		"--remove)");
}
