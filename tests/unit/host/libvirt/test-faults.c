/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host/libvirt while libvirt and its guests misbehave. The calls go to libvirt's test driver,
 * except for the functions below: they are defined here, come before libvirt's own in the link, and
 * may call those.
 */
#include "rig/test.h"

#include <dlfcn.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <stdatomic.h>
#include <string.h>

#include "core/domain/xml.h"
#include "rig/virt-free.h"
#include "util/text.h"

#define NODE "test://" FIXTURES "/libvirt/node.xml"
#define RUNNING "11111111-1111-4111-8111-111111111111"
#define VM42 "22222222-2222-4222-8222-222222222222"
#define LIBVIRT_WORDS "words-of-libvirt"
#define ALIAS "ua-gpupass-pair0-0"

static const Bdf function = { .bus = 0x41 };
static const Bdf elsewhere = { .bus = 0x81 };

/* --- what libvirt shall do --- */

/* Read by the threads of libvirt and of ours. */
typedef struct Script {
	/* What comes of a detach, in this order. */
	bool goes;		     /* the device leaves the live XML */
	bool removed, failed, other; /* news: of it; of others' devices and domains only */
	bool lost;		     /* the connection breaks */
	bool refused;		     /* libvirt refuses */
	bool destroyed;		     /* the domain is, meanwhile */
	bool stays;		     /* the call does not return until let_go */
	atomic_bool gone;	     /* the device is out of the live XML */
	atomic_bool odd_xml;	     /* an XML that cannot be understood */
	atomic_bool no_xml;	     /* an XML that libvirt cannot send */
	atomic_bool no_acpi;
	atomic_bool vanish;	  /* every XML is that of a domain which has just gone */
	atomic_bool old_driver;	  /* refuses the flag VALIDATE */
	atomic_bool attach_lost;  /* the connection breaks during an attach */
	atomic_bool forgotten;	  /* QEMU has the device, and libvirt does not know it */
	atomic_bool slow_version; /* libvirt asks QEMU for its version until let_go */
	atomic_bool slow_open;	  /* a connection is not made until let_go */
	atomic_bool let_go;	  /* ends what stays or is slow */
	atomic_bool no_stats;	  /* a driver without virConnectGetAllDomainStats() */
	atomic_bool no_filter;	  /* and without filters of its list */
	atomic_bool starts;	  /* every domain is running by the time that its XML is read */
	atomic_bool silent;	  /* no event of a domain's life is told */
	atomic_uint detaches, returned, attaches, defines;
	atomic_uint trips; /* calls that ask libvirt about domains, but for the one below */
	atomic_uint xmls;
	atomic_uint no_schema;	  /* so many validations fail: libvirt cannot read its schema */
	atomic_bool schema_error; /* the last define did */
	atomic_bool edited;	  /* somebody edits the domain after such a failure */
	_Atomic(virConnectPtr) conn;
	_Atomic(virConnectCloseFunc) on_close;
	_Atomic(virConnectDomainEventDeviceRemovedCallback) on_removed;
	_Atomic(virConnectDomainEventDeviceRemovalFailedCallback) on_failed;
	_Atomic(void *) data; /* of all these callbacks */
} Script;

static Script script;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Cuts from the first `from` to the end of the last `to`. */
static char *cut(const char *text, const char *from, const char *to)
{
	const char *a = strstr(text, from), *b = NULL;

	for (const char *p = text; (p = strstr(p, to)); p++)
		b = p;
	return a && b ? strf("%.*s%s", (int)(a - text), text, b + strlen(to)) : strdup(text);
}

#define COUNTED(type, name, parameters, arguments)                                                 \
	type name parameters                                                                       \
	{                                                                                          \
		script.trips++;                                                                    \
		return REAL(name) arguments;                                                       \
	}

COUNTED(int, virDomainIsActive, (virDomainPtr domain), (domain))
COUNTED(int, virDomainIsPersistent, (virDomainPtr domain), (domain))
COUNTED(int, virDomainGetState, (virDomainPtr domain, int *state, int *reason, unsigned flags),
	(domain, state, reason, flags))
COUNTED(virDomainPtr, virDomainLookupByUUIDString, (virConnectPtr conn, const char *uuid),
	(conn, uuid))

int virConnectListAllDomains(virConnectPtr conn, virDomainPtr **domains, unsigned flags)
{
	script.trips++;
	if (flags != 0 && script.no_filter)
		return -1;
	return REAL(virConnectListAllDomains)(conn, domains, flags);
}

int virConnectGetAllDomainStats(virConnectPtr conn, unsigned stats,
				virDomainStatsRecordPtr **records, unsigned flags)
{
	script.trips++;
	if (script.no_stats)
		return -1;
	return REAL(virConnectGetAllDomainStats)(conn, stats, records, flags);
}

char *virDomainGetXMLDesc(virDomainPtr domain, unsigned flags)
{
	_cleanup_free_ char *xml = NULL;

	script.xmls++;
	if (script.starts && virDomainGetID(domain) == (unsigned)-1)
		(void)virDomainCreate(domain);
	if (script.vanish) {
		virDomainPtr none = virDomainLookupByName(virDomainGetConnect(domain), "gone");

		assert_null(none); /* leaves VIR_ERR_NO_DOMAIN as the last error */
		return NULL;
	}
	if (script.no_xml)
		return REAL(virDomainGetXMLDesc)(domain, UINT32_MAX); /* an error it is */
	xml = REAL(virDomainGetXMLDesc)(domain, flags);
	if (!xml)
		return NULL;
	if (script.odd_xml)
		return cut(xml, "<name>", "</name>");
	if (flags & VIR_DOMAIN_XML_INACTIVE)
		return TAKE_PTR(xml);
	if (script.gone)
		return cut(xml, "<hostdev", "</hostdev>");
	if (script.no_acpi)
		return cut(xml, "<features>", "</features>");
	return TAKE_PTR(xml);
}

int virConnectRegisterCloseCallback(virConnectPtr conn, virConnectCloseFunc cb, void *opaque,
				    virFreeCallback freecb)
{
	script.conn = conn;
	script.data = opaque;
	script.on_close = cb;
	return REAL(virConnectRegisterCloseCallback)(conn, cb, opaque, freecb);
}

int virConnectDomainEventRegisterAny(virConnectPtr conn, virDomainPtr domain, int event,
				     virConnectDomainEventGenericCallback cb, void *opaque,
				     virFreeCallback freecb)
{
	void (*any)(void) = (void (*)(void))cb;

	if (event == VIR_DOMAIN_EVENT_ID_LIFECYCLE && script.silent)
		event = VIR_DOMAIN_EVENT_ID_PMWAKEUP; /* which does not come */
	if (event == VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED)
		script.on_removed = (virConnectDomainEventDeviceRemovedCallback)any;
	if (event == VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED)
		script.on_failed = (virConnectDomainEventDeviceRemovalFailedCallback)any;
	return REAL(virConnectDomainEventRegisterAny)(conn, domain, event, cb, opaque, freecb);
}

/* --- what happens: on the event thread, as with a real libvirt --- */

typedef struct News {
	virConnectPtr conn;
	virDomainPtr domain;
	const char *alias;
	bool failed;
} News;

static void deliver(int timer, void *userdata)
{
	_cleanup_free_ News *news = userdata;

	virEventRemoveTimeout(timer);
	(news->failed ? script.on_failed : script.on_removed)(news->conn, news->domain, news->alias,
							      script.data);
	virDomainFree(news->domain);
	virConnectClose(news->conn);
}

static void happens(virDomainPtr domain, const char *alias, bool failed)
{
	News *news = calloc(1, sizeof(*news));

	assert_non_null(news);
	*news = (News){ virDomainGetConnect(domain), domain, alias, failed };
	virConnectRef(news->conn);
	virDomainRef(domain);
	assert_true(virEventAddTimeout(20, deliver, news, NULL) >= 0);
}

static void lose(virConnectPtr conn)
{
	script.on_close(conn, VIR_CONNECT_CLOSE_REASON_KEEPALIVE, script.data);
}

/* Fails with an error of libvirt's own: there is no network of this name. */
static int refuse(virDomainPtr domain)
{
	assert_null(virNetworkLookupByName(virDomainGetConnect(domain), LIBVIRT_WORDS));
	return -1;
}

static void happens_to_others(virDomainPtr domain)
{
	virDomainPtr other = virDomainLookupByUUIDString(virDomainGetConnect(domain), VM42);

	happens(domain, "hostdev7", false);
	happens(domain, "hostdev7", true);
	happens(other, ALIAS, true);
	virDomainFree(other);
}

static void hang(void)
{
	while (!script.let_go)
		usleep(1000);
}

virConnectPtr virConnectOpen(const char *name)
{
	if (script.slow_open && strcmp(name, NODE) == 0)
		hang();
	return REAL(virConnectOpen)(name);
}

int virConnectGetVersion(virConnectPtr conn, unsigned long *version)
{
	if (script.slow_version)
		hang();
	return REAL(virConnectGetVersion)(conn, version);
}

static int detach(virDomainPtr domain)
{
	script.gone = script.goes;
	if (script.removed || script.failed)
		happens(domain, ALIAS, script.failed);
	if (script.other)
		happens_to_others(domain);
	if (script.lost)
		lose(virDomainGetConnect(domain));
	if (script.stays)
		hang();
	return script.refused ? refuse(domain) : script.destroyed ? virDomainDestroy(domain) : 0;
}

int virDomainDetachDeviceFlags(virDomainPtr domain, const char *xml, unsigned flags)
{
	int r;

	assert_int_equal(flags, VIR_DOMAIN_AFFECT_LIVE);
	assert_non_null(strstr(xml, "domain='0x0000' bus='0x41' slot='0x00' function='0x0'"));
	script.detaches++;
	r = detach(domain);
	script.returned++;
	return r;
}

int virDomainAttachDeviceFlags(virDomainPtr domain, const char *xml _unused_, unsigned flags)
{
	assert_int_equal(flags, VIR_DOMAIN_AFFECT_LIVE);
	script.attaches++;
	if (script.forgotten) {
		/* QEMU's words, in some error of libvirt's. */
		assert_null(virNetworkLookupByName(virDomainGetConnect(domain),
						   "Duplicate device ID 'ua-gpupass-pair0-0'"));
		return -1;
	}
	if (!script.attach_lost)
		return refuse(domain);
	lose(virDomainGetConnect(domain));
	/* What libvirt gives for a dead connection: an error of the RPC kind. */
	assert_null(virConnectOpen("qemu+unix:///system?socket=/nonexistent/sock"));
	return -1;
}

virDomainPtr virDomainDefineXMLFlags(virConnectPtr conn, const char *xml, unsigned flags)
{
	bool failed;

	script.defines++;
	if (script.old_driver && (flags & VIR_DOMAIN_DEFINE_VALIDATE))
		flags = 1U << 30; /* refused by virCheckFlags() */
	failed = script.no_schema > 0 && (flags & VIR_DOMAIN_DEFINE_VALIDATE);
	script.schema_error = failed;
	script.no_schema -= failed;
	script.odd_xml |= failed && script.edited;
	return failed ? NULL : REAL(virDomainDefineXMLFlags)(conn, xml, flags);
}

/* As virXMLValidatorInit() in libvirt leaves it. */
virErrorPtr virGetLastError(void)
{
	static virError error = { .code = VIR_ERR_INTERNAL_ERROR, .domain = VIR_FROM_XML };

	return script.schema_error ? &error : REAL(virGetLastError)();
}

/* --- tests --- */

static int new_script(void **state _unused_)
{
	script = (Script){ 0 };
	return 0;
}

static Virt *start(void)
{
	Virt *virt = NULL;

	assert_int_equal(virt_new(NODE, NULL, NULL, &virt), 0);
	return virt;
}

static DomainUses *uses_of(Virt *virt, bool fresh)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	DomainUses *uses = NULL;

	script.trips = script.xmls = 0;
	assert_int_equal(virt_domain_uses(virt, fresh, &uses, &problem), 0);
	return uses;
}

/* As it is defined already. */
static int define_vm42(Virt *virt, Problem **ret_problem)
{
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;

	script.trips = script.xmls = 0;
	assert_int_equal(virt_domain_get(virt, VM42, &domain, ret_problem), 0);
	assert_false(domain->active);
	assert_true(domain->persistent);
	/* Of a shut off domain the lookup says all that is not in its XML. */
	assert_int_equal(script.trips + script.xmls, 2);
	script.trips = script.xmls = 0;
	return virt_domain_define(virt, VM42, domain->config_xml, domain->config_xml, ret_problem);
}

static void wait_for(const atomic_uint *counter, unsigned n)
{
	for (int i = 0; i < 3000; i++) {
		if (*counter >= n)
			return;
		usleep(10 * 1000);
	}
	fail_msg("the call was not made, or did not return");
}

typedef struct CallRow {
	const char *what;
	Script script; /* what libvirt does */
	GpupassError error;
	unsigned defines; /* how often libvirt was asked to define it */
	const char *reason, *cause, *state, *remedy;
} CallRow;

static void check_call(const CallRow *row, int r, const Problem *problem)
{
	const char *const wanted[] = { row->reason, row->cause, row->state, row->remedy };
	const char *const found[] = { problem ? problem->reason : NULL,
				      problem ? problem->cause : NULL,
				      problem ? problem->state : NULL,
				      problem ? problem->remedy : NULL };

	if (r != (row->error ? PROBLEM : 0) || (problem && problem->error != row->error) ||
	    script.defines != row->defines)
		fail_msg("%s: %d %s, defined %u times", row->what, r, str_or_empty(found[0]),
			 script.defines);
	for (size_t i = 0; i < ELEMENTS(wanted); i++)
		if (wanted[i] && !strstr(str_or_empty(found[i]), wanted[i]))
			fail_msg("%s: '%s' is not in '%s'", row->what, wanted[i],
				 str_or_empty(found[i]));
}

/* cause NULL: gone. Otherwise the problem's cause has this in it. */
static const struct {
	const char *what;
	Script script;
	unsigned timeout_ms;
	unsigned least_ms, most_ms; /* how long it may take */
	const char *cause;
} detach_rows[] = {
	ROW("event before the call returns", { .goes = true, .removed = true, .stays = true },
	    10000, 0, 5000, NULL),
	ROW("gone without an event", { .goes = true }, 10000, 0, 5000, NULL),
	/* fault 30 */
	ROW("domain destroyed", { .destroyed = true }, 10000, 0, 5000, NULL),
	ROW("lost, back, and gone", { .goes = true, .lost = true }, 10000, 400, 8000, NULL),
	ROW("lost, back, still there", { .lost = true }, 1500, 1500, 8000,
	    "still there after 1.5 s"),
	ROW("silence", { 0 }, 700, 700, 5000, "still there after 0.7 s"),
	ROW("silence, no acpi", { .no_acpi = true }, 300, 300, 5000, "<acpi/>"),
	ROW("news of others", { .other = true }, 500, 500, 5000, "still there after 0.5 s"),
	ROW("guest refuses", { .failed = true }, 10000, 0, 5000, "refused to let go"),
	ROW("libvirt refuses", { .refused = true }, 10000, 0, 5000, LIBVIRT_WORDS),
	ROW("call hangs", { .stays = true }, 500, 500, 5000, "still there after 0.5 s"),
	ROW("no time at all", { 0 }, 0, 0, 5000, "still there after 0.0 s"),
};

static void check_detach(size_t i, int r, const Problem *problem, uint64_t took_ms)
{
	const char *what = detach_rows[i].what;
	const CallRow row = { .what = what,
			      .error = detach_rows[i].cause ? GPUPASS_ERROR_DETACH_TIMEOUT : 0,
			      .reason = problem ? "running does not let go of 0000:41:00.0" : NULL,
			      .cause = detach_rows[i].cause };

	if (took_ms < detach_rows[i].least_ms || took_ms > detach_rows[i].most_ms)
		fail_msg("%s: took %llu ms", what, (unsigned long long)took_ms);
	check_call(&row, r, problem);
	if (problem && !problem->remedy)
		fail_msg("%s: no remedy", what);
}

TEST_WITH(detach_is_decided_by_the_live_xml_within_its_time, new_script, NULL)
{
	for (size_t i = 0; i < ELEMENTS(detach_rows); i++) {
		_cleanup_(virt_freep) Virt *virt = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;
		uint64_t start_usec;
		int r;

		script = detach_rows[i].script;
		virt = start();
		start_usec = now_monotonic();
		r = virt_domain_detach(virt, RUNNING, &function,
				       detach_rows[i].timeout_ms * USEC_PER_MSEC, &problem);
		check_detach(i, r, problem, (now_monotonic() - start_usec) / USEC_PER_MSEC);
		/* The thread that asked has ended before the script is reset. */
		script.let_go = true;
		wait_for(&script.returned, 1);
		assert_int_equal(script.detaches, 1);
	}
}

/* libvirtd sends no text of more than 4 MiB: "Unable to encode message payload". */
TEST_WITH(an_xml_that_is_not_sent_or_not_understood_hides_no_domain, new_script, NULL)
{
	_cleanup_(virt_freep) Virt *virt = start();

	for (unsigned k = 0; k < 2; k++) {
		_cleanup_(domain_uses_freep) DomainUses *uses = NULL;

		script.no_xml = k == 0;
		script.odd_xml = k == 1;
		uses = uses_of(virt, true);
		assert_int_equal(uses->n_items, 4);
		for (size_t i = 0; i < uses->n_items; i++) {
			_cleanup_free_ char *remedy = domain_use_unread_remedy(&uses->items[i]);

			assert_int_equal(str_starts_with(uses->items[i].unread, "libvirt: "),
					 script.no_xml);
			assert_non_null(uses->items[i].name);
			assert_ptr_equal(domain_uses_find(uses, uses->items[i].uuid),
					 &uses->items[i]);
			assert_int_equal(uses->items[i].n_hostdevs, 0);
			assert_non_null(strstr(remedy, uses->items[i].uuid));
		}
	}
}

/* Each round trip counts: of a host with a hundred domains it is most of an assign. */
TEST_WITH(what_is_told_of_all_domains_is_not_asked_of_each, new_script, NULL)
{
	_cleanup_(virt_freep) Virt *virt = start();
	_cleanup_(domain_uses_freep) DomainUses *uses = uses_of(virt, true), *asked_each = NULL;
	unsigned running = 0;

	for (size_t i = 0; i < uses->n_items; i++) {
		assert_true(uses->items[i].active || uses->items[i].persistent);
		running += uses->items[i].active && uses->items[i].persistent;
	}
	assert_true(running > 0 && running < uses->n_items);
	assert_int_equal(script.xmls, uses->n_items + running);
	assert_int_equal(script.trips, 3);

	/* The same from a driver that cannot tell it of all. */
	script.no_stats = script.no_filter = true;
	asked_each = uses_of(virt, true);
	assert_int_equal(asked_each->n_items, uses->n_items);
	for (size_t i = 0; i < uses->n_items; i++) {
		assert_string_equal(asked_each->items[i].uuid, uses->items[i].uuid);
		assert_int_equal(asked_each->items[i].active, uses->items[i].active);
		assert_int_equal(asked_each->items[i].persistent, uses->items[i].persistent);
		assert_int_equal(asked_each->items[i].n_hostdevs, uses->items[i].n_hostdevs);
	}
	assert_true(script.trips > uses->n_items);
}

/* ---- what is known between two readings ---- */

static void start_vm42(void)
{
	_cleanup_domain_ virDomainPtr domain = virDomainLookupByName(script.conn, "vm42");

	assert_int_equal(virDomainCreate(domain), 0);
}

static void undefine_one(void)
{
	_cleanup_domain_ virDomainPtr domain = virDomainLookupByName(script.conn, "1");

	assert_int_equal(virDomainUndefine(domain), 0);
}

static void define_another(void)
{
	_cleanup_domain_ virDomainPtr domain = virDomainDefineXML(
		script.conn, "<domain type='test'><name>another</name><memory>1024</memory>"
			     "<os><type>hvm</type></os></domain>");

	assert_non_null(domain);
}

static const struct {
	const char *name;
	void (*change)(void);
	size_t active, n; /* domains then */
	unsigned xmls;	  /* how many are read for it */
} changes[] = {
	{ "a start", start_vm42, 3, 4, 2 },
	{ "an undefine", undefine_one, 2, 3, 0 },
	{ "a define", define_another, 2, 5, 1 },
};

static bool is_known(Virt *virt, bool fresh, size_t row)
{
	_cleanup_(domain_uses_freep) DomainUses *uses = uses_of(virt, fresh);
	size_t active = 0;

	for (size_t i = 0; i < uses->n_items; i++)
		active += uses->items[i].active;
	return active == changes[row].active && uses->n_items == changes[row].n;
}

/* A thousand domains are not read for one of them. */
TEST_WITH(only_what_libvirt_has_told_of_is_read_again, new_script, NULL)
{
	for (size_t i = 0; i < ELEMENTS(changes); i++) {
		_cleanup_(virt_freep) Virt *virt = start();
		_cleanup_(domain_uses_freep) DomainUses *first = uses_of(virt, false);
		_cleanup_(domain_uses_freep) DomainUses *second = NULL, *third = NULL;

		assert_int_equal(script.xmls, 5);
		second = uses_of(virt, false);
		assert_ptr_equal(first, second);
		assert_int_equal(script.xmls + script.trips, 0);
		changes[i].change();
		for (unsigned tries = 0; !is_known(virt, false, i); tries++) {
			assert_true(tries < 3000);
			usleep(10 * 1000);
		}
		if (script.xmls != changes[i].xmls)
			fail_msg("%s: %u", changes[i].name, script.xmls);
		third = uses_of(virt, false);
		assert_int_equal(script.xmls + script.trips, 0);
	}
}

TEST_WITH(what_no_event_tells_is_seen_by_a_fresh_reading, new_script, NULL)
{
	for (size_t i = 0; i < ELEMENTS(changes); i++) {
		_cleanup_(virt_freep) Virt *virt = NULL;
		_cleanup_(domain_uses_freep) DomainUses *first = NULL;

		script.silent = true;
		virt = start();
		first = uses_of(virt, false);
		changes[i].change();
		usleep(20 * 1000);
		assert_false(is_known(virt, false, i));
		assert_true(is_known(virt, true, i));
		assert_true(is_known(virt, false, i)); /* what was read is known to all */
	}
}

TEST_WITH(a_fresh_reading_believes_none_before_it, new_script, NULL)
{
	_cleanup_(virt_freep) Virt *virt = start();

	for (unsigned i = 0; i < 3; i++) {
		domain_uses_free(uses_of(virt, true));
		assert_int_equal(script.xmls, 5);
	}
}

/* Ours is seen by the next look, though libvirt may tell it later. */
TEST_WITH(a_definition_of_ours_is_made_by_two_calls_and_known_at_once, new_script, NULL)
{
	_cleanup_(virt_freep) Virt *virt = NULL;
	_cleanup_(domain_uses_freep) DomainUses *before = NULL, *after = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;

	script.silent = true;
	virt = start();
	before = uses_of(virt, false);
	assert_int_equal(define_vm42(virt, &problem), 0);
	assert_int_equal(script.trips + script.xmls, 2);
	after = uses_of(virt, false);
	assert_int_equal(script.xmls, 1);
}

TEST_WITH(what_was_known_by_a_lost_connection_is_read_again, new_script, NULL)
{
	_cleanup_(virt_freep) Virt *virt = start();

	domain_uses_free(uses_of(virt, false));
	lose(script.conn);
	assert_int_equal(virt_wait_connected(virt, 30 * USEC_PER_SEC), 0);
	domain_uses_free(uses_of(virt, false));
	assert_int_equal(script.xmls, 5);
}

TEST_WITH(what_could_not_be_read_is_tried_each_time, new_script, NULL)
{
	_cleanup_(virt_freep) Virt *virt = start();
	_cleanup_(domain_uses_freep) DomainUses *before = NULL, *after = NULL;
	size_t at = 0;

	script.no_xml = true;
	before = uses_of(virt, false);
	assert_non_null(domain_uses_unread(before, &at));
	script.no_xml = false;
	after = uses_of(virt, false);
	at = 0;
	assert_null(domain_uses_unread(after, &at));
	assert_int_equal(after->n_items, before->n_items);
}

/* A plan that believed the list would give away what a guest has just got. */
TEST_WITH(a_domain_that_starts_after_the_list_is_seen_to_run, new_script, NULL)
{
	_cleanup_(virt_freep) Virt *virt = start();
	_cleanup_(domain_uses_freep) DomainUses *uses = NULL;
	const DomainUse *use;

	script.starts = true;
	uses = uses_of(virt, true);
	use = domain_uses_find(uses, VM42);
	assert_non_null(use);
	assert_true(use->active && use->persistent);
}

TEST_WITH(a_domain_that_vanishes_meanwhile_is_left_out, new_script, NULL)
{
	_cleanup_(virt_freep) Virt *virt = start();
	_cleanup_(domain_uses_freep) DomainUses *uses = NULL;
	_cleanup_(problem_freep) Problem *missing = NULL;
	VirtDomain *domain = NULL;

	script.vanish = true;
	uses = uses_of(virt, true);
	assert_int_equal(uses->n_items, 0);
	assert_int_equal(virt_domain_get(virt, RUNNING, &domain, &missing), PROBLEM);
	assert_int_equal(missing->error, GPUPASS_ERROR_NO_SUCH_DOMAIN);
}

/* ---- a definition, or an attach, that libvirt does not take ---- */

static const CallRow define_rows[] = {
	ROW("as it is", { 0 }, .defines = 1),
	ROW("a driver that cannot validate", { .old_driver = true }, .defines = 2),
	ROW("once it could not read its schema", { .no_schema = 1 }, .defines = 2),
	ROW("it could not read its schema twice", { .no_schema = 2 }, GPUPASS_ERROR_DEFINE_FAILED,
	    .defines = 2),
	ROW("somebody edits the domain meanwhile", { .no_schema = 1, .edited = true },
	    GPUPASS_ERROR_STALE_PLAN, .defines = 1),
};

TEST_WITH(define_asks_once_more_where_libvirt_cannot_validate, new_script, NULL)
{
	for (size_t i = 0; i < ELEMENTS(define_rows); i++) {
		_cleanup_(virt_freep) Virt *virt = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;

		script = define_rows[i].script;
		virt = start();
		check_call(&define_rows[i], define_vm42(virt, &problem), problem);
	}
}

static const CallRow attach_rows[] = {
	ROW("libvirt refuses", { 0 }, GPUPASS_ERROR_ATTACH_FAILED,
	    .reason = "0000:81:00.0 to domain running", .cause = LIBVIRT_WORDS),
	/* fault 27 */
	ROW("libvirt has forgotten a device", { .forgotten = true }, GPUPASS_ERROR_ATTACH_FAILED,
	    .reason = "the guest of running has 0000:81:00.0 already",
	    .cause = "Duplicate device ID", .remedy = "shut running down: its devices go with it"),
	ROW("libvirt is lost, and nothing is claimed", { .attach_lost = true },
	    GPUPASS_ERROR_LIBVIRT_UNAVAILABLE, .state = "0000:81:00.0"),
};

TEST_WITH(an_attach_that_fails_gives_libvirts_reason_and_names_the_function, new_script, NULL)
{
	for (size_t i = 0; i < ELEMENTS(attach_rows); i++) {
		_cleanup_(virt_freep) Virt *virt = NULL;
		_cleanup_free_ char *hostdev = domain_xml_hostdev("pair0", 0, &elsewhere);
		_cleanup_(problem_freep) Problem *problem = NULL;
		int r;

		script = attach_rows[i].script;
		virt = start();
		r = virt_domain_attach(virt, RUNNING, hostdev, &problem);
		check_call(&attach_rows[i], r, problem);
		assert_int_equal(script.attaches, 1);
	}
}

/* --- reconnecting --- */

/* Of one that is told of connections and losses in turn: how many there were. */
static void note(VirtEventKind kind, const char *uuid _unused_, void *userdata)
{
	atomic_uint *told = userdata;

	if (kind == VIRT_EVENT_DOMAIN)
		return;
	assert_int_equal(kind, *told % 2 == 0 ? VIRT_EVENT_CONNECTED : VIRT_EVENT_DISCONNECTED);
	(*told)++;
}

/* fault 26 */
TEST_WITH(a_lost_connection_is_told_refused_and_made_again, new_script, NULL)
{
	_cleanup_(virt_freep) Virt *virt = NULL;
	_cleanup_(problem_freep) Problem *lost = NULL, *problem = NULL;
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	_cleanup_free_ char *hostdev = domain_xml_hostdev("pair0", 0, &elsewhere);
	atomic_uint told = 0;

	assert_int_equal(virt_new(NODE, note, &told, &virt), 0);
	wait_for(&told, 1);
	script.attach_lost = true;
	script.slow_open = true;
	assert_int_equal(virt_domain_attach(virt, RUNNING, hostdev, &lost), PROBLEM);
	problem_free(lost);
	lost = 0;
	assert_int_equal(virt_domain_get(virt, RUNNING, &domain, &lost), PROBLEM);
	assert_int_equal(lost->error, GPUPASS_ERROR_LIBVIRT_UNAVAILABLE);
	assert_non_null(strstr(lost->cause, "stopped answering"));
	assert_false(virt_connected(virt));
	script.let_go = true;
	wait_for(&told, 3);
	assert_int_equal(virt_domain_get(virt, RUNNING, &domain, &problem), 0);
}

/* A libvirt that has just been installed runs each of its emulators first. */
TEST_WITH(nobody_waits_for_the_version_of_the_hypervisor, new_script, NULL)
{
	_cleanup_(virt_freep) Virt *virt = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	uint64_t libvirt, hypervisor = 0;

	script.slow_version = true;
	virt = start();
	assert_int_equal(virt_domain_get(virt, RUNNING, &domain, &problem), 0);
	virt_versions(virt, &libvirt, &hypervisor);
	assert_int_not_equal(libvirt, 0);
	assert_int_equal(hypervisor, 0);
	script.let_go = true;
	for (int i = 0; i < 3000 && hypervisor == 0; i++) {
		usleep(10 * 1000);
		virt_versions(virt, &libvirt, &hypervisor);
	}
	assert_int_not_equal(hypervisor, 0);
}

/* Last: it leaves threads behind. */
TEST_WITH(virt_free_does_not_wait_for_a_detach_that_hangs, new_script, NULL)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	Virt *virt = start();
	uint64_t start_usec;

	script.stays = true;
	assert_int_equal(
		virt_domain_detach(virt, RUNNING, &function, 200 * USEC_PER_MSEC, &problem),
		PROBLEM);
	wait_for(&script.detaches, 1); /* on a busy machine it takes longer than that */
	start_usec = now_monotonic();
	assert_null(virt_free(virt));
	assert_true(now_monotonic() - start_usec < 5 * USEC_PER_SEC);
	assert_int_equal(script.returned, 0);
	script.let_go = true;
	wait_for(&script.returned, 1);
}
