/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the build with sanitizers: the daemon ends with _exit(), which skips the search for leaks.
 * Linked into it there with --wrap=_exit. What it leaked is on stderr, and it ends with a status of
 * its own, which tests/bus/rig.py knows.
 */
#include <sanitizer/lsan_interface.h>
#include <stdnoreturn.h>

#define LEAKED 78

noreturn void __real__exit(int status); /* NOLINT: the linker's name */
noreturn void __wrap__exit(int status); /* NOLINT: the linker's name */

noreturn void __wrap__exit(int status)
{
	__real__exit(__lsan_do_recoverable_leak_check() != 0 ? LEAKED : status);
}
