/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/audit/line.h"

#include <nettle/sha2.h>

#include "gpupass/cleanup.h"
#include "util/text.h"

#define HEX_DIGITS "0123456789abcdef"

static LineHash hash_of(const char *bytes, size_t size)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;
	LineHash hash;

	_Static_assert(sizeof(digest) * 2 == LINE_HASH_HEX, "two digits a byte");
	sha256_init(&context);
	sha256_update(&context, size, (const uint8_t *)bytes);
	sha256_update(&context, 1, (const uint8_t *)"\n");
	sha256_digest(&context, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++) {
		hash.hex[2 * i] = HEX_DIGITS[digest[i] >> 4];
		hash.hex[2 * i + 1] = HEX_DIGITS[digest[i] & 15];
	}
	hash.hex[LINE_HASH_HEX] = '\0';
	return hash;
}

bool line_hash_valid(const char *text)
{
	return strlen(text) == LINE_HASH_HEX && strspn(text, HEX_DIGITS) == LINE_HASH_HEX;
}

char *line_make(const json_t *object, LineHash *ret_hash)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);

	*ret_hash = hash_of(text, strlen(text));
	return strf("%s %s\n", ret_hash->hex, text);
}

const char *line_text(const char *line, size_t size, size_t max, LineHash *ret_hash,
		      bool *ret_intact)
{
	LineHash hash = LINE_NO_HASH, real;

	*ret_hash = hash;
	*ret_intact = false;
	if (size <= LINE_HASH_HEX + 1 || size > max || line[LINE_HASH_HEX] != ' ' ||
	    memchr(line, '\0', size))
		return NULL;
	memcpy(hash.hex, line, LINE_HASH_HEX);
	if (!line_hash_valid(hash.hex))
		return NULL;
	*ret_hash = hash;
	real = hash_of(line + LINE_HASH_HEX + 1, size - LINE_HASH_HEX - 1);
	*ret_intact = strcmp(real.hex, hash.hex) == 0;
	return line + LINE_HASH_HEX + 1;
}

bool line_may_begin(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size && i < LINE_HASH_HEX; i++)
		if (!bytes[i] || !strchr(HEX_DIGITS, bytes[i]))
			return false;
	/* Written as ASCII, so that whatever else stands there was not written by us. */
	for (size_t i = LINE_HASH_HEX; i < size; i++)
		if ((unsigned char)bytes[i] < ' ' || (unsigned char)bytes[i] > 0x7f)
			return false;
	return (size <= LINE_HASH_HEX || bytes[LINE_HASH_HEX] == ' ') &&
	       (size <= LINE_HASH_HEX + 1 || bytes[LINE_HASH_HEX + 1] == '{');
}
