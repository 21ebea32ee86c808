/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/options.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/problem.h"
#include "util/text.h"
#include "util/xalloc.h"

#define OPTIONS_MAX 32

static const OptionSpec *find(const OptionSpec *specs, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(specs[i].key, key) == 0)
			return &specs[i];
	return NULL;
}

/* "what", then state and remedy as every message has them. */
static int refuse(sd_bus_error *error, const char *key, const char *what, const char *remedy)
{
	return sd_bus_error_setf(error, problem_dbus_name(GPUPASS_ERROR_INVALID_ARGUMENT),
				 "option \"%s\" %s\nState:  nothing was changed\nRemedy: %s", key,
				 what, remedy);
}

static int refuse_unknown(const OptionSpec *specs, size_t n, const char *key, sd_bus_error *error)
{
	_cleanup_strv_ char **keys = NULL;
	_cleanup_free_ char *joined = NULL, *remedy = NULL;

	for (size_t i = 0; i < n; i++)
		strv_append(&keys, specs[i].key);
	if (!keys)
		return refuse(error, key, "is unknown", "this call has no options");
	joined = strv_join(keys, ", ");
	remedy = strf("the options of this call are %s", joined);
	return refuse(error, key, "is unknown", remedy);
}

static int read_value(sd_bus_message *m, const OptionSpec *spec, void *at)
{
	const char *s;
	uint64_t number;
	int flag, r;

	switch (spec->type) {
	case 'b':
		r = sd_bus_message_read(m, "v", "b", &flag);
		if (r >= 0)
			*(bool *)at = flag;
		return r;
	case 't':
		r = sd_bus_message_read(m, "v", "t", &number);
		if (r >= 0)
			*(uint64_t *)at = number;
		return r;
	default:
		r = sd_bus_message_read(m, "v", "s", &s);
		if (r < 0)
			return r;
		free(*(char **)at);
		*(char **)at = xstrdup(s);
		return 0;
	}
}

static int read_entry(sd_bus_message *m, const OptionSpec *specs, size_t n, void *target,
		      uint32_t *seen, sd_bus_error *error)
{
	const OptionSpec *spec;
	const char *key;
	int r;

	r = sd_bus_message_read(m, "s", &key);
	if (r < 0)
		return r;
	spec = find(specs, n, key);
	if (!spec)
		return refuse_unknown(specs, n, key, error);
	if (*seen & (1U << (spec - specs)))
		return refuse(error, key, "is there twice", "give it once");
	*seen |= 1U << (spec - specs);
	r = read_value(m, spec, (char *)target + spec->offset);
	if (r == -ENXIO || r == -EBADMSG)
		return refuse(error, key, "has the wrong type",
			      spec->type == 'b'	  ? "give a boolean (b)"
			      : spec->type == 't' ? "give a number (t)"
						  : "give a string (s)");
	return r;
}

int options_read(sd_bus_message *m, const OptionSpec *specs, size_t n, void *target,
		 sd_bus_error *error)
{
	uint32_t seen = 0;
	int r;

	r = sd_bus_message_enter_container(m, 'a', "{sv}");
	while (r >= 0) {
		r = sd_bus_message_enter_container(m, 'e', "sv");
		if (r <= 0)
			break;
		r = read_entry(m, specs, n > OPTIONS_MAX ? OPTIONS_MAX : n, target, &seen, error);
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
	}
	return r < 0 ? r : sd_bus_message_exit_container(m);
}
