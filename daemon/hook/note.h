/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#define HOOK_JOURNAL "/run/systemd/journal/socket"

/* One refusal, or what could not be judged, as the log gets it. */
typedef struct HookNote {
	const char *message; /* one line */
	const char *error;   /* the D-Bus name of the error; NULL: it is no refusal */
	const char *domain;
	const char *socket; /* of a journal; NULL: the system's log */
} HookNote;

/*
 * Sends the line to systemd's journal, or else to syslog, and never waits: a line that does not fit
 * now is lost. Without libsystemd, so that little code runs in libvirtd's way.
 */
void hook_note(const HookNote *note);
