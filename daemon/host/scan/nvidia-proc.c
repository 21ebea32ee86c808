/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/nvidia-proc.h"

#include "core/setup/setup-files.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define INFORMATION_MAX_BYTES 16384
/* Minor numbers of character devices have 20 bits. */
#define VERSION_MAX_BYTES 16384
#define MINOR_MAX ((1U << 20) - 1)
#define UUID_FORM "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"

/* The value in "Device Minor: \t 0" if the line has this name; otherwise NULL. */
static char *value_of(char *line, const char *name)
{
	size_t n = strlen(name);

	return strncmp(line, name, n) == 0 && line[n] == ':' ? str_strip(line + n + 1) : NULL;
}

static void parse_information(char *text, char **ret_uuid, int *ret_minor)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long long number;
		char *value;

		value = value_of(line, "GPU UUID");
		if (value && !*ret_uuid && str_has_form(value, UUID_FORM))
			*ret_uuid = xstrdup(value);
		value = value_of(line, "Device Minor");
		if (value && str_to_unsigned(value, 10, MINOR_MAX, &number) >= 0)
			*ret_minor = (int)number;
	}
}

void nvidia_proc_read(int proc_fd, const Bdf *bdf, char **ret_uuid, int *ret_minor)
{
	_cleanup_free_ char *path = strf("driver/nvidia/gpus/%s/information", BDF_TEXT(bdf));
	_cleanup_free_ char *text = NULL;

	*ret_uuid = NULL;
	*ret_minor = -1;
	if (file_read_at(proc_fd, path, INFORMATION_MAX_BYTES, &text, NULL) >= 0)
		parse_information(text, ret_uuid, ret_minor);
}

char *nvidia_proc_version(int proc_fd)
{
	_cleanup_free_ char *text = NULL;

	return file_read_at(proc_fd, "driver/nvidia/version", VERSION_MAX_BYTES, &text, NULL) < 0
		       ? NULL
		       : setup_read_nvidia_version(text);
}
