/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which records of the trail somebody asks for. */
#pragma once

#include "core/audit/record.h"

/* Borrows its strings. Zero and NULL: any. */
typedef struct AuditQuery {
	uint64_t since_usec, until_usec;
	uint64_t after; /* a sequence number: only later records */
	const char *group;
	const char *domain; /* a UUID, or else a name */
	bool by_user;
	uint32_t user; /* the uid or the login uid */
	uint32_t job;
	bool holders; /* only those of holders */
} AuditQuery;

bool audit_query_matches(const AuditQuery *query, const AuditRecord *record);
