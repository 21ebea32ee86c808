/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/audit/record.h"

#include <errno.h>
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

/* ---- the line ---- */

char *audit_line(const AuditRecord *record, LineHash *ret_hash)
{
	_cleanup_json_ json_t *o = json_struct_write(members, record);

	return line_make(o, ret_hash);
}

static int read_record(const char *text, size_t size, AuditRecord *ret)
{
	_cleanup_json_ json_t *o = NULL;
	AuditRecord record = AUDIT_RECORD_EMPTY;
	int r = json_parse_document(text, size, GPUPASS_SCHEMA_AUDIT, &o, NULL);

	if (r < 0)
		return r;
	r = json_struct_read(members, o, NULL, &record, NULL);
	if (r >= 0 && !line_hash_valid(record.previous))
		r = -EBADMSG;
	if (r < 0) {
		audit_record_clear(&record);
		return r;
	}
	*ret = record;
	return 0;
}

int audit_line_parse(const char *line, size_t size, AuditRecord *ret, LineHash *ret_hash,
		     bool *ret_intact)
{
	const char *text = line_text(line, size, AUDIT_LINE_MAX, ret_hash, ret_intact);

	return text ? read_record(text, size - (size_t)(text - line), ret) : -EBADMSG;
}

json_t *audit_record_to_json(const AuditRecord *record, const LineHash *hash)
{
	json_t *o = json_struct_write(members, record);

	json_set(o, "hash", json_text(hash->hex));
	return o;
}
