/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/holders.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "host/device/device-files.h"
#include "host/device/process-look.h"
#include "host/scan/process.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/grow.h"

/* ---- the host's processes, in the order in which they are looked at ---- */

typedef struct Process {
	pid_t pid;
	uid_t uid;
	size_t of_user; /* processes of this user */
	/* State of the search: */
	bool pending; /* not yet looked at, in this part */
	bool unseen;
	UnseenReason reason;
} Process;

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

/*
 * Root's processes come first, then those of the users with the fewest, so that a user with very
 * many processes does not delay the look at all others.
 */
static int process_list(int proc_fd, Process **ret, size_t *ret_n)
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

/* ---- the search ---- */

/*
 * More holders would not make a refusal clearer, and all must fit into one document. Guests'
 * processes have the same number again: a user who may open /dev/nvidia0 must not be able to crowd
 * them out.
 */
#define HOLDERS_MAX 1024
#define UNSEEN_LISTED_MAX 64
#define CGROUP_MAX_BYTES 65536U
/* For each of both parts, for all processes together; an inspection has 20 s. */
#define PART_USEC (6 * USEC_PER_SEC)
/*
 * Between two reads of the pipe, in which some ten processes are looked at: one record at a time
 * would cost two switches of the context for each process.
 */
#define NAP_USEC 200

/*
 * A process that takes longer is left for the next round. So a process with a hundred thousand
 * mappings, or with memory whose lock is never free, comes last and costs the others only these few
 * milliseconds.
 */
static const uint64_t rounds[] = { 10 * USEC_PER_MSEC, 100 * USEC_PER_MSEC, USEC_PER_SEC };

typedef int (*LookAt)(const ProcessLook *look, int process_fd, UnseenReason *ret_reason);

/* Files come first, because reading them cannot make us wait. */
static const struct Part {
	LookAt look_at;
	UnseenReason too_slow;
} parts[] = {
	{ process_look_at_files, UNSEEN_FILES },
	{ process_look_at_mappings, UNSEEN_MAPPINGS },
};

typedef struct Scan {
	int proc_fd;
	bool real_proc;
	const DeviceFiles *files;
	Inspection *into;
	Process *items;
	size_t n_items;
	size_t n_vfio; /* of the holders */
} Scan;

/* What the looking process reports about another one. A record arrives whole or not at all. */
typedef struct Record {
	enum {
		HAS_FILE, /* value: index of the device file */
		SEEN_ALL,
		NOT_SEEN, /* value: UnseenReason */
		BROKEN,	  /* value: -errno, why we cannot look at all */
	} kind;
	int32_t value;
	size_t process;
} Record;

/* ---- the process that looks ---- */

typedef struct Teller {
	int fd;
	size_t process;
	bool *told; /* a device file each */
} Teller;

static int tell(const Teller *teller, int kind, int value)
{
	Record record = { .kind = kind, .value = value, .process = teller->process };
	ssize_t n;

	do
		n = write(teller->fd, &record, sizeof(record));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(record) ? 0 : -EPIPE;
}

static int tell_file(size_t file, void *userdata)
{
	Teller *teller = userdata;

	if (teller->told[file])
		return 0;
	teller->told[file] = true;
	return tell(teller, HAS_FILE, (int)file);
}

static int look_at_one(const Scan *scan, const struct Part *part, Teller *teller)
{
	const ProcessLook look = {
		.files = scan->files,
		.found = tell_file,
		.userdata = teller,
		.real_proc = scan->real_proc,
	};
	_cleanup_free_ char *name = strf("%ld", (long)scan->items[teller->process].pid);
	_cleanup_close_ int fd = -1;
	UnseenReason reason = part->too_slow;
	int r;

	memset(teller->told, 0, scan->files->n_items * sizeof(bool));
	r = dir_open_at(scan->proc_fd, name, false, &fd);
	if (r >= 0)
		r = part->look_at(&look, fd, &reason);
	else if (r != -EMFILE && r != -ENFILE)
		r = 0; /* it has gone */
	if (r < 0)
		return tell(teller, BROKEN, r);
	return tell(teller, r == 0 ? SEEN_ALL : NOT_SEEN, (int)reason);
}

/* Begins with `from`, and ends when it has reported on all pending processes, or nobody listens. */
static _Noreturn void look_at_all(const Scan *scan, const struct Part *part, size_t from, int fd)
{
	Teller teller = { .fd = fd, .told = xcalloc(scan->files->n_items, sizeof(bool)) };
	int r = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	/* A reader that waits for our parent's answer must not wait for the end of this process. */
	close(STDOUT_FILENO);
	for (size_t i = from; r >= 0 && i < scan->n_items; i++) {
		teller.process = i;
		if (scan->items[i].pending)
			r = look_at_one(scan, part, &teller);
	}
	_exit(0);
}

/* ---- who listens to it ---- */

static bool is_known(const Scan *scan, pid_t pid, const DeviceFile *file)
{
	return SOME(scan->into->holders, scan->into->n_holders,
		    it->pid == pid && bdf_equal(&it->bdf, &file->bdf) &&
			    strcmp(it->path, file->path) == 0);
}

static void add_holder(Scan *scan, pid_t pid, const DeviceFile *file)
{
	Inspection *into = scan->into;
	size_t alike = file->vfio ? scan->n_vfio : into->n_holders - scan->n_vfio;

	if (alike >= HOLDERS_MAX || is_known(scan, pid, file))
		return;
	*GROW(into->holders, into->n_holders) = (Holder){
		.bdf = file->bdf,
		.pid = pid,
		.path = xstrdup(file->path),
		.vfio = file->vfio,
	};
	scan->n_vfio += file->vfio;
}

static int take_record(Scan *scan, const Record *record)
{
	Process *process = &scan->items[record->process];

	switch (record->kind) {
	case HAS_FILE:
		add_holder(scan, process->pid, &scan->files->items[record->value]);
		return 0;
	case BROKEN:
		return record->value;
	case NOT_SEEN:
		if (!process->unseen)
			process->reason = (UnseenReason)record->value;
		process->unseen = true;
		process->pending = false;
		return 1;
	case SEEN_ALL:
		process->pending = false;
		return 1;
	}
	return 0;
}

/*
 * Takes the records that are there now. 1: one was the last of a process; -EPIPE: no more will
 * come.
 */
static int take_records(Scan *scan, int fd)
{
	Record records[64];
	ssize_t n = read(fd, records, sizeof(records));
	int told = 0;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	if (n == 0 || n % (ssize_t)sizeof(Record) != 0)
		return -EPIPE;
	for (size_t i = 0; i < (size_t)n / sizeof(Record); i++) {
		int r = take_record(scan, &records[i]);

		if (r < 0)
			return r;
		told |= r;
	}
	return told;
}

static uint64_t cpu_usec(pid_t pid)
{
	clockid_t id;

	return clock_getcpuclockid(pid, &id) == 0 ? clock_usec(id) : 0;
}

/* The process neither waits nor has used the CPU time that it may use: the host is busy. */
static bool is_starved(pid_t pid, uint64_t cpu_begun, uint64_t slice)
{
	_cleanup_free_ char *path = strf("/proc/%ld/stat", (long)pid), *line = NULL;
	const char *state;

	if (cpu_usec(pid) - cpu_begun >= slice || file_read_line_at(AT_FDCWD, path, &line) < 0)
		return false;
	state = strrchr(line, ')');
	return state && str_starts_with(state, ") R");
}

/* Until the looking process has finished, or has spent `slice` on one process. */
static int listen_to(Scan *scan, pid_t pid, int fd, uint64_t slice, uint64_t deadline)
{
	uint64_t begun = now_monotonic(), cpu_begun = cpu_usec(pid);

	for (;;) {
		struct pollfd pipe_end = { .fd = fd, .events = POLLIN };
		uint64_t now = now_monotonic();
		uint64_t until = begun + slice < deadline ? begun + slice : deadline;
		int r;

		if (now >= deadline || (now >= until && !is_starved(pid, cpu_begun, slice)))
			return 0;
		if (now >= until)
			until = now + USEC_PER_MSEC;
		r = poll(&pipe_end, 1, (int)((until - now) / USEC_PER_MSEC) + 1);
		if (r <= 0)
			continue;
		r = take_records(scan, fd);
		if (r < 0)
			return r == -EPIPE ? 0 : r;
		if (r > 0) {
			usleep(NAP_USEC);
			begun = now_monotonic();
			cpu_begun = cpu_usec(pid);
		}
	}
}

/*
 * The looking process only reads, so it may be killed wherever it waits. One that cannot be killed
 * is left behind.
 */
static int look_from(Scan *scan, const struct Part *part, size_t from, uint64_t slice,
		     uint64_t deadline)
{
	_cleanup_close_ int read_fd = -1;
	int fds[2], r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	read_fd = fds[0];
	pid = fork();
	if (pid == 0)
		look_at_all(scan, part, from, fds[1]);
	r = pid < 0 ? -errno : 0;
	close_fd(fds[1]);
	if (r < 0)
		return r;
	r = listen_to(scan, pid, read_fd, slice, deadline);
	kill(pid, SIGKILL);
	for (unsigned i = 0; i < 100 && waitpid(pid, NULL, WNOHANG) == 0; i++)
		usleep(100);
	return r;
}

static size_t next_pending(const Scan *scan, size_t from)
{
	while (from < scan->n_items && !scan->items[from].pending)
		from++;
	return from;
}

static int look_at_part(Scan *scan, const struct Part *part)
{
	uint64_t deadline = now_monotonic() + PART_USEC;

	for (size_t i = 0; i < scan->n_items; i++)
		scan->items[i].pending = true;
	for (size_t round = 0; round < ELEMENTS(rounds); round++)
		for (size_t at = next_pending(scan, 0);
		     at < scan->n_items && now_monotonic() < deadline;) {
			int r = look_from(scan, part, at, rounds[round], deadline);

			if (r < 0)
				return r;
			/*
			 * It was looking at the first pending process when it was stopped: skip
			 * that one.
			 */
			at = next_pending(scan, at);
			at = next_pending(scan, at + 1);
		}
	for (size_t i = next_pending(scan, 0); i < scan->n_items; i = next_pending(scan, i + 1)) {
		if (!scan->items[i].unseen)
			scan->items[i].reason = part->too_slow;
		scan->items[i].unseen = true;
	}
	return 0;
}

/* ---- their names ---- */

static int read_of_process(const Scan *scan, pid_t pid, const char *file, char **ret)
{
	_cleanup_free_ char *path = strf("%ld/%s", (long)pid, file);

	if (strcmp(file, "comm") == 0)
		return file_read_line_at(scan->proc_fd, path, ret);
	return file_read_at(scan->proc_fd, path, CGROUP_MAX_BYTES, ret, NULL);
}

static int name_holder(const Scan *scan, Holder *holder)
{
	_cleanup_free_ char *cgroup = NULL;
	int r = read_of_process(scan, holder->pid, "comm", &holder->command);

	if (r < 0)
		return r;
	if (read_of_process(scan, holder->pid, "cgroup", &cgroup) >= 0)
		cgroup_identify(cgroup, &holder->unit, &holder->container);
	return 0;
}

static int compare_holders(const void *a, const void *b)
{
	const Holder *x = a, *y = b;
	int c;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	c = strcmp(x->path, y->path);
	return c != 0 ? c : bdf_compare(&x->bdf, &y->bdf);
}

/* Adds their names. A process that has ended meanwhile holds nothing any more. */
static void name_holders(const Scan *scan)
{
	Inspection *into = scan->into;
	size_t n = 0;

	EACH (Holder, holder, into->holders, into->n_holders) {
		if (name_holder(scan, holder) >= 0) {
			into->holders[n++] = *holder;
			continue;
		}
		free(holder->command);
		free(holder->path);
	}
	into->n_holders = n;
	if (n > 0)
		qsort(into->holders, n, sizeof(Holder), compare_holders);
}

static void list_unseen(const Scan *scan)
{
	Inspection *into = scan->into;

	into->unseen = xcalloc(UNSEEN_LISTED_MAX, sizeof(Unseen));
	EACH (const Process, process, scan->items, scan->n_items) {
		char *command = NULL;

		if (!process->unseen)
			continue;
		if (read_of_process(scan, process->pid, "comm", &command) < 0)
			continue; /* it has ended */
		into->all_unseen++;
		if (into->n_unseen == UNSEEN_LISTED_MAX) {
			free(command);
			continue;
		}
		into->unseen[into->n_unseen++] = (Unseen){
			.pid = process->pid,
			.uid = process->uid,
			.command = command,
			.reason = process->reason,
		};
	}
}

int holders_scan(const Roots *roots, const Bdf *functions, size_t n, Inspection *into)
{
	_cleanup_(device_files_clear) DeviceFiles files = { 0 };
	struct statfs fs;
	Scan scan = { .proc_fd = roots->proc_fd, .files = &files, .into = into };
	int r = device_files_collect(roots, functions, n, &files);

	if (r < 0 || files.n_items == 0)
		return r;
	scan.real_proc = fstatfs(roots->proc_fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
	r = process_list(scan.proc_fd, &scan.items, &scan.n_items);
	for (size_t i = 0; r >= 0 && i < ELEMENTS(parts); i++)
		r = look_at_part(&scan, &parts[i]);
	if (r >= 0) {
		name_holders(&scan);
		list_unseen(&scan);
	}
	free(scan.items);
	return r;
}
