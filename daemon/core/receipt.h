/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record of one turnover: who gave up which group, and how each function was reset. */
#pragma once

#include <stdint.h>

#include "core/reset-report.h"

/* Borrows everything. */
typedef struct Receipt {
	const char *group;
	const char *domain_uuid;
	const char *domain_name;
	uint32_t caller_uid;
	uint64_t begun_usec, ended_usec; /* CLOCK_REALTIME */
	const ResetReport *functions;
	size_t n_functions;
} Receipt;

/* Every function is fit for the next tenant. */
bool receipt_is_good(const Receipt *receipt);

/* Schema org.gpupass1.receipt/1, with a newline; NULL when memory is out. */
char *receipt_to_json(const Receipt *receipt);
