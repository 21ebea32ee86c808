/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/note.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "util/log.h"
#include "util/text.h"

#define SYSLOG "/dev/log"

static bool send_to(const char *path, const char *text)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	size_t size = strlen(path) + 1;

	if (fd < 0 || size > sizeof(to.sun_path))
		return false;
	memcpy(to.sun_path, path, size);
	return sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)&to, sizeof(to)) >= 0;
}

/* The journal's own protocol: a field a line. */
static char *journal_text(const HookNote *note)
{
	_cleanup_free_ char *domain = str_escaped(note->domain);
	_cleanup_free_ char *refusal =
		note->error ? strf("MESSAGE_ID=" LOG_ID_FENCED "\nGPUPASS_ERROR=%s\n", note->error)
			    : NULL;

	return strf("MESSAGE=%s\nPRIORITY=%d\nSYSLOG_IDENTIFIER=gpupass-hook\n"
		    "GPUPASS_DOMAIN=%s\n%s",
		    note->message, LOG_WARNING, str_or_empty(domain), str_or_empty(refusal));
}

void hook_note(const HookNote *note)
{
	_cleanup_free_ char *to_journal = journal_text(note);
	_cleanup_free_ char *to_syslog =
		strf("<%d>gpupass-hook: %s", LOG_DAEMON | LOG_WARNING, note->message);

	if (send_to(note->socket ? note->socket : HOOK_JOURNAL, to_journal))
		return;
	if (!note->socket)
		(void)send_to(SYSLOG, to_syslog);
}
