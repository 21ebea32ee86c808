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

static void by_dracut(Rig *r)
{
	has_nvidia(r);
	set(&image_of(r)->maker, "dracut");
	set(&image_of(r)->path, "/boot/initramfs-6.1.img");
}

static void has_nouveau(Rig *r)
{
	assign_pair0(r);
	add(&image_of(r)->modules, "nouveau");
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

static void unread(Rig *r)
{
	set(&image_of(r)->trouble, "/boot/initrd.img-6.1 is cut off");
}

/* fault 52 */
TEST(each_fault_of_the_image_is_found_by_its_check_and_by_no_other)
{
	_cleanup_strv_ char **cases = NULL;

	TOLD("nvidia", "initramfs", "warn",
	     "/boot/initrd.img-6.1 has nvidia-current, which takes " GPU2 " of pair0", HOOK,
	     has_nvidia(r));
	TOLD("nvidia, and no hook", "initramfs", "warn", "gpupass-bind is not in it",
	     "gpupass's hook", has_nvidia(r), r->host->initramfs_hook = false);
	TOLD("nvidia, by dracut", "initramfs", "warn", "gpupass-bind is not in it",
	     "dracut --force /boot/initramfs-6.1.img 6.1", by_dracut(r));
	TOLD("nvidia, by dracut, with the kernel", "initramfs", "warn", "gpupass-bind is not in it",
	     "then make /efi/EFI/Linux/linux-6.1.efi again", by_dracut(r),
	     set(&image_of(r)->path, "/efi/EFI/Linux/linux-6.1.efi"));
	TOLD("nvidia, by somebody else", "initramfs", "warn", "gpupass-bind is not in it",
	     "gpupass's hook into /boot/initrd.img-6.1", has_nvidia(r),
	     set(&image_of(r)->maker, NULL));
	TOLD("nouveau", "initramfs", "warn", "has nouveau, which takes " GPU, "INITRAMFS",
	     has_nouveau(r));
	TOLD("the audio function's driver", "initramfs", "warn",
	     "has snd-hda-intel, which takes " AUDIO " of pair0", "INITRAMFS", assign_pair0(r),
	     add(&image_of(r)->modules, "snd-hda-intel"));
	TOLD("nothing runs gpupass-bind", "initramfs", "warn", "nothing in it runs gpupass-bind",
	     HOOK, has_gpupass(r), image_of(r)->trigger = false);
	TOLD("no vfio-pci for it", "initramfs", "warn", "vfio-pci is not in it", HOOK,
	     has_gpupass(r), image_of(r)->vfio_pci = false);
	TOLD("an old copy without a function", "initramfs", "warn",
	     GPU2 " of pair0 at the next boot: its copy of the assignments is old", HOOK, {
		     has_gpupass(r);
		     image_of(r)->assigned = strv_free(image_of(r)->assigned);
		     add(&image_of(r)->assigned, GPU);
		     add(&image_of(r)->assigned, AUDIO);
		     add(&image_of(r)->assigned, AUDIO2);
	     });
	TOLD("an old copy with a function too many", "initramfs", "warn",
	     "the next boot puts 0000:a1:00.0 on vfio-pci", HOOK, copy_of_what_is_free(r));
	TOLD("an old copy without a kept function", "initramfs", "warn",
	     "of solo0 at the next boot: its copy of the kept groups is old", HOOK, has_gpupass(r),
	     keep_what_is_free(r));
	TOLD("settings, where the image cannot be read", "initramfs", "warn",
	     "modules:3: nvidia: in the initramfs this driver takes " GPU " of pair0", "INITRAMFS",
	     unread(r), assign_pair0(r),
	     add(&r->host->initramfs, "etc/initramfs-tools/modules:3: nvidia"));
	TOLD("settings ask for the audio function's driver", "initramfs", "warn",
	     "MODULES: snd_hda_intel: in the initramfs this driver takes " AUDIO " of pair0",
	     "INITRAMFS", unread(r), assign_pair0(r),
	     add(&r->host->initramfs, "etc/mkinitcpio.conf:7: MODULES: snd_hda_intel"));
	all_had_cases(cases, checks_of_initramfs, "");
}

static void no_image(Rig *r)
{
	r->host->image = initramfs_free(r->host->image);
}

TEST(what_takes_nothing_early_is_no_fault)
{
#define NO_FAULT(...)                                                                              \
	ON_RIG((expect_spoken("nothing early", r, ""), expect_status(r, "initramfs", "pass", "")), \
	       __VA_ARGS__)
	/* Nothing is assigned. */
	NO_FAULT(add(&image_of(r)->modules, "nvidia"), add(&image_of(r)->modules, "nouveau"));
	NO_FAULT(has_gpupass(r));
	NO_FAULT(copy_of_what_is_free(r), keep_what_is_free(r));
	NO_FAULT(has_nouveau(r), add(&image_of(r)->modprobe, "blacklist nouveau"));
	NO_FAULT(has_nouveau(r), add(&r->host->cmdline, "modprobe.blacklist=nouveau"));
	/* A driver of nobody's, and a board that is missing. */
	NO_FAULT(assign_pair0(r), add(&image_of(r)->modules, "xhci-pci"));
	NO_FAULT(has_gpupass(r), add(&image_of(r)->assigned, "0000:99:00.0"));
	/* A report about a domain is only about its own functions. */
	SPEAKS("another domain's functions", "", copy_of_what_is_free(r), r->with_domain = true);
}

/* fault 59 */
TEST(an_image_that_was_not_read_has_not_passed)
{
#define NOT_READ(text, ...)                                                                        \
	STANDS("initramfs", "unknown", text, assign_pair0(r),                                      \
	       add(&r->host->initramfs_at, "/etc/dracut.conf"), __VA_ARGS__)
#define NAMES "names a driver of a GPU"
	NOT_READ("it was not looked for", no_image(r));
	NOT_READ(NAMES, no_image(r));
	NOT_READ("is cut off", unread(r));
	NOT_READ(NAMES, unread(r));
	/* An image read only in part proves nothing. */
	NOT_READ(NAMES, unread(r), image_of(r)->bind = image_of(r)->trigger = true,
		 add(&image_of(r)->modules, "nvidia"));
	/* A driver of no function that is assigned. */
	NOT_READ("is cut off", unread(r),
		 add(&r->host->initramfs, "etc/mkinitcpio.conf:7: MODULES: xhci_pci"));
	NOT_READ("does not understand", unread(r),
		 add(&r->host->modules_unknown, "etc/dracut.conf:2: if true"));
}

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	_cleanup_strv_ char **cases = NULL;

	LACKS("initramfs", "within its time", no_host(r));
	LACKS("initramfs", "it was not looked for",
	      r->host->image = initramfs_free(r->host->image));
	LACKS("initramfs", "what is assigned is not known", unread_assignment(r));
	all_had_cases(cases, checks_of_initramfs, "");
}
