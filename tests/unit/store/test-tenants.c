/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "rig/bdf.h"
#include "rig/temp-dir.h"
#include "store/tenants.h"
#include "util/text.h"

#define X "00000000-0000-0000-0000-000000000001"
#define FILE_A "tenants/0000:41:00.0.json"

static TenantMark mark_of(const char *address, TenantState state)
{
	return (TenantMark){
		.bdf = bdf_of(address),
		.vendor = 0x10de,
		.state = state,
		.domain_uuid = (char *)X,
		.why = (char *)"a test",
	};
}

/* Of the test that runs. */
static TenantStore store;
static Claims *claims;

static int setup(void **state)
{
	temp_dir_setup(state);
	claims = claims_new();
	records_open_in(&store, &tenant_kind, ((TempDir *)*state)->path);
	return 0;
}

static int teardown(void **state)
{
	records_close(&store);
	claims_free(claims);
	return temp_dir_teardown(state);
}

#define ON_A_STORE(test) TEST_WITH(test, setup, teardown)

/* The state that the file of A has; "none" where there is no mark. */
static TenantState state_of(void)
{
	_cleanup_(tenants_freep) Tenants *tenants = tenant_store_load(&store);
	const Bdf address = bdf_of("0000:41:00.0");
	const TenantFile *file = tenants_find(tenants, &address);

	return file && file->mark ? file->mark->state : TENANT_NONE;
}

ON_A_STORE(a_mark_outlives_the_daemon)
{
	TenantMark mark = mark_of("0000:41:00.0", TENANT_DIRTY);

	assert_int_equal(tenant_store_save(&store, &mark, 1), 0);
	records_close(&store);
	records_open_in(&store, &tenant_kind, ((TempDir *)*state)->path);
	assert_int_equal(state_of(), TENANT_DIRTY);
	mark.state = TENANT_CLEAN;
	assert_int_equal(tenant_store_save(&store, &mark, 1), 0);
	assert_int_equal(state_of(), TENANT_CLEAN);
}

ON_A_STORE(a_directory_that_cannot_be_read_is_a_fault_of_all)
{
	_cleanup_(tenants_freep) Tenants *tenants = NULL;
	const Bdf address = bdf_of("0000:41:00.0");
	_cleanup_free_ char *path = strf("%s/file", ((TempDir *)*state)->path);

	temp_dir_write(*state, "file", "");
	records_close(&store);
	records_open(&store, &tenant_kind, path);
	tenants = tenant_store_load(&store);
	assert_true(tenants->unread);
	assert_non_null(tenants_fault(tenants, &address));
}

/* A board without a file counts as never used: so what cannot be understood stays where it is. */
ON_A_STORE(a_mark_that_cannot_be_used_is_a_fault_of_its_board)
{
	TenantMark mark = mark_of("0000:61:00.0", TENANT_CLEAN);
	_cleanup_free_ char *text = record_text(&tenant_kind, tenant_mark_document(&mark));
	_cleanup_(tenants_freep) Tenants *tenants = NULL;
	const Bdf address = bdf_of("0000:41:00.0"), own = bdf_of("0000:61:00.0");

	temp_dir_write(*state, FILE_A, text);
	temp_dir_write(*state, "tenants/notes.json", text);
	tenants = tenant_store_load(&store);
	assert_int_equal(tenants->n_items, 1);
	assert_int_equal(tenants->faults.n_items, 2);
	assert_string_equal(tenants_fault(tenants, &address)->why,
			    "its name is not its board's address");
	assert_null(tenants_fault(tenants, &own));
}

ON_A_STORE(what_a_job_has_in_hand_is_not_noted)
{
	TenantMark mark = mark_of("0000:41:00.0", TENANT_DIRTY);
	const TenantMark other = mark_of("0000:61:00.0", TENANT_DIRTY);
	const ClaimRequest request = { .job = 7,
				       .group = "pair0",
				       .footprint = &(Footprint){ &mark.bdf, 1, 1 } };
	uint64_t looked = claims_now(claims);
	int failed = 0;

	assert_int_equal(claims_take(claims, &request, NULL), 0);
	tenant_store_note(&store, claims, looked, &mark, 1, &failed);
	assert_int_equal(state_of(), TENANT_NONE);
	/* It let go, and may have reset it since that look; another board it never had. */
	claims_release(claims, 7);
	tenant_store_note(&store, claims, looked, &mark, 1, &failed);
	assert_int_equal(state_of(), TENANT_NONE);
	tenant_store_note(&store, claims, looked, &other, 1, &failed);
	assert_int_equal(faccessat(((TempDir *)*state)->fd, "tenants/0000:61:00.0.json", F_OK, 0),
			 0);
	tenant_store_note(&store, claims, claims_now(claims), &mark, 1, &failed);
	assert_int_equal(state_of(), TENANT_DIRTY);
	assert_int_equal(failed, 0);
}

ON_A_STORE(what_is_seen_of_a_quarantined_board_is_noted_and_a_note_that_cannot_be_is_told)
{
	TenantMark mark = mark_of("0000:41:00.0", TENANT_DIRTY);
	int failed = 0;

	claims_add_quarantine(claims, "pair0", &mark.bdf, 1, NULL, "stuck");
	tenant_store_note(&store, claims, claims_now(claims), &mark, 1, &failed);
	assert_int_equal(failed, 0);
	assert_int_equal(state_of(), TENANT_DIRTY);
	temp_dir_write(*state, FILE_A, "{\"schema\": \"org.gpupass1.tenant/9\"}");
	tenant_store_note(&store, claims, claims_now(claims), &mark, 1, &failed);
	assert_int_equal(failed, -EPROTO);
}
