/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/base/group-name.h"

#include <ctype.h>
#include <stddef.h>

bool group_name_valid(const char *name)
{
	size_t n = 0;

	if (!name || !isascii((unsigned char)name[0]) || !isalpha((unsigned char)name[0]))
		return false;
	for (; name[n]; n++) {
		unsigned char c = (unsigned char)name[n];

		if (!isascii(c) || !(isalnum(c) || c == '-' || c == '_' || c == '.'))
			return false;
	}
	return n <= GROUP_NAME_MAX;
}
