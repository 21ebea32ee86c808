/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a word means by which a person calls a domain, for the daemon and the client alike: text of
 * a UUID's form is a UUID, and every other text is a name. Nothing is tried after the other, so
 * that whoever may choose a domain's name cannot have it taken for another domain's UUID. libvirt's
 * ids are no way to call a domain: they are counted anew at each start of a domain, and a domain
 * may have a number for a name.
 */
#pragma once

#include "gpupass/cleanup.h"

/* 36 characters in lower case, with dashes, and NUL. */
#define DOMAIN_UUID_SIZE 37

/* ASCII only, whatever the locale. */
static inline _unused_ bool domain_ref_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* -1: no hexadecimal digit. */
static inline _unused_ int domain_ref_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/*
 * Takes all that libvirt takes for a UUID (virUUIDParse(): any case, dashes and blanks between two
 * digits, white space around), and gives it as libvirt writes it. False: it is a name.
 */
static inline _unused_ bool domain_uuid_parse(const char *text, char ret[DOMAIN_UUID_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;

	while (domain_ref_is_space(*text))
		text++;
	for (size_t bytes = 0; bytes < 16;) {
		int high, low;

		if (*text == '-' || *text == ' ') {
			text++;
			continue;
		}
		high = domain_ref_digit(*text);
		low = high < 0 ? -1 : domain_ref_digit(text[1]);
		if (low < 0)
			return false;
		if (bytes == 4 || bytes == 6 || bytes == 8 || bytes == 10)
			ret[at++] = '-';
		ret[at++] = digits[high];
		ret[at++] = digits[low];
		text += 2;
		bytes++;
	}
	ret[at] = '\0';
	while (domain_ref_is_space(*text))
		text++;
	return *text == '\0';
}
