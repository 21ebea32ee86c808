/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds drift in every picture, and logs each finding once when it comes and once when it goes. */
#pragma once

#include "manager/types.h"

/* While a job runs, or domains are not known, the previous findings stay. */
void manager_observe_drift(Manager *m);
