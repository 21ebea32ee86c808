/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A whole manager on the fake host of job-rig.h, with pair0 and pair1 declared in a directory of
 * its own, and what it tells its listener, as lines.
 */
#pragma once

#include "manager/manager.h"
#include "rig/job-rig.h"

typedef struct ManagerRig {
	Rig *rig;
	Mailbox *mailbox;
	TopologyStore topology;
	FenceStore fence;
	char config[64];
	HostOps ops; /* the fake's, which a test may change */
	Manager *manager;
	char **told; /* "objects", "new 1", "changed 1", "ended 1 done" */
	bool has_ended;
} ManagerRig;

/* For cmocka: *state is the rig. The bare one has no declarations; a ready one knows the domains,
 * of which vm42 is shut off. */
int manager_rig_setup(void **state);
int manager_rig_setup_bare(void **state);
int manager_rig_setup_ready(void **state);
void manager_rig_make_ready(ManagerRig *rig);
int manager_rig_teardown(void **state);
#define ON_A_MANAGER(test) TEST_ON(test, ManagerRig, manager_rig_setup, manager_rig_teardown)
#define ON_A_BARE_MANAGER(test)                                                                    \
	TEST_ON(test, ManagerRig, manager_rig_setup_bare, manager_rig_teardown)
#define ON_A_READY_MANAGER(test)                                                                   \
	TEST_ON(test, ManagerRig, manager_rig_setup_ready, manager_rig_teardown)

/* The next daemon: a new manager on the same machine and files. */
void manager_rig_restart(ManagerRig *rig);
/* Until no thread has anything in hand for the manager, and all is delivered: a look begins that of
 * the GPUs' health, whose end nobody tells. Linked with --wrap=mailbox_run, which counts them. */
void manager_rig_settle(ManagerRig *rig);
/* Looks at the machine, and at the domains where libvirt is connected, and waits for both. */
void manager_rig_look(ManagerRig *rig);
/* libvirt is there: the domains are known when this returns. */
void manager_rig_connect(ManagerRig *rig);
/* Starts a job; and waits for its end. */
uint32_t manager_rig_begin(ManagerRig *rig, const JobRequest *request);
JobState manager_rig_run(ManagerRig *rig, const JobRequest *request);
/* Starts a job, which is in its first move then, until it is let go. */
uint32_t manager_rig_begin_and_hold(ManagerRig *rig, const JobRequest *request);
void manager_rig_let_go(void);

/* In the picture; ends the test when there is none of that name. */
const Group *manager_rig_group(const ManagerRig *rig, const char *name);
/* A note of the picture has these words. */
bool manager_rig_notes(const ManagerRig *rig, const char *words);
bool manager_rig_was_told(const ManagerRig *rig, const char *line);
void manager_rig_forget_told(ManagerRig *rig);

/* groups.d/NAME.conf, as a person writes it. */
void manager_rig_write_group(ManagerRig *rig, const char *name, const char *text);
/* NULL: there is no such file. */
char *manager_rig_read_group(const ManagerRig *rig, const char *name);

/* Somebody who waits to be told, by ManagerDone or ManagerAnswered. */
typedef struct Caller {
	unsigned told;
	bool was_told;
	char *error_name, *message; /* NULL: all is well */
} Caller;
void caller_wait(ManagerRig *rig, const Caller *caller);
void caller_done(void *userdata);
void caller_declared(const char *text, const char *error_name, const char *message, void *userdata);
void caller_clear(Caller *caller);
