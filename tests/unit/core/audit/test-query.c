/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "core/audit/record.h"

#define UUID "22222222-2222-4222-8222-222222222222"

static const AuditRecord denied = {
	.sequence = 7,
	.time_usec = 1000,
	.kind = AUDIT_CALL,
	.uid = 0,
	.login_uid = 1000,
	.group = (char *)"pair0",
	.domain = (char *)"vm42",
	.domain_uuid = (char *)UUID,
	.job = 3,
};
static const AuditRecord holder = {
	.sequence = 8,
	.time_usec = 2000,
	.kind = AUDIT_HOLDER,
	.uid = AUDIT_NO_UID,
	.login_uid = AUDIT_NO_UID,
};

TEST(a_query_takes_what_fits_all_of_its_members)
{
	const struct {
		AuditQuery query;
		bool denied, holder;
	} rows[] = {
		{ { 0 }, true, true },
		{ { .since_usec = 1000 }, true, true },
		{ { .since_usec = 1001 }, false, true },
		{ { .until_usec = 1000 }, true, false },
		{ { .until_usec = 999 }, false, false },
		{ { .after = 7 }, false, true },
		{ { .after = 8 }, false, false },
		{ { .group = "pair0" }, true, false },
		{ { .group = "pair1" }, false, false },
		{ { .domain = "vm42" }, true, false },
		{ { .domain = UUID }, true, false },
		{ { .domain = "22222222222242228222222222222222" }, true, false },
		{ { .domain = "vm4" }, false, false },
		{ { .by_user = true, .user = 0 }, true, false },
		{ { .by_user = true, .user = 1000 }, true, false },
		{ { .by_user = true, .user = 1001 }, false, false },
		{ { .job = 3 }, true, false },
		{ { .job = 4 }, false, false },
		{ { .holders = true }, false, true },
		{ { .group = "pair0", .job = 4 }, false, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (audit_query_matches(&rows[i].query, &denied) != rows[i].denied ||
		    audit_query_matches(&rows[i].query, &holder) != rows[i].holder)
			fail_msg("row %zu", i);
}
