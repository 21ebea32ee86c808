/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may act. Root and the daemon's own user may without asking; of everybody else polkit is asked,
 * by a call that the loop does not wait for. Whatever is not a plain yes is a no: no polkit, an
 * error, no answer in time, a caller who has left meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "bus/intake.h"
#include "bus/refusals.h"
#include "gpupass/cleanup.h"

typedef struct Polkit Polkit;

/* What polkit is told, for its rules to look at: the action, and what the call is about. */
typedef struct PolkitQuestion {
	const char *action;		     /* GPUPASS_ACTION_…, a constant */
	const char *domain, *group, *target; /* NULL: none */
	const char *domain_uuid;	     /* NULL: there is no such domain */
} PolkitQuestion;

/* bus, intake and refusals are borrowed. */
int polkit_new(sd_bus *bus, Intake *intake, Refusals *refusals, Polkit **ret);

/*
 * Asked by a method's handler after it has read and validated, and before it does anything.
 * 1: may. 0: polkit is asked; the handler returns 1, and is entered again with the same message when
 * the answer is yes. So what was validated is what runs: a message cannot be changed, and nothing of
 * the first pass is kept. < 0: may not, *error says why.
 */
int polkit_authorize(Polkit *polkit, sd_bus_message *m, const PolkitQuestion *question,
		     sd_bus_error *error);

/* Whom polkit is not asked about: root, and the daemon's own user. */
bool polkit_trusts(const Polkit *polkit, sd_bus_message *m);
/*
 * Whether this message comes again because the answer was yes, and which domain that was about, which
 * the caller may no longer choose. The string is valid until polkit_authorize().
 */
bool polkit_granted(const Polkit *polkit, const sd_bus_message *m, const char **ret_domain_uuid);

/* Forgets what is open; its callers get no answer. */
Polkit *polkit_free(Polkit *polkit);
DEFINE_CLEANUP(Polkit, polkit_free)
