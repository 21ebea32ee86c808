/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group whose VF is not there yet: it is made, kept to its own address, given, and taken back. */
#include "rig/test.h"

#include "job/clear.h"
#include "job/prepare.h"
#include "rig/bdf.h"
#include "rig/job-rig.h"
#include "util/text.h"
#include "util/xalloc.h"

#define WITH "[Group]\nName=pair0\nGpu=18:00.0\nGpu=19:00.0\nWith=vf:"
#define BACK release_request("vm42")

static bool is_there(const Rig *rig)
{
	return !rig->fake.hides_vfs;
}

/* promises M3 */
TEST(a_vf_is_made_given_as_an_interface_and_taken_back)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();
	const Bdf vf = bdf_of(RIG_VF);
	_cleanup_free_ char *mac = domain_vf_mac(VM42, &vf, rig->place.host_key);
	const char *xml;

	rig_lacks_vf(rig);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_GROUP_BUSY, "VF " RIG_VF " is yet to be made");
	rig_must(rig, &PREPARE);
	rig_expect_steps(rig, "preflight: done, make VFs: done, verify: done");
	assert_true(is_there(rig) && rig->fake.spoof_check && rig->fake.autoprobe_off);
	rig_must(rig, &PREPARE);
	rig_expect_steps(rig, "");
	rig_must(rig, &ASSIGN);
	xml = fake_domain(&rig->fake, "vm42")->config_xml;
	assert_non_null(strstr(xml, mac));
	assert_non_null(strstr(xml, "<tag id=\"42\"/>"));
	assert_true(rig_is_on(rig, RIG_VF, "vfio-pci", "vfio-pci"));
	rig_must(rig, &BACK);
	assert_null(strstr(fake_domain(&rig->fake, "vm42")->config_xml, "<tag"));
	/* No driver of the host had it, and none has it now. */
	assert_true(rig_is_on(rig, RIG_VF, "", ""));
}

static void edit(Rig *rig, const char *from, const char *to)
{
	FakeDomain *vm42 = fake_domain(&rig->fake, "vm42");
	char *at = strstr(vm42->config_xml, from), *edited;

	assert_non_null(at);
	edited = strf("%.*s%s%s", (int)(at - vm42->config_xml), vm42->config_xml, to,
		      at + strlen(from));
	free(vm42->config_xml);
	vm42->config_xml = edited;
}

/* promises M3 */
TEST(a_vf_that_an_edit_took_out_of_its_vlan_is_put_back)
{
	static const JobRequest mends[] = { RECONCILE, ASSIGN };

	for (size_t i = 0; i < ELEMENTS(mends); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();
		_cleanup_free_ char *before = NULL;

		rig_lacks_vf(rig);
		rig_must(rig, &PREPARE);
		rig_must(rig, &ASSIGN);
		before = xstrdup(fake_domain(&rig->fake, "vm42")->config_xml);
		rig_must(rig, &mends[i]);
		rig_expect_steps(rig, "");
		edit(rig, "<tag id=\"42\"/>", "<tag id=\"43\"/>");
		rig_must(rig, &mends[i]);
		assert_true(
			domain_xml_equivalent(before, fake_domain(&rig->fake, "vm42")->config_xml));
		rig_declare(rig, WITH RIG_VF "\nVlan=43\n");
		rig_must(rig, &mends[i]);
		assert_non_null(
			strstr(fake_domain(&rig->fake, "vm42")->config_xml, "<tag id=\"43\"/>"));
	}
}

/* It is in that network, whatever is declared of it by now. */
/* promises M3 */
TEST(a_release_that_fails_gives_a_running_guest_its_vf_in_the_vlan_that_it_had)
{
	static const char *const declared[] = { WITH RIG_VF "\nVlan=43\n", WITH RIG_VF "\n",
						"[Group]\nName=pair0\nGpu=18:00.0\nGpu=19:00.0\n" };
	const Bdf vf = bdf_of(RIG_VF);

	for (size_t i = 0; i < ELEMENTS(declared); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();
		_cleanup_free_ char *mac = domain_vf_mac(VM42, &vf, rig->place.host_key);
		const char *live;

		rig_lacks_vf(rig);
		rig_must(rig, &PREPARE);
		rig_must(rig, &ASSIGN);
		fake_start(&rig->fake, "vm42");
		rig_declare(rig, declared[i]);
		fake_watch(&rig->fake);
		fake_fail(&rig->fake, &(FakeFault){ .op = FAKE_DETACH,
						    .nth = 2,
						    .problem = GPUPASS_ERROR_ATTACH_FAILED });
		rig_try(rig, &BACK);
		rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_ATTACH_FAILED, "");
		assert_int_equal(rig->fake.calls[FAKE_DETACH], 2);
		live = fake_domain(&rig->fake, "vm42")->live_xml;
		assert_true(fake_xml_has(live, &vf));
		assert_non_null(strstr(live, mac));
		assert_non_null(strstr(live, "<tag id=\"42\"/>"));
	}
}

/* A boot takes the VFs: they are made again, and nobody may start with half of the group. */
/* fault E4 */
TEST(after_a_boot_the_vf_of_an_assigned_group_is_made_again)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();

	rig_lacks_vf(rig);
	rig_must(rig, &PREPARE);
	rig_must(rig, &ASSIGN);
	rig->fake.hides_vfs = true;
	rig->fake.spoof_check = false;
	fake_set_driver(&rig->fake, RIG_VF, NULL, NULL);
	rig_fails(rig, &RECONCILE, GPUPASS_ERROR_GROUP_BUSY, "VF " RIG_VF " is yet to be made");
	rig_must(rig, &PREPARE);
	rig_expect_steps(rig, "preflight: done, make VFs: done, verify: done");
	assert_true(is_there(rig) && rig->fake.spoof_check);
	assert_true(rig_is_on(rig, RIG_VF, "vfio-pci", "vfio-pci"));
}

/* It is in another network, and may be the host's own. */
/* fault E4 */
TEST(after_a_boot_no_vf_is_made_of_another_nic)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();
	const Bdf bdf = bdf_of(RIG_NIC);
	PciFunction *nic;

	rig_lacks_vf(rig);
	rig_must(rig, &PREPARE);
	rig_must(rig, &ASSIGN);
	rig->fake.hides_vfs = true;
	rig->fake.spoof_check = false;
	nic = FIND_OF(rig->fake.snapshot->functions, rig->fake.snapshot->n_functions,
		      bdf_equal(&it->bdf, &bdf));
	assert_true(nic->n_upstream > 0);
	nic->upstream[0].device ^= 1;
	rig_fails(rig, &PREPARE, GPUPASS_ERROR_HOST_IN_USE, "as a VF of it " RIG_VF " is at ");
	assert_false(is_there(rig));
}

/* And at its NIC's address there may be another one, which the host uses. */
/* fault E4 */
TEST(after_a_reboot_a_prepare_of_vfs_is_not_undone)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();
	JournalJob *log = NULL;

	rig_lacks_vf(rig);
	rig_plan(rig, &PREPARE);
	assert_int_equal(journal_begin(&rig->journal, rig->last_job, rig->planned->plan, NULL, NULL,
				       2, &log),
			 0);
	journal_job_free(log);
	rig->fake.hides_vfs = false;
	free(rig->journal.boot_id);
	rig->journal.boot_id = xstrdup("the next boot");
	rig_new_claims(rig);
	rig_recover(rig, RECOVERED_UNDONE, NULL);
	assert_true(is_there(rig));
}

/*
 * As after something else made it anew, or at the start of another daemon. vfio-pci takes it by
 * itself where its ids are among that module's options.
 */
static void is_new(Rig *rig, bool bound)
{
	vf_watch_forget(rig->vfs, NULL, NULL);
	fake_set_driver(&rig->fake, RIG_VF, bound ? "vfio-pci" : NULL, NULL);
}

static CompanionNeed need(Rig *rig)
{
	_cleanup_(prepared_freep) Prepared *p = xcalloc(1, sizeof(Prepared));

	assert_int_equal(prepare_look(&rig->place, INSPECT_CONFIG_NOT, true, p, NULL), 0);
	return group_set_find(p->inventory->groups, "pair0")->companions[0].need;
}

/* promises M3 */
/* fault E4 */
TEST(a_vf_that_something_else_made_anew_is_kept_to_its_address_first)
{
	for (int i = 0; i < 4; i++) {
		bool ruled = i & 1, bound = i & 2;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rig_lacks_vf(rig);
		rig_must(rig, &PREPARE);
		assert_int_equal(need(rig), COMPANION_READY);
		is_new(rig, bound);
		rig_fails(rig, &ASSIGN, GPUPASS_ERROR_GROUP_BUSY,
			  "VF " RIG_VF " is yet to be kept to its own address");
		rig_must(rig, &PREPARE);
		rig_must(rig, &ASSIGN);
		is_new(rig, bound);
		rig->fake.spoof_check = ruled;
		assert_int_equal(need(rig), COMPANION_TO_RULE);
		rig_must(rig, &PREPARE);
		rig_expect_steps(
			rig, ruled && bound ? "" : "preflight: done, make VFs: done, verify: done");
		assert_true(rig->fake.spoof_check);
		assert_int_equal(need(rig), COMPANION_READY);
		/* Also one that was ruled when it came, as most are. */
		assert_true(rig_is_on(rig, RIG_VF, "vfio-pci", bound ? "" : "vfio-pci"));
	}
}

/* What KeepBound= keeps may have been written down while the VF was away. */
TEST(a_vf_of_a_kept_group_is_bound_as_it_is_made)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();

	rig_lacks_vf(rig);
	rig_declare(rig, "[Group]\nName=pair0\nGpu=18:00.0\nGpu=19:00.0\n");
	rig_must(rig, &KEEP);
	rig_declare(rig, WITH RIG_VF "\n");
	rig_must(rig, &PREPARE);
	assert_true(rig_is_on(rig, RIG_VF, "vfio-pci", "vfio-pci"));
}

/* Those that end and come again with another group's have no rules. */
TEST(making_vfs_for_one_group_has_the_others_looked_at)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();

	rig_lacks_vf(rig);
	vf_watch_add(rig->vfs, (Bdf[]){ bdf_of(RIG_OTHER_VF) }, 1);
	rig_must(rig, &PREPARE);
	assert_int_equal(need(rig), COMPANION_READY);
	rig_declare(rig, WITH RIG_OTHER_VF "\n");
	assert_int_equal(need(rig), COMPANION_TO_RULE);
}

/* Until its VF is made nobody else can have one of that NIC, and an erase takes hours. */
TEST(what_is_to_be_erased_waits_until_the_vf_is_made)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();

	rig_lacks_vf(rig);
	rig_declare(rig, WITH RIG_VF "\nWith=nvme:" NVME "\nErase=yes\n");
	rig_must(rig, &PREPARE);
	rig_expect_steps(rig, "preflight: done, make VFs: done, verify: done");
	rig_must(rig, &PREPARE);
	rig_expect_steps(rig, "preflight: done, erase: done, verify: done");
}

/* No boot makes a VF that no record names; a GPU that is gone is another matter. */
/* fault E4 */
TEST(a_quarantine_of_a_vf_that_a_boot_took_can_be_cleared)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();
	const Bdf functions[] = { bdf_of("0000:18:00.0"), bdf_of("0000:19:00.0"), bdf_of(RIG_VF) };

	rig_lacks_vf(rig);
	claims_add_quarantine(rig->claims, "pair0", functions, ELEMENTS(functions), NULL, "x");
	rig_fails(rig, &PREPARE, GPUPASS_ERROR_QUARANTINED, "");
	assert_int_equal(quarantine_lift(&rig->place, "pair0", NULL), 0);
	rig_must(rig, &PREPARE);
}

static void taken(Rig *rig)
{
	rig->fake.hides_vfs = false;
	fake_set_driver(&rig->fake, RIG_OTHER_VF, "ixgbevf", NULL);
}

static void given(Rig *rig)
{
	rig->fake.hides_vfs = false;
	fake_set_driver(&rig->fake, RIG_VF, "vfio-pci", "vfio-pci");
	rig_declare(rig, WITH
		    "61:10.4\n[Group]\nName=pair1\nGpu=9a:00.0\nGpu=9b:00.0\nWith=vf:" RIG_VF "\n");
}

static void named(Rig *rig)
{
	const Bdf vf = bdf_of(RIG_OTHER_VF);
	_cleanup_free_ char *hostdev = domain_xml_hostdev("none", 0, &vf);
	FakeDomain *vm43;
	char *with;

	rig->fake.hides_vfs = false;
	fake_add_domain(&rig->fake, "vm43", "q35", NULL);
	vm43 = fake_domain(&rig->fake, "vm43");
	with = fake_xml_attach(vm43->config_xml, hostdev);
	free(vm43->config_xml);
	vm43->config_xml = with;
}

static void without_driver(Rig *rig)
{
	fake_set_driver(&rig->fake, RIG_NIC, NULL, NULL);
}

/* promises M4 */
TEST(the_number_of_vfs_changes_only_while_nobody_has_one)
{
	static const struct {
		void (*arrange)(Rig *rig);
		const char *with, *words;
	} rows[] = {
		{ taken, "61:10.4\n", RIG_OTHER_VF " is on ixgbevf" },
		{ named, "61:10.4\n", "domain vm43 has " RIG_OTHER_VF },
		{ given, NULL, RIG_VF " is on vfio-pci, in group pair1" },
		{ without_driver, RIG_VF "\n", "it is on no driver" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();
		_cleanup_free_ char *text = strf(WITH "%s", str_or_empty(rows[i].with));

		rig_lacks_vf(rig);
		if (rows[i].with)
			rig_declare(rig, text);
		rows[i].arrange(rig);
		rig_fails(rig, &PREPARE, GPUPASS_ERROR_HOST_IN_USE, rows[i].words);
	}
}

/* Nobody is given one that could send as another. */
/* fault E4 */
TEST(a_vf_that_cannot_be_kept_to_its_address_is_not_left_behind)
{
	static const FakeFault faults[] = {
		{ .op = FAKE_VFS, .nth = 1, .error = -EIO },
		{ .op = FAKE_VFS, .nth = 1, .late = true, .error = -EIO },
		{ .op = FAKE_VFS, .nth = 2, .error = -EIO },
	};

	for (size_t i = 0; i < ELEMENTS(faults); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rig_lacks_vf(rig);
		fake_watch(&rig->fake);
		fake_fail(&rig->fake, &faults[i]);
		rig_fails(rig, &PREPARE,
			  i < 2 ? GPUPASS_ERROR_BIND_FAILED : GPUPASS_ERROR_PART_FAILED, "");
		assert_false(is_there(rig));
		/* As the host had it. */
		assert_false(rig->fake.autoprobe_off);
	}
}
