/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hosts/names.h"

#include <fcntl.h>
#include <string.h>

#include "base/text.h"

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define PLAIN LETTERS DIGITS "._-"
/* A directory service's users have an "@", too. */
#define USER_CHARACTERS PLAIN "+@"
#define NAME_LENGTH_MAX 320
#define SHOWN_MAX 64

/* ---- one name ---- */

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

/* ---- lists ---- */

static int refuse(char **ret_why, char *why)
{
	if (!why)
		return -ENOMEM;
	*ret_why = why;
	return -EINVAL;
}

/* `where` stands before the reason: "" or "FILE:3: ". */
static int add_name(char ***names, const char *name, const char *where, char **ret_why)
{
	if (!host_name_is_valid(name)) {
		_cleanup_free_ char *clean = text_printable(name);

		return refuse(ret_why, clean ? strf("%s'%.*s' is no name of a host\n"
						    "Remedy: write it as [USER@]HOST[:PORT]",
						    where, SHOWN_MAX, clean)
					     : NULL);
	}
	if (strv_contains(*names, name))
		return refuse(ret_why, strf("%s'%s' is there twice", where, name));
	if (strv_length(*names) >= HOSTS_MAX)
		return refuse(ret_why, strf("%sthere are more than %d hosts", where, HOSTS_MAX));
	return strv_append(names, name);
}

int host_names_parse(const char *list, char ***ret, char **ret_why)
{
	_cleanup_strv_ char **names = NULL;
	int r = 0;

	for (const char *s = list; r >= 0; s++) {
		_cleanup_free_ char *name = strndup(s, strcspn(s, ","));

		if (!name)
			return -ENOMEM;
		if (!*name)
			return refuse(ret_why, strf("-H %.*s: a name is empty", SHOWN_MAX, list));
		r = add_name(&names, name, "-H: ", ret_why);
		s += strlen(name);
		if (!*s)
			break;
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(names);
	return 0;
}

/* The name in a line, without comment and blanks; "" where there is none. */
static char *name_of_line(const char *line, size_t length)
{
	static const char blanks[] = " \t\r";
	size_t begin = 0;

	length = strnlen(line, length);
	for (size_t i = 0; i < length; i++)
		if (line[i] == '#')
			length = i;
	while (begin < length && strchr(blanks, line[begin]))
		begin++;
	while (length > begin && strchr(blanks, line[length - 1]))
		length--;
	return strndup(line + begin, length - begin);
}

int host_names_parse_file(const char *text, size_t size, const char *file, char ***ret,
			  char **ret_why)
{
	_cleanup_strv_ char **names = NULL;
	size_t number = 0, length;

	if (memchr(text, '\0', size))
		return refuse(ret_why, strf("%s has a NUL byte, and is no text", file));
	for (const char *line = text; line < text + size; line += length + 1) {
		const char *end = memchr(line, '\n', (size_t)(text + size - line));
		_cleanup_free_ char *name = NULL, *where = NULL;
		int r;

		length = end ? (size_t)(end - line) : (size_t)(text + size - line);
		name = name_of_line(line, length);
		where = strf("%s:%zu: ", file, ++number);
		if (!name || !where)
			return -ENOMEM;
		r = *name ? add_name(&names, name, where, ret_why) : 0;
		if (r < 0)
			return r;
	}
	if (!names)
		return refuse(ret_why, strf("%s names no host\n"
					    "Remedy: write one a line; a # begins a comment",
					    file));
	*ret = TAKE_PTR(names);
	return 0;
}

/* Up to `max` bytes; -EFBIG for more. */
static ssize_t read_all(int fd, char *text, size_t max)
{
	size_t size = 0;

	while (size <= max) {
		ssize_t n = read(fd, text + size, max + 1 - size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return (ssize_t)size;
		size += (size_t)n;
	}
	return -EFBIG;
}

int host_names_read(const char *path, char ***ret, char **ret_why)
{
	bool is_input = strcmp(path, "-") == 0;
	_cleanup_close_ int opened = -1;
	_cleanup_free_ char *text = malloc(HOSTS_FILE_MAX + 1), *name = text_printable(path);
	ssize_t size;

	if (!text || !name)
		return -ENOMEM;
	if (!is_input) {
		opened = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (opened < 0)
			return -errno;
	}
	size = read_all(is_input ? STDIN_FILENO : opened, text, HOSTS_FILE_MAX);
	if (size == -EFBIG)
		return refuse(ret_why,
			      strf("%s is larger than %u KiB", name, HOSTS_FILE_MAX / 1024));
	if (size < 0)
		return (int)size;
	return host_names_parse_file(text, (size_t)size, is_input ? "standard input" : name, ret,
				     ret_why);
}
