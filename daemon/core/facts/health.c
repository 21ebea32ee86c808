/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/health.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/json-fields.h"
#include "util/json.h"
#include "util/text.h"

#define PORTS_MAX 64

DEFINE_STRING_TABLE(health, Health, GPUPASS_HEALTHS)

/* The port that the GPU is plugged into: the last one above it. */
static const PcieConfig *slot(const GpuHealth *health)
{
	const PcieConfig *config =
		health->n_ports > 0 ? &health->ports[health->n_ports - 1].config : NULL;

	return config && config->pcie ? config : NULL;
}

unsigned gpu_health_width_expected(const GpuHealth *health)
{
	const PcieConfig *port = slot(health);
	unsigned max = health->config.width_max;

	return port && port->width_max > 0 && port->width_max < max ? port->width_max : max;
}

unsigned gpu_health_speed_expected(const GpuHealth *health)
{
	const PcieConfig *port = slot(health);
	unsigned max = health->config.speed_max;

	return port && port->speed_max > 0 && port->speed_max < max ? port->speed_max : max;
}

static Health judge_known(const GpuHealth *health, char **ret)
{
	const PcieConfig *c = &health->config;
	unsigned expected = gpu_health_width_expected(health);

	if (c->read && c->all_ones) {
		*ret = strdup("config space reads all ones: it does not answer");
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
			       ? strdup("its config space could not be read")
			       : strf("it sleeps (%s), and is not woken for a look",
				      health->power_state ? health->power_state
							  : "power state not told");
		return HEALTH_UNKNOWN;
	}
	*ret = strdup("");
	return HEALTH_OK;
}

int gpu_health_judge(const GpuHealth *health, Health *ret, char **ret_reason)
{
	Health verdict = HEALTH_UNKNOWN;
	char *reason = NULL;

	if (!health)
		reason = strdup("it was not looked at yet");
	else if (health->error < 0)
		reason = health->error == -ETIMEDOUT
				 ? strdup("it could not be looked at: reading it does not end")
				 : strf("it could not be looked at: %s", strerror(-health->error));
	else
		verdict = judge_known(health, &reason);
	if (!reason)
		return -ENOMEM;
	*ret = verdict;
	*ret_reason = reason;
	return 0;
}

/* ---- JSON ---- */

/* X(member) */
#define CONFIG_NUMBERS(X)                                                                          \
	X(type) X(speed) X(speed_max) X(width) X(width_max) X(acs_capability) X(acs_control)
#define CONFIG_FLAGS(X) X(read) X(all_ones) X(pcie) X(acs)

static json_t *config_to_json(const PcieConfig *c)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

#define X(member) r |= json_object_set_new(o, #member, json_integer(c->member));
	CONFIG_NUMBERS(X)
#undef X
#define X(member) r |= json_object_set_new(o, #member, json_boolean(c->member));
	CONFIG_FLAGS(X)
#undef X
	return r < 0 ? NULL : TAKE_PTR(o);
}

static int config_from_json(const json_t *json, PcieConfig *c, char **ret_message)
{
#define X(member) #member,
	static const char *const keys[] = { CONFIG_NUMBERS(X) CONFIG_FLAGS(X) NULL };
#undef X
	JsonReader reader;

	json_reader_begin(&reader, json, "config", keys);
#define X(member) c->member = (unsigned)json_read_number(&reader, #member, 0xffff);
	CONFIG_NUMBERS(X)
#undef X
#define X(member) c->member = json_read_bool(&reader, #member);
	CONFIG_FLAGS(X)
#undef X
	return json_reader_end(&reader, ret_message);
}

static json_t *port_to_json(const HealthPort *port)
{
	_cleanup_json_ json_t *o = json_object();
	int r = json_set_bdf(o, "bdf", &port->bdf);

	r |= json_object_set_new(o, "config", config_to_json(&port->config));
	return r < 0 ? NULL : TAKE_PTR(o);
}

static int set_number(json_t *o, const char *key, uint64_t value)
{
	return json_object_set_new(o, key, json_integer((json_int_t)(value & INT64_MAX)));
}

json_t *gpu_health_to_json(const GpuHealth *health)
{
	_cleanup_json_ json_t *o = json_object();
	json_t *ports = json_array(); /* given to the object below, also on failure */
	int r = json_set_bdf(o, "bdf", &health->bdf);

	for (size_t i = 0; i < health->n_ports; i++)
		r |= json_array_append_new(ports, port_to_json(&health->ports[i]));
	r |= json_object_set_new(o, "ports", ports);
	r |= json_set_text_if_any(o, "power_state", health->power_state);
	r |= json_object_set_new(o, "config", config_to_json(&health->config));
	r |= json_object_set_new(o, "aer", json_boolean(health->aer));
	r |= set_number(o, "correctable", health->correctable);
	r |= set_number(o, "nonfatal", health->nonfatal);
	r |= set_number(o, "fatal", health->fatal);
	return r < 0 ? NULL : TAKE_PTR(o);
}

static int port_from_json(const json_t *json, HealthPort *port, char **ret_message)
{
	static const char *const keys[] = { "bdf", "config", NULL };
	JsonReader reader;
	int r;

	json_reader_begin(&reader, json, "ports", keys);
	json_read_bdf(&reader, "bdf", &port->bdf);
	r = json_reader_end(&reader, ret_message);
	return r < 0 ? r
		     : config_from_json(json_object_get(json, "config"), &port->config,
					ret_message);
}

static int ports_from_json(const json_t *array, GpuHealth *health, char **ret_message)
{
	size_t n = json_array_size(array);

	health->ports = calloc(n + 1, sizeof(HealthPort));
	if (!health->ports)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int r = port_from_json(json_array_get(array, i), &health->ports[i], ret_message);

		if (r < 0)
			return r;
		health->n_ports = i + 1;
	}
	return 0;
}

static int read_health(const json_t *json, GpuHealth *health, char **ret_message)
{
	static const char *const keys[] = { "bdf",	"ports", "power_state",
					    "config",	"aer",	 "correctable",
					    "nonfatal", "fatal", NULL };
	const json_t *ports;
	JsonReader reader;
	int r;

	json_reader_begin(&reader, json, "health", keys);
	json_read_bdf(&reader, "bdf", &health->bdf);
	ports = json_read_array(&reader, "ports", PORTS_MAX);
	json_read_text_if_any(&reader, "power_state", &health->power_state);
	health->aer = json_read_bool(&reader, "aer");
	health->correctable = json_read_number(&reader, "correctable", INT64_MAX);
	health->nonfatal = json_read_number(&reader, "nonfatal", INT64_MAX);
	health->fatal = json_read_number(&reader, "fatal", INT64_MAX);
	r = json_reader_end(&reader, ret_message);
	if (r >= 0)
		r = config_from_json(json_object_get(json, "config"), &health->config, ret_message);
	return r < 0 ? r : ports_from_json(ports, health, ret_message);
}

int gpu_health_from_json(const json_t *json, GpuHealth *ret, char **ret_message)
{
	GpuHealth health = { 0 };
	int r = read_health(json, &health, ret_message);

	if (r < 0)
		gpu_health_clear(&health);
	else
		*ret = health;
	return r;
}

void gpu_health_clear(GpuHealth *health)
{
	free(health->power_state);
	free(health->ports);
	*health = (GpuHealth){ 0 };
}

void gpu_healths_free(GpuHealth *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gpu_health_clear(&items[i]);
	free(items);
}

const GpuHealth *gpu_healths_find(const GpuHealth *items, size_t n, const Bdf *bdf)
{
	for (size_t i = 0; i < n; i++)
		if (bdf_equal(&items[i].bdf, bdf))
			return &items[i];
	return NULL;
}
