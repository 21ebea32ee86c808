/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/record.h"

#include "util/crc32.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define CHECKSUM "crc32"

#include "record.inc"

static char *checksum_of(const json_t *document)
{
	_cleanup_free_ char *text = json_dumps(document, JSON_COMPACT);

	return strf("%08x", (unsigned)crc32_of(text, strlen(text)));
}

char *record_text(const RecordKind *kind, json_t *document)
{
	_cleanup_json_ json_t *root = document;
	_cleanup_free_ char *text = NULL;

	json_set(root, "schema", json_text(kind->schema));
	text = checksum_of(root);
	json_set(root, CHECKSUM, json_text(text));
	free(text);
	text = json_dumps(root, JSON_INDENT(2));
	return strf("%s\n", text);
}

static unsigned version_of(const char *schema)
{
	const char *text = strrchr(schema, '/') + 1;
	unsigned long long number = 0;

	return *text == '0' || str_to_unsigned(text, 10, UINT16_MAX, &number) < 0
		       ? 0
		       : (unsigned)number;
}

/* The version that the document says it is of. -EBADMSG: it is not of this kind. */
static int check_schema(const RecordKind *kind, const json_t *root, unsigned *ret, char **ret_why)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	size_t base = (size_t)(strrchr(kind->schema, '/') - kind->schema) + 1;

	if (!json_is_object(root))
		return json_refuse(ret_why, "it is no JSON object");
	if (!schema)
		return json_refuse(ret_why, "it has no schema");
	*ret = strncmp(schema, kind->schema, base) == 0 ? version_of(schema) : 0;
	if (*ret > 0)
		return 0;
	return json_refuse(ret_why, "it is another document: its schema is %.80s, not %s", schema,
			   kind->schema);
}

/* Leaves what the sum is of. */
static int take_checksum(json_t *root, char **ret_why)
{
	_cleanup_free_ char *said = xstrdup(json_string_value(json_object_get(root, CHECKSUM)));
	_cleanup_free_ char *sum = NULL;

	if (!said)
		return json_refuse(ret_why, "it has no checksum");
	json_object_del(root, CHECKSUM);
	sum = checksum_of(root);
	return strcmp(said, sum) == 0 ? 0 : json_refuse(ret_why, "its checksum is wrong");
}

int record_open(const RecordKind *kind, const char *text, size_t size, json_t **ret, char **ret_why)
{
	unsigned version = 0, newest = version_of(kind->schema);
	_cleanup_json_ json_t *root = NULL;
	json_error_t error;
	int r = json_parse(text, size, &root, &error);

	if (r < 0)
		return json_refuse(ret_why, "line %d: %s", error.line, error.text);
	r = check_schema(kind, root, &version, ret_why);
	if (r < 0)
		return r;
	if (version > newest) {
		json_refuse(ret_why, "it is of version %u, and versions 1 to %u are read", version,
			    newest);
		return -EPROTO;
	}
	if (version == newest)
		r = take_checksum(root, ret_why);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(root);
	return 0;
}

void record_free(const RecordKind *kind, void *record)
{
	if (!kind->members) {
		kind->free(record);
		return;
	}
	json_struct_clear(kind->members, record);
	free(record);
}

static int read_struct(const RecordKind *kind, const json_t *document, void **ret, char **ret_why)
{
	void *record = xcalloc(1, kind->size);
	int r = json_struct_read(kind->members, document, NULL, record, ret_why);

	if (r >= 0 && kind->check)
		r = kind->check(record, ret_why);
	if (r < 0)
		record_free(kind, record);
	else
		*ret = record;
	return r;
}

int record_parse(const RecordKind *kind, const char *text, size_t size, void **ret, char **ret_why)
{
	_cleanup_json_ json_t *document = NULL;
	int r = record_open(kind, text, size, &document, ret_why);

	if (r < 0)
		return r;
	return kind->members ? read_struct(kind, document, ret, ret_why)
			     : kind->read(document, ret, ret_why);
}
