/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of gpupass audit. */
#pragma once

#include <jansson.h>

#include "base/client.h"

/* What the command line asks for, as GetAudit takes it. */
typedef struct AuditFilter {
	uint64_t since_usec, until_usec; /* 0: any */
	bool by_user;
	uint64_t user, job; /* job 0: any */
} AuditFilter;

/* All pages behind `after` as one. *ret_last: the last sequence number that was looked at. */
int audit_records(Client *c, const AuditFilter *filter, uint64_t after, json_t **ret,
		  uint64_t *ret_last);

/* audit-show.c */
void audit_print(Client *c, json_t *records);
void audit_print_holders(Client *c, json_t *holders, json_t *records);
/* One record, for a reader who waits for it. */
int audit_print_line(Client *c, json_t *record);

int audit_follow(Client *c, const AuditFilter *filter);
int audit_verify(Client *c);
