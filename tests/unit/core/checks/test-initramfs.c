/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's check of the initramfs: which driver gets assigned GPUs before gpupass-bind.service. */
#include "rig/test.h"

#include "checks-rig.h"
#include "core/facts/kept.h"

#define GPU2 "0000:61:00.0"
#define AUDIO2 "0000:61:00.1"
#define HOOK "update-initramfs -u -k 6.1"

static Initramfs *image_of(Rig *r)
{
	return r->host->image;
}

static void has_nvidia(Rig *r)
{
	assign_pair0(r);
	add(&image_of(r)->modules, "nvidia-current");
	r->host->initramfs_hook = true;
}

static void has_gpupass(Rig *r)
{
	static const char *const functions[] = { GPU, AUDIO, GPU2, AUDIO2 };
	Initramfs *image = image_of(r);

	has_nvidia(r);
	image->bind = image->trigger = image->vfio_pci = true;
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		add(&image->assigned, functions[i]);
}

static void without_hook(Rig *r)
{
	has_nvidia(r);
	r->host->initramfs_hook = false;
}

static void by_dracut(Rig *r)
{
	has_nvidia(r);
	set(&image_of(r)->maker, "dracut");
	set(&image_of(r)->path, "/boot/initramfs-6.1.img");
}

static void by_dracut_unified(Rig *r)
{
	by_dracut(r);
	set(&image_of(r)->path, "/efi/EFI/Linux/linux-6.1.efi");
}

static void by_nobody_known(Rig *r)
{
	has_nvidia(r);
	set(&image_of(r)->maker, NULL);
}

static void has_nouveau(Rig *r)
{
	assign_pair0(r);
	add(&image_of(r)->modules, "nouveau");
}

static void has_audio(Rig *r)
{
	assign_pair0(r);
	add(&image_of(r)->modules, "snd-hda-intel");
}

static void nothing_runs_it(Rig *r)
{
	has_gpupass(r);
	image_of(r)->trigger = false;
}

static void without_vfio(Rig *r)
{
	has_gpupass(r);
	image_of(r)->vfio_pci = false;
}

static void old_copy(Rig *r)
{
	has_gpupass(r);
	image_of(r)->assigned = strv_free(image_of(r)->assigned);
	add(&image_of(r)->assigned, GPU);
	add(&image_of(r)->assigned, AUDIO);
	add(&image_of(r)->assigned, AUDIO2);
}

static void copy_of_what_is_free(Rig *r)
{
	has_gpupass(r);
	add(&image_of(r)->assigned, "0000:a1:00.0");
}

/* 0000:a1:00.0, which is nobody's, by this function of it. */
static void keep_what_is_free(Rig *r)
{
	Assignment *kept = xcalloc(1, sizeof(*kept));
	Bdf bdf = bdf_of("0000:a1:00.0");

	kept->group_name = strdup("solo0");
	kept->kept = KEPT_ASKED;
	kept->functions = xcalloc(1, sizeof(AssignedFunction));
	kept->functions[kept->n_functions++].bdf = bdf;
	kept_add(r->m.host.assignments, kept);
}

static void old_copy_without_a_kept_function(Rig *r)
{
	has_gpupass(r);
	keep_what_is_free(r);
}

static void unread(Rig *r)
{
	set(&image_of(r)->trouble, "/boot/initrd.img-6.1 is cut off");
}

static void settings_ask_for_it(Rig *r)
{
	unread(r);
	assign_pair0(r);
	add(&r->host->initramfs, "etc/initramfs-tools/modules:3: nvidia");
}

static void settings_ask_for_audio(Rig *r)
{
	unread(r);
	assign_pair0(r);
	add(&r->host->initramfs, "etc/mkinitcpio.conf:7: MODULES: snd_hda_intel");
}

#define FOUND "initramfs", "initramfs", "warn"

static const Case cases[] = {
	{ "nvidia", has_nvidia, FOUND,
	  "/boot/initrd.img-6.1 has nvidia-current, which takes " GPU2 " of pair0", HOOK },
	{ "nvidia, and no hook", without_hook, FOUND, "gpupass-bind is not in it",
	  "gpupass's hook" },
	{ "nvidia, by dracut", by_dracut, FOUND, "gpupass-bind is not in it",
	  "dracut --force /boot/initramfs-6.1.img 6.1" },
	{ "nvidia, by dracut, with the kernel", by_dracut_unified, FOUND,
	  "gpupass-bind is not in it", "then make /efi/EFI/Linux/linux-6.1.efi again" },
	{ "nvidia, by somebody else", by_nobody_known, FOUND, "gpupass-bind is not in it",
	  "gpupass's hook into /boot/initrd.img-6.1" },
	{ "nouveau", has_nouveau, FOUND, "has nouveau, which takes " GPU, "INITRAMFS" },
	{ "the audio function's driver", has_audio, FOUND,
	  "has snd-hda-intel, which takes " AUDIO " of pair0", "INITRAMFS" },
	{ "nothing runs gpupass-bind", nothing_runs_it, FOUND, "nothing in it runs gpupass-bind",
	  HOOK },
	{ "no vfio-pci for it", without_vfio, FOUND, "vfio-pci is not in it", HOOK },
	{ "an old copy without a function", old_copy, FOUND,
	  GPU2 " of pair0 at the next boot: its copy of the assignments is old", HOOK },
	{ "an old copy with a function too many", copy_of_what_is_free, FOUND,
	  "the next boot puts 0000:a1:00.0 on vfio-pci", HOOK },
	{ "an old copy without a kept function", old_copy_without_a_kept_function, FOUND,
	  "of solo0 at the next boot: its copy of the kept groups is old", HOOK },
	{ "settings, where the image cannot be read", settings_ask_for_it, FOUND,
	  "modules:3: nvidia: in the initramfs this driver takes " GPU " of pair0", "INITRAMFS" },
	{ "settings ask for the audio function's driver", settings_ask_for_audio, FOUND,
	  "MODULES: snd_hda_intel: in the initramfs this driver takes " AUDIO " of pair0",
	  "INITRAMFS" },
};

/* fault 52 */
TEST(each_fault_of_the_image_is_found_by_its_check_and_by_no_other)
{
	run_cases(cases, ELEMENTS(cases), checks_of_initramfs, false);
}

/* ---- no faults ---- */

static void nothing_is_assigned(Rig *r)
{
	add(&image_of(r)->modules, "nvidia");
	add(&image_of(r)->modules, "nouveau");
}

static void nouveau_is_blocked_there(Rig *r)
{
	has_nouveau(r);
	add(&image_of(r)->modprobe, "blacklist nouveau");
}

static void nouveau_is_blocked_by_the_kernel(Rig *r)
{
	has_nouveau(r);
	add(&r->host->cmdline, "modprobe.blacklist=nouveau");
}

static void usb_is_nobodys(Rig *r)
{
	assign_pair0(r);
	add(&image_of(r)->modules, "xhci-pci");
}

static void the_board_is_missing(Rig *r)
{
	has_gpupass(r);
	add(&image_of(r)->assigned, "0000:99:00.0");
}

static void what_is_free_is_kept(Rig *r)
{
	copy_of_what_is_free(r);
	keep_what_is_free(r);
}

TEST(what_takes_nothing_early_is_no_fault)
{
	static void (*const hosts[])(Rig * r) = {
		nothing_is_assigned,
		has_gpupass,
		what_is_free_is_kept,
		nouveau_is_blocked_there,
		nouveau_is_blocked_by_the_kernel,
		usb_is_nobodys,
		the_board_is_missing,
	};

	for (size_t i = 0; i < ELEMENTS(hosts); i++) {
		_cleanup_free_ char *found = NULL;
		_cleanup_(rig_done) Rig rig;

		rig_init(&rig);
		hosts[i](&rig);
		rig_report(&rig);
		found = spoken(&rig);
		if (!str_equal(found, "") || !str_equal(status_of(&rig, "initramfs"), "pass"))
			fail_msg("host %zu: \"%s\" spoke, %s", i, found,
				 status_of(&rig, "initramfs"));
	}
}

/* fault 59 */
TEST(an_image_that_was_not_read_has_not_passed)
{
	for (unsigned i = 0; i < 5; i++) {
		_cleanup_(rig_done) Rig rig;

		rig_init(&rig);
		assign_pair0(&rig);
		if (i == 0)
			rig.host->image = initramfs_free(rig.host->image);
		else
			unread(&rig);
		if (i == 2) { /* an image read only in part proves nothing */
			image_of(&rig)->bind = image_of(&rig)->trigger = true;
			add(&image_of(&rig)->modules, "nvidia");
		}
		if (i == 3) /* a driver of no function that is assigned */
			add(&rig.host->initramfs, "etc/mkinitcpio.conf:7: MODULES: xhci_pci");
		if (i == 4)
			add(&rig.host->modules_unknown, "etc/dracut.conf:2: if true");
		add(&rig.host->initramfs_at, "/etc/dracut.conf");
		rig_report(&rig);
		assert_string_equal(status_of(&rig, "initramfs"), "unknown");
		assert_int_equal(says(find_check(&rig, "initramfs"), "names a driver of a GPU"),
				 i < 3);
		assert_int_equal(says(find_check(&rig, "initramfs"), "does not understand"),
				 i == 4);
		assert_true(says(find_check(&rig, "initramfs"),
				 i == 0 ? "it was not looked for" : "is cut off"));
	}
}

/* A report about a domain is only about its own functions. */
TEST(another_domains_functions_are_not_told)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_(rig_done) Rig rig;

	rig_init(&rig);
	copy_of_what_is_free(&rig);
	rig.with_domain = true;
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
}

/* ---- facts that are missing ---- */

static void no_image(Rig *r)
{
	r->host->image = initramfs_free(r->host->image);
}

static const Lack lacks[] = {
	{ "initramfs", no_host, "within its time" },
	{ "initramfs", no_image, "it was not looked for" },
	{ "initramfs", unread_assignment, "what is assigned is not known" },
};

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	run_lacks(lacks, ELEMENTS(lacks), checks_of_initramfs, "");
}
