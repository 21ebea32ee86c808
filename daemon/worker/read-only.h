/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * From here on this process can open no file for writing, nor make one, wherever it finds it: a
 * part that may look into other processes would otherwise find their memory, and a writable root,
 * behind /proc/PID. SystemCallFilter= of systemd cannot say it, because it knows no arguments.
 */
int become_read_only(void);
