/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/audit/record.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <string.h>

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/printable.h"
#include "util/text.h"

/* Long enough for the first line of any refusal; a record has at most ten texts. */
#define TEXT_MAX 600U

DEFINE_STRING_TABLE(audit_kind, AuditKind, AUDIT_KINDS)
DEFINE_STRING_TABLE(audit_verdict, AuditVerdict, AUDIT_VERDICTS)

static const JsonMember members[] = {
	JSON_SCHEMA(GPUPASS_SCHEMA_AUDIT),
	JSON_NUMBER(AuditRecord, sequence, INT64_MAX),
	JSON_NUMBER(AuditRecord, time_usec, INT64_MAX),
	JSON_TEXT_OR_NULL(AuditRecord, boot_id),
	JSON_ENUM(AuditRecord, kind, AuditKind, AUDIT_KINDS, "is no kind of record"),
	JSON_ENUM(AuditRecord, verdict, AuditVerdict, AUDIT_VERDICTS, "is no verdict"),
	JSON_ID_OR_NULL(AuditRecord, uid),
	JSON_ID_OR_NULL(AuditRecord, login_uid),
	JSON_INDEX_OR_NULL(AuditRecord, pid),
	JSON_TEXT_OR_NULL(AuditRecord, unit),
	JSON_TEXT_OR_NULL(AuditRecord, command),
	JSON_TEXT_OR_NULL(AuditRecord, verb),
	JSON_TEXT_OR_NULL(AuditRecord, group),
	JSON_LIST(AuditRecord, functions),
	JSON_TEXT_OR_NULL(AuditRecord, domain_uuid),
	JSON_TEXT_OR_NULL(AuditRecord, domain),
	JSON_TEXT_OR_NULL(AuditRecord, error),
	JSON_TEXT_OR_NULL(AuditRecord, reason),
	JSON_NUMBER(AuditRecord, job, UINT32_MAX),
	JSON_NUMBER(AuditRecord, count, INT64_MAX),
	JSON_TEXT(AuditRecord, previous),
	JSON_END,
};

void audit_record_clear(AuditRecord *record)
{
	json_struct_clear(members, record);
}

char *audit_text(const char *text)
{
	char *clean = str_is_empty(text) ? NULL : text_printable_lines(text);
	size_t end;

	if (!clean)
		return NULL;
	if (strlen(clean) > TEXT_MAX) {
		/* Not in the middle of a character. */
		for (end = TEXT_MAX; end > 0 && ((unsigned char)clean[end] & 0xc0) == 0x80; end--)
			;
		clean[end] = '\0';
	}
	return clean;
}

/* ---- the hash ---- */

static AuditHash hash_of(const char *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;
	AuditHash hash;

	_Static_assert(sizeof(digest) * 2 == AUDIT_HASH_HEX, "two digits a byte");
	sha256_init(&context);
	sha256_update(&context, size, (const uint8_t *)bytes);
	sha256_update(&context, 1, (const uint8_t *)"\n");
	sha256_digest(&context, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++) {
		hash.hex[2 * i] = digits[digest[i] >> 4];
		hash.hex[2 * i + 1] = digits[digest[i] & 15];
	}
	hash.hex[AUDIT_HASH_HEX] = '\0';
	return hash;
}

bool audit_hash_valid(const char *text)
{
	return strlen(text) == AUDIT_HASH_HEX && strspn(text, "0123456789abcdef") == AUDIT_HASH_HEX;
}

/* ---- the line ---- */

char *audit_line(const AuditRecord *record, AuditHash *ret_hash)
{
	_cleanup_json_ json_t *o = json_struct_write(members, record);
	_cleanup_free_ char *text = json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII);

	*ret_hash = hash_of(text, strlen(text));
	return strf("%s %s\n", ret_hash->hex, text);
}

static int read_record(const char *text, size_t size, AuditRecord *ret)
{
	_cleanup_json_ json_t *o = NULL;
	AuditRecord record = AUDIT_RECORD_EMPTY;
	int r = json_parse_document(text, size, GPUPASS_SCHEMA_AUDIT, &o, NULL);

	if (r < 0)
		return r;
	r = json_struct_read(members, o, NULL, &record, NULL);
	if (r >= 0 && !audit_hash_valid(record.previous))
		r = -EBADMSG;
	if (r < 0) {
		audit_record_clear(&record);
		return r;
	}
	*ret = record;
	return 0;
}

int audit_line_parse(const char *line, size_t size, AuditRecord *ret, AuditHash *ret_hash,
		     bool *ret_intact)
{
	AuditHash hash = AUDIT_NO_HASH, real;

	*ret_hash = hash;
	*ret_intact = false;
	if (size <= AUDIT_HASH_HEX + 1 || size > AUDIT_LINE_MAX || line[AUDIT_HASH_HEX] != ' ' ||
	    memchr(line, '\0', size))
		return -EBADMSG;
	memcpy(hash.hex, line, AUDIT_HASH_HEX);
	if (!audit_hash_valid(hash.hex))
		return -EBADMSG;
	*ret_hash = hash;
	line += AUDIT_HASH_HEX + 1;
	size -= AUDIT_HASH_HEX + 1;
	real = hash_of(line, size);
	*ret_intact = strcmp(real.hex, hash.hex) == 0;
	return read_record(line, size, ret);
}

json_t *audit_record_to_json(const AuditRecord *record, const AuditHash *hash)
{
	json_t *o = json_struct_write(members, record);

	json_set(o, "hash", json_text(hash->hex));
	return o;
}
