/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a call is about, as polkit is told. */
#pragma once

#include "bus/call.h"

typedef struct Subject {
	char *domain_name; /* NULL: there is no such domain, or we did not look */
	char *domain_uuid; /* likewise */
	char *group;	   /* release: the group that the picture has; NULL: none */
} Subject;
DECLARE_CLEAR(Subject, subject_clear)

/*
 * Asks libvirt which domain the word means; NULL: nothing is asked. 1: *ret. 0: the call comes
 * again, and takes the answer then, whatever it would ask by then.
 */
int subject_look_up(const Call *call, const char *word, Subject *ret);
/*
 * What polkit is asked before the job of call->request, where libvirt says `found` of its domain.
 * The question borrows from both, and from `own`, which is the caller's to clear.
 */
Decision subject_question(const Call *call, const Subject *found, Subject *own);
