/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/host-name.h"

#include <string.h>

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define PLAIN LETTERS DIGITS "._-"
/* A directory service's users have an "@", too. */
#define USER_CHARACTERS PLAIN "+@"
#define NAME_LENGTH_MAX 320

/* Only these characters, at least one, and no "-" first, which would make it an option. */
static bool is_word(const char *s, size_t length, const char *characters)
{
	return length > 0 && *s != '-' && strspn(s, characters) >= length;
}

static bool is_port(const char *s, size_t length)
{
	unsigned port = 0;

	if (length == 0 || length > 5 || strspn(s, DIGITS) < length)
		return false;
	for (size_t i = 0; i < length; i++)
		port = port * 10 + (unsigned)(s[i] - '0');
	return port > 0 && port <= 65535;
}

/* What is behind the host: "", ":22", "/machine", ":22/machine". */
static bool is_rest(const char *s)
{
	if (*s == ':') {
		size_t length = strcspn(++s, "/");

		if (!is_port(s, length))
			return false;
		s += length;
	}
	return !*s || (*s == '/' && is_word(s + 1, strlen(s + 1), PLAIN));
}

bool host_name_is_valid(const char *name)
{
	const char *at = strrchr(name, '@'), *host = at ? at + 1 : name;
	size_t length;

	if (strlen(name) > NAME_LENGTH_MAX)
		return false;
	if (at && !is_word(name, (size_t)(at - name), USER_CHARACTERS))
		return false;
	if (*host == '[') {
		length = strcspn(++host, "]");
		/* A link-local address has its interface behind a "%". */
		return host[length] == ']' && is_word(host, length, PLAIN ":%") &&
		       is_rest(host + length + 1);
	}
	length = strcspn(host, ":/");
	return is_word(host, length, PLAIN) && is_rest(host + length);
}
