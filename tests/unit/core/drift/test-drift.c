/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/drift/drift.h"
#include "rig/garbage.h"
#include "rig/host-model.h"

#define VFIO "vfio-pci"
#define A0 "0000:41:00.0"
#define A1 "0000:41:00.1"
#define B0 "0000:61:00.0"
#define B1 "0000:61:00.1"

static const char *const all[] = { A0, A1, B0, B1, NULL };
static const char *const some[] = { A0, A1, NULL };
static const char *const none[] = { NULL };

/* The domain as gpupass defines it. */
static DomainUse *ours(HostModel *h, const char *name, bool active, const char *const *functions)
{
	DomainUse *use = host_domain(h, name, active, functions);

	strv_append(&use->gpupass_groups, "pair0");
	for (size_t i = 0; i < use->n_hostdevs; i++)
		use->hostdevs[i].alias = strf("ua-gpupass-pair0-%zu", i);
	return use;
}

static HostModel two_boards(const char *driver_a, const char *driver_b)
{
	HostModel h = host_new();

	host_gpu(&h, "0000:41:00", 0x2230, driver_a);
	host_gpu(&h, "0000:61:00", 0x2230, driver_b);
	host_declare(&h, "[Group]\nName=pair0\nGpu=" A0 "\nGpu=" B0 "\n");
	host_seal(&h);
	return h;
}

static Drift *find(HostModel *h, bool libvirt, const Inspection *inspection, const BootFaults *boot)
{
	DriftFacts facts = {
		.snapshot = h->snapshot,
		.uses = libvirt ? h->uses : NULL,
		.assignments = h->assignments,
		.inspection = inspection,
		.boot = boot,
	};

	if (!h->groups) {
		host_resolve(h);
		host_observe(h, false);
	}
	facts.groups = h->groups;
	return drift_find(&facts);
}

/* "driver/bind lacks-all/define" */
static char *summary(const Drift *drift)
{
	_cleanup_strv_ char **words = NULL;

	for (size_t i = 0; i < drift->n_items; i++) {
		assert_non_null(drift->items[i].what);
		assert_non_null(drift->items[i].remedy);
		strv_appendf(&words, "%s/%s", drift_kind_to_string(drift->items[i].kind),
			     drift_repair_to_string(drift->items[i].repair));
	}
	return words ? strv_join(words, " ") : strdup("");
}

static void expect(HostModel *h, const char *what, const char *wanted)
{
	_cleanup_(drift_freep) Drift *drift = find(h, true, NULL, NULL);
	_cleanup_free_ char *found = summary(drift);

	if (!str_equal(found, wanted))
		fail_msg("%s: \"%s\" instead of \"%s\"", what, found, wanted);
	host_done(h);
}

TEST(nothing_drifted)
{
	HostModel h = two_boards("nvidia", "nvidia");

	expect(&h, "nobody has it", "");
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", false, all);
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "assigned, shut off", "");
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", true, all);
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "assigned, running", "");
	h = two_boards(VFIO, VFIO);
	host_domain(&h, "vm1", true, all);
	expect(&h, "a foreign domain", "");
}

/* As groups_observe() has it, of a file of kept.d or by KeepBound=. */
static void expect_kept(HostModel *h, const char *what, const char *wanted)
{
	host_resolve(h);
	host_observe(h, false);
	host_group(h, "pair0")->kept = KEPT_ASKED;
	expect(h, what, wanted);
}

/* fault 60 */
TEST(a_kept_group_that_is_not_bound_is_bound_again)
{
	HostModel h = two_boards("nvidia", "nvidia");

	expect_kept(&h, "kept, and on nvidia", "driver/bind");
	h = two_boards(VFIO, "nvidia");
	expect_kept(&h, "kept, and half on nvidia", "driver/bind");
	h = two_boards(VFIO, VFIO);
	expect_kept(&h, "kept, and bound", "");
	/* Its domain's affair. */
	h = two_boards(VFIO, VFIO);
	host_domain(&h, "vm1", true, all);
	expect_kept(&h, "kept, and a foreign domain's", "");
	h = two_boards(VFIO, "nvidia");
	ours(&h, "vm1", false, all);
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect_kept(&h, "kept, and assigned", "driver/bind");
}

TEST(drivers_that_left_are_bound_again)
{
	HostModel h = two_boards(VFIO, "nvidia");

	ours(&h, "vm1", false, all);
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "one GPU on nvidia", "driver/bind");
	/* Its guest runs without the group. */
	h = two_boards("nvidia", "nvidia");
	ours(&h, "vm1", false, all)->active = true;
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "the guest runs without it", "driver/bind");
	/* A function in a running guest is bound, even if the snapshot says otherwise. */
	h = two_boards(VFIO, "nvidia");
	ours(&h, "vm1", true, all);
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "the guest runs with it", "");
}

TEST(definitions_that_changed_are_defined_again)
{
	DomainUse *use;
	HostModel h = two_boards(VFIO, VFIO);

	ours(&h, "vm1", false, none);
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "all gone", "lacks-all/define");
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", false, some);
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "half gone", "lacks-some/define");
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", false, all)->hostdevs[2].managed = true;
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "managed by libvirt", "edited/define");
	h = two_boards(VFIO, VFIO);
	use = ours(&h, "vm1", true, all);
	free(use->hostdevs[1].alias);
	use->hostdevs[1].alias = NULL;
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "an alias is lost", "edited/define");
	h = two_boards(VFIO, VFIO);
	use = ours(&h, "vm1", false, all);
	use->gpupass_groups = strv_free(use->gpupass_groups);
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "the mark is lost", "edited/define");
	/* assign --live: the definition never had the group. */
	h = two_boards(VFIO, VFIO);
	use = ours(&h, "vm1", true, all);
	for (size_t i = 0; i < use->n_hostdevs; i++)
		use->hostdevs[i].config = false;
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "live only", "");
}

TEST(a_renamed_domain_is_recorded_by_its_new_name)
{
	HostModel h = two_boards(VFIO, "nvidia");

	ours(&h, "vm1", false, all);
	host_assignment(&h, "pair0", "oldname", 1, all);
	expect(&h, "renamed, and a driver", "renamed/rename driver/bind");
}

TEST(what_a_person_must_see_to_keeps_reconcile_off)
{
	DomainUse *use;
	PciMdev *mdev;
	HostModel h;

	/* fault 31 */
	h = two_boards("nvidia", "nvidia");
	host_assignment(&h, "pair0", "vm1", 9, all);
	expect(&h, "undefined", "no-domain/none");
	/* fault 32 */
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", false, none)->gpupass_groups[0][0] = 'x';
	host_assignment(&h, "pair0", "vm1", 9, all);
	expect(&h, "another domain of the name", "other-domain/none");
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", false, all);
	host_domain(&h, "vm2", false, some);
	host_assignment(&h, "pair0", "oldname", 1, all);
	expect(&h, "taken, and renamed", "taken/none taken/none renamed/none");
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", false, all);
	use = host_domain(&h, "vm2", false, none);
	domain_use_add_mdev(use, "4b20d080-1b54-4048-85b3-a6a62d165c01", false, true);
	mdev = GROW(h.snapshot->mdevs, h.snapshot->n_mdevs);
	mdev->uuid = strdup("4b20d080-1b54-4048-85b3-a6a62d165c01");
	mdev->parent = h.snapshot->functions[0]->bdf;
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "a vGPU in another domain", "taken/none");
	h = two_boards(VFIO, VFIO);
	use = ours(&h, "vm1", true, all);
	use->hostdevs[3].live = false;
	use->hostdevs[0].config = false;
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "a part live, a part defined", "guest/none lacks-some/none");
	h = two_boards(VFIO, VFIO);
	use = ours(&h, "vm1", true, all);
	use->persistent = false;
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "undefined while it runs", "no-definition/none");
	h = two_boards("nvidia", "nvidia");
	ours(&h, "vm1", false, all)->migrated = true;
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "migrated away", "migrated/none");
}

TEST(records_and_boards_that_do_not_fit_are_told)
{
	static const char *const vanished[] = { A0, A1, B0, B1, "0000:99:00.0", NULL };
	static const char *const elsewhere[] = { "0000:91:00.0", "0000:99:00.0", NULL };
	HostModel h = two_boards(VFIO, VFIO);

	ours(&h, "vm1", false, all);
	host_assignment(&h, "pair0", "vm1", 1, all);
	host_assignment(&h, "pair0", "vm2", 2, some);
	expect(&h, "two records", "two-records/none");
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", false, all);
	host_assignment(&h, "pair0", "vm1", 1, all)->functions[0].device = 0x2235;
	expect(&h, "another board", "board/none");
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", false, all);
	host_assignment(&h, "pair0", "vm1", 1, vanished);
	expect(&h, "a board is gone", "board/none");
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", false, all);
	host_assignment(&h, "pair0", "vm1", 1, some);
	expect(&h, "a GPU more than recorded", "board/none board/none");
	h = two_boards(VFIO, VFIO);
	host_assignment(&h, "pair7", "vm1", 1, elsewhere);
	expect(&h, "no board at all", "no-group/none");
}

TEST(a_marked_domain_without_a_record_is_adopted_when_whole)
{
	HostModel h = two_boards(VFIO, VFIO);

	ours(&h, "vm1", true, all);
	expect(&h, "it runs with all of it", "no-record/record");
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", false, some);
	expect(&h, "it has a part", "mark/none");
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", false, all);
	host_domain(&h, "vm2", false, some);
	expect(&h, "another has a part, too", "taken/none taken/none no-record/none");
}

TEST(a_mark_alone_is_told_and_keeps_from_nothing)
{
	HostModel h = two_boards(VFIO, VFIO);

	ours(&h, "vm1", false, none);
	expect(&h, "nobody has it", "mark/none");
	h = two_boards(VFIO, "nvidia");
	ours(&h, "vm1", false, all);
	ours(&h, "vm2", false, none);
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "another has it", "driver/bind mark/none");
}

/* What a tenant may write does not make an operator's hostdevs gpupass' own. */
TEST(a_mark_beside_hostdevs_of_others_is_not_adopted)
{
	DomainUse *use;
	HostModel h = two_boards(VFIO, VFIO);

	use = host_domain(&h, "vm1", false, all);
	strv_append(&use->gpupass_groups, "pair0");
	expect(&h, "hostdevs without our alias", "mark/none");
}

TEST(of_a_domain_that_is_not_read_nothing_is_said)
{
	HostModel h = two_boards(VFIO, VFIO);

	host_domain(&h, "vm1", false, none)->unread = strdup("too long");
	host_assignment(&h, "pair0", "vm1", 1, all);
	expect(&h, "not read", "");
}

TEST(without_libvirt_only_drivers_and_boards_are_told)
{
	_cleanup_(drift_freep) Drift *drift = NULL;
	_cleanup_free_ char *found = NULL;
	_cleanup_(host_done) HostModel h = two_boards(VFIO, "nvidia");

	host_assignment(&h, "pair0", "vm1", 9, all);
	drift = find(&h, false, NULL, NULL);
	found = summary(drift);
	assert_string_equal(found, "driver/bind");
}

TEST(a_missing_override_is_told_where_it_was_looked_at)
{
	FunctionFacts facts[] = { { .driver = (char *)VFIO, .driver_override = (char *)VFIO },
				  { .driver = (char *)VFIO } };
	Inspection inspection = { .functions = facts, .n_functions = 2 };
	_cleanup_(drift_freep) Drift *drift = NULL;
	_cleanup_(host_done) HostModel h;

	facts[0].bdf = bdf_of(A0);
	facts[1].bdf = bdf_of(B0);
	h = two_boards(VFIO, VFIO);
	ours(&h, "vm1", false, all);
	host_assignment(&h, "pair0", "vm1", 1, all);
	drift = find(&h, true, &inspection, NULL);
	assert_int_equal(drift->n_items, 1);
	assert_int_equal(drift->items[0].kind, DRIFT_OVERRIDE);
	assert_int_equal(drift->items[0].repair, DRIFT_REPAIR_BIND);
	assert_int_equal(drift->items[0].n_functions, 1);
	assert_true(bdf_equal(&drift->items[0].functions[0], &facts[1].bdf));
}

TEST(what_happened_at_boot_is_told_with_the_driver)
{
	static const char report[] =
		"{\"schema\": \"org.gpupass1.boot/1\", \"notes\": [], \"functions\": ["
		"{\"bdf\": \"" A0 "\", \"group\": \"pair0\", \"domain_uuid\": \"u\", "
		"\"outcome\": \"bound\"},"
		"{\"bdf\": \"" B0 "\", \"group\": \"pair0\", \"domain_uuid\": \"u\", "
		"\"outcome\": \"taken\", \"detail\": \"nvidia was first\"}]}";
	_cleanup_(boot_faults_freep) BootFaults *boot = NULL;
	_cleanup_(drift_freep) Drift *drift = NULL;
	_cleanup_free_ char *message = NULL;
	_cleanup_(host_done) HostModel h;

	assert_int_equal(boot_faults_parse(report, strlen(report), &boot, &message), 0);
	assert_int_equal(boot->n_items, 1);
	h = two_boards(VFIO, "nvidia");
	ours(&h, "vm1", false, all);
	host_assignment(&h, "pair0", "vm1", 1, all);
	drift = find(&h, true, NULL, boot);
	assert_int_equal(drift->n_items, 1);
	assert_string_equal(drift->items[0].what,
			    "2 of 4 functions are not on vfio-pci: " B0
			    " is on nvidia (at boot: taken: nvidia was first)");
}

TEST(a_boot_report_that_is_none_is_refused)
{
	static const struct {
		const char *text;
		int error;
	} rows[] = {
		{ "", -EBADMSG },
		{ "[]", -EPROTO },
		{ "{\"schema\": \"org.gpupass1.boot/9\"}", -EPROTO },
		{ "{\"schema\": \"org.gpupass1.boot/1\"}", -EBADMSG },
		{ "{\"schema\": \"org.gpupass1.boot/1\", \"functions\": [{\"bdf\": \"x\"}]}",
		  -EBADMSG },
		{ "{\"schema\": \"org.gpupass1.boot/1\", \"functions\": [7]}", -EBADMSG },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *message = NULL;
		BootFaults *boot = NULL;
		int r = boot_faults_parse(rows[i].text, strlen(rows[i].text), &boot, &message);

		if (r != rows[i].error || boot)
			fail_msg("row %zu: %d", i, r);
	}
}

static const char boot_report[] =
	"{\"schema\": \"org.gpupass1.boot/1\", \"functions\": ["
	"{\"bdf\": \"0000:41:00.0\", \"group\": \"pair0\", \"domain_uuid\": \"x\","
	" \"outcome\": \"taken\", \"detail\": \"nvidia was first\"},"
	"{\"bdf\": \"0000:41:00.1\", \"group\": \"pair0\", \"domain_uuid\": \"x\","
	" \"outcome\": \"reserved\"},"
	"{\"bdf\": \"0000:61:00.0\", \"group\": \"pair0\", \"domain_uuid\": \"x\","
	" \"outcome\": \"missing\"}], \"notes\": []}";

TEST(the_boot_report_tells_what_was_left_out)
{
	_cleanup_(boot_faults_freep) BootFaults *boot = NULL;
	_cleanup_free_ char *taken = NULL, *missing = NULL;

	assert_int_equal(boot_faults_parse(boot_report, strlen(boot_report), &boot, NULL), 0);
	assert_int_equal(boot->n_items, 2);
	taken = boot_fault_text(&boot->items[0]);
	missing = boot_fault_text(&boot->items[1]);
	assert_string_equal(taken, "taken: nvidia was first");
	assert_string_equal(missing, "missing");
}

static bool take_boot_report(const char *text, size_t size)
{
	BootFaults *boot = NULL;
	int r = boot_faults_parse(text, size, &boot, NULL);

	boot_faults_free(boot);
	return r >= 0;
}

TEST(damaged_boot_reports_are_refused)
{
	garbage_truncations_are_refused(boot_report, take_boot_report);
	garbage_changed_bytes_are_survived(boot_report, take_boot_report);
}

TEST(what_a_job_works_on_is_left_out)
{
	static const GroupState states[] = { GROUP_BINDING, GROUP_ATTACHING, GROUP_QUARANTINED,
					     GROUP_ROLLING_BACK };

	for (size_t i = 0; i < ELEMENTS(states); i++) {
		_cleanup_(drift_freep) Drift *drift = NULL;
		_cleanup_(host_done) HostModel h = two_boards(VFIO, "nvidia");

		host_assignment(&h, "pair0", "vm1", 9, all);
		host_resolve(&h);
		host_observe(&h, false);
		host_group(&h, "pair0")->state = states[i];
		drift = find(&h, true, NULL, NULL);
		assert_int_equal(drift->n_items, 0);
	}
}

TEST(json_has_each_finding_whole)
{
	_cleanup_(drift_freep) Drift *drift = NULL;
	_cleanup_free_ char *text = NULL;
	static const char *const words[] = { "\"org.gpupass1.drift/1\"", "\"kind\": \"driver\"",
					     "\"repair\": \"bind\"",	 "\"group\": \"pair0\"",
					     "\"name\": \"vm1\"",	 "\"" B0 "\"",
					     "gpupass reconcile pair0" };
	_cleanup_(host_done) HostModel h = two_boards(VFIO, "nvidia");

	ours(&h, "vm1", false, all);
	host_assignment(&h, "pair0", "vm1", 1, all);
	drift = find(&h, true, NULL, NULL);
	text = drift_to_json(drift, true);
	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (!strstr(text, words[i]))
			fail_msg("no %s in %s", words[i], text);
	assert_true(drift_has(drift, &drift->items[0]));
}
