/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and small files of an initramfs: what they mean, and what hostile ones do not do. */
#include "rig/test.h"

#include <errno.h>
#include <stdio.h>

#include "core/facts/initramfs.h"
#include "core/setup/cpio-stream.h"
#include "rig/rows.h"

#define DISPLAY 0x030000
#define DISPLAY_3D 0x030200
#define AUDIO 0x040300
#define USB 0x0c0330
#define UCSI 0x0c8000

/* ---- names ---- */

static char *module_of(const char *name)
{
	_cleanup_(initramfs_freep) Initramfs *image = xcalloc(1, sizeof(*image));

	initramfs_note_name(image, name);
	return strv_join(image->modules, " ");
}

static bool is_kept(const char *name)
{
	_cleanup_free_ char *module = module_of(name);

	return *module != '\0';
}

TEST(modules_are_told_apart_by_name)
{
	static const TextRow rows[] = {
		{ "usr/lib/modules/6.1/updates/dkms/nvidia.ko", "nvidia" },
		{ "lib/modules/6.1/extra/nvidia.ko.xz", "nvidia" },
		{ "./usr/lib/modules/6.1/nvidia-current.ko.zst", "nvidia-current" },
		{ "/nvidia_tesla_470.ko.gz", "nvidia-tesla-470" },
		{ "x/nouveau.ko.zst", "nouveau" },
		{ "x/nova_core.ko.zst", "nova-core" },
		{ "x/snd-hda-intel.ko", "snd-hda-intel" },
		{ "x/snd_hda_intel.ko", "snd-hda-intel" },
		{ "x/xhci-pci.ko", "xhci-pci" },
		{ "x/i2c-nvidia-gpu.ko", "i2c-nvidia-gpu" },
	};
	EXPECT_TEXTS(rows, module_of);
	/* These bind no function of a GPU. */
	assert_false(is_kept(""));
	expect_each("x/nvidia-drm.ko|x/nvidia-modeset.ko|x/nvidia-current-uvm.ko|"
		    "x/nvidia-peermem.ko|x/nvidia-vgpu-vfio.ko|x/nvidiafb.ko|"
		    "x/nvidia-wmi-ec-backlight.ko|x/xhci-pci-renesas.ko|"
		    "x/snd-hda-codec-hdmi.ko|x/mynvidia.ko|x/nouveau.kobold|"
		    "x/nouveau.ko/readme|x/.ko|nvidia.conf|/|"
		    "usr/lib/firmware/nvidia/ga102/gsp.bin",
		    is_kept, false);
}

static char *part_of(const char *name)
{
	_cleanup_(initramfs_freep) Initramfs *image = xcalloc(1, sizeof(*image));

	initramfs_note_name(image, name);
	return strf("%s%s%s%s", image->bind ? "bind" : "", image->trigger ? "trigger " : "",
		    image->vfio_pci ? "vfio-pci" : "", str_or_empty(image->maker));
}

TEST(gpupass_is_known_by_all_its_parts)
{
	static const TextRow rows[] = {
		{ "usr/libexec/gpupass/gpupass-bind", "bind" },
		{ "usr/local/libexec/gpupass/gpupass-bind", "bind" },
		{ "usr/share/doc/gpupass-bind", "" },
		{ "usr/lib/udev/rules.d/60-gpupass.rules", "trigger " },
		{ "scripts/init-top/gpupass", "trigger " },
		{ "usr/lib/dracut/hooks/pre-trigger/10-gpupass-bind.sh", "trigger dracut" },
		{ "usr/lib/modules/6.1/vfio_pci.ko.xz", "vfio-pci" },
		{ "usr/lib/modules/6.1/vfio-pci-core.ko", "" },
		{ "conf/initramfs.conf", "initramfs-tools" },
	};

	EXPECT_TEXTS(rows, part_of);
}

/* What settings and words keep away is in test-modprobe.c and test-kernel-words.c. */
TEST(what_takes_a_function_goes_by_its_class_and_blacklists)
{
	static const struct {
		const char *module, *conf;
		uint32_t class_code;
		const char *word;
		bool takes;
	} rows[] = {
		{ "nvidia", "", DISPLAY, "", true },
		{ "nvidia", "", DISPLAY_3D, "", true },
		{ "nvidia", "", AUDIO, "", false },
		{ "nvidia-current", "", DISPLAY, "", true },
		{ "nouveau", "", DISPLAY, "", true },
		{ "snd-hda-intel", "", AUDIO, "", true },
		{ "snd-hda-intel", "", DISPLAY, "", false },
		{ "xhci-pci", "", USB, "", true },
		{ "i2c-nvidia-gpu", "", UCSI, "", true },
		{ "nvme", "", 0x010802, "", true },
		{ "mlx5-core", "", 0x020700, "", true },
		{ "mlx5-core", "", 0x010802, "", false },
		{ "nouveau", "blacklist nouveau", DISPLAY, "", false },
		{ "nouveau", "blacklist nvidia", DISPLAY, "", true },
		/* By the name of the file, with underscores. */
		{ "nvidia-current", "install nvidia /bin/false", DISPLAY, "", true },
		{ "nvidia-current", "blacklist nvidia_current", DISPLAY, "", false },
		{ "snd-hda-intel", "blacklist snd_hda_intel", AUDIO, "", false },
		{ "nouveau", "", DISPLAY, "modprobe.blacklist=nova,nouveau", false },
		{ "nouveau", "", DISPLAY, "rd.driver.blacklist=nouveau,nova", true },
		{ "snd-hda-intel", "", AUDIO, "modprobe.blacklist=snd_hda_intel", false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(initramfs_freep) Initramfs *image = xcalloc(1, sizeof(*image));
		_cleanup_free_ char *name = strf("lib/%s.ko", rows[i].module);
		char *cmdline[] = { (char *)rows[i].word, NULL };
		const char *taker;

		initramfs_note_name(image, name);
		strv_split(rows[i].conf, "\n", &image->modprobe);
		taker = initramfs_taker(image, rows[i].class_code, cmdline);
		if (!str_equal(taker, rows[i].takes ? rows[i].module : NULL))
			fail_msg("row %zu: %s", i, str_or_empty(taker));
	}
}

TEST(a_word_of_dracut_counts_in_its_images)
{
	_cleanup_(initramfs_freep) Initramfs *image = xcalloc(1, sizeof(*image));
	char *cmdline[] = { (char *)"rd.driver.blacklist=nova,snd_hda_intel", NULL };

	initramfs_note_name(image, "lib/snd-hda-intel.ko");
	assert_string_equal(initramfs_taker(image, AUDIO, cmdline), "snd-hda-intel");
	image->maker = strdup("dracut");
	assert_null(initramfs_taker(image, AUDIO, cmdline));
}

TEST(modprobe_d_is_in_the_order_of_modprobe)
{
	static const char *const files[][2] = {
		{ "usr/lib/modprobe.d/a.conf", "of usr" }, { "./etc/modprobe.d/b.conf", "b \\" },
		{ "etc/modprobe.d/a.conf", "former" },	   { "run/modprobe.d/c.conf", NULL },
		{ "lib/modprobe.d/c.conf", "masked" },	   { "/etc/modprobe.d/a.conf", "a" },
		{ "x/modprobe.d/d.conf", "nowhere" },	   { "etc/modprobe.d/e.txt", "no setting" },
	};
	_cleanup_(initramfs_freep) Initramfs *image = xcalloc(1, sizeof(*image));
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < ELEMENTS(files); i++) {
		if (initramfs_note_name(image, files[i][0]) && files[i][1])
			initramfs_note_content(image, files[i][0], files[i][1]);
	}
	text = initramfs_modprobe_text(image);
	assert_string_equal(text, "a\n\nb \\");
}

/* ---- hostile names ---- */

TEST(what_hostile_names_leave_is_bounded)
{
	_cleanup_(initramfs_freep) Initramfs *image = xcalloc(1, sizeof(*image)), *back = NULL;
	static char long_name[4000];
	_cleanup_free_ char *text = NULL;
	json_t *json;

	memset(long_name, 'n', sizeof(long_name) - 1);
	memcpy(long_name, "nvidia-", 7);
	memcpy(long_name + sizeof(long_name) - 4, ".ko", 3);
	initramfs_note_name(image, long_name);
	assert_null(image->modules);
	for (unsigned i = 0; i < 5000; i++) {
		_cleanup_free_ char *name = strf("nvidia-%u.ko", i);

		initramfs_note_name(image, name);
	}
	assert_true(strv_length(image->modules) <= 256);
	/* No name reaches a terminal as it is. */
	strv_append(&image->modprobe, "nvidia-\x1b[2J\n\xff");
	image->trouble = strdup("x\x07y");
	json = json_struct_write(initramfs_members, image);
	assert_non_null(json);
	assert_int_equal(initramfs_from_json(json, &back, NULL), 0);
	assert_string_equal(back->modprobe[0], "nvidia-?[2J??");
	assert_string_equal(back->trouble, "x?y");
	text = json_dumps(json, JSON_COMPACT);
	assert_true(strlen(text) < 64 * 1024);
	json_decref(json);
}

/* ---- the stream ---- */

typedef struct Seen {
	char **names;
	char *content;
	int entry_result;
} Seen;

static int seen_entry(const char *name, void *userdata)
{
	Seen *seen = userdata;

	strv_append(&seen->names, name);
	return seen->entry_result;
}

static int seen_content(const char *name, const char *text, void *userdata)
{
	Seen *seen = userdata;

	(void)name;
	free(seen->content);
	seen->content = strdup(text);
	return 0;
}

static void seen_clear(Seen *seen)
{
	strv_free(seen->names);
	free(seen->content);
}

/* One entry, whose name has its NUL only if it is within `name_bytes`; of the header alone `body` NULL. */
static size_t entry(char *to, const char *name, unsigned name_bytes, unsigned mode,
		    const char *body, unsigned body_bytes)
{
	size_t n = (size_t)sprintf(to, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
				   1U, mode, 0U, 0U, 1U, 0U, body_bytes, 0U, 0U, 0U, 0U, name_bytes,
				   0U);

	if (!body)
		return n;
	memcpy(to + n, name, name_bytes);
	for (n += name_bytes; n % 4 != 0; n++)
		to[n] = '\0';
	memcpy(to + n, body, body_bytes);
	for (n += body_bytes; n % 4 != 0; n++)
		to[n] = '\0';
	return n;
}

/* In pieces of `step` bytes: 0, or an error; the names that were seen are then in *ret. */
static int push_all(const char *data, size_t size, size_t step, Seen *seen, char **ret,
		    bool *ret_whole)
{
	const CpioHandler handler = {
		.entry = seen_entry,
		.content = seen_content,
		.userdata = seen,
	};
	CpioStream stream;
	int r = 0;

	cpio_stream_init(&stream, &handler);
	for (size_t at = 0; r >= 0 && at < size;) {
		size_t n = size - at < step ? size - at : step, used = 0;
		/* A copy of its own, so that reading past the end is seen. */
		_cleanup_free_ char *piece = xmemdup(data + at, n);

		r = cpio_stream_push(&stream, piece, n, &used);
		at += used;
		if (used < n)
			break;
	}
	*ret_whole = cpio_stream_is_whole(&stream);
	*ret = strv_join(seen->names, " ");
	cpio_stream_clear(&stream);
	return r;
}

TEST(pieces_of_any_size_give_the_same)
{
	char data[4096];
	size_t n;

	n = entry(data, "dir", 4, 040755, "", 0);
	n += entry(data + n, "a/b.conf", 9, 0100644, "text", 4);
	n += entry(data + n, "TRAILER!!!", 11, 0, "", 0);
	memset(data + n, 0, 16);
	n += 16;
	n += entry(data + n, "c", 2, 0100644, "", 0);
	n += entry(data + n, "TRAILER!!!", 11, 0, "", 0);
	for (size_t step = 1; step <= n; step++) {
		_cleanup_(seen_clear) Seen seen = { .entry_result = 1 };
		_cleanup_free_ char *names = NULL;
		bool whole = false;

		assert_int_equal(push_all(data, n, step, &seen, &names, &whole), 0);
		assert_string_equal(names, "dir a/b.conf c");
		assert_true(whole);
	}
}

/* fault 59 */
TEST(bad_headers_end_the_reading)
{
	static const struct {
		const char *name;
		unsigned name_bytes;
		const char *magic;
		int result;
		const char *seen;
	} rows[] = {
		{ "good", 5, "", 0, "good" },
		{ "goodX", 4, "", -EBADMSG, "" }, /* no NUL */
		{ "", 0, "", 0, "" },		  /* the kernel passes over it */
		{ "good", 5, "070702", 0, "good" },
		{ "good", 5, "070707", -EBADMSG, "" },
		{ "good", 5, "07070100g", 0, "good" }, /* of a field that nobody reads */
		{ "good", 5, "07070100000001-00081a4", -EBADMSG, "" },
		/* A name of any bytes is handed on as it is. */
		{ "../../etc/passwd", 17, "", 0, "../../etc/passwd" },
		{ "a\nb\x1b[2J", 8, "", 0, "a\nb\x1b[2J" },
		{ "\xff\xfe", 3, "", 0, "\xff\xfe" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		char data[512];
		_cleanup_(seen_clear) Seen seen = { 0 };
		_cleanup_free_ char *names = NULL;
		bool whole = false;
		size_t n = entry(data, rows[i].name, rows[i].name_bytes, 0100644, "", 0);
		int r;

		memcpy(data, rows[i].magic, strlen(rows[i].magic));
		r = push_all(data, n, n, &seen, &names, &whole);
		if (r != rows[i].result || !str_equal(names, rows[i].seen))
			fail_msg("row %zu: %d, \"%s\"", i, r, names);
		assert_false(whole);
	}
}

/* fault 59 */
/* Lengths that no file has: nothing is allocated for them, nothing read past the end. */
TEST(lengths_are_not_believed)
{
	static const struct {
		unsigned name_bytes, body_bytes;
	} rows[] = {
		{ 0xffffffff, 0 },
		{ 2, 0xffffffff },
		{ CPIO_NAME_MAX + 1, 8 },
		{ 2, CPIO_CONTENT_MAX + 1 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		static char data[4 * CPIO_NAME_MAX];
		_cleanup_(seen_clear) Seen seen = { .entry_result = 1 };
		_cleanup_free_ char *names = NULL;
		bool whole = true;

		memset(data, 'n', sizeof(data));
		entry(data, NULL, rows[i].name_bytes, 0100644, NULL, rows[i].body_bytes);
		memcpy(data + CPIO_HEADER_BYTES, "a", 2);
		assert_int_equal(push_all(data, sizeof(data), 100, &seen, &names, &whole), 0);
		assert_false(whole);
		assert_null(seen.content);
	}
}
