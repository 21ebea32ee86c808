/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/examine-other-hooks.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "core/facts/hook-script.h"
#include "core/facts/setup-files.h"
#include "util/file.h"
#include "util/text.h"

#define HOOKS "etc/libvirt/hooks"
#define OURS HOOKS "/qemu.d/gpupass"
#define SCRIPT_MAX_BYTES 65536
#define ENTRIES_MAX 512
/* qemu.d/VM/prepare/begin/start.sh: a tree that a widespread hooks/qemu runs. */
#define DEPTH_MAX 5

typedef struct Walk {
	int root_fd;
	Examination *e;
	char **programs;
	size_t n_entries;
} Walk;

static int read_script(Walk *w, const char *path, const struct stat *st, char ***programs)
{
	_cleanup_free_ char *text = NULL, *shown = strf("/%s", path);
	size_t size = 0;
	int r;

	if (!shown)
		return -ENOMEM;
	/* libvirt, and the hooks that run others, leave out what is not executable. */
	if (!S_ISREG(st->st_mode) || !(st->st_mode & S_IXUSR) || strcmp(path, OURS) == 0)
		return 0;
	r = file_read_at(w->root_fd, path, SCRIPT_MAX_BYTES, &text, &size);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return strv_appendf(&w->e->host_hooks, "%s was not read: %s", shown, strerror(-r));
	/* A program is no text. */
	return strlen(text) == size ? hook_script_read(shown, text, &w->e->host_hooks, programs)
				    : 0;
}

static int walk(Walk *w, const char *path, unsigned depth)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(w->root_fd, path, false, &fd);

	if (r >= 0)
		r = dir_list(fd, "", &names);
	if (r == -ENOMEM || r == -ENOENT)
		return r == -ENOMEM ? r : 0;
	if (r < 0)
		return strv_appendf(&w->e->host_hooks, "/%s was not read: %s", path, strerror(-r));
	for (char **name = names; r >= 0 && name && *name; name++) {
		_cleanup_free_ char *below = strf("%s/%s", path, *name);
		struct stat st;

		if (!below)
			return -ENOMEM;
		if (fstatat(w->root_fd, below, &st, 0) < 0)
			continue;
		if (w->n_entries++ == ENTRIES_MAX)
			return strv_append(&w->e->host_hooks,
					   "/" HOOKS " has more files than were read");
		if (w->n_entries > ENTRIES_MAX)
			return 0;
		if (!S_ISDIR(st.st_mode))
			r = read_script(w, below, &st, &w->programs);
		else if (depth < DEPTH_MAX)
			r = walk(w, below, depth + 1);
	}
	return r;
}

/* A hook may run a script that lies elsewhere: /usr/local/bin/vfio-startup. */
static int read_programs(Walk *w)
{
	int r = 0;

	for (char **program = w->programs; r >= 0 && program && *program; program++) {
		const char *path = *program + 1;
		struct stat st;

		if (!str_starts_with(path, HOOKS "/") && fstatat(w->root_fd, path, &st, 0) == 0 &&
		    st.st_size <= SCRIPT_MAX_BYTES)
			r = read_script(w, path, &st, NULL);
	}
	return r;
}

int examine_other_hooks(int root_fd, Examination *e)
{
	Walk w = { .root_fd = root_fd, .e = e };
	int r = walk(&w, HOOKS, 1);

	if (r >= 0)
		r = read_programs(&w);
	strv_free(w.programs);
	return r;
}
