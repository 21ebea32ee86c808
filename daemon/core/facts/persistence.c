/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/persistence.h"

DEFINE_STRING_TABLE(persistence_mode, PersistenceMode, PERSISTENCE_MODES)
DEFINE_STRING_TABLE(mig_mode, MigMode, MIG_MODES)

const GpuPersistence *persistence_find(const GpuPersistence *list, size_t n, const Bdf *bdf)
{
	return BDF_FIND(list, n, bdf);
}

#include "persistence.inc"

void persistence_list_free(GpuPersistence *list, size_t n)
{
	for (size_t i = 0; list && i < n; i++)
		gpu_persistence_clear(&list[i]);
	free(list);
}
