/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/process-list.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/scan/process.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/* PF_KTHREAD of include/linux/sched.h, which the field "flags" of /proc/PID/stat shows. */
#define KERNEL_THREAD 0x00200000U
#define STAT_MAX 4096

static int compare_by_user(const void *a, const void *b)
{
	const Process *x = a, *y = b;

	return x->uid < y->uid ? -1 : x->uid > y->uid;
}

static int compare_by_turn(const void *a, const void *b)
{
	const Process *x = a, *y = b;

	if ((x->uid == 0) != (y->uid == 0))
		return x->uid == 0 ? -1 : 1;
	if (x->of_user != y->of_user)
		return x->of_user < y->of_user ? -1 : 1;
	if (x->uid != y->uid)
		return x->uid < y->uid ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void sort_by_turn(Process *items, size_t n)
{
	size_t first = 0;

	if (n == 0)
		return;
	qsort(items, n, sizeof(*items), compare_by_user);
	for (size_t i = 0; i <= n; i++) {
		if (i < n && items[i].uid == items[first].uid)
			continue;
		for (size_t k = first; k < i; k++)
			items[k].of_user = i - first;
		first = i;
	}
	qsort(items, n, sizeof(*items), compare_by_turn);
}

/* The real user. For a process that cannot be dumped, root owns /proc/PID instead of its user. */
static uid_t user_of(int process_fd)
{
	uid_t uids[PROCESS_UIDS];
	struct stat owner;

	if (process_uids(process_fd, uids) >= 0)
		return uids[0];
	return fstat(process_fd, &owner) < 0 ? (uid_t)-1 : owner.st_uid;
}

/*
 * A kernel thread has neither descriptors nor memory: what the kernel opens for itself is in no
 * table. Hosts have more of them than processes. No process can say that it is one: it has a
 * program (unless it is ending), and the flag comes after the name, the only text in its line.
 */
static bool is_kernel_thread(int process_fd)
{
	_cleanup_free_ char *line = NULL;
	unsigned flags = 0;
	const char *at;
	char text[1];

	if (readlinkat(process_fd, "exe", text, sizeof(text)) >= 0 || errno != ENOENT ||
	    file_read_at(process_fd, "stat", STAT_MAX, &line, NULL) < 0)
		return false;
	at = strrchr(line, ')');
	return at && sscanf(at, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       (flags & KERNEL_THREAD);
}

int process_list(int proc_fd, Process **ret, size_t *ret_n)
{
	_cleanup_strv_ char **names = NULL;
	Process *items;
	size_t n = 0;
	int r = dir_list(proc_fd, "", &names);

	if (r < 0)
		return r;
	items = xcalloc(strv_length(names) + 1, sizeof(*items));
	for (char **name = names; name && *name; name++) {
		_cleanup_close_ int fd = -1;
		unsigned long long pid;

		if (str_to_unsigned(*name, 10, INT_MAX, &pid) < 0 ||
		    dir_open_at(proc_fd, *name, false, &fd) < 0 || is_kernel_thread(fd))
			continue;
		items[n++] = (Process){ .pid = (pid_t)pid, .uid = user_of(fd) };
	}
	sort_by_turn(items, n);
	*ret = items;
	*ret_n = n;
	return 0;
}
