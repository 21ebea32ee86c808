/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State files of quarantines and jobs that cannot be read. Each quarantines the functions that can
 * be found in it, or the group of its name, or else everything. See claims.h, UnreadClaim. A store
 * of such files calls unread_claim() for each file that it cannot use.
 */
#pragma once

#include "core/facts/record.h"
#include "core/facts/remains.h"
#include "core/group/group.h"
#include "store/claims.h"

typedef struct UnreadFile {
	const char *directory; /* "quarantine", of the state directory */
	const char *name;      /* of the file */
	const char *group;     /* the group in its name; NULL: none */
	int error;	     /* -EPROTO: it is of another version; -EBADMSG and the like: damaged */
	const char *message; /* NULL: use the text of the error */
	const Remains *remains;
} UnreadFile;

void unread_claim(Claims *claims, const UnreadFile *file);
void unread_claim_fault(Claims *claims, const RecordFault *fault);

/* These groups were found now: an unread file that names one is about its functions from now on. */
void unread_settle(Claims *claims, const GroupSet *groups);
