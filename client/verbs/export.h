/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what the daemon publishes to what is exported. */
#pragma once

#include "export/export.h"
#include "model/model.h"

/* All groups of a domain together. *ret borrows from the world. */
int export_load_guest(Client *c, const World *w, const char *domain, ExportGuest *ret);
/* One group, which must be whole; NULL: all that are, of which there must be one. */
int export_load_groups(Client *c, const World *w, const char *name, Export *e);
