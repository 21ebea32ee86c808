/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a verification found beside the links, in words. */
#pragma once

#include <jansson.h>

#include "base/client.h"

/* The member "guest_report"; nothing where there is none. */
void verify_print_guest_report(Client *c, const json_t *report);
/* The member "workload"; nothing where it was not asked for. */
void verify_print_workload(Client *c, const json_t *workload);
/* The links are as fast as they should be, or were not measured. */
bool verify_workload_passed(const json_t *workload);
