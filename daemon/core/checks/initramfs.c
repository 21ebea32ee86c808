/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which driver in the initramfs takes assigned or kept GPUs, before gpupass-bind.service runs. The
 * content of the image decides. If the image could not be read, the settings of the tools that make
 * it decide.
 */
#include "core/checks/checks.h"
#include "core/facts/kept.h"

/* The most lines that are told of those not understood. */
#define UNKNOWN_TOLD_MAX 3

/* Why gpupass-bind will not get the function first; NULL: it will. */
static const char *what_lacks(const Initramfs *image, const Assignment *wish, const Bdf *bdf)
{
	if (!image->bind)
		return "gpupass-bind is not in it";
	if (!image->trigger)
		return "nothing in it runs gpupass-bind";
	if (!image->vfio_pci)
		return "vfio-pci is not in it";
	if (!strv_contains(image->assigned, BDF_TEXT(bdf)))
		return wish->kept == KEPT_NOT
			       ? "its copy of the assignments is old and lacks this function"
			       : "its copy of the kept groups is old and lacks this function";
	return NULL;
}

/* A unified kernel image, which is not only an initramfs. */
static bool is_unified(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && strcmp(path + n - 4, ".efi") == 0;
}

static void initramfs_remedy(const Checks *c, const Initramfs *image, Finding *f)
{
	if (str_equal(image->maker, "initramfs-tools") && c->facts->host->initramfs_hook)
		finding_remedy(f,
			       "update-initramfs -u -k %s; or keep the driver out: "
			       "gpupass-bind(8), INITRAMFS",
			       image->release);
	else if (str_equal(image->maker, "dracut") && is_unified(image->path))
		/* dracut --force with its path would leave an initramfs and no kernel in it. */
		finding_remedy(f,
			       "add_dracutmodules+=\" gpupass \" in "
			       "/etc/dracut.conf.d/gpupass.conf, then make %s again, the way it "
			       "was made (kernel-install add %s, or dracut --uefi)",
			       image->path, image->release);
	else if (str_equal(image->maker, "dracut"))
		finding_remedy(f,
			       "add_dracutmodules+=\" gpupass \" in "
			       "/etc/dracut.conf.d/gpupass.conf, then: dracut --force %s %s",
			       image->path, image->release);
	else
		finding_remedy(f,
			       "put gpupass's hook into %s, or keep the driver out: "
			       "gpupass-bind(8), INITRAMFS",
			       image->path);
}

/* The report is about this function. */
static bool is_concerned(const Checks *c, const Bdf *bdf)
{
	return !c->facts->domain || checks_have(c, bdf);
}

static void initramfs_check_function(const Checks *c, const Initramfs *image,
				     const Assignment *assignment, const Bdf *bdf, Finding *f)
{
	const PciFunction *function = pci_snapshot_find(c->facts->snapshot, bdf);
	const char *module, *lacks;

	/* Another check reports a function that is missing. */
	if (!function || !is_concerned(c, bdf))
		return;
	module = initramfs_taker(image, function->class_code, c->facts->host->cmdline);
	lacks = module ? what_lacks(image, assignment, bdf) : NULL;
	if (!lacks)
		return;
	finding_warn(f, BDF_TEXT(bdf), "%s has %s, which takes %s of %s at the next boot: %s",
		     image->path, module, BDF_TEXT(bdf), assignment->group_name, lacks);
	initramfs_remedy(c, image, f);
}

/* Functions that were assigned when the image was made, but no longer are. */
static void initramfs_check_copies(const Checks *c, const Initramfs *image, Finding *f)
{
	for (char **address = image->assigned; image->bind && address && *address; address++) {
		Bdf bdf;

		if (bdf_parse(*address, &bdf) < 0 || !is_concerned(c, &bdf) ||
		    !pci_snapshot_find(c->facts->snapshot, &bdf) ||
		    assignments_find_function(c->facts->assignments, &bdf) ||
		    kept_find_function(c->facts->assignments, &bdf))
			continue;
		finding_warn(f, *address,
			     "%s has an old copy of the assignments: the next boot puts %s on "
			     "vfio-pci, but it belongs to no domain and is not kept",
			     image->path, *address);
		initramfs_remedy(c, image, f);
	}
}

static void initramfs_check_wish(const Checks *c, const Initramfs *image, const Assignment *wish,
				 Finding *f)
{
	for (size_t i = 0; i < wish->n_functions; i++) {
		const Bdf *bdf = &wish->functions[i].bdf;

		if (wish->kept == KEPT_NOT ||
		    !assignments_find_function(c->facts->assignments, bdf))
			initramfs_check_function(c, image, wish, bdf, f);
	}
}

static void initramfs_check_image(const Checks *c, const Initramfs *image, Finding *f)
{
	const Assignments *all = c->facts->assignments;
	_cleanup_free_ char *modules = strv_join(image->modules, ", ");

	for (size_t i = 0; i < all->n_items; i++)
		initramfs_check_wish(c, image, all->items[i], f);
	for (size_t i = 0; i < all->n_kept; i++)
		initramfs_check_wish(c, image, all->kept[i], f);
	initramfs_check_copies(c, image, f);
	if (f->status != FINDING_SKIPPED)
		return;
	finding_pass(f, "%s has %s%s; %s", image->path,
		     *modules ? modules : "no driver of a GPU's function",
		     image->bind ? ", and gpupass-bind" : "",
		     all->n_items + all->n_kept > 0
			     ? "nothing in it takes what is assigned or kept before gpupass-bind"
			     : "nothing is assigned or kept");
}

/* The first assigned or kept function that loading `module` takes; NULL: none. */
static const Assignment *find_taken(const Checks *c, const char *module, const Bdf **ret)
{
	const Assignments *all = c->facts->assignments;

	for (size_t i = 0; i < all->n_items + all->n_kept; i++) {
		const Assignment *wish =
			i < all->n_items ? all->items[i] : all->kept[i - all->n_items];

		for (size_t k = 0; k < wish->n_functions; k++) {
			const Bdf *bdf = &wish->functions[k].bdf;
			const PciFunction *function = pci_snapshot_find(c->facts->snapshot, bdf);

			if (!function || !is_concerned(c, bdf) ||
			    !initramfs_loads_taker(module, function->class_code))
				continue;
			*ret = bdf;
			return wish;
		}
	}
	return NULL;
}

static void initramfs_check_setting(const Checks *c, const char *line, Finding *f)
{
	const char *module = strrchr(line, ' ');
	const Bdf *bdf = NULL;
	const Assignment *wish = module ? find_taken(c, module + 1, &bdf) : NULL;

	if (wish)
		finding_warn(f, BDF_TEXT(bdf),
			     "/%s: in the initramfs this driver takes %s of %s before gpupass-bind "
			     "runs",
			     line, BDF_TEXT(bdf), wish->group_name);
}

static void initramfs_check_settings(const Checks *c, Finding *f)
{
	const Examination *host = c->facts->host;
	_cleanup_free_ char *looked_at = strv_join(host->initramfs_at, ", ");
	size_t n_unknown = strv_length(host->modules_unknown);

	finding_unknown(f, NULL, "its image was not read: %s",
			host->image ? str_or_empty(host->image->trouble) : "it was not looked for");
	for (char **line = host->initramfs; line && *line; line++)
		initramfs_check_setting(c, *line, f);
	if (f->status == FINDING_WARN)
		finding_remedy(f, "take the driver out, or put gpupass's hook in; then rebuild the "
				  "initramfs: see gpupass-bind(8), INITRAMFS");
	for (size_t i = 0; i < n_unknown && i < UNKNOWN_TOLD_MAX; i++)
		finding_unknown(f, NULL, "/%s: gpupass does not understand this line",
				host->modules_unknown[i]);
	if (n_unknown > UNKNOWN_TOLD_MAX)
		finding_unknown(f, NULL, "%zu more lines are not understood",
				n_unknown - UNKNOWN_TOLD_MAX);
	if (!host->initramfs && !host->modules_unknown && *looked_at)
		finding_unknown(f, NULL, "no line of its settings names a driver of a GPU: %s",
				looked_at);
}

static void check_initramfs(const Checks *c, Finding *f)
{
	const Initramfs *image = c->facts->host->image;

	if (image && !image->trouble && image->path && image->release)
		initramfs_check_image(c, image, f);
	else
		initramfs_check_settings(c, f);
}

const Check checks_of_initramfs[] = {
	CHECK("initramfs", "GPU drivers in the initramfs", NEEDS_HOST | WANTS_ASSIGNMENTS,
	      check_initramfs, NULL, "after-a-reboot",
	      "files of the boot image, unpacked by gpupass-initramfs; assignments on disk"),
	{ 0 },
};
