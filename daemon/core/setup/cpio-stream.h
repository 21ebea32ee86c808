/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contents of an initramfs, as the kernel unpacks it (init/initramfs.c): cpio archives of the
 * "newc" kind, one after another, with zeros between them. The caller pushes bytes in pieces of any
 * size. Anybody may have made the file: every length in it is bounded, and what does not fit ends
 * the parsing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPIO_HEADER_BYTES 110
#define CPIO_NAME_MAX 4096 /* PATH_MAX: the kernel skips longer names */
#define CPIO_CONTENT_MAX (512U * 1024)
#define CPIO_ENTRIES_MAX 1000000

typedef struct CpioHandler {
	/*
	 * Gets each name, of any bytes but NUL. > 0 asks for the content, if it is a file of at
	 * most CPIO_CONTENT_MAX bytes. < 0 ends the parsing.
	 */
	int (*entry)(const char *name, void *userdata);
	/* Gets a content of any bytes, with a NUL after it. < 0 ends the parsing. */
	int (*content)(const char *name, const char *text, void *userdata);
	void *userdata;
} CpioHandler;

typedef enum CpioState {
	CPIO_BETWEEN, /* between entries or archives */
	CPIO_HEADER,
	CPIO_NAME,
	CPIO_CONTENT,
	CPIO_SKIP,
} CpioState;

typedef struct CpioStream {
	CpioHandler handler;
	CpioState state;
	char header[CPIO_HEADER_BYTES + 1];
	char name[CPIO_NAME_MAX + 4];
	char *content;	   /* NULL: not wanted */
	size_t name_bytes; /* with its NUL */
	uint64_t body_bytes;
	size_t have;	/* of header, name or content */
	uint64_t skip;	/* bytes */
	size_t n_names; /* so far, trailers not counted */
	bool open;	/* an archive began, and its trailer has not come */
} CpioStream;

void cpio_stream_init(CpioStream *stream, const CpioHandler *handler);
void cpio_stream_clear(CpioStream *stream);

/*
 * Takes bytes until something other than an archive begins, a compressed one for example. *ret_used
 * is then less than `size`. -EBADMSG: not a newc archive; -E2BIG: too many entries; or what a
 * handler returned.
 */
int cpio_stream_push(CpioStream *stream, const char *data, size_t size, size_t *ret_used);

/* Every archive that began has ended. */
bool cpio_stream_is_whole(const CpioStream *stream);
