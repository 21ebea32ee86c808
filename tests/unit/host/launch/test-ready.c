/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts that wait before they are asked: who is asked, how often, and when another one is. */
#include "rig/test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/launch/part.h"
#include "parts-model.h"
#include "util/text.h"

static int setup(void **state)
{
	Parts *parts;
	const char *path;

	parts_setup(state);
	parts = *state;
	path = parts->dir->path;
	parts->config.ready = ready_parts_new(path, path, path);
	return 0;
}

#define WITH_READY(name) TEST_ON(name, Parts, setup, parts_teardown)

static void rest(const Parts *parts)
{
	ready_parts_rest(parts->config.ready);
	ready_parts_fill(parts->config.ready);
}

static void inspect(const Parts *parts)
{
	_cleanup_(inspection_freep) Inspection *in =
		inspect_with(&parts->config, INSPECT_CONFIG_NOT);

	assert_int_equal(in->n_functions, 1);
}

static void move_and_stay(int fd, char *const *words, void *userdata _unused_)
{
	say_moves(fd, words, NULL);
	dprintf(fd, "end\n");
}

static void move_both(const Parts *parts)
{
	MoveOutcome o[2];

	assert_int_equal(move_two(&parts->config, LONG, o), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(o[i].result.driver, "vfio-pci");
		assert_false(o[i].still_running);
		move_outcome_clear(&o[i]);
	}
}

/* promise C12 */
WITH_READY(what_waits_is_asked_again_and_again_and_replaced_at_rest)
{
	FakePart *part = listen_as(rig, PART_INSPECTOR, say_inspection, NULL);

	rest(rig);
	fake_part_await(&part->n_connections, 2);
	for (unsigned i = 1; i <= 2; i++) {
		inspect(rig);
		assert_int_equal(part->n_requests, i);
		assert_int_equal(part->last, 0);
	}
	rest(rig);
	fake_part_await(&part->n_ended, 1); /* no part of one job is there for the next */
	fake_part_await(&part->n_connections, 3);
	rest(rig); /* what was not used stays */
	inspect(rig);
	assert_int_equal(part->n_connections, 3);
	assert_int_equal(part->last, 1); /* it has had more time to start */
}

/* Where nothing was made ready, the one that was started serves further requests all the same. */
WITH_READY(one_that_was_not_ready_stays_too)
{
	FakePart *part = listen_as(rig, PART_INSPECTOR, say_inspection, NULL);

	inspect(rig);
	inspect(rig);
	assert_int_equal(part->n_connections, 1);
}

/* What loads NVIDIA's library has had its lock, which it lets go of before its output ends. */
WITH_READY(a_prober_waits_and_does_not_stay)
{
	static const char nothing[] = "\n{}\n";
	FakePart *part = listen_as(rig, PART_PROBER, say_text, (void *)nothing);

	rest(rig);
	fake_part_await(&part->n_connections, 1);
	for (unsigned i = 1; i <= 2; i++) {
		_cleanup_(probe_answer_clear) ProbeAnswer answer = { 0 };
		const Bdf bdf = tree_bdf(DISPLAY);

		assert_int_equal(
			host_probe(WORKERS(&rig->config), &bdf, 1, false, LONG, &answer, NULL),
			-EBADMSG);
		assert_int_equal(part->n_connections, i);
		fake_part_await(&part->n_ended, i);
	}
}

/* What ldconfig does. */
static void replace_cache(const TempDir *root)
{
	temp_dir_write(root, "etc/ld.so.cache~", "");
	assert_int_equal(renameat(root->fd, "etc/ld.so.cache~", root->fd, "etc/ld.so.cache"), 0);
}

static void start_persistenced(const TempDir *root)
{
	assert_int_equal(mkdirat(root->fd, "run/nvidia-persistenced", 0755), 0);
}

static void load_driver(const TempDir *root)
{
	temp_dir_write(root, "devices",
		       "Character devices:\n  1 mem\n195 nvidia\n\nBlock devices:\n  8 sd\n");
}

static void load_another(const TempDir *root)
{
	temp_dir_write(root, "devices", "Character devices:\n  1 mem\n511 aux\n");
}

/* What a prober that started now would see, and whether that is another thing than before. */
static const struct View {
	void (*change)(const TempDir *root);
	bool is_another;
} views[] = {
	{ replace_cache, true }, { start_persistenced, true },
	{ load_driver, true },	 { load_another, true }, /* NVIDIA's is gone */
	{ load_another, false },
};

/* The loader's cache, the socket, the device: each may be another one since it was started. */
WITH_READY(a_prober_that_sees_what_is_no_longer_so_is_not_asked)
{
	FakePart *part = listen_as(rig, PART_PROBER, say_text, (void *)"\n");
	const TempDir *root = rig->dir;
	unsigned started = 1, ended = 0;

	assert_int_equal(mkdirat(root->fd, "run", 0755), 0);
	rest(rig);
	for (size_t i = 0; i < ELEMENTS(views); i++) {
		ReadyPart connection;

		fake_part_await(&part->n_connections, started);
		views[i].change(root);
		assert_int_equal(ready_parts_take(rig->config.ready, PART_PROBER, &connection),
				 !views[i].is_another);
		if (!views[i].is_another)
			close_fd(connection.fd);
		fake_part_await(&part->n_ended, ++ended);
		/* A job that may ask has another one started; not two. */
		ready_parts_expect(rig->config.ready, PART_PROBER);
		ready_parts_expect(rig->config.ready, PART_PROBER);
		started++;
	}
	fake_part_await(&part->n_connections, started);
	assert_int_equal(part->n_requests, 0);
}

/* What was used is gone at once, also while others are not started yet. */
WITH_READY(at_rest_the_used_ones_end_before_others_start)
{
	FakePart *part = listen_as(rig, PART_INSPECTOR, say_inspection, NULL);

	inspect(rig);
	ready_parts_rest(rig->config.ready);
	fake_part_await(&part->n_ended, 1);
	assert_int_equal(part->n_connections, 1);
	/* A job that begins then has one, and not as many as wait at rest. */
	ready_parts_expect(rig->config.ready, PART_INSPECTOR);
	fake_part_await(&part->n_connections, 2);
	inspect(rig);
	assert_int_equal(part->n_connections, 2);
	/* What that job used is not in the way of its next request. */
	ready_parts_expect(rig->config.ready, PART_INSPECTOR);
	ready_parts_fill(rig->config.ready);
	fake_part_await(&part->n_connections, 3);
	inspect(rig);
	assert_int_equal(part->last, 1);
}

/* Where jobs overlap, there is no rest. */
WITH_READY(nobody_is_asked_for_ever)
{
	FakePart *part = listen_as(rig, PART_INSPECTOR, say_inspection, NULL);

	for (unsigned i = 0; i < 20; i++)
		inspect(rig);
	assert_int_equal(part->n_requests, 20);
	assert_int_equal(part->n_connections, 2);
	fake_part_await(&part->n_ended, 1);
}

WITH_READY(a_mover_takes_the_next_batch_when_all_of_one_have_ended)
{
	FakePart *part = listen_as(rig, PART_MOVER, move_and_stay, NULL);

	rest(rig);
	fake_part_await(&part->n_connections, 2);
	move_both(rig);
	move_both(rig);
	assert_int_equal(part->n_requests, 2);
	assert_int_equal(part->n_connections, 2);
	rest(rig);
	fake_part_await(&part->n_ended, 1);
	fake_part_await(&part->n_connections, 3);
}

/* As one whose functions have answered, and of which a process is left. */
static void move_without_end(int fd, char *const *words, void *userdata _unused_)
{
	char byte;

	say_moves(fd, words, NULL);
	while (read(fd, &byte, 1) > 0)
		fail_msg("it was asked again");
}

WITH_READY(one_that_has_not_ended_is_left_to_itself)
{
	FakePart *part = listen_as(rig, PART_MOVER, move_without_end, NULL);
	DriverTarget target = to_vfio(DISPLAY);

	for (unsigned i = 1; i <= 2; i++) {
		MoveOutcome o;

		assert_int_equal(host_move(WORKERS(&rig->config), &target, 1, USEC_PER_SEC, &o), 0);
		move_outcome_clear(&o);
		assert_int_equal(part->n_connections, i);
	}
}

/* ---- those that are no longer there ---- */

/* The first that is asked says `before`, and goes; others do what they are there for. */
typedef struct Fate {
	const char *before;
	FakeAnswer then;
	unsigned asked;
	pthread_mutex_t lock;
} Fate;

static void meet_fate(int fd, char *const *words, void *userdata)
{
	Fate *fate = userdata;
	bool first;

	pthread_mutex_lock(&fate->lock);
	first = fate->asked++ == 0;
	pthread_mutex_unlock(&fate->lock);
	if (!first) {
		fate->then(fd, words, NULL);
		return;
	}
	assert_int_equal(write(fd, fate->before, strlen(fate->before)), strlen(fate->before));
	shutdown(fd, SHUT_RDWR);
}

WITH_READY(one_that_ends_before_it_begins_is_replaced)
{
	Fate mover_fate = { "", move_and_stay, 0, PTHREAD_MUTEX_INITIALIZER };
	Fate inspector_fate = { "", say_inspection, 0, PTHREAD_MUTEX_INITIALIZER };
	FakePart *mover = listen_as(rig, PART_MOVER, meet_fate, &mover_fate);
	FakePart *inspector = listen_as(rig, PART_INSPECTOR, meet_fate, &inspector_fate);

	rest(rig);
	move_both(rig);
	assert_int_equal(mover->n_requests, 2);
	inspect(rig);
	assert_int_equal(inspector->n_requests, 2);
}

/* promise C12 */
/* Work that may have begun is not begun once more. */
WITH_READY(one_that_ends_after_it_began_is_not_replaced)
{
	Fate fate = { "\n", move_and_stay, 0, PTHREAD_MUTEX_INITIALIZER };
	FakePart *part = listen_as(rig, PART_MOVER, meet_fate, &fate);
	MoveOutcome o;

	rest(rig);
	o = move_one(&rig->config, LONG);
	assert_int_equal(o.result.error, -EPROTO);
	assert_true(o.result.changed);
	assert_int_equal(part->n_requests, 1);
	move_outcome_clear(&o);
}

/* What was started for this request is as good as it gets. */
WITH_READY(a_fresh_one_is_not_replaced)
{
	Fate fate = { "", move_and_stay, 0, PTHREAD_MUTEX_INITIALIZER };
	FakePart *part = listen_as(rig, PART_MOVER, meet_fate, &fate);
	_cleanup_(move_outcome_clear) MoveOutcome o = move_one(&rig->config, LONG);

	assert_int_equal(o.result.error, -EPROTO);
	assert_int_equal(part->n_requests, 1);
}

/* systemd has closed the connections: it killed them, or there were too many. */
WITH_READY(those_that_have_gone_are_not_asked)
{
	_cleanup_free_ char *path = strf("%s/" PART_INSPECTOR, rig->dir->path);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FakePart *part;
	ReadyPart none;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(listen_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listen_fd, 4), 0);
	rest(rig);
	for (unsigned i = 0; i < 2; i++)
		close_fd(accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC));
	assert_false(ready_parts_take(rig->config.ready, PART_INSPECTOR, &none));
	unlink(path);
	part = listen_as(rig, PART_INSPECTOR, say_inspection, NULL);
	inspect(rig);
	assert_int_equal(part->n_connections, 1);
}

/* Whoever speaks before it is asked has its answer ready for a question that it does not know. */
WITH_READY(one_that_speaks_unasked_is_not_asked)
{
	FakePart *part = listen_as(rig, PART_INSPECTOR, say_inspection, NULL);
	static const char request[] = "inspect\0";
	struct pollfd spoken = { .events = POLLIN };
	ReadyPart connection;

	rest(rig);
	assert_true(ready_parts_take(rig->config.ready, PART_INSPECTOR, &connection));
	assert_int_equal(send(connection.fd, request, sizeof(request), 0), sizeof(request));
	spoken.fd = connection.fd;
	while (poll(&spoken, 1, -1) < 0 && errno == EINTR)
		;
	ready_parts_give_back(rig->config.ready, PART_INSPECTOR, &connection);
	inspect(rig);
	assert_int_equal(part->last, 1);
}

/* An administrator who has stopped a socket wants nobody to be asked through it. */
WITH_READY(one_of_a_stopped_socket_is_not_asked)
{
	_cleanup_free_ char *path = strf("%s/" PART_MOVER, rig->dir->path);
	_cleanup_free_ char *away = strf("%s/away", rig->dir->path);
	FakePart *old = listen_as(rig, PART_MOVER, move_and_stay, NULL), *other;
	MoveOutcome o;

	children_are(rig, "slow-01");
	rest(rig);
	assert_int_equal(rename(path, away), 0);
	o = move_one(&rig->config, LONG); /* by a child, as without any parts */
	assert_int_equal(o.result.error, 0);
	move_outcome_clear(&o);
	assert_int_equal(old->n_requests, 0);

	assert_int_equal(rename(away, path), 0);
	rest(rig);
	assert_int_equal(rename(path, away), 0);
	other = listen_as(rig, PART_MOVER, move_and_stay, NULL);
	move_both(rig);
	assert_int_equal(old->n_requests, 0);
	assert_int_equal(other->n_requests, 1);
	unlink(away);
}

/* ---- many at once ---- */

static void *inspect_often(void *userdata)
{
	for (unsigned i = 0; i < 20; i++)
		inspect(userdata);
	return NULL;
}

WITH_READY(many_may_ask_at_once)
{
	FakePart *part = listen_as(rig, PART_INSPECTOR, say_inspection, NULL);
	pthread_t threads[4];

	for (size_t i = 0; i < ELEMENTS(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, inspect_often, rig), 0);
	for (unsigned i = 0; i < 20; i++)
		rest(rig);
	for (size_t i = 0; i < ELEMENTS(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(part->n_requests, 80);
}
