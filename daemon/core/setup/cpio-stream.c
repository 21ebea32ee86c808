/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/setup/cpio-stream.h"

#include <ctype.h>

#include "util/xalloc.h"

#define MAGIC "070701"
#define MAGIC_CHECKSUM "070702"
#define TRAILER "TRAILER!!!"
/* Fields of a header after its magic, eight hex digits each. */
enum { FIELD_MODE = 1, FIELD_BODY = 6, FIELD_NAME = 11 };
#define MODE_TYPE 0170000U
#define MODE_FILE 0100000U

void cpio_stream_init(CpioStream *s, const CpioHandler *handler)
{
	*s = (CpioStream){ .handler = *handler };
}

void cpio_stream_clear(CpioStream *s)
{
	free(s->content);
	s->content = NULL;
}

bool cpio_stream_is_whole(const CpioStream *s)
{
	return s->state == CPIO_BETWEEN && !s->open;
}

static uint64_t padding(uint64_t bytes)
{
	return (4 - bytes % 4) % 4;
}

static void skip(CpioStream *s, uint64_t bytes)
{
	s->skip = bytes;
	s->state = bytes > 0 ? CPIO_SKIP : CPIO_BETWEEN;
}

/* Not strtoul(), which accepts signs and blanks as well. */
static int read_field(const char *header, unsigned field, uint32_t *ret)
{
	const char *digits = header + strlen(MAGIC) + (size_t)field * 8;
	uint32_t value = 0;

	for (unsigned i = 0; i < 8; i++) {
		unsigned char c = (unsigned char)digits[i];

		if (!isxdigit(c))
			return -EBADMSG;
		value = value << 4 | (uint32_t)(isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	*ret = value;
	return 0;
}

static int begin_entry(CpioStream *s)
{
	uint32_t name_bytes, body_bytes;

	if (strncmp(s->header, MAGIC, strlen(MAGIC)) != 0 &&
	    strncmp(s->header, MAGIC_CHECKSUM, strlen(MAGIC_CHECKSUM)) != 0)
		return -EBADMSG;
	if (read_field(s->header, FIELD_NAME, &name_bytes) < 0 ||
	    read_field(s->header, FIELD_BODY, &body_bytes) < 0)
		return -EBADMSG;
	s->open = true;
	s->name_bytes = name_bytes;
	s->body_bytes = body_bytes;
	s->have = 0;
	s->state = CPIO_NAME;
	if (name_bytes == 0 || name_bytes > CPIO_NAME_MAX)
		skip(s, name_bytes + padding(CPIO_HEADER_BYTES + (uint64_t)name_bytes) +
				body_bytes + padding(body_bytes));
	return 0;
}

static int end_name(CpioStream *s)
{
	uint32_t mode;
	int r;

	if (s->name[s->name_bytes - 1] != '\0' || read_field(s->header, FIELD_MODE, &mode) < 0)
		return -EBADMSG;
	if (strcmp(s->name, TRAILER) == 0) {
		s->open = false;
		skip(s, s->body_bytes + padding(s->body_bytes));
		return 0;
	}
	if (++s->n_names > CPIO_ENTRIES_MAX)
		return -E2BIG;
	r = s->handler.entry(s->name, s->handler.userdata);
	if (r < 0)
		return r;
	if (r == 0 || (mode & MODE_TYPE) != MODE_FILE || s->body_bytes > CPIO_CONTENT_MAX) {
		skip(s, s->body_bytes + padding(s->body_bytes));
		return 0;
	}
	s->content = xmalloc((size_t)s->body_bytes + 1);
	s->have = 0;
	s->state = CPIO_CONTENT;
	return 0;
}

static int end_content(CpioStream *s)
{
	int r;

	s->content[s->body_bytes] = '\0';
	r = s->handler.content(s->name, s->content, s->handler.userdata);
	cpio_stream_clear(s);
	skip(s, padding(s->body_bytes));
	return r;
}

/* Fills `to` up to `wanted` bytes. True when it is full. */
static bool gather(CpioStream *s, char *to, size_t wanted, const char **data, size_t *left)
{
	size_t n = wanted - s->have < *left ? wanted - s->have : *left;

	memcpy(to + s->have, *data, n);
	s->have += n;
	*data += n;
	*left -= n;
	return s->have == wanted;
}

static int cpio_push(CpioStream *s, const char **data, size_t *left)
{
	switch (s->state) {
	case CPIO_BETWEEN:
		if (**data != '\0') {
			s->state = CPIO_HEADER;
			s->have = 0;
			return 0;
		}
		++*data;
		--*left;
		return 0;
	case CPIO_HEADER:
		return gather(s, s->header, CPIO_HEADER_BYTES, data, left) ? begin_entry(s) : 0;
	case CPIO_NAME:
		return gather(s, s->name,
			      s->name_bytes + (size_t)padding(CPIO_HEADER_BYTES + s->name_bytes),
			      data, left)
			       ? end_name(s)
			       : 0;
	case CPIO_CONTENT:
		return gather(s, s->content, (size_t)s->body_bytes, data, left) ? end_content(s)
										: 0;
	case CPIO_SKIP: {
		size_t n = s->skip < *left ? (size_t)s->skip : *left;

		*data += n;
		*left -= n;
		skip(s, s->skip - n);
		return 0;
	}
	}
	return -EINVAL;
}

int cpio_stream_push(CpioStream *s, const char *data, size_t size, size_t *ret_used)
{
	size_t left = size;
	int r = 0;

	while (r >= 0 && left > 0) {
		/* A header begins with this byte. The kernel, too, looks at nothing else here. */
		if (s->state == CPIO_BETWEEN && *data != '\0' && *data != MAGIC[0])
			break;
		r = cpio_push(s, &data, &left);
	}
	*ret_used = size - left;
	return r < 0 ? r : 0;
}
