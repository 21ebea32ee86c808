/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the bench in the lab measures with, and against; static, so that little of it is its own
 * start.
 *
 *   lab-writes bind BDF…       each function to vfio-pci: driver_override, unbind, drivers_probe
 *   lab-writes back BDF…       each to the driver of the host: no override, unbind, drivers_probe
 *   lab-writes release BDF…    each reset; then back
 * do the bare writes, one after another, look that each function has the driver then, and print how
 * many microseconds that took, without the start of the process.
 *
 *   lab-writes time COMMAND… [++ COMMAND…]…
 *                              runs them in turn; prints the microseconds from the start of the
 *                              first to the end of the last
 *   lab-writes together COMMAND… [++ COMMAND…]…
 *                              runs them at once; prints the microseconds until the last has ended,
 *                              then each one's
 * fail when a command does. What a command prints goes to stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEVICES "/sys/bus/pci/devices/"
#define COMMANDS_MAX 64

static long long now_us(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void fail(const char *what, const char *on)
{
	fprintf(stderr, "lab-writes: %s %s: %s\n", what, on, strerror(errno));
	exit(1);
}

static void write_text(const char *path, const char *text)
{
	size_t size = strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, size) != (ssize_t)size || close(fd) < 0)
		fail("cannot write", path);
}

static void write_attribute(const char *bdf, const char *attribute, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), DEVICES "%s/%s", bdf, attribute);
	write_text(path, text);
}

/* Of the function's driver, or nothing. */
static void read_driver(const char *bdf, char *name, size_t size)
{
	char path[128], target[256];
	ssize_t n;

	snprintf(path, sizeof(path), DEVICES "%s/driver", bdf);
	n = readlink(path, target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = 0;
	snprintf(name, size, "%s", strrchr(target, '/') ? strrchr(target, '/') + 1 : "");
}

static void move_function(const char *bdf, const char *override)
{
	char driver[64];

	write_attribute(bdf, "driver_override", override);
	read_driver(bdf, driver, sizeof(driver));
	if (driver[0])
		write_attribute(bdf, "driver/unbind", bdf);
	write_text("/sys/bus/pci/drivers_probe", bdf);
}

static void check_function(const char *bdf, int wants_vfio)
{
	char driver[64];

	read_driver(bdf, driver, sizeof(driver));
	if (!driver[0] || (strcmp(driver, "vfio-pci") == 0) != wants_vfio) {
		fprintf(stderr, "lab-writes: %s is on \"%s\"\n", bdf, driver);
		exit(1);
	}
}

static void move_all(char **bdfs, int resets, int to_vfio)
{
	long long begin = now_us();

	for (char **bdf = bdfs; resets && *bdf; bdf++)
		write_attribute(*bdf, "reset", "1");
	for (char **bdf = bdfs; *bdf; bdf++)
		move_function(*bdf, to_vfio ? "vfio-pci" : "\n");
	for (char **bdf = bdfs; *bdf; bdf++)
		check_function(*bdf, to_vfio);
	printf("%lld\n", now_us() - begin);
}

static pid_t start_command(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("cannot start", argv[0]);
	if (pid > 0)
		return pid;
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execvp(argv[0], argv);
	fprintf(stderr, "lab-writes: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Splits the arguments at "++", whose places become the ends of the commands before. */
static size_t split_commands(char **arguments, char **commands[COMMANDS_MAX])
{
	size_t n = 0;

	commands[n++] = arguments;
	for (char **a = arguments; *a; a++) {
		if (strcmp(*a, "++") != 0)
			continue;
		*a = NULL;
		if (n == COMMANDS_MAX) {
			fputs("lab-writes: too many commands\n", stderr);
			exit(2);
		}
		commands[n++] = a + 1;
	}
	return n;
}

static int run_in_turn(char **arguments)
{
	char **commands[COMMANDS_MAX];
	size_t n = split_commands(arguments, commands);
	long long begin = now_us();

	for (size_t i = 0; i < n; i++) {
		int status = 0;

		if (waitpid(start_command(commands[i]), &status, 0) < 0 || status != 0)
			return 1;
	}
	printf("%lld\n", now_us() - begin);
	return 0;
}

static int run_together(char **arguments)
{
	char **commands[COMMANDS_MAX];
	size_t n = split_commands(arguments, commands);
	long long begin = now_us(), took[COMMANDS_MAX] = { 0 };
	pid_t pids[COMMANDS_MAX];
	int status = 0, failed = 0;

	for (size_t i = 0; i < n; i++)
		pids[i] = start_command(commands[i]);
	for (size_t left = n; left > 0; left--) {
		pid_t pid = wait(&status);

		for (size_t i = 0; i < n; i++)
			if (pids[i] == pid)
				took[i] = now_us() - begin;
		failed |= status != 0;
	}
	printf("%lld", now_us() - begin);
	for (size_t i = 0; i < n; i++)
		printf(" %lld", took[i]);
	printf("\n");
	return failed;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 2 ? argv[1] : "";

	if (strcmp(verb, "bind") == 0)
		move_all(argv + 2, 0, 1);
	else if (strcmp(verb, "back") == 0)
		move_all(argv + 2, 0, 0);
	else if (strcmp(verb, "release") == 0)
		move_all(argv + 2, 1, 0);
	else if (strcmp(verb, "time") == 0)
		return run_in_turn(argv + 2);
	else if (strcmp(verb, "together") == 0)
		return run_together(argv + 2);
	else {
		fputs("Usage: lab-writes bind|back|release BDF…\n"
		      "       lab-writes time|together COMMAND… [++ COMMAND…]…\n",
		      stderr);
		return 2;
	}
	return 0;
}
