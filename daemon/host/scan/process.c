/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/process.h"

#include <ctype.h>
#include <fcntl.h>

#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/* The shortest ids, as tools print them, have 12 digits. */
#define CONTAINER_ID_MIN 12
#define CONTAINER_ID_FULL 64
#define CGROUP_MAX_BYTES 65536U

/* ---- whose it is ---- */

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

		if (*parts[i] != '.' &&
		    (str_ends_with(parts[i], ".service") || str_ends_with(parts[i], ".scope")))
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

/* ---- what only the kernel writes ---- */

/* Reads line by line, because tens of thousands of groups may follow the uids. */
int process_uids(int process_fd, uid_t ret[PROCESS_UIDS])
{
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	unsigned uids[PROCESS_UIDS];
	size_t size = 0;
	int fd = openat(process_fd, "status", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	f = fdopen(fd, "re");
	if (!f)
		no_memory();
	/* The name comes before; a newline in it is written as "\n". */
	while (getline(&line, &size, f) > 0) {
		if (sscanf(line, "Uid:\t%u\t%u\t%u\t%u", &uids[0], &uids[1], &uids[2], &uids[3]) !=
		    PROCESS_UIDS)
			continue;
		for (size_t i = 0; i < PROCESS_UIDS; i++)
			ret[i] = (uid_t)uids[i];
		return 0;
	}
	return -ENOENT;
}

int process_cgroup(int process_fd, char **ret)
{
	static const char v2[] = "0::", v1[] = ":name=systemd:";
	_cleanup_free_ char *text = NULL;
	const char *found = NULL;
	char *save = NULL;
	int r = file_read_at(process_fd, "cgroup", CGROUP_MAX_BYTES, &text, NULL);

	if (r < 0)
		return r;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *name = strchr(line, ':');

		/* If both versions are there, units are in the first version's. */
		if (name && str_starts_with(name, v1))
			found = name + strlen(v1);
		else if (!found && str_starts_with(line, v2))
			found = line + strlen(v2);
	}
	if (!found)
		return -ENOENT;
	*ret = xstrdup(found);
	return 0;
}
