/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "verbs/verbs.h"

typedef struct Environment {
	bool no_colour; /* https://no-color.org */
	bool dumb;	/* the terminal obeys no sequences */
} Environment;

static int run(Client *c, int argc, char *argv[], Options *options, const Environment *environment)
{
	_cleanup_free_ char *why = NULL;
	int r;

	r = options_parse(argc, argv, options, &why);
	if (options->colour == COLOUR_AUTO && (environment->no_colour || environment->dumb))
		options->colour = COLOUR_NEVER;
	c->out = terminal_open(stdout, options->colour);
	c->err = terminal_open(stderr, options->colour);
	c->out.dumb = c->err.dumb = environment->dumb;
	if (r == -EINVAL)
		return client_usage(c, "%s", why);
	if (r < 0)
		return r;
	return verbs_dispatch(c);
}

/* Errors go to stderr for people; with JSON, also to stdout for programs. */
static int report(Client *c, int error)
{
	if (!c->failure)
		c->failure = failure_from_errno(-error, "cannot go on");
	if (!c->failure) {
		fputs("gpupass: out of memory\n", stderr);
		return GPUPASS_EXIT_FAILED;
	}
	failure_print(c->failure, &c->err);
	if (c->options->json != JSON_OFF)
		json_print(c, failure_json(c->failure, TAKE_PTR(c->failed_job)));
	return (int)c->failure->code;
}

static PagerEnvironment pager_environment(void)
{
	const char *pager = getenv("SYSTEMD_PAGER");

	return (PagerEnvironment){
		.pager = pager ? pager : getenv("PAGER"),
		.less = getenv("SYSTEMD_LESS"),
		.charset = getenv("SYSTEMD_LESSCHARSET"),
		.secure = getenv("SYSTEMD_PAGERSECURE"),
		.sudo_uid = getenv("SUDO_UID"),
		.term = getenv("TERM"),
		.all = environ,
	};
}

int main(int argc, char *argv[])
{
	Options options = { .legend = true, .ask_password = true };
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	Environment environment = { .no_colour = no_colour && *no_colour,
				    .dumb = term && strcmp(term, "dumb") == 0 };
	PagerEnvironment pager = pager_environment();
	Client c = { .options = &options,
		     .pager = { .environment = &pager },
		     .libexec_directory = GPUPASS_LIBEXEC_DIR };
	int r;

	if (argc < 1) /* execve() allows this; getopt_long() does not expect it */
		return GPUPASS_EXIT_USAGE;

	/* Only the terminal's characters: numbers and times always have one form. */
	setlocale(LC_CTYPE, "");
	r = run(&c, argc, argv, &options, &environment);
	/* Somebody may look at the output for hours, and needs no connection for that. */
	c.bus = sd_bus_flush_close_unref(c.bus);
	if (pager_end(&c.pager) < 0 && r >= 0)
		r = -ENOMEM;
	if (r < 0)
		r = report(&c, r);
	/* Output that was not written is lost: a full disk must not look like success. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "gpupass: cannot write the output: %s\n", strerror(errno));
		if (r == GPUPASS_EXIT_DONE)
			r = GPUPASS_EXIT_FAILED;
	}
	failure_free(c.failure);
	json_decref(c.failed_job);
	return r;
}
