/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/initramfs.h"

#include "core/facts/kept.h"
#include "core/pci/driver-name.h"
#include "core/setup/kernel-words.h"
#include "core/setup/modprobe.h"
#include "util/grow.h"
#include "util/text.h"

#define LIST_KEPT_MAX 256
#define MODULE_NAME_MAX 64 /* above the kernel's own limit */

/*
 * Which modules bind which functions of NVIDIA's boards, and of what is given with them: the usual
 * ones of NICs in hosts of GPUs. Several modules are "nvidia" under other names.
 */
static const struct Taker {
	uint32_t mask, class_code;
	const char *modules[10];
} takers[] = {
	{ 0xff0000, 0x030000, { "nvidia", "nouveau", "nova-core" } },
	{ 0xffff00, 0x040300, { "snd-hda-intel" } },
	{ 0xffffff, 0x0c0330, { "xhci-pci" } }, /* USB-C of Turing boards, and its controller */
	{ 0xffff00, 0x0c8000, { "i2c-nvidia-gpu" } },
	{ 0xff0000,
	  0x020000,
	  { "mlx5-core", "mlx4-core", "bnxt-en", "ena", "i40e", "ice", "igb", "ixgbe", "e1000e",
	    "tg3" } },
	{ 0xffffff, 0x010802, { "nvme" } },
};

/* A module of NVIDIA's driver. Not nvidiafb and the backlight module: those are the kernel's. */
static bool is_of_nvidia(const char *module)
{
	return strncmp(module, "nvidia", 6) == 0 && (module[6] == '\0' || module[6] == '-') &&
	       !str_starts_with(module, "nvidia-wmi");
}

/*
 * The driver itself, under NVIDIA's name or a distribution's ("nvidia-current",
 * "nvidia-tesla-470"). Not its other modules, which bind no function.
 */
static bool is_nvidia(const char *module)
{
	static const char *const others[] = { "drm", "modeset", "uvm", "peermem", "vgpu-vfio" };
	size_t n = strlen(module);

	if (!is_of_nvidia(module))
		return false;
	for (size_t i = 0; i < ELEMENTS(others); i++) {
		size_t size = strlen(others[i]);

		if (n > size && module[n - size - 1] == '-' &&
		    strcmp(module + n - size, others[i]) == 0)
			return false;
	}
	return true;
}

/* `module`, a file's name, is the module that a taker calls `name`. */
static bool is_module(const char *module, const char *name)
{
	return strcmp(name, "nvidia") == 0 ? is_nvidia(module) : strcmp(module, name) == 0;
}

static bool takes_anything(const char *module)
{
	for (size_t i = 0; i < ELEMENTS(takers); i++)
		for (size_t k = 0; k < ELEMENTS(takers[i].modules) && takers[i].modules[k]; k++)
			if (is_module(module, takers[i].modules[k]))
				return true;
	return false;
}

static void initramfs_keep(char ***list, const char *s)
{
	if (strv_length(*list) < LIST_KEPT_MAX && !strv_contains(*list, s))
		strv_append(list, s);
}

/* ---- names ---- */

/* Length of "nvidia-drm" in "nvidia_drm.ko.zst"; 0: not a module. */
static size_t module_size(const char *base)
{
	const char *end = strstr(base, ".ko");

	return end && (end[3] == '\0' || end[3] == '.') ? (size_t)(end - base) : 0;
}

/*
 * Dash and underscore are the same in names of modules: with dashes, as the table of takers has it.
 * false: no module has such a name.
 */
static bool spell_module(char ret[MODULE_NAME_MAX + 1], const char *name, size_t size)
{
	for (size_t i = 0; size <= MODULE_NAME_MAX && i < size; i++)
		ret[i] = name[i] == '_' ? '-' : name[i];
	ret[size <= MODULE_NAME_MAX ? size : 0] = '\0';
	return *ret != '\0';
}

/* Keeps only modules that bind what may be a function of a group. */
static void note_module(Initramfs *image, const char *base)
{
	char module[MODULE_NAME_MAX + 1] = "";

	if (!spell_module(module, base, module_size(base)))
		return;
	if (strcmp(module, VFIO_PCI) == 0)
		image->vfio_pci = true;
	if (takes_anything(module))
		initramfs_keep(&image->modules, module);
}

static void note_maker(Initramfs *image, const char *name, const char *base)
{
	if (image->maker)
		return;
	if (strcmp(base, "initramfs.conf") == 0 && strstr(name, "conf/"))
		image->maker = xstrdup("initramfs-tools");
	else if (strstr(name, "lib/dracut/"))
		image->maker = xstrdup("dracut");
}

#define IS_ASSIGNMENT(name) is_in(name, "gpupass/assignments.d/", ".json")
#define IS_KEPT(name) is_in(name, "gpupass/kept.d/", ".json")
#define IS_MODPROBE(name) is_in(name, "modprobe.d/", ".conf")
static bool is_in(const char *name, const char *folder, const char *suffix)
{
	return strstr(name, folder) && str_ends_with(name, suffix);
}

/* In the order of modprobe.d(5). The name is below the image's root, or has "./" or "/" before. */
static bool find_folder(const char *name, unsigned *ret)
{
	static const char *const folders[] = { "etc/modprobe.d/", "run/modprobe.d/",
					       "usr/local/lib/modprobe.d/", "usr/lib/modprobe.d/",
					       "lib/modprobe.d/" };
	size_t size = strlen(name) - strlen(str_base_name(name));

	for (unsigned i = 0; i < ELEMENTS(folders); i++) {
		size_t n = strlen(folders[i]);

		if (n > size || strncmp(name + size - n, folders[i], n) != 0)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

static InitramfsConf *find_conf(const Initramfs *image, const char *name, unsigned folder)
{
	return FIND(image->confs, image->n_confs,
		    it->folder == folder && strcmp(it->name, str_base_name(name)) == 0);
}

/* A link has no content, but keeps files of its name from being read. */
static void note_conf(Initramfs *image, const char *name, const char *text)
{
	InitramfsConf *conf;
	unsigned folder;

	if (!find_folder(name, &folder))
		return;
	conf = find_conf(image, name, folder);
	if (!conf && image->n_confs < LIST_KEPT_MAX) {
		conf = GROW(image->confs, image->n_confs);
		*conf = (InitramfsConf){ .name = xstrdup(str_base_name(name)), .folder = folder };
	}
	if (!conf)
		return;
	free(conf->text); /* the kernel, too, unpacks the later one over the former */
	conf->text = xstrdup(text);
}

static int compare_confs(const void *a, const void *b)
{
	const InitramfsConf *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : (x->folder > y->folder) - (x->folder < y->folder);
}

char *initramfs_modprobe_text(Initramfs *image)
{
	_cleanup_strv_ char **texts = NULL;

	if (image->n_confs > 0)
		qsort(image->confs, image->n_confs, sizeof(*image->confs), compare_confs);
	for (size_t i = 0; i < image->n_confs; i++) {
		const InitramfsConf *conf = &image->confs[i];

		if (i > 0 && strcmp(conf[-1].name, conf->name) == 0)
			continue;
		if (conf->text)
			strv_append(&texts, conf->text);
	}
	/* An empty line ends one that goes on where its file ends. */
	return strv_join(texts, "\n\n");
}

bool initramfs_note_name(Initramfs *image, const char *name)
{
	const char *base = str_base_name(name);

	if (str_ends_with(name, "gpupass/gpupass-bind"))
		image->bind = true;
	/* The udev rule, initramfs-tools' script, or dracut's hook: each of them suffices. */
	if (strcmp(base, "60-gpupass.rules") == 0 ||
	    str_ends_with(name, "scripts/init-top/gpupass") ||
	    (strstr(name, "/hooks/") && str_ends_with(base, "gpupass-bind.sh")))
		image->trigger = true;
	note_module(image, base);
	note_maker(image, name, base);
	if (IS_MODPROBE(name))
		note_conf(image, name, NULL);
	return IS_ASSIGNMENT(name) || IS_KEPT(name) || IS_MODPROBE(name) ||
	       strcmp(base, "modules.builtin") == 0;
}

/* ---- contents ---- */

/* gpupass-bind binds nothing from a copy that it cannot parse. */
static void note_assignment(Initramfs *image, const char *text, bool kept)
{
	_cleanup_(assignment_freep) Assignment *assignment = NULL;
	int r = kept ? kept_from_json(text, strlen(text), &assignment, NULL)
		     : assignment_from_json(text, strlen(text), &assignment, NULL);

	if (r < 0)
		return;
	for (size_t i = 0; i < assignment->n_functions; i++)
		initramfs_keep(&image->assigned, BDF_TEXT(&assignment->functions[i].bdf));
}

void initramfs_note_content(Initramfs *image, const char *name, const char *text)
{
	if (IS_ASSIGNMENT(name) || IS_KEPT(name))
		note_assignment(image, text, IS_KEPT(name));
	else if (IS_MODPROBE(name))
		note_conf(image, name, text);
	else if (strstr(text, "/vfio-pci.ko"))
		image->vfio_pci = true;
}

/* ---- who takes what ---- */

/* dracut writes the modules of this word into the image's modprobe.d; no other maker knows it. */
static bool dracut_blocks(const Initramfs *image, const char *module, char *const *cmdline)
{
	_cleanup_strv_ char **names = NULL;

	for (char *const *word = cmdline; word && *word && str_equal(image->maker, "dracut");
	     word++)
		strv_split(str_or_empty(kernel_word_value(*word, "rd.driver.blacklist")), ",",
			   &names);
	for (char **name = names; name && *name; name++)
		if (strlen(*name) == strlen(module) && kernel_word_begins(*name, module))
			return true;
	return false;
}

static bool is_blocked(const Initramfs *image, const char *module, char *const *cmdline)
{
	char name[MODULE_NAME_MAX + 1];
	size_t n = strnlen(module, MODULE_NAME_MAX);

	for (size_t i = 0; i < n; i++)
		name[i] = module[i] == '-' ? '_' : module[i];
	name[n] = '\0';
	return modprobe_blocks(image->modprobe, name) || kernel_words_block(cmdline, name) ||
	       dracut_blocks(image, module, cmdline);
}

static const char *find_module(const Initramfs *image, const char *name, char *const *cmdline)
{
	for (char **module = image->modules; module && *module; module++)
		if (is_module(*module, name) && !is_blocked(image, *module, cmdline))
			return *module;
	return NULL;
}

const char *initramfs_taker(const Initramfs *image, uint32_t class_code, char *const *cmdline)
{
	for (size_t i = 0; i < ELEMENTS(takers); i++) {
		if ((class_code & takers[i].mask) != takers[i].class_code)
			continue;
		for (size_t k = 0; k < ELEMENTS(takers[i].modules) && takers[i].modules[k]; k++) {
			const char *found = find_module(image, takers[i].modules[k], cmdline);

			if (found)
				return found;
		}
	}
	return NULL;
}

bool initramfs_loads_taker(const char *name, uint32_t class_code)
{
	char module[MODULE_NAME_MAX + 1] = "";
	const char *end;
	size_t n;

	name = str_base_name(name);
	end = strstr(name, ".ko");
	n = end ? (size_t)(end - name) : strcspn(name, "?");
	if (!spell_module(module, name, n))
		return false;
	EACH (const struct Taker, taker, takers, ELEMENTS(takers)) {
		if (class_code != 0 && (class_code & taker->mask) != taker->class_code)
			continue;
		for (size_t k = 0; k < ELEMENTS(taker->modules) && taker->modules[k]; k++)
			if (strcmp(taker->modules[k], module) == 0 ||
			    (strcmp(taker->modules[k], "nvidia") == 0 && is_of_nvidia(module)))
				return true;
	}
	return false;
}

/* ---- JSON ---- */

#include "initramfs.inc"
