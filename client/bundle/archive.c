/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bundle/archive.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define BLOCK 512
/* Eleven octal digits. */
#define SIZE_LIMIT (UINT64_C(1) << 33)

typedef struct Header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
	char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155];
	char rest[12];
} Header;

_Static_assert(sizeof(Header) == BLOCK, "a header is one block");

/* The sum of all bytes, with the sum itself as spaces. */
static void set_checksum(Header *h)
{
	const unsigned char *bytes = (const unsigned char *)h;
	unsigned sum = 0;

	memset(h->checksum, ' ', sizeof(h->checksum));
	for (size_t i = 0; i < sizeof(*h); i++)
		sum += bytes[i];
	snprintf(h->checksum, sizeof(h->checksum), "%06o", sum);
}

static int write_bytes(FILE *f, const void *data, size_t size)
{
	return size == 0 || fwrite(data, 1, size, f) == size ? 0 : -errno;
}

int archive_add(FILE *f, const char *name, const char *data, size_t size)
{
	static const char zeros[BLOCK];
	Header h = { .type = '0', .magic = "ustar", .version = { '0', '0' } };
	int r;

	if (strlen(name) > ARCHIVE_NAME_MAX)
		return -EINVAL;
	if (size >= SIZE_LIMIT)
		return -EFBIG;
	memcpy(h.name, name, strlen(name));
	snprintf(h.mode, sizeof(h.mode), "%07o", 0644);
	snprintf(h.uid, sizeof(h.uid), "%07o", 0);
	snprintf(h.gid, sizeof(h.gid), "%07o", 0);
	snprintf(h.size, sizeof(h.size), "%011llo", (unsigned long long)size);
	snprintf(h.mtime, sizeof(h.mtime), "%011o", 0);
	snprintf(h.user, sizeof(h.user), "root");
	snprintf(h.group, sizeof(h.group), "root");
	set_checksum(&h);
	r = write_bytes(f, &h, sizeof(h));
	if (r >= 0)
		r = write_bytes(f, data, size);
	return r < 0 ? r : write_bytes(f, zeros, (BLOCK - size % BLOCK) % BLOCK);
}

int archive_end(FILE *f)
{
	static const char zeros[2 * BLOCK];

	return write_bytes(f, zeros, sizeof(zeros));
}
