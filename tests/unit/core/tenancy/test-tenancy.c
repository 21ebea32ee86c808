/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/tenancy/tenancy.h"
#include "rig/host-model.h"

#define X "00000000-0000-0000-0000-000000000001"
#define Y "00000000-0000-0000-0000-000000000002"
#define BOARD "0000:41:00.0"
#define MOVED .at = "0000:99:00.0"

/* host_domain() counts from 1: the first is X, the second Y. */
typedef enum Has {
	NOTHING,
	DEFINED_BOTH,
	RUNS_BOTH,
	RUNS_AUDIO,
} Has;

static const char *const both[] = { BOARD, "0000:41:00.1", NULL };

/* A host of one board at 41:00, and another of its model at 61:00. */
typedef struct Row {
	const char *name;
	/* Of the board at 41:00, or at this address. */
	struct {
		const char *of, *at;
		TenantState state;
		uint16_t device; /* 0: the board's model */
		const char *uuid, *serial;
	} mark, other;
	const char *uuid, *serial; /* of the board, as they are now */
	bool torn, no_directory, recorded;
	Has has[2];
	/* What follows. */
	TenantState state;
	const char *tenant;
	TenancySource source;
	bool news; /* what no mark says yet is to be stored */
	const char *note;
} Row;

#define DIRTY(uuid) .of = uuid, .state = TENANT_DIRTY
#define CLEAN(uuid) .of = uuid, .state = TENANT_CLEAN
#define FOLLOWS(what, uuid, from) .state = what, .tenant = uuid, .source = from
#define DOUBT FOLLOWS(TENANT_DIRTY, NULL, TENANCY_FAULT)

/* Whatever leaves a doubt is dirty, and of nobody who could have it without a reset. */
static const Row rows[] = {
	ROW("a new host", FOLLOWS(TENANT_NONE, NULL, TENANCY_NOTHING)),
	ROW("a neighbour's mark", .mark = { DIRTY(X), .at = "0000:61:00.0" },
	    FOLLOWS(TENANT_NONE, NULL, TENANCY_NOTHING)),
	ROW("dirty", .mark = { DIRTY(X) }, FOLLOWS(TENANT_DIRTY, X, TENANCY_MARK)),
	ROW("clean", .mark = { CLEAN(X) }, FOLLOWS(TENANT_CLEAN, X, TENANCY_MARK)),
	ROW("an older version's record", .recorded = true, FOLLOWS(TENANT_DIRTY, X, TENANCY_RECORD),
	    .news = true),
	ROW("reset, and not forgotten", .recorded = true, .mark = { CLEAN(X) },
	    FOLLOWS(TENANT_CLEAN, X, TENANCY_MARK)),
	ROW("defined by hand", .has = { DEFINED_BOTH }, FOLLOWS(TENANT_DIRTY, X, TENANCY_SEEN),
	    .news = true),
	ROW("defined after a reset", .mark = { CLEAN(X) }, .has = { DEFINED_BOTH },
	    FOLLOWS(TENANT_DIRTY, X, TENANCY_SEEN), .news = true),
	ROW("runs with its own", .mark = { DIRTY(X) }, .has = { RUNS_BOTH },
	    FOLLOWS(TENANT_DIRTY, X, TENANCY_MARK)),
	ROW("runs with another's", .mark = { DIRTY(Y) }, .has = { RUNS_AUDIO },
	    FOLLOWS(TENANT_DIRTY, X, TENANCY_SEEN), .news = true),
	ROW("only defined, another's", .mark = { DIRTY(Y) }, .has = { DEFINED_BOTH },
	    FOLLOWS(TENANT_DIRTY, Y, TENANCY_MARK)),
	ROW("two run with parts", .has = { RUNS_AUDIO, RUNS_BOTH },
	    FOLLOWS(TENANT_DIRTY, NULL, TENANCY_SEEN), .news = true),
	ROW("torn", .mark = { CLEAN(X) }, .torn = true, DOUBT),
	ROW("torn, and runs", .mark = { CLEAN(X) }, .torn = true, .has = { RUNS_BOTH }, DOUBT),
	ROW("torn, and assigned", .mark = { CLEAN(X) }, .torn = true, .recorded = true, DOUBT),
	ROW("another model", .mark = { CLEAN(X), .device = 0x2231 }, DOUBT,
	    .note = BOARD " is another board than the one that its mark is of"),
	ROW("another UUID", .mark = { CLEAN(X), .uuid = "GPU-1" }, .uuid = "GPU-2", DOUBT,
	    .note = BOARD " is another board"),
	ROW("another serial number", .mark = { DIRTY(X), .serial = "1" }, .serial = "2", DOUBT,
	    .note = BOARD " is another board"),
	ROW("the UUID cannot be read", .mark = { CLEAN(X), .uuid = "GPU-1" },
	    FOLLOWS(TENANT_CLEAN, X, TENANCY_MARK)),
	ROW("no directory", .mark = { CLEAN(X) }, .no_directory = true, DOUBT),
	ROW("another bus number", .mark = { DIRTY(X), MOVED },
	    FOLLOWS(TENANT_DIRTY, X, TENANCY_MOVED)),
	ROW("another bus number, clean", .mark = { CLEAN(X), MOVED },
	    FOLLOWS(TENANT_NONE, NULL, TENANCY_NOTHING)),
	ROW("two of them", .mark = { DIRTY(X), MOVED }, .other = { DIRTY(Y), .at = "0000:9a:00.0" },
	    FOLLOWS(TENANT_DIRTY, NULL, TENANCY_MOVED)),
	ROW("a missing board, not this", .mark = { DIRTY(X), MOVED, .uuid = "GPU-1" },
	    .uuid = "GPU-2", FOLLOWS(TENANT_NONE, NULL, TENANCY_NOTHING)),
};

static HostModel make_host(const Row *row)
{
	HostModel host = host_new();

	host_gpu(&host, "0000:41:00", 0x2230, "nvidia");
	host_gpu(&host, "0000:61:00", 0x2230, "nvidia");
	host_seal(&host);
	host.set->gpus[0].uuid = xstrdup(row->uuid);
	host.set->gpus[0].serial_number = xstrdup(row->serial);
	if (row->recorded)
		host_assignment(&host, "pair0", "x", 1, both);
	for (size_t i = 0; i < 2; i++)
		if (row->has[i] != NOTHING)
			host_domain(&host, "x", row->has[i] != DEFINED_BOTH,
				    row->has[i] == RUNS_AUDIO ? both + 1 : both);
	return host;
}

/* Its texts are the row's. */
#define MARK(m)                                                                                    \
	(TenantMark)                                                                               \
	{                                                                                          \
		.bdf = bdf_of((m).at ? (m).at : BOARD), .state = (m).state,                        \
		.vendor = PCI_VENDOR_NVIDIA, .device = (m).device ? (m).device : 0x2230,           \
		.subsystem_vendor = PCI_VENDOR_NVIDIA, .subsystem_device = 0x1459,                 \
		.domain_uuid = (char *)(m).of, .uuid = (char *)(m).uuid,                           \
		.serial_number = (char *)(m).serial                                                \
	}

static void check(const Row *row, const TenancyFacts *facts)
{
	const Tenancy t = tenancy_of(facts, &facts->gpus->gpus[0]);
	_cleanup_strv_ char **notes = NULL;

	if (t.state != row->state || t.source != row->source ||
	    !str_equal(t.domain_uuid, row->tenant))
		fail_msg("%s: %s of %s, by %d", row->name, tenant_state_to_string(t.state),
			 str_or_empty(t.domain_uuid), t.source);
	if (tenancy_is_news(&t) != row->news)
		fail_msg("%s: it is news, or not", row->name);
	tenancy_notes(facts, &notes);
	if (strv_length(notes) != (row->note ? 1 : 0) ||
	    (row->note && !str_starts_with(notes[0], row->note)))
		fail_msg("%s: %s", row->name, notes ? notes[0] : "nothing is told");
}

TEST(every_doubt_is_dirty)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const Row *row = &rows[i];
		_cleanup_(host_done) HostModel host = make_host(row);
		TenantMark marks[] = { MARK(row->mark), MARK(row->other) };
		TenantFile files[] = { { marks[0].bdf, &marks[0], 0 },
				       { marks[1].bdf, &marks[1], 0 } };
		Tenants tenants = { .items = files, .unread = row->no_directory };
		const TenancyFacts facts = { &tenants, host.set, host.assignments, host.uses };

		tenants.n_items = row->other.of ? 2 : row->mark.of ? 1 : 0;
		if (row->torn)
			files[0].mark = NULL;
		if (row->torn || row->no_directory)
			record_faults_add(&tenants.faults, &tenant_kind,
					  row->torn ? BOARD ".json" : "", -EBADMSG, "it is torn",
					  row->torn ? "{" : NULL, 1);
		check(row, &facts);
		record_faults_clear(&tenants.faults);
	}
}

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
	record_free(&tenant_kind, back);
}

static const PciFunction *add_port(HostModel *host, const char *bdf)
{
	PciFunction *port = host_function(host, bdf, 0x020000, 0x101d, NULL);

	port->vendor = 0x15b3;
	return port;
}

/*
 * Ports of a NIC may have two tenants. And of an NVMe that nobody had a mark of another one, even
 * where that is missing, must not say that it may be erased.
 */
/* promise M10 */
TEST(the_mark_of_one_companion_is_of_no_other)
{
	static const char *const marked[] = { "0000:e2:00.0", "0000:f2:00.0" };

	for (size_t i = 0; i < ELEMENTS(marked); i++) {
		_cleanup_(host_done) HostModel host = host_new();
		const PciFunction *port = add_port(&host, "0000:e2:00.1");
		TenantMark mark = { .bdf = bdf_of(marked[i]), PCI_IDS_OF(port) };
		TenantFile file = { mark.bdf, &mark, 0 };
		Tenants tenants = { .items = &file, .n_items = 1 };
		TenancyFacts facts = { &tenants, NULL, NULL, NULL };
		const Gpu board = { .lead = port, .functions = &port, .n_functions = 1 };

		mark.state = TENANT_DIRTY;
		add_port(&host, "0000:e2:00.0");
		host_seal(&host);
		facts.gpus = host.set;
		assert_int_equal(tenancy_of(&facts, &board).state, TENANT_NONE);
		file.bdf = mark.bdf = port->bdf;
		assert_int_equal(tenancy_of(&facts, &board).state, TENANT_DIRTY);
	}
}
