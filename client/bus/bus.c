/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/bus.h"

#include <stdarg.h>

#include "base/json.h"
#include "base/text.h"
#include "util/clock.h"

#define NO_SYSTEM_BUS "cannot connect to the system bus"
#define NO_USER_BUS "cannot connect to the user's bus"

/*
 * sd-bus names a broken connection System.Error.E…, and uses the same names for errnos that a
 * service returns. Only errnos of connections count as a broken connection.
 */
static bool is_connection_error(const char *name)
{
	static const char *const names[] = {
		"System.Error.ENOTCONN",  "System.Error.ECONNRESET", "System.Error.EPIPE",
		"System.Error.ESHUTDOWN", "System.Error.ETIMEDOUT",
	};

	return SOME_OF(names, ELEMENTS(names), strcmp(it, name) == 0);
}

/* Whatever ssh, or a program in the place of a bus, does there: the host cannot be asked. */
static int remote_failed(Client *c, int error)
{
	_cleanup_free_ char *message = NULL;
	const char *host = c->options->host, *cause = strerror(error);
	/* What sd-bus makes of a text that is no greeting, or too much of it. */
	bool strange = error == EPERM || error == ENOBUFS || error == EBADMSG || error == EPROTO;

	if (error == ETIMEDOUT)
		cause = sd_bus_is_ready(c->bus) > 0 ? "it did not answer in time"
						    : "nothing came from it for 30 s";
	message = strf("cannot talk to gpupassd on %s; does ssh to it work?\nCause:  %s%s%s\n"
		       "Remedy: see: ssh %s systemctl status gpupassd; it needs "
		       "systemd-stdio-bridge there, and a login that prints nothing",
		       host, strange ? "it does not answer as a bus does (" : "", cause,
		       strange ? ")" : "", host);
	return client_fail(c, failure_new("org.freedesktop.DBus.Error.Disconnected",
					  GPUPASS_EXIT_NO_DAEMON, message));
}

static int connection_failed(Client *c, int error)
{
	if (c->options->host)
		return remote_failed(c, error);
	return client_fail(c, failure_from_errno(error, "cannot talk to gpupassd"));
}

int bus_fail(Client *c, const sd_bus_error *error, int r)
{
	if (!error || !sd_bus_error_is_set(error))
		return connection_failed(c, -r);
	if (is_connection_error(error->name))
		return connection_failed(c, sd_bus_error_get_errno(error));
	return client_fail(c, failure_from_bus(error->name, error->message));
}

int bus_bad_reply(Client *c, const char *what)
{
	return client_fail(
		c, failure_from_bus("org.freedesktop.DBus.Error.InconsistentMessage", what));
}

int bus_build_failed(Client *c, int r)
{
	return client_fail(c, failure_from_errno(-r, "cannot make the request"));
}

int bus_append_options(Client *c, sd_bus_message *call, const BusOption *options, size_t n)
{
	int r = sd_bus_message_open_container(call, SD_BUS_TYPE_ARRAY, "{sv}");

	for (const BusOption *o = options; r >= 0 && o < options + n; o++) {
		if (o->given && o->type == 's')
			r = sd_bus_message_append(call, "{sv}", o->key, "s", o->text);
		else if (o->given && o->type == 't')
			r = sd_bus_message_append(call, "{sv}", o->key, "t", o->number);
		else if (o->given)
			r = sd_bus_message_append(call, "{sv}", o->key, "b", 1);
	}
	if (r >= 0)
		r = sd_bus_message_close_container(call);
	return r < 0 ? bus_build_failed(c, r) : 0;
}

/* As sd_bus_call() waits. Without `pending` it waits for the greeting. */
static int await(sd_bus *bus, const BusPending *pending, uint64_t timeout_usec)
{
	uint64_t now = now_monotonic(), until = now + timeout_usec;
	int r = 0;

	for (; r >= 0 && (pending ? !pending->reply : sd_bus_is_ready(bus) == 0);
	     now = now_monotonic()) {
		r = sd_bus_process(bus, NULL);
		if (r != 0)
			continue;
		if (now >= until)
			return -ETIMEDOUT;
		r = sd_bus_wait(bus, until - now);
	}
	if (r < 0 || !pending)
		return r;
	/* For a connection that is lost sd-bus answers by itself. */
	return sd_bus_is_open(bus) <= 0 &&
			       sd_bus_message_is_method_error(pending->reply, SD_BUS_ERROR_NO_REPLY)
		       ? -ECONNRESET
		       : 0;
}

int bus_connect(Client *c)
{
	const Options *o = c->options;
	int r;

	if (c->bus)
		return 0;
	if (o->host)
		r = sd_bus_open_system_remote(&c->bus, o->host);
	else if (o->session)
		r = sd_bus_open_user(&c->bus);
	else
		r = sd_bus_open_system(&c->bus);
	if (r >= 0 && o->host)
		r = await(c->bus, NULL, BUS_SILENCE_USEC);
	if (r < 0 && o->host)
		return connection_failed(c, -r);
	if (r < 0)
		return client_fail(
			c, failure_from_errno(-r, o->session ? NO_USER_BUS : NO_SYSTEM_BUS));
	r = sd_bus_set_allow_interactive_authorization(c->bus, o->ask_password);
	return r < 0 ? bus_fail(c, NULL, r) : 0;
}

int bus_new_call(Client *c, const char *path, const char *interface, const char *member,
		 sd_bus_message **ret)
{
	int r = bus_connect(c);

	if (r < 0)
		return r;
	r = sd_bus_message_new_method_call(c->bus, ret, GPUPASS_BUS_NAME, path, interface, member);
	if (r >= 0)
		r = sd_bus_message_set_auto_start(*ret, !c->leave_stopped);
	return r < 0 ? bus_build_failed(c, r) : 0;
}

int bus_new_manager_call(Client *c, const char *member, sd_bus_message **ret, const char *types,
			 ...)
{
	int r = bus_new_call(c, GPUPASS_PATH_ROOT, GPUPASS_IFACE_MANAGER, member, ret);

	va_list ap;

	if (r < 0)
		return r;
	va_start(ap, types);
	r = sd_bus_message_appendv(*ret, types, ap);
	va_end(ap);
	return r < 0 ? bus_build_failed(c, r) : 0;
}

static int check_signature(Client *c, sd_bus_message *call, sd_bus_message *reply,
			   const char *signature)
{
	_cleanup_free_ char *what = NULL;

	if (sd_bus_message_has_signature(reply, signature) > 0)
		return 0;
	what = strf("the reply to %s has the signature '%s', not '%s'",
		    sd_bus_message_get_member(call), sd_bus_message_get_signature(reply, 1),
		    signature);
	return bus_bad_reply(c, what);
}

int bus_call(Client *c, sd_bus_message *call, uint64_t timeout_usec, const char *signature,
	     sd_bus_message **ret)
{
	_cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	_cleanup_message_ sd_bus_message *reply = NULL;
	int r = sd_bus_call(c->bus, call, timeout_usec, &error, &reply);

	if (r < 0)
		return bus_fail(c, &error, r);
	r = check_signature(c, call, reply, signature);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(reply);
	return 0;
}

int bus_new_get_all(Client *c, const char *path, const char *interface, sd_bus_message **ret)
{
	int r = bus_new_call(c, path, "org.freedesktop.DBus.Properties", "GetAll", ret);

	if (r < 0)
		return r;
	r = sd_bus_message_append(*ret, "s", interface);
	return r < 0 ? bus_build_failed(c, r) : 0;
}

int bus_get_all(Client *c, const char *path, const char *interface, sd_bus_message **ret)
{
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = bus_new_get_all(c, path, interface, &call);

	return r < 0 ? r : bus_call(c, call, BUS_TIMEOUT_READ_USEC, "a{sv}", ret);
}

/* ---- several calls at once ---- */

static int on_reply(sd_bus_message *reply, void *userdata, _unused_ sd_bus_error *ret_error)
{
	BusPending *pending = userdata;

	pending->reply = sd_bus_message_ref(reply);
	return 1;
}

int bus_begin(Client *c, sd_bus_message *call, BusPending *ret)
{
	int r = sd_bus_call_async(c->bus, &ret->slot, call, on_reply, ret, UINT64_MAX);

	if (r < 0)
		return bus_fail(c, NULL, r);
	ret->call = sd_bus_message_ref(call);
	return 0;
}

int bus_end(Client *c, BusPending *pending, uint64_t timeout_usec, const char *signature,
	    sd_bus_message **ret)
{
	int r = await(c->bus, pending, timeout_usec);

	if (r < 0)
		return connection_failed(c, -r);
	if (sd_bus_message_is_method_error(pending->reply, NULL))
		return bus_fail(c, sd_bus_message_get_error(pending->reply), -EIO);
	r = check_signature(c, pending->call, pending->reply, signature);
	if (r >= 0)
		*ret = TAKE_PTR(pending->reply);
	return r;
}

void bus_pending_clear(BusPending *pending)
{
	sd_bus_slot_unref(pending->slot);
	sd_bus_message_unref(pending->call);
	sd_bus_message_unref(pending->reply);
	*pending = (BusPending){ 0 };
}

/* *ret stays NULL for what has no plain form here, such as a file. */
static int read_basic(sd_bus_message *m, char type, json_t **ret)
{
	union {
		const char *s;
		int b;
		uint32_t u;
		int32_t i;
		uint64_t t;
	} value;
	int r;

	if (!strchr("sbuit", type))
		return sd_bus_message_skip(m, NULL);
	r = sd_bus_message_read_basic(m, type, &value);
	if (r < 0)
		return r;
	*ret = type == 's'   ? json_text(value.s)
	       : type == 'b' ? json_boolean(value.b)
	       : type == 'u' ? json_integer(value.u)
	       : type == 'i' ? json_integer(value.i)
			     : json_unsigned(value.t);
	return 0;
}

int bus_read_variant(sd_bus_message *m, json_t **ret)
{
	_cleanup_(json_decrefp) json_t *value = NULL;
	_cleanup_strv_ char **texts = NULL;
	const char *contents;
	char type;
	int r = sd_bus_message_peek_type(m, &type, &contents);

	if (r < 0)
		return r;
	if (r == 0 || type != SD_BUS_TYPE_VARIANT)
		return -EBADMSG;
	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, contents);
	if (r < 0)
		return r;
	if (strcmp(contents, "as") == 0) {
		r = sd_bus_message_read_strv(m, &texts);
		value = json_strv(texts);
	} else if (strlen(contents) == 1 && contents[0] != SD_BUS_TYPE_VARIANT) {
		r = read_basic(m, contents[0], &value);
	} else {
		r = sd_bus_message_skip(m, contents);
	}
	if (r < 0)
		return r;
	r = sd_bus_message_exit_container(m);
	if (r < 0)
		return r;
	*ret = value ? TAKE_PTR(value) : json_null();
	return 0;
}

int bus_each(sd_bus_message *m, const char *entry, int (*each)(sd_bus_message *m, void *userdata),
	     void *userdata)
{
	_cleanup_free_ char *entries = strf("{%s}", entry);
	int r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, entries);

	while (r >= 0 &&
	       (r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, entry)) > 0) {
		r = each(m, userdata);
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
	}
	return r < 0 ? r : sd_bus_message_exit_container(m);
}
