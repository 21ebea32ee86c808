/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declaring and forgetting groups: checked against the machine and all other declarations before
 * the file is written, on a thread, because both the scan and the fsync may take their time.
 */
#pragma once

#include "manager/types.h"

/* `done` is told when the picture shows the outcome. */
int manager_declare(Manager *m, const char *name, char *const *members, ManagerDeclared done,
		    void *userdata);
int manager_forget(Manager *m, const char *name, ManagerDeclared done, void *userdata);
/* Reads groups.d again, as after a person edited it. */
int manager_reload(Manager *m);
