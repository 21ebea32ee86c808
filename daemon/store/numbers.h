/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of jobs, of which none is given twice on a host: numbers.json in the state directory
 * (schema org.gpupass1.numbers/1) has the next that is free. They are reserved by the thousand, so
 * that a job costs no write; a stop gives back what was not used.
 */
#pragma once

#include <stdint.h>

#define NUMBERS_AT_ONCE 1000U

typedef struct NumberStore {
	int dir_fd; /* owned */
} NumberStore;

int number_store_open(const char *state_directory, NumberStore *ret);
void number_store_close(NumberStore *store);

/* The next that is free; 1 if there is no file. -errno: the file cannot be used, because of
 * *ret_why. */
int number_store_read(const NumberStore *store, uint32_t *ret, char **ret_why);
/* From any thread. */
int number_store_write(const NumberStore *store, uint32_t next);
