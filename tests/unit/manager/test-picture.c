/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the picture shows over the facts: jobs, quarantine, boot, notes. */
#include "rig/test.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "manager/health.h"
#include "manager/manager-rig.h"
#include "manager/state.h"
#include "rig/bdf.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/text.h"

ON_A_MANAGER(without_libvirt_the_picture_has_groups_and_says_what_is_not_known)
{
	assert_null(manager_inventory(rig->manager));
	manager_rig_look(rig);
	assert_non_null(manager_inventory(rig->manager));
	assert_int_equal(manager_rig_group(rig, "pair0")->n_gpus, 2);
	assert_null(manager_uses(rig->manager));
	assert_true(manager_rig_notes(rig, "libvirt does not answer: domains are not known"));
	manager_rig_connect(rig);
	assert_non_null(manager_uses(rig->manager));
	assert_false(manager_rig_notes(rig, "libvirt"));
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_FREE);
}

static void expect(const ManagerRig *rig, const char *name, GroupState state, const char *reason,
		   bool assignable)
{
	const Group *group = manager_rig_group(rig, name);

	if (group->state != state || !str_equal(group->reason, reason) ||
	    group->assignable != assignable)
		fail_msg("%s is %s: %s, %d", name, group_state_to_string(group->state),
			 str_or_empty(group->reason), group->assignable);
}

/* A job that runs, with this function in hand, whose group was declared anew meanwhile: it goes by
 * function. */
static JobRecord *add_job(ManagerRig *rig, uint32_t id, const char *function)
{
	JobRecord *job = job_record_new(
		id, &(JobRequest){ .plan.operation = OPERATION_BIND, .group = (char *)"other" });

	job->functions = calloc(1, sizeof(Bdf));
	job->functions[0] = bdf_of(function);
	job->n_functions = 1;
	records_add(rig->manager, job);
	manager_observe(rig->manager);
	return job;
}

ON_A_READY_MANAGER(a_group_that_a_job_has_is_moving_and_not_assignable)
{
	JobRecord *job = add_job(rig, 7, "0000:41:00.0");

	expect(rig, "pair0", GROUP_BINDING, "job 7", false);
	expect(rig, "pair1", GROUP_FREE, NULL, true);
	/* It ends: the picture is as before. */
	job->ended = true;
	manager_observe(rig->manager);
	expect(rig, "pair0", GROUP_FREE, NULL, true);
}

/* Asleep, or awake with these lanes, below a port that is alike. */
static void add_health(ManagerRig *rig, unsigned lanes)
{
	const PcieConfig config = { .read = lanes > 0,
				    .speed_max = lanes ? 4 : 0,
				    .width_max = lanes };
	GpuHealth *health = xcalloc(1, sizeof(*health));

	*health = (GpuHealth){ .bdf = bdf_of("0000:41:00.0"), .config = config };
	*GROW(health->ports, health->n_ports) =
		(HealthPort){ .bdf = bdf_of("0000:40:01.1"), .config = config };
	manager_merge_health(rig->manager, health, 1);
}

ON_A_READY_MANAGER(what_a_link_can_do_stays_known_while_its_board_sleeps)
{
	static const struct {
		unsigned lanes, known;
	} rows[] = { { 16, 16 }, { 0, 16 }, { 0, 16 }, { 8, 8 }, { 0, 8 } };
	const Bdf bdf = bdf_of("0000:41:00.0");

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const GpuHealth *health;

		add_health(rig, rows[i].lanes);
		health = manager_gpu_health(rig->manager, &bdf);
		assert_int_equal(health->config.width_max, rows[i].known);
		assert_int_equal(health->ports[0].config.width_max, rows[i].known);
		assert_int_equal(health->ports[0].config.speed_max, 4);
		assert_int_equal(health->config.read, rows[i].lanes > 0);
	}
}

/* NCCL's file has its link. */
ON_A_MANAGER(a_nic_of_a_group_is_looked_at_like_a_gpu)
{
	const Bdf nic = bdf_of("0000:e2:00.1");

	manager_rig_write_group(rig, "pair0", RIG_WITH_NICS);
	rig_with_nics(rig->rig);
	manager_rig_restart(rig);
	manager_rig_connect(rig);
	manager_look_at_health(rig->manager);
	manager_rig_settle(rig);
	assert_non_null(manager_gpu_health(rig->manager, &nic));
}

ON_A_MANAGER(a_vf_of_a_group_is_looked_at_like_a_gpu)
{
	const Bdf vf = bdf_of(RIG_VF);

	rig_lacks_vf(rig->rig);
	rig->rig->fake.hides_vfs = false;
	manager_rig_write_group(rig, "pair0",
				"[Group]\nName=pair0\nGpu=18:00.0\nGpu=19:00.0\nWith=vf:" RIG_VF
				"\n");
	manager_rig_restart(rig);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	manager_look_at_health(rig->manager);
	manager_rig_settle(rig);
	assert_non_null(manager_gpu_health(rig->manager, &vf));
}

ON_A_READY_MANAGER(a_quarantined_group_says_why_and_is_not_assignable)
{
	Manager *m = rig->manager;
	const Bdf functions[] = { bdf_of("0000:61:00.0") };

	claims_add_quarantine(m->place.job.claims, "pair0", functions, 1, NULL, "its reset failed");
	manager_observe(m);
	expect(rig, "pair0", GROUP_QUARANTINED, "its reset failed", false);
	expect(rig, "pair1", GROUP_FREE, NULL, true);
	claims_lift(m->place.job.claims, "pair0");
	manager_observe(m);
	expect(rig, "pair0", GROUP_FREE, NULL, true);
}

/* What gpupass-bind left of this boot. */
static void load_boot(const ManagerRig *rig, const char *text)
{
	_cleanup_close_ int fd = open(rig->config, O_RDONLY | O_DIRECTORY);

	assert_int_equal(file_replace_at(fd, "boot.json", text, strlen(text), 0644), 0);
	manager_load_boot(rig->manager, rig->config);
	assert_int_equal(unlinkat(fd, "boot.json", 0), 0);
}

ON_A_MANAGER(a_degraded_group_says_what_happened_at_boot_while_it_lasts)
{
	static const char report[] =
		"{\"schema\": \"org.gpupass1.boot/1\", \"notes\": [], \"functions\": ["
		"{\"bdf\": \"0000:41:00.0\", \"group\": \"pair0\", \"domain_uuid\": \"u\", "
		"\"outcome\": \"taken\", \"detail\": \"nvidia was first\"}]}";
	static const char words[] = "; at boot 0000:41:00.0 was not bound: taken: nvidia was first";

	rig_assigned(rig->rig);
	fake_set_driver(&rig->rig->fake, "0000:41:00.0", "nvidia", NULL);
	load_boot(rig, report);
	manager_rig_connect(rig);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_DEGRADED);
	assert_non_null(strstr(manager_rig_group(rig, "pair0")->reason, words));
	/* Somebody bound it since. */
	fake_set_driver(&rig->rig->fake, "0000:41:00.0", "vfio-pci", "vfio-pci");
	manager_rig_look(rig);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_ASSIGNED);
}

ON_A_MANAGER(a_boot_report_that_cannot_be_read_is_a_note)
{
	load_boot(rig, "{");
	manager_rig_look(rig);
	assert_true(manager_rig_notes(rig, "so what happened at boot is not known"));
}

ON_A_MANAGER(drift_is_not_looked_for_while_a_job_runs)
{
	Manager *m = rig->manager;
	JobRecord *job;

	rig_assigned(rig->rig);
	manager_rig_connect(rig);
	assert_int_equal(m->drift->n_items, 0);
	job = add_job(rig, 1, "0000:a1:00.0");
	fake_set_driver(&rig->rig->fake, "0000:41:00.0", "nvidia", NULL);
	manager_rig_look(rig);
	assert_int_equal(m->drift->n_items, 0);
	job->ended = true;
	manager_observe(m);
	assert_true(m->drift->n_items > 0);
}
