/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How threads hand results to the event loop, and how the loop starts work that may block.
 *
 * The loop never waits for a thread: threads that still run at exit are left behind (the process
 * ends under them), because what they wait for may never come.
 */
#pragma once

#include "gpupass/cleanup.h"

typedef struct Mailbox Mailbox;
typedef void (*MailboxCallback)(void *data);

int mailbox_new(Mailbox **ret);
/* Readable when letters wait; for the event loop. Owned by the mailbox. */
int mailbox_fd(const Mailbox *mailbox);

/* From any thread: `deliver(data)` will run on the loop, in order of posting. */
void mailbox_post(Mailbox *mailbox, MailboxCallback deliver, void *data);

/* On the loop: runs what was posted first, and no more: callers have their turn in between. */
void mailbox_dispatch(Mailbox *mailbox);

/*
 * On the loop: runs work(data) on a thread of its own, then done(data) on the loop. Where no thread
 * can be started, it waits until one can be.
 */
void mailbox_run(Mailbox *mailbox, MailboxCallback work, MailboxCallback done, void *data);

/*
 * Calls quiet(data) on the loop whenever the last of what mailbox_run() began is done: nothing
 * works then, and what did has told its result.
 */
void mailbox_on_quiet(Mailbox *mailbox, MailboxCallback quiet, void *data);

/* Only when no thread can post any more (tests). The daemon never frees its mailbox. */
DECLARE_FREE(Mailbox, mailbox_free)
