/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether libvirt has our hook, and whether the daemon that starts guests knows of it. libvirt
 * (src/util/virhook.c) looks for hooks when its daemon starts and when it is told to reload:
 * virHookInitialize() notes whether there is any executable file "qemu", or in "qemu.d" (since
 * 6.5). Without one, virHookCall() never looks again. With one, it lists the folder at every call.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "core/facts/examination.h"
#include "core/setup/hook-script.h"
#include "gpupass/dbus.h"
#include "host/device/examine.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define HOOK_MAX_BYTES (16UL * 1024 * 1024)
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
	int r = dir_list_at(w->root_fd, path, "", &names);

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

/*
 * Others' hooks, and the scripts that these name, as far as they move boards. Our own is left out.
 */
static void read_other_hooks(int root_fd, Examination *e)
{
	Walk w = { .root_fd = root_fd, .e = e };

	walk(&w, HOOKS, 1);
	read_programs(&w);
	strv_free(w.programs);
}

/* NULL: it could not be read. */
static const char *what_is_it(const char *data, size_t size)
{
	static const char elf[] = { 0x7f, 'E', 'L', 'F' };

	if (size >= 2 && data[0] == '#' && data[1] == '!')
		return "a script";
	if (size < sizeof(elf) || memcmp(data, elf, sizeof(elf)) != 0 ||
	    !memmem(data, size, GPUPASS_HOOK_SAYS, strlen(GPUPASS_HOOK_SAYS)))
		return "another program";
	return "gpupass-hook";
}

static void read_hook(int root_fd, Examination *e)
{
	_cleanup_free_ char *data = NULL;
	size_t size = 0;
	struct stat st;

	/* libvirt leaves out what is not executable. */
	e->hook = fstatat(root_fd, HOOKS "/qemu.d/gpupass", &st, 0) == 0;
	e->hook_runs = e->hook && S_ISREG(st.st_mode) && (st.st_mode & S_IXUSR);
	if (e->hook_runs && file_read_regular_at(root_fd, HOOKS "/qemu.d/gpupass", HOOK_MAX_BYTES,
						 &data, &size) >= 0)
		e->hook_is = xstrdup(what_is_it(data, size));
}

static uint64_t usec_of(const struct statx_timestamp *t)
{
	return t->tv_sec <= 0 ? 0 : (uint64_t)t->tv_sec * USEC_PER_SEC + t->tv_nsec / 1000;
}

/*
 * The time at which a file was last changed in any way, a rename included: nobody can set it. Of a
 * link the later one of its own and its target's. What is not executable is no hook.
 */
static void note_hook(int dir_fd, const char *name, uint64_t *oldest)
{
	struct statx own, target;
	uint64_t changed;

	if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW, STATX_CTIME, &own) < 0 ||
	    statx(dir_fd, name, 0, STATX_TYPE | STATX_MODE | STATX_CTIME, &target) < 0 ||
	    !S_ISREG(target.stx_mode) || !(target.stx_mode & S_IXUSR))
		return;
	changed = usec_of(&own.stx_ctime);
	if (usec_of(&target.stx_ctime) > changed)
		changed = usec_of(&target.stx_ctime);
	if (*oldest == 0 || changed < *oldest)
		*oldest = changed;
}

static void compare_with_start(int root_fd, Examination *e)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int fd = -1;
	uint64_t oldest = 0, made = 0;
	struct statx st;
	int r = dir_open_at(root_fd, HOOKS "/qemu.d", false, &fd);

	if (r >= 0)
		r = dir_list(fd, "", &names);
	if (r < 0)
		return;
	for (char **name = names; name && *name; name++)
		note_hook(fd, *name, &oldest);
	/* A hook outside the folder may have been another one then. */
	if (faccessat(root_fd, HOOKS "/qemu", F_OK, 0) == 0)
		note_hook(root_fd, HOOKS "/qemu", &oldest);
	else if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) == 0 && (st.stx_mask & STATX_BTIME))
		made = usec_of(&st.stx_btime);
	examination_order_hook(e, oldest, made, now_realtime());
}

void examine_hook(int root_fd, Examination *e)
{
	read_other_hooks(root_fd, e);
	read_hook(root_fd, e);
	if (e->hook_runs)
		compare_with_start(root_fd, e);
}
