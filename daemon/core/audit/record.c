/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/audit/record.h"

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "gpupass/domain-ref.h"
#include "util/json.h"
#include "util/printable.h"
#include "util/text.h"

/* Long enough for the first line of any refusal; a record has at most ten texts. */
#define TEXT_MAX 600U

LOCAL_DOCUMENT(AuditRecord, members, GPUPASS_SCHEMA_AUDIT)
#include "record.inc"

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

/* ---- asking ---- */

static bool is_domain(const AuditRecord *record, const char *domain)
{
	char uuid[DOMAIN_UUID_SIZE];

	/* What the caller called the domain, where libvirt was not asked, stands as its name. */
	if (domain_uuid_parse(domain, uuid) && str_equal(record->domain_uuid, uuid))
		return true;
	return str_equal(record->domain, domain);
}

bool audit_query_matches(const AuditQuery *query, const AuditRecord *record)
{
	if (record->sequence <= query->after || record->time_usec < query->since_usec ||
	    (query->until_usec > 0 && record->time_usec > query->until_usec))
		return false;
	if (query->group && !str_equal(record->group, query->group))
		return false;
	if (query->domain && !is_domain(record, query->domain))
		return false;
	if (query->by_user && record->uid != query->user && record->login_uid != query->user)
		return false;
	if (query->holders && record->kind != AUDIT_HOLDER && record->kind != AUDIT_HOLDER_GONE)
		return false;
	return query->job == 0 || record->job == query->job;
}
