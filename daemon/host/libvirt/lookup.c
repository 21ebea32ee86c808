/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/libvirt/lookup.h"

#include <string.h>

#include "core/domain/ref.h"
#include "host/libvirt/call.h"
#include "host/libvirt/error.h"

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
		return virt_problem(call, ret_problem, GPUPASS_ERROR_INTERNAL,
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
