/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#include "base/text.h"

/* Quit at once if it fits, raw colours, chop lines, keep the screen, percentages, end at Ctrl-C. */
#define LESS_DEFAULT "FRSXMK"

typedef struct PagerMode {
	bool secure; /* the pager must not be a way to a shell of another user */
	bool trusted; /* $PAGER and the options of less are the invoking user's own, or root wants them */
} PagerMode;

static int parse_bool(const char *s)
{
	static const char *const words[] = { "0", "no",	 "n", "false", "f", "off",
					     "1", "yes", "y", "true",  "t", "on" };

	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (strcasecmp(s, words[i]) == 0)
			return i >= ELEMENTS(words) / 2;
	return -EINVAL;
}

/*
 * As in systemd: who may run gpupass by sudo, and nothing else, would have a shell of root's by
 * "!sh" in less, or by a $PAGER of his own. Where nobody has said otherwise, that is refused to
 * everybody whose session is another user's.
 */
static PagerMode choose_mode(const PagerEnvironment *e)
{
	PagerMode mode = { .secure = true };
	uid_t owner;
	int given;

	if (e->secure) {
		given = parse_bool(e->secure);
		mode.trusted = given >= 0;
		mode.secure = given != 0;
		return mode;
	}
	if (!e->sudo_uid && getuid() == geteuid() && sd_pid_get_owner_uid(0, &owner) >= 0)
		mode.secure = owner != geteuid();
	mode.trusted = !mode.secure;
	return mode;
}

static bool wants_none(const PagerEnvironment *e)
{
	if (!e || !e->term || strcmp(e->term, "dumb") == 0)
		return true;
	return e->pager && (!*e->pager || strcmp(e->pager, "cat") == 0);
}

void pager_begin(Pager *p, Terminal *out, Terminal *err)
{
	if (p->memory || !out->tty || wants_none(p->environment))
		return;
	p->memory = open_memstream(&p->text, &p->size);
	if (!p->memory)
		return;
	p->out = out;
	p->err = err;
	p->real_out = out->stream;
	p->real_err = err->stream;
	out->stream = p->memory;
	if (err->tty)
		err->stream = p->memory;
}

/* ---- starting it ---- */

static bool is_of_pager(const char *variable)
{
	return str_starts_with(variable, "LESS=") || str_starts_with(variable, "LESSCHARSET=") ||
	       str_starts_with(variable, "LESSSECURE=");
}

/* Less obeys many variables; in secure mode it has those it cannot do without. */
static bool is_harmless(const char *variable)
{
	return str_starts_with(variable, "TERM=") || str_starts_with(variable, "LANG=") ||
	       str_starts_with(variable, "LC_");
}

static int make_environment(const PagerEnvironment *e, PagerMode mode, bool utf8, char ***ret)
{
	_cleanup_(strv_freep) char **made = NULL;
	const char *less = mode.trusted && e->less ? e->less : LESS_DEFAULT;
	const char *charset = mode.trusted && e->charset ? e->charset : utf8 ? "utf-8" : NULL;
	_cleanup_free_ char *options = strf("LESS=%s", less);
	_cleanup_free_ char *set = charset ? strf("LESSCHARSET=%s", charset) : NULL;

	if (!options || (charset && !set) || strv_append(&made, options) < 0)
		return -ENOMEM;
	if (set && strv_append(&made, set) < 0)
		return -ENOMEM;
	if (mode.secure && strv_append(&made, "LESSSECURE=1") < 0)
		return -ENOMEM;
	for (size_t i = 0; e->all && e->all[i]; i++)
		if (!is_of_pager(e->all[i]) && (!mode.secure || is_harmless(e->all[i])) &&
		    strv_append(&made, e->all[i]) < 0)
			return -ENOMEM;
	*ret = TAKE_PTR(made);
	return 0;
}

/* The command's words, which blanks tell apart: no shell reads it. */
static int split(const char *command, char ***ret)
{
	_cleanup_(strv_freep) char **words = NULL;

	for (const char *s = command + strspn(command, " \t"); *s; s += strspn(s, " \t")) {
		size_t length = strcspn(s, " \t");
		_cleanup_free_ char *word = strndup(s, length);

		if (!word || strv_append(&words, word) < 0)
			return -ENOMEM;
		s += length;
	}
	*ret = TAKE_PTR(words);
	return 0;
}

static int start(char *const *command, char *const *environment, int input, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, usual;
	int r;

	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGINT);
	sigaddset(&usual, SIGQUIT);
	sigaddset(&usual, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	r = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (r == 0)
		r = posix_spawnattr_setsigmask(&attributes, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(&attributes, &usual);
	if (r == 0)
		r = posix_spawnattr_setflags(&attributes,
					     POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (r == 0)
		r = posix_spawnp(ret, command[0], &actions, &attributes, command, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* Tries one after another; -ENOENT when there is no pager. */
static int start_one(const PagerEnvironment *e, PagerMode mode, bool utf8, int input, pid_t *ret)
{
	/* $PATH is not root's own in secure mode. Only less has such a mode. */
	static const char *const safe[] = { "/usr/bin/less", "/bin/less", NULL };
	static const char *const usual[] = { "pager", "less", "more", NULL };
	_cleanup_(strv_freep) char **environment = NULL, **own = NULL;
	const char *const *names = mode.secure ? safe : usual;
	int r = make_environment(e, mode, utf8, &environment);

	if (r >= 0 && mode.trusted && e->pager)
		r = split(e->pager, &own);
	if (r < 0)
		return r;
	r = own ? start(own, environment, input, ret) : -ENOENT;
	for (size_t i = 0; r < 0 && names[i]; i++)
		r = start((char *const[]){ (char *)names[i], NULL }, environment, input, ret);
	return r;
}

/* ---- feeding it ---- */

/* The user may end the pager before it has read all, which is no error. */
static void feed(int to, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t n = write(to, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		size -= (size_t)n;
	}
}

/* Ctrl-C goes to the pager, which restores the terminal; gpupass has its own exit code by now. */
static void ignore_keys(struct sigaction *saved)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGPIPE };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < ELEMENTS(signals); i++)
		sigaction(signals[i], &ignore, &saved[i]);
}

static void restore_keys(const struct sigaction *saved)
{
	sigaction(SIGINT, &saved[0], NULL);
	sigaction(SIGQUIT, &saved[1], NULL);
	sigaction(SIGPIPE, &saved[2], NULL);
}

/*
 * It has not shown the text: less ends with 1 for a bad option, a shell with 126 or 127 where it
 * can run no program. With -K less ends with 2 at Ctrl-C, and that is no failure.
 */
static bool has_failed(int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

	return code == 1 || code == 126 || code == 127;
}

/* Returns -errno when there is no pager, or it failed: then the text is still to be printed. */
static int show(const Pager *p)
{
	struct sigaction saved[3];
	int ends[2], r, status = 0;
	pid_t pid = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	ignore_keys(saved);
	r = start_one(p->environment, choose_mode(p->environment), p->out->utf8, ends[0], &pid);
	close(ends[0]);
	if (r >= 0)
		feed(ends[1], p->text, p->size);
	close(ends[1]);
	while (r >= 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	restore_keys(saved);
	return r >= 0 && has_failed(status) ? -EPIPE : r;
}

/* Whether it is longer than the screen, on whose last row the shell's prompt will be. */
static bool is_long(const Pager *p)
{
	size_t rows = 0;

	for (const char *line = p->text; *line && rows < p->out->height; line++) {
		rows += text_rows(line, p->out->width);
		line += strcspn(line, "\n");
		if (!*line)
			break;
	}
	return rows >= p->out->height;
}

int pager_end(Pager *p)
{
	int r = 0;

	if (!p->memory)
		return 0;
	p->out->stream = p->real_out;
	p->err->stream = p->real_err;
	if (fclose(p->memory) != 0 || !p->text)
		r = -ENOMEM;
	p->memory = NULL;
	fflush(p->real_out);
	if (r >= 0 && p->size > 0 && (!is_long(p) || show(p) < 0))
		fwrite(p->text, 1, p->size, p->real_out);
	free(p->text);
	p->text = NULL;
	return r;
}
