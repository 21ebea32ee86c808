/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the picture shows over the facts: jobs, quarantine, boot, notes. */
#include "rig/test.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "manager/manager-rig.h"
#include "manager/state.h"
#include "rig/bdf.h"
#include "util/file.h"
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

ON_A_MANAGER(a_group_that_a_job_has_is_moving_and_not_assignable)
{
	Manager *m = rig->manager;
	const JobRequest request = bind_request("pair0");
	JobRecord *job = NULL;

	manager_rig_connect(rig);
	assert_true(manager_rig_group(rig, "pair0")->assignable);
	job = job_record_new(7, &request);
	job->functions = calloc(1, sizeof(Bdf));
	job->functions[0] = bdf_of("0000:41:00.0");
	job->n_functions = 1;
	records_add(m, job);
	manager_observe(m);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_BINDING);
	assert_string_equal(manager_rig_group(rig, "pair0")->reason, "job 7");
	assert_false(manager_rig_group(rig, "pair0")->assignable);
	assert_int_equal(manager_rig_group(rig, "pair1")->state, GROUP_FREE);
	/* It ends: the picture is as before. */
	job->ended = true;
	manager_observe(m);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_FREE);
	assert_true(manager_rig_group(rig, "pair0")->assignable);
}

ON_A_MANAGER(a_quarantined_group_says_why_and_is_not_assignable)
{
	Manager *m = rig->manager;
	const Bdf functions[] = { bdf_of("0000:61:00.0") };

	manager_rig_connect(rig);
	claims_add_quarantine(m->place.job.claims, "pair0", functions, 1, NULL, "its reset failed");
	manager_observe(m);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_QUARANTINED);
	assert_string_equal(manager_rig_group(rig, "pair0")->reason, "its reset failed");
	assert_false(manager_rig_group(rig, "pair0")->assignable);
	assert_int_equal(manager_rig_group(rig, "pair1")->state, GROUP_FREE);
	claims_lift(m->place.job.claims, "pair0");
	manager_observe(m);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_FREE);
}

static void write_boot(const ManagerRig *rig, const char *text)
{
	_cleanup_free_ char *path = strf("%s/boot.json", rig->config);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static void remove_boot(const ManagerRig *rig)
{
	_cleanup_free_ char *path = strf("%s/boot.json", rig->config);

	assert_int_equal(unlink(path), 0);
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
	write_boot(rig, report);
	manager_load_boot(rig->manager, rig->config);
	manager_rig_connect(rig);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_DEGRADED);
	assert_non_null(strstr(manager_rig_group(rig, "pair0")->reason, words));
	/* Somebody bound it since. */
	fake_set_driver(&rig->rig->fake, "0000:41:00.0", "vfio-pci", "vfio-pci");
	manager_rig_look(rig);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_ASSIGNED);
	remove_boot(rig);
}

ON_A_MANAGER(a_boot_report_that_cannot_be_read_is_a_note)
{
	write_boot(rig, "{");
	manager_load_boot(rig->manager, rig->config);
	manager_rig_look(rig);
	assert_true(manager_rig_notes(rig, "so what happened at boot is not known"));
	remove_boot(rig);
}

/* The record of pair0 becomes one of a group and of boards that this host does not have. */
static void move_record(const ManagerRig *rig)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *text = NULL;
	int dir_fd = rig->rig->store.records.dir_fd;

	assert_int_equal(dir_list(dir_fd, ".json", &names), 0);
	assert_int_equal(strv_length(names), 1);
	assert_int_equal(file_read_at(dir_fd, names[0], 65536, &text, NULL), 0);
	for (char *at = text; (at = strstr(at, "0000:")); at++)
		at[2] = '9';
	for (char *at = text; (at = strstr(at, "pair0")); at++)
		at[4] = '9';
	/* As a version without checksums wrote it. */
	strstr(text, "assignment/4")[strlen("assignment/")] = '3';
	strcpy(strstr(text, ",\n  \"crc32\""), "\n}\n");
	assert_int_equal(file_replace_at(dir_fd, names[0], text, strlen(text), 0600), 0);
}

ON_A_MANAGER(a_record_whose_group_is_not_seen_is_drift_and_stays)
{
	Manager *m = rig->manager;
	_cleanup_free_ char *before = NULL;
	bool found = false;

	rig_assigned(rig->rig);
	move_record(rig);
	before = rig_world(rig->rig);
	manager_rig_connect(rig);
	assert_null(manager_find_group(m, "pair9"));
	assert_non_null(assignments_find_group(manager_assignments(m), "pair9"));
	for (size_t i = 0; i < m->drift->n_items; i++)
		found |= m->drift->items[i].kind == DRIFT_NO_GROUP;
	assert_true(found);
	assert_true(manager_rig_notes(rig, "of drift; see: gpupass reconcile --dry-run"));
	manager_rig_settle(rig);
	rig_check_world(rig->rig, before, "drift is shown, and nothing else");
}

ON_A_MANAGER(drift_is_not_looked_for_while_a_job_runs)
{
	Manager *m = rig->manager;
	const JobRequest request = bind_request("pair1");
	JobRecord *job = NULL;

	rig_assigned(rig->rig);
	manager_rig_connect(rig);
	assert_int_equal(m->drift->n_items, 0);
	job = job_record_new(1, &request);
	records_add(m, job);
	fake_set_driver(&rig->rig->fake, "0000:41:00.0", "nvidia", NULL);
	manager_rig_look(rig);
	assert_int_equal(m->drift->n_items, 0);
	job->ended = true;
	manager_observe(m);
	assert_true(m->drift->n_items > 0);
}
