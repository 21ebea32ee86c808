/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name of a host, from the command line. It becomes an argument of ssh, which may hand it to a
 * shell of the user's (ProxyCommand), so that few characters are taken.
 */
#pragma once

#include <stdbool.h>

/* [USER@]HOST[:PORT], or what systemd takes besides: an IPv6 address in brackets, a "/MACHINE". */
bool host_name_is_valid(const char *name);
