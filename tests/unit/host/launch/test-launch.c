/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/launch/child.h"
#include "host/launch/part.h"
#include "host/launch/worker-find.h"
#include "parts-model.h"
#include "util/pid-lock.h"
#include "util/text.h"

#define WITH_PARTS(name) TEST_ON(name, Parts, parts_setup, parts_teardown)

WITH_PARTS(a_batch_is_one_request_and_each_function_has_its_answer)
{
	FakePart *part = listen_as(rig, PART_MOVER, say_moves, NULL);
	DriverTarget targets[] = { to_vfio(DISPLAY), to_vfio(AUDIO) };
	MoveOutcome o[2];

	targets[1].driver = NULL;
	targets[1].driver_override = "with blanks $HOME";
	assert_int_equal(host_move(WORKERS(&rig->config), targets, 2, LONG, o), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(o[i].result.driver, "vfio-pci");
		move_outcome_clear(&o[i]);
	}
	assert_int_equal(rig->falls, 0);
	assert_int_equal(part->n_requests, 1);
	assert_string_equal(part->request, "move -- " DISPLAY " vfio-pci vfio-pci "
					   "move -- " AUDIO " - with blanks $HOME");
}

/* Answers for the first, and then waits until the caller has gone. */
static void answer_the_first(int fd, char *const *words, void *userdata _unused_)
{
	_cleanup_free_ MoverCommand *commands = NULL;
	struct pollfd caller = { .fd = fd };
	size_t n = 0;

	assert_int_equal(mover_commands_parse(words, &commands, &n), 0);
	say_move(fd, 0, &commands[0].target.bdf);
	while (poll(&caller, 1, -1) < 0 && errno == EINTR)
		;
}

/* Takes the lock of the function in a process of its own, which stays until it is killed. */
static pid_t hold(const char *directory, const char *name)
{
	int fds[2], fd = -1;
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		if (pid_lock_take(directory, name, &fd) < 0 || write(fds[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	return pid;
}

/* fault 3 */
/* promise U9 */
WITH_PARTS(one_that_hangs_keeps_no_others_answer_and_is_named_by_its_lock)
{
	const Bdf display = tree_bdf(DISPLAY), audio = tree_bdf(AUDIO);
	pid_t pid = hold(rig->dir->path, AUDIO);
	MoveOutcome o[2];

	listen_as(rig, PART_MOVER, answer_the_first, NULL);
	assert_int_equal(move_two(&rig->config, USEC_PER_SEC, o), -ETIMEDOUT);
	assert_int_equal(o[0].result.error, 0);
	assert_false(o[0].still_running);
	assert_int_equal(o[1].result.error, -ETIMEDOUT);
	assert_true(o[1].still_running);
	assert_true(o[1].result.changed);
	assert_int_equal(o[1].pid, pid);
	assert_int_equal(worker_find(&rig->config, LOCK_FUNCTION, &audio), pid);
	assert_int_equal(worker_find(&rig->config, LOCK_FUNCTION, &display), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(worker_find(&rig->config, LOCK_FUNCTION, &audio), 0);
	move_outcome_clear(&o[0]);
	move_outcome_clear(&o[1]);
}

/* fault 49 */
WITH_PARTS(beside_an_older_worker_nothing_was_done)
{
	const ResetTarget target = { .bdf = tree_bdf(DISPLAY) };
	pid_t pid = hold(rig->dir->path, DISPLAY);
	ResetOutcome reset;
	MoveOutcome o;

	listen_as(rig, PART_MOVER, say_text, (char[]){ "0 busy\n" });
	o = move_one(&rig->config, LONG);
	assert_int_equal(o.result.error, -EBUSY);
	assert_true(o.still_running);
	assert_false(o.result.changed);
	assert_int_equal(o.pid, pid);
	assert_int_equal(host_reset(WORKERS_UNTIL(&rig->config, LONG), &target, 1, &reset), -EBUSY);
	assert_true(reset.still_running);
	assert_int_equal(reset.pid, pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	move_outcome_clear(&o);
	reset_outcome_clear(&reset);
}

#define DOCUMENT                                                                                   \
	"{\"schema\":\"org.gpupass1.worker/1\",\"verb\":\"move\",\"error\":0,"                     \
	"\"bdf\":\"" DISPLAY "\",\"phase\":\"read\",\"changed\":true}"

/* promise C9 */
/* A mover that somebody has taken over can say what it likes; it is not believed. */
WITH_PARTS(a_movers_lines_are_read_strictly)
{
	static const struct {
		const char *text;
		int error;
	} rows[] = {
		{ "0 " DOCUMENT "\n", 0 },
		{ "", -EPROTO },
		{ "0 " DOCUMENT, -EPROTO }, /* cut off */
		{ DOCUMENT "\n", -EBADMSG },
		{ "1 " DOCUMENT "\n", -EBADMSG },
		{ "-0 " DOCUMENT "\n", -EBADMSG },
		{ " 0 " DOCUMENT "\n", -EBADMSG },
		{ "18446744073709551616 " DOCUMENT "\n", -EBADMSG },
		{ "0 " DOCUMENT "\n0 " DOCUMENT "\n", -EBADMSG },
		{ "0 " DOCUMENT "\nmore\n", -EBADMSG },
		{ "0 " DOCUMENT DOCUMENT "\n", -EBADMSG },
		{ "0 Busy\n", -EBADMSG },
		{ "\n", -EPROTO }, /* it began, and died */
		{ "\n\n", -EBADMSG },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		FakePart *part =
			fake_part_new(rig->dir->path, PART_MOVER, say_text, (char *)rows[i].text);
		_cleanup_(move_outcome_clear) MoveOutcome o = move_one(&rig->config, LONG);

		if (o.result.error != rows[i].error || o.still_running || !o.result.changed)
			fail_msg("row %zu: error %d", i, o.result.error);
		fake_part_free(part);
	}
}

static void answer_much(int fd, char *const *words _unused_, void *userdata _unused_)
{
	char block[4096];

	memset(block, 'x', sizeof(block));
	for (unsigned i = 0; i < 1024; i++)
		if (send(fd, block, sizeof(block), MSG_NOSIGNAL) < 0)
			return;
}

WITH_PARTS(a_mover_that_says_too_much_is_not_listened_to)
{
	MoveOutcome o;

	listen_as(rig, PART_MOVER, answer_much, NULL);
	o = move_one(&rig->config, LONG);
	assert_int_equal(o.result.error, -EBADMSG);
	move_outcome_clear(&o);
}

/* Nothing was started then, so that a child may do it. */
WITH_PARTS(where_nobody_listens_children_do_it_and_it_is_told)
{
	MoveOutcome o[2];

	children_are(rig, "slow-01");
	assert_int_equal(move_two(&rig->config, LONG, o), 0);
	assert_int_equal(rig->falls, 1);
	assert_non_null(strstr(rig->why, "/mover: No such file or directory"));
	move_outcome_clear(&o[0]);
	move_outcome_clear(&o[1]);
}

/* What cannot be a request begins nothing, and is no reason for a child either. */
WITH_PARTS(a_request_that_is_none_starts_nothing)
{
	FakePart *part = listen_as(rig, PART_MOVER, say_moves, NULL);
	DriverTarget target = to_vfio(DISPLAY);
	MoveOutcome o;

	children_are(rig, "slow-01");
	target.driver = "../evil";
	assert_int_equal(host_move(WORKERS(&rig->config), &target, 1, LONG, &o), -EINVAL);
	assert_int_equal(part->n_requests, 0);
	assert_int_equal(rig->falls, 0);
	move_outcome_clear(&o);
}

/* ---- looks ---- */

WITH_PARTS(an_inspection_is_put_together_from_two_parts)
{
	FakePart *inspector = listen_as(rig, PART_INSPECTOR, say_inspection, NULL);
	FakePart *config_space = listen_as(rig, PART_CONFIG, say_inspection, rig);
	_cleanup_(inspection_freep) Inspection *in = NULL, *without = NULL, *glance = NULL;
	const Bdf bdf = tree_bdf(DISPLAY);

	in = inspect_with(&rig->config, INSPECT_CONFIG_AWAKE);
	assert_string_equal(in->functions[0].driver, "nvidia");
	assert_string_equal(in->functions[0].serial_number, "00-04-4b-ff-fe-12-34-56");
	assert_true(in->vfio_pci);
	assert_string_equal(inspector->request, "inspect " DISPLAY);
	assert_string_equal(config_space->request, "config --awake " DISPLAY);

	without = inspect_with(&rig->config, INSPECT_CONFIG_NOT);
	assert_int_equal(config_space->n_requests, 1);
	assert_null(without->functions[0].serial_number);

	assert_int_equal(host_glance(WORKERS_UNTIL(&rig->config, LONG), &bdf, 1, INSPECT_CONFIG_NOT,
				     &glance, NULL),
			 0);
	assert_string_equal(glance->functions[0].driver, "nvidia");
	assert_string_equal(inspector->request, "inspect --glance " DISPLAY);
	assert_int_equal(config_space->n_requests, 1);
}

static void answer_examination(int fd, char *const *words _unused_, void *userdata)
{
	Initramfs image = { .key = (char[]){ "1 2 3" }, .path = (char[]){ "/boot/initrd" } };
	Examination e = { .systemd = userdata == NULL, .image = userdata ? &image : NULL };
	_cleanup_free_ char *document =
		answer_text(question(ASK_SETUP), &(HostAnswer){ .host = &e });

	dprintf(fd, "%s\n", document);
}

WITH_PARTS(an_examination_is_put_together_from_two_parts)
{
	FakePart *examiner = listen_as(rig, PART_EXAMINER, answer_examination, NULL);
	FakePart *initramfs = listen_as(rig, PART_INITRAMFS, answer_examination, rig);
	_cleanup_(examination_freep) Examination *e = NULL;

	assert_int_equal(host_examine(WORKERS_UNTIL(&rig->config, LONG), &e, NULL), 0);
	assert_true(e->systemd);
	assert_non_null(e->image);
	assert_string_equal(e->image->key, "1 2 3");
	assert_string_equal(examiner->request, "examine --without-image");
	assert_string_equal(initramfs->request, "image");
}

/* ---- forks ---- */

static int say_so(const void *data)
{
	dprintf(STDOUT_FILENO, "%s", (const char *)data);
	return 7;
}

static _Noreturn int wait_for_a_signal(const void *data _unused_)
{
	alarm(60); /* nothing may be left of a test that fails */
	for (;;)
		pause();
}

static int crash(const void *data _unused_)
{
	raise(SIGKILL);
	return 0;
}

static int read_input(const void *data _unused_)
{
	char c;

	return (int)read(STDIN_FILENO, &c, 1);
}

TEST(a_fork_says_what_it_does_and_how_it_ends)
{
	_cleanup_(children_freep) Children *children = children_new(4, 64);
	const char text[] = "no driver is bound";

	assert_int_equal(children_fork(children, 0, say_so, text), 0);
	assert_int_equal(children_fork(children, 1, crash, NULL), 0);
	assert_int_equal(children_fork(children, 2, read_input, NULL), 0);
	assert_int_equal(children_fork(children, 3, wait_for_a_signal, NULL), 0);
	children_wait(children, 300 * 1000);
	assert_string_equal(children->items[0].output, text);
	assert_int_equal(children->items[0].status, 7);
	assert_int_equal(children->items[1].signal, SIGKILL);
	assert_int_equal(children->items[2].status, 0);
	assert_int_equal(children->items[2].size, 0);
	/* It is left alone, and keeps no other's answer. */
	assert_true(children->items[3].running);
	assert_true(child_runs(children->items[3].pid));
	assert_int_equal(getpgid(children->items[3].pid), children->items[3].pid);
	kill(children->items[3].pid, SIGKILL);
}
