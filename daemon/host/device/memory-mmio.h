/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Polls the registers by which boards say that their memory is cleared; only reads (bar0.h). */
#pragma once

#include "core/facts/memory-clear.h"

/*
 * Fills n reports, within `timeout_msec` together. Only of boards on a vfio driver: on any other,
 * the host uses the board, and nothing is known of a reset. The caller clears the reports.
 */
void memory_mmio_poll(int sysfs_fd, const Bdf *boards, size_t n, unsigned timeout_msec,
		      MemoryReport *ret);
