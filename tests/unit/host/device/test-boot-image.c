/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which initramfs goes with the running kernel, on hosts as distributions make them. */
#include "rig/test.h"

#include "rig/initramfs-images.h"
#include "util/clock.h"

#define ARCH "6.12.4-arch1-1"
#define FEDORA "6.11.4-301.fc41.x86_64"
#define ID "0123456789abcdef0123456789abcdef"
#define PKGBASE "usr/lib/modules/" ARCH "/pkgbase"
#define EFIVAR "sys/firmware/efi/efivars/LoaderEntrySelected-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

static void put_u32(Bytes *b, size_t at, uint32_t value)
{
	memcpy(b->data + at, &value,
	       sizeof(value)); /* little-endian, as all that gpupass runs on */
}

/* As ukify makes them: the true size in the table, and padding behind each section. */
static void add_section(Bytes *b, size_t n, const char *name, const char *data, size_t size)
{
	size_t row = 64 + 24 + 40 * n, at = (b->size + 511) / 512 * 512;

	add_zeros(b, at - b->size);
	add_bytes(b, data, size);
	add_zeros(b, (512 - size % 512) % 512);
	strncpy(b->data + row, name, 8);
	put_u32(b, row + 8, (uint32_t)size);
	put_u32(b, row + 16, (uint32_t)((size + 511) / 512 * 512));
	put_u32(b, row + 20, (uint32_t)at);
	b->data[64 + 6] = (char)(n + 1);
}

static void make_uki(Bytes *b, const char *uname, const char *initrd, size_t size)
{
	size_t n = 0;

	add_zeros(b, 512);
	memcpy(b->data, "MZ", 2);
	put_u32(b, 0x3c, 64);
	memcpy(b->data + 64, "PE\0\0", 4);
	add_section(b, n++, ".linux", "MZ kernel", 9);
	if (uname)
		add_section(b, n++, ".uname", uname, strlen(uname));
	if (initrd)
		add_section(b, n++, ".initrd", initrd, size);
	add_section(b, n++, ".cmdline", "quiet", 5);
}

/* "UKI uname initrd", "EFI name" and plain texts. */
static void put(const TempDir *dir, const char *path, const char *what)
{
	_cleanup_strv_ char **words = NULL;
	Bytes b = { 0 };

	strv_split(what, " ", &words);
	if (str_starts_with(what, "UKI ")) {
		make_uki(&b, strcmp(words[1], "-") == 0 ? NULL : words[1], words[2],
			 words[2] ? strlen(words[2]) : 0);
		temp_dir_write_bytes(dir, path, b.data, b.size);
	} else if (str_starts_with(what, "EFI ")) {
		add_bytes(&b, "\6\0\0\0", 4);
		for (const char *c = words[1]; c == words[1] || c[-1]; c++)
			add_bytes(&b, (char[]){ *c, 0 }, 2);
		temp_dir_write_bytes(dir, path, b.data, b.size);
	} else {
		temp_dir_write(dir, path, what);
	}
	bytes_done(&b);
}

static const struct Row {
	const char *what, *release, *cmdline;
	const char *files[16]; /* path, content */
	const char *found;     /* the files, or what is said */
} rows[] = {
	/* field: host/10, d */
	ROW("Arch by pkgbase", ARCH, NULL,
	    { PKGBASE, "linux\n", "boot/initramfs-linux.img", "a", "boot/initramfs-linux-lts.img",
	      "b", "boot/initramfs-linux-fallback.img", "c" },
	    "/boot/initramfs-linux.img"),
	/* field: host/10, d */
	ROW("Fedora by kernel-install, without an entry", FEDORA, NULL,
	    { "boot/" ID "/" FEDORA "/initrd", "a", "boot/" ID "/6.10.1/initrd", "b" },
	    "/boot/" ID "/" FEDORA "/initrd"),
	ROW("Fedora by its entry", FEDORA, NULL,
	    { "boot/loader/entries/" ID "-" FEDORA ".conf",
	      "title Fedora\nversion " FEDORA "\nlinux /" ID "/" FEDORA "/linux\n"
	      "initrd /" ID "/" FEDORA "/initrd\n",
	      "boot/loader/entries/" ID "-0-rescue.conf",
	      "version 0-rescue\nlinux /vmlinuz-0-rescue\ninitrd /initramfs-0-rescue.img\n",
	      "boot/initramfs-0-rescue.img", "r", "boot/" ID "/" FEDORA "/initrd", "a" },
	    "/boot/" ID "/" FEDORA "/initrd"),
	ROW("Fedora with GRUB, whose variable stays out", FEDORA,
	    "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-" FEDORA " root=/dev/x ro\n",
	    { "boot/loader/entries/a.conf",
	      "version " FEDORA "\nlinux /vmlinuz-" FEDORA "\ninitrd /initramfs-" FEDORA
	      ".img $tuned_initrd\n",
	      "boot/vmlinuz-" FEDORA, "k", "boot/initramfs-" FEDORA ".img", "a",
	      "efi/EFI/Linux/" ID "-" FEDORA ".efi", "UKI " FEDORA " other" },
	    "/boot/initramfs-" FEDORA ".img"),
	ROW("Silverblue: the deployment that was booted", FEDORA,
	    "BOOT_IMAGE=(hd0,gpt2)/ostree/f-2/vmlinuz-" FEDORA,
	    { "boot/loader/entries/ostree-1.conf",
	      "version 1\nlinux /ostree/f-1/vmlinuz-" FEDORA "\ninitrd /ostree/f-1/initramfs.img\n",
	      "boot/loader/entries/ostree-2.conf",
	      "version 2\nlinux /ostree/f-2/vmlinuz-" FEDORA "\ninitrd /ostree/f-2/initramfs.img\n",
	      "boot/ostree/f-1/initramfs.img", "a", "boot/ostree/f-2/initramfs.img", "b",
	      "boot/ostree/f-2/vmlinuz-" FEDORA, "k" },
	    "/boot/ostree/f-2/initramfs.img"),
	ROW("Arch by an entry by hand, microcode aside", ARCH, NULL,
	    { PKGBASE, "linux\n", "efi/loader/entries/arch.conf",
	      "# by hand\ntitle\tArch\nlinux\t/vmlinuz-linux\ninitrd\t/amd-ucode.img\n"
	      "initrd\t/initramfs-linux.img\noptions root=x initrd /no\n",
	      "efi/amd-ucode.img", "u", "efi/initramfs-linux.img", "a" },
	    "/efi/initramfs-linux.img"),
	ROW("an entry with two", ARCH, NULL,
	    { PKGBASE, "linux\n", "boot/efi/loader/entries/arch.conf",
	      "linux /vmlinuz-linux\ninitrd /one.img /two.img\n", "boot/efi/one.img", "1",
	      "boot/efi/two.img", "2" },
	    "/boot/efi/one.img /boot/efi/two.img"),
	ROW("initrd= decides between entries", "6.6.53",
	    "initrd=\\EFI\\nixos\\b-initrd.efi init=/nix/store/x -- initrd=/c",
	    { "boot/loader/entries/nixos-generation-1.conf",
	      "linux /EFI/nixos/k.efi\ninitrd /EFI/nixos/a-initrd.efi\n",
	      "boot/EFI/nixos/a-initrd.efi", "a", "boot/EFI/nixos/b-initrd.efi", "b" },
	    "/boot/EFI/nixos/b-initrd.efi"),
	ROW("initrd= of a partition that is not mounted", RELEASE,
	    "initrd=\\EFI\\proxmox\\" RELEASE "\\initrd.img-" RELEASE, { IMAGE, "a" }, "/" IMAGE),
	ROW("a unified image by its release", FEDORA, NULL,
	    { "boot/efi/EFI/Linux/a.efi", "UKI 6.10.1 old", "boot/efi/EFI/Linux/b.efi",
	      "UKI " FEDORA " new" },
	    "/boot/efi/EFI/Linux/b.efi"),
	ROW("unified images by their names", ARCH, NULL,
	    { PKGBASE, "linux\n", "efi/EFI/Linux/arch-linux.efi", "UKI - a",
	      "efi/EFI/Linux/arch-linux-fallback.efi", "UKI - b",
	      "efi/EFI/Linux/arch-linux-lts.efi", "UKI - c" },
	    "/efi/EFI/Linux/arch-linux.efi"),
	ROW("dracut's and kernel-install's names", "6.1.2", NULL,
	    { "efi/EFI/Linux/linux-6.1.2-" ID ".efi", "UKI - a",
	      "efi/EFI/Linux/" ID "-6.1.2+3-1.efi", "UKI - a",
	      "efi/EFI/Linux/linux-6.1.2-1-" ID ".efi", "UKI - other",
	      "efi/EFI/Linux/" ID "-16.1.2.efi", "UKI - other" },
	    "/efi/EFI/Linux/" ID "-6.1.2+3-1.efi"),
	ROW("the same bytes twice", ARCH, NULL,
	    { PKGBASE, "linux\n", "boot/initramfs-linux.img", "same",
	      "efi/EFI/Linux/arch-linux.efi", "UKI - same" },
	    "/boot/initramfs-linux.img"),
	ROW("two that differ", ARCH, NULL,
	    { PKGBASE, "linux\n", "boot/initramfs-linux.img", "one", "efi/EFI/Linux/arch-linux.efi",
	      "UKI - two" },
	    "which one boots is not known: /boot/initramfs-linux.img and "
	    "/efi/EFI/Linux/arch-linux.efi differ"),
	ROW("two that differ, and GRUB's word", ARCH, "BOOT_IMAGE=/boot/vmlinuz-linux",
	    { PKGBASE, "linux\n", "boot/initramfs-linux.img", "one", "efi/EFI/Linux/arch-linux.efi",
	      "UKI - two" },
	    "/boot/initramfs-linux.img"),
	ROW("two that differ, and systemd-boot's word", ARCH, "quiet",
	    { PKGBASE, "linux\n", "boot/initramfs-linux.img", "one",
	      "efi/EFI/Linux/arch-linux+2-1.efi", "UKI - two", EFIVAR, "EFI arch-linux.efi" },
	    "/efi/EFI/Linux/arch-linux+2-1.efi"),
	ROW("the entry that was selected", ARCH, NULL,
	    { PKGBASE, "linux\n", "boot/loader/entries/a.conf",
	      "linux /vmlinuz-linux\ninitrd /a.img\n", "boot/loader/entries/b.conf",
	      "linux /vmlinuz-linux\ninitrd /b.img\n", "boot/a.img", "a", "boot/b.img", "b", EFIVAR,
	      "EFI b.conf" },
	    "/boot/b.img"),
	ROW("two plain ones that differ", RELEASE, NULL,
	    { IMAGE, "a", "boot/initramfs-" RELEASE ".img", "b" }, "which one boots is not known"),
	ROW("Alpine by what syslinux has booted", "6.6.58-0-lts", "BOOT_IMAGE=vmlinuz-lts quiet",
	    { "boot/initramfs-lts", "a" }, "/boot/initramfs-lts"),
	ROW("Alpine with a path", "6.6.58-0-lts", "BOOT_IMAGE=/boot/vmlinuz-lts quiet",
	    { "boot/initramfs-lts", "a" }, "/boot/initramfs-lts"),
	ROW("an entry whose image is gone", FEDORA, NULL,
	    { "boot/loader/entries/a.conf", "version " FEDORA "\ninitrd /gone.img\n" },
	    "there is none of kernel " FEDORA),
	ROW("nothing to lead outside", RELEASE, "initrd=x initrd=",
	    { "usr/lib/modules/" RELEASE "/pkgbase", "../x\n", EFIVAR, "EFI ../../x", "x", "a" },
	    "there is none"),
};

TEST(each_host_tells_its_image)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const struct Row *row = &rows[i];
		_cleanup_free_ char *trouble = NULL, *joined = NULL;
		_cleanup_strv_ char **paths = NULL;
		void *made = NULL;
		TempDir *dir;

		temp_dir_setup(&made);
		dir = made;
		for (size_t k = 0; row->files[k]; k += 2)
			put(dir, row->files[k], row->files[k + 1]);
		boot_image_find(dir->fd, &(BootedKernel){ row->release, row->cmdline },
				now_monotonic() + 10 * USEC_PER_SEC, &paths, &trouble);
		joined = paths ? strv_join(paths, " ") : NULL;
		if (paths ? !str_equal(joined, row->found) : !strstr(trouble, row->found))
			fail_msg("%s: %s", row->what, paths ? joined : trouble);
		temp_dir_teardown(&made);
	}
}

/* What is behind the section belongs to another. */
WITH_DIR(the_initramfs_of_a_unified_image_is_read)
{
	static const AddFilter adds[] = { archive_write_add_filter_none,
					  archive_write_add_filter_gzip,
					  archive_write_add_filter_zstd,
					  archive_write_add_filter_xz };

	for (size_t i = 0; i < ELEMENTS(adds); i++) {
		_cleanup_(initramfs_freep) Initramfs *image = NULL, *empty = NULL, *other = NULL;
		Bytes initrd = { 0 }, uki = { 0 }, without = { 0 };

		assert_true(add_segment(&initrd, archive_write_add_filter_none, microcode));
		assert_true(add_segment(&initrd, adds[i], with_drivers));
		make_uki(&uki, RELEASE, initrd.data, initrd.size);
		temp_dir_write_bytes(dir, "efi/EFI/Linux/a.efi", uki.data, uki.size);
		image = read_image(dir);
		if (image->trouble)
			fail_msg("%zu: %s", i, image->trouble);
		assert_string_equal(image->path, "/efi/EFI/Linux/a.efi");
		assert_true(strv_contains(image->modules, "nvidia-current"));
		/* Cut off inside the section */
		uki.size = 2048;
		temp_dir_write_bytes(dir, "efi/EFI/Linux/a.efi", uki.data, uki.size);
		other = read_image(dir);
		assert_non_null(strstr(other->trouble, "it has no initramfs"));
		make_uki(&without, RELEASE, NULL, 0);
		temp_dir_write_bytes(dir, "efi/EFI/Linux/a.efi", without.data, without.size);
		empty = read_image(dir);
		assert_non_null(strstr(empty->trouble, "it has no initramfs"));
		bytes_done(&initrd);
		bytes_done(&uki);
		bytes_done(&without);
	}
}

WITH_DIR(all_files_of_an_entry_are_read)
{
	_cleanup_(initramfs_freep) Initramfs *image = NULL, *again = NULL;
	static const InitramfsLimits limits = INITRAMFS_LIMITS_DEFAULT;
	Bytes drivers = { 0 }, gpupass = { 0 };

	assert_true(add_segment(&drivers, archive_write_add_filter_gzip, with_drivers));
	assert_true(add_segment(&gpupass, archive_write_add_filter_gzip, with_gpupass));
	temp_dir_write(dir, "boot/loader/entries/a.conf",
		       "version " RELEASE "\ninitrd /a.img\ninitrd /b.img\n");
	temp_dir_write_bytes(dir, "boot/a.img", drivers.data, drivers.size);
	temp_dir_write_bytes(dir, "boot/b.img", gpupass.data, gpupass.size);
	image = read_image(dir);
	assert_null(image->trouble);
	assert_true(image->bind && strv_contains(image->modules, "nouveau"));
	again = read_with(dir, image->key, &limits);
	assert_true(again->unchanged);
	bytes_done(&drivers);
	bytes_done(&gpupass);
}
