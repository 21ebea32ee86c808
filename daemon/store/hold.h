/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Only one daemon may use a state directory. A second daemon would take the open jobs of the first
 * for interrupted ones, and undo them long before it found the bus name taken.
 */
#pragma once

/*
 * Locks the directory for this process until it ends, however it ends, and removes files that a
 * power cut left half written. Waits for the lock for up to 2 s. -EWOULDBLOCK: another daemon has
 * it. Logs its errors, with `what` as the name of the directory.
 */
int hold_directory(int dir_fd, const char *what);
