/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Talking to gpupassd. */
#pragma once

#include <jansson.h>

#include "base/client.h"
#include "gpupass/dbus.h"

#define _cleanup_message_ _cleanup_(sd_bus_message_unrefp_)
static inline _unused_ void sd_bus_message_unrefp_(sd_bus_message **m)
{
	*m = sd_bus_message_unref(*m);
}

/* Reading is quick; a call that acts may wait for somebody to type a password. */
#define BUS_TIMEOUT_READ_USEC (60 * UINT64_C(1000000))
#define BUS_TIMEOUT_ACT_USEC (300 * UINT64_C(1000000))
/* A host of -H that says nothing for so long is given up: ssh itself would wait for ever. */
#define BUS_SILENCE_USEC (30 * UINT64_C(1000000))

/* The daemon comes or goes. */
#define BUS_MATCH_OWNER                                                                            \
	"type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"            \
	"member='NameOwnerChanged',arg0='" GPUPASS_BUS_NAME "'"

/* The system bus, here or on the host of -H; with --session that of the user. */
int bus_connect(Client *c);

int bus_new_call(Client *c, const char *path, const char *interface, const char *member,
		 sd_bus_message **ret);
/* A method of org.gpupass1.Manager, with arguments as sd_bus_message_append() takes them. */
int bus_new_manager_call(Client *c, const char *member, sd_bus_message **ret, const char *types,
			 ...);
/* One of the options of a call. */
typedef struct BusOption {
	const char *key;
	char type; /* 's', 't' or 'b' */
	bool given;
	const char *text;
	uint64_t number;
} BusOption;

/* NULL is no text. */
#define BUS_TEXT(key, text) ((BusOption){ key, 's', (text) != NULL, text, 0 })
#define BUS_NUMBER(key, given, number) ((BusOption){ key, 't', given, NULL, number })
#define BUS_FLAG(key, given) ((BusOption){ key, 'b', given, NULL, 1 })

/* Appends the a{sv} of those that are given. */
int bus_append_options(Client *c, sd_bus_message *call, const BusOption *options, size_t n);
/* Calls and waits. `signature` is what the reply must have. */
int bus_call(Client *c, sd_bus_message *call, uint64_t timeout_usec, const char *signature,
	     sd_bus_message **ret);
int bus_get_all(Client *c, const char *path, const char *interface, sd_bus_message **ret);
/* The call of bus_get_all(). */
int bus_new_get_all(Client *c, const char *path, const char *interface, sd_bus_message **ret);

/* A call whose answer is waited for later, so that several are under way at once. */
typedef struct BusPending {
	sd_bus_slot *slot;
	sd_bus_message *call, *reply; /* reply NULL: it is still to come */
} BusPending;

/*
 * Sends the call. On a connection that is still being made nothing waits for that, either: the call
 * goes out together with the greeting.
 */
int bus_begin(Client *c, sd_bus_message *call, BusPending *ret);
/*
 * Waits for what bus_begin() sent; otherwise as bus_call(). Calls whoever listens on the connection
 * meanwhile: for one on which nobody does yet.
 */
int bus_end(Client *c, BusPending *pending, uint64_t timeout_usec, const char *signature,
	    sd_bus_message **ret);
void bus_pending_clear(BusPending *pending);

/* The failure that an error reply, or a negative return of sd-bus, stands for. */
int bus_fail(Client *c, const sd_bus_error *error, int r);
/* "gpupassd sent an answer that cannot be read": `what` says which. */
int bus_bad_reply(Client *c, const char *what);

/* The failure of building a message. */
int bus_build_failed(Client *c, int r);

/* The variant at the reader's place as JSON; null for a type that has no plain form. */
int bus_read_variant(sd_bus_message *m, json_t **ret);
/* Calls `each` for each entry of the a{…} at the reader's place; it reads key and value. */
int bus_each(sd_bus_message *m, const char *entry, int (*each)(sd_bus_message *m, void *userdata),
	     void *userdata);
