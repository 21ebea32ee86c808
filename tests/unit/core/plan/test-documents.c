/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Documents with every member that they can have: fixtures/documents/NAME.json, and the answers to
 * questions, fixtures/answers/NAME.json. Reading and writing one must give the same text. Then each
 * member in turn is left out or replaced by something else, and NAME.expected has what becomes of
 * it: the message, or what is written after it was taken.
 *
 * With names of documents as arguments, this program prints what it found instead.
 */
#define OWN_MAIN
#include "rig/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "core/audit/record.h"
#include "core/facts/assignment.h"
#include "core/facts/examination.h"
#include "core/facts/health.h"
#include "core/facts/inspection.h"
#include "core/facts/kept.h"
#include "core/facts/reset-report.h"
#include "core/fence/fence.h"
#include "core/links/evidence.h"
#include "core/plan/record.h"
#include "core/tenancy/tenancy.h"
#include "rig/answers.h"
#include "rig/snapshot-read.h"
#include "rig/text-diff.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define FIXTURE_MAX (1024U * 1024)

/* Reads `json` and writes what was read, as a document or as the text of one. */
typedef struct Outcome {
	int error;
	char *message;
	json_t *json;
} Outcome;

static json_t *parsed(char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	free(text);
	return json;
}

/* What is read, called `it`, of the JSON or of its text, and how it is written. */
#define THROUGH(name, Type, free_, read, write)                                                    \
	static void through_##name(const json_t *json, const char *text, Outcome *o)               \
	{                                                                                          \
		_cleanup_(free_) Type *it = NULL;                                                  \
                                                                                                   \
		o->error = read;                                                                   \
		o->json = it ? write : NULL;                                                       \
	}
/* A struct by its table, of which nobody is told why it is refused. */
#define THROUGH_TABLE(name, Type, clear, read)                                                     \
	static void through_##name(const json_t *json, const char *text, Outcome *o)               \
	{                                                                                          \
		_cleanup_(clear) Type it = { 0 };                                                  \
                                                                                                   \
		o->error = read;                                                                   \
		o->json = o->error >= 0 ? json_struct_write(name##_members, &it) : NULL;           \
	}

THROUGH(inspection, Inspection, inspection_freep, inspection_from_json(json, &it, &o->message),
	json_struct_write(inspection_members, it))
THROUGH(initramfs, Initramfs, initramfs_freep, initramfs_from_json(json, &it, &o->message),
	json_struct_write(initramfs_members, it))
THROUGH(examination, Examination, examination_freep, examination_from_json(json, &it, &o->message),
	json_struct_write(examination_members, it))
THROUGH(plan, Plan, plan_freep, plan_from_record(json, &it, &o->message), plan_to_record(it))
THROUGH(assignment, Assignment, assignment_freep,
	assignment_from_json(text, strlen(text), &it, &o->message), assignment_document(it))
THROUGH(kept, Assignment, assignment_freep, kept_from_json(text, strlen(text), &it, &o->message),
	kept_document(it))
THROUGH(tenant, TenantMark, tenant_mark_freep,
	record_parse(&tenant_kind, text, strlen(text), (void **)&it, &o->message),
	tenant_mark_document(it))
THROUGH(fence, Fence, fence_freep, fence_from_json(text, strlen(text), &it, &o->message),
	parsed(fence_to_json(it)))
THROUGH(evidence, Evidence, evidence_unrefp,
	record_parse(&evidence_kind, text, strlen(text), (void **)&it, &o->message),
	evidence_document(it))
THROUGH(snapshot, PciSnapshot, pci_snapshot_freep,
	pci_snapshot_from_json(text, strlen(text), &it, &o->message),
	parsed(pci_snapshot_to_json(it)))
THROUGH_TABLE(gpu_health, GpuHealth, gpu_health_clear, gpu_health_from_json(json, &it, NULL))
THROUGH_TABLE(reset_report, ResetReport, reset_report_clear,
	      json_struct_read(reset_report_members, json, NULL, &it, NULL))

/* A line whose hash is wrong is read all the same, and known as changed. */
static void through_audit(_unused_ const json_t *json, const char *text, Outcome *o)
{
	_cleanup_free_ char *line = strf("%s %s", LINE_NO_HASH.hex, text);
	_cleanup_(audit_record_clear) AuditRecord record = AUDIT_RECORD_EMPTY;
	LineHash hash;
	bool intact;

	o->error = audit_line_parse(line, strlen(line), &record, &hash, &intact);
	assert_false(intact);
	o->json = o->error >= 0 ? audit_record_to_json(&record, &hash) : NULL;
	if (o->json)
		json_object_del(o->json, "hash");
}

static const struct {
	const char *name;
	void (*through)(const json_t *json, const char *text, Outcome *ret);
} documents[] = {
	{ "assignment-1", through_assignment },
	{ "assignment-2", through_assignment },
	{ "kept", through_kept },
	{ "audit", through_audit },
	{ "evidence", through_evidence },
	{ "examination", through_examination },
	{ "fence", through_fence },
	{ "health", through_gpu_health },
	{ "initramfs", through_initramfs },
	{ "inspection", through_inspection },
	{ "plan", through_plan },
	{ "reset-report", through_reset_report },
	{ "snapshot", through_snapshot },
	{ "tenant", through_tenant },
};

#define ALL (ELEMENTS(documents) + ELEMENTS(answers))

/* NULL: it is a document. */
static const AnswerFixture *answer_at(size_t i)
{
	return i < ELEMENTS(documents) ? NULL : &answers[i - ELEMENTS(documents)];
}

static const char *name_at(size_t i)
{
	return answer_at(i) ? answer_at(i)->name : documents[i].name;
}

/* A record is written as the last version, whatever it was read from. */
static void pass_through(size_t i, const json_t *json, Outcome *o)
{
	_cleanup_free_ char *text = json_dumps(json, JSON_COMPACT), *again = NULL;
	json_t *schema = json_object_get(json, "schema");

	if (answer_at(i)) {
		o->error = answer_read(answer_at(i)->question, answers_about, answer_at(i)->n, text,
				       strlen(text), &again, &o->message);
		o->json = again ? parsed(TAKE_PTR(again)) : NULL;
		return;
	}
	documents[i].through(json, text, o);
	if (o->json && schema)
		json_object_set(o->json, "schema", schema);
}

static char *read_fixture(size_t i, const char *suffix)
{
	_cleanup_free_ char *path = strf(
		FIXTURES "/%s/%s%s", answer_at(i) ? "answers" : "documents", name_at(i), suffix);
	char *text = NULL;

	if (file_read_at(AT_FDCWD, path, FIXTURE_MAX, &text, NULL) < 0)
		fail_msg("%s cannot be read", path);
	return text;
}

/* ---- what becomes of each member ---- */

/* What a member is replaced by; NULL: it is left out. */
static const char *const others[] = {
	NULL,	      "null",	    "true", "false", "0",      "-1", "65",  "65536",
	"2147483648", "4294967296", "\"\"", "\"x\"", "\"ff\"", "[]", "[7]", "{}",
};

typedef struct Walk {
	FILE *out;
	size_t document;
	json_t *root;
} Walk;

/* `keys` of the way from the root, so that the member can be found in what was written. */
typedef struct Place {
	const struct Place *above;
	const char *key; /* NULL: item `index` */
	size_t index;
} Place;

static const json_t *find_place(const json_t *root, const Place *place)
{
	const json_t *above = place->above ? find_place(root, place->above) : root;

	return place->key ? json_object_get(above, place->key)
			  : json_array_get(above, place->index);
}

static void print_place(FILE *out, const Place *place)
{
	if (place->above)
		print_place(out, place->above);
	if (place->key)
		fprintf(out, "%s%s", place->above ? "." : "", place->key);
	else
		fprintf(out, "[%zu]", place->index);
}

static char *outcome_of(const Walk *walk, const Place *place)
{
	Outcome o = { 0 };
	_cleanup_free_ char *written = NULL;
	char *said;

	pass_through(walk->document, walk->root, &o);
	if (o.json)
		written = json_dumps(find_place(o.json, place), JSON_COMPACT | JSON_ENCODE_ANY);
	if (o.error < 0)
		said = strf("%s %s", o.error == -EBADMSG ? "refused:" : "another version:",
			    str_or_empty(o.message));
	else
		said = strf("taken%s%s", written ? " as " : "", str_or_empty(written));
	assert_true(o.error < 0 ? !o.json && (o.error == -EBADMSG || o.error == -EPROTO)
				: o.json != NULL);
	json_decref(o.json);
	free(o.message);
	return said;
}

static void print_outcomes(Walk *walk, const Place *place, json_t *above, const char *key)
{
	json_t *was = key ? json_incref(json_object_get(above, key))
			  : json_incref(json_array_get(above, place->index));
	_cleanup_free_ char *last = NULL;

	print_place(walk->out, place);
	for (size_t i = 0; i < ELEMENTS(others); i++) {
		json_t *other = others[i] ? json_loads(others[i], JSON_DECODE_ANY, NULL) : NULL;
		_cleanup_free_ char *said = NULL;

		if (key && other)
			json_object_set_new(above, key, other);
		else if (key)
			json_object_del(above, key);
		else if (other)
			json_array_set_new(above, place->index, other);
		else
			continue;
		said = outcome_of(walk, place);
		if (!str_equal(said, last))
			fprintf(walk->out, "%s%s\n\t", last ? " -> " : "", str_or_empty(last));
		else
			fprintf(walk->out, ", ");
		fprintf(walk->out, "%s", others[i] ? others[i] : "none");
		free(last);
		last = TAKE_PTR(said);
	}
	fprintf(walk->out, " -> %s\n", str_or_empty(last));
	if (key)
		json_object_set_new(above, key, was);
	else
		json_array_set_new(above, place->index, was);
}

static void print_unknown(const Walk *walk, const Place *place, json_t *object)
{
	_cleanup_free_ char *said = NULL;

	json_object_set_new(object, "surprise", json_true());
	said = outcome_of(walk, place);
	json_object_del(object, "surprise");
	print_place(walk->out, place);
	fprintf(walk->out, " -> %s\n", said);
}

/* The order of members may change while one is replaced: it has no meaning for a reader. */
static void walk_value(Walk *walk, const Place *above, json_t *value)
{
	_cleanup_free_ const char **keys = NULL;
	size_t n = json_is_object(value) ? json_object_size(value) : json_array_size(value), i = 0;
	const char *key;
	json_t *member;

	if (json_is_object(value)) {
		keys = xcalloc(n + 1, sizeof(*keys));
		json_object_foreach (value, key, member)
			keys[i++] = key;
		print_unknown(walk, &(Place){ .above = above, .key = "surprise" }, value);
	}
	for (i = 0; i < n; i++) {
		_cleanup_free_ char *name = keys ? strdup(keys[i]) : NULL;
		Place place = { .above = above, .key = name, .index = i };

		print_outcomes(walk, &place, value, name);
		walk_value(walk, &place,
			   name ? json_object_get(value, name) : json_array_get(value, i));
	}
}

static char *print_document(size_t i)
{
	_cleanup_free_ char *text = read_fixture(i, ".json");
	_cleanup_json_ json_t *root = json_loads(text, 0, NULL);
	Walk walk = { .document = i, .root = root };
	char *printed = NULL;
	size_t size = 0;

	assert_non_null(root);
	walk.out = open_memstream(&printed, &size);
	assert_non_null(walk.out);
	walk_value(&walk, NULL, root);
	assert_int_equal(fclose(walk.out), 0);
	return printed;
}

/* ---- tests ---- */

TEST(a_whole_document_is_written_as_it_was_read)
{
	for (size_t i = 0; i < ALL; i++) {
		_cleanup_free_ char *text = read_fixture(i, ".json");
		_cleanup_json_ json_t *root = json_loads(text, 0, NULL);
		_cleanup_free_ char *written = NULL, *lined = NULL;
		Outcome o = { 0 };

		pass_through(i, root, &o);
		if (!o.json)
			fail_msg("%s: %d, %s", name_at(i), o.error, str_or_empty(o.message));
		written = json_dumps(o.json, JSON_INDENT(2));
		lined = strf("%s\n", written);
		json_decref(o.json);
		if (strcmp(lined, text) != 0) {
			_cleanup_free_ char *diff = text_diff(text, lined);

			fail_msg("%s:\n%s", name_at(i), str_or_empty(diff));
		}
	}
}

TEST(every_member_is_read_strictly)
{
	for (size_t i = 0; i < ALL; i++) {
		_cleanup_free_ char *expected = read_fixture(i, ".expected");
		_cleanup_free_ char *printed = print_document(i), *diff = NULL;

		if (strcmp(printed, expected) == 0)
			continue;
		diff = text_diff(expected, printed);
		fail_msg("%s:\n%s", name_at(i), str_or_empty(diff));
	}
}

static char *whole_plan(void)
{
	for (size_t i = 0; i < ALL; i++)
		if (str_equal(name_at(i), "plan"))
			return read_fixture(i, ".json");
	return NULL;
}

/* Its open journals outlive an upgrade. */
TEST(a_plan_of_the_version_before_vlans_is_read)
{
	_cleanup_free_ char *text = whole_plan(), *message = NULL;
	_cleanup_json_ json_t *root = json_loads(text, 0, NULL);
	json_t *function = json_array_get(json_object_get(root, "functions"), 0);
	_cleanup_json_ json_t *record = NULL;
	_cleanup_(plan_freep) Plan *plan = NULL;

	json_object_del(function, "mac");
	json_object_del(function, "vlan");
	json_object_set_new(function, "vf", json_true());
	json_object_set_new(
		root, "nics",
		json_pack("[{s:s, s:i, s:i}]", "bdf", "0000:61:00.0", "before", 0, "number", 2));
	if (plan_from_record(root, &plan, &message) != 0)
		fail_msg("%s", str_or_empty(message));
	assert_int_equal(plan->nics[0].number, 2);
	/* As its own undo would have left it. */
	assert_int_equal(plan->nics[0].autoprobe, 1);
	plan->nics[0].autoprobe = 0;
	record = plan_to_record(plan);
	plan_free(plan);
	plan = NULL;
	assert_int_equal(plan_from_record(record, &plan, &message), 0);
	assert_int_equal(plan->nics[0].autoprobe, 0);
}

int main(int argc, char **argv)
{
	for (int k = 1; k < argc; k++)
		for (size_t i = 0; i < ALL; i++)
			if (strcmp(name_at(i), argv[k]) == 0) {
				_cleanup_free_ char *printed = print_document(i);

				fputs(printed, stdout);
			}
	return argc > 1 ? 0 : tests_run();
}
