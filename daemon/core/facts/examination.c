/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/examination.h"

#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

static void image_write(json_t *o, const char *key, const void *examination)
{
	const Examination *e = examination;

	if (e->image)
		json_set(o, key, json_struct_write(initramfs_members, e->image));
}

static void image_read(JsonReader *reader, const char *key, void *examination)
{
	const json_t *image = json_object_get(reader->object, key);
	Examination *e = examination;

	if (image)
		reader->error = initramfs_from_json(image, &e->image, &reader->message);
}

#include "examination.inc"

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
