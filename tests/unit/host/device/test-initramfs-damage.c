/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images as nobody should make them: damaged, cut off, too large, none at all. All is told. */
#include "rig/test.h"

#include <sys/stat.h>

#include "rig/initramfs-images.h"
#include "util/clock.h"

static void expect_trouble(const TempDir *dir, const char *text)
{
	_cleanup_(initramfs_freep) Initramfs *image = read_image(dir);

	if (!image->trouble || !strstr(image->trouble, text))
		fail_msg("\"%s\" instead of \"%s\"", str_or_empty(image->trouble), text);
}

/* fault 59 */
/* All that is cut off is told, except at the one place where nobody can know: between the parts. */
WITH_DIR(a_truncated_image_is_told_wherever_it_ends)
{
	Bytes bytes = { 0 };
	size_t first;

	assert_true(add_segment(&bytes, archive_write_add_filter_none, microcode));
	first = bytes.size;
	add_zeros(&bytes, 8);
	assert_true(add_segment(&bytes, archive_write_add_filter_gzip, with_drivers));
	for (size_t n = 0; n < bytes.size; n++) {
		_cleanup_(initramfs_freep) Initramfs *image = NULL;
		const Bytes part = { .data = bytes.data, .size = n };

		put_image(dir, &part);
		image = read_image(dir);
		if (!image->trouble && (n < first - 4 || n > first + 8))
			fail_msg("%zu of %zu bytes (%zu): nothing is told", n, bytes.size, first);
	}
	bytes_done(&bytes);
}

/* fault 59 */
WITH_DIR(a_changed_byte_is_survived)
{
	static const char values[] = { 0, '0', 'f', '\x80', '\xff' };
	Bytes bytes = { 0 };

	assert_true(add_segment(&bytes, archive_write_add_filter_none, with_drivers));
	assert_true(add_segment(&bytes, archive_write_add_filter_gzip, with_gpupass));
	for (size_t i = 0; i < bytes.size; i++) {
		_cleanup_(initramfs_freep) Initramfs *image = NULL;
		char was = bytes.data[i];

		bytes.data[i] = values[i % sizeof(values)];
		put_image(dir, &bytes);
		image = read_image(dir);
		assert_true(image->trouble || image->modules || image->bind);
		bytes.data[i] = was;
	}
	bytes_done(&bytes);
}

/* fault 59 */
WITH_DIR(what_is_no_image_is_told)
{
	expect_trouble(dir, "there is none of kernel " RELEASE);
	temp_dir_write(dir, IMAGE, "");
	expect_trouble(dir, "is empty");
	temp_dir_write(dir, IMAGE, "not an image at all");
	expect_trouble(dir, "no archive at byte 0");
	temp_dir_write(dir, IMAGE, "0");
	expect_trouble(dir, "is cut off");
	temp_dir_write(dir, IMAGE, "0707079999");
	expect_trouble(dir, "is cut off");
	temp_dir_write_bytes(dir, IMAGE, "\x89LZO....", 8);
	expect_trouble(dir, "compressed by lzop");
	temp_dir_write_bytes(dir, IMAGE, "\x1f\x8b", 2);
	expect_trouble(dir, IMAGE);
	assert_int_equal(unlinkat(dir->fd, IMAGE, 0), 0);
	assert_int_equal(mkfifoat(dir->fd, IMAGE, 0600), 0);
	expect_trouble(dir, "is no file");
	assert_int_equal(unlinkat(dir->fd, IMAGE, 0), 0);
	assert_int_equal(mkdirat(dir->fd, IMAGE, 0700), 0);
	expect_trouble(dir, "is no file");
}

/* fault 59 */
WITH_DIR(junk_inside_a_compressed_part_is_told)
{
	Bytes plain = { 0 }, bytes = { 0 };

	assert_true(add_segment(&plain, archive_write_add_filter_none, with_drivers));
	add_bytes(&plain, "junk", 4);
	add_kernel_lz4(&bytes, &plain);
	put_image(dir, &bytes);
	expect_trouble(dir, "no archive is compressed in it");
	bytes_done(&plain);
	bytes_done(&bytes);
}

/* fault 59 */
/* promise C4 */
WITH_DIR(limits_hold)
{
	const InitramfsLimits small = { .time_usec = 60 * USEC_PER_SEC, .unpacked_bytes = 4096 };
	const InitramfsLimits short_time = { .unpacked_bytes = IMAGE_MAX };
	_cleanup_(initramfs_freep) Initramfs *large = NULL, *slow = NULL;
	char *text = calloc(1, 300001);
	const File files[] = { { "large", text }, { NULL, NULL } };
	Bytes bytes = { 0 };

	assert_non_null(text);
	memset(text, 'x', 300000);
	assert_true(add_segment(&bytes, archive_write_add_filter_gzip, files));
	assert_true(bytes.size < 4096); /* so it is the unpacked that counts */
	put_image(dir, &bytes);
	large = read_with(dir, NULL, &small);
	assert_non_null(strstr(large->trouble, "too large"));
	usleep(1000);
	slow = read_with(dir, NULL, &short_time);
	assert_non_null(strstr(slow->trouble, "takes too long"));
	bytes_done(&bytes);
	free(text);
}

WITH_DIR(a_release_that_is_no_name_opens_nothing)
{
	static const InitramfsLimits limits = INITRAMFS_LIMITS_DEFAULT;
	static const char *const releases[] = { "", "../x", "a/b" };

	temp_dir_write(dir, "boot/initrd.img-a/b", "");
	for (size_t i = 0; i < ELEMENTS(releases); i++) {
		_cleanup_(initramfs_freep) Initramfs *image = NULL;

		image = initramfs_image_read(dir->fd, &(BootedKernel){ releases[i], NULL }, NULL,
					     &limits);
		assert_null(image->path);
		assert_non_null(strstr(image->trouble, "no name"));
	}
}
