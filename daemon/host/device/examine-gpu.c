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
static void read_if_awake(int sysfs_fd, const Bdf *bdf, char **ret_state, PcieConfig *ret)
{
	(void)sysfs_read_attribute(sysfs_fd, bdf, "power_state", ret_state);
	if (str_equal(*ret_state, "D0"))
		config_space_read(sysfs_fd, bdf, ret);
}

/* Counters in the kernel's memory; reading them does not touch the device. */
static void read_counter(int sysfs_fd, GpuHealth *health, const char *name, uint64_t *ret)
{
	_cleanup_free_ char *path = sysfs_function_path(&health->bdf, name), *text = NULL;

	if (file_read_at(sysfs_fd, path, AER_MAX_BYTES, &text, NULL) >= 0 &&
	    setup_read_aer(text, ret))
		health->aer = true;
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

int examine_gpu(const Roots *roots, const Bdf *gpu, const Bdf *ports, size_t n_ports,
		GpuHealth *ret)
{
	GpuHealth health = { .bdf = *gpu };

	if (!sysfs_has_function(roots->sysfs_fd, gpu))
		return -ENOENT;
	read_counter(roots->sysfs_fd, &health, "aer_dev_correctable", &health.correctable);
	read_counter(roots->sysfs_fd, &health, "aer_dev_nonfatal", &health.nonfatal);
	read_counter(roots->sysfs_fd, &health, "aer_dev_fatal", &health.fatal);
	read_if_awake(roots->sysfs_fd, gpu, &health.power_state, &health.config);
	read_ports(roots->sysfs_fd, ports, n_ports, &health);
	*ret = health;
	return 0;
}
