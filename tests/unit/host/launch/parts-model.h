/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts in a test's own directory, and what they answer. */
#pragma once

#include <stdio.h>

#include "fake-part.h"
#include "host/launch/ready.h"
#include "host/wire/answer.h"
#include "mover/command.h"
#include "rig/temp-dir.h"
#include "rig/worker-model.h"

typedef struct Parts {
	TempDir *dir;
	WorkerConfig config;
	FakePart *parts[3];
	size_t n_parts;
	unsigned falls; /* how often a child was started in the place of a part */
	char why[256];
} Parts;

static inline void parts_fell(const char *why, void *userdata)
{
	Parts *parts = userdata;

	parts->falls++;
	snprintf(parts->why, sizeof(parts->why), "%s", why);
}

/* Where nobody listens, a child misbehaves by `mode`. */
static inline void children_are(Parts *parts, const char *mode)
{
	parts->config.sysfs_dir = bad_worker_mode(mode);
}

static inline int parts_setup(void **state)
{
	Parts *parts = calloc(1, sizeof(*parts));
	void *dir;

	assert_non_null(parts);
	temp_dir_setup(&dir);
	parts->dir = dir;
	parts->config = bad_worker("crash");
	parts->config.parts_dir = parts->config.locks_dir = parts->dir->path;
	parts->config.fell_back = parts_fell;
	parts->config.userdata = parts;
	*state = parts;
	return 0;
}

static inline int parts_teardown(void **state)
{
	Parts *parts = *state;
	void *dir = parts->dir;

	ready_parts_free(parts->config.ready);
	for (size_t i = 0; i < parts->n_parts; i++)
		fake_part_free(parts->parts[i]);
	free(parts);
	return temp_dir_teardown(&dir);
}

static inline FakePart *listen_as(Parts *parts, const char *name, FakeAnswer answer, void *userdata)
{
	return parts->parts[parts->n_parts++] =
		       fake_part_new(parts->dir->path, name, answer, userdata);
}

static inline void say_text(int fd, char *const *words _unused_, void *userdata)
{
	dprintf(fd, "%s", (const char *)userdata);
}

static inline void say_move(int fd, size_t number, const Bdf *bdf)
{
	DriverResult result = { .changed = true, .driver = (char[]){ "vfio-pci" } };
	_cleanup_free_ char *document = worker_move_document(bdf, &result);

	dprintf(fd, "%zu %s\n", number, document);
}

/* It begins, and answers the last first. */
static inline void say_moves(int fd, char *const *words, void *userdata _unused_)
{
	_cleanup_free_ MoverCommand *commands = NULL;
	size_t n = 0;

	assert_int_equal(mover_commands_parse(words, &commands, &n), 0);
	dprintf(fd, "\n");
	while (n-- > 0)
		say_move(fd, n, &commands[n].target.bdf);
}

/* With `userdata` it knows the serial number, and no more. */
static inline void say_inspection(int fd, char *const *words _unused_, void *userdata)
{
	FunctionFacts facts = { .bdf = tree_bdf(DISPLAY), .device_minor = -1 };
	Inspection in = { .functions = &facts, .n_functions = 1, .vfio_pci = userdata == NULL };
	_cleanup_free_ char *document = NULL;

	facts.driver = userdata ? NULL : (char[]){ "nvidia" };
	facts.serial_number = userdata ? (char[]){ "00-04-4b-ff-fe-12-34-56" } : NULL;
	document = answer_text(question(ASK_INSPECT), &(InspectAnswer){ .inspection = &in });
	dprintf(fd, "\n%s\n", document);
}

/* Two functions to vfio-pci. */
static inline int move_two(const WorkerConfig *config, uint64_t timeout_usec, MoveOutcome o[2])
{
	DriverTarget targets[] = { to_vfio(DISPLAY), to_vfio(AUDIO) };

	return host_move(WORKERS(config), targets, 2, timeout_usec, o);
}

static inline Inspection *inspect_with(const WorkerConfig *config, InspectConfig how)
{
	const Bdf bdf = tree_bdf(DISPLAY);
	Inspection *in = NULL;

	assert_int_equal(host_inspect(WORKERS_UNTIL(config, LONG), &bdf, 1, how, &in, NULL), 0);
	return in;
}
