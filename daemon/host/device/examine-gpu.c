/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/facts/setup-files.h"
#include "host/device/config-space.h"
#include "host/device/examine.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define AER_MAX_BYTES 4096

/* An absent or unreadable attribute says nothing; that is not a failure. */
static void read_state(int sysfs_fd, const Bdf *bdf, char **ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "power_state");

	file_read_line_at(sysfs_fd, path, ret);
}

static void read_if_awake(int sysfs_fd, const Bdf *bdf, char **ret_state, PcieConfig *ret)
{
	read_state(sysfs_fd, bdf, ret_state);

	if (str_equal(*ret_state, "D0"))
		config_space_read(sysfs_fd, bdf, ret);
}

/* Counters in the kernel's memory; reading them does not touch the device. */
static void read_counter(int sysfs_fd, const Bdf *bdf, const char *name, bool *aer, uint64_t *ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, name), *text = NULL;
	int r;

	r = file_read_at(sysfs_fd, path, AER_MAX_BYTES, &text, NULL);
	if (r < 0)
		return;
	if (setup_read_aer(text, ret))
		*aer = true;
}

static void read_counters(int sysfs_fd, GpuHealth *health)
{
	read_counter(sysfs_fd, &health->bdf, "aer_dev_correctable", &health->aer,
		     &health->correctable);

	read_counter(sysfs_fd, &health->bdf, "aer_dev_nonfatal", &health->aer, &health->nonfatal);
	read_counter(sysfs_fd, &health->bdf, "aer_dev_fatal", &health->aer, &health->fatal);
}

static void read_ports(int sysfs_fd, const Bdf *ports, size_t n, GpuHealth *health)
{
	health->ports = xcalloc(n + 1, sizeof(HealthPort));
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *state = NULL;
		HealthPort *port = &health->ports[health->n_ports++];

		port->bdf = ports[i];
		read_if_awake(sysfs_fd, &ports[i], &state, &port->config);
	}
}

int examine_gpu(const ExamineRoots *roots, const Bdf *gpu, const Bdf *ports, size_t n_ports,
		GpuHealth *ret)
{
	GpuHealth health = { .bdf = *gpu };

	if (!sysfs_has_function(roots->sysfs_fd, gpu))
		return -ENOENT;
	read_counters(roots->sysfs_fd, &health);
	read_if_awake(roots->sysfs_fd, gpu, &health.power_state, &health.config);
	read_ports(roots->sysfs_fd, ports, n_ports, &health);
	*ret = health;
	return 0;
}
