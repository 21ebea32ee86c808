/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ids= with which vfio-pci and pci-stub take boards at boot, whoever uses them. */

#include "core/checks/checks.h"
#include "core/setup/driver-ids.h"
#include "core/setup/kernel-words.h"
#include "core/setup/modprobe.h"
#include "util/xalloc.h"

/* An ids= of 1,023 bytes has no more entries that name a device. */
#define ENTRIES_MAX 256
#define REMEDY                                                                                     \
	"take ids= out, renew the initramfs and reboot: gpupass binds assigned functions one by "  \
	"one"

static const struct IdsDriver {
	const char *module, *name;
} drivers[] = { { "vfio_pci", "vfio-pci" }, { "pci_stub", "pci-stub" } };

/* The ids= of one driver, and where it is. */
typedef struct Ids {
	const struct IdsDriver *driver;
	char *value; /* NULL: it has none */
	char *where;
} Ids;

LOCAL_CLEAR(Ids, ids_clear)
#include "ids.inc"

/* " (/etc/modprobe.d/vfio.conf)": the files that name the module. */
static char *places(const Examination *host, const char *module)
{
	_cleanup_strv_ char **paths = NULL;
	_cleanup_free_ char *joined = NULL;
	size_t n = strlen(module);

	for (char **line = host->modprobe_at; line && *line; line++)
		if (str_starts_with(*line, module) && (*line)[n] == ' ')
			strv_append(&paths, *line + n + 1);
	joined = strv_join(paths, ", ");
	return *joined ? strf(" (%s)", joined) : xstrdup("");
}

static Ids read_ids(const Examination *host, const struct IdsDriver *driver)
{
	bool builtin = strv_contains(host->builtin, driver->module);
	Ids ids = { .driver = driver };
	_cleanup_free_ char *at = NULL;
	const char *setting;

	ids.value = modprobe_value(builtin ? NULL : host->modprobe, host->cmdline, driver->module,
				   "ids", &setting);
	at = setting ? places(host, driver->module) : NULL;
	ids.where = at ? strf("in modprobe.d%s", at) : xstrdup("on the kernel command line");
	return ids;
}

static const char *side_function(const PciFunction *function)
{
	static const struct {
		uint32_t class_code;
		const char *name;
	} sides[] = { { 0x0403, "audio" }, { 0x0c03, "USB" }, { 0x0c80, "USB-C" } };

	for (size_t i = 0; i < ELEMENTS(sides); i++)
		if (function->class_code >> 8 == sides[i].class_code)
			return sides[i].name;
	return "side";
}

static void tell_entry(const Ids *ids, const PciFunction *function, const char *entry, size_t size,
		       bool lead, Finding *f)
{
	const char *driver = ids->driver->name;

	if (lead)
		finding_warn(f, BDF_TEXT(&function->bdf),
			     "ids= %s: %s takes every board that matches %.*s at boot, whoever "
			     "uses it",
			     ids->where, driver, (int)size, entry);
	else
		finding_warn(f, BDF_TEXT(&function->bdf),
			     "ids= %s: %s takes the %s function of every board that matches "
			     "%.*s at boot, whoever uses the board",
			     ids->where, driver, side_function(function), (int)size, entry);
}

/* Each entry is told once, and by the boards that it takes rather than by parts of boards. */
static void check_ids(const Checks *c, const Ids *ids, Finding *f)
{
	const char *told[ENTRIES_MAX];
	size_t n_told = 0, size = 0;

	for (int lead = 1; lead >= 0; lead--)
		EACH_OF (const PciFunction, function, c->functions, c->n_functions) {
			const Gpu *gpu = checks_gpu_of(c, &function->bdf);
			const char *entry;
			bool known = false;

			if ((!gpu || bdf_equal(&function->bdf, &gpu->lead->bdf)) != lead)
				continue;
			entry = driver_ids_find(ids->value, function, &size);
			known |= SOME_OF(told, n_told, it == entry);
			if (!entry || known || n_told == ENTRIES_MAX)
				continue;
			told[n_told++] = entry;
			tell_entry(ids, function, entry, size, lead, f);
		}
}

/*
 * systemd takes a whole line of these files for a module's name (apply_file(), modules-load.c);
 * kmod's init script gives the options to modprobe.
 */
static bool is_for_systemd(const Examination *host, const char *line)
{
	return host->systemd &&
	       (str_starts_with(line, "etc/modules:") || strstr(line, "/modules-load.d/"));
}

static bool takes_any(const Checks *c, const char *ids)
{
	size_t size;

	return SOME_OF(c->functions, c->n_functions, driver_ids_find(ids, it, &size));
}

/* "etc/modules:5: vfio_pci ids=…", of a list of modules. */
static Ids read_listed(const char *line)
{
	const char *text = strstr(line, ": ");
	_cleanup_strv_ char **words = NULL;
	Ids ids = { .driver = &drivers[text && str_starts_with(text, ": pci")] };

	if (!text)
		return ids;
	words = kernel_words_split(text + 2);
	ids.value = xstrdup(kernel_words_last(words, "ids"));
	ids.where = strf("in /%.*s", (int)(text - line), line);
	return ids;
}

static void check_listed(const Checks *c, const char *line, Finding *f)
{
	_cleanup_(ids_clear) Ids ids = read_listed(line);

	if (!ids.value)
		return;
	if (!is_for_systemd(c->facts->host, line))
		check_ids(c, &ids, f);
	else if (takes_any(c, ids.value))
		finding_warn(f, NULL,
			     "ids= %s: systemd loads no module from a line with options, so this "
			     "line does nothing; another init loads %s with it",
			     ids.where, ids.driver->name);
}

/* modprobe runs a command instead of loading vfio-pci. A known one sets driver_override itself. */
static void check_install(const Examination *host, Finding *f)
{
	const char *command = strv_contains(host->builtin, "vfio_pci")
				      ? NULL
				      : modprobe_runs(host->modprobe, "vfio_pci");
	_cleanup_free_ char *at = command ? places(host, "vfio_pci") : NULL;

	if (!command)
		return;
	finding_warn(f, NULL,
		     "install in modprobe.d%s: modprobe runs \"%s\" in place of loading vfio-pci, "
		     "and that may bind any board",
		     at, command);
	finding_remedy(f, "take the install line out: gpupass binds assigned functions one by one");
}

/*
 * vfio-pci may be loaded in the initramfs, whose modprobe.d is of the day when the image was made.
 * What the host's has, too, is told already.
 */
static void check_image(const Checks *c, const char *of_host, Finding *f)
{
	const Examination *host = c->facts->host;
	const Initramfs *image = host->image;
	_cleanup_(ids_clear) Ids ids = { .driver = &drivers[0] };
	const char *setting;

	if (!image || image->trouble || !image->path || !image->vfio_pci ||
	    strv_contains(host->builtin, "vfio_pci"))
		return;
	ids.value = modprobe_value(image->modprobe, host->cmdline, "vfio_pci", "ids", &setting);
	if (!setting || str_equal(ids.value, of_host))
		return;
	ids.where = strf("in modprobe.d of %s", image->path);
	check_ids(c, &ids, f);
	finding_remedy(f, "renew the initramfs, if modprobe.d has them no longer, and reboot");
}

/* Ids written to new_id have the same effect, but the kernel cannot report them. */
static void check_vfio_ids(const Checks *c, Finding *f)
{
	const Examination *host = c->facts->host;

	for (size_t i = 0; i < ELEMENTS(drivers); i++) {
		_cleanup_(ids_clear) Ids ids = read_ids(host, &drivers[i]);

		if (ids.value)
			check_ids(c, &ids, f);
		finding_remedy(f, REMEDY);
		if (i == 0)
			check_image(c, ids.value, f);
	}
	for (char **line = host->module_options; line && *line; line++)
		check_listed(c, *line, f);
	finding_remedy(f, REMEDY);
	check_install(host, f);
	checks_need_read(c, "cmdline", f);
	checks_need_read(c, "modprobe", f);
}

/* The ids= has pci-stub take the function. */
static void tell_stub(const Ids *ids, const PciFunction *function, char **ret)
{
	size_t size;

	if (*ret || ids->driver != &drivers[1] || !ids->value ||
	    !driver_ids_find(ids->value, function, &size))
		return;
	*ret = strf("pci-stub's ids=%s %s", ids->value, ids->where);
}

char *checks_find_stub(const Checks *c, const Bdf *bdf)
{
	const PciFunction *function = pci_snapshot_find(c->facts->snapshot, bdf);
	const Examination *host = c->facts->host;
	_cleanup_(ids_clear) Ids ids = { 0 };
	char *text = NULL;

	if (!host || !function)
		return NULL;
	ids = read_ids(host, &drivers[1]);
	tell_stub(&ids, function, &text);
	for (char **line = host->module_options; line && *line; line++) {
		_cleanup_(ids_clear) Ids listed = read_listed(*line);

		if (!is_for_systemd(host, *line))
			tell_stub(&listed, function, &text);
	}
	return text;
}

const Check checks_of_ids[] = {
	CHECK("vfio-ids", "Boards taken by vfio-pci ids=", NEEDS_HOST | NEEDS_GPUS, check_vfio_ids,
	      "no ids= on the kernel command line, in modprobe.d or in a list of modules takes "
	      "these boards",
	      SEE_TABLE, "the kernel command line and modprobe.d, read by the examiner"),
	{ 0 },
};
