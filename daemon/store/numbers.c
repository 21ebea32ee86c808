/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/numbers.h"

#include <errno.h>
#include <string.h>

#include "gpupass/cleanup.h"
#include "gpupass/dbus.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define FILE_NAME "numbers.json"
#define FILE_MAX 4096U
/* No host comes there; a number beyond it would soon begin anew. */
#define NEXT_MAX (UINT32_MAX / 2)

int number_store_open(const char *state_directory, NumberStore *ret)
{
	*ret = (NumberStore){ .dir_fd = -1 };
	return dir_open_private(state_directory, &ret->dir_fd);
}

void number_store_close(NumberStore *store)
{
	store->dir_fd = close_fd(store->dir_fd);
}

int number_store_read(const NumberStore *store, uint32_t *ret, char **ret_why)
{
	_cleanup_free_ char *text = NULL, *message = NULL;
	_cleanup_json_ json_t *root = NULL;
	unsigned long long next = 0;
	size_t size = 0;
	int r = file_read_state_at(store->dir_fd, FILE_NAME, FILE_MAX, &text, &size);

	*ret = 1;
	if (r == -ENOENT)
		return 0;
	if (r >= 0)
		r = json_parse_document(text, size, GPUPASS_SCHEMA_NUMBERS, &root, &message);
	else
		message = xstrdup(file_state_error(r));
	if (r >= 0)
		r = json_get_unsigned(root, "next", NEXT_MAX, &next);
	if (r >= 0 && next == 0)
		r = -EBADMSG;
	if (r >= 0)
		*ret = (uint32_t)next;
	else
		*ret_why = strf(FILE_NAME " cannot be understood (%s)",
				message ? message : "it has no next number that can be");
	return r;
}

int number_store_write(const NumberStore *store, uint32_t next)
{
	_cleanup_json_ json_t *root = json_build("{s:s, s:I}", "schema", GPUPASS_SCHEMA_NUMBERS,
						 "next", (json_int_t)next);
	_cleanup_free_ char *text = json_dumps(root, JSON_INDENT(1));
	_cleanup_free_ char *line = strf("%s\n", text);

	return file_replace_at(store->dir_fd, FILE_NAME, line, strlen(line), FILE_MODE_PRIVATE);
}
