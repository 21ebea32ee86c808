/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/wire/request.h"
#include "util/text.h"

static int read_bytes(const char *bytes, size_t size, char ***ret)
{
	int fds[2], r;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(send(fds[0], bytes, size, 0), size);
	close(fds[0]);
	r = request_read(fds[1], ret);
	close(fds[1]);
	return r;
}

TEST(what_is_written_is_read)
{
	char *const words[] = { (char[]){ "move" }, (char[]){ "a b\nc" }, (char[]){ "-" }, NULL };
	_cleanup_free_ char *request = NULL;
	_cleanup_strv_ char **read = NULL;
	size_t size = 0;

	assert_int_equal(request_write(words, &request, &size), 0);
	assert_int_equal(read_bytes(request, size, &read), 0);
	assert_int_equal(strv_length(read), 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(read[i], words[i]);
}

/* promise C7 */
TEST(one_that_was_cut_off_is_none)
{
	static const char request[] = "move\0--\0x\0";

	for (size_t size = 0; size < sizeof(request); size++) {
		char **read = NULL;

		assert_int_equal(read_bytes(request, size, &read), -EBADMSG);
		assert_null(read);
	}
}

TEST(nothing_follows_its_end)
{
	static const char request[] = "move\0\0x\0";
	char **read = NULL;

	assert_int_equal(read_bytes(request, sizeof(request), &read), -EBADMSG);
	assert_int_equal(read_bytes("\0", 2, &read), -EBADMSG);
	assert_null(read);
}

TEST(it_has_a_largest_size)
{
	_cleanup_free_ char *word = malloc(REQUEST_MAX), *request = NULL, *bytes = NULL;
	char *words[] = { word, NULL };
	_cleanup_strv_ char **read = NULL;
	char **none = NULL;
	size_t size = 0;

	memset(word, 'x', REQUEST_MAX);
	word[REQUEST_MAX - 1] = '\0';
	assert_int_equal(request_write(words, &request, &size), -E2BIG);
	word[REQUEST_MAX - 2] = '\0';
	assert_int_equal(request_write(words, &request, &size), 0);
	assert_int_equal(size, REQUEST_MAX);
	assert_int_equal(read_bytes(request, size, &read), 0);
	bytes = calloc(REQUEST_MAX + 1, 1);
	memset(bytes, 'x', REQUEST_MAX - 1);
	assert_int_equal(read_bytes(bytes, REQUEST_MAX + 1, &none), -EBADMSG);
}

TEST(a_word_is_not_empty)
{
	char *const words[] = { (char[]){ "move" }, (char[]){ "" }, NULL };
	char *request = NULL;
	size_t size = 0;

	assert_int_equal(request_write(words, &request, &size), -EINVAL);
	assert_null(request);
}
