/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs and quarantines that the previous daemon left. */
#pragma once

#include "manager/types.h"

/* Reads the open jobs and the quarantines that the previous daemon left. Comes before anything
 * else. */
void manager_load_state(Manager *m);
/*
 * Reads boot.json, what gpupass-bind reported of this boot. One that cannot be read becomes a note.
 */
void manager_load_boot(Manager *m, const char *runtime_directory);
/*
 * Finishes or undoes the open jobs, as far as libvirt answers. -EBUSY: recovery is under way; what
 * is open at its end, it takes up once more.
 */
int manager_recover(Manager *m, ManagerDone done, void *userdata);
/* A job of this daemon stays open because libvirt is gone. Recovers it when libvirt answers. Takes
 * it. */
void manager_take_open_job(Manager *m, OpenJob *job);
/* Jobs of the daemon before are not settled, or being settled. */
bool manager_has_open_jobs(const Manager *m);
/* true: a job of this group waits for recovery, or a thread recovers jobs at the moment. */
bool manager_is_recovering(const Manager *m, const char *group);
/* true: this job, an earlier daemon's or one that lost libvirt, is to be recovered, or just is. */
bool manager_recovers_job(const Manager *m, uint32_t id);

/* error: of reserving numbers of jobs; 0: they are. */
void manager_note_numbers(int error);
/* At the end of the daemon: numbers that no job was given. Writes a file. */
void manager_give_numbers_back(Manager *m);
