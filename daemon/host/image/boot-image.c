/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/image/boot-image.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/setup/boot-entries.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define IMAGES_MAX 16
#define NAMES_MAX 256 /* of one directory that are looked at */
#define ENTRY_MAX_BYTES 16384
#define UNAME_MAX_BYTES 128
#define BLOCK_BYTES (256U * 1024)
#define SELECTED "sys/firmware/efi/efivars/LoaderEntrySelected-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

/* Where boot loaders read: UAPI.1 has the EFI system partition and XBOOTLDR at these. */
static const char *const roots[] = { "/boot", "/efi", "/boot/efi" };

typedef struct Finder {
	int root_fd;
	const char *release;
	char *pkgbase;		   /* NULL: none */
	BootEntry booted;	   /* by the command line */
	char **images[IMAGES_MAX]; /* the files of each */
	size_t n_images;
} Finder;

static void finder_clear(Finder *f)
{
	for (size_t i = 0; i < f->n_images; i++)
		strv_free(f->images[i]);
	boot_entry_clear(&f->booted);
	free(f->pkgbase);
}

/* ---- files ---- */

/* O_NONBLOCK, so that opening a FIFO does not wait. */
int boot_file_open(int root_fd, const char *path, BootFile *ret)
{
	_cleanup_close_ int fd =
		openat(root_fd, path + 1, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	unsigned char head[4096];
	BootSection section;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EISDIR;
	*ret = (BootFile){ .end = (uint64_t)st.st_size };
	n = pread(fd, head, sizeof(head), 0);
	if (n > 1 && memcmp(head, "MZ", 2) == 0) {
		if (!boot_section_find(head, (size_t)n, ret->end, ".initrd", &section))
			return -ENODATA;
		ret->begin = section.offset;
		ret->end = section.offset + section.size;
	}
	ret->fd = TAKE_FD(fd);
	return 0;
}

static bool same_bytes(const BootFile *a, const BootFile *b, uint64_t deadline_usec)
{
	_cleanup_free_ char *x = xmalloc(BLOCK_BYTES), *y = xmalloc(BLOCK_BYTES);
	uint64_t left = a->end - a->begin;

	if (left != b->end - b->begin)
		return false;
	for (uint64_t at = 0; at < left; at += BLOCK_BYTES) {
		size_t n = left - at < BLOCK_BYTES ? (size_t)(left - at) : BLOCK_BYTES;

		if (now_monotonic() > deadline_usec ||
		    pread(a->fd, x, n, (off_t)(a->begin + at)) != (ssize_t)n ||
		    pread(b->fd, y, n, (off_t)(b->begin + at)) != (ssize_t)n ||
		    memcmp(x, y, n) != 0)
			return false;
	}
	return true;
}

static bool same_files(const Finder *f, char *const *a, char *const *b, uint64_t deadline_usec)
{
	bool same = strv_length(a) == strv_length(b);

	for (size_t i = 0; same && a[i]; i++) {
		BootFile x = { .fd = -1 }, y = { .fd = -1 };

		same = str_equal(a[i], b[i]) || (boot_file_open(f->root_fd, a[i], &x) >= 0 &&
						 boot_file_open(f->root_fd, b[i], &y) >= 0 &&
						 same_bytes(&x, &y, deadline_usec));
		close_fd(x.fd);
		close_fd(y.fd);
	}
	return same;
}

static bool exists(const Finder *f, const char *path)
{
	return faccessat(f->root_fd, path + 1, F_OK, 0) == 0;
}

/* ---- images ---- */

/* Takes the list. */
static void add_image(Finder *f, char **files)
{
	if (!files || f->n_images == IMAGES_MAX)
		strv_free(files);
	else
		f->images[f->n_images++] = files;
}

static void add_file(Finder *f, const char *path)
{
	char **files = NULL;

	if (exists(f, path))
		strv_append(&files, path);
	add_image(f, files);
}

/*
 * Files as a boot loader sees them on the partition that is mounted at `root`, or on the one that
 * has /boot as a folder. All of them must be there.
 */
static void add_seen(Finder *f, const char *root, char *const *paths)
{
	_cleanup_strv_ char **files = NULL;

	for (; paths && *paths; paths++) {
		_cleanup_free_ char *path = strf("%s%s", root, *paths);

		if (exists(f, path))
			strv_append(&files, path);
		else if (str_starts_with(*paths, root) && exists(f, *paths))
			strv_append(&files, *paths);
		else
			return;
	}
	add_image(f, TAKE_PTR(files));
}

/* ---- boot entries and unified kernel images ---- */

/* `file` may say behind a '+' how often it is to be tried: "arch+3-1.conf". */
static bool is_selected(const char *file, const char *id)
{
	size_t n = strcspn(file, "+"), size = strlen(id);
	const char *dot = strrchr(id, '.');

	if (strcmp(file, id) == 0)
		return true;
	return dot && file[n] == '+' && (size_t)(dot - id) == n && size > n &&
	       strncmp(file, id, n) == 0;
}

typedef void (*Look)(Finder *f, const char *root, const char *directory, const char *name,
		     const char *selected);

static void look_into(Finder *f, const char *root, const char *below, const char *suffix, Look look,
		      const char *selected)
{
	_cleanup_free_ char *directory = strf("%s%s", root, below);
	_cleanup_strv_ char **names = NULL;

	(void)dir_list_at(f->root_fd, directory + 1, suffix, &names);
	for (size_t i = 0; names && names[i] && i < NAMES_MAX; i++)
		look(f, root, directory, names[i], selected);
}

static void look_at_entry(Finder *f, const char *root, const char *directory, const char *name,
			  const char *selected)
{
	_cleanup_(boot_entry_clear) BootEntry entry = { 0 };
	_cleanup_free_ char *path = strf("%s/%s", directory + 1, name), *text = NULL;

	if ((selected && !is_selected(name, selected)) ||
	    file_read_regular_at(f->root_fd, path, ENTRY_MAX_BYTES, &text, NULL) < 0)
		return;
	entry = boot_entry_parse(text);
	if (!selected && !boot_entry_is_of(&entry, f->release, f->pkgbase))
		return;
	if (entry.uki && !entry.kernel)
		add_seen(f, root, (char *[]){ entry.uki, NULL });
	else
		add_seen(f, root, entry.initrds);
}

/* .uname has the release; the name must do for an image without it. */
static bool uki_is_of(const Finder *f, const char *path, const char *name)
{
	_cleanup_close_ int fd = openat(f->root_fd, path + 1, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char uname[UNAME_MAX_BYTES + 1] = "";
	unsigned char head[4096];
	BootSection section;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0 || !boot_section_find(head, (size_t)n, (uint64_t)st.st_size, ".uname", &section))
		return boot_name_is_of(name, f->release) ||
		       (f->pkgbase && boot_name_is_of(name, f->pkgbase));
	if (section.size > UNAME_MAX_BYTES ||
	    pread(fd, uname, section.size, (off_t)section.offset) != (ssize_t)section.size)
		return false;
	return strcmp(str_strip(uname), f->release) == 0;
}

/* mkinitcpio's second image has drivers for any host, and is booted by hand. */
static void look_at_uki(Finder *f, _unused_ const char *root, const char *directory,
			const char *name, const char *selected)
{
	_cleanup_free_ char *path = strf("%s/%s", directory, name);

	if (selected ? is_selected(name, selected)
		     : !strstr(name, "-fallback.efi") && uki_is_of(f, path, name))
		add_file(f, path);
}

static void look_at_entries(Finder *f, const char *selected)
{
	for (size_t i = 0; i < ELEMENTS(roots); i++) {
		look_into(f, roots[i], "/loader/entries", ".conf", look_at_entry, selected);
		/* GRUB boots a kernel, and says which. */
		if (selected || !f->booted.kernel)
			look_into(f, roots[i], "/EFI/Linux", ".efi", look_at_uki, selected);
	}
}

/* ---- names ---- */

/* kernel-install's /boot/TOKEN/RELEASE/initrd, where no entry names it. */
static void look_at_token(Finder *f, _unused_ const char *root, const char *directory,
			  const char *name, _unused_ const char *selected)
{
	_cleanup_free_ char *own = strf("%s/%s/%s/initrd", directory, name, f->release);
	_cleanup_free_ char *debian = strf("%s.img-%s", own, f->release);

	add_file(f, own);
	add_file(f, debian);
}

static void look_at_name(Finder *f, const char *kernel)
{
	static const char *const names[][2] = {
		{ "/boot/initrd.img-", "" },
		{ "/boot/initramfs-", ".img" },
		{ "/boot/initrd-", "" },
		{ "/boot/initramfs-", "" }, /* Alpine's */
	};

	for (size_t i = 0; kernel && *kernel && i < ELEMENTS(names); i++) {
		_cleanup_free_ char *path = strf("%s%s%s", names[i][0], kernel, names[i][1]);

		add_file(f, path);
	}
}

/* "linux-zen" of "/boot/vmlinuz-linux-zen", which GRUB or syslinux has booted; NULL: none has. */
static const char *booted_name(const Finder *f)
{
	const char *base = str_base_name(str_or_empty(f->booted.kernel));

	return str_starts_with(base, "vmlinuz-") ? base + strlen("vmlinuz-") : NULL;
}

static void look_everywhere(Finder *f)
{
	const char *booted = booted_name(f);

	look_at_name(f, f->release);
	look_at_name(f, f->pkgbase);
	if (!str_equal(booted, f->release) && !str_equal(booted, f->pkgbase))
		look_at_name(f, booted);
	look_at_entries(f, NULL);
	for (size_t i = 0; f->n_images == 0 && i < ELEMENTS(roots); i++)
		look_into(f, roots[i], "", "", look_at_token, NULL);
}

/* ---- which ---- */

/* Returns what the boot loader selected; NULL: not known. */
static char *read_hints(Finder *f, const BootedKernel *kernel)
{
	_cleanup_free_ char *path = strf("usr/lib/modules/%s/pkgbase", f->release), *bytes = NULL;
	char *selected = NULL;
	size_t size = 0;

	if (file_read_line_at(f->root_fd, path, &f->pkgbase) >= 0 && strchr(f->pkgbase, '/'))
		f->pkgbase[0] = '\0';
	if (kernel->cmdline)
		f->booted = boot_cmdline_parse(kernel->cmdline);
	if (file_read_at(f->root_fd, SELECTED, ENTRY_MAX_BYTES, &bytes, &size) >= 0)
		selected = boot_selected_parse((unsigned char *)bytes, size);
	return selected;
}

/* The boot loader's own word goes first: initrd=, then which entry it took. */
static void look(Finder *f, const BootedKernel *kernel)
{
	_cleanup_free_ char *selected = read_hints(f, kernel);

	for (size_t i = 0; f->booted.initrds && i < ELEMENTS(roots); i++)
		add_seen(f, roots[i], f->booted.initrds);
	if (f->n_images == 0 && selected)
		look_at_entries(f, selected);
	if (f->n_images == 0)
		look_everywhere(f);
}

/* The image lies beside the kernel that GRUB has booted. */
static bool beside_kernel(const Finder *f, char *const *image)
{
	const char *kernel = f->booted.kernel, *slash = strrchr(image[0], '/');

	for (size_t i = 0; kernel && i <= ELEMENTS(roots); i++) {
		_cleanup_free_ char *path =
			strf("%s%s", i < ELEMENTS(roots) ? roots[i] : "", kernel);
		const char *end = strrchr(path, '/');

		if (end && end - path == slash - image[0] &&
		    strncmp(path, image[0], (size_t)(end - path)) == 0 && exists(f, path))
			return true;
	}
	return false;
}

/* Leaves out the others, if there is such an image. */
static void prefer_beside_kernel(Finder *f)
{
	size_t n = COUNT(f->images, f->n_images, beside_kernel(f, *it));

	if (n == 0)
		return;
	n = f->n_images;
	f->n_images = 0;
	for (size_t i = 0; i < n; i++)
		if (beside_kernel(f, f->images[i]))
			f->images[f->n_images++] = f->images[i];
		else
			strv_free(f->images[i]);
}

void boot_image_find(int root_fd, const BootedKernel *kernel, uint64_t deadline_usec, char ***ret,
		     char **ret_trouble)
{
	_cleanup_(finder_clear) Finder f = { .root_fd = root_fd, .release = kernel->release };
	char **other = NULL;

	look(&f, kernel);
	prefer_beside_kernel(&f);
	for (size_t i = 1; !other && i < f.n_images; i++)
		if (!same_files(&f, f.images[i], f.images[0], deadline_usec))
			other = f.images[i];
	*ret = NULL;
	if (f.n_images == 0)
		*ret_trouble =
			strf("there is none of kernel %s in /boot, /efi or /boot/efi, by its "
			     "name, a boot entry or a unified kernel image",
			     kernel->release);
	else if (other)
		*ret_trouble = strf("which one boots is not known: %s and %s differ",
				    f.images[0][0], other[0]);
	else
		*ret = TAKE_PTR(f.images[0]);
}
