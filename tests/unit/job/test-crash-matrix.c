/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon ends before and after every write of its journal and every call to the machine, and
 * the one after it recovers. At each of these points a process is forked off that goes no further,
 * and becomes the next daemon: what is in its memory of the machine, and a copy of what is on disk,
 * is all there is. That daemon may end at any of its own points, too, in the same way. And instead
 * of the daemon the machine may end: then drivers, overrides and guests are as a boot makes them,
 * and gpupass-bind has run. Between two points at which files and machine are the same nothing can
 * differ: the second is not gone. What a disk loses that was not told to flush is not modelled
 * here; that is the lab's (power-cut).
 */
#include "rig/test.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "core/tenancy/tenancy.h"
#include "job/recover.h"
#include "rig/bdf.h"
#include "rig/rig-copy.h"
#include "rig/text-diff.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/*
 * With the address sanitizer a fork costs many times more. What it is to find is found by a part of
 * the points; a build without it goes all, those of the recoveries, too.
 */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define EVERY_NTH_PLAIN 5
#define EVERY_NTH 15
#define EVERY_NTH_SECOND 15
/* Each fork copies what it keeps of freed memory, 256 MiB by default. A recovery frees little. */
const char *__asan_default_options(void); /* NOLINT: the sanitizer's name */
const char *__asan_default_options(void)  /* NOLINT: the sanitizer's name */
{
	return "quarantine_size_mb=2:thread_local_quarantine_size_kb=64";
}
#else
#define EVERY_NTH_PLAIN 1
#define EVERY_NTH 1
#define EVERY_NTH_SECOND 1
#endif

#define EXIT_RECOVERED 0
#define EXIT_WRONG 1

typedef struct Way {
	bool twice;	  /* the daemon that recovers ends as well, at each of its points */
	bool power;	  /* not the daemon ends, but the machine */
	size_t cancel_at; /* somebody cancels the job while this step runs, from 1; 0: nobody does */
} Way;

/* Of pair0 and pair1, and where pair0 has them its NICs. */
static const char *const leads[] = { "0000:41:00.0", "0000:61:00.0", "0000:a1:00.0", "0000:c1:00.0",
				     FAKE_NICS };

typedef struct Crash {
	Rig *rig;
	const char *name;
	Way way;
	char *const *worlds; /* that may be there afterwards: before, after; NULL at the end */
	unsigned at;	     /* points that the job has passed */
	unsigned different;  /* of them, that are not as the one before */
	unsigned second;     /* points that the recovery has passed */
	bool parks;	     /* the first of two jobs waits at its points for the second one */
	bool parked;	     /* it does */
	unsigned parked_at;  /* points at which it did */
	uint64_t last;	     /* what lasts of the world, at the point before */
	bool recovering;
	bool marked[6];	      /* the board of leads[] had a mark before */
	bool erased;	      /* the NVMe's mark was clean before */
	unsigned *recoveries; /* that were made, and those of two jobs; shared by all processes */
	LedgerIo io;	      /* the real one */
} Crash;

/* The hooks have no userdata; a child process has one crash. */
static Crash *crash;

static void die(const Crash *c, const char *what, const char *more)
{
	fprintf(stderr, "%s, point %u, then %u: %s%s%s\n", c->name, c->at, c->second, what,
		more ? ":\n" : "", str_or_empty(more));
	_exit(EXIT_WRONG);
}

static void must_recover(Crash *c, const JobPlace *place, OpenJob *job)
{
	_cleanup_(recovery_clear) Recovery recovery = { 0 };

	if (recover_job(place, job, 0, &recovery) < 0)
		die(c, "recovery failed", NULL);
	if (recovery.outcome != RECOVERED_DONE && recovery.outcome != RECOVERED_UNDONE)
		die(c, "it was not recovered", recovery.reason);
}

static bool was_logged(const Crash *c, const char *begin)
{
	for (char *const *line = c->rig->fake.log; line && *line; line++)
		if (str_starts_with(*line, begin))
			return true;
	return false;
}

static bool was_reset(const Crash *c)
{
	return was_logged(c, "reset ");
}

/* Each port is a board. */
static bool is_nic(const Bdf *lead)
{
	return lead->bus == 0xe2;
}

/* A guest has the board, or can have it when it is started. */
static bool is_somebodys(const FakeHost *fake, const Bdf *lead)
{
	for (size_t i = 0; i < fake->n_domains; i++)
		for (uint8_t function = lead->function; function < 2; function++) {
			Bdf bdf = *lead;

			if (is_nic(lead) && function > lead->function)
				continue;
			bdf.function = function;
			if (fake_xml_has(fake->domains[i].live_xml, &bdf) ||
			    fake_xml_has(fake->domains[i].config_xml, &bdf))
				return true;
		}
	return false;
}

static bool is_clean(const TenantFile *file)
{
	return file && file->mark && file->mark->state == TENANT_CLEAN;
}

/*
 * Never clean while a guest may have had it since the last reset; and of whom, as long as it is
 * dirty.
 */
static void check_marks(const Crash *c, const JobPlace *place)
{
	_cleanup_(tenants_freep) Tenants *tenants = NULL;
	const Bdf nvme = bdf_of(NVME);
	const TenantFile *erased;

	tenants = tenant_store_load(place->tenants);
	if (tenants->faults.n_items > 0)
		die(c, "a mark cannot be understood", tenants->faults.items[0].why);
	erased = tenants_find(tenants, &nvme);
	if (is_clean(erased) && is_somebodys(&c->rig->fake, &nvme))
		die(c, "a domain has an NVMe that is marked clean", NVME);
	if (is_clean(erased) && !c->erased && !was_logged(c, "erase "))
		die(c, "nobody has erased what is marked clean", NVME);
	for (size_t i = 0; i < ELEMENTS(leads); i++) {
		const Bdf lead = bdf_of(leads[i]);
		const TenantFile *file = tenants_find(tenants, &lead);
		bool dirty = file && file->mark && file->mark->state == TENANT_DIRTY;

		if (is_somebodys(&c->rig->fake, &lead) && !dirty)
			die(c, "a domain has what is not marked", leads[i]);
		if (file && !dirty && !was_reset(c))
			die(c, "nobody has reset what is marked clean", leads[i]);
		if (c->marked[i] && !file)
			die(c, "a mark is lost", leads[i]);
		if (dirty && !file->mark->domain_uuid)
			die(c, "it is forgotten who had it", leads[i]);
	}
}

/* What a boot makes of the machine, up to the start of the daemon. */
static void boot(Rig *rig)
{
	_cleanup_(assignments_freep) Assignments *records = NULL;

	fake_reboot(&rig->fake);
	free(rig->journal.boot_id);
	rig->journal.boot_id = strdup("the next boot");
	/* gpupass-bind: what the records and the kept groups name goes to vfio-pci. */
	records = assignment_store_load(&rig->store);
	assert_int_equal(records->faults.n_items, 0);
	for (size_t i = 0; i < records->n_items; i++)
		for (size_t k = 0; k < records->items[i]->n_functions; k++)
			fake_set_driver(&rig->fake, BDF_TEXT(&records->items[i]->functions[k].bdf),
					"vfio-pci", "vfio-pci");
	for (size_t i = 0; i < records->n_kept; i++)
		for (size_t k = 0; k < records->kept[i]->n_functions; k++)
			fake_set_driver(&rig->fake, BDF_TEXT(&records->kept[i]->functions[k].bdf),
					"vfio-pci", "vfio-pci");
}

static void check_state(const Crash *c, const JobPlace *place)
{
	_cleanup_strv_ char **left = NULL;
	_cleanup_free_ char *reason = NULL;

	reason = claims_quarantine_reason(place->claims, &c->rig->fake.snapshot->functions[0]->bdf,
					  NULL);
	if (reason)
		die(c, "something is quarantined", reason);
	if (dir_list(c->rig->quarantine.dir_fd, "", &left) < 0 || left)
		die(c, "there is a quarantine on disk", left ? left[0] : NULL);
	if (rig_count_open(c->rig) > 0)
		die(c, "a job is open", NULL);
}

static void check_world(const Crash *c)
{
	_cleanup_free_ char *world = rig_timeless_world(c->rig), *diff = NULL;

	if (!strv_contains(c->worlds, world)) {
		diff = text_diff(c->worlds[0], world);
		die(c, "the world is neither as before nor as after", diff);
	}
	if (str_starts_with(c->name, "release") && !str_equal(world, c->worlds[0]) && !was_reset(c))
		die(c, "a group was released that nobody had reset", NULL);
	if (strstr(c->name, "after another tenant") && !str_equal(world, c->worlds[0]) &&
	    !was_reset(c))
		die(c, "a group was given on that nobody had reset", NULL);
	if (c->rig->fake.violations)
		die(c, "the machine was mistreated", c->rig->fake.violations[0]);
}

/* The start of a daemon, and the end of its recovery. */
static void recover(Crash *c)
{
	JobPlace place = c->rig->place;
	JournalFound found = { 0 };

	if (c->way.power)
		boot(c->rig);
	++*c->recoveries;
	place.claims = claims_new();
	if (journal_load(&c->rig->journal, c->rig->claims, &found) < 0)
		die(c, "the journal cannot be read", NULL);
	if (found.notes)
		die(c, "the journal was not understood", found.notes[0]);
	c->recoveries[1] += found.n_jobs > 1;
	for (size_t i = 0; i < found.n_jobs; i++)
		recover_claim(&place, found.jobs[i], "it is being recovered");
	for (size_t i = 0; i < found.n_jobs; i++)
		must_recover(c, &place, found.jobs[i]);
	check_world(c);
	check_marks(c, &place);
	check_state(c, &place);
}

static void no_more_points(Crash *c)
{
	c->rig->fake.point = NULL;
	c->rig->journal.io = c->io;
}

static bool is_as_before(Crash *c)
{
	uint64_t now = rig_what_lasts(c->rig);
	bool same = now == c->last;

	c->last = now;
	return same;
}

/* The process that was forked off at a point: the one before goes no further there. */
static void become_the_next_daemon(Crash *c, const RigCopy *copy)
{
	rig_copy_enter(c->rig, copy);
	if (c->recovering || !c->way.twice)
		no_more_points(c);
	c->recovering = true;
	recover(c);
	_exit(EXIT_RECOVERED);
}

/*
 * The daemon ends here. To save the time of coming here again, it is a child in which it does, on a
 * copy of what is on disk, and this process goes on to its next point.
 */
static void end_here(Crash *c)
{
	RigCopy copy;
	int status = 0;
	pid_t pid;

	rig_copy_make(c->rig, &copy);
	pid = fork();
	if (pid == 0)
		become_the_next_daemon(c, &copy);
	assert_true(pid >= 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rig_copy_remove(&copy);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_RECOVERED)
		return;
	if (c->recovering)
		_exit(EXIT_WRONG);
	fail_msg("%s: the daemon ended at point %u", c->name, c->at);
}

static void park(Crash *c);

static void pass(Crash *c)
{
	bool plain = !c->way.twice && !c->way.power;
	bool different = !is_as_before(c);
	unsigned nth = plain ? EVERY_NTH_PLAIN : c->recovering ? EVERY_NTH_SECOND : EVERY_NTH;

	if (c->recovering) {
		++c->second;
	} else {
		++c->at;
		c->different += different;
	}
	if (!different || (c->different + c->second) % nth != 0)
		return;
	if (c->parks && !c->parked)
		park(c);
	else
		end_here(c);
}

static void on_point(_unused_ FakeHost *fake)
{
	pass(crash);
}

static int append_and_pass(_unused_ void *userdata, int fd, const char *text, size_t size)
{
	int r;

	pass(crash);
	r = crash->io.append(crash->io.userdata, fd, text, size);
	pass(crash);
	return r;
}

static int remove_and_pass(_unused_ void *userdata, int dir_fd, const char *name)
{
	int r;

	pass(crash);
	r = crash->io.remove(crash->io.userdata, dir_fd, name);
	pass(crash);
	return r;
}

/* ---- the operations ---- */

typedef struct Operating {
	const char *name;
	void (*arrange)(Rig *rig);
	JobRequest request;
	bool fails; /* libvirt refuses a late step, so that it is rolled back */
} Operating;

static void nothing(_unused_ Rig *rig)
{
}

/* Whose boards came back to the host without a reset, as with managed='yes'. */
static void used_by_another(Rig *rig)
{
	fake_add_domain(&rig->fake, "vm43", "q35", NULL);
	rig_must(rig, &assign_request("vm43", "pair0"));
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_set_driver(&rig->fake, pair0_bdfs[i], i % 2 ? "snd_hda_intel" : "nvidia",
				NULL);
	rig_must(rig, &release_request("vm43"));
}

static void used_by_another_shut_off(Rig *rig)
{
	used_by_another(rig);
	rig_shut_off(rig);
}

static void used_by_another_running(Rig *rig)
{
	used_by_another(rig);
	rig_running(rig);
}

static void with_nics(Rig *rig)
{
	rig_with_nics(rig);
	rig_shut_off(rig);
}

static void with_nics_running(Rig *rig)
{
	rig_with_nics(rig);
	rig_running_with_room(rig);
}

static void with_nics_assigned(Rig *rig)
{
	rig_with_nics(rig);
	rig_assigned(rig);
}

static void with_nics_assigned_live(Rig *rig)
{
	with_nics_running(rig);
	rig_must(rig, &ASSIGN);
}

static void with_nvme(Rig *rig)
{
	rig_unready(rig);
	rig_shut_off(rig);
	rig_must(rig, &PREPARE);
}

static void with_nvme_assigned(Rig *rig)
{
	with_nvme(rig);
	rig_must(rig, &ASSIGN);
}

static void with_nics_drifted(Rig *rig)
{
	with_nics_assigned(rig);
	fake_unplug(&rig->fake, "vm42", "0000:e2:00.1");
	fake_set_driver(&rig->fake, "0000:e2:00.0", "ixgbe", NULL);
}

/* One by nvidia-persistenced, and the other by NVML. */
static void with_a_keeper(Rig *rig)
{
	rig_persistence_mode(rig);
	fake_keep(&rig->fake, "0000:41:00.0");
}

/* Its definition edited, a driver and the name changed: everything that reconcile mends. */
static void drifted(Rig *rig)
{
	rig_assigned(rig);
	fake_edit_hostdevs(&rig->fake, "vm42");
	fake_rename(&rig->fake, "vm42", "vm99");
	fake_set_driver(&rig->fake, "0000:61:00.0", "nvidia", NULL);
	fake_set_persistence_mode(&rig->fake, "0000:61:00.0", true);
}

static void drifted_running(Rig *rig)
{
	rig_assigned_live(rig);
	fake_edit_hostdevs(&rig->fake, "vm42");
	fake_rename(&rig->fake, "vm42", "vm99");
}

static void record_lost(Rig *rig)
{
	rig_assigned_live(rig);
	rig_lose_record(rig);
}

/* fault 61: the domain has another group, which stays whatever becomes of this one. */
static void beside_another(Rig *rig)
{
	rig_shut_off(rig);
	rig_must(rig, &assign_request("vm42", "pair1"));
}

static void beside_another_running(Rig *rig)
{
	rig_running_with_room(rig);
	rig_must(rig, &assign_request("vm42", "pair1"));
}

static void both_assigned(Rig *rig)
{
	beside_another(rig);
	rig_must(rig, &ASSIGN);
}

static void unready_and_kept(Rig *rig)
{
	rig_unready(rig);
	rig_must(rig, &KEEP);
}

static void with_vf(Rig *rig)
{
	rig_lacks_vf(rig);
	rig_must(rig, &PREPARE);
}

/* Something else made it anew. */
static void with_vf_unruled(Rig *rig)
{
	with_vf(rig);
	vf_watch_forget(rig->vfs, NULL, NULL);
	rig->fake.spoof_check = false;
}

static void with_vf_assigned(Rig *rig)
{
	with_vf(rig);
	rig_must(rig, &ASSIGN);
}

static void break_late(Rig *rig)
{
	FakeFault fault = {
		.op = FAKE_DEFINE, .nth = 1, .late = true, .problem = GPUPASS_ERROR_DEFINE_FAILED
	};

	fake_fail(&rig->fake, &fault);
}

static Rig *rig_to(const Operating *o)
{
	Rig *rig = rig_new();

	o->arrange(rig);
	fake_watch(&rig->fake);
	if (o->fails)
		break_late(rig);
	return rig;
}

/* The world after the operation, undisturbed. */
static char *world_after(const Operating *o, Way way)
{
	Operating undisturbed = *o;
	char *world;
	Rig *rig;

	undisturbed.fails = false;
	rig = rig_to(&undisturbed);
	rig_try(rig, &o->request);
	if (way.power)
		boot(rig);
	world = rig_timeless_world(rig);
	rig_free(rig);
	return world;
}

static char *world_before(const Operating *o, Way way)
{
	Rig *rig = rig_to(o);
	char *world;

	if (way.power)
		boot(rig);
	world = rig_timeless_world(rig);
	rig_free(rig);
	return world;
}

static void remember_marks(Crash *c)
{
	_cleanup_(tenants_freep) Tenants *tenants = NULL;
	const Bdf nvme = bdf_of(NVME);

	tenants = tenant_store_load(&c->rig->tenants);
	c->erased = is_clean(tenants_find(tenants, &nvme));
	for (size_t i = 0; i < ELEMENTS(leads); i++) {
		const Bdf lead = bdf_of(leads[i]);

		c->marked[i] = tenants_find(tenants, &lead);
	}
}

static JobState expected_end(const Operating *o, Way way)
{
	if (way.cancel_at > 0)
		return JOB_CANCELLED;
	return o->fails ? JOB_FAILED : JOB_DONE;
}

static void watch(Crash *c)
{
	c->rig->journal.io.append = append_and_pass;
	c->rig->journal.io.remove = remove_and_pass;
	c->rig->fake.point = on_point;
}

static void run_all(const Operating *o, Crash *c)
{
	crash = c;
	c->rig = rig_to(o);
	c->rig->cancel_at = c->way.cancel_at;
	c->io = c->rig->journal.io;
	remember_marks(c);
	watch(c);
	rig_try(c->rig, &o->request);
	no_more_points(c);
	if (c->rig->last.state != expected_end(o, c->way))
		fail_msg("%s: did not end as it should: %s", o->name, c->rig->last.message);
	rig_free(c->rig);
}

static void run_operation(const Operating *o, Way way, unsigned *recoveries)
{
	_cleanup_free_ char *before = world_before(o, way), *after = world_after(o, way);
	/* After, and not booted since: what --keep-vfio leaves on vfio-pci. */
	_cleanup_free_ char *as_left = world_after(o, (Way){ 0 });
	char *const worlds[] = { before, after, as_left, NULL };
	Crash c = { .name = o->name, .way = way, .worlds = worlds, .recoveries = recoveries };

	*recoveries = 0;
	run_all(o, &c);
	print_message("%s: %u points, %u of them different, %u recoveries\n", o->name, c.at,
		      c.different, *recoveries);
	/* Before and after begin and end, and each call to the machine, at the least. */
	assert_true(c.at >= (way.cancel_at > 0 ? 8 : 12));
	/* An erase lasts in the device, of which nothing is seen. */
	assert_true(c.different >=
		    c.at / (way.cancel_at > 0 || str_starts_with(o->name, "prepare") ? 10 : 8));
	assert_true(*recoveries >= c.different / EVERY_NTH);
	assert_true(!way.twice || EVERY_NTH > 1 || *recoveries > c.different);
}

static const Operating operations[] = {
	{ "assign, shut off", rig_shut_off, ASSIGN, false },
	{ "assign, running", rig_running, ASSIGN, false },
	{ "assign that fails", rig_shut_off, ASSIGN, true },
	{ "assign, running, that fails", rig_running, ASSIGN, true },
	{ "release, shut off", rig_assigned, RELEASE, false },
	{ "release, running", rig_assigned_live, RELEASE, false },
	{ "release, kept on vfio-pci", rig_assigned,
	  release_request("vm42", .plan.keep_vfio = true), false },
	{ "release that fails", rig_assigned, RELEASE, true },
	{ "release, running, that fails", rig_assigned_live, RELEASE, true },
	/* fault P8 */
	{ "assign with persistence mode", rig_persistence_mode, ASSIGN, false },
	{ "assign with persistence mode that fails", rig_persistence_mode, ASSIGN, true },
	/* fault P9 */
	{ "assign with nvidia-persistenced that fails", with_a_keeper, ASSIGN, true },
	{ "release to persistence mode", rig_assigned_with_persistence_mode, RELEASE, false },
	{ "assign, shut off, after another tenant", used_by_another_shut_off, ASSIGN, false },
	{ "assign, running, after another tenant", used_by_another_running, ASSIGN, false },
	{ "assign after another tenant that fails", used_by_another_shut_off, ASSIGN, true },
	{ "bind", nothing, BIND, false },
	{ "unbind", rig_bound, UNBIND, false },
	{ "bind that lasts", nothing, KEEP, false },
	{ "unbind of a kept group", rig_kept, UNBIND, false },
	{ "release of a kept group", rig_kept_and_assigned, RELEASE, false },
	{ "reconcile", drifted, RECONCILE, false },
	{ "reconcile that fails", drifted, RECONCILE, true },
	{ "reconcile, running", drifted_running, RECONCILE, false },
	{ "reconcile of a definition without devices", rig_definition_lost, RECONCILE, false },
	{ "reconcile of a group with another name", rig_renamed, RECONCILE, false },
	{ "release by the old name", rig_renamed, release_request("pair0"), false },
	{ "assign beside another group", beside_another, ASSIGN, false },
	{ "assign beside another group, running, that fails", beside_another_running, ASSIGN,
	  true },
	{ "release beside another group", both_assigned, release_request("pair0"), false },
	{ "release beside another group that fails", both_assigned, release_request("pair0"),
	  true },
	{ "reconcile of a lost record", record_lost, RECONCILE, false },
	{ "prepare", rig_unready, PREPARE, false },
	{ "prepare of a kept group", unready_and_kept, PREPARE, false },
	{ "assign with NICs", with_nics, ASSIGN, false },
	{ "assign with NICs, running, that fails", with_nics_running, ASSIGN, true },
	{ "release with NICs, running", with_nics_assigned_live, RELEASE, false },
	{ "release with NICs that fails", with_nics_assigned, RELEASE, true },
	{ "bind with NICs", rig_with_nics, BIND, false },
	{ "reconcile with NICs", with_nics_drifted, RECONCILE, false },
	{ "assign with an NVMe", with_nvme, ASSIGN, false },
	{ "release with an NVMe", with_nvme_assigned, RELEASE, false },
	{ "release with an NVMe that fails", with_nvme_assigned, RELEASE, true },
	{ "prepare of a VF", rig_lacks_vf, PREPARE, false },
	{ "prepare of a VF without rules", with_vf_unruled, PREPARE, false },
	{ "assign with a VF", with_vf, ASSIGN, false },
	{ "release with a VF", with_vf_assigned, RELEASE, false },
};

static unsigned *shared_counter(void)
{
	unsigned *counter = mmap(NULL, sizeof(unsigned), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(counter != MAP_FAILED);
	return counter;
}

static void run_operations(Way way)
{
	unsigned *recoveries = shared_counter();

	for (size_t i = 0; i < ELEMENTS(operations); i++)
		run_operation(&operations[i], way, recoveries);
	munmap(recoveries, sizeof(unsigned));
}

/* ---- two jobs at once ---- */

#define ASSIGN_SECOND assign_request("vm43", "pair1")

/* Of pair0 with vm42, and of pair1 with vm43. */
typedef struct Both {
	const char *name;
	void (*arrange)(Rig *rig);
	JobRequest first, second;
} Both;

static const Both *both;

static Rig *rig_for_both(const Both *b)
{
	Rig *rig = rig_new();

	b->arrange(rig);
	fake_watch(&rig->fake);
	return rig;
}

/* The world when these of its jobs were done. */
static char *world_with(const Both *b, bool first, bool second)
{
	Rig *rig = rig_for_both(b);
	char *world;

	if (first)
		rig_must(rig, &b->first);
	if (second)
		rig_must(rig, &b->second);
	world = rig_timeless_world(rig);
	rig_free(rig);
	return world;
}

/* The first job stays here, and the second one goes its way: a child, on a copy of what is on disk. */
static void park(Crash *c)
{
	RigCopy copy;
	int status = 0;
	pid_t pid;

	c->parked_at++;
	rig_copy_make(c->rig, &copy);
	pid = fork();
	if (pid == 0) {
		rig_copy_enter(c->rig, &copy);
		c->parked = true;
		rig_must(c->rig, &both->second);
		_exit(EXIT_RECOVERED);
	}
	assert_true(pid >= 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rig_copy_remove(&copy);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_RECOVERED)
		fail_msg("%s: the first job was at point %u", c->name, c->at);
}

static void run_both(const Both *b, unsigned *recoveries)
{
	char *const worlds[] = { world_with(b, false, false), world_with(b, true, false),
				 world_with(b, false, true), world_with(b, true, true), NULL };
	Crash c = { .name = b->name, .worlds = worlds, .recoveries = recoveries, .parks = true };

	recoveries[0] = recoveries[1] = 0;
	both = b;
	crash = &c;
	c.rig = rig_for_both(b);
	c.io = c.rig->journal.io;
	remember_marks(&c);
	watch(&c);
	rig_must(c.rig, &b->first);
	no_more_points(&c);
	rig_free(c.rig);
	print_message("%s: parked at %u points, %u recoveries, %u of them of two jobs\n", b->name,
		      c.parked_at, recoveries[0], recoveries[1]);
	assert_true(recoveries[1] >= 50 / EVERY_NTH_PLAIN / EVERY_NTH_PLAIN);
	for (size_t i = 0; worlds[i]; i++)
		free(worlds[i]);
}

static void two_shut_off(Rig *rig)
{
	rig_shut_off(rig);
	fake_add_domain(&rig->fake, "vm43", "q35", NULL);
}

static void two_running(Rig *rig)
{
	rig_running(rig);
	fake_add_domain(&rig->fake, "vm43", "q35-eight-ports", "q35-eight-ports-live");
}

static void first_assigned(Rig *rig)
{
	two_running(rig);
	rig_must(rig, &ASSIGN);
}

static void two_assigned(Rig *rig)
{
	first_assigned(rig);
	rig_must(rig, &ASSIGN_SECOND);
}

static const Both pairs[] = {
	{ "two assigned at once", two_shut_off, ASSIGN, ASSIGN_SECOND },
	{ "two assigned at once, running", two_running, ASSIGN, ASSIGN_SECOND },
	{ "one released while one is assigned", first_assigned, RELEASE, ASSIGN_SECOND },
	{ "two released at once", two_assigned, RELEASE, release_request("vm43") },
};

/* faults 36, 44 */
TEST(a_daemon_that_ends_in_two_jobs_leaves_before_or_after_of_each)
{
	unsigned *recoveries = shared_counter();

	for (size_t i = 0; i < ELEMENTS(pairs); i++)
		run_both(&pairs[i], recoveries);
	munmap(recoveries, sizeof(unsigned));
}

/* How many steps its plan has. */
static size_t count_steps(const Operating *o)
{
	Rig *rig = rig_to(o);
	size_t n = rig_plan(rig, &o->request)->n_steps;

	rig_free(rig);
	return n;
}

/* What the operations above do, each cancelled: these have all kinds of steps between them. A
 * rollback is recovered as that of a failure is, so that two of them do to end recoveries, too. */
static const struct {
	const char *name;
	bool twice;
} cancelled[] = {
	{ "assign, running", true },
	{ "assign with persistence mode", false },
	{ "release, running", false },
	{ "release to persistence mode", true },
	{ "assign, shut off, after another tenant", false },
	{ "bind that lasts", false },
	{ "unbind of a kept group", false },
	{ "reconcile", false },
};

static bool is_cancelled(const char *name, Way way)
{
	for (size_t i = 0; i < ELEMENTS(cancelled); i++)
		if (strcmp(cancelled[i].name, name) == 0)
			return cancelled[i].twice || !way.twice;
	return false;
}

static void run_cancelled(const Operating *o, size_t step, Way way, unsigned *recoveries)
{
	_cleanup_free_ char *name = strf("%s, cancelled at step %zu", o->name, step);
	Operating operation = *o;

	operation.name = name;
	way.cancel_at = step;
	run_operation(&operation, way, recoveries);
}

/* at_each: at each step; or only at the last, whose undo goes through all of them. */
static void run_each_cancelled(Way way, bool at_each)
{
	unsigned *recoveries = shared_counter();
	size_t n_found = 0;

	for (size_t i = 0; i < ELEMENTS(operations); i++) {
		const Operating *o = &operations[i];
		size_t last;

		if (!is_cancelled(o->name, way))
			continue;
		n_found++;
		last = count_steps(o);
		for (size_t step = at_each ? 1 : last; step <= last; step++)
			run_cancelled(o, step, way, recoveries);
	}
	assert_int_equal(n_found, way.twice ? 2 : ELEMENTS(cancelled));
	munmap(recoveries, sizeof(unsigned));
}

/* fault 62 */
TEST(a_daemon_that_ends_anywhere_in_a_cancelled_job_leaves_before_or_after)
{
	run_each_cancelled((Way){ 0 }, true);
}

/* fault 62 */
TEST(a_recovery_of_a_cancelled_job_that_ends_is_recovered)
{
	run_each_cancelled((Way){ .twice = true }, false);
}

/* fault 62 */
TEST(a_power_cut_anywhere_in_a_cancelled_job_leaves_before_or_after)
{
	run_each_cancelled((Way){ .power = true }, false);
}

/* fault 36 */
/* promise G4 */
/* promise G10 */
/* promise M10 */
TEST(a_daemon_that_ends_anywhere_leaves_before_or_after)
{
	run_operations((Way){ 0 });
}

/* fault 36 */
TEST(a_recovery_that_ends_anywhere_is_recovered_by_the_next)
{
	run_operations((Way){ .twice = true });
}

/* fault 37 */
TEST(a_power_cut_anywhere_leaves_before_or_after)
{
	run_operations((Way){ .power = true });
}

/* fault 37 */
TEST(a_power_cut_during_a_recovery_leaves_before_or_after)
{
	run_operations((Way){ .power = true, .twice = true });
}
