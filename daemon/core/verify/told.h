/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text of nvidia-smi and of programs that measure: cleaned and read piece by piece, and lines that
 * tell why: what words mean, in the versions that print them, and which line is worth quoting.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/bdf.h"

#define SMI_TEXT_MAX (64U * 1024)

/*
 * A copy with a NUL at its end, without carriage returns, "ESC [ … m", "ESC [ K", and the mark that
 * Windows puts before UTF-8. -EBADMSG for a NUL or any other control character inside, -EFBIG.
 */
int smi_clean(const char *text, size_t size, char **ret);
/* Ends the text at the first such character, and is what stands behind it; NULL: it has none. */
char *smi_cut(char *text, char at);
/* Cuts the next line off, in place; NULL at the end. */
char *smi_next_line(char **rest);
/* Plain decimal digits, without leading zeros, up to `max`; -EBADMSG otherwise. */
int smi_number(const char *text, unsigned max, unsigned *ret);
/*
 * "276.07", of GB/s, in MB/s, with so many digits before and after the point at most. Those beyond
 * the third after it are cut off.
 */
int smi_rate(const char *text, size_t max_whole, size_t max_part, uint32_t *ret);

/* "GPU-" and a UUID, with its NUL */
#define SMI_UUID_SIZE 41
#define TOLD_LINE_MAX 200

typedef enum SmiTold {
	TOLD_NOTHING,
	TOLD_WARNING,	 /* changes nothing, and is worth a note */
	TOLD_NO_DEVICES, /* nvidia-smi knows no GPU */
	TOLD_NO_DRIVER,
	TOLD_MISMATCH,	    /* the module is not of the library's version */
	TOLD_NOT_PERMITTED, /* nvidia-smi may not open the device */
	TOLD_NO_COMMAND,    /* this nvidia-smi does not have it */
	TOLD_NOT_OFFERED,   /* the driver offers no NVLink on a GPU */
	TOLD_ALL_INACTIVE,
	TOLD_GPU_LOST, /* this and what follows are alarms: they stand whatever else is said */
	TOLD_RESET_NEEDED,
	TOLD_GPU_FAULT,	 /* a program was stopped by an error of memory or links */
	TOLD_WRONG_DATA, /* a program that measures found it */
} SmiTold;

/* What the line means: the heaviest of all words in it. */
SmiTold told_of(const char *line);
static inline bool told_is_alarm(SmiTold told)
{
	return told >= TOLD_GPU_LOST;
}

/* An alarm, and what the line says of the GPU that it is about. */
typedef struct SmiAlarm {
	SmiTold told;
	bool has_address, has_index;
	Bdf address; /* in the guest */
	unsigned index;
	char uuid[SMI_UUID_SIZE]; /* "": not told */
	char line[TOLD_LINE_MAX + 1];
} SmiAlarm;

#define ALARMS_MAX 16
typedef struct SmiAlarms {
	SmiAlarm items[ALARMS_MAX]; /* each once */
	size_t n_items;
} SmiAlarms;

/* Adds what the text has; more than ALARMS_MAX say nothing new. May be NULL. */
void alarms_read(const char *text, size_t size, SmiAlarms *into);

/*
 * The line that tells: one with known words, or else with words of failure, or else the first with
 * anything in it. Printable ASCII, at most TOLD_LINE_MAX characters. The
 * text may be NULL.
 */
char *smi_excerpt(const char *text, size_t size);
/* Likewise the line of this number, counted from 1. */
char *smi_line(const char *text, size_t size, unsigned number);
