/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The real gpupass-mover, with this test at the other end of its socket. */
#include "rig/test.h"

#include <signal.h>
#include <sys/stat.h>

#include "gpupass/errors.h"
#include "host/wire/question.h"
#include "rig/part-process.h"
#include "rig/worker-model.h"
#include "util/pid-lock.h"
#include "util/text.h"

/* A request, with the empty word at its end. */
#define BYTES(words) words, sizeof(words)
#define MOVE "move\0--\0" DISPLAY "\0nvidia\0-\0"

typedef struct Bench {
	SysfsTree *tree;
	char *locks;
	char output[8192];
} Bench;

static Bench setup(void)
{
	Bench b = { .tree = sysfs_tree_new(NULL) };

	tree_add_gpu(b.tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	tree_write(b.tree, "locks/.keep", "");
	b.locks = strf("%s/locks", b.tree->path);
	return b;
}

static void teardown(Bench *b)
{
	sysfs_tree_free(b->tree);
	free(b->locks);
}

static PartProcess start_with(const Bench *b, const char *bytes, size_t size, bool gone)
{
	_cleanup_free_ char *sysfs = strf("--sysfs=%s", b->tree->sysfs);
	_cleanup_free_ char *locks = strf("--locks=%s", b->locks);
	char *argv[] = { (char[]){ MOVER }, sysfs, locks, NULL };

	return part_start_with(argv, bytes, size, gone);
}

/* Its only request. */
static int ask(Bench *b, const char *bytes, size_t size)
{
	PartProcess mover = start_with(b, bytes, size, false);

	shutdown(mover.fd, SHUT_WR);
	return part_end(&mover, b->output, sizeof(b->output));
}

/* The answer of command `number`, without its number; "" when there is none. */
static char *line_of(const Bench *b, unsigned number)
{
	_cleanup_free_ char *prefix = strf("\n%u ", number);
	const char *at = strstr(b->output, prefix);

	return at ? strndup(at + strlen(prefix), strcspn(at + strlen(prefix), "\n")) : strdup("");
}

TEST(a_batch_is_answered_line_by_line)
{
	const Bdf display = tree_bdf(DISPLAY), audio = tree_bdf(AUDIO);
	_cleanup_free_ char *move = NULL, *reset = NULL;
	_cleanup_(teardown) Bench b = setup();
	MoveAnswer moved = { 0 };
	ResetAnswer report = { 0 };
	char *why = NULL;

	assert_int_equal(ask(&b, BYTES(MOVE "reset\0" AUDIO "\0")), 0);
	move = line_of(&b, 0);
	assert_int_equal(
		answer_parse(question(ASK_MOVE), &display, 1, move, strlen(move), &moved, &why), 0);
	assert_int_equal(moved.result.error, 0);
	assert_false(moved.result.changed);
	assert_string_equal(moved.result.driver, "nvidia");
	answer_clear(question(ASK_MOVE), &moved);
	reset = line_of(&b, 1);
	assert_int_equal(
		answer_parse(question(ASK_RESET), &audio, 1, reset, strlen(reset), &report, &why),
		0);
	answer_clear(question(ASK_RESET), &report);
}

/* What another process is at work on is left alone, and the others are done. */
TEST(one_function_has_one_mover_at_a_time)
{
	_cleanup_free_ char *first = NULL, *second = NULL;
	_cleanup_(teardown) Bench b = setup();
	_cleanup_close_ int lock_fd = -1;

	assert_int_equal(pid_lock_take(b.locks, DISPLAY, &lock_fd), 0);
	ask(&b, BYTES(MOVE "move\0--\0" AUDIO "\0-\0-\0"));
	first = line_of(&b, 0);
	second = line_of(&b, 1);
	assert_string_equal(first, "busy");
	assert_non_null(strstr(second, AUDIO));
}

/* promise C7 */
/* Whoever has taken over the daemon has no more to say than the grammar. */
TEST(what_is_no_request_does_nothing)
{
	static const struct {
		const char *bytes;
		size_t size;
	} rows[] = {
		{ "\0", 1 },
		{ BYTES("move\0--\0" DISPLAY "\0nvidia\0-") }, /* cut off */
		{ BYTES("move\0--\0" DISPLAY "\0nvidia\0") },
		{ BYTES("move\0" DISPLAY "\0nvidia\0-\0") },
		{ BYTES("move\0--\0../../41:00.0\0nvidia\0-\0") },
		{ BYTES("move\0--\0" DISPLAY "\0../nvidia\0-\0") },
		{ BYTES("move\0--\0" DISPLAY "\0nvidia\0a\nb\0") },
		{ BYTES(MOVE "more\0") },
		{ BYTES(MOVE "reset\0" DISPLAY "\0") },
		{ BYTES("reset\0--slots\0" DISPLAY "\0") },
		{ BYTES("vfs\0" DISPLAY "\0"
			"2\0") },
		{ BYTES("vfs\0" DISPLAY "\0"
			"2\0"
			"on\0") },
		{ BYTES("inspect\0" DISPLAY "\0") },
		{ BYTES("--sysfs=/tmp\0" MOVE) },
	};
	_cleanup_(teardown) Bench b = setup();

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		int status = ask(&b, rows[i].bytes, rows[i].size);

		if (status != GPUPASS_EXIT_FAILED || b.output[0] != '\0')
			fail_msg("row %zu: %d, %s", i, status, b.output);
	}
}

/* promise C12 */
TEST(whoever_has_no_request_gets_nothing_done)
{
	_cleanup_(teardown) Bench b = setup();

	assert_int_equal(ask(&b, "", 0), 0);
	assert_string_equal(b.output, "");
}

TEST(batch_follows_batch)
{
	_cleanup_(teardown) Bench b = setup();
	PartProcess mover = start_with(&b, "", 0, false);

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(send(mover.fd, BYTES(MOVE), 0), sizeof(MOVE));
		part_read_up_to(&mover, "\nend\n", b.output, sizeof(b.output));
		assert_true(str_starts_with(b.output, "\n0 {"));
	}
	shutdown(mover.fd, SHUT_WR);
	assert_int_equal(part_end(&mover, b.output, sizeof(b.output)), 0);
	assert_string_equal(b.output, "");
}

/* systemctl stop of a mover sends this: see its unit. */
TEST(one_with_nothing_to_do_can_be_stopped)
{
	_cleanup_(teardown) Bench b = setup();
	PartProcess mover = start_with(&b, BYTES(MOVE), false);

	part_read_up_to(&mover, "\nend\n", b.output, sizeof(b.output)); /* it knows the signal */
	kill(mover.pid, SIGCONT);
	assert_int_equal(part_end(&mover, b.output, sizeof(b.output)), 0);
	assert_string_equal(b.output, "");
}

/* promise C12 */
/* The daemon would have another mover do it: it has not heard that this one begins. */
TEST(who_cannot_hear_that_it_begins_gets_nothing_done)
{
	_cleanup_(teardown) Bench b = setup();
	_cleanup_free_ char *unbind = strf("%s/bus/pci/drivers/nvidia/unbind", b.tree->sysfs);
	PartProcess mover = start_with(&b, "", 0, false);
	struct stat st = { 0 };

	shutdown(mover.fd, SHUT_RD);
	assert_int_equal(send(mover.fd, BYTES("move\0--\0" DISPLAY "\0-\0-\0"), 0),
			 sizeof("move\0--\0" DISPLAY "\0-\0-\0"));
	assert_int_equal(part_end(&mover, b.output, sizeof(b.output)), GPUPASS_EXIT_FAILED);
	assert_true(stat(unbind, &st) < 0 || st.st_size == 0);
}

/* The daemon has told by then that the function may be stuck; it must not be moved later on. */
TEST(who_has_given_up_gets_nothing_done)
{
	_cleanup_(teardown) Bench b = setup();
	PartProcess mover = start_with(&b, BYTES(MOVE), true);

	assert_int_equal(part_end(&mover, b.output, sizeof(b.output)), GPUPASS_EXIT_FAILED);
	assert_int_equal(pid_lock_holder(b.locks, DISPLAY), 0);
}
