/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of machines and of mappings are made of. */

#include "core/facts/machine.h"
#include "util/text.h"

uint32_t machine_vmid(const char *file)
{
	const char *suffix = strstr(file, ".conf");
	unsigned long long vmid = 0;
	char digits[12] = { 0 };

	if (!suffix || suffix[strlen(".conf")] != '\0' || *file == '0' ||
	    (size_t)(suffix - file) >= sizeof(digits))
		return 0;
	memcpy(digits, file, (size_t)(suffix - file));
	if (str_to_unsigned(digits, 10, MACHINE_VMID_MAX, &vmid) < 0 || vmid < MACHINE_VMID_MIN)
		return 0;
	return (uint32_t)vmid;
}

bool machine_is_config_id(const char *text)
{
	static const char characters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return strlen(text) > 1 && text[strspn(text, characters)] == '\0' &&
	       !strchr("0123456789_-", *text);
}

/* "0000:41:00.1" at the start of text: how long it is; 0: it is none. */
static size_t host_length(const char *text, bool with_domain)
{
	size_t domain = strspn(text, MACHINE_HEX);
	const char *at = text;

	if (domain >= 4 && at[domain] == ':')
		at += domain + 1;
	else if (with_domain)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		if (strspn(at, MACHINE_HEX) != 2)
			return 0;
		at += 2;
		if (i == 0 && *at++ != ':')
			return 0;
	}
	if (*at == '.')
		at += strspn(at + 1, MACHINE_HEX) == 1 ? 2 : 0;
	return (size_t)(at - text);
}

bool machine_is_host(const char *text, bool with_domain)
{
	for (;;) {
		size_t length = host_length(text, with_domain);

		if (length == 0 || !strchr(";", text[length]))
			return false;
		if (text[length] == '\0')
			return true;
		text += length + 1;
	}
}

int machine_property_next(char **rest, const char **ret_key, const char **ret_value)
{
	char *part, *equals;

	do
		part = strsep(rest, ",");
	while (part && part[strspn(part, MACHINE_BLANKS)] == '\0');
	if (!part)
		return 0;
	equals = strchr(part, '=');
	if (equals == part || (equals && equals[1] == '\0'))
		return -EINVAL;
	if (equals)
		*equals = '\0';
	*ret_key = equals ? part : NULL;
	*ret_value = equals ? equals + 1 : part;
	return 1;
}
