/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts in a test's own directory, and what they answer. */
#pragma once

#include <stdio.h>

#include "fake-part.h"
#include "host/wire/answer.h"
#include "mover/command.h"
#include "rig/temp-dir.h"
#include "rig/worker-model.h"

/* Where nobody listens, a child misbehaves by `mode`. */
static inline WorkerConfig parts_of(void **state, const char *mode)
{
	const TempDir *dir = *state;
	WorkerConfig config = bad_worker(mode);

	config.parts_dir = config.locks_dir = dir->path;
	return config;
}

static inline FakePart *part_of(void **state, const char *name, FakeAnswer answer, void *userdata)
{
	const TempDir *dir = *state;

	return fake_part_new(dir->path, name, answer, userdata);
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
