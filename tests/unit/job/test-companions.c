/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pair with both ports of a NIC: one group in all that a job does, and each port a board. */
#include "rig/test.h"

#include <string.h>

#include "rig/bdf.h"
#include "rig/job-rig.h"
#include "util/text.h"

static const char *const nics[] = { FAKE_NICS };

#define NEXT assign_request("vm43", "pair0")

static void shut_off(Rig *rig)
{
	rig_with_nics(rig);
	rig_shut_off(rig);
}

static void running(Rig *rig)
{
	rig_with_nics(rig);
	rig_running_with_room(rig);
}

static void assigned(Rig *rig)
{
	rig_with_nics(rig);
	rig_assigned(rig);
}

static void assigned_live(Rig *rig)
{
	running(rig);
	rig_must(rig, &ASSIGN);
}

static bool nics_are_on(const Rig *rig, const char *driver, const char *override)
{
	for (size_t i = 0; i < ELEMENTS(nics); i++)
		if (!rig_is_on(rig, nics[i], driver, override))
			return false;
	return true;
}

static bool has(const Rig *rig, const char *domain, const char *bdf, bool live)
{
	const FakeDomain *d = fake_domain((FakeHost *)&rig->fake, domain);
	const Bdf address = bdf_of(bdf);

	return fake_xml_has(live ? d->live_xml : d->config_xml, &address);
}

static TenantState mark_of(Rig *rig, const char *bdf)
{
	_cleanup_(tenants_freep) Tenants *tenants = tenant_store_load(&rig->tenants);
	const Bdf address = bdf_of(bdf);
	const TenantFile *file = tenants_find(tenants, &address);

	return file ? file->mark->state : TENANT_NONE;
}

static size_t count_log(const Rig *rig, const char *line)
{
	size_t n = 0;

	for (char **l = rig->fake.log; l && *l; l++)
		n += str_equal(*l, line);
	return n;
}

ON_A_RIG(all_of_it_goes_to_a_shut_off_domain_and_comes_back)
{
	_cleanup_free_ char *receipt = NULL;
	size_t n;

	shut_off(rig);
	rig_note_world(rig);
	rig_must(rig, &ASSIGN);
	assert_true(rig_is_bound(rig) && nics_are_on(rig, "vfio-pci", "vfio-pci"));
	for (size_t i = 0; i < ELEMENTS(nics); i++) {
		assert_true(has(rig, "vm42", nics[i], false));
		/* Each has a mark of its own: they may get two tenants. */
		assert_int_equal(mark_of(rig, nics[i]), TENANT_DIRTY);
	}
	rig_expect_drift(rig, "");
	rig_must(rig, &RELEASE);
	assert_true(rig_is_home(rig) && nics_are_on(rig, "ixgbe", ""));
	receipt = rig_receipt(rig, &n);
	for (size_t i = 0; i < ELEMENTS(nics); i++) {
		assert_non_null(strstr(receipt, nics[i]));
		assert_int_equal(mark_of(rig, nics[i]), TENANT_CLEAN);
	}
	assert_int_equal(count_log(rig, "reset 0000:e2:00.0"), 2);
	assert_int_equal(count_log(rig, "reset 0000:e2:00.1"), 2);
	rig_check_guests(rig, "there and back");
}

ON_A_RIG(all_of_it_goes_to_a_running_guest_and_comes_back)
{
	running(rig);
	rig_must(rig, &ASSIGN);
	for (size_t i = 0; i < ELEMENTS(nics); i++)
		assert_true(has(rig, "vm42", nics[i], true) && has(rig, "vm42", nics[i], false));
	rig_expect_devices(rig, "vm42", 4, 4);
	rig_must(rig, &RELEASE);
	for (size_t i = 0; i < ELEMENTS(nics); i++)
		assert_false(has(rig, "vm42", nics[i], true) || has(rig, "vm42", nics[i], false));
	assert_true(rig_is_home(rig) && nics_are_on(rig, "ixgbe", ""));
	rig_check_guests(rig, "there and back, live");
}

/* Whatever call that writes fails, once or from then on. */
TEST(no_failure_leaves_a_half_of_it)
{
	static const struct {
		void (*arrange)(Rig *rig);
		JobRequest request;
	} rows[] = {
		{ shut_off, ASSIGN },	    { running, ASSIGN }, { assigned, RELEASE },
		{ assigned_live, RELEASE }, { shut_off, BIND },
	};
	static const FakeOp ops[] = { FAKE_MOVE, FAKE_RESET, FAKE_DEFINE, FAKE_ATTACH,
				      FAKE_DETACH };

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		for (size_t k = 0; k < ELEMENTS(ops); k++)
			for (unsigned nth = 1, calls = 1; nth <= calls; nth++) {
				_cleanup_(rig_freep) Rig *rig = rig_new();
				FakeFault fault = { .op = ops[k], .nth = nth };

				fault.problem = GPUPASS_ERROR_ATTACH_FAILED;
				fault.error = k < 2 ? -EIO : 0;
				rows[i].arrange(rig);
				rig_note_world(rig);
				fake_watch(&rig->fake);
				fake_fail(&rig->fake, &fault);
				rig_try(rig, &rows[i].request);
				calls = rig->fake.calls[ops[k]];
				rig_check_guests(rig, fake_op_to_string(ops[k]));
				if (rig->last.state == JOB_FAILED)
					rig_check_noted(rig);
				else if (calls >= nth && rig->last.state == JOB_DONE)
					fail_msg("row %zu: %s %u did not fail", i,
						 fake_op_to_string(ops[k]), nth);
				if (rig->last.state == JOB_INCOMPLETE)
					assert_non_null(claims_quarantine_reason(
						rig->claims, &(Bdf){ .bus = 0xe2 }, NULL));
			}
}

/* The host used it meanwhile: so it is reset each time, also for the domain that had it last. */
ON_A_RIG(a_companion_is_reset_each_time_that_it_is_given)
{
	assigned(rig);
	rig_must(rig, &RELEASE);
	fake_watch(&rig->fake);
	rig_must(rig, &ASSIGN);
	for (size_t i = 0; i < ELEMENTS(nics); i++)
		assert_int_equal(mark_of(rig, nics[i]), TENANT_DIRTY);
	assert_int_equal(count_log(rig, "reset 0000:e2:00.0"), 1);
	assert_int_equal(count_log(rig, "reset 0000:e2:00.1"), 1);
	assert_int_equal(count_log(rig, "reset slot of 0000:41:00.0"), 0);
}

ON_A_RIG(a_port_that_cannot_be_reset_keeps_all_from_the_next_domain)
{
	assigned(rig);
	fake_add_domain(&rig->fake, "vm43", "q35", NULL);
	rig->fake.reset_fault =
		(FakeResetFault){ .bdf = nics[1], .result = RESET_FAILED, .error = -ENOTTY };
	rig_fails(rig, &RELEASE, GPUPASS_ERROR_RESET_FAILED, nics[1]);
	assert_int_equal(mark_of(rig, nics[1]), TENANT_DIRTY);
	rig_fails(rig, &NEXT, GPUPASS_ERROR_GROUP_BUSY, "vm42");
	rig->fake.reset_fault = (FakeResetFault){ 0 };
	rig_must(rig, &RELEASE);
	rig_must(rig, &NEXT);
}

ON_A_RIG(a_port_that_is_stuck_quarantines_the_pair)
{
	assigned(rig);
	rig->fake.reset_fault = (FakeResetFault){ .bdf = nics[0], .never_returns = true };
	rig_sticks(rig, &RELEASE, GPUPASS_ERROR_ROLLBACK_FAILED, "");
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_QUARANTINED, "");
}

static void lose_one(Rig *rig)
{
	fake_unplug(&rig->fake, "vm42", nics[1]);
}

static void lose_all(Rig *rig)
{
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_unplug(&rig->fake, "vm42", pair0_bdfs[i]);
	for (size_t i = 0; i < ELEMENTS(nics); i++)
		fake_unplug(&rig->fake, "vm42", nics[i]);
}

static void take_back(Rig *rig)
{
	fake_set_driver(&rig->fake, nics[0], "ixgbe", NULL);
}

static void lose_override(Rig *rig)
{
	fake_set_driver(&rig->fake, nics[1], "vfio-pci", NULL);
}

TEST(what_drifted_of_it_is_brought_back)
{
	static const struct {
		const char *drift;
		void (*make)(Rig *rig);
	} rows[] = {
		{ "lacks-some/define", lose_one },
		{ "lacks-all/define", lose_all },
		{ "driver/bind", take_back },
		{ "override/bind", lose_override },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rig->row = rows[i].drift;
		assigned(rig);
		rig_note_world(rig);
		rows[i].make(rig);
		rig_expect_drift(rig, rows[i].drift);
		rig_must(rig, &RECONCILE);
		rig_expect_drift(rig, "");
		rig_check_noted(rig);
	}
}

/* ---- what is declared changes under a domain ---- */

/* It is reset and given back with them: else it would stay in the guest, and nobody would know. */
TEST(what_is_no_longer_declared_is_released_with_its_pair)
{
	static void (*const arranges[])(Rig * rig) = { assigned, assigned_live };

	for (size_t i = 0; i < ELEMENTS(arranges); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		arranges[i](rig);
		rig_declare(rig, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n");
		rig_must(rig, &RELEASE);
		assert_true(rig_is_home(rig) && nics_are_on(rig, "ixgbe", ""));
		for (size_t k = 0; k < ELEMENTS(nics); k++) {
			assert_false(has(rig, "vm42", nics[k], false));
			assert_false(has(rig, "vm42", nics[k], true));
			assert_int_equal(mark_of(rig, nics[k]), TENANT_CLEAN);
		}
		rig_expect_drift(rig, "");
		rig_check_guests(rig, "no longer declared");
	}
}

/* The host uses it, and goes on with that. */
ON_A_RIG(what_was_declared_since_stays_where_it_is)
{
	fake_add_nics(&rig->fake);
	rig_assigned(rig);
	rig_declare(rig, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\nWholeNic=yes\n"
			 "With=nic:e2:00.0\nWith=nic:e2:00.1\n");
	rig->fake.nic_address = "10.0.0.5/24";
	rig_expect_drift(rig, "board/none board/none lacks-some/none");
	rig_must(rig, &RELEASE);
	assert_true(rig_is_home(rig) && nics_are_on(rig, "ixgbe", ""));
	assert_int_equal(count_log(rig, "reset 0000:e2:00.0"), 0);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_HOST_IN_USE, "the host uses a NIC of the group");
}

/* ---- the undo of a release, of which others have edited the definition meanwhile ---- */

static void edit(Rig *rig)
{
	fake_retitle(&rig->fake, "vm42", "edited");
}

/* The ports of one slot stay two devices, each on a port of its own, as they were. */
ON_A_RIG(what_a_release_puts_back_is_as_it_was)
{
	static const FakeFault fails = { .op = FAKE_RESET, .nth = 1, .error = -EIO };
	_cleanup_free_ char *before = NULL;
	FakeDomain *vm42;

	assigned(rig);
	vm42 = fake_domain(&rig->fake, "vm42");
	fake_retitle(&rig->fake, "vm42", "edited");
	before = strdup(vm42->config_xml);
	fake_retitle(&rig->fake, "vm42", "vm42");
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &fails);
	rig_at(rig, FAKE_RESET, 1, edit);
	rig_try(rig, &RELEASE);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_RESET_FAILED, "");
	assert_string_equal(vm42->config_xml, before);
	rig_expect_drift(rig, "");
}
