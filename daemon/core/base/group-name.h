/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of groups. */
#pragma once

#include <stdbool.h>

#define GROUP_NAME_MAX 63

/* Letters, digits, '-', '_', '.'; starts with a letter; at most GROUP_NAME_MAX. */
bool group_name_valid(const char *name);
