/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host/libvirt against libvirt's own test driver, with the nodes of fixtures/libvirt. */
#include "rig/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/domain/xml.h"
#include "rig/virt-free.h"
#include "util/text.h"

#define NODE "test://" FIXTURES "/libvirt/node.xml"
/* The same with names that are UUIDs, an id and a group's. */
#define NAMES "test://" FIXTURES "/libvirt/names.xml"
#define RUNNING "11111111-1111-4111-8111-111111111111"
#define VM42 "22222222-2222-4222-8222-222222222222"
#define ONE "33333333-3333-4333-8333-333333333333"
#define PASSING "44444444-4444-4444-8444-444444444444"
/* Half a second is what it takes; the rest is for a busy machine. */
#define QUICK (5 * USEC_PER_SEC)
#define NOBODY "99999999-9999-4999-8999-999999999999"

/* --- a listener that counts --- */

typedef struct Heard {
	atomic_uint connected, disconnected, domain;
	char uuid[64]; /* of the last domain */
} Heard;

static void listen_to(VirtEventKind kind, const char *uuid, void *userdata)
{
	Heard *heard = userdata;

	if (kind == VIRT_EVENT_DOMAIN)
		snprintf(heard->uuid, sizeof(heard->uuid), "%s", uuid);
	else
		assert_null(uuid);
	heard->connected += kind == VIRT_EVENT_CONNECTED;
	heard->disconnected += kind == VIRT_EVENT_DISCONNECTED;
	heard->domain += kind == VIRT_EVENT_DOMAIN;
}

static bool hears(const atomic_uint *count, unsigned n)
{
	for (unsigned tries = 0; *count < n && tries < 1000; tries++)
		usleep(10 * 1000);
	return *count >= n;
}

static Virt *connect_to(const char *uri)
{
	Virt *virt = NULL;

	assert_int_equal(virt_new(uri, NULL, NULL, &virt), 0);
	return virt;
}

/* By address, because `r` is often the call that sets it. */
static void assert_problem(int r, Problem *const *at, GpupassError error, const char *row)
{
	const Problem *problem = *at;

	if (r != PROBLEM || !problem || problem->error != error)
		fail_msg("%s: expected %s, got %d %s (%s)", row, problem_dbus_name(error), r,
			 problem ? problem_dbus_name(problem->error) : "no problem",
			 problem ? problem->reason : "");
}

/* --- connecting --- */

TEST(waiting_for_libvirt_ends_when_it_is_there_or_the_time_is_over)
{
	_cleanup_(virt_freep) Virt *none = connect_to("test:///nowhere/at/all.xml");
	_cleanup_(virt_freep) Virt *virt = connect_to(NODE);
	uint64_t begin = now_monotonic();

	assert_int_equal(virt_wait_connected(virt, 10 * USEC_PER_SEC), 0);
	assert_int_equal(virt_wait_connected(none, 400 * USEC_PER_MSEC), -ETIMEDOUT);
	assert_int_equal(virt_wait_connected(none, 0), -ETIMEDOUT);
	assert_true(now_monotonic() - begin < 10 * USEC_PER_SEC);
}

TEST(virt_connects_and_tells_the_listener)
{
	uint64_t libvirt = 0, hypervisor = 0;
	_cleanup_(virt_freep) Virt *virt = NULL;
	Heard heard = { 0 };

	assert_int_equal(virt_new(NODE, listen_to, &heard, &virt), 0);
	assert_true(hears(&heard.connected, 1));
	assert_true(virt_connected(virt));
	assert_int_equal(heard.disconnected, 0);
	for (int i = 0; i < 3000 && hypervisor == 0; i++) {
		usleep(10 * 1000);
		virt_versions(virt, &libvirt, &hypervisor);
	}
	assert_in_range(libvirt, 6000000, UINT32_MAX);
	assert_int_not_equal(hypervisor, 0);
}

/* fault 26 */
TEST(a_missing_libvirt_is_unavailable_at_once_with_a_remedy)
{
	_cleanup_(virt_freep) Virt *virt =
		connect_to("qemu+unix:///system?socket=/nonexistent/libvirt-sock");
	uint64_t start = now_monotonic();

	for (int i = 0; i < 3; i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		DomainUses *uses = NULL;

		assert_problem(virt_domain_uses(virt, true, &uses, &problem), &problem,
			       GPUPASS_ERROR_LIBVIRT_UNAVAILABLE, "uses");
		assert_null(uses);
		assert_non_null(strstr(problem->cause, "/nonexistent/libvirt-sock"));
		assert_non_null(strstr(problem->remedy, "systemctl status libvirtd"));
	}
	assert_true(now_monotonic() - start < 5 * USEC_PER_SEC);
	assert_false(virt_connected(virt));
}

TEST(virt_free_is_quick_connected_or_not)
{
	static const struct {
		const char *uri;
		unsigned wait_ms;
	} rows[] = {
		{ NODE, 0 },
		{ NODE, 200 },
		{ "qemu+unix:///system?socket=/nonexistent/libvirt-sock", 0 },
		{ "qemu+unix:///system?socket=/nonexistent/libvirt-sock", 200 },
		{ "nonsense", 100 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Virt *virt = connect_to(rows[i].uri);
		uint64_t start;

		usleep(rows[i].wait_ms * 1000);
		start = now_monotonic();
		assert_null(virt_free(virt));
		if (now_monotonic() - start >= QUICK)
			fail_msg("row %zu: took %llu us", i,
				 (unsigned long long)(now_monotonic() - start));
	}
	assert_null(virt_free(NULL));
}

/* --- looking up --- */

/*
 * An id no longer names a domain: with "2", the domain with id 2 was found only while no domain had
 * that name.
 */
/* promise T1 */
TEST(a_word_is_a_uuid_or_else_a_name)
{
	static const struct {
		const char *text, *uuid; /* NULL: there is none */
	} rows[] = {
		{ "running", RUNNING },
		{ "vm42", VM42 },
		{ VM42, VM42 }, /* another domain's name, too */
		{ "22222222222242228222222222222222", VM42 },
		{ RUNNING, RUNNING },
		{ "11111111-1111-4111-8111-11111111111A", NULL }, /* a name */
		{ "1", ONE },					  /* the id of another one */
		{ "pair0", PASSING },
		{ "2", NULL }, /* an id only */
		{ "nosuch", NULL },
		{ "VM42", NULL },
		{ NOBODY, NULL },
		{ "+2", NULL },
		{ "-1", NULL },
		{ "99999999999999999999", NULL },
		{ "\xff\xfe", NULL },
	};
	_cleanup_(virt_freep) Virt *virt = connect_to(NAMES);

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(domain_id_clear) DomainId id = { 0 };
		_cleanup_(problem_freep) Problem *problem = NULL;

		if (virt_domain_find(virt, rows[i].text, &id, &problem) != 0)
			fail_msg("'%s': %s", rows[i].text, problem ? problem->reason : "?");
		if (!str_equal(id.uuid, str_or_empty(rows[i].uuid)) ||
		    (id.name != NULL) != (rows[i].uuid != NULL))
			fail_msg("'%s' gave %s", rows[i].text, id.uuid);
	}
}

TEST(a_domain_is_read_by_its_uuid_and_by_nothing_else)
{
	static const char *const others[] = { "vm42", "1", "2",
					      NOBODY, "",  "11111111-1111-4111-8111-11111111111A" };
	_cleanup_(virt_freep) Virt *virt = connect_to(NAMES);
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(virt_domain_get(virt, VM42, &domain, &problem), 0);
	assert_string_equal(domain->name, "vm42");
	assert_string_equal(domain->uuid, VM42);
	for (size_t i = 0; i < ELEMENTS(others); i++) {
		_cleanup_(problem_freep) Problem *missing = NULL;
		VirtDomain *none = NULL;

		assert_problem(virt_domain_get(virt, others[i], &none, &missing), &missing,
			       GPUPASS_ERROR_NO_SUCH_DOMAIN, others[i]);
		assert_null(none);
	}
}

TEST(no_word_and_an_endless_one_are_refused)
{
	_cleanup_(virt_freep) Virt *virt = connect_to(NODE);
	char name[5000];
	const char *rows[] = { "", name };

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		DomainId id = { 0 };

		assert_problem(virt_domain_find(virt, rows[i], &id, &problem), &problem,
			       GPUPASS_ERROR_INVALID_ARGUMENT, rows[i]);
		assert_null(id.name);
	}
}

TEST(a_domain_comes_with_the_xml_that_it_has)
{
	static const struct {
		const char *name, *uuid;
		bool active, persistent;
	} rows[] = {
		{ "running", RUNNING, true, true },
		{ "vm42", VM42, false, true },
		{ "passing", PASSING, true, false },
	};
	_cleanup_(virt_freep) Virt *virt = connect_to(NODE);

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;

		assert_int_equal(virt_domain_get(virt, rows[i].uuid, &domain, &problem), 0);
		if (domain->active != rows[i].active || domain->persistent != rows[i].persistent ||
		    (domain->live_xml != NULL) != rows[i].active ||
		    (domain->config_xml != NULL) != rows[i].persistent)
			fail_msg("%s: active %d, persistent %d, live %p, config %p", rows[i].name,
				 domain->active, domain->persistent, (void *)domain->live_xml,
				 (void *)domain->config_xml);
		assert_string_equal(domain->name, rows[i].name);
	}
}

/* --- uses --- */

TEST(uses_name_every_domain_and_its_functions)
{
	static const struct {
		const char *uuid;
		const char *bdf;
		bool live, config, managed;
	} rows[] = {
		{ RUNNING, "0000:41:00.0", true, true, false },
		{ RUNNING, "0000:41:00.1", true, true, true },
		{ ONE, "0000:61:00.0", false, true, false },
	};
	_cleanup_(virt_freep) Virt *virt = connect_to(NODE);
	_cleanup_(domain_uses_freep) DomainUses *uses = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(virt_domain_uses(virt, true, &uses, &problem), 0);
	assert_int_equal(uses->n_items, 4);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const DomainUse *use = domain_uses_find(uses, rows[i].uuid);
		const DomainHostdev *hostdev;
		Bdf bdf;

		assert_int_equal(bdf_parse(rows[i].bdf, &bdf), 0);
		hostdev = use ? domain_use_hostdev(use, &bdf) : NULL;
		if (!hostdev || hostdev->live != rows[i].live ||
		    hostdev->config != rows[i].config || hostdev->managed != rows[i].managed)
			fail_msg("row %zu: %s in %s is wrong", i, rows[i].bdf, rows[i].uuid);
	}
	assert_true(domain_uses_find(uses, PASSING)->active);
	assert_false(domain_uses_find(uses, PASSING)->persistent);
	assert_int_equal(domain_uses_find(uses, VM42)->n_hostdevs, 0);
}

/* --- define --- */

static VirtDomain *get(Virt *virt, const char *uuid)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	VirtDomain *domain = NULL;

	assert_int_equal(virt_domain_get(virt, uuid, &domain, &problem), 0);
	return domain;
}

/* The text with the first `from` replaced. */
static char *edit(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);

	assert_non_null(at);
	return strf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

TEST(define_changes_the_definition_and_is_heard)
{
	_cleanup_(virt_freep) Virt *virt = NULL;
	Heard heard = { 0 };

	assert_int_equal(virt_new(NODE, listen_to, &heard, &virt), 0);
	assert_true(hears(&heard.connected, 1));
	{
		_cleanup_(virt_domain_freep) VirtDomain *before = get(virt, VM42);
		_cleanup_free_ char *xml = edit(before->config_xml, ">65536<", ">131072<");
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_(virt_domain_freep) VirtDomain *after = NULL;

		assert_int_equal(virt_domain_define(virt, VM42, before->config_xml, xml, &problem),
				 0);
		assert_true(hears(&heard.domain, 1));
		assert_string_equal(heard.uuid, VM42);
		after = get(virt, VM42);
		assert_non_null(strstr(after->config_xml, ">131072<"));
	}
}

/* Another definition than the expected one, what is none of that domain, and one that has none. */
TEST(define_refuses_and_changes_nothing)
{
	_cleanup_(virt_freep) Virt *virt = connect_to(NODE);
	_cleanup_(virt_domain_freep) VirtDomain *before = get(virt, VM42);
	_cleanup_(virt_domain_freep) VirtDomain *passing = get(virt, PASSING), *after = NULL;
	const char *config = before->config_xml, *live = passing->live_xml;
	_cleanup_free_ char *other = edit(config, ">65536<", ">32768<");
	_cleanup_free_ char *wanted = edit(config, ">65536<", ">131072<");
	_cleanup_free_ char *another = edit(config, VM42, NOBODY);
	_cleanup_free_ char *torn = edit(config, "</domain>", "");
	_cleanup_free_ char *odd = edit(config, "<devices>", "<devices><nonsense/>");
	_cleanup_free_ char *machine = edit(config, "type='test'", "type='nosuch'");
	_cleanup_free_ char *nobody = edit(live, PASSING, NOBODY);
	const struct {
		GpupassError error;
		const char *uuid, *expected, *xml;
	} rows[] = {
		{ GPUPASS_ERROR_STALE_PLAN, VM42, other, wanted },
		{ GPUPASS_ERROR_STALE_PLAN, VM42, "no XML at all", wanted },
		{ GPUPASS_ERROR_STALE_PLAN, VM42, "", wanted },
		{ GPUPASS_ERROR_STALE_PLAN, VM42, NULL, wanted },
		{ GPUPASS_ERROR_DEFINE_FAILED, VM42, config, "" },
		{ GPUPASS_ERROR_DEFINE_FAILED, VM42, config, "<domain/>" },
		{ GPUPASS_ERROR_DEFINE_FAILED, VM42, config, another },
		{ GPUPASS_ERROR_DEFINE_FAILED, VM42, config, torn },
		{ GPUPASS_ERROR_DEFINE_FAILED, VM42, config, odd },
		{ GPUPASS_ERROR_DEFINE_FAILED, VM42, config, machine },
		{ GPUPASS_ERROR_STALE_PLAN, PASSING, live, live },
		{ GPUPASS_ERROR_NO_SUCH_DOMAIN, NOBODY, nobody, nobody },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		int r = virt_domain_define(virt, rows[i].uuid, rows[i].expected, rows[i].xml,
					   &problem);

		assert_problem(r, &problem, rows[i].error, rows[i].xml);
		if (rows[i].error == GPUPASS_ERROR_STALE_PLAN)
			assert_non_null(strstr(problem->reason,
					       str_equal(rows[i].uuid, VM42) ? "vm42" : "passing"));
	}
	after = get(virt, VM42);
	assert_string_equal(after->config_xml, config);
}

/* --- attach and detach where nothing is to do, or nothing can be done --- */

TEST(attach_is_refused_or_needless_before_libvirt_is_asked)
{
	static const Bdf there = { .bus = 0x41 }, elsewhere = { .bus = 0x81 };
	_cleanup_(virt_freep) Virt *virt = connect_to(NODE);
	_cleanup_free_ char *present = domain_xml_hostdev("pair0", 0, &there);
	_cleanup_free_ char *absent = domain_xml_hostdev("pair0", 0, &elsewhere);
	_cleanup_free_ char *two = strf("%s%s", present, absent);
	const struct {
		const char *uuid, *xml;
		int r;
		GpupassError error;
	} rows[] = {
		{ RUNNING, present, 0, 0 },
		{ VM42, absent, PROBLEM, GPUPASS_ERROR_ATTACH_FAILED },
		{ NOBODY, absent, PROBLEM, GPUPASS_ERROR_NO_SUCH_DOMAIN },
		{ "no uuid", absent, PROBLEM, GPUPASS_ERROR_NO_SUCH_DOMAIN },
		{ RUNNING, "", PROBLEM, GPUPASS_ERROR_INVALID_ARGUMENT },
		{ RUNNING, "<disk/>", PROBLEM, GPUPASS_ERROR_INVALID_ARGUMENT },
		{ RUNNING, "</devices>", PROBLEM, GPUPASS_ERROR_INVALID_ARGUMENT },
		{ RUNNING, two, PROBLEM, GPUPASS_ERROR_INVALID_ARGUMENT },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		int r = virt_domain_attach(virt, rows[i].uuid, rows[i].xml, &problem);

		if (rows[i].r == 0 && r != 0)
			fail_msg("row %zu: %s", i, problem ? problem->reason : "?");
		if (rows[i].r != 0)
			assert_problem(r, &problem, rows[i].error, rows[i].xml);
	}
}

TEST(detach_of_what_is_not_there_is_done)
{
	static const Bdf elsewhere = { .bus = 0x81 }, config_only = { .bus = 0x61 };
	_cleanup_(virt_freep) Virt *virt = connect_to(NODE);
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(virt_domain_detach(virt, RUNNING, &elsewhere, USEC_PER_SEC, &problem), 0);
	assert_int_equal(virt_domain_detach(virt, ONE, &config_only, USEC_PER_SEC, &problem), 0);
	assert_problem(virt_domain_detach(virt, NOBODY, &elsewhere, USEC_PER_SEC, &problem),
		       &problem, GPUPASS_ERROR_NO_SUCH_DOMAIN, "nobody");
}

/* --- threads --- */

static void *work(void *userdata)
{
	Virt *virt = userdata;
	intptr_t failures = 0;

	for (int i = 0; i < 20; i++) {
		_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
		_cleanup_(domain_uses_freep) DomainUses *uses = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL, *missing = NULL;

		if (virt_domain_get(virt, VM42, &domain, &problem) != 0 ||
		    virt_domain_uses(virt, true, &uses, &problem) != 0 ||
		    virt_domain_define(virt, VM42, domain->config_xml, domain->config_xml,
				       &problem) != 0)
			failures++;
		virt_domain_free(domain);
		domain = 0;
		if (virt_domain_get(virt, NOBODY, &domain, &missing) != PROBLEM ||
		    missing->error != GPUPASS_ERROR_NO_SUCH_DOMAIN)
			failures++;
	}
	return (void *)failures;
}

TEST(calls_from_many_threads_do_not_disturb_each_other)
{
	_cleanup_(virt_freep) Virt *virt = NULL;
	Heard heard = { 0 };
	pthread_t threads[6];

	assert_int_equal(virt_new(NODE, listen_to, &heard, &virt), 0);
	for (size_t i = 0; i < ELEMENTS(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, virt), 0);
	for (size_t i = 0; i < ELEMENTS(threads); i++) {
		void *failures;

		assert_int_equal(pthread_join(threads[i], &failures), 0);
		assert_null(failures);
	}
	assert_true(hears(&heard.domain, ELEMENTS(threads) * 20));
}

/* Last: it leaves threads behind. */
/* Like a stopped libvirtd: the kernel accepts the connection, and nobody ever answers. */
TEST(virt_free_does_not_wait_for_a_libvirt_that_hangs)
{
	char dir[] = "/tmp/gpupass-test-XXXXXX";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_free_ char *uri = NULL;
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t start;
	Virt *virt;

	assert_non_null(mkdtemp(dir));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/sock", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	uri = strf("qemu+unix:///system?socket=%s", address.sun_path);
	virt = connect_to(uri);
	usleep(200 * 1000);
	start = now_monotonic();
	assert_null(virt_free(virt));
	assert_true(now_monotonic() - start < QUICK);
	unlink(address.sun_path);
	rmdir(dir);
}
