/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group with an NVMe: no domain has it before that is erased; what is odd is kept apart. */
#include "rig/test.h"

#include <limits.h>
#include <string.h>

#include "core/group/observe.h"
#include "job/clear.h"
#include "job/prepare.h"
#include "rig/bdf.h"
#include "rig/job-rig.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define UNASKED group_request(OPERATION_PREPARE, "pair0", .plan.unasked = true)
#define OTHER assign_request("vm77", "pair0")
#define UNASKED group_request(OPERATION_PREPARE, "pair0", .plan.unasked = true)

/* How often an erase was begun. */
static unsigned erases(const Rig *rig)
{
	unsigned n = 0;

	for (char **line = rig->fake.log; line && *line; line++)
		n += str_starts_with(*line, "erase ");
	return n;
}

static const TenantMark *mark_of(const Tenants *tenants)
{
	const Bdf bdf = bdf_of(NVME);
	const TenantFile *file = tenants_find(tenants, &bdf);

	return file ? file->mark : NULL;
}

static void expect_mark(Rig *rig, TenantState state, bool receipt)
{
	_cleanup_(tenants_freep) Tenants *tenants = tenant_store_load(&rig->tenants);
	const TenantMark *mark = mark_of(tenants);

	assert_non_null(mark);
	assert_int_equal(mark->state, state);
	assert_int_equal(mark->n_erases, receipt);
}

/* The domain that may have it back, as far as the mark says: NULL: none. */
static void expect_tenant(Rig *rig, const char *uuid)
{
	_cleanup_(tenants_freep) Tenants *tenants = tenant_store_load(&rig->tenants);

	assert_true(str_equal(mark_of(tenants)->domain_uuid, uuid));
}

static void expect_cleared(Rig *rig, bool cleared)
{
	_cleanup_(tenants_freep) Tenants *tenants = tenant_store_load(&rig->tenants);

	assert_int_equal(mark_of(tenants)->cleared, cleared);
}

static void expect_state(Rig *rig, GroupState state)
{
	_cleanup_(prepared_freep) Prepared *p = xcalloc(1, sizeof(Prepared));

	assert_int_equal(prepare_look(&rig->place, INSPECT_CONFIG_NOT, true, p, NULL), 0);
	assert_string_equal(
		group_state_to_string(group_set_find(p->inventory->groups, "pair0")->state),
		group_state_to_string(state));
}

static void expect_reason(Rig *rig, const char *reason)
{
	_cleanup_(prepared_freep) Prepared *p = xcalloc(1, sizeof(Prepared));

	assert_int_equal(prepare_look(&rig->place, INSPECT_CONFIG_NOT, true, p, NULL), 0);
	assert_string_equal(group_set_find(p->inventory->groups, "pair0")->reason, reason);
}

static Rig *rig_with(bool erase)
{
	Rig *rig = rig_new();

	rig_unready(rig);
	rig_declare_nvme(rig, erase);
	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	return rig;
}

/* vm42 had it, after the first erase; nothing allows another one but that this was ours. */
static Rig *rig_returned(void)
{
	Rig *rig = rig_with(true);

	rig_must(rig, &PREPARE);
	rig_declare_nvme(rig, false);
	rig_must(rig, &ASSIGN);
	expect_mark(rig, TENANT_DIRTY, true);
	rig_must(rig, &RELEASE);
	expect_mark(rig, TENANT_DIRTY, true);
	fake_watch(&rig->fake);
	return rig;
}

static void lift(Rig *rig)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(quarantine_lift(&rig->place, "pair0", &problem), 0);
}

TEST(a_domain_has_to_wait_for_the_erase)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	expect_state(rig, GROUP_UNREADY);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_GROUP_BUSY, "NVMe " NVME " is yet to be erased");
	rig_must(rig, &PREPARE);
	rig_expect_steps(rig, "preflight: done, erase: done, verify: done");
	assert_string_equal(rig->fake.log[0], "erase " NVME " --way=format-crypto");
	assert_true(rig_is_on(rig, NVME, "nvme", ""));
	expect_mark(rig, TENANT_CLEAN, true);
	expect_state(rig, GROUP_FREE);
	rig_must(rig, &PREPARE);
	assert_false(rig->last.changed);
	rig_must(rig, &ASSIGN);
}

TEST(a_group_of_which_one_gpu_is_elsewhere_waits_for_the_erase_too)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	fake_set_driver(&rig->fake, "0000:61:00.0", "vfio-pci", "vfio-pci");
	expect_state(rig, GROUP_DEGRADED);
	expect_reason(rig, "0000:61:00.0 is on vfio-pci, but 0000:41:00.0 on nvidia; NVMe " NVME
			   " is yet to be erased");
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_GROUP_BUSY, "NVMe " NVME " is yet to be erased");
	rig_must(rig, &PREPARE);
	expect_mark(rig, TENANT_CLEAN, true);
	rig_must(rig, &ASSIGN);
}

/* promise M6 */
TEST(what_a_tenant_had_is_erased_before_the_next_one)
{
	_cleanup_(rig_freep) Rig *rig = rig_returned();

	expect_state(rig, GROUP_UNREADY);
	rig_fails(rig, &OTHER, GPUPASS_ERROR_GROUP_BUSY, "yet to be erased");
	/* Also before the one that had it. */
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_GROUP_BUSY, "yet to be erased");
	rig_fails(rig, &assign_request("vm77", "pair0", .plan.accept_dirty = true),
		  GPUPASS_ERROR_GROUP_BUSY, "yet to be erased");
	rig_must(rig, &PREPARE);
	assert_int_equal(erases(rig), 1);
	rig_must(rig, &OTHER);
}

/* promise M6 */
TEST(a_tenants_own_labels_do_not_keep_it_from_being_erased)
{
	_cleanup_(rig_freep) Rig *first = rig_with(true), *rig = rig_returned();

	first->fake.nvme.labelled = rig->fake.nvme.labelled = true;
	rig_fails(first, &PREPARE, GPUPASS_ERROR_HOST_IN_USE, "named in /etc/fstab: /data");
	rig_must(rig, &PREPARE);
	expect_mark(rig, TENANT_CLEAN, true);
}

/* promise M7 */
TEST(what_nobody_said_may_be_erased_is_not)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(false);

	expect_state(rig, GROUP_FREE);
	rig_must(rig, &PREPARE);
	assert_false(rig->last.changed);
	assert_int_equal(erases(rig), 0);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_HOST_IN_USE, "nobody said that it may be");
}

TEST(a_sanitize_is_waited_for_and_tells_how_far_it_is)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig->fake.nvme = (FakeNvme){ .sanitizes = true, .looks = 3 };
	rig_must(rig, &PREPARE);
	assert_int_equal(erases(rig), 1);
	assert_true(strv_contains(rig->last.progress, NVME ": 50 %"));
	assert_non_null(strstr(rig->last.note.text, NVME " was erased by sanitize-block in "));
	expect_mark(rig, TENANT_CLEAN, true);
}

TEST(a_kept_group_has_its_nvme_on_vfio_again)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig_must(rig, &KEEP);
	assert_true(rig_is_on(rig, NVME, "vfio-pci", "vfio-pci"));
	rig_must(rig, &PREPARE);
	assert_true(rig_is_on(rig, NVME, "vfio-pci", "vfio-pci"));
	expect_state(rig, GROUP_BOUND);
}

/* "" in a row: it is done. */
static void fails_apart(Rig *rig, const char *words)
{
	rig_try(rig, &PREPARE);
	rig_expect(rig, JOB_INCOMPLETE, GPUPASS_ERROR_RESET_FAILED, words);
	assert_non_null(strstr(rig->last.message, "pair0 is quarantined"));
	assert_int_equal(rig->last.note.kind, JOB_NOTE_RESET_FAILED);
	assert_true(rig_is_on(rig, NVME, "nvme", ""));
}

/* fault E1 */
TEST(an_erase_that_fails_keeps_the_group_apart_until_a_person_tries_again)
{
	_cleanup_(rig_freep) Rig *rig = rig_returned();

	rig->fake.nvme.fails = "it is worn out";
	fails_apart(rig, "it is worn out");
	expect_mark(rig, TENANT_DIRTY, true);
	rig_fails(rig, &PREPARE, GPUPASS_ERROR_QUARANTINED, "it is worn out");
	lift(rig);
	fails_apart(rig, "it is worn out");
	lift(rig);
	rig->fake.nvme.fails = NULL;
	rig_must(rig, &PREPARE);
	expect_mark(rig, TENANT_CLEAN, true);
}

/* fault E1 */
TEST(a_part_that_does_not_answer_keeps_the_group_apart)
{
	_cleanup_(rig_freep) Rig *rig = rig_returned();

	fake_fail(&rig->fake, &(FakeFault){ .op = FAKE_ERASE, .nth = 1, .error = -EPROTO });
	fails_apart(rig, "it fails as it was told to");
	expect_mark(rig, TENANT_DIRTY, true);
}

/* fault E1 */
TEST(what_was_taken_out_of_the_host_and_its_group_keeps_no_quarantine)
{
	_cleanup_(rig_freep) Rig *rig = rig_returned();
	_cleanup_(problem_freep) Problem *problem = NULL;
	PciSnapshot *snapshot = rig->fake.snapshot;

	rig->fake.nvme.fails = "it is worn out";
	fails_apart(rig, "it is worn out");
	snapshot->n_functions--;
	/* It may come back as long as it is declared. */
	assert_int_not_equal(quarantine_lift(&rig->place, "pair0", &problem), 0);
	rig_declare(rig, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n");
	lift(rig);
	rig_must(rig, &ASSIGN);
	snapshot->n_functions++;
}

/* promise M9 */
/* fault E3 */
TEST(what_a_tenant_has_changed_is_for_a_person_to_judge)
{
	_cleanup_(rig_freep) Rig *rig = rig_returned();

	rig->fake.nvme.firmware = "evil";
	fails_apart(rig, "its firmware is evil, and was 1.0");
	assert_int_equal(erases(rig), 0);
	lift(rig);
	rig_must(rig, &PREPARE);
	assert_int_equal(erases(rig), 1);
	/* And what it is by then counts from then on. */
	rig_must(rig, &ASSIGN);
	rig_must(rig, &RELEASE);
	rig_must(rig, &PREPARE);
}

/* fault E3 */
TEST(another_nvme_in_its_place_is_not_erased_for_that)
{
	_cleanup_(rig_freep) Rig *rig = rig_returned();

	rig->fake.nvme.serial = "S2";
	rig_fails(rig, &PREPARE, GPUPASS_ERROR_HOST_IN_USE, "its serial number is S2, and was S1");
	assert_int_equal(erases(rig), 0);
	rig_declare_nvme(rig, true);
	rig_must(rig, &PREPARE);
	assert_int_equal(erases(rig), 1);
}

/* S2 is in its slot by now, and was never sanitized. */
static void swap_when_begun(FakeHost *fake, FakeOp op, _unused_ unsigned nth)
{
	if (op != FAKE_INSPECT || fake->calls[FAKE_ERASE] == 0)
		return;
	fake->nvme.serial = "S2";
	fake->nvme.left = 0;
}

/* fault E3 */
TEST(one_that_is_put_in_while_another_is_sanitized_is_not_erased)
{
	_cleanup_(rig_freep) Rig *rig = rig_returned();

	rig->fake.nvme = (FakeNvme){ .sanitizes = true, .looks = 5 };
	rig->fake.hook = swap_when_begun;
	fails_apart(rig, "its serial number is S2, and was S1");
	assert_int_equal(erases(rig), 1);
	expect_mark(rig, TENANT_DIRTY, true);
}

/* Its labels are the host's own: no tenant wrote them. */
/* promise M5 */
/* fault E3 */
TEST(a_disk_of_the_hosts_in_its_place_is_not_erased_when_a_person_asks)
{
	_cleanup_(rig_freep) Rig *rig = rig_returned();

	rig_declare_nvme(rig, true);
	rig->fake.nvme.serial = "S2";
	rig->fake.nvme.labelled = true;
	rig_fails(rig, &PREPARE, GPUPASS_ERROR_HOST_IN_USE, "named in /etc/fstab: /data");
	assert_int_equal(erases(rig), 0);
	expect_tenant(rig, VM42);
}

/* promise M6 */
TEST(what_the_host_wrote_on_a_clean_one_is_dirty_until_it_is_erased_again)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig->fake.nvme.sanitizes = true;
	rig_must(rig, &PREPARE);
	rig_must(rig, &ASSIGN);
	rig_must(rig, &RELEASE);
	rig_must(rig, &PREPARE);
	expect_tenant(rig, VM42);
	rig->fake.nvme.erased = false;
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_HOST_IN_USE, "written on since gpupass erased it");
	rig_must(rig, &UNASKED);
	assert_false(rig->last.changed);
	rig->fake.nvme.fails = "it is worn out";
	fails_apart(rig, "it is worn out");
	expect_mark(rig, TENANT_DIRTY, true);
	/* What is left of it is nobody's, and no quarantine that is lifted gives it to one. */
	expect_tenant(rig, NULL);
	lift(rig);
	rig->fake.nvme.fails = NULL;
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_GROUP_BUSY, "yet to be erased");
	rig_must(rig, &PREPARE);
	expect_mark(rig, TENANT_CLEAN, true);
	rig_must(rig, &ASSIGN);
}

/* fault E3 */
TEST(another_one_where_a_clean_one_was_is_given_to_nobody)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig_must(rig, &PREPARE);
	rig->fake.nvme.serial = "S2";
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_HOST_IN_USE, "its serial number is S2, and was S1");
	rig_must(rig, &PREPARE);
	assert_int_equal(erases(rig), 2);
	rig_must(rig, &ASSIGN);
}

/* No tenant has changed it: there is nothing to judge. */
/* fault E3 */
TEST(what_the_host_changed_on_a_clean_one_is_erased_and_not_kept_apart)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig_must(rig, &PREPARE);
	rig->fake.nvme.firmware = "2.0";
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_HOST_IN_USE, "its firmware is 2.0, and was 1.0");
	rig->fake.nvme.fails = "it is worn out";
	fails_apart(rig, "it is worn out");
	lift(rig);
	rig->fake.nvme.fails = NULL;
	rig_must(rig, &PREPARE);
	rig_must(rig, &ASSIGN);
}

/* fault E3 */
TEST(what_is_new_at_the_address_is_erased_only_when_a_person_asks)
{
	static const struct {
		const char *serial, *tells;
		unsigned device;
	} rows[] = {
		{ "S2", "its serial number is S2, and was S1", 0 },
		{ "S1", "its PCI ids are ", 1 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_with(true);
		PciFunction *nvme;

		rig_must(rig, &UNASKED); /* the first, which the declaration asks for */
		rig_must(rig, &ASSIGN);
		rig_must(rig, &RELEASE);
		fake_watch(&rig->fake);
		rig->fake.nvme.serial = rows[i].serial;
		nvme = rig->fake.snapshot->functions[rig->fake.snapshot->n_functions - 1];
		nvme->device = (uint16_t)(nvme->device + rows[i].device);
		rig_fails(rig, &UNASKED, GPUPASS_ERROR_HOST_IN_USE, rows[i].tells);
		assert_int_equal(erases(rig), 0);
		expect_tenant(rig, VM42);
		rig->fake.nvme.fails = "it is worn out";
		fails_apart(rig, "it is worn out");
		expect_tenant(rig, NULL);
		lift(rig);
		rig->fake.nvme.fails = NULL;
		rig_must(rig, &PREPARE);
		assert_int_equal(erases(rig), 2);
	}
}

static void save_file(Rig *rig, const char *text)
{
	_cleanup_free_ char *name = tenant_file_name(&(Bdf){ 0, 0xe1, 0, 0 });

	assert_int_equal(file_replace_at(rig->tenants.dir_fd, name, text, strlen(text), 0600), 0);
}

static void save_mark(Rig *rig, const char *name, bool begun, unsigned device)
{
	const PciFunction *nvme =
		rig->fake.snapshot->functions[rig->fake.snapshot->n_functions - 1];
	TenantMark mark = { .bdf = nvme->bdf,
			    PCI_IDS_OF(nvme),
			    .state = TENANT_DIRTY,
			    .domain_uuid = name ? (char *)VM42 : NULL,
			    .domain_name = (char *)name,
			    .why = (char *)"seen",
			    .begun = begun };

	mark.device = (uint16_t)(mark.device + device);
	assert_int_equal(tenant_store_save(&rig->tenants, &mark, 1), 0);
}

/* promise M7 */
TEST(what_a_domain_left_without_gpupass_is_erased_only_when_a_person_asks)
{
	static const struct {
		const char *file, *name, *tells;
		bool begun;
		unsigned device;
	} rows[] = {
		{ NULL, "vm9", "last used by vm9", false, 0 },
		{ NULL, NULL, "a tenant that is not known", false, 0 },
		{ "torn", NULL, "a tenant that is not known", false, 0 },
		/* What was begun to be erased was another device. */
		{ NULL, NULL, "a tenant that is not known", true, 1 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_with(true);

		if (rows[i].file)
			save_file(rig, rows[i].file);
		else
			save_mark(rig, rows[i].name, rows[i].begun, rows[i].device);
		rig_fails(rig, &UNASKED, GPUPASS_ERROR_HOST_IN_USE, rows[i].tells);
		assert_int_equal(rig->fake.calls[FAKE_ERASE], 0);
		rig_must(rig, &PREPARE);
		expect_mark(rig, TENANT_CLEAN, true);
	}
}

/* fault E2 */
TEST(a_first_erase_that_was_cut_off_goes_on_by_itself)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig->fake.nvme = (FakeNvme){ .sanitizes = true, .looks = 5 };
	rig->cancel_at = 2;
	rig_try(rig, &UNASKED);
	rig_expect(rig, JOB_CANCELLED, GPUPASS_ERROR_CANCELLED, "everything was put back");
	expect_mark(rig, TENANT_DIRTY, false);
	cancellation_unref(rig->place.cancel);
	rig->place.cancel = NULL;
	rig->cancel_at = 0;
	rig_must(rig, &UNASKED);
	expect_mark(rig, TENANT_CLEAN, true);
}

/* As its own mark says: what is in its place now was never asked for. */
/* fault E3 */
TEST(what_is_new_since_a_first_erase_was_cut_off_is_erased_only_when_a_person_asks)
{
	for (unsigned kept = 0; kept < 2; kept++) {
		_cleanup_(rig_freep) Rig *rig = rig_with(true);

		if (kept)
			rig_must(rig, &KEEP);
		rig->fake.nvme = (FakeNvme){ .sanitizes = true, .looks = 5 };
		rig->cancel_at = 2;
		rig_try(rig, &UNASKED);
		rig_expect(rig, JOB_CANCELLED, GPUPASS_ERROR_CANCELLED, "everything was put back");
		cancellation_unref(rig->place.cancel);
		rig->place.cancel = NULL;
		rig->cancel_at = 0;
		rig->fake.nvme = (FakeNvme){ .serial = "S2" };
		rig_fails(rig, &UNASKED, GPUPASS_ERROR_HOST_IN_USE,
			  "its serial number is S2, and was S1");
		assert_int_equal(erases(rig), 1);
		rig_must(rig, &PREPARE);
		assert_int_equal(erases(rig), 2);
		expect_mark(rig, TENANT_CLEAN, true);
	}
}

static void is_marked(Rig *rig)
{
	expect_mark(rig, TENANT_DIRTY, false);
}

/* udev goes by the mark: what is on it may be a domain's, which had it by hand. */
/* promise M6 */
TEST(one_on_vfio_is_marked_before_the_host_sees_what_is_on_it)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig_must(rig, &KEEP);
	fake_watch(&rig->fake);
	rig_at(rig, FAKE_MOVE, 1, is_marked);
	rig_must(rig, &PREPARE);
	expect_mark(rig, TENANT_CLEAN, true);
}

/* The next daemon, maybe of the next boot. */
static void start_anew(Rig *rig)
{
	vf_watch_free(rig->vfs);
	rig->place.vfs = rig->vfs = vf_watch_new();
	fake_watch(&rig->fake);
}

/* pair0 is kept on vfio-pci, its NVMe is clean, and a daemon starts. */
static Rig *rig_started_on_vfio(void)
{
	Rig *rig = rig_with(true);

	rig->fake.nvme.sanitizes = true;
	rig_must(rig, &KEEP);
	rig_must(rig, &PREPARE);
	expect_state(rig, GROUP_BOUND);
	start_anew(rig);
	return rig;
}

/* promise M6 */
TEST(a_clean_one_on_vfio_is_nobodys_until_it_was_compared)
{
	_cleanup_(rig_freep) Rig *rig = rig_started_on_vfio();

	expect_state(rig, GROUP_UNREADY);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_GROUP_BUSY, "is yet to be compared with what was");
	rig_must(rig, &PREPARE);
	assert_int_equal(erases(rig), 0);
	expect_mark(rig, TENANT_CLEAN, true);
	assert_true(rig_is_on(rig, NVME, "vfio-pci", "vfio-pci"));
	expect_state(rig, GROUP_BOUND);
	rig_must(rig, &ASSIGN);
}

static void somebody_looks(Rig *rig)
{
	pthread_mutex_unlock(&rig->fake.lock);
	assert_true(rig_is_on(rig, NVME, "nvme", ""));
	expect_state(rig, GROUP_DEGRADED);
	pthread_mutex_lock(&rig->fake.lock);
}

TEST(a_look_at_one_that_is_compared_does_not_have_it_compared_again)
{
	_cleanup_(rig_freep) Rig *rig = rig_started_on_vfio();

	rig_at(rig, FAKE_MOVE, 2, somebody_looks);
	rig_must(rig, &PREPARE);
	expect_state(rig, GROUP_BOUND);
}

/* What a bind compares on its way to vfio-pci need not come back for that. */
TEST(one_that_was_compared_before_it_was_bound_is_ready)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig_must(rig, &PREPARE);
	start_anew(rig);
	expect_state(rig, GROUP_FREE);
	rig_must(rig, &BIND);
	expect_state(rig, GROUP_BOUND);
}

/* The host may have written on it there. */
/* promise M6 */
TEST(one_that_the_hosts_driver_had_since_is_compared_again)
{
	static const char *const functions[] = { "0000:41:00.0", "0000:41:00.1", "0000:61:00.0",
						 "0000:61:00.1", NVME };
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig->fake.nvme.sanitizes = true;
	rig_must(rig, &PREPARE);
	expect_state(rig, GROUP_FREE);
	rig->fake.nvme.erased = false;
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		fake_set_driver(&rig->fake, functions[i], "vfio-pci", "vfio-pci");
	expect_state(rig, GROUP_UNREADY);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_GROUP_BUSY, "is yet to be compared with what was");
	rig_fails(rig, &UNASKED, GPUPASS_ERROR_HOST_IN_USE, "");
	rig_must(rig, &PREPARE);
	assert_int_equal(erases(rig), 2);
	expect_state(rig, GROUP_BOUND);
}

/* Somebody pulls it, and puts in another one. */
TEST(one_that_was_out_is_compared_again)
{
	_cleanup_(rig_freep) Rig *rig = rig_started_on_vfio();
	PciSnapshot *snapshot = rig->fake.snapshot;

	rig_must(rig, &PREPARE);
	snapshot->n_functions--;
	expect_state(rig, GROUP_DEGRADED);
	snapshot->n_functions++;
	expect_state(rig, GROUP_UNREADY);
}

/* fault E3 */
TEST(one_that_is_not_as_it_was_erased_is_erased_only_when_a_person_asks)
{
	const JobRequest unasked = group_request(OPERATION_PREPARE, "pair0", .plan.unasked = true);
	static const struct {
		const char *serial, *tells;
		bool erased;
	} rows[] = {
		{ "S2", "its serial number is S2, and was S1", true },
		{ "S1", "is not known to be as it was erased", false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_started_on_vfio();

		rig->fake.nvme.serial = rows[i].serial;
		rig->fake.nvme.erased = rows[i].erased;
		rig_fails(rig, &unasked, GPUPASS_ERROR_HOST_IN_USE, rows[i].tells);
		assert_int_equal(erases(rig), 0);
		assert_true(rig_is_on(rig, NVME, "vfio-pci", "vfio-pci"));
		expect_state(rig, GROUP_UNREADY);
		rig_must(rig, &PREPARE);
		assert_int_equal(erases(rig), 1);
		rig_must(rig, &ASSIGN);
	}
}

TEST(whoever_uses_it_is_named_and_nothing_is_erased)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig->fake.nvme.mount = "/srv";
	rig_fails(rig, &PREPARE, GPUPASS_ERROR_HOST_IN_USE, "/dev/nvme0n1 is mounted at /srv");
	rig->fake.nvme.mount = NULL;
	fake_hold(&rig->fake, NVME, "dd");
	rig_fails(rig, &PREPARE, GPUPASS_ERROR_HOST_IN_USE, "by dd");
	assert_int_equal(rig->fake.calls[FAKE_ERASE], 0);
}

static void second_is_used(Rig *rig)
{
	fake_hold(&rig->fake, SECOND_NVME, "qemu-system-x86");
}

/* The first one's erase may take hours, in which somebody starts a domain with the second one. */
/* promise M5 */
TEST(who_uses_one_is_looked_for_just_before_its_erase)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();

	rig_unready_both(rig);
	rig_at(rig, FAKE_ERASE, 1, second_is_used);
	rig_try(rig, &PREPARE);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_HOST_IN_USE, "by qemu-system-x86");
	assert_int_equal(erases(rig), 1);
	fake_let_go(&rig->fake);
	rig_must(rig, &PREPARE);
	assert_int_equal(erases(rig), 2);
}

/* The driver's probe goes on behind the move: there are no disks yet, and nobody who uses them. */
/* promise M5 */
TEST(who_uses_it_is_looked_for_when_the_host_has_its_disks)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig_must(rig, &KEEP);
	rig->fake.nvme.labelled = true;
	rig->fake.nvme.comes_up = 3;
	rig_try(rig, &PREPARE);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_HOST_IN_USE, "named in /etc/fstab: /data");
	assert_int_equal(rig->fake.calls[FAKE_ERASE], 0);
	assert_true(strv_contains(rig->last.progress, NVME ": it comes up"));
	rig->fake.nvme.labelled = false;
	rig->fake.nvme.comes_up = 3;
	rig_must(rig, &PREPARE);
	assert_int_equal(erases(rig), 1);
}

/* The host has written a file system on it, which is not seen before its disk is. */
/* promise M6 */
TEST(a_clean_one_is_compared_when_the_host_has_its_disks)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig_must(rig, &KEEP);
	rig_must(rig, &PREPARE);
	start_anew(rig);
	rig->fake.nvme.labelled = true;
	rig->fake.nvme.comes_up = 2;
	rig_fails(rig, &UNASKED, GPUPASS_ERROR_HOST_IN_USE, "named in /etc/fstab: /data");
	expect_state(rig, GROUP_UNREADY);
}

TEST(one_that_does_not_come_up_is_waited_for_no_longer_than_a_move)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig->fake.nvme.comes_up = UINT_MAX;
	rig->timeout_usec = 1;
	rig_try(rig, &PREPARE);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_RESET_FAILED, "its state is connecting");
	rig->timeout_usec = 0;
	rig->cancel_at = 2;
	rig_try(rig, &PREPARE);
	rig_expect(rig, JOB_CANCELLED, GPUPASS_ERROR_CANCELLED, "everything was put back");
	assert_int_equal(rig->fake.calls[FAKE_ERASE], 0);
	expect_state(rig, GROUP_UNREADY);
}

/* fault E2 */
TEST(a_sanitize_outlives_its_job_and_the_next_one_waits_for_it)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig->fake.nvme = (FakeNvme){ .sanitizes = true, .looks = 5 };
	rig->cancel_at = 2;
	rig_try(rig, &PREPARE);
	rig_expect(rig, JOB_CANCELLED, GPUPASS_ERROR_CANCELLED, "everything was put back");
	assert_true(rig->fake.nvme.left > 0);
	cancellation_unref(rig->place.cancel);
	rig->place.cancel = NULL;
	rig->cancel_at = 0;
	rig_must(rig, &PREPARE);
	/* It could have been a tenant's. */
	assert_int_equal(erases(rig), 2);
	expect_mark(rig, TENANT_CLEAN, true);
}

/* Meanwhile it tells less of itself than its receipt has. */
/* fault E2 */
TEST(a_sanitize_that_runs_is_no_change_of_a_tenant)
{
	_cleanup_(rig_freep) Rig *rig = rig_returned();

	rig->fake.nvme = (FakeNvme){ .sanitizes = true, .looks = 7 };
	rig->cancel_at = 2;
	rig_try(rig, &PREPARE);
	rig_expect(rig, JOB_CANCELLED, GPUPASS_ERROR_CANCELLED, "everything was put back");
	assert_int_equal(rig->fake.nvme.left, 6);
	rig_let_cancel(rig);
	rig->cancel_at = 0;
	rig_must(rig, &PREPARE);
	expect_mark(rig, TENANT_CLEAN, true);
}

/* The daemon ended while a part was at it, of a group that was kept; the next one goes on. */
/* promise M6 */
/* fault E2 */
TEST(an_erase_outlives_the_daemon)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);
	JournalJob *log = NULL;
	size_t nvme;

	rig_must(rig, &KEEP);
	rig_plan(rig, &PREPARE);
	assert_int_equal(journal_begin(&rig->journal, rig->last_job, rig->planned->plan, NULL, NULL,
				       2, &log),
			 0);
	journal_job_free(log);
	fake_set_driver(&rig->fake, NVME, "nvme", NULL);
	nvme = rig->fake.snapshot->n_functions - 1;
	rig->fake.stuck[nvme] = true;
	rig_new_claims(rig);
	rig_recover(rig, RECOVERED_UNDONE, NULL);
	assert_true(rig_is_on(rig, NVME, "nvme", ""));
	rig->fake.stuck[nvme] = false;
	expect_state(rig, GROUP_UNREADY);
	rig_must(rig, &PREPARE);
	assert_true(rig_is_on(rig, NVME, "vfio-pci", "vfio-pci"));
	expect_state(rig, GROUP_BOUND);
}

/* What is at that address now may be a disk that the host runs from. */
/* promise M6 */
TEST(after_a_reboot_an_erase_is_not_undone)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);
	JournalJob *log = NULL;

	rig_must(rig, &KEEP);
	rig_plan(rig, &PREPARE);
	assert_int_equal(journal_begin(&rig->journal, rig->last_job, rig->planned->plan, NULL, NULL,
				       2, &log),
			 0);
	journal_job_free(log);
	fake_set_driver(&rig->fake, NVME, "nvme", NULL);
	free(rig->journal.boot_id);
	rig->journal.boot_id = strdup("the next boot");
	rig_new_claims(rig);
	rig_recover(rig, RECOVERED_UNDONE, NULL);
	assert_true(rig_is_on(rig, NVME, "nvme", ""));
}

/* Other cards have moved the addresses: it may be a disk that the host runs from. */
/* promise M6 */
/* fault E2 */
TEST(what_is_another_device_now_no_recovery_touches)
{
	static const struct {
		JobRequest request;
		const char *number, *tells;
		unsigned device;
	} rows[] = {
		{ PREPARE, "00-01", NVME " is 144d:a80b (subsystem 144d:a801) now and was", 1 },
		{ PREPARE, "00-02", NVME " has serial number 00-02 now and had 00-01", 0 },
		{ BIND, "00-02", NVME " has serial number 00-02 now and had 00-01", 0 },
		{ BIND, NULL, NULL, 0 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_with(true);
		const Bdf nvme = bdf_of(NVME);
		JournalJob *log = NULL;
		char *reason;

		rig->fake.nvme.number = "00-01";
		rig_plan(rig, &rows[i].request);
		assert_int_equal(journal_begin(&rig->journal, rig->last_job, rig->planned->plan,
					       NULL, NULL, 2, &log),
				 0);
		journal_job_free(log);
		fake_set_driver(&rig->fake, NVME, "vfio-pci", "vfio-pci");
		rig->fake.nvme.number = rows[i].number;
		rig->fake.snapshot->functions[rig->fake.snapshot->n_functions - 1]->device +=
			(uint16_t)rows[i].device;
		rig_new_claims(rig);
		rig_recover(rig, rows[i].tells ? RECOVERED_QUARANTINED : RECOVERED_UNDONE, NULL);
		assert_int_equal(rig_is_on(rig, NVME, "vfio-pci", "vfio-pci"),
				 rows[i].tells != NULL);
		reason = claims_quarantine_reason(rig->claims, &nvme, NULL);
		if (rows[i].tells && !strstr(str_or_empty(reason), rows[i].tells))
			fail_msg("%s", reason);
		free(reason);
	}
}

/* Somebody gave it to a guest by hand, while no daemon was there. */
TEST(what_is_in_a_guest_is_not_put_back)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);
	JournalJob *log = NULL;

	rig_plan(rig, &PREPARE);
	assert_int_equal(journal_begin(&rig->journal, rig->last_job, rig->planned->plan, NULL, NULL,
				       2, &log),
			 0);
	journal_job_free(log);
	fake_set_driver(&rig->fake, NVME, "vfio-pci", "vfio-pci");
	fake_hold_by_guest(&rig->fake, NVME);
	rig_new_claims(rig);
	rig_recover(rig, RECOVERED_QUARANTINED, NULL);
	assert_true(rig_is_on(rig, NVME, "vfio-pci", "vfio-pci"));
}

/* Its tenant goes on, and can change it after whoever cleared the quarantine has looked. */
/* fault E3 */
TEST(a_quarantine_that_is_cleared_under_a_tenant_accepts_nothing_of_it)
{
	static const struct {
		bool has, accepted;
		const char *unread; /* of a record */
	} rows[] = {
		{ true, false, NULL },
		{ false, true, NULL },
		/* Its own, or anybody's; and one that is another group's for certain. */
		{ false, false, "\"functions\": [{\"bdf\": \"0000:41:00.0\"}]" },
		{ false, false, "\"group\": 0" },
		{ false, true,
		  "\"group\": \"pair1\", \"functions\": [{\"bdf\": \"0000:a1:00.0\"}]" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_returned();
		_cleanup_free_ Bdf *functions = NULL;

		if (rows[i].has) {
			rig_must(rig, &PREPARE);
			rig_must(rig, &ASSIGN);
		}
		rig_plan(rig, rows[i].has ? &RELEASE : &PREPARE);
		functions = plan_addresses(rig->planned->plan);
		assert_int_equal(quarantine_plan(rig->place.quarantine, rig->planned->plan, 9, "x"),
				 0);
		if (rows[i].unread) {
			_cleanup_free_ char *text = strf(
				"{\"schema\": \"org.gpupass1.assignment/9\", %s}", rows[i].unread);

			assert_int_equal(file_replace_at(rig->store.records.dir_fd, VM42 ".json",
							 text, strlen(text), 0600),
					 0);
		}
		rig_new_claims(rig);
		claims_add_quarantine(rig->claims, "pair0", functions,
				      rig->planned->plan->n_functions, NULL, "x");
		lift(rig);
		expect_cleared(rig, rows[i].accepted);
	}
}

/* A mark that a later version wrote could not be made clean. */
TEST(what_could_not_be_recorded_is_not_erased)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	save_file(rig, "{\"schema\": \"org.gpupass1.tenant/9\"}\n");
	rig_fails(rig, &PREPARE, GPUPASS_ERROR_GROUP_BUSY, "who had " NVME " last");
	assert_int_equal(rig->fake.calls[FAKE_ERASE], 0);
}

/* The host's own one of that model, which a swap or other cards have brought there. */
/* fault E3 */
TEST(a_reconcile_binds_no_other_board_than_was_assigned)
{
	_cleanup_(rig_freep) Rig *rig = rig_with(true);

	rig->fake.nvme.number = "00-01";
	rig_must(rig, &PREPARE);
	rig_must(rig, &ASSIGN);
	fake_set_driver(&rig->fake, NVME, "nvme", NULL);
	rig->fake.nvme.number = "00-02";
	rig_fails(rig, &RECONCILE, GPUPASS_ERROR_GROUP_BUSY,
		  "has serial number 00-02 now and had 00-01");
	rig->fake.nvme.number = "00-01";
	rig_must(rig, &RECONCILE);
	assert_true(rig_is_on(rig, NVME, "vfio-pci", "vfio-pci"));
}
