/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drift, found anew with every picture, and told in the log once when it comes and once when it goes. */
#pragma once

#include "manager/types.h"

/* Keeps what was found before while a job runs, and while domains are not known. */
void manager_observe_drift(Manager *m);
