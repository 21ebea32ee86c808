/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/formats.h"

#include <string.h>

#include "base/text.h"
#include "export/cloud-init.h"

static const ExportFormat formats[] = {
	{ "cloud-init", export_cloud_init },
};

const ExportFormat *export_format_find(const char *name)
{
	for (size_t i = 0; i < ELEMENTS(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

char *export_format_names(void)
{
	_cleanup_strv_ char **names = NULL;

	for (size_t i = 0; i < ELEMENTS(formats); i++)
		if (strv_append(&names, formats[i].name) < 0)
			return NULL;
	return strv_join(names, ", ");
}
