/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images as distributions make them: what is found in them, and when they are read. */
#include "rig/test.h"

#include "core/facts/assignment.h"
#include "host/host/questions.h"
#include "rig/initramfs-images.h"
#include "rig/real-host.h"

#define UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"

static void expect_drivers(const char *what, const Initramfs *image)
{
	_cleanup_free_ char *modules = strv_join(image->modules, " ");
	_cleanup_free_ char *modprobe = strv_join(image->modprobe, "|");

	if (image->trouble)
		fail_msg("%s: %s", what, image->trouble);
	assert_string_equal(image->path, "/" IMAGE);
	if (!str_equal(modules, "nvidia-current nouveau snd-hda-intel"))
		fail_msg("%s: %s", what, modules);
	assert_string_equal(modprobe, "options nvidia_drm modeset=1|blacklist nouveau");
	assert_string_equal(image->maker, "initramfs-tools");
}

WITH_DIR(each_compression_is_read_behind_microcode)
{
	size_t n = 0;

	for (size_t i = 0; i < ELEMENTS(filters); i++) {
		_cleanup_(initramfs_freep) Initramfs *image = NULL;
		Bytes bytes = { 0 };

		assert_true(add_segment(&bytes, archive_write_add_filter_none, microcode));
		add_zeros(&bytes, 512 - bytes.size % 512);
		if (!add_segment(&bytes, filters[i].add, with_drivers)) {
			print_message("libarchive cannot make %s\n", filters[i].name);
			bytes_done(&bytes);
			continue;
		}
		put_image(dir, &bytes);
		image = read_image(dir);
		expect_drivers(filters[i].name, image);
		assert_false(image->bind || image->trigger || image->vfio_pci);
		bytes_done(&bytes);
		n++;
	}
	assert_true(n >= 3);
}

WITH_DIR(the_lz4_of_the_kernel_is_read)
{
	_cleanup_(initramfs_freep) Initramfs *image = NULL;
	Bytes plain = { 0 }, bytes = { 0 };

	assert_true(add_segment(&plain, archive_write_add_filter_none, with_drivers));
	add_kernel_lz4(&bytes, &plain);
	put_image(dir, &bytes);
	image = read_image(dir);
	expect_drivers("lz4 -l", image);
	bytes_done(&plain);
	bytes_done(&bytes);
}

/* Ubuntu's have the modules, compressed each, in a part that is not. */
WITH_DIR(modules_before_the_compressed_part_are_found)
{
	_cleanup_(initramfs_freep) Initramfs *image = NULL;
	Bytes bytes = { 0 };

	assert_true(add_segment(&bytes, archive_write_add_filter_none, microcode));
	assert_true(add_segment(&bytes, archive_write_add_filter_none, with_drivers));
	add_zeros(&bytes, 64);
	assert_true(add_segment(&bytes, archive_write_add_filter_gzip, with_gpupass));
	put_image(dir, &bytes);
	image = read_image(dir);
	expect_drivers("plain", image);
	assert_true(image->bind && image->trigger && image->vfio_pci);
	bytes_done(&bytes);
}

/* The kernel goes on behind a compressed part, so what somebody appended counts. Where libarchive
 * cannot tell the end of one, that is told, and nothing concluded. */
WITH_DIR(parts_behind_a_compressed_one_are_read_or_told)
{
	for (size_t i = 1; i < ELEMENTS(filters); i++)
		for (size_t k = 0; k < 2; k++) {
			bool ends = strcmp(filters[i].name, "gzip") == 0 ||
				    strcmp(filters[i].name, "bzip2") == 0;
			_cleanup_(initramfs_freep) Initramfs *image = NULL;
			Bytes bytes = { 0 };

			if (!add_segment(&bytes, filters[i].add, with_drivers))
				continue;
			assert_true(add_segment(&bytes, filters[k].add, with_gpupass));
			put_image(dir, &bytes);
			image = read_image(dir);
			if (ends ? !image->bind || image->trouble : !image->bind && !image->trouble)
				fail_msg("%s, then %s: %s", filters[i].name, filters[k].name,
					 str_or_empty(image->trouble));
			bytes_done(&bytes);
		}
}

static char *assignment_text(void)
{
	AssignedFunction functions[] = {
		{ .vendor = 0x10de, .device = 0x2230 },
		{ .vendor = 0x10de, .device = 0x1aef },
	};
	Assignment assignment = {
		.domain_uuid = (char *)UUID,
		.domain_name = (char *)"vm42",
		.group_name = (char *)"pair0",
		.functions = functions,
		.n_functions = ELEMENTS(functions),
	};

	assert_int_equal(bdf_parse("0000:41:00.0", &functions[0].bdf), 0);
	assert_int_equal(bdf_parse("0000:41:00.1", &functions[1].bdf), 0);
	return assignment_to_json(&assignment);
}

WITH_DIR(the_copy_of_the_assignments_is_read)
{
	_cleanup_free_ char *text = assignment_text(), *assigned = NULL;
	const File files[] = {
		{ "etc/gpupass/assignments.d/" UUID ".json", text },
		{ "etc/gpupass/assignments.d/damaged.json", "{" },
		{ MODULES "modules.builtin", "kernel/drivers/vfio/pci/vfio-pci.ko\n" },
		{ NULL, NULL },
	};
	_cleanup_(initramfs_freep) Initramfs *image = NULL;
	Bytes bytes = { 0 };

	assert_true(add_segment(&bytes, archive_write_add_filter_gzip, files));
	put_image(dir, &bytes);
	image = read_image(dir);
	assert_null(image->trouble);
	assigned = strv_join(image->assigned, " ");
	assert_string_equal(assigned, "0000:41:00.0 0000:41:00.1");
	assert_true(image->vfio_pci);
	bytes_done(&bytes);
}

WITH_DIR(an_image_is_read_once_until_it_changes)
{
	static const InitramfsLimits limits = INITRAMFS_LIMITS_DEFAULT;
	_cleanup_(initramfs_freep) Initramfs *first = NULL, *again = NULL, *changed = NULL;
	Bytes bytes = { 0 };

	assert_true(add_segment(&bytes, archive_write_add_filter_gzip, with_drivers));
	put_image(dir, &bytes);
	first = read_image(dir);
	again = read_with(dir, first->key, &limits);
	assert_true(again->unchanged);
	assert_null(again->modules);
	assert_false(first->unchanged);
	bytes_done(&bytes);
	assert_true(add_segment(&bytes, archive_write_add_filter_gzip, with_gpupass));
	put_image(dir, &bytes);
	changed = read_with(dir, first->key, &limits);
	assert_false(changed->unchanged);
	assert_true(changed->bind);
	bytes_done(&bytes);
}

/* The daemon's side: what it knows stands for an image that is as it was, and for no other. */
WITH_DIR(the_host_keeps_what_it_read)
{
	_cleanup_free_ char *sys = strf("%s/sys", dir->path), *proc = strf("%s/proc", dir->path);
	const WorkerConfig config = {
		.program = WORKER,
		.initramfs = INITRAMFS,
		.sysfs_dir = sys,
		.proc_dir = proc,
		.root_dir = dir->path,
	};
	Bytes bytes = { 0 };
	RealHost host;

	temp_dir_write(dir, "sys/bus/x", "");
	temp_dir_write(dir, "proc/sys/kernel/osrelease", RELEASE "\n");
	assert_true(add_segment(&bytes, archive_write_add_filter_gzip, with_drivers));
	put_image(dir, &bytes);
	assert_int_equal(real_host_init(&host, &config), 0);
	for (unsigned i = 0; i < 3; i++) {
		_cleanup_(examination_freep) Examination *e = NULL;

		assert_int_equal(host_examine(&host.host, &e, NULL), 0);
		assert_non_null(e->image);
		expect_drivers("by a worker", e->image);
		assert_false(e->image->unchanged);
		/* From here on it can only come from what is kept. */
		assert_non_null(host.image);
		assert_int_equal(e->image->trigger, i > 0);
		host.image->trigger = true;
	}
	add_zeros(&bytes, 4);
	put_image(dir, &bytes);
	for (unsigned i = 0; i < 2; i++) {
		_cleanup_(examination_freep) Examination *e = NULL;

		assert_int_equal(host_examine(&host.host, &e, NULL), 0);
		assert_false(e->image->trigger);
	}
	real_host_done(&host);
	bytes_done(&bytes);
}

WITH_DIR(the_names_of_other_distributions_are_known)
{
	static const char *const names[] = { "boot/initrd-" RELEASE,
					     "boot/initramfs-" RELEASE ".img", IMAGE };
	Bytes bytes = { 0 };

	assert_true(add_segment(&bytes, archive_write_add_filter_gzip, with_gpupass));
	/* Each goes before the one before. */
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_(initramfs_freep) Initramfs *image = NULL;

		temp_dir_write_bytes(dir, names[i], bytes.data, bytes.size);
		image = read_image(dir);
		assert_null(image->trouble);
		assert_string_equal(image->path + 1, names[i]);
	}
	bytes_done(&bytes);
}
