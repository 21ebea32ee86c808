/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bind/machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpupass/errors.h"
#include "host/device/config-space.h"
#include "host/launch/child.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/*
 * A probe resets some devices, and the kernel waits up to a minute for one that does not come back.
 * The boot does not wait that long: the daemon sees what happens later.
 */
#define PROBE_TIMEOUT_USEC (20 * 1000000ULL)
#define ERROR_MAX 4096

typedef struct Probe {
	const BootMachine *machine;
	Bdf bdf;
} Probe;

/* In a process of its own. */
static int probe_one(const void *data)
{
	const Probe *probe = data;
	_cleanup_free_ char *error =
		boot_probe(probe->machine->sysfs_fd, &probe->machine->ops, &probe->bdf);

	if (!error)
		return GPUPASS_EXIT_DONE;
	dprintf(STDOUT_FILENO, "%s\n", error);
	return GPUPASS_EXIT_FAILED;
}

static char *read_error(const Child *child)
{
	if (child->running)
		return strf("binding it to " BOOT_DRIVER " still waits in the kernel (process %d)",
			    (int)child->pid);
	if (child->signal != 0)
		return strf("binding it ended by signal %d", child->signal);
	return child->size > 0 ? xstrdup(str_strip(child->output)) : NULL;
}

static void probe_all(const BootMachine *machine, const Bdf *functions, size_t n, char **ret_errors)
{
	_cleanup_(children_freep) Children *children = children_new(n, ERROR_MAX);

	for (size_t i = 0; i < n; i++) {
		const Probe data = { .machine = machine, .bdf = functions[i] };

		int r = children_fork(children, i, probe_one, &data);

		if (r < 0)
			ret_errors[i] = strf("cannot start a process to bind it: %s", strerror(-r));
	}
	children_wait(children, PROBE_TIMEOUT_USEC);
	for (size_t i = 0; i < n; i++)
		if (!ret_errors[i])
			ret_errors[i] = read_error(&children->items[i]);
}

static int read_serial_number(const BootMachine *machine, const Bdf *bdf, char **ret)
{
	PcieConfig config = { 0 };

	config_space_read(machine->sysfs_fd, bdf, &config);
	*ret = pcie_serial_text(&config);
	return 0;
}

int real_machine_init(const char *sysfs_dir, RealMachine *ret)
{
	int fd = -1, r;

	r = dir_open_at(AT_FDCWD, sysfs_dir, false, &fd);
	if (r < 0)
		return r;
	*ret = (RealMachine){
		.machine = {
			.sysfs_fd = fd,
			.ops = *driver_real_ops(),
			.probe = probe_all,
			.serial_number = read_serial_number,
		},
	};
	return 0;
}

void real_machine_clear(RealMachine *real)
{
	real->machine.sysfs_fd = close_fd(real->machine.sysfs_fd);
}
