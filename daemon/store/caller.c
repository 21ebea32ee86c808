/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/caller.h"

#include <fcntl.h>
#include <stdatomic.h>

#include "host/scan/process.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/log-queue.h"
#include "util/mutex.h"
#include "util/text.h"
#include "util/xalloc.h"

#define WAIT_USEC USEC_PER_SEC
#define CGROUP_BYTES_MAX 65536U
/* A few hundred callers. */
#define QUEUE_BYTES_MAX (32U * 1024)

struct CallerIdentity {
	pthread_mutex_t lock;
	pthread_cond_t settled_now;
	atomic_uint shared; /* references beside the first */
	/* The lock guards what follows. */
	bool settled; /* nothing is read any more, or nobody waits for it */
	uint32_t uid, login_uid;
	int pid;
	char *unit, *command;
};

#include "caller.inc"

bool caller_is_privileged(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

CallerIdentity *caller_identity_new(uid_t uid, pid_t pid)
{
	CallerIdentity *identity = xcalloc(1, sizeof(CallerIdentity));

	pthread_mutex_init(&identity->lock, NULL);
	pthread_cond_init(&identity->settled_now, NULL);
	identity->uid = (uint32_t)uid;
	identity->login_uid = AUDIT_NO_UID;
	identity->pid = pid > 0 ? (int)pid : -1;
	identity->settled = pid <= 0;
	return identity;
}

/* ---- /proc ---- */

static bool runs_as(int fd, uint32_t uid)
{
	uid_t uids[PROCESS_UIDS];

	return process_uids(fd, uids) >= 0 && SOME_OF(uids, PROCESS_UIDS, it == uid);
}

static uint32_t read_login_uid(int fd)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long uid = AUDIT_NO_UID;

	/* A kernel without auditing has no such file. */
	if (file_read_line_at(fd, "loginuid", &text) >= 0)
		(void)str_to_unsigned(text, 10, AUDIT_NO_UID, &uid);
	return (uint32_t)uid;
}

static char *read_unit(int fd)
{
	_cleanup_free_ char *text = NULL, *unit = NULL, *container = NULL;

	if (file_read_at(fd, "cgroup", CGROUP_BYTES_MAX, &text, NULL) >= 0)
		cgroup_identify(text, &unit, &container);
	return audit_text(unit);
}

static char *read_command(int fd)
{
	_cleanup_free_ char *text = NULL;

	return file_read_line_at(fd, "comm", &text) < 0 ? NULL : audit_text(text);
}

static void settle(CallerIdentity *identity)
{
	identity->settled = true;
	pthread_cond_broadcast(&identity->settled_now);
}

void caller_identity_resolve(CallerIdentity *identity, int proc_fd)
{
	_cleanup_free_ char *name = strf("%d", identity->pid), *unit = NULL, *command = NULL;
	_cleanup_close_ int fd = -1;
	uint32_t login_uid = AUDIT_NO_UID;

	/* The descriptor is of this process, whoever has its number later. */
	if (proc_fd >= 0 && identity->pid > 0)
		fd = openat(proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		login_uid = read_login_uid(fd);
		unit = read_unit(fd);
		command = read_command(fd);
	}
	MUTEX_HOLD(&identity->lock);
	if (fd >= 0 && !identity->settled && runs_as(fd, identity->uid)) {
		identity->login_uid = login_uid;
		identity->unit = TAKE_PTR(unit);
		identity->command = TAKE_PTR(command);
	}
	settle(identity);
}

void caller_identity_fill(CallerIdentity *identity, AuditRecord *record)
{
	const struct timespec until = clock_timespec(now_monotonic() + WAIT_USEC);
	int e = 0;

	if (!identity)
		return;
	MUTEX_HOLD(&identity->lock);
	while (!identity->settled && e == 0)
		e = pthread_cond_clockwait(&identity->settled_now, &identity->lock, CLOCK_MONOTONIC,
					   &until);
	settle(identity);
	record->uid = identity->uid;
	record->login_uid = identity->login_uid;
	record->pid = identity->pid;
	free(record->unit);
	record->unit = audit_text(identity->unit);
	free(record->command);
	record->command = audit_text(identity->command);
}

/* ---- the thread ---- */

struct CallerResolver {
	LogQueue *queue; /* of pointers, each with a reference */
	int proc_fd;
};

static void resolve(const char *record, size_t size, void *userdata)
{
	const CallerResolver *resolver = userdata;
	CallerIdentity *identity;

	memcpy(&identity, record, size);
	caller_identity_resolve(identity, resolver->proc_fd);
	caller_identity_unref(identity);
}

static void dropped(_unused_ size_t n, _unused_ void *userdata)
{
}

int caller_resolver_new(int proc_fd, CallerResolver **ret)
{
	CallerResolver *resolver = xcalloc(1, sizeof(CallerResolver));
	int r;

	resolver->proc_fd = proc_fd;
	r = log_queue_new(&(LogSink){ .write = resolve, .dropped = dropped, .userdata = resolver },
			  QUEUE_BYTES_MAX, &resolver->queue);
	if (r < 0)
		free(resolver);
	else
		*ret = resolver;
	return r;
}

void caller_resolver_push(CallerResolver *resolver, CallerIdentity *identity)
{
	CallerIdentity *reference = caller_identity_ref(identity);

	if (!reference)
		return;
	if (resolver &&
	    log_queue_push(resolver->queue, (const char *)&reference, sizeof(reference)))
		return;
	pthread_mutex_lock(&identity->lock);
	settle(identity);
	pthread_mutex_unlock(&identity->lock);
	caller_identity_unref(reference);
}

CallerResolver *caller_resolver_free(CallerResolver *resolver)
{
	if (!resolver)
		return NULL;
	log_queue_free(resolver->queue);
	free(resolver);
	return NULL;
}
