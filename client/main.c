/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <locale.h>
#include <signal.h>
#include <time.h>

#include "base/json.h"
#include "verbs/verbs.h"

typedef struct Environment {
	bool no_colour; /* https://no-color.org */
	bool dumb;	/* the terminal obeys no sequences */
} Environment;

static int run(Client *c, int argc, char *argv[], Options *options, const Environment *environment)
{
	_cleanup_free_ char *why = NULL;
	int r = options_parse(argc, argv, options, &why);

	if (options->colour == COLOUR_AUTO && (environment->no_colour || environment->dumb))
		options->colour = COLOUR_NEVER;
	c->out = terminal_open(stdout, options->colour);
	c->err = terminal_open(stderr, options->colour);
	c->out.dumb = c->err.dumb = environment->dumb;
	return r < 0 ? client_usage(c, "%s", why) : verbs_dispatch(c);
}

/* Errors go to stderr for people; with JSON, also to stdout for programs. */
static int report(Client *c, int error)
{
	if (!c->failure)
		c->failure = failure_from_errno(-error, "cannot go on");
	failure_print(c->failure, &c->err);
	if (c->options->json != JSON_OFF)
		json_print(c, failure_json(c->failure, TAKE_PTR(c->failed_job)));
	return (int)c->failure->code;
}

static void exit_with(union sigval code)
{
	_exit(code.sival_int);
}

/* Whatever this process waits for, it ends with `code` after two seconds. */
static int exit_soon(int code)
{
	struct sigevent then = { .sigev_notify = SIGEV_THREAD,
				 .sigev_notify_function = exit_with,
				 .sigev_value.sival_int = code };
	struct itimerspec two_seconds = { .it_value.tv_sec = 2 };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &then, &timer) < 0 ||
	    timer_settime(timer, 0, &two_seconds, NULL) < 0)
		return -errno;
	return 0;
}

int main(int argc, char *argv[])
{
	Options options = { .legend = true, .ask_password = true };
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	Environment environment = { .no_colour = no_colour && *no_colour,
				    .dumb = term && strcmp(term, "dumb") == 0 };
	Client c = { .options = &options,
		     .libexec_directory = GPUPASS_LIBEXEC_DIR,
		     .doc_directory = GPUPASS_DOC_DIR };
	int r;

	json_use_xalloc();
	if (argc < 1) /* execve() allows this; getopt_long() does not expect it */
		return GPUPASS_EXIT_USAGE;
	/* Only the terminal's characters: numbers and times always have one form. */
	setlocale(LC_CTYPE, "");
	r = run(&c, argc, argv, &options, &environment);
	/* Over ssh sd-bus ends ssh, and waits for it: after a failure, not before all is said. */
	if (r >= 0 || !options.host)
		c.bus = sd_bus_flush_close_unref(c.bus);
	if (r < 0)
		r = report(&c, r);
	/* Output that was not written is lost: a full disk must not look like success. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "gpupass: cannot write the output: %s\n", strerror(errno));
		if (r == GPUPASS_EXIT_DONE)
			r = GPUPASS_EXIT_FAILED;
	}
	client_forgive(&c);
	if (c.bus && exit_soon(r) >= 0)
		sd_bus_close_unref(c.bus);
	return r;
}
