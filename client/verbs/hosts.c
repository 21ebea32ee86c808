/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each host is asked by a process of its own, which does what gpupass does for one host: a host
 * that hangs, or sends what no gpupassd sends, is a matter of that process.
 */
#include "verbs/hosts.h"

#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/bus.h"
#include "hosts/names.h"
#include "verbs/doctor.h"
#include "verbs/verbs.h"

#define SECOND UINT64_C(1000000)
/* Each is a process, and an ssh. */
#define AT_ONCE 32
/* A topology of 64 GPUs is a third of a megabyte. */
#define ANSWER_MAX (4U << 20)
#define ANSWERS_MAX (128U << 20)
/* An ssh that does not end after its answer, ends then. */
#define GOODBYE_SECONDS 2

/* The verbs that take several hosts. */
typedef struct HostsKind {
	VerbRun *run;
	const char *schema;
	uint64_t limit_usec;
	uint64_t refused; /* VerbOption: those that are for one host */
} HostsKind;

static const HostsKind kinds[] = {
	{ verb_list, GPUPASS_SCHEMA_LIST, 10 * SECOND, OPTION_WATCH },
	{ verb_status, GPUPASS_SCHEMA_STATUS, 10 * SECOND, 0 },
	{ verb_topology, GPUPASS_SCHEMA_TOPOLOGY, 10 * SECOND, 0 },
	/* It looks closely, and unpacks the boot image. */
	{ verb_doctor, GPUPASS_SCHEMA_DOCTOR, 60 * SECOND, OPTION_BUNDLE },
};

typedef struct Hosts {
	Client *client;
	const Verb *verb;
	const HostsKind *kind;
	char *const *names;
	size_t n;
	char *const *arguments;
	size_t n_arguments;
	bool as_table;
	CrewPlan plan;
	HostAnswer *answers;
} Hosts;

/* ---- before anything is done ---- */

static int named_in_file(Client *c, char ***ret)
{
	_cleanup_free_ char *why = NULL;
	const char *file = c->options->hosts_file;
	int r;

	if (c->options->host)
		return client_usage(c, "-H and --hosts-file both name hosts\n"
				       "Remedy: give one of them");
	r = host_names_read(file, ret, &why);
	if (r == -EINVAL)
		return client_usage(c, "%s", why);
	return r < 0 ? client_usage(c, "cannot read %s: %s", file, strerror(-r)) : 0;
}

int hosts_named(Client *c, char ***ret)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *why = NULL;
	int r;

	if (c->options->hosts_file)
		return named_in_file(c, ret);
	if (!c->options->host)
		return 0;
	r = host_names_parse(c->options->host, &names, &why);
	if (r == -EINVAL)
		return client_usage(c, "%s", why);
	if (r >= 0 && strv_length(names) > 1)
		*ret = TAKE_PTR(names);
	return r;
}

static const HostsKind *find_kind(const Verb *verb)
{
	for (size_t i = 0; i < ELEMENTS(kinds); i++)
		if (kinds[i].run == verb->run)
			return &kinds[i];
	return NULL;
}

/* What would be wrong for each host is said once. */
static int check(const Hosts *h)
{
	Client *c = h->client;
	const char *format = c->options->format;
	uint64_t extra;

	if (!h->kind)
		return client_usage(c,
				    "%s takes one host, not %zu\nRemedy: run it for one after the "
				    "other; list, status, topology and doctor take several",
				    h->verb->name, h->n);
	extra = c->options->given & h->kind->refused;
	if (extra)
		return client_usage(c, "--%s is for one host\nRemedy: give one: -H %s",
				    option_name(extra & -extra), h->names[0]);
	if (format && strcmp(format, "matrix") != 0 && strcmp(format, "tree") != 0)
		return client_usage(c,
				    "--format=%s: of several hosts there are matrix and tree\n"
				    "Remedy: for a picture, give one host: -H %s",
				    format, h->names[0]);
	return h->verb->run == verb_doctor ? doctor_check(c, h->n_arguments) : 0;
}

/* ---- in the process of a host ---- */

/* What the verb has printed as JSON. */
static int to_document(const Client *c, char *text, json_t **ret)
{
	if (c->options->json == JSON_OFF)
		return 0;
	*ret = json_loads(text, 0, NULL);
	*text = '\0';
	return *ret ? 0 : -EBADMSG;
}

static int run_alone(const Hosts *h, Client *c, int out)
{
	_cleanup_(json_decrefp) json_t *document = NULL;
	_cleanup_free_ char *text = NULL, *notes = NULL;
	size_t text_size, notes_size;
	int code, r;

	c->out.stream = open_memstream(&text, &text_size);
	c->err.stream = open_memstream(&notes, &notes_size);
	if (!c->out.stream || !c->err.stream)
		return -ENOMEM;
	code = r = h->as_table ? hosts_table_load(c, &document)
			       : h->verb->run(c, h->arguments, h->n_arguments);
	if (fclose(c->out.stream) != 0 || fclose(c->err.stream) != 0)
		return -ENOMEM;
	if (r >= 0)
		r = to_document(c, text, &document);
	return r < 0 ? r : answer_write(out, code, document, text, notes);
}

static int ask(void *userdata, size_t i, int out)
{
	const Hosts *h = userdata;
	Options options = *h->client->options;
	Client c = *h->client;
	int r;

	options.host = h->names[i];
	options.ask_password = false;
	if (options.json != JSON_OFF)
		options.json = JSON_SHORT;
	c.options = &options;
	r = run_alone(h, &c, out);
	if (r < 0 && !c.failure)
		c.failure = failure_from_errno(-r, "cannot go on");
	if (r < 0)
		r = c.failure ? answer_write_failure(out, c.failure) : -ENOMEM;
	/* ssh is told to end, and may have something to tidy up. */
	alarm(GOODBYE_SECONDS);
	sd_bus_flush_close_unref(c.bus);
	return r < 0;
}

/* ---- what came ---- */

static int take_answer(Hosts *h, size_t i, const CrewResult *result)
{
	HostAnswer *answer = &h->answers[i];
	const char *host = h->names[i], *schema;
	bool as_json = h->client->options->json != JSON_OFF;
	int r = answer_read(host, h->verb->name, result, &h->plan, h->client->out.colour, answer);

	if (r < 0 || answer->failure)
		return r;
	if (!answer->document != !(as_json || h->as_table))
		return answer_refuse(answer, host, "is not what was asked for");
	schema = json_string_value(json_object_get(answer->document, "schema"));
	if (as_json && !str_equal(schema, h->kind->schema))
		return answer_refuse(answer, host, "has another schema");
	return 0;
}

static int ask_all(Hosts *h)
{
	CrewResult *results = NULL;
	int r = crew_run(&h->plan, &results);

	for (size_t i = 0; r >= 0 && i < h->n; i++)
		r = take_answer(h, i, &results[i]);
	crew_results_free(results, h->n);
	return r;
}

/* ---- printing ---- */

/* Of hosts whose failure is not in the output, or not in words. */
static int print_failures(const Hosts *h)
{
	for (size_t i = 0; i < h->n; i++) {
		_cleanup_free_ char *reason = NULL;

		if (!h->answers[i].failure)
			continue;
		reason = answer_reason(&h->answers[i]);
		if (!reason)
			return -ENOMEM;
		fprintf(h->client->err.stream, "gpupass: %s: %s\n", h->names[i], reason);
	}
	return 0;
}

static int print_json(const Hosts *h)
{
	_cleanup_(json_decrefp) json_t *hosts = json_object();

	for (size_t i = 0; i < h->n; i++) {
		const HostAnswer *answer = &h->answers[i];
		json_t *value = answer->failure ? failure_json(answer->failure, NULL)
						: json_incref(answer->document);

		if (json_object_set_new(hosts, h->names[i], value) < 0)
			return -ENOMEM;
	}
	return json_print(h->client, json_pack("{s:s, s:o}", "schema", GPUPASS_SCHEMA_HOSTS,
					       "hosts", TAKE_PTR(hosts)));
}

/* Whose they are, where they are not in their host's section. */
static void print_notes_of(const Client *c, const char *host, const char *notes)
{
	for (const char *line = notes; *line;) {
		size_t length = strcspn(line, "\n");

		/* A long one goes on in an indented line. */
		fprintf(c->err.stream, "%s%s%.*s\n", *line == ' ' ? "" : host,
			*line == ' ' ? "" : ": ", (int)length, line);
		line += length + (line[length] == '\n');
	}
}

static int print_section(const Client *c, const char *host, const HostAnswer *answer)
{
	const Terminal *t = &c->out;
	_cleanup_free_ char *line = NULL, *reason = NULL;

	if (!answer->failure) {
		fprintf(t->stream, "%s%s:%s\n%s", terminal_colour(t, COLOUR_BOLD), host,
			terminal_plain(t), answer->text);
		print_notes_of(c, host, answer->notes);
		return 0;
	}
	reason = answer_reason(answer);
	line = reason ? strf("%s%s: %s%s", terminal_colour(t, COLOUR_BAD), host, reason,
			     terminal_plain(t))
		      : NULL;
	if (!line)
		return -ENOMEM;
	terminal_prose(t, 0, 2, line);
	return 0;
}

/* A blank line around each that has more than one. */
static int print_sections(const Hosts *h)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < h->n; i++) {
		if (i > 0 && !(h->answers[i].failure && h->answers[i - 1].failure))
			fputc('\n', h->client->out.stream);
		r = print_section(h->client, h->names[i], &h->answers[i]);
	}
	return r;
}

static int print_all(Hosts *h, const HostsTable *table)
{
	int r;

	if (h->client->options->json == JSON_OFF && !h->as_table)
		return print_sections(h);
	if (h->as_table)
		r = hosts_table_print(h->client, table, h->names, h->answers);
	else
		r = print_json(h);
	return r < 0 || (h->as_table && !table->choice.plain) ? r : print_failures(h);
}

/* The highest of those of the hosts, when all could be asked. */
static int exit_code(const Hosts *h)
{
	size_t n_reached = 0;
	int code = GPUPASS_EXIT_DONE;

	for (size_t i = 0; i < h->n; i++) {
		n_reached += h->answers[i].reached;
		if (h->answers[i].code > code)
			code = h->answers[i].code;
	}
	if (n_reached == h->n)
		return code;
	return n_reached > 0 ? GPUPASS_EXIT_HOSTS : GPUPASS_EXIT_NO_DAEMON;
}

static int ask_and_print(Hosts *h)
{
	_cleanup_(hosts_table_clear) HostsTable table = { 0 };
	bool is_list = h->verb->run == verb_list;
	int r;

	/* Also with JSON, which -o is refused with. */
	r = is_list ? hosts_table_choose(h->client, &table) : 0;
	h->as_table = is_list && h->client->options->json == JSON_OFF;
	if (r >= 0)
		r = ask_all(h);
	if (r >= 0)
		r = print_all(h, &table);
	return r < 0 ? r : exit_code(h);
}

int hosts_run(Client *c, const Verb *verb, char *const *arguments, size_t n_arguments,
	      char *const *hosts)
{
	Hosts h = { .client = c,
		    .verb = verb,
		    .kind = find_kind(verb),
		    .names = hosts,
		    .n = strv_length(hosts),
		    .arguments = arguments,
		    .n_arguments = n_arguments };
	_cleanup_free_ HostAnswer *answers = calloc(h.n + 1, sizeof(*answers));
	int r = check(&h);

	if (r < 0)
		return r;
	if (!answers)
		return -ENOMEM;
	h.answers = answers;
	h.plan = (CrewPlan){ .run = ask,
			     .userdata = &h,
			     .n = h.n,
			     .at_once = AT_ONCE,
			     .limit_usec = c->options->given & OPTION_TIMEOUT
						   ? c->options->timeout_usec
						   : h.kind->limit_usec,
			     .out_max = ANSWER_MAX,
			     .all_max = ANSWERS_MAX };
	r = ask_and_print(&h);
	for (size_t i = 0; i < h.n; i++)
		answer_clear(&answers[i]);
	return r;
}
