/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of hosts, from the command line and from a file. Each becomes an argument of ssh, which may
 * hand it to a shell of the user's (ProxyCommand), so that few characters are taken.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* More is not one operator's glance, but a mistake. */
#define HOSTS_MAX 1024
#define HOSTS_FILE_MAX (256U * 1024)

/* [USER@]HOST[:PORT], or what systemd takes besides: an IPv6 address in brackets, a "/MACHINE". */
bool host_name_is_valid(const char *name);

/* "a,b,c". -EINVAL with the reason, perhaps with a remedy in a second line, in *ret_why. */
int host_names_parse(const char *list, char ***ret, char **ret_why);
/*
 * A host a line; what follows a "#", blanks around a name and empty lines do not count. `file` is
 * what the reason calls it.
 */
int host_names_parse_file(const char *text, size_t size, const char *file, char ***ret,
			  char **ret_why);
/* Reads the file, or for "-" standard input. -errno where that fails. */
int host_names_read(const char *path, char ***ret, char **ret_why);
