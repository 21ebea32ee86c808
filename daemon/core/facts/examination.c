/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/examination.h"

#include "core/base/json-fields.h"
#include "util/json.h"
#include "util/text.h"

json_t *examination_to_json(const Examination *e)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

#define X(member)                                                                                  \
	if (e->member)                                                                             \
		r |= json_object_set_new(o, #member, json_plain(e->member));
	EXAMINATION_TEXTS(X)
#undef X
#define X(member) r |= json_set_plain_list(o, #member, e->member);
	EXAMINATION_LISTS(X)
#undef X
#define X(member) r |= json_object_set_new(o, #member, json_boolean(e->member));
	EXAMINATION_FLAGS(X)
#undef X
#define X(member)                                                                                  \
	r |= json_object_set_new(o, #member, json_integer((json_int_t)(e->member & INT64_MAX)));
	EXAMINATION_NUMBERS(X)
#undef X
	if (e->image)
		r |= json_object_set_new(o, "image", initramfs_to_json(e->image));
	return r < 0 ? NULL : TAKE_PTR(o);
}

int examination_from_json(const json_t *json, Examination **ret, char **ret_message)
{
#define X(member) #member,
	static const char *const keys[] = { EXAMINATION_TEXTS(X) EXAMINATION_LISTS(X)
						    EXAMINATION_FLAGS(X)
							    EXAMINATION_NUMBERS(X) "image",
					    NULL };
#undef X
	_cleanup_(examination_freep) Examination *e = calloc(1, sizeof(*e));
	JsonReader reader;
	int r;

	if (!e)
		return -ENOMEM;
	json_reader_begin(&reader, json, "examination", keys);
#define X(member) json_read_text_if_any(&reader, #member, &e->member);
	EXAMINATION_TEXTS(X)
#undef X
#define X(member) json_read_list(&reader, #member, &e->member);
	EXAMINATION_LISTS(X)
#undef X
#define X(member) e->member = json_read_bool(&reader, #member);
	EXAMINATION_FLAGS(X)
#undef X
#define X(member) e->member = json_read_number(&reader, #member, INT64_MAX);
	EXAMINATION_NUMBERS(X)
#undef X
	r = json_reader_end(&reader, ret_message);
	if (r >= 0 && json_object_get(json, "image"))
		r = initramfs_from_json(json_object_get(json, "image"), &e->image, ret_message);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(e);
	return 0;
}

Examination *examination_free(Examination *e)
{
	if (!e)
		return NULL;
#define X(member) free(e->member);
	EXAMINATION_TEXTS(X)
#undef X
#define X(member) strv_free(e->member);
	EXAMINATION_LISTS(X)
#undef X
	initramfs_free(e->image);
	free(e);
	return NULL;
}
