/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answers of whatever changes a function, written without a JSON library: gpupass-mover has
 * none but libc. question.c reads them.
 */
#pragma once

#include "core/facts/reset-report.h"
#include "host/wire/move.h"

/* One line without a newline. */
char *worker_move_document(const Bdf *bdf, const DriverResult *result);
char *worker_reset_document(const ResetReport *report);
char *worker_vfs_document(const Bdf *bdf, int error, unsigned number);
