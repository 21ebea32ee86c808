/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <locale.h>
#include <string.h>

#include "base/json.h"
#include "verbs/verbs.h"

static int run(Client *c, int argc, char *argv[], Options *options)
{
	_cleanup_free_ char *why = NULL;
	int r;

	r = options_parse(argc, argv, options, &why);
	c->out = terminal_open(stdout, options->colour);
	c->err = terminal_open(stderr, options->colour);
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

int main(int argc, char *argv[])
{
	Options options = { .legend = true, .ask_password = true };
	Client c = { .options = &options, .libexec_directory = GPUPASS_LIBEXEC_DIR };
	int r;

	if (argc < 1) /* execve() allows this; getopt_long() does not expect it */
		return GPUPASS_EXIT_USAGE;

	/* Only the terminal's characters: numbers and times always have one form. */
	setlocale(LC_CTYPE, "");
	r = run(&c, argc, argv, &options);
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
	sd_bus_flush_close_unref(c.bus);
	return r;
}
