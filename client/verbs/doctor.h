/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/client.h"

/* Writes a capture of the host to `path`, "-" for standard output. As a VerbRun. */
int doctor_bundle(Client *c, const char *path, size_t n_arguments);
