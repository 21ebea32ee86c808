/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmocka, with what it wants before it, and tests that register themselves: main() runs what TEST()
 * defines, in the order of the file. One file a program includes this. One that has a main() of its own
 * defines OWN_MAIN, and calls tests_run() there.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

typedef struct Test {
	struct CMUnitTest unit;
	int line;
} Test;

/* The linker's names for both ends of a section. */
extern const Test *__start_unit_tests[];
extern const Test *__stop_unit_tests[];

#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, setup, teardown)                                                           \
	static void name(void **state);                                                            \
	__attribute__((used, section("unit_tests"))) static const Test *test_##name =              \
		&(Test){ { #name, name, setup, teardown, NULL }, __LINE__ };                       \
	static void name(void **state)
/* With what its setup has made, which it calls rig. */
#define TEST_ON(name, type, setup, teardown)                                                       \
	static void name##_on(type *rig);                                                          \
	TEST_WITH(name, setup, teardown)                                                           \
	{                                                                                          \
		name##_on(*state);                                                                 \
	}                                                                                          \
	static void name##_on(type *rig)

/* Of a table with lists in its rows, which clang-format would lay out a member a line. */
#define ROW(...)                                                                                   \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* A compiler may emit them in any order. */
static inline int test_compare(const void *a, const void *b)
{
	return (*(const Test *const *)a)->line - (*(const Test *const *)b)->line;
}

static inline int tests_run(void)
{
	size_t n = (size_t)(__stop_unit_tests - __start_unit_tests);
	struct CMUnitTest *units = calloc(n, sizeof(*units));
	int failed;

	qsort(__start_unit_tests, n, sizeof(__start_unit_tests[0]), test_compare);
	for (size_t i = 0; units && i < n; i++)
		units[i] = __start_unit_tests[i]->unit;
	failed = units ? _cmocka_run_group_tests("tests", units, n, NULL, NULL) : 1;
	free(units);
	return failed;
}

#ifndef OWN_MAIN
int main(void)
{
	return tests_run();
}
#endif
