/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/cgroup.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "util/text.h"
#include "util/xalloc.h"

/* The shortest ids, as tools print them, have 12 digits. */
#define CONTAINER_ID_MIN 12
#define CONTAINER_ID_FULL 64

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n > m && strcmp(s + n - m, suffix) == 0;
}

static size_t leading_hex(const char *s)
{
	size_t n = 0;

	while (isxdigit((unsigned char)s[n]))
		n++;
	return n;
}

/*
 * "docker-<id>.scope": the runtimes' scopes under systemd. The scopes of their monitors
 * ("libpod-conmon-<id>") are not containers, and have no hex digits after the prefix. Borrowed, of
 * *ret_size bytes.
 */
static const char *id_in_scope(const char *component, size_t *ret_size)
{
	static const char *const prefixes[] = { "docker-", "libpod-", "cri-containerd-", "crio-",
						"nerdctl-" };

	for (size_t i = 0; i < ELEMENTS(prefixes); i++) {
		const char *id = component + strlen(prefixes[i]);
		size_t n;

		if (!str_starts_with(component, prefixes[i]))
			continue;
		n = leading_hex(id);
		if (n < CONTAINER_ID_MIN || (id[n] != '\0' && strcmp(id + n, ".scope") != 0))
			continue;
		*ret_size = n;
		return id;
	}
	return NULL;
}

/* The container of this path component, which follows `before`; NULL: none. Borrowed. */
static const char *container_in(const char *before, const char *component, size_t *ret_size)
{
	static const char payload[] = "lxc.payload.";
	const char *name = id_in_scope(component, ret_size);

	if (name)
		return name;
	*ret_size = strlen(component);
	/* cgroupfs driver: /docker/<id>, /kubepods/burstable/pod<uid>/<id>, /libpod_parent/<id> */
	if (*ret_size == CONTAINER_ID_FULL && leading_hex(component) == CONTAINER_ID_FULL)
		return component;
	if (str_equal(before, "lxc"))
		return component;
	if (!str_starts_with(component, payload) || !component[strlen(payload)])
		return NULL;
	*ret_size -= strlen(payload);
	return component + strlen(payload);
}

/* Sets what is not known yet: the first container found, and the last unit of the first path. */
static void identify_path(const char *path, bool units, char **unit, char **container)
{
	_cleanup_strv_ char **parts = NULL;
	const char *last = NULL;

	strv_split(path, "/", &parts);
	for (size_t i = 0; parts && parts[i]; i++) {
		const char *found;
		size_t size = 0;

		if (has_suffix(parts[i], ".service") || has_suffix(parts[i], ".scope"))
			last = parts[i];
		found = container_in(i > 0 ? parts[i - 1] : NULL, parts[i], &size);
		if (!*container && found)
			*container = xstrndup(found, size);
	}
	if (units && !*unit)
		*unit = xstrdup(last);
}

/*
 * "0::PATH" (v2), "1:name=systemd:PATH" and "4:devices:PATH" (v1). Only the first two have
 * systemd's own units; any of them may have a container.
 */
static void identify_line(char *line, char **unit, char **container)
{
	char *controllers = strchr(line, ':'), *path;

	if (!controllers)
		return;
	*controllers++ = '\0';
	path = strchr(controllers, ':');
	if (!path)
		return;
	*path++ = '\0';
	identify_path(path, *controllers == '\0' || strcmp(controllers, "name=systemd") == 0, unit,
		      container);
}

void cgroup_identify(const char *text, char **ret_unit, char **ret_container)
{
	_cleanup_free_ char *copy = xstrdup(text);
	char *save = NULL;

	*ret_unit = *ret_container = NULL;
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		identify_line(line, ret_unit, ret_container);
}
