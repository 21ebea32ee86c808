/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may act. Root and the daemon's own user always may. For all others we ask polkit, without
 * blocking the loop. Anything but a plain yes is a no: polkit does not run, it fails, it does not
 * answer in time, or the caller has left the bus meanwhile.
 */
#pragma once

#include <systemd/sd-bus.h>

#include "bus/decision.h"

typedef struct Polkit Polkit;

/* All borrowed. */
Polkit *polkit_new(sd_bus *bus, Callers *callers, Refusals *refusals);

/*
 * A method's handler calls this after validation, and before it does anything, with what polkit's
 * rules get to see: the action, and what the call is about. 1: the caller may.
 * 0: we have asked polkit; the handler returns 1, and is entered again with the same message when
 * the answer is yes. So the call that was validated is the call that runs: a message cannot change,
 * and the handler keeps nothing from its first pass. < 0: the caller may not, and *error says why.
 */
int polkit_authorize(Polkit *polkit, sd_bus_message *m, const Decision *question,
		     sd_bus_error *error);

typedef enum PolkitAnswer {
	POLKIT_NO,
	POLKIT_PASSWORD, /* yes, if somebody types it */
	POLKIT_YES,
	POLKIT_FAILED, /* an error, or nothing that can be understood */
	POLKIT_SILENT, /* no answer in time */
} PolkitAnswer;
typedef void (*PolkitAnswered)(PolkitAnswer answer, void *userdata);
/*
 * Asks the same only to tell: permits and refuses nothing, records nothing, and nobody is asked for
 * a password. The question has its call and caller. 0: it is asked. < 0: it is not, as above.
 */
int polkit_ask(Polkit *polkit, const Decision *question, PolkitAnswered done, void *userdata,
	       sd_bus_error *error);

/* true: the caller is root or the daemon's own user, and we do not ask polkit. */
bool polkit_trusts(const Polkit *polkit);
/*
 * true: polkit said yes to this message, which is now dispatched again. *ret_domain_uuid: the
 * domain that polkit permitted; the caller can no longer choose another. Valid until
 * polkit_authorize().
 */
bool polkit_granted(const Polkit *polkit, const sd_bus_message *m, const char **ret_domain_uuid);
/* A yes to another question than this one does not count: polkit_authorize() asks again. */
void polkit_forget_other(const Polkit *polkit, const sd_bus_message *m, const Decision *question);
/* For what no polkit rule can permit, and only root may; the question's action says what it is, and
 * is a constant. 0, or < 0 with *error. */
int polkit_require_root(Polkit *polkit, sd_bus_message *m, const Decision *question,
			sd_bus_error *error);
