/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/client.h"

/* Has gpupass-trail check the files of the trail. As a VerbRun. */
int audit_verify(Client *c);
