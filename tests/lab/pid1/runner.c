// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs the lab's command and ends the lab. As PID 1, or as a systemd unit.
 *
 * /run/lab/boot/ is a share of the machine: argv (NUL-terminated words) and cwd are read from it;
 * out and err take what the command prints; started and status say how far it came. What the
 * command prints goes through pipes, so that it may reopen /dev/stderr, and so that a process it
 * leaves behind does not keep the lab from ending.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHARE "/run/lab/boot/"

static void write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno != EINTR)
			return;
		if (n > 0) {
			data += n;
			size -= (size_t)n;
		}
	}
}

static void note(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return;
	write_all(fd, text, strlen(text));
	close(fd);
}

static char *read_file(const char *path, size_t *ret_size)
{
	size_t size = 0;
	char *data = NULL;
	FILE *f = fopen(path, "re");

	if (!f)
		return NULL;
	for (;;) {
		data = realloc(data, size + 4097);
		if (!data)
			abort();
		size_t n = fread(data + size, 1, 4096, f);

		size += n;
		if (n == 0)
			break;
	}
	fclose(f);
	data[size] = 0;
	*ret_size = size;
	return data;
}

static char **read_argv(void)
{
	size_t size = 0, n = 0;
	char *data = read_file(SHARE "argv", &size), **argv;

	argv = calloc(size + 1, sizeof(*argv));
	if (!data || !argv)
		abort();
	for (char *p = data; p < data + size; p += strlen(p) + 1)
		argv[n++] = p;
	return argv;
}

static void set_environment(void)
{
	size_t size = 0;
	char *cwd = read_file(SHARE "cwd", &size);

	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/root", 1);
	setenv("USER", "root", 1);
	setenv("SHELL", "/bin/bash", 1);
	setenv("LAB", "1", 1);
	unsetenv("INVOCATION_ID");
	unsetenv("JOURNAL_STREAM");
	if (!cwd || chdir(cwd) < 0)
		fprintf(stderr, "lab: cannot enter %s: %s\n", cwd ? cwd : "?", strerror(errno));
	free(cwd);
}

static _Noreturn void run_child(int out, int err)
{
	char **argv = read_argv();
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	dup2(null, 0);
	dup2(out, 1);
	dup2(err, 2);
	set_environment();
	execvp(argv[0], argv);
	int e = errno;

	fprintf(stderr, "lab: %s: %s\n", argv[0], strerror(e));
	_exit(e == ENOENT ? 127 : 126);
}

/* Copies what there is now; -1 when nothing more will come. */
static int pump(int from, int to)
{
	char data[65536];
	ssize_t n = read(from, data, sizeof(data));

	if (n > 0)
		write_all(to, data, (size_t)n);
	return n > 0 ? 1 : n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

/* Collects every child that ended; true when the command was among them. */
static int reap(pid_t child, int *status)
{
	int s, found = 0;

	for (pid_t p; (p = waitpid(-1, &s, WNOHANG)) > 0;) {
		if (p == child) {
			*status = WIFEXITED(s) ? WEXITSTATUS(s) : 128 + WTERMSIG(s);
			found = 1;
		}
	}
	return found;
}

static int supervise(pid_t child, int signals, const int from[2], const int to[2])
{
	struct pollfd p[3] = {
		{ from[0], POLLIN, 0 },
		{ from[1], POLLIN, 0 },
		{ signals, POLLIN, 0 },
	};
	struct signalfd_siginfo info;
	int status = 0;

	for (;;) {
		if (poll(p, 3, -1) < 0 && errno != EINTR)
			abort();
		for (int i = 0; i < 2; i++)
			if (p[i].revents && pump(from[i], to[i]) < 0)
				p[i].fd = -1;
		if (!p[2].revents || read(signals, &info, sizeof(info)) < 0)
			continue;
		if (reap(child, &status))
			break;
	}
	for (int i = 0; i < 2; i++)
		while (pump(from[i], to[i]) > 0)
			;
	return status;
}

static void end(int status)
{
	char text[16];

	snprintf(text, sizeof(text), "%d\n", status);
	note(SHARE "status.new", text);
	rename(SHARE "status.new", SHARE "status");
	if (access(SHARE "orderly", F_OK) == 0) {
		execlp("systemctl", "systemctl", "poweroff", "--no-block", NULL);
		note("/dev/console", "lab: no systemctl\n");
	}
	sync();
	reboot(RB_POWER_OFF);
}

int main(void)
{
	int out[2], err[2], flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
	int to[2] = { open(SHARE "out", flags, 0644), open(SHARE "err", flags, 0644) };
	size_t size = 0;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	int signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);

	if (signals < 0 || to[0] < 0 || to[1] < 0 || pipe2(out, O_CLOEXEC) < 0 ||
	    pipe2(err, O_CLOEXEC) < 0)
		abort();
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	char *uptime = read_file("/proc/uptime", &size);

	note(SHARE "started", uptime ? uptime : "?\n");
	free(uptime);
	pid_t child = fork();

	if (child == 0)
		run_child(out[1], err[1]);
	close(out[1]);
	close(err[1]);
	end(supervise(child, signals, (int[]){ out[0], err[0] }, to));
	return 0;
}
