/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "rig/temp-dir.h"
#include "store/tenants.h"

#define X "00000000-0000-0000-0000-000000000001"
#define FILE_A "tenants/0000:41:00.0.json"

static Bdf bdf(const char *text)
{
	Bdf parsed = { 0 };

	assert_int_equal(bdf_parse(text, &parsed), 0);
	return parsed;
}

static TenantMark mark_of(const char *address, TenantState state)
{
	return (TenantMark){
		.bdf = bdf(address),
		.vendor = 0x10de,
		.state = state,
		.domain_uuid = (char *)X,
		.why = (char *)"a test",
	};
}

static void open_store(const TempDir *dir, TenantStore *store)
{
	assert_int_equal(tenant_store_open(dir->path, store), 0);
}

static Tenants *load(TenantStore *store)
{
	Tenants *tenants = NULL;

	tenants = tenant_store_load(store);
	return tenants;
}

/* The state that the file of A has; "none" where there is no mark. */
static TenantState state_of(TenantStore *store, const char **ret_fault)
{
	static char fault[256];
	_cleanup_(tenants_freep) Tenants *tenants = load(store);
	const Bdf address = bdf("0000:41:00.0");
	const TenantFile *file = tenants_find(tenants, &address);

	snprintf(fault, sizeof(fault), "%s", file && file->fault ? file->fault : "");
	if (ret_fault)
		*ret_fault = fault;
	return file && file->mark ? file->mark->state : TENANT_NONE;
}

WITH_DIR(a_mark_outlives_the_daemon)
{
	TenantStore first, second;
	TenantMark mark = mark_of("0000:41:00.0", TENANT_DIRTY);

	open_store(*state, &first);
	assert_int_equal(tenant_store_save(&first, &mark), 0);
	tenant_store_close(&first);
	open_store(*state, &second);
	assert_int_equal(state_of(&second, NULL), TENANT_DIRTY);
	mark.state = TENANT_CLEAN;
	assert_int_equal(tenant_store_save(&second, &mark), 0);
	assert_int_equal(state_of(&second, NULL), TENANT_CLEAN);
	tenant_store_close(&second);
}

/* A board without a file counts as never used: so what cannot be understood stays where it is. */
WITH_DIR(what_cannot_be_understood_is_a_fault_and_stays)
{
	static const struct {
		const char *content, *words;
	} rows[] = {
		{ "", "line" },
		{ "{\"schema\": \"org.gpupass1.tenant/1\", \"addr", "line" },
		{ "{\"schema\": \"org.gpupass1.tenant/1\"}", "address" },
		{ "{\"schema\": \"org.gpupass1.tenant/9\"}", "another version" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *still = NULL;
		const char *fault;
		TenantStore store;

		open_store(*state, &store);
		temp_dir_write(*state, FILE_A, rows[i].content);
		assert_int_equal(state_of(&store, &fault), TENANT_NONE);
		if (!strstr(fault, rows[i].words))
			fail_msg("row %zu: %s", i, fault);
		still = temp_dir_read(*state, FILE_A);
		assert_string_equal(still, rows[i].content);
		tenant_store_close(&store);
	}
}

WITH_DIR(a_mark_of_another_address_is_a_fault)
{
	TenantMark mark = mark_of("0000:61:00.0", TENANT_CLEAN);
	_cleanup_free_ char *text = tenant_mark_to_json(&mark);
	const char *fault;
	TenantStore store;

	open_store(*state, &store);
	temp_dir_write(*state, FILE_A, text);
	temp_dir_write(*state, "tenants/notes.json", text);
	assert_int_equal(state_of(&store, &fault), TENANT_NONE);
	assert_non_null(strstr(fault, "another address"));
	tenant_store_close(&store);
}

WITH_DIR(a_later_versions_mark_is_left_alone_and_a_torn_one_is_replaced)
{
	static const char later[] = "{\"schema\": \"org.gpupass1.tenant/9\"}";
	TenantMark mark = mark_of("0000:41:00.0", TENANT_CLEAN);
	_cleanup_free_ char *still = NULL;
	TenantStore store;

	open_store(*state, &store);
	temp_dir_write(*state, FILE_A, later);
	assert_int_equal(tenant_store_save(&store, &mark), -EPROTO);
	still = temp_dir_read(*state, FILE_A);
	assert_string_equal(still, later);
	temp_dir_write(*state, FILE_A, "{");
	assert_int_equal(tenant_store_save(&store, &mark), 0);
	assert_int_equal(state_of(&store, NULL), TENANT_CLEAN);
	tenant_store_close(&store);
}

WITH_DIR(a_directory_that_cannot_be_read_is_a_fault_of_all)
{
	_cleanup_(tenants_freep) Tenants *tenants = NULL;
	TenantStore store;

	open_store(*state, &store);
	close(store.dir_fd);
	store.dir_fd = -1;
	tenants = load(&store);
	assert_non_null(tenants->fault);
	tenant_store_close(&store);
}

WITH_DIR(what_a_job_has_in_hand_is_not_noted)
{
	TenantMark mark = mark_of("0000:41:00.0", TENANT_DIRTY);
	_cleanup_(claims_freep) Claims *claims = NULL;
	const TenantMark other = mark_of("0000:61:00.0", TENANT_DIRTY);
	_cleanup_free_ char *text = NULL;
	uint64_t looked;
	TenantStore store;
	int failed = 0;

	open_store(*state, &store);
	claims = claims_new();
	looked = claims_now(claims);
	assert_int_equal(
		claims_take(claims,
			    &(ClaimRequest){ .job = 7,
					     .group = "pair0",
					     .footprint = &(Footprint){ &mark.bdf, 1, 1 } },
			    NULL),
		0);
	tenant_store_note(&store, claims, looked, &mark, 1, &failed);
	assert_int_equal(state_of(&store, NULL), TENANT_NONE);
	/* It let go, and may have reset it since that look; another board it never had. */
	claims_release(claims, 7);
	tenant_store_note(&store, claims, looked, &mark, 1, &failed);
	assert_int_equal(state_of(&store, NULL), TENANT_NONE);
	tenant_store_note(&store, claims, looked, &other, 1, &failed);
	text = temp_dir_read(*state, "tenants/0000:61:00.0.json");
	assert_non_null(text);
	tenant_store_note(&store, claims, claims_now(claims), &mark, 1, &failed);
	assert_int_equal(state_of(&store, NULL), TENANT_DIRTY);
	assert_int_equal(failed, 0);
	tenant_store_close(&store);
}

WITH_DIR(what_is_seen_of_a_quarantined_board_is_noted)
{
	TenantMark mark = mark_of("0000:41:00.0", TENANT_DIRTY);
	_cleanup_(claims_freep) Claims *claims = NULL;
	TenantStore store;
	int failed = 0;

	open_store(*state, &store);
	claims = claims_new();
	claims_add_quarantine(claims, "pair0", &mark.bdf, 1, NULL, "stuck");
	tenant_store_note(&store, claims, claims_now(claims), &mark, 1, &failed);
	assert_int_equal(state_of(&store, NULL), TENANT_DIRTY);
	tenant_store_close(&store);
}

WITH_DIR(a_note_that_cannot_be_written_is_told)
{
	TenantMark mark = mark_of("0000:41:00.0", TENANT_DIRTY);
	_cleanup_(claims_freep) Claims *claims = NULL;
	TenantStore store;
	int failed = 0;

	open_store(*state, &store);
	claims = claims_new();
	temp_dir_write(*state, FILE_A, "{\"schema\": \"org.gpupass1.tenant/9\"}");
	tenant_store_note(&store, claims, claims_now(claims), &mark, 1, &failed);
	assert_int_equal(failed, -EPROTO);
	tenant_store_close(&store);
}
