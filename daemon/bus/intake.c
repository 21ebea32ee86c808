/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/intake.h"

#include <errno.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "bus/backlog.h"
#include "bus/budget.h"
#include "bus/call-size.h"
#include "bus/callers.h"
#include "core/base/problem.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"

/* Our longest call is a declaration of a few names and addresses, far below a KiB. */
#define CALL_BYTES_MAX (32U * 1024)
#define CALL_BYTES_SMALL 1024U

/* Of one name, and of all together, while the bus is asked whose they are. A name's first call has
 * room in any case: the bus bounds the names that a user has (256 on the system bus). */
#define HELD_NAME_MAX 64
#define HELD_MAX 1024
#define HELD_BYTES_MAX (8U * 1024 * 1024)

/* Of one user, and of all together, until they have a token. A client that waits for its answer
 * before it calls again has one: 64 of one user's clients never see more than a delay. */
#define WAITING_USER_MAX 64
#define WAITING_MAX 1024
#define WAITING_BYTES_MAX (8U * 1024 * 1024)

/* 200 tokens a second, 600 at once, for a user; twice as much for all users together. */
static const Rate user_rate = { .usec_per_token = USEC_PER_SEC / 200, .burst = 600 };
static const Rate all_rate = { .usec_per_token = USEC_PER_SEC / 400, .burst = 1200 };
/* Refusals cost the bus and us a message each. Calls beyond this rate get no answer. Then the bus's
 * own limit on unanswered calls (128 on the system bus) stops the sender. */
static const Rate refusal_rate = { .usec_per_token = USEC_PER_SEC / 100, .burst = 2000 };
/* One line in the log for a user, until the user was within budget for this long. */
#define QUIET_USEC (60 * USEC_PER_SEC)

/* Looking into a call that is too large costs more than receiving it: sd-bus checks each string for
 * UTF-8 before it hands it out, which takes 2.5 ms for a MiB. So we ignore its user for a while. */
#define MUTED_USEC USEC_PER_SEC

/* With this many answers that the bus daemon has not taken yet, we make no more. */
#define UNSENT_MAX 256

struct Intake {
	sd_bus *bus;
	sd_bus_slot *filter;
	sd_event_source *due; /* when a user with waiting calls has a token */
	Callers *callers;
	Backlog *backlog;
	CallQueue let_in; /* in sd-bus's queue for the second time, in its order */
	size_t n_held, held_bytes, n_waiting, waiting_bytes, turn;
	Users users;
	Bucket all, strangers; /* strangers: refusals to callers whose user is not known yet */
	uid_t own_uid;
	IntakeLeft left;
	void *left_userdata;
	IntakeRefused refused;
	void *refused_userdata;
};

/* ---- no ---- */

static bool may_refuse(Bucket *refusals, uint64_t now)
{
	if (bucket_wait(*refusals, &refusal_rate, 1, now) > 0)
		return false;
	bucket_take(refusals, &refusal_rate, 1, now);
	return true;
}

/* refusals: the budget that pays for the answer; NULL: root, who always gets one. Returns 1:
 * handled. */
static int refuse(sd_bus_message *m, Bucket *refusals, const char *what)
{
	if (sd_bus_message_get_expect_reply(m) > 0 &&
	    (!refusals || may_refuse(refusals, now_monotonic())))
		(void)sd_bus_reply_method_errorf(m,
						 problem_dbus_name(GPUPASS_ERROR_LIMITS_EXCEEDED),
						 "%s\nState:  nothing was changed\n"
						 "Remedy: try again later, and less often",
						 what);
	return 1;
}

static void tell_refused(const Intake *intake, sd_bus_message *m, uid_t uid, const char *why)
{
	if (intake->refused)
		intake->refused(m, uid, why, intake->refused_userdata);
}

static int refuse_size(const Intake *intake, uid_t uid, sd_bus_message *m, Bucket *refusals)
{
	tell_refused(intake, m, uid, "a call larger than 32 KiB, or not one that gpupassd knows");
	return refuse(m, refusals,
		      "the call is larger than 32 KiB, or not one that gpupassd knows");
}

static int refuse_user(const Intake *intake, User *user, sd_bus_message *m)
{
	uint64_t now = now_monotonic();

	if (user->refused_at == 0 || user->refused_at + QUIET_USEC < now)
		log_line(LOG_WARNING, &(LogFields){ .message_id = LOG_ID_FLOOD },
			 "user %ld calls more than gpupassd lets one user: some calls are refused",
			 (long)user->uid);
	user->refused_at = now;
	tell_refused(intake, m, user->uid, "this user calls too often");
	return refuse(m, &user->refusals, "this user has called too often lately");
}

/* ---- yes ---- */

int intake_let_in_again(Intake *intake, sd_bus_message *call)
{
	int r = sd_bus_message_rewind(call, true);

	if (r >= 0)
		r = call_queue_add(&intake->let_in, call, 0);
	if (r < 0)
		return r;
	r = sd_bus_enqueue_for_read(intake->bus, call);
	if (r < 0)
		call_queue_remove(&intake->let_in, call);
	return r;
}

/* ---- a user's budget ---- */

/*
 * Reading a property is cheap. All other calls make a long answer, ask polkit, or start a thread.
 */
static uint64_t tokens_of(sd_bus_message *m, size_t bytes)
{
	static const char *const cheap[] = {
		"org.freedesktop.DBus.Properties",
		"org.freedesktop.DBus.Peer",
	};
	const char *interface = sd_bus_message_get_interface(m);

	for (size_t i = 0; i < ELEMENTS(cheap); i++)
		if (str_equal(interface, cheap[i]))
			return 1 + bytes / CALL_BYTES_SMALL;
	return 4 + bytes / CALL_BYTES_SMALL;
}

/* 0: took the tokens. Otherwise the time until there are enough. */
static uint64_t pay(Intake *intake, User *user, sd_bus_message *m, size_t bytes)
{
	uint64_t tokens = tokens_of(m, bytes), now = now_monotonic();
	uint64_t of_user = bucket_wait(user->calls, &user_rate, tokens, now);
	uint64_t of_all = bucket_wait(intake->all, &all_rate, tokens, now);

	if (of_user > 0 || of_all > 0)
		return of_user > of_all ? of_user : of_all;
	bucket_take(&user->calls, &user_rate, tokens, now);
	bucket_take(&intake->all, &all_rate, tokens, now);
	backlog_served(intake->backlog);
	return 0;
}

static sd_bus_message *take_waiting(Intake *intake, User *user)
{
	size_t bytes = 0;
	sd_bus_message *m = call_queue_take(&user->waiting, &bytes);

	intake->n_waiting -= m != NULL;
	intake->waiting_bytes -= bytes;
	return m;
}

/* Lets in what the user's tokens pay for. Returns the time until the next call; 0: none waits. */
static uint64_t let_in_waiting(Intake *intake, User *user)
{
	while (user->waiting.first) {
		_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
		uint64_t wait =
			pay(intake, user, user->waiting.first->call, user->waiting.first->bytes);

		if (wait > 0)
			return wait;
		m = take_waiting(intake, user);
		if (intake_let_in_again(intake, m) < 0)
			refuse_user(intake, user, m);
	}
	return 0;
}

static int on_due(sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	Intake *intake = userdata;
	uint64_t next = let_in_waiting(intake, &intake->users.others);
	size_t n = intake->users.n;
	int r;

	/* Begin with another user each time, because all share one bucket. */
	intake->turn++;
	for (size_t i = 0; i < n; i++) {
		User *user = &intake->users.items[(intake->turn + i) % n];
		uint64_t wait = let_in_waiting(intake, user);

		if (wait > 0 && (next == 0 || wait < next))
			next = wait;
	}
	if (next == 0)
		return 0;
	r = sd_event_source_set_time_relative(source, next);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int wait_for_tokens(Intake *intake, User *user, sd_bus_message *m, size_t bytes,
			   uint64_t wait)
{
	int enabled = SD_EVENT_OFF;

	if (user->waiting.n >= WAITING_USER_MAX || intake->n_waiting >= WAITING_MAX ||
	    intake->waiting_bytes + bytes > WAITING_BYTES_MAX ||
	    call_queue_add(&user->waiting, m, bytes) < 0)
		return refuse_user(intake, user, m);
	intake->n_waiting++;
	intake->waiting_bytes += bytes;
	if (sd_event_source_get_enabled(intake->due, &enabled) >= 0 && enabled != SD_EVENT_OFF)
		return 1;
	(void)sd_event_source_set_time_relative(intake->due, wait);
	(void)sd_event_source_set_enabled(intake->due, SD_EVENT_ONESHOT);
	return 1;
}

/* ---- whose call it is ---- */

static bool is_privileged(const Intake *intake, uid_t uid)
{
	return uid == 0 || uid == intake->own_uid;
}

static void mute(User *user)
{
	user->muted_until = now_monotonic() + MUTED_USEC;
}

/* 0: the call goes on to its object; 1: it waits, or was refused. */
static int admit(Intake *intake, User *user, sd_bus_message *m, size_t bytes)
{
	uint64_t wait =
		user->waiting.n > 0 ? user_rate.usec_per_token : pay(intake, user, m, bytes);

	return wait > 0 ? wait_for_tokens(intake, user, m, bytes, wait) : 0;
}

static int on_call_of(Intake *intake, uid_t uid, sd_bus_message *m)
{
	size_t bytes = 0;
	User *user;

	if (is_privileged(intake, uid))
		return call_size(m, CALL_BYTES_MAX, &bytes) < 0 ? refuse_size(intake, uid, m, NULL)
								: 0;
	user = users_get(&intake->users, uid, now_monotonic());
	if (backlog_blocks(intake->backlog, user))
		return 1;
	/* In a flood, this is the path of every message. */
	if (user->waiting.n >= WAITING_USER_MAX || user->muted_until > now_monotonic())
		return refuse_user(intake, user, m);
	if (call_size(m, CALL_BYTES_MAX, &bytes) >= 0)
		return admit(intake, user, m, bytes);
	mute(user);
	return refuse_size(intake, uid, m, &user->refusals);
}

static int hold(Intake *intake, Caller *caller, sd_bus_message *m, size_t bytes)
{
	bool first = caller->held.n == 0 && bytes <= CALL_BYTES_SMALL;

	if (!first && (caller->held.n >= HELD_NAME_MAX || intake->n_held >= HELD_MAX ||
		       intake->held_bytes + bytes > HELD_BYTES_MAX)) {
		tell_refused(intake, m, (uid_t)-1,
			     "too many calls wait until it is known who calls");
		return refuse(m, &intake->strangers,
			      "it is not known yet who calls, and too many calls wait for that");
	}
	if (call_queue_add(&caller->held, m, bytes) < 0)
		return refuse(m, &intake->strangers, "out of memory");
	intake->n_held++;
	intake->held_bytes += bytes;
	return 1;
}

static sd_bus_message *take_held(Intake *intake, Caller *caller, size_t *ret_bytes)
{
	sd_bus_message *m;

	*ret_bytes = 0;
	m = call_queue_take(&caller->held, ret_bytes);
	intake->n_held -= m != NULL;
	intake->held_bytes -= *ret_bytes;
	return m;
}

static void on_known(Caller *caller, void *userdata)
{
	Intake *intake = userdata;
	User *user = is_privileged(intake, caller->uid)
			     ? NULL
			     : users_get(&intake->users, caller->uid, now_monotonic());

	if (user && caller->too_large)
		mute(user);
	while (caller->held.first) {
		size_t bytes;
		_cleanup_(sd_bus_message_unrefp) sd_bus_message *m =
			take_held(intake, caller, &bytes);

		if ((!user || admit(intake, user, m, bytes) == 0) &&
		    intake_let_in_again(intake, m) < 0)
			refuse(m, &intake->strangers, "out of memory");
	}
}

static void on_unknown(Caller *caller, const char *why, void *userdata)
{
	Intake *intake = userdata;

	log_warning("the bus does not tell whose %s is (%s): its calls are refused", caller->name,
		    why);
	while (caller->held.first) {
		size_t bytes;
		_cleanup_(sd_bus_message_unrefp) sd_bus_message *m =
			take_held(intake, caller, &bytes);

		if (sd_bus_message_get_expect_reply(m) > 0)
			(void)sd_bus_reply_method_errorf(
				m, SD_BUS_ERROR_ACCESS_DENIED,
				"the bus does not tell who calls: %s\n"
				"State:  nothing was changed\nRemedy: try again",
				why);
	}
}

static void drop_waiting_of(Intake *intake, User *user, const char *name)
{
	size_t n = user->waiting.n, bytes = user->waiting.bytes;

	call_queue_remove_sender(&user->waiting, name);
	intake->n_waiting -= n - user->waiting.n;
	intake->waiting_bytes -= bytes - user->waiting.bytes;
}

static void on_left(Caller *caller, void *userdata)
{
	Intake *intake = userdata;

	backlog_left(intake->backlog, caller);
	intake->n_held -= caller->held.n;
	intake->held_bytes -= caller->held.bytes;
	for (size_t i = 0; i < intake->users.n; i++)
		if (intake->users.items[i].uid == caller->uid)
			drop_waiting_of(intake, &intake->users.items[i], caller->name);
	drop_waiting_of(intake, &intake->users.others, caller->name);
	if (intake->left)
		intake->left(caller->name, intake->left_userdata);
}

int intake_uid(Intake *intake, sd_bus_message *call, uid_t *ret)
{
	const char *name = sd_bus_message_get_sender(call);
	const Caller *caller = name ? callers_find(intake->callers, name) : NULL;

	if (!caller || !caller->known)
		return -ENXIO;
	*ret = caller->uid;
	return 0;
}

CallerIdentity *intake_identity(Intake *intake, sd_bus_message *call)
{
	const char *name = sd_bus_message_get_sender(call);
	const Caller *caller = name ? callers_find(intake->callers, name) : NULL;

	return caller ? caller->identity : NULL;
}

void intake_on_refused(Intake *intake, IntakeRefused refused, void *userdata)
{
	intake->refused = refused;
	intake->refused_userdata = userdata;
}

void intake_on_left(Intake *intake, IntakeLeft left, void *userdata)
{
	intake->left = left;
	intake->left_userdata = userdata;
}

/* ---- each message ---- */

static int on_call(Intake *intake, const char *sender, sd_bus_message *m)
{
	Caller *caller = callers_find(intake->callers, sender);
	size_t bytes = 0;

	if (caller && caller->known)
		return on_call_of(intake, caller->uid, m);
	if (!caller && callers_get(intake->callers, sender, &caller) < 0)
		return refuse(m, &intake->strangers, "too many callers are on the bus");
	caller->too_large |= !caller->too_large && call_size(m, CALL_BYTES_MAX, &bytes) < 0;
	return caller->too_large ? refuse_size(intake, (uid_t)-1, m, &intake->strangers)
				 : hold(intake, caller, m, bytes);
}

static int on_message(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *ret_error)
{
	const char *sender = sd_bus_message_get_sender(m);
	Intake *intake = userdata;
	uint64_t unsent = 0;

	/* The bus daemon's signals, and those that sd-bus makes itself. */
	if (!sender || sender[0] != ':')
		return 0;
	/* No signal of anybody else is listened to; answers that are waited for do not come
	 * here. */
	if (!sd_bus_message_is_method_call(m, NULL, NULL))
		return 1;
	if (call_queue_remove(&intake->let_in, m))
		return 0;
	if (sd_bus_get_n_queued_write(intake->bus, &unsent) >= 0 && unsent > UNSENT_MAX)
		return 1;
	return on_call(intake, sender, m);
}

/* ---- life ---- */

int intake_new(sd_bus *bus, CallerResolver *resolver, Intake **ret)
{
	_cleanup_(intake_freep) Intake *intake = calloc(1, sizeof(Intake));
	int r;

	if (!intake)
		return -ENOMEM;
	intake->bus = bus;
	intake->own_uid = geteuid();
	intake->users.others.uid = (uid_t)-1;
	r = callers_new(bus, resolver,
			&(CallersListener){
				.known = on_known,
				.unknown = on_unknown,
				.left = on_left,
				.userdata = intake,
			},
			&intake->callers);
	if (r >= 0)
		r = backlog_new(bus, intake->callers, &intake->users, &intake->backlog);
	if (r >= 0)
		r = sd_event_add_time_relative(sd_bus_get_event(bus), &intake->due, CLOCK_MONOTONIC,
					       0, USEC_PER_MSEC, on_due, intake);
	if (r >= 0)
		r = sd_event_source_set_enabled(intake->due, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_bus_add_filter(bus, &intake->filter, on_message, intake);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(intake);
	return 0;
}

Intake *intake_free(Intake *intake)
{
	if (!intake)
		return NULL;
	sd_bus_slot_unref(intake->filter);
	sd_event_source_unref(intake->due);
	backlog_free(intake->backlog);
	callers_free(intake->callers);
	for (size_t i = 0; i < intake->users.n; i++)
		call_queue_clear(&intake->users.items[i].waiting);
	call_queue_clear(&intake->users.others.waiting);
	call_queue_clear(&intake->let_in);
	free(intake);
	return NULL;
}
