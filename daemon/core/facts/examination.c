/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/examination.h"

#include "core/base/json-struct.h"
#include "util/json.h"
#include "util/xalloc.h"

static void write_image(json_t *o, const char *key, const void *examination)
{
	const Examination *e = examination;

	if (e->image)
		json_set(o, key, initramfs_to_json(e->image));
}

static void read_image(JsonReader *reader, const char *key, void *examination)
{
	const json_t *image = json_object_get(reader->object, key);
	Examination *e = examination;

	if (image)
		reader->error = initramfs_from_json(image, &e->image, &reader->message);
}

static const JsonMember examination_members[] = {
	JSON_PLAIN_IF_ANY(Examination, nvidia_version),
	JSON_PLAIN_IF_ANY(Examination, libvirt_daemon),
	JSON_PLAIN_IF_ANY(Examination, hook_is),
	JSON_LIST(Examination, cmdline),
	JSON_LIST(Examination, modules),
	JSON_LIST(Examination, modprobe),
	JSON_LIST(Examination, modprobe_at),
	JSON_LIST(Examination, builtin),
	JSON_LIST(Examination, unread),
	JSON_LIST(Examination, initramfs),
	JSON_LIST(Examination, initramfs_at),
	JSON_LIST(Examination, modules_unknown),
	JSON_LIST(Examination, module_options),
	JSON_LIST(Examination, services),
	JSON_LIST(Examination, driverctl),
	JSON_LIST(Examination, host_hooks),
	JSON_LIST(Examination, boot),
	JSON_BOOL(Examination, initramfs_hook),
	JSON_BOOL(Examination, systemd),
	JSON_BOOL(Examination, bind_enabled),
	JSON_BOOL(Examination, hook),
	JSON_BOOL(Examination, hook_runs),
	JSON_BOOL_IF_ANY(Examination, hook_known),
	JSON_BOOL_IF_ANY(Examination, hook_late),
	JSON_BOOL(Examination, memlock_limited),
	JSON_NUMBER(Examination, memlock_bytes, INT64_MAX),
	JSON_OTHER("image", read_image, write_image),
	JSON_END,
};

json_t *examination_to_json(const Examination *e)
{
	return json_struct_write(examination_members, e);
}

int examination_from_json(const json_t *json, Examination **ret, char **ret_message)
{
	_cleanup_(examination_freep) Examination *e = xcalloc(1, sizeof(*e));
	int r = json_struct_read(examination_members, json, "examination", e, ret_message);

	if (r >= 0)
		*ret = TAKE_PTR(e);
	return r;
}

#define CLOCK_MARGIN_USEC UINT64_C(1000000)

/*
 * The time of a file is of the clock then, and the daemon's start is by the clock of now. They
 * compare only if nobody set it meanwhile, which a time to come shows. It also drifts.
 */
void examination_order_hook(Examination *e, uint64_t oldest, uint64_t made, uint64_t now)
{
	uint64_t start = e->libvirt_since_usec;

	if (start == 0 || oldest > now || made > now)
		return;
	e->hook_known = oldest > 0 && oldest + CLOCK_MARGIN_USEC < start;
	e->hook_late = !e->hook_known && made > start + CLOCK_MARGIN_USEC;
}

static void examination_clear(Examination *e)
{
	json_struct_clear(examination_members, e);
	initramfs_free(e->image);
}

DEFINE_FREE(Examination, examination_free, examination_clear)
