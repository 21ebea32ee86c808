/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/domain/xml.h"
#include "core/drift/drift.h"
#include "rig/garbage.h"
#include "rig/host-model.h"
#include "util/json.h"

#define VFIO "vfio-pci"
/* What a tenant may call its domain. */
#define SHELL "x;reboot"
#define HOST_KEY 7
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
		.host_key = HOST_KEY,
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
		/* Somebody copies it into a shell. */
		assert_null(strstr(drift->items[i].remedy, SHELL));
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

static Assignment *record(HostModel *h)
{
	return host_assignment(h, "pair0", "vm1", 1, all);
}

/* vm1, which is shut off, was assigned the group, and its definition has these functions. */
static DomainUse *assigned(HostModel *h, const char *const *functions)
{
	record(h);
	return ours(h, "vm1", false, functions);
}

/* And runs with it. */
static DomainUse *runs(HostModel *h)
{
	record(h);
	return ours(h, "vm1", true, all);
}

/* What is found on two boards that are on these drivers; the row ends with what else there is. */
#define DRIFTS(what, wanted, driver_a, driver_b, ...)                                              \
	do {                                                                                       \
		HostModel host = two_boards(driver_a, driver_b), *h = &host;                       \
                                                                                                   \
		__VA_ARGS__;                                                                       \
		expect(h, what, wanted);                                                           \
	} while (0)
#define NV "nvidia"

TEST(nothing_drifted)
{
	DRIFTS("nobody has it", "", NV, NV, (void)0);
	DRIFTS("assigned, shut off", "", VFIO, VFIO, assigned(h, all));
	DRIFTS("assigned, running", "", VFIO, VFIO, runs(h));
	DRIFTS("a foreign domain", "", VFIO, VFIO, host_domain(h, "vm1", true, all));
	DRIFTS("what it has is not read", "", VFIO, VFIO, record(h),
	       host_domain(h, "vm1", false, none)->unread = strdup("too long"));
}

/* As groups_observe() has it, of a file of kept.d or by KeepBound=. */
static void keep(HostModel *h)
{
	host_resolve(h);
	host_observe(h, false);
	host_group(h, "pair0")->kept = KEPT_ASKED;
}

/* fault 60 */
TEST(a_kept_group_that_is_not_bound_is_bound_again)
{
	DRIFTS("kept, and on nvidia", "driver/bind", NV, NV, keep(h));
	DRIFTS("kept, and half on nvidia", "driver/bind", VFIO, NV, keep(h));
	DRIFTS("kept, and bound", "", VFIO, VFIO, keep(h));
	/* Its domain's affair. */
	DRIFTS("kept, and a foreign domain's", "", VFIO, VFIO, host_domain(h, "vm1", true, all),
	       keep(h));
	DRIFTS("kept, and assigned", "driver/bind", VFIO, NV, assigned(h, all), keep(h));
}

TEST(drivers_that_left_are_bound_again)
{
	DRIFTS("one GPU on nvidia", "driver/bind", VFIO, NV, assigned(h, all));
	DRIFTS("the guest runs without it", "driver/bind", NV, NV, assigned(h, all)->active = true);
	/* A function in a running guest is bound, even if the snapshot says otherwise. */
	DRIFTS("the guest runs with it", "", VFIO, NV, runs(h));
}

TEST(definitions_that_changed_are_defined_again)
{
	DRIFTS("all gone", "lacks-all/define", VFIO, VFIO, assigned(h, none));
	DRIFTS("half gone", "lacks-some/define", VFIO, VFIO, assigned(h, some));
	DRIFTS("managed by libvirt", "edited/define", VFIO, VFIO,
	       assigned(h, all)->hostdevs[2].managed = true);
	DRIFTS("an alias is lost", "edited/define", VFIO, VFIO,
	       runs(h)->hostdevs[1].alias[0] = 'x');
	DRIFTS("the mark is lost", "edited/define", VFIO, VFIO,
	       assigned(h, all)->gpupass_groups[0][0] = 'x');
	/* assign --live: the definition never had the group. */
	DRIFTS("live only", "", VFIO, VFIO, {
		const DomainUse *use = runs(h);

		for (size_t i = 0; i < use->n_hostdevs; i++)
			use->hostdevs[i].config = false;
	});
}

#define VF "0000:42:00.1"

/* pair0 with a VF in VLAN 42, and vm1 that has both as gpupass defines them. */
static DomainUse *with_vf(HostModel *h, bool active)
{
	static const char *const whole[] = { A0, A1, B0, B1, VF, NULL };
	PciFunction *vf = host_function(h, VF, 0x020000, 0x101e, VFIO);
	DomainUse *use = ours(h, "vm1", active, whole);
	_cleanup_free_ char *mac = domain_vf_mac(use->uuid, &use->hostdevs[4].bdf, HOST_KEY);

	vf->virtual_function = true;
	vf->vendor = 0x15b3;
	gpu_set_free(h->set);
	host_seal(h);
	host_companion(h, "pair0", MEMBER_VF, VF);
	h->declarations->items[0].vlan = 42;
	host_assignment(h, "pair0", "vm1", 1, whole);
	memcpy(use->hostdevs[4].mac, mac, DOMAIN_MAC_TEXT_MAX);
	use->hostdevs[4].vlan = 42;
	return use;
}

static Declaration *declared(HostModel *h)
{
	return &h->declarations->items[0];
}

/* promise M3 */
TEST(a_vf_that_lost_its_mac_its_vlan_or_its_interface_is_defined_again)
{
	DRIFTS("as it was defined", "", VFIO, VFIO, with_vf(h, false));
	DRIFTS("a plain hostdev", "edited/define", VFIO, VFIO,
	       with_vf(h, false)->hostdevs[4].mac[0] = '\0');
	DRIFTS("no VLAN", "edited/define", VFIO, VFIO, with_vf(h, false)->hostdevs[4].vlan = 0);
	DRIFTS("another MAC", "edited/define", VFIO, VFIO,
	       with_vf(h, true)->hostdevs[4].mac[16] ^= 1);
	DRIFTS("Vlan= was changed", "edited/define", VFIO, VFIO, with_vf(h, true),
	       declared(h)->vlan = 43);
	DRIFTS("it is declared no more", "", VFIO, VFIO, with_vf(h, false),
	       declarations_remove(h->declarations, "pair0"));
}

TEST(a_renamed_domain_is_recorded_by_its_new_name)
{
	DRIFTS("renamed, and a driver", "renamed/rename driver/bind", VFIO, NV,
	       ours(h, "vm1", false, all), host_assignment(h, "pair0", "oldname", 1, all));
}

TEST(no_remedy_has_a_name_that_a_shell_would_obey)
{
	DRIFTS("a forged mark", "mark/none", NV, NV, ours(h, SHELL, false, some));
	DRIFTS("undefined", "no-domain/none", NV, NV, host_assignment(h, "pair0", SHELL, 1, all));
	DRIFTS("a part live", "guest/none lacks-some/none", VFIO, VFIO, ours(h, SHELL, true, some),
	       host_assignment(h, "pair0", SHELL, 1, all));
}

TEST(what_a_person_must_see_to_keeps_reconcile_off)
{
	/* fault 31 */
	DRIFTS("undefined", "no-domain/none", NV, NV, record(h));
	/* fault 32 */
	DRIFTS("another domain of the name", "other-domain/none", VFIO, VFIO,
	       ours(h, "vm1", false, none)->gpupass_groups[0][0] = 'x',
	       host_assignment(h, "pair0", "vm1", 9, all));
	DRIFTS("taken, and renamed", "taken/none taken/none renamed/none", VFIO, VFIO,
	       ours(h, "vm1", false, all), host_domain(h, "vm2", false, some),
	       host_assignment(h, "pair0", "oldname", 1, all));
	DRIFTS("a vGPU in another domain", "taken/none", VFIO, VFIO, {
		PciMdev *mdev = GROW(h->snapshot->mdevs, h->snapshot->n_mdevs);

		assigned(h, all);
		domain_use_add_mdev(host_domain(h, "vm2", false, none),
				    "4b20d080-1b54-4048-85b3-a6a62d165c01", false, true);
		mdev->uuid = strdup("4b20d080-1b54-4048-85b3-a6a62d165c01");
		mdev->parent = h->snapshot->functions[0]->bdf;
	});
	DRIFTS("a part live, a part defined", "guest/none lacks-some/none", VFIO, VFIO,
	       runs(h)->hostdevs[3].live = false, h->uses->items[0].hostdevs[0].config = false);
	DRIFTS("undefined while it runs", "no-definition/none", VFIO, VFIO,
	       runs(h)->persistent = false);
	DRIFTS("migrated away", "migrated/none", NV, NV, assigned(h, all)->migrated = true);
}

TEST(records_and_boards_that_do_not_fit_are_told)
{
	static const char *const vanished[] = { A0, A1, B0, B1, "0000:99:00.0", NULL };
	static const char *const elsewhere[] = { "0000:91:00.0", "0000:99:00.0", NULL };

	DRIFTS("two records", "two-records/none", VFIO, VFIO, assigned(h, all),
	       host_assignment(h, "pair0", "vm2", 2, some));
	DRIFTS("another board", "board/none", VFIO, VFIO, ours(h, "vm1", false, all),
	       record(h)->functions[0].device = 0x2235);
	DRIFTS("a board is gone", "board/none", VFIO, VFIO, ours(h, "vm1", false, all),
	       host_assignment(h, "pair0", "vm1", 1, vanished));
	DRIFTS("a GPU more than recorded", "board/none board/none", VFIO, VFIO,
	       ours(h, "vm1", false, all), host_assignment(h, "pair0", "vm1", 1, some));
	DRIFTS("no board at all", "no-group/none", VFIO, VFIO,
	       host_assignment(h, "pair7", "vm1", 1, elsewhere));
}

TEST(a_marked_domain_without_a_record_is_adopted_when_whole)
{
	DRIFTS("it runs with all of it", "no-record/record", VFIO, VFIO, ours(h, "vm1", true, all));
	DRIFTS("it has a part", "mark/none", VFIO, VFIO, ours(h, "vm1", false, some));
	DRIFTS("another has a part, too", "taken/none taken/none no-record/none", VFIO, VFIO,
	       ours(h, "vm1", false, all), host_domain(h, "vm2", false, some));
	/* What a tenant may write does not make an operator's hostdevs gpupass' own. */
	DRIFTS("hostdevs without our alias", "mark/none", VFIO, VFIO,
	       strv_append(&host_domain(h, "vm1", false, all)->gpupass_groups, "pair0"));
}

TEST(a_mark_alone_is_told_and_keeps_from_nothing)
{
	DRIFTS("nobody has it", "mark/none", VFIO, VFIO, ours(h, "vm1", false, none));
	DRIFTS("another has it", "driver/bind mark/none", VFIO, NV, assigned(h, all),
	       ours(h, "vm2", false, none));
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
	assigned(&h, all);
	drift = find(&h, true, &inspection, NULL);
	assert_int_equal(drift->n_items, 1);
	assert_int_equal(drift->items[0].kind, DRIFT_OVERRIDE);
	assert_int_equal(drift->items[0].repair, DRIFT_REPAIR_BIND);
	assert_int_equal(drift->items[0].n_functions, 1);
	assert_true(bdf_equal(&drift->items[0].functions[0], &facts[1].bdf));
}

#define OUTCOME(bdf, words)                                                                        \
	"{\"bdf\": \"" bdf "\", \"group\": \"pair0\", \"domain_uuid\": \"x\", \"outcome\": " words \
	"}"
static const char boot_report[] =
	"{\"schema\": \"org.gpupass1.boot/1\", \"functions\": [" OUTCOME(A0, "\"missing\"") "," OUTCOME(
		A1,
		"\"reserved\"") "," OUTCOME(B0,
					    "\"taken\", \"detail\": \"nvidia was first\"") "," OUTCOME(B1,
												       "\"bound\"") "], \"notes\": []}";

TEST(what_happened_at_boot_is_told_with_the_driver)
{
	_cleanup_(boot_faults_freep) BootFaults *boot = NULL;
	_cleanup_(drift_freep) Drift *drift = NULL;
	_cleanup_free_ char *message = NULL;
	_cleanup_(host_done) HostModel h;

	assert_int_equal(boot_faults_parse(boot_report, strlen(boot_report), &boot, &message), 0);
	h = two_boards(VFIO, "nvidia");
	assigned(&h, all);
	drift = find(&h, true, NULL, boot);
	assert_int_equal(drift->n_items, 1);
	assert_string_equal(drift->items[0].what,
			    "2 of 4 functions are not on vfio-pci: " B0
			    " is on nvidia (at boot: taken: nvidia was first)");
}

/* Its ids and its place are the record's: only the boot has read its serial number. */
TEST(what_the_boot_found_changed_is_not_bound_again)
{
	static const char text[] = "{\"schema\": \"org.gpupass1.boot/1\", \"functions\": [" OUTCOME(
		B0, "\"changed\"") "], \"notes\": []}";
	_cleanup_(boot_faults_freep) BootFaults *boot = NULL;

	assert_int_equal(boot_faults_parse(text, strlen(text), &boot, NULL), 0);
	for (int moved = 0; moved < 2; moved++) {
		_cleanup_(drift_freep) Drift *drift = NULL;
		_cleanup_(host_done) HostModel h = two_boards(VFIO, moved ? "nvidia" : VFIO);

		assigned(&h, all);
		drift = find(&h, true, NULL, boot);
		assert_int_equal(drift->n_items > 0, moved);
		if (moved)
			assert_int_equal(drift->items[0].kind, DRIFT_BOARD);
		for (size_t i = 0; i < drift->n_items; i++)
			if (drift->items[i].kind == DRIFT_BOARD)
				assert_int_equal(drift->items[i].repair, DRIFT_REPAIR_NONE);
	}
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

TEST(the_boot_report_tells_what_was_left_out)
{
	_cleanup_(boot_faults_freep) BootFaults *boot = NULL;
	_cleanup_free_ char *taken = NULL, *missing = NULL;

	assert_int_equal(boot_faults_parse(boot_report, strlen(boot_report), &boot, NULL), 0);
	assert_int_equal(boot->n_items, 2);
	missing = boot_fault_text(&boot->items[0]);
	taken = boot_fault_text(&boot->items[1]);
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
	static const char wanted[] =
		"{\"schema\": \"org.gpupass1.drift/1\", \"domains_known\": true, \"findings\": [{"
		"\"kind\": \"driver\", \"repair\": \"bind\", \"group\": \"pair0\", "
		"\"domain\": {\"uuid\": \"00000000-0000-0000-0000-000000000001\", \"name\": \"vm1\"}, "
		"\"functions\": [\"" B0 "\", \"" B1 "\"], "
		"\"what\": \"2 of 4 functions are not on vfio-pci: " B0 " is on nvidia\", "
		"\"remedy\": \"gpupass reconcile pair0\"}]}";
	_cleanup_(drift_freep) Drift *drift = NULL;
	_cleanup_json_ json_t *json = NULL;
	_cleanup_free_ char *text = NULL, *compact = NULL;
	_cleanup_(host_done) HostModel h = two_boards(VFIO, "nvidia");

	assigned(&h, all);
	drift = find(&h, true, NULL, NULL);
	text = drift_to_json(drift);
	json = json_loads(text, 0, NULL);
	compact = json_dumps(json, 0);
	assert_string_equal(compact, wanted);
	assert_true(drift_has(drift, &drift->items[0]));
}

/* What a record has that says so. */
static void wants_peers(HostModel *h, PeerAccess wanted)
{
	host_assignment(h, "pair0", "vm1", 1, all)->peer_access = wanted;
}

TEST(peer_access_that_its_assignment_has_is_mended_and_other_is_told)
{
	static const struct {
		PeerAccess wanted;
		bool first, second;
		const char *found, *driver;
	} rows[] = {
		{ PEER_ACCESS_OFF, false, false, "", VFIO },
		{ PEER_ACCESS_OFF, true, false, "edited/none", VFIO },
		/* It hides nothing. */
		{ PEER_ACCESS_OFF, true, false, "edited/none driver/bind", "nvidia" },
		{ PEER_ACCESS_ON, true, true, "", VFIO },
		{ PEER_ACCESS_ON, true, false, "edited/define", VFIO },
		{ PEER_ACCESS_UNSAFE, false, false, "edited/define edited/define", VFIO },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		HostModel h = two_boards(VFIO, rows[i].driver);
		DomainUse *use = ours(&h, "vm1", false, all);

		use->hostdevs[0].clique = rows[i].first;
		use->hostdevs[2].clique = rows[i].second;
		wants_peers(&h, rows[i].wanted);
		expect(&h, "peer access", rows[i].found);
		host_done(&h);
	}
}
