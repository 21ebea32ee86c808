/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/persistence.h"

#include <stdlib.h>

DEFINE_STRING_TABLE(persistence_mode, PersistenceMode, PERSISTENCE_MODES)

const GpuPersistence *persistence_find(const GpuPersistence *list, size_t n, const Bdf *bdf)
{
	for (size_t i = 0; list && i < n; i++)
		if (bdf_equal(&list[i].bdf, bdf))
			return &list[i];
	return NULL;
}

void gpu_persistence_clear(GpuPersistence *gpu)
{
	free(gpu->why);
	*gpu = (GpuPersistence){ 0 };
}

void persistence_list_free(GpuPersistence *list, size_t n)
{
	for (size_t i = 0; list && i < n; i++)
		gpu_persistence_clear(&list[i]);
	free(list);
}

int json_set_persistence_if_known(json_t *object, const char *key, PersistenceMode mode)
{
	if (mode == PERSISTENCE_UNKNOWN)
		return 0;
	return json_object_set_new(object, key, json_string(persistence_mode_to_string(mode)));
}

void json_read_persistence_if_any(JsonReader *reader, const char *key, PersistenceMode *ret)
{
	_cleanup_free_ char *text = NULL;
	PersistenceMode mode;

	json_read_text_if_any(reader, key, &text);
	if (!text)
		return;
	if (persistence_mode_from_string(text, &mode) < 0 || mode == PERSISTENCE_UNKNOWN)
		json_reader_fail(reader, key, "is neither on nor off");
	else
		*ret = mode;
}
