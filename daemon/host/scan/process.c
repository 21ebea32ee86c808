/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/process.h"

#include <fcntl.h>
#include <string.h>

#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define CGROUP_MAX_BYTES 65536U

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
	int r;

	r = file_read_at(process_fd, "cgroup", CGROUP_MAX_BYTES, &text, NULL);
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
