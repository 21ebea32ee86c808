/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lifting a quarantine. */
#pragma once

#include "manager/types.h"

/* Lifts a quarantine whose cause is gone. PROBLEM: refused at once, and `done` is not called. */
int manager_clear(Manager *m, const char *group, ManagerDeclared done, void *userdata,
		  Problem **ret_problem);
