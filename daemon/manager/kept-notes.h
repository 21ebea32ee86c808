/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an operator should know of the list of kept groups. */
#pragma once

#include "manager/types.h"

/* Adds a line for each kept group that a person asked for and that is no group as it was then. */
void manager_note_kept(const Manager *m, char ***notes);
