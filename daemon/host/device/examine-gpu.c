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

#define AER_MAX_BYTES 4096

/* An absent or unreadable attribute says nothing; that is not a failure. */
static int read_state(int sysfs_fd, const Bdf *bdf, char **ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "power_state");
	int r;

	if (!path)
		return -ENOMEM;
	r = file_read_line_at(sysfs_fd, path, ret);
	return r == -ENOMEM ? r : 0;
}

static int read_if_awake(int sysfs_fd, const Bdf *bdf, char **ret_state, PcieConfig *ret)
{
	int r = read_state(sysfs_fd, bdf, ret_state);

	return r < 0 || !str_equal(*ret_state, "D0") ? r : config_space_read(sysfs_fd, bdf, ret);
}

/* Counters in the kernel's memory; reading them does not touch the device. */
static int read_counter(int sysfs_fd, const Bdf *bdf, const char *name, bool *aer, uint64_t *ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, name), *text = NULL;
	int r;

	if (!path)
		return -ENOMEM;
	r = file_read_at(sysfs_fd, path, AER_MAX_BYTES, &text, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (setup_read_aer(text, ret))
		*aer = true;
	return 0;
}

static int read_counters(int sysfs_fd, GpuHealth *health)
{
	int r = read_counter(sysfs_fd, &health->bdf, "aer_dev_correctable", &health->aer,
			     &health->correctable);

	if (r >= 0)
		r = read_counter(sysfs_fd, &health->bdf, "aer_dev_nonfatal", &health->aer,
				 &health->nonfatal);
	if (r >= 0)
		r = read_counter(sysfs_fd, &health->bdf, "aer_dev_fatal", &health->aer,
				 &health->fatal);
	return r;
}

static int read_ports(int sysfs_fd, const Bdf *ports, size_t n, GpuHealth *health)
{
	health->ports = calloc(n + 1, sizeof(HealthPort));
	if (!health->ports)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *state = NULL;
		HealthPort *port = &health->ports[health->n_ports++];
		int r;

		port->bdf = ports[i];
		r = read_if_awake(sysfs_fd, &ports[i], &state, &port->config);
		if (r < 0)
			return r;
	}
	return 0;
}

int examine_gpu(const ExamineRoots *roots, const Bdf *gpu, const Bdf *ports, size_t n_ports,
		GpuHealth *ret)
{
	GpuHealth health = { .bdf = *gpu };
	int r;

	if (!sysfs_has_function(roots->sysfs_fd, gpu))
		return -ENOENT;
	r = read_counters(roots->sysfs_fd, &health);
	if (r >= 0)
		r = read_if_awake(roots->sysfs_fd, gpu, &health.power_state, &health.config);
	if (r >= 0)
		r = read_ports(roots->sysfs_fd, ports, n_ports, &health);
	if (r < 0)
		gpu_health_clear(&health);
	else
		*ret = health;
	return r;
}
