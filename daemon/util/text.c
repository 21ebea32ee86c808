/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/text.h"

#include <ctype.h>
#include <time.h>

#include "util/xalloc.h"

char *vstrf(const char *format, va_list ap)
{
	char *s = NULL;

	if (vasprintf(&s, format, ap) < 0)
		no_memory();
	return s;
}

char *strf(const char *format, ...)
{
	va_list ap;
	char *s;

	va_start(ap, format);
	s = vstrf(format, ap);
	va_end(ap);
	return s;
}

bool str_equal(const char *a, const char *b)
{
	return !a || !b ? a == b : strcmp(a, b) == 0;
}

const char *str_or_empty(const char *s)
{
	return s ? s : "";
}

bool str_is_empty(const char *s)
{
	return !s || !*s;
}

bool str_starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_has_form(const char *s, const char *form)
{
	for (; *form; s++, form++)
		if (*form == 'x' ? !isxdigit((unsigned char)*s) : *s != *form)
			return false;
	return *s == '\0';
}

bool str_ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s), size = strlen(suffix);

	return n >= size && strcmp(s + n - size, suffix) == 0;
}

const char *str_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *str_printable(const char *s)
{
	char *copy = xstrdup(s);

	for (char *c = copy; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return copy;
}

char *str_escaped(const char *s)
{
	char *copy = xmalloc(4 * strlen(s) + 1), *at = copy;

	for (; *s; s++)
		at += sprintf(at, *s < ' ' || *s > '~' ? "\\x%02x" : "%c", (unsigned char)*s);
	*at = '\0';
	return copy;
}

char *str_strip(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	n = strlen(s);
	while (n > 0 && isspace((unsigned char)s[n - 1]))
		s[--n] = '\0';
	return s;
}

int str_to_unsigned(const char *s, int base, unsigned long long max, unsigned long long *ret)
{
	unsigned long long value;
	char *end = NULL;

	/* strtoull() takes blanks and signs; a number here starts with a digit. */
	if (!s || !isxdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	value = strtoull(s, &end, base);
	if (errno != 0)
		return -errno;
	if (end == s || *end != '\0')
		return -EINVAL;
	if (value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

char *utc_text(uint64_t usec)
{
	time_t seconds = (time_t)(usec / 1000000);
	char text[sizeof("YYYYYYYYYY-mm-dd HH:MM:SS UTC")];
	struct tm when;

	if (usec == 0 || !gmtime_r(&seconds, &when) ||
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &when) == 0)
		return xstrdup("-");
	return xstrdup(text);
}

size_t strv_length(char *const *l)
{
	size_t n = 0;

	while (l && l[n])
		n++;
	return n;
}

void strv_append_take(char ***l, char *s)
{
	size_t n = strv_length(*l);

	*l = xreallocarray(*l, n + 2, sizeof(char *));
	(*l)[n] = s;
	(*l)[n + 1] = NULL;
}

void strv_append(char ***l, const char *s)
{
	strv_append_take(l, xstrdup(s));
}

void strv_appendf(char ***l, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	strv_append_take(l, vstrf(format, ap));
	va_end(ap);
}

bool strv_contains(char *const *l, const char *s)
{
	for (; l && *l; l++)
		if (strcmp(*l, s) == 0)
			return true;
	return false;
}

void strv_split(const char *s, const char *separators, char ***ret)
{
	_cleanup_free_ char *copy = xstrdup(s);
	char *save = NULL;

	for (char *part = strtok_r(copy, separators, &save); part;
	     part = strtok_r(NULL, separators, &save))
		strv_append(ret, part);
}

char *strv_join(char *const *l, const char *separator)
{
	size_t need = 1;
	char *joined, *end;

	for (char *const *i = l; i && *i; i++)
		need += strlen(*i) + strlen(separator);
	joined = xmalloc(need);
	end = joined;
	*end = '\0';
	for (char *const *i = l; i && *i; i++) {
		if (i != l)
			end = stpcpy(end, separator);
		end = stpcpy(end, *i);
	}
	return joined;
}

void strv_copy(char *const *l, char ***ret)
{
	for (; l && *l; l++)
		strv_append(ret, *l);
}

bool strv_equal(char *const *a, char *const *b)
{
	for (; a && b && *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return !(a && *a) && !(b && *b);
}

char **strv_free(char **l)
{
	for (char **i = l; i && *i; i++)
		free(*i);
	free(l);
	return NULL;
}
