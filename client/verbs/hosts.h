/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a verb for several hosts at once. */
#pragma once

#include "base/columns.h"
#include "hosts/answer.h"

/* hosts-list.c: one table of all. */
typedef struct HostsTable {
	ColumnKind *kinds; /* HOST, and those of list */
	size_t n_kinds;
	ColumnChoice choice;
} HostsTable;

int hosts_table_choose(Client *c, HostsTable *ret);
void hosts_table_clear(HostsTable *table);
/* In the process of a host: what the table is made of. */
int hosts_table_load(Client *c, json_t **ret);
/* An answer that has no rows of a table becomes a failure. */
int hosts_table_print(Client *c, const HostsTable *table, char *const *hosts, HostAnswer *answers);
