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

static void read_script(Walk *w, const char *path, const struct stat *st, char ***programs)
{
	_cleanup_free_ char *text = NULL, *shown = strf("/%s", path);
	size_t size = 0;
	int r;

	/* libvirt, and the hooks that run others, leave out what is not executable. */
	if (!S_ISREG(st->st_mode) || !(st->st_mode & S_IXUSR) || strcmp(path, OURS) == 0)
		return;
	r = file_read_at(w->root_fd, path, SCRIPT_MAX_BYTES, &text, &size);
	if (r < 0)
		strv_appendf(&w->e->host_hooks, "%s was not read: %s", shown, strerror(-r));
	/* A program is no text. */
	else if (strlen(text) == size)
		hook_script_read(shown, text, &w->e->host_hooks, programs);
}

static void walk(Walk *w, const char *path, unsigned depth)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(w->root_fd, path, false, &fd);

	if (r >= 0)
		r = dir_list(fd, "", &names);
	if (r < 0 && r != -ENOENT)
		strv_appendf(&w->e->host_hooks, "/%s was not read: %s", path, strerror(-r));
	for (char **name = names; name && *name; name++) {
		_cleanup_free_ char *below = strf("%s/%s", path, *name);
		struct stat st;

		if (fstatat(w->root_fd, below, &st, 0) < 0)
			continue;
		if (w->n_entries++ == ENTRIES_MAX) {
			strv_append(&w->e->host_hooks, "/" HOOKS " has more files than were read");
			return;
		}
		if (w->n_entries > ENTRIES_MAX)
			return;
		if (!S_ISDIR(st.st_mode))
			read_script(w, below, &st, &w->programs);
		else if (depth < DEPTH_MAX)
			walk(w, below, depth + 1);
	}
}

/* A hook may run a script that lies elsewhere: /usr/local/bin/vfio-startup. */
static void read_programs(Walk *w)
{
	for (char **program = w->programs; program && *program; program++) {
		const char *path = *program + 1;
		struct stat st;

		if (!str_starts_with(path, HOOKS "/") && fstatat(w->root_fd, path, &st, 0) == 0 &&
		    st.st_size <= SCRIPT_MAX_BYTES)
			read_script(w, path, &st, NULL);
	}
}

void examine_other_hooks(int root_fd, Examination *e)
{
	Walk w = { .root_fd = root_fd, .e = e };

	walk(&w, HOOKS, 1);
	read_programs(&w);
	strv_free(w.programs);
}
