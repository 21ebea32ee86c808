/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who sits behind a name on the bus, for the audit trail: uid and process id as the bus knows them,
 * and what /proc says of that process. /proc is read on a thread, because the kernel may make a
 * reader of control groups wait.
 *
 * A process id can pass to another process, though not while the first one lives, and a name on the
 * bus seldom outlives its process. What is found counts only if it runs as the user of the name.
 */
#pragma once

#include <sys/types.h>

#include "core/audit/record.h"

/* Root, and the user that the daemon runs as: neither needs polkit's permission. */
bool caller_is_privileged(uid_t uid);

/* Counted references; from any thread. */
typedef struct CallerIdentity CallerIdentity;

/* pid 0: the bus does not know it. */
CallerIdentity *caller_identity_new(uid_t uid, pid_t pid);
DECLARE_REF(CallerIdentity, caller_identity_ref)
DECLARE_FREE(CallerIdentity, caller_identity_unref)

/* Reads what /proc says. proc_fd: of /proc; -1: nothing can be read. Blocks. */
void caller_identity_resolve(CallerIdentity *identity, int proc_fd);
/*
 * Puts into the record what is known. Waits for caller_identity_resolve() of another thread, but
 * for at most a second, and only once.
 */
void caller_identity_fill(CallerIdentity *identity, AuditRecord *record);

/* The thread that resolves. */
typedef struct CallerResolver CallerResolver;
/* proc_fd is borrowed. The daemon never frees its resolver. */
int caller_resolver_new(int proc_fd, CallerResolver **ret);
/* Never waits. When too many wait already, the identity stays as it is. NULL resolver: likewise. */
void caller_resolver_push(CallerResolver *resolver, CallerIdentity *identity);
/* Waits for its thread (tests). */
CallerResolver *caller_resolver_free(CallerResolver *resolver);
DEFINE_CLEANUP(CallerResolver, caller_resolver_free)
