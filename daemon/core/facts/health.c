/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/health.h"

#include <inttypes.h>

#include "util/text.h"
#include "util/xalloc.h"

DEFINE_STRING_TABLE(health, Health, GPUPASS_HEALTHS)

/* The port that the GPU is plugged into: the last one above it. Without PCIe all is 0. */
static const PcieConfig *slot(const GpuHealth *health)
{
	static const PcieConfig none = { 0 };
	const PcieConfig *config =
		health->n_ports > 0 ? &health->ports[health->n_ports - 1].config : &none;

	return config->pcie ? config : &none;
}

/* `port`: 0: not known. */
static unsigned lower(unsigned max, unsigned port)
{
	return port > 0 && port < max ? port : max;
}

unsigned gpu_health_width_expected(const GpuHealth *health)
{
	return lower(health->config.width_max, slot(health)->width_max);
}

unsigned gpu_health_speed_expected(const GpuHealth *health)
{
	return lower(health->config.speed_max, slot(health)->speed_max);
}

static Health judge_known(const GpuHealth *health, char **ret)
{
	const PcieConfig *c = &health->config;
	unsigned expected = gpu_health_width_expected(health);

	if (c->read && c->all_ones) {
		*ret = xstrdup("config space reads all ones: it does not answer");
		return HEALTH_LOST;
	}
	if (health->fatal > 0 || health->nonfatal > 0) {
		*ret = strf("%" PRIu64 " fatal and %" PRIu64
			    " non-fatal PCI Express errors since boot",
			    health->fatal, health->nonfatal);
		return HEALTH_DEGRADED;
	}
	if (c->width > 0 && c->width < expected) {
		*ret = strf("its PCI Express link has x%u of x%u", c->width, expected);
		return HEALTH_DEGRADED;
	}
	if (!c->read) {
		/* Reading config space may wake it (pci_config_pm_runtime_get() in the kernel). */
		*ret = str_equal(health->power_state, "D0")
			       ? xstrdup("its config space could not be read")
			       : strf("it sleeps (%s), and is not woken for a look",
				      health->power_state ? health->power_state
							  : "power state not told");
		return HEALTH_UNKNOWN;
	}
	*ret = xstrdup("");
	return HEALTH_OK;
}

Health gpu_health_judge(const GpuHealth *health, char **ret_reason)
{
	if (health && health->error >= 0)
		return judge_known(health, ret_reason);
	if (!health)
		*ret_reason = xstrdup("it was not looked at yet");
	else
		*ret_reason = strf("it could not be looked at: %s",
				   health->error == -ETIMEDOUT ? "reading it does not end"
				   : health->why	       ? health->why
							       : strerror(-health->error));
	return HEALTH_UNKNOWN;
}

/* ---- JSON ---- */

#include "health.inc"

int gpu_health_from_json(const json_t *json, GpuHealth *ret, char **ret_message)
{
	GpuHealth health = { 0 };
	int r = json_struct_read(gpu_health_members, json, "health", &health, ret_message);

	if (r < 0)
		gpu_health_clear(&health);
	else
		*ret = health;
	return r;
}
