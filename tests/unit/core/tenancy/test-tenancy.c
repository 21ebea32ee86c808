/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/tenancy/tenancy.h"
#include "rig/host-model.h"

#define X "00000000-0000-0000-0000-000000000001"
#define Y "00000000-0000-0000-0000-000000000002"
#define BOARD "0000:41:00"

static const char *const both[] = { BOARD ".0", BOARD ".1", NULL };
static const char *const audio[] = { BOARD ".1", NULL };

/* A host of one board at 41:00, and another of its model at 61:00. */
typedef struct Scene {
	HostModel host;
	Tenants tenants;
} Scene;

static TenantMark *add_mark(Scene *s, const char *slot, TenantState state, const char *uuid)
{
	_cleanup_free_ char *address = strf("%s.0", slot);
	TenantFile *file = GROW(s->tenants.items, s->tenants.n_items);
	TenantMark *mark = xcalloc(1, sizeof(TenantMark));

	file->bdf = mark->bdf = bdf_of(address);
	file->mark = mark;
	mark->vendor = mark->subsystem_vendor = PCI_VENDOR_NVIDIA;
	mark->device = 0x2230;
	mark->subsystem_device = 0x1459;
	mark->state = state;
	mark->domain_uuid = uuid ? strdup(uuid) : NULL;
	return mark;
}

static Scene scene_new(void)
{
	Scene s = { 0 };

	s.host = host_new();
	host_gpu(&s.host, BOARD, 0x2230, "nvidia");
	host_gpu(&s.host, "0000:61:00", 0x2230, "nvidia");
	host_seal(&s.host);
	return s;
}

static void scene_done(Scene *s)
{
	for (size_t i = 0; i < s->tenants.n_items; i++)
		tenant_mark_free(s->tenants.items[i].mark);
	free(s->tenants.items);
	record_faults_clear(&s->tenants.faults);
	host_done(&s->host);
}

static TenancyFacts facts_of(const Scene *s)
{
	return (TenancyFacts){
		.tenants = &s->tenants,
		.gpus = s->host.set,
		.assignments = s->host.assignments,
		.uses = s->host.uses,
	};
}

static void nothing(_unused_ Scene *s)
{
}

static void dirty(Scene *s)
{
	add_mark(s, BOARD, TENANT_DIRTY, X);
}

static void clean(Scene *s)
{
	add_mark(s, BOARD, TENANT_CLEAN, X);
}

static void record(Scene *s)
{
	host_assignment(&s->host, "pair0", "x", 1, both);
}

static void record_and_clean(Scene *s)
{
	record(s);
	clean(s);
}

/* host_domain() counts from 1: the first is X, the second Y. */
static void defined(Scene *s)
{
	host_domain(&s->host, "x", false, both);
}

static void clean_and_defined(Scene *s)
{
	clean(s);
	defined(s);
}

static void ours_and_runs(Scene *s)
{
	dirty(s);
	host_domain(&s->host, "x", true, both);
}

static void others_and_runs(Scene *s)
{
	add_mark(s, BOARD, TENANT_DIRTY, Y);
	host_domain(&s->host, "x", true, audio);
}

static void others_and_defined(Scene *s)
{
	add_mark(s, BOARD, TENANT_DIRTY, Y);
	defined(s);
}

static void two_run(Scene *s)
{
	host_domain(&s->host, "x", true, audio);
	host_domain(&s->host, "y", true, both);
}

static void unreadable(Scene *s)
{
	tenant_mark_free(s->tenants.items[0].mark);
	s->tenants.items[0].mark = NULL;
	record_faults_add(&s->tenants.faults, &tenant_kind, BOARD ".0.json", -EBADMSG, "it is torn",
			  "{", 1);
}

static void torn(Scene *s)
{
	clean(s);
	unreadable(s);
}

static void torn_and_runs(Scene *s)
{
	torn(s);
	host_domain(&s->host, "x", true, both);
}

static void torn_and_recorded(Scene *s)
{
	torn(s);
	record(s);
}

static void other_model(Scene *s)
{
	clean(s);
	s->tenants.items[0].mark->device = 0x2231;
}

static void other_uuid(Scene *s)
{
	clean(s);
	s->tenants.items[0].mark->uuid = strdup("GPU-1");
	s->host.set->gpus[0].uuid = strdup("GPU-2");
}

static void other_serial(Scene *s)
{
	dirty(s);
	s->tenants.items[0].mark->serial_number = strdup("00-01");
	s->host.set->gpus[0].serial_number = strdup("00-02");
}

static void uuid_not_known_now(Scene *s)
{
	clean(s);
	s->tenants.items[0].mark->uuid = strdup("GPU-1");
}

static void no_directory(Scene *s)
{
	clean(s);
	record_faults_add(&s->tenants.faults, &tenant_kind, "", -EIO, NULL, NULL, 0);
	s->tenants.unread = true;
}

static void moved(Scene *s)
{
	add_mark(s, "0000:99:00", TENANT_DIRTY, X);
}

static void moved_clean(Scene *s)
{
	add_mark(s, "0000:99:00", TENANT_CLEAN, X);
}

static void two_moved(Scene *s)
{
	moved(s);
	add_mark(s, "0000:9a:00", TENANT_DIRTY, Y);
}

static void moved_another(Scene *s)
{
	moved(s);
	s->tenants.items[0].mark->uuid = strdup("GPU-1");
	s->host.set->gpus[0].uuid = strdup("GPU-2");
}

static void of_the_neighbour(Scene *s)
{
	add_mark(s, "0000:61:00", TENANT_DIRTY, X);
}

/* Whatever leaves a doubt is dirty, and of nobody who could have it without a reset. */
TEST(every_doubt_is_dirty)
{
	static const struct {
		const char *name;
		void (*prepare)(Scene *s);
		TenantState state;
		const char *uuid;
		TenancySource source;
	} rows[] = {
		{ "a new host", nothing, TENANT_NONE, NULL, TENANCY_NOTHING },
		{ "a neighbour's mark", of_the_neighbour, TENANT_NONE, NULL, TENANCY_NOTHING },
		{ "dirty", dirty, TENANT_DIRTY, X, TENANCY_MARK },
		{ "clean", clean, TENANT_CLEAN, X, TENANCY_MARK },
		{ "an older version's record", record, TENANT_DIRTY, X, TENANCY_RECORD },
		{ "reset, and not forgotten", record_and_clean, TENANT_CLEAN, X, TENANCY_MARK },
		{ "defined by hand", defined, TENANT_DIRTY, X, TENANCY_SEEN },
		{ "defined after a reset", clean_and_defined, TENANT_DIRTY, X, TENANCY_SEEN },
		{ "runs with its own", ours_and_runs, TENANT_DIRTY, X, TENANCY_MARK },
		{ "runs with another's", others_and_runs, TENANT_DIRTY, X, TENANCY_SEEN },
		{ "only defined, another's", others_and_defined, TENANT_DIRTY, Y, TENANCY_MARK },
		{ "two run with parts", two_run, TENANT_DIRTY, NULL, TENANCY_SEEN },
		{ "torn", torn, TENANT_DIRTY, NULL, TENANCY_FAULT },
		{ "torn, and runs", torn_and_runs, TENANT_DIRTY, NULL, TENANCY_FAULT },
		{ "torn, and assigned", torn_and_recorded, TENANT_DIRTY, NULL, TENANCY_FAULT },
		{ "another model", other_model, TENANT_DIRTY, NULL, TENANCY_FAULT },
		{ "another UUID", other_uuid, TENANT_DIRTY, NULL, TENANCY_FAULT },
		{ "another serial number", other_serial, TENANT_DIRTY, NULL, TENANCY_FAULT },
		{ "the UUID cannot be read", uuid_not_known_now, TENANT_CLEAN, X, TENANCY_MARK },
		{ "no directory", no_directory, TENANT_DIRTY, NULL, TENANCY_FAULT },
		{ "another bus number", moved, TENANT_DIRTY, X, TENANCY_MOVED },
		{ "another bus number, clean", moved_clean, TENANT_NONE, NULL, TENANCY_NOTHING },
		{ "two of them", two_moved, TENANT_DIRTY, NULL, TENANCY_MOVED },
		{ "a missing board, not this", moved_another, TENANT_NONE, NULL, TENANCY_NOTHING },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		TenancyFacts facts;
		Tenancy t;
		_cleanup_(scene_done) Scene s = scene_new();

		rows[i].prepare(&s);
		facts = facts_of(&s);
		t = tenancy_of(&facts, &s.host.set->gpus[0]);
		if (t.state != rows[i].state || t.source != rows[i].source ||
		    !str_equal(t.domain_uuid, rows[i].uuid))
			fail_msg("%s: %s of %s, by %d", rows[i].name,
				 tenant_state_to_string(t.state), str_or_empty(t.domain_uuid),
				 t.source);
	}
}

TEST(what_a_mark_says_already_is_no_news)
{
	static const struct {
		void (*prepare)(Scene *s);
		bool news;
	} rows[] = {
		{ nothing, false },	  { dirty, false },  { record, true },
		{ ours_and_runs, false }, { defined, true }, { others_and_runs, true },
		{ torn_and_runs, false }, { moved, false },  { others_and_defined, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		TenancyFacts facts;
		Tenancy t;
		_cleanup_(scene_done) Scene s = scene_new();

		rows[i].prepare(&s);
		facts = facts_of(&s);
		t = tenancy_of(&facts, &s.host.set->gpus[0]);
		if (tenancy_is_news(&t) != rows[i].news)
			fail_msg("row %zu", i);
	}
}

TEST(a_mark_of_another_board_is_told)
{
	static const struct {
		void (*prepare)(Scene *s);
		const char *words;
	} rows[] = {
		{ other_model, "0000:41:00.0 is another board than the one that its mark is of" },
		{ dirty, NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_strv_ char **notes = NULL;
		TenancyFacts facts;
		_cleanup_(scene_done) Scene s = scene_new();

		rows[i].prepare(&s);
		facts = facts_of(&s);
		tenancy_notes(&facts, &notes);
		assert_int_equal(strv_length(notes), rows[i].words ? 1 : 0);
		if (rows[i].words && !strstr(notes[0], rows[i].words))
			fail_msg("row %zu: %s", i, notes[0]);
	}
}

/* ---- as JSON ---- */

/* Whoever chooses a domain's name cannot make its mark unreadable by it. */
TEST(a_name_of_any_length_leaves_the_mark_readable)
{
	char name[8192];
	TenantMark mark = { .state = TENANT_DIRTY, .domain_name = name, .why = (char *)"so" };
	_cleanup_free_ char *json = NULL;
	void *back = NULL;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	json = record_text(&tenant_kind, tenant_mark_document(&mark));
	assert_int_equal(record_parse(&tenant_kind, json, strlen(json), &back, NULL), 0);
	assert_null(((TenantMark *)back)->domain_name);
	tenant_mark_free(back);
}
