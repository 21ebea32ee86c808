/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For tests/coverage: the daemon ends with _exit(), by which gcov's counters would be lost. Linked
 * into every program of that build with --wrap=_exit.
 */
#include <gcov.h>
#include <stdnoreturn.h>

noreturn void __real__exit(int status); /* NOLINT: the linker's name */
noreturn void __wrap__exit(int status); /* NOLINT: the linker's name */

noreturn void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}
