/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Captures of hosts, as tests/fixtures/add-host made them from `gpupass doctor --bundle`: from
 * fixtures/hosts/NAME.json (the snapshot) and NAME.facts doctor must say what NAME.doctor says.
 *
 *   test-core-doctor-captures --replay SNAPSHOT FACTS     prints what doctor says of them
 */
#define OWN_MAIN
#include "rig/test.h"

#include <fcntl.h>
#include <stdio.h>

#include "core/doctor/capture.h"
#include "core/doctor/doctor.h"
#include "core/facts/kept.h"
#include "rig/host-model.h"
#include "rig/text-diff.h"
#include "util/json.h"

#define FILE_SIZE_MAX (16U * 1024 * 1024)

typedef struct Replay {
	HostModel host;
	json_t *facts;
	CheckFacts doctor;
	HostFacts *machine;
	Inspection *inspection;
	Tenants marks;
	Examination *examination;
	GpuHealth *health;
	LastReset *resets;
	Finding told[5];
	char **lists[6];
} Replay;

static json_t *member(const json_t *object, const char *key)
{
	return json_object_get(object, key);
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(member(object, key));
}

static char *copy_of(const json_t *object, const char *key)
{
	const char *text = text_of(object, key);
	char *copy = text ? strdup(text) : NULL;

	assert_true(!text || copy);
	return copy;
}

static char **list_of(const json_t *object, const char *key)
{
	const json_t *item;
	char **list = NULL;
	size_t i;

	json_array_foreach (member(object, key), i, item)
		strv_append(&list, json_string_value(item));
	return list;
}

static void read_boards(Replay *r)
{
	const json_t *board;
	size_t i;

	json_array_foreach (member(r->facts, "boards"), i, board) {
		Bdf bdf = bdf_of(text_of(board, "bdf"));
		Gpu *gpu = gpu_set_find(r->host.set, &bdf);

		assert_non_null(gpu);
		gpu->uuid = copy_of(board, "uuid");
		gpu->serial_number = copy_of(board, "serial_number");
	}
}

static void read_declarations(Replay *r)
{
	const json_t *item, *selector;
	size_t i, k;

	json_array_foreach (member(r->facts, "declarations"), i, item) {
		Declarations *all = r->host.declarations;
		Declaration *d = GROW(all->items, all->n_items);

		d->name = copy_of(item, "name");
		d->source = copy_of(item, "source");
		d->foreign_use_set = member(item, "foreign_use");
		d->foreign_use = json_is_true(member(item, "foreign_use"));
		d->whole_nic = json_is_true(member(item, "whole_nic"));
		d->erase = json_is_true(member(item, "erase"));
		d->vlan = (unsigned)json_integer_value(member(item, "vlan"));
		json_array_foreach (member(item, "with"), k, selector)
			assert_int_equal(member_parse(json_string_value(selector),
						      GROW(d->companions, d->n_companions)),
					 0);
		json_array_foreach (member(item, "members"), k, selector) {
			Selector *s = GROW(d->members, d->n_members);

			assert_int_equal(selector_parse(json_string_value(selector), s), 0);
		}
	}
}

static void read_records(Replay *r)
{
	static const char *const kinds[] = { "newer", "damaged", "unread", NULL };
	Assignments *all = r->host.assignments;
	const json_t *item, *bdf;
	size_t i, k;

	json_array_foreach (member(r->facts, "assignments"), i, item) {
		_cleanup_free_ char *text = json_dumps(item, 0);
		Assignment **at = GROW(all->items, all->n_items);

		assert_int_equal(assignment_from_json(text, strlen(text), at, NULL), 0);
	}
	json_array_foreach (member(r->facts, "kept"), i, item) {
		_cleanup_free_ char *text = json_dumps(item, 0);
		Assignment *kept = NULL;

		assert_int_equal(kept_from_json(text, strlen(text), &kept, NULL), 0);
		kept_add(all, kept);
	}
	json_array_foreach (member(r->facts, "unreadable_assignments"), i, item) {
		RecordFault *fence = GROW(all->faults.items, all->faults.n_items);

		fence->kind = &assignment_kind;
		fence->file = copy_of(item, "file");
		fence->why = copy_of(item, "why");
		fence->domain_uuid = copy_of(item, "domain_uuid");
		for (k = 0; kinds[k] && !str_equal(kinds[k], text_of(item, "kind")); k++)
			;
		assert_non_null(kinds[k]);
		fence->what = (RecordFaultWhat)k;
		json_array_foreach (member(item, "functions"), k, bdf)
			*GROW(fence->functions, fence->n_functions) =
				bdf_of(json_string_value(bdf));
	}
}

static void read_struct(const JsonMember *members, const json_t *from, void *into)
{
	_cleanup_free_ char *message = NULL;

	if (json_struct_read(members, from, NULL, into, &message) < 0)
		fail_msg("%s", message);
}

static void read_domains(Replay *r)
{
	const json_t *domains = member(r->facts, "domains"), *item;
	size_t i;

	json_array_foreach (domains, i, item)
		read_struct(capture_domain, item, GROW(r->host.uses->items, r->host.uses->n_items));
	if (!domains)
		r->host.uses = domain_uses_free(r->host.uses);
	r->doctor.uses = r->host.uses;
	r->doctor.uses_note = text_of(r->facts, "domains_unknown");
}

static void read_machine(Replay *r)
{
	const json_t *machine = member(r->facts, "machine");

	if (!machine)
		return;
	r->machine = xcalloc(1, sizeof(HostFacts));
	read_struct(capture_machine, machine, r->machine);
	r->doctor.machine = r->machine;
}

static void read_looks(Replay *r)
{
	const json_t *inspection = member(r->facts, "inspection"), *host = member(r->facts, "host");
	const json_t *item;
	size_t i;

	if (json_is_integer(inspection))
		r->doctor.inspection_error = -(int)json_integer_value(inspection);
	else
		assert_int_equal(inspection_from_json(inspection, &r->inspection, NULL), 0);
	if (json_is_integer(host))
		r->doctor.host_error = -(int)json_integer_value(host);
	else
		assert_int_equal(examination_from_json(host, &r->examination, NULL), 0);
	json_array_foreach (member(r->facts, "health"), i, item) {
		GpuHealth *health = GROW(r->health, r->doctor.n_health);

		assert_int_equal(gpu_health_from_json(item, health, NULL), 0);
	}
	r->doctor.inspection = r->inspection;
	r->doctor.host = r->examination;
	r->doctor.health = r->health;
}

static const Finding *read_told(Replay *r, const char *key, Finding *into)
{
	const json_t *item;
	size_t i;

	if (!member(r->facts, key))
		return NULL;
	json_array_foreach (member(r->facts, key), i, item) {
		const char *group = text_of(item, "group");

		finding_add(into, json_is_true(member(item, "fail")) ? FINDING_FAIL : FINDING_WARN,
			    str_is_empty(group) ? NULL : group, "%s", text_of(item, "what"));
		finding_remedy(into, "%s", text_of(item, "remedy"));
	}
	return into;
}

static void read_findings(Replay *r)
{
	static const char *const keys[] = { "busy", "quarantined", "clears", "open_jobs",
					    "settings" };

	for (size_t i = 0; i < ELEMENTS(keys); i++)
		r->lists[i] = list_of(r->facts, keys[i]);
	r->doctor.busy = r->lists[0];
	r->doctor.quarantined = r->lists[1];
	r->doctor.clears = r->lists[2];
	r->doctor.open_jobs = r->lists[3];
	r->doctor.settings = r->lists[4];
	r->doctor.drift = read_told(r, "drift", &r->told[0]);
	r->doctor.evidence = read_told(r, "stale_evidence", &r->told[1]);
	r->doctor.tenants = read_told(r, "tenants", &r->told[2]);
	r->doctor.split = read_told(r, "split", &r->told[3]);
	r->doctor.files = read_told(r, "files", &r->told[4]);
	r->doctor.fence_fault = text_of(r->facts, "fence_fault");
}

static void read_resets(Replay *r)
{
	const json_t *item;
	size_t i;

	json_array_foreach (member(r->facts, "resets"), i, item) {
		LastReset *last = GROW(r->resets, r->doctor.n_resets);

		read_struct(capture_reset, item, last);
		last->known = true;
	}
	if (member(r->facts, "resets") && !r->resets)
		r->resets = calloc(1, sizeof(LastReset));
	r->doctor.resets = r->resets;
}

/* They have the ids of what is there. */
static void read_marks(Replay *r)
{
	const json_t *item;
	size_t i;

	json_array_foreach (member(r->facts, "nvme_tenants"), i, item) {
		TenantFile *file = GROW(r->marks.items, r->marks.n_items);
		const PciFunction *function;

		file->mark = xcalloc(1, sizeof(TenantMark));
		read_struct(capture_mark, item, file->mark);
		file->bdf = file->mark->bdf;
		function = pci_snapshot_find(r->host.snapshot, &file->bdf);
		if (function)
			tenant_mark_identify(file->mark, &(Gpu){ .lead = function });
	}
	r->doctor.marks = &r->marks;
}

/* As job/inventory.c and job/doctor-look.c do it. */
static void find_groups(Replay *r)
{
	HostModel *h = &r->host;
	const json_t *policy = member(r->facts, "policy");

	h->policy = POLICY_DEFAULT;
	h->policy.accept_inferred = json_is_true(member(policy, "accept_inferred"));
	h->policy.single_gpus = json_is_true(member(policy, "single_gpus"));
	h->policy.allow_mmio = json_is_true(member(policy, "allow_mmio"));
	if (member(policy, "domains_from"))
		assert_int_equal(0, domain_source_from_string(text_of(policy, "domains_from"),
							      &h->policy.domains));
	r->lists[5] = list_of(policy, "keep_bound");
	h->policy.keep_bound = r->lists[5];
	assert_int_equal(sightings_from_json(member(r->facts, "evidence"), &h->evidence, NULL), 0);
	host_resolve(h);
	for (char **note = h->notes; note && *note; note++)
		if (!strv_contains(h->groups->notes, *note))
			strv_append(&h->groups->notes, *note);
	groups_observe(h->groups, h->uses, h->assignments, NULL, &h->policy);
	for (size_t i = 0; i < h->groups->n_items; i++)
		if (checks_name_group(r->lists[1], &h->groups->items[i]) ||
		    strv_contains(r->lists[0], h->groups->items[i].name))
			h->groups->items[i].state = GROUP_QUARANTINED;
}

static void replay_begin(Replay *r, const char *snapshot, const char *facts)
{
	json_error_t error;

	*r = (Replay){ 0 };
	r->host = host_new();
	pci_snapshot_free(r->host.snapshot);
	r->host.snapshot = NULL;
	assert_int_equal(
		pci_snapshot_from_json(snapshot, strlen(snapshot), &r->host.snapshot, NULL), 0);
	r->facts = json_loads(facts, JSON_REJECT_DUPLICATES, &error);
	if (!r->facts)
		fail_msg("the facts are not JSON: line %d: %s", error.line, error.text);
	host_seal(&r->host);
	read_boards(r);
	read_declarations(r);
	read_records(r);
	read_domains(r);
	read_machine(r);
	read_looks(r);
	read_findings(r);
	read_resets(r);
	read_marks(r);
	find_groups(r);
	r->doctor.snapshot = r->host.snapshot;
	r->doctor.gpus = r->host.set;
	r->doctor.groups = r->host.groups;
	r->doctor.assignments = r->host.assignments;
	r->doctor.policy = &r->host.policy;
}

static void replay_end(Replay *r)
{
	for (size_t i = 0; i < ELEMENTS(r->told); i++)
		finding_clear(&r->told[i]);
	for (size_t i = 0; i < ELEMENTS(r->lists); i++)
		strv_free(r->lists[i]);
	last_resets_free(r->resets, r->doctor.n_resets);
	gpu_healths_free(r->health, r->doctor.n_health);
	host_facts_free(r->machine);
	for (size_t i = 0; i < r->marks.n_items; i++)
		tenant_mark_free(r->marks.items[i].mark);
	free(r->marks.items);
	inspection_free(r->inspection);
	examination_free(r->examination);
	host_done(&r->host);
	json_decref(r->facts);
}

/* One form for all documents, so that a difference is one line. */
static char *sorted(const char *json)
{
	_cleanup_json_ json_t *document = json_loads(json, 0, NULL);
	char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;

	assert_non_null(text);
	return text;
}

static char *read_file(int fd, const char *name, const char *suffix)
{
	_cleanup_free_ char *path = strf("%s%s", name, suffix);
	char *text = NULL;

	if (file_read_at(fd, path, FILE_SIZE_MAX, &text, NULL) < 0)
		fail_msg("%s cannot be read", path);
	return text;
}

static bool same(const char *name, const char *what, const char *expected, const char *actual)
{
	_cleanup_free_ char *a = sorted(expected), *b = sorted(actual), *diff = text_diff(a, b);

	assert_non_null(diff);
	if (*diff)
		fprintf(stderr, "%s: %s differs\n%s", name, what, diff);
	return *diff == '\0';
}

/* What the writer makes of these facts: a member that one of the two forgets is found. */
static bool is_captured_again(const char *name, const char *snapshot, const char *facts,
			      char **ret_report)
{
	_cleanup_free_ char *again = NULL, *written = NULL, *whole = NULL;
	_cleanup_json_ json_t *capture = NULL, *first = json_loads(facts, 0, NULL);
	CaptureFacts captured;
	Replay r;

	replay_begin(&r, snapshot, facts);
	captured = (CaptureFacts){ &r.doctor, r.host.declarations, r.host.evidence };
	*ret_report = doctor_report(&r.doctor, DOCTOR_SYMPTOM_MAX_);
	assert_non_null(*ret_report);
	again = capture_to_json(&captured, *ret_report);
	replay_end(&r);
	capture = json_loads(again, 0, NULL);
	assert_non_null(capture);
	json_object_set_new(first, "snapshot", json_loads(snapshot, 0, NULL));
	whole = json_dumps(first, 0);
	written = json_dumps(member(capture, "facts"), 0);
	return same(name, "what is captured again", whole, written);
}

static bool as_captured(int fd, const char *name)
{
	_cleanup_free_ char *snapshot = read_file(fd, name, ".json");
	_cleanup_free_ char *facts = read_file(fd, name, ".facts");
	_cleanup_free_ char *doctor = read_file(fd, name, ".doctor");
	_cleanup_free_ char *report = NULL;
	bool good = is_captured_again(name, snapshot, facts, &report);

	return same(name, "the report", doctor, report) && good;
}

TEST(doctor_says_of_a_capture_what_it_said_on_the_host)
{
	_cleanup_close_ int fd = open(FIXTURES "/hosts", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_strv_ char **names = NULL;
	bool good = true;

	assert_true(fd >= 0);
	assert_int_equal(dir_list(fd, ".facts", &names), 0);
	assert_true(strv_length(names) >= 1);
	for (char **name = names; *name; name++) {
		(*name)[strlen(*name) - strlen(".facts")] = '\0';
		good = as_captured(fd, *name) && good;
	}
	assert_true(good);
}

/* Facts that no captured host had. */
TEST(what_few_hosts_have_is_captured_too)
{
	static const char mdev[] = "11111111-2222-4333-8444-555555555555";
	static const char kept_group[] =
		"{\"schema\": \"org.gpupass1.kept/1\", \"group\": \"pair0\", \"kept\": \"asked\", "
		"\"created_usec\": 1, \"created_by\": 0, \"functions\": [{\"bdf\": \"0000:41:00.0\", "
		"\"vendor\": \"10de\", \"device\": \"2230\", \"subsystem_vendor\": \"10de\", "
		"\"subsystem_device\": \"0001\"}]}";
	_cleanup_close_ int fd = open(FIXTURES "/hosts", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *snapshot = read_file(fd, "lab-two-pairs", ".json"), *report = NULL;
	_cleanup_free_ char *facts = read_file(fd, "lab-two-pairs", ".facts");
	_cleanup_json_ json_t *host = json_loads(snapshot, 0, NULL),
			      *all = json_loads(facts, 0, NULL);

	json_object_set_new(host, "mdevs",
			    json_pack("[{s:s, s:s}]", "uuid", mdev, "parent", "0000:41:00.0"));
	/* A NIC of the group, the port above it, and its other function. */
	for (size_t i = 0; i < 3; i++)
		json_array_append_new(member(host, "functions"),
				      json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s*}", "bdf",
						(const char *[]){ "0000:e1:01.0", "0000:e2:00.0",
								  "0000:e2:00.1" }[i],
						"class", i == 0 ? "060400" : "020000", "vendor",
						"15b3", "device", "101d", "subsystem_vendor",
						"15b3", "subsystem_device", "0001", "driver",
						i == 0 ? "pcieport" : "mlx5_core"));
	json_object_set_new(json_array_get(member(host, "functions"), 13), "upstream",
			    json_pack("[s]", "0000:e1:01.0"));
	json_object_set_new(json_array_get(member(all, "declarations"), 0), "with",
			    json_pack("[ss]", "nic:0000:e2:00.0", "nvme:0000:e3:00.0"));
	json_object_set_new(json_array_get(member(all, "declarations"), 0), "whole_nic",
			    json_true());
	json_object_set_new(json_array_get(member(all, "declarations"), 0), "erase", json_true());
	json_object_set_new(json_array_get(member(all, "declarations"), 0), "vlan",
			    json_integer(42));
	json_object_set_new(json_array_get(member(all, "domains"), 0), "mdevs",
			    json_pack("[{s:s, s:b}]", "uuid", mdev, "config", 1));
	json_object_set_new(json_array_get(member(all, "domains"), 0), "unclear", json_string("?"));
	json_object_set_new(
		json_array_get(member(json_array_get(member(all, "domains"), 0), "hostdevs"), 0),
		"argument", json_true());
	json_object_set_new(member(all, "policy"), "keep_bound", json_pack("[s]", "pair*"));
	json_object_set_new(member(all, "policy"), "domains_from", json_string("none"));
	json_object_set_new(all, "kept", json_pack("[o]", json_loads(kept_group, 0, NULL)));
	json_object_set_new(member(all, "machine"), "cpu_vendor", json_string("amd"));
	json_object_set_new(member(all, "machine"), "iommu_table", json_string("there"));
	json_object_set_new(member(all, "machine"), "virtual_machine", json_true());
	json_object_set_new(all, "settings", json_pack("[s]", "groups.d/x.conf:2: no GPU"));
	json_object_set_new(all, "resets",
			    json_pack("[{s:s, s:b, s:s}]", "bdf", "0000:41:00.0", "reset", 0,
				      "what", "0000:41:00.0: no method"));
	free(snapshot);
	free(facts);
	snapshot = json_dumps(host, 0);
	facts = json_dumps(all, 0);
	assert_true(is_captured_again("few have it", snapshot, facts, &report));
}

static const char *replay_snapshot, *replay_facts;

static void print_replay(_unused_ void **state)
{
	_cleanup_free_ char *snapshot = read_file(AT_FDCWD, replay_snapshot, "");
	_cleanup_free_ char *facts = read_file(AT_FDCWD, replay_facts, "");
	_cleanup_free_ char *report = NULL, *text = NULL;
	Replay r;

	replay_begin(&r, snapshot, facts);
	report = doctor_report(&r.doctor, DOCTOR_SYMPTOM_MAX_);
	replay_end(&r);
	assert_non_null(report);
	text = sorted(report);
	puts(text);
}

int main(int argc, char *argv[])
{
	const struct CMUnitTest replay[] = {
		cmocka_unit_test(print_replay),
	};

	if (argc != 4 || !str_equal(argv[1], "--replay"))
		return tests_run();
	replay_snapshot = argv[2];
	replay_facts = argv[3];
	return cmocka_run_group_tests(replay, NULL, NULL);
}
