/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State files that say what is kept apart, and that cannot be read: they keep apart what can be read
 * of them, or what their name says, and otherwise everything. See claims.h, UnreadClaim. A store that
 * keeps such files calls unread_claim() for each that it cannot use.
 */
#pragma once

#include "core/facts/remains.h"
#include "core/group/group.h"
#include "store/claims.h"

typedef struct UnreadFile {
	const char *directory; /* "quarantine", of the state directory */
	const char *name;      /* of the file */
	const char *group;     /* that its name says; NULL: none */
	int error;	       /* -EPROTO: another version's; -EBADMSG and the like: damaged */
	const char *message;   /* NULL: the error says it all */
	const Remains *remains;
} UnreadFile;

int unread_claim(Claims *claims, const UnreadFile *file);

/* Groups that were found just now: files that name one are about its functions. */
int unread_settle(Claims *claims, const GroupSet *groups);
