/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/options.h"

#include "core/base/problem.h"
#include "util/text.h"
#include "util/xalloc.h"

static const struct {
	const char *key;
	char type;
	size_t offset;
} known[] = {
#define OPTION_SIGNATURE_BOOL 'b'
#define OPTION_SIGNATURE_STRING 's'
#define OPTION_SIGNATURE_UINT64 't'
#define METHOD_OPTION(ID, key, TYPE, member)                                                       \
	[CALL_OPTION_##ID] = { key, OPTION_SIGNATURE_##TYPE, offsetof(CallOptions, member) },
#include "gpupass/interfaces.h"
};

/* CALL_OPTION_MAX_: the call takes none of this key. */
static size_t find(uint32_t takes, const char *key)
{
	size_t i = 0;

	while (i < CALL_OPTION_MAX_ &&
	       (!(takes & UINT32_C(1) << i) || strcmp(known[i].key, key) != 0))
		i++;
	return i;
}

/* "what", then state and remedy as every message has them. */
static int refuse(sd_bus_error *error, const char *key, const char *what, const char *remedy)
{
	return sd_bus_error_setf(error, problem_dbus_name(GPUPASS_ERROR_INVALID_ARGUMENT),
				 "option \"%s\" %s\nState:  nothing was changed\nRemedy: %s", key,
				 what, remedy);
}

static int refuse_unknown(uint32_t takes, const char *key, sd_bus_error *error)
{
	_cleanup_strv_ char **keys = NULL;
	_cleanup_free_ char *joined = NULL, *remedy = NULL;

	for (size_t i = 0; i < CALL_OPTION_MAX_; i++)
		if (takes & UINT32_C(1) << i)
			strv_append(&keys, known[i].key);
	if (!keys)
		return refuse(error, key, "is unknown", "this call has no options");
	joined = strv_join(keys, ", ");
	remedy = strf("the options of this call are %s", joined);
	return refuse(error, key, "is unknown", remedy);
}

static int read_value(sd_bus_message *m, char type, void *at)
{
	const char *s;
	uint64_t number;
	int flag, r;

	switch (type) {
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

static int read_entry(sd_bus_message *m, uint32_t takes, CallOptions *options, sd_bus_error *error)
{
	const char *key;
	char type;
	size_t i;
	int r = sd_bus_message_read(m, "s", &key);

	if (r < 0)
		return r;
	i = find(takes, key);
	if (i == CALL_OPTION_MAX_)
		return refuse_unknown(takes, key, error);
	if (options->given & UINT32_C(1) << i)
		return refuse(error, key, "is there twice", "give it once");
	options->given |= UINT32_C(1) << i;
	type = known[i].type;
	r = read_value(m, type, (char *)options + known[i].offset);
	if (r == -ENXIO || r == -EBADMSG)
		return refuse(error, key, "has the wrong type",
			      type == 'b'   ? "give a boolean (b)"
			      : type == 't' ? "give a number (t)"
					    : "give a string (s)");
	return r;
}

int call_options_read(sd_bus_message *m, uint32_t takes, CallOptions *ret, sd_bus_error *error)
{
	int r;

	r = sd_bus_message_enter_container(m, 'a', "{sv}");
	while (r >= 0) {
		r = sd_bus_message_enter_container(m, 'e', "sv");
		if (r <= 0)
			break;
		r = read_entry(m, takes, ret, error);
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
	}
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

void call_options_clear(CallOptions *options)
{
	for (size_t i = 0; i < CALL_OPTION_MAX_; i++)
		if (known[i].type == 's')
			free(*(char **)((char *)options + known[i].offset));
}
