/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declares and forgets groups. A thread checks a declaration against the machine and all other
 * declarations before it writes the file, because both the scan and the fsync may take time. It
 * claims what becomes another group, as a job claims what it moves: the first of both goes on.
 */
#pragma once

#include "core/links/declaration.h"
#include "manager/types.h"

/*
 * Calls `done` when the picture shows the outcome. The wish's members are of all kinds, as a caller
 * writes them: its companions stand among them.
 */
void manager_declare(Manager *m, const DeclareWish *wish, bool no_bridge_seen, ManagerAnswered done,
		     void *userdata);
void manager_forget(Manager *m, const char *name, ManagerAnswered done, void *userdata);
/* Reads groups.d again, after a person has edited it. */
void manager_reload(Manager *m);
