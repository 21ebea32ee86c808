/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One daemon a state: a second one that took the first one's open jobs for interrupted ones would
 * undo them long before it found the bus name taken.
 */
#pragma once

/*
 * This process has the directory from now until it ends, however it ends; what a power cut left half
 * written in it is removed. Waits for up to 2 s. -EWOULDBLOCK: another daemon has it. Logs its errors;
 * `what` is for them.
 */
int hold_directory(int dir_fd, const char *what);
