/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/part.h"

#include <sys/prctl.h>
#include <sys/socket.h>

#include "host/wire/request.h"
#include "worker/read-only.h"

/* A process of the same user that has as many rights or more may look into one that is dumpable. */
static int confine(const Part *part)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return part->writes ? 0 : become_read_only();
}

/* 1 with the request; 0 when nobody has one for it. */
static int next_request(const Part *part, char ***ret)
{
	int r = part->ready > 0 ? request_next(STDIN_FILENO, -1, ret)
				: request_read(STDIN_FILENO, ret);

	return r >= 0 && part->ready == 0 ? 1 : r;
}

int part_serve(const Program *program, const Part *part,
	       int (*run)(const Part *part, int argc, char **argv))
{
	int status = GPUPASS_EXIT_DONE, r = confine(part);

	if (r < 0)
		return program_fail(program, "cannot confine itself", r);
	do {
		_cleanup_strv_ char **words = NULL, **argv = NULL;

		r = next_request(part, &words);
		if (r < 0)
			return program_fail(program, "no request", r);
		if (r == 0)
			break;
		strv_append(&argv, program->name);
		strv_copy(words, &argv);
		alarm(part->limit_sec);
		status = run(part, (int)strv_length(argv), argv);
		alarm(0);
	} while (part->serves > 1 && status == GPUPASS_EXIT_DONE);
	/* systemd has this connection open, too, until it has seen the end of this process. */
	shutdown(STDOUT_FILENO, SHUT_WR);
	return status;
}
