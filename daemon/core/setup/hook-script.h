/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * What a script of the host's names that moves boards: "PATH names virsh nodedev-detach at line 3",
 * appended once a script for each. It is a look at text, and not at what a shell would make of it:
 * a name in a string counts, one that is put together does not. `programs` gets the absolute paths
 * that it names, each once; it may be NULL.
 */
void hook_script_read(const char *path, const char *text, char ***into, char ***programs);
