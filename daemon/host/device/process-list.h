/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's processes, in the order in which the search for holders looks at them. */
#pragma once

#include <sys/types.h>

#include "core/facts/inspection.h"

typedef struct Process {
	pid_t pid;
	uid_t uid;
	size_t of_user; /* processes of this user */
	/* State of the search: */
	bool pending; /* not yet looked at, in this part */
	bool unseen;
	UnseenReason reason;
} Process;

/*
 * Root's processes come first, then those of the users with the fewest, so that a user with very
 * many processes does not delay the look at all others. 0 or -errno.
 */
int process_list(int proc_fd, Process **ret, size_t *ret_n);
