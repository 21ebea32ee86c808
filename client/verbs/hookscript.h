/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/client.h"

/* What a phase of Proxmox VE's hookscript needs. As a VerbRun. */
int verb_hookscript(Client *c, char *const *arguments, size_t n_arguments);
