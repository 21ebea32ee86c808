// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded into gpupassd in the lab: the machine restarts without a sync right after the nth
 * record of a journal is on disk, n being the number in /run/lab/cut-after. That is the only place
 * where the daemon calls fdatasync().
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static int records_left(void)
{
	static int left = -1;
	FILE *f = fopen("/run/lab/cut-after", "re");

	if (f && fscanf(f, "%d", &left) != 1)
		left = -1;
	if (f)
		fclose(f);
	return left > 0 ? left-- : 0;
}

int fdatasync(int fd)
{
	int r = (int)syscall(SYS_fdatasync, fd);

	if (records_left() == 1) {
		int trigger = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);

		/* emergency_restart(): no sync, no unmount, no driver's remove(). */
		if (trigger < 0 || write(trigger, "b", 1) != 1)
			perror("cut: /proc/sysrq-trigger");
		pause();
	}
	return r;
}
