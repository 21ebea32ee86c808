/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/audit/query.h"

#include "gpupass/domain-ref.h"
#include "util/text.h"

static bool is_domain(const AuditRecord *record, const char *domain)
{
	char uuid[DOMAIN_UUID_SIZE];

	/* What the caller called the domain, where libvirt was not asked, stands as its name. */
	if (domain_uuid_parse(domain, uuid) && str_equal(record->domain_uuid, uuid))
		return true;
	return str_equal(record->domain, domain);
}

bool audit_query_matches(const AuditQuery *query, const AuditRecord *record)
{
	if (record->sequence <= query->after || record->time_usec < query->since_usec ||
	    (query->until_usec > 0 && record->time_usec > query->until_usec))
		return false;
	if (query->group && !str_equal(record->group, query->group))
		return false;
	if (query->domain && !is_domain(record, query->domain))
		return false;
	if (query->by_user && record->uid != query->user && record->login_uid != query->user)
		return false;
	if (query->holders && record->kind != AUDIT_HOLDER && record->kind != AUDIT_HOLDER_GONE)
		return false;
	return query->job == 0 || record->job == query->job;
}
