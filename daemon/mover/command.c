/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mover/command.h"

#include <fcntl.h>

#include "core/pci/driver-name.h"
#include "host/device/reset.h"
#include "host/device/vfs.h"
#include "host/wire/answer.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

static bool is(const char *word, const char *what)
{
	return word && strcmp(word, what) == 0;
}

/* Takes the next word, and no word after the last. */
static const char *next(char *const **words)
{
	return **words ? *(*words)++ : NULL;
}

static int parse_name(const char *word, bool (*valid)(const char *), const char **ret)
{
	if (!word || (!is(word, "-") && !valid(word)))
		return -EBADMSG;
	*ret = is(word, "-") ? NULL : word;
	return 0;
}

static int parse_bdf(const char *word, Bdf *ret)
{
	return word && bdf_parse(word, ret) >= 0 ? 0 : -EBADMSG;
}

static int parse_move(char *const **words, MoverCommand *command)
{
	DriverTarget *target = &command->target;
	int r;

	if (!is(next(words), "--"))
		return -EBADMSG;
	r = parse_bdf(next(words), &target->bdf);
	if (r >= 0)
		r = parse_name(next(words), driver_name_valid, &target->driver);
	return r < 0 ? r : parse_name(next(words), driver_override_valid, &target->driver_override);
}

static int mover_number_parse(const char *word, unsigned *ret)
{
	unsigned long long number;

	if (!word || str_to_unsigned(word, 10, UINT16_MAX, &number) < 0)
		return -EBADMSG;
	*ret = (unsigned)number;
	return 0;
}

static int parse_reset(char *const **words, MoverCommand *command)
{
	const char *word = next(words);

	command->reset = true;
	command->slot = is(word, "--slot");
	return parse_bdf(command->slot ? next(words) : word, &command->target.bdf);
}

static int parse_vfs(char *const **words, MoverCommand *command)
{
	int r = parse_bdf(next(words), &command->target.bdf);

	command->vfs = true;
	if (r >= 0)
		r = mover_number_parse(next(words), &command->number);
	return r < 0 ? r : mover_number_parse(next(words), &command->autoprobe);
}

static int parse_one(char *const **words, MoverCommand *command)
{
	const char *verb = next(words);

	if (is(verb, "move"))
		return parse_move(words, command);
	if (is(verb, "vfs"))
		return parse_vfs(words, command);
	return is(verb, "reset") ? parse_reset(words, command) : -EBADMSG;
}

int mover_commands_parse(char *const *words, MoverCommand **ret, size_t *ret_n)
{
	_cleanup_free_ MoverCommand *commands = xcalloc(MOVER_COMMANDS_MAX, sizeof(*commands));
	size_t n = 0;

	while (*words) {
		int r = n < MOVER_COMMANDS_MAX ? parse_one(&words, &commands[n]) : -EBADMSG;

		if (r >= 0 &&
		    SOME(commands, n, bdf_equal(&it->target.bdf, &commands[n].target.bdf)))
			r = -EBADMSG;
		if (r < 0)
			return r;
		n++;
	}
	if (n == 0)
		return -EBADMSG;
	*ret = TAKE_PTR(commands);
	*ret_n = n;
	return 0;
}

/* ---- the work ---- */

static char *move(const DriverOps *ops, int sysfs_fd, const DriverTarget *target)
{
	_cleanup_(driver_result_clear) DriverResult result = { 0 };

	if (sysfs_fd < 0)
		result = (DriverResult){ .error = sysfs_fd, .phase = DRIVER_PHASE_READ };
	else
		driver_move_with(ops, sysfs_fd, target, &result);
	return worker_move_document(&target->bdf, &result);
}

static char *reset(const DriverOps *ops, int sysfs_fd, const Bdf *bdf, bool slot)
{
	_cleanup_(reset_report_clear) ResetReport report = {
		.bdf = *bdf,
		.result = RESET_FAILED,
		.error = sysfs_fd,
	};

	if (sysfs_fd >= 0)
		(slot ? slot_reset_with : function_reset_with)(ops, sysfs_fd, bdf, &report);
	return worker_reset_document(&report);
}

static char *make_vfs(const DriverOps *ops, int sysfs_fd, const MoverCommand *command)
{
	const Bdf *bdf = &command->target.bdf;
	unsigned now = 0;
	int r = sysfs_fd < 0 ? sysfs_fd
			     : vfs_set(ops, sysfs_fd, bdf, command->number, command->autoprobe > 0,
				       &now);

	return worker_vfs_document(bdf, r < 0 ? r : 0, now);
}

char *mover_command_run(const MoverCommand *command, const DriverOps *ops, const char *sysfs_dir,
			const char *gpus_dir)
{
	DriverOps here = ops ? *ops : *driver_real_ops();
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(AT_FDCWD, sysfs_dir, false, &fd), sysfs_fd = r < 0 ? r : fd;

	here.gpus_dir = gpus_dir;
	/* The files of /dev/vfio belong to /sys and to no other tree. */
	if (!ops && strcmp(sysfs_dir, "/sys") != 0)
		here.hot_reset = NULL;
	if (command->vfs)
		return make_vfs(&here, sysfs_fd, command);
	return command->reset ? reset(&here, sysfs_fd, &command->target.bdf, command->slot)
			      : move(&here, sysfs_fd, &command->target);
}
