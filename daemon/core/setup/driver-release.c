/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/setup/driver-release.h"

#include <ctype.h>

#include "core/setup/setup-files.h"
#include "gpupass/cleanup.h"
#include "util/text.h"

DEFINE_STRING_TABLE(release_answer, ReleaseAnswer, RELEASE_ANSWERS)

/*
 * All parts of a branch's versions have fewer digits than LAST: "575" to "575" LAST is all of 575.
 */
#define LAST ".999999"

/* `from` and `to` are included; `to` NULL: all after it. */
typedef struct Releases {
	const char *from, *to;
	ReleaseAnswer answer;
} Releases;

/*
 * Source: kernel-open/nvidia/nv-pci.c in the tags of NVIDIA/open-gpu-kernel-modules, which begin at
 * 515. nv_pci_remove() calls nvidia_modeset_remove() since 580.94.06, which was for developers;
 * 580.95.05, of the public branch, does not. A branch that still gets releases is known up to the
 * last one that was read.
 */
static const Releases frees_modeset[] = {
	{ "515", "535.288" LAST, RELEASE_NO },	     { "545", "570.211" LAST, RELEASE_NO },
	{ "575", "575" LAST, RELEASE_NO },	     { "580.65", "580.94.05", RELEASE_NO },
	{ "580.94.06", "580.94" LAST, RELEASE_YES }, { "580.95", "580.95.05", RELEASE_NO },
	{ "580.105.08", NULL, RELEASE_YES },
};

/*
 * Source: the same file. Where nv_linux_remove_device_locked() stands: behind the wait for
 * usage_count up to 590.48, before it since 595.44. The last that reports tell of is 610.57.04
 * (issues 1119 and 1374).
 */
static const Releases wait_can_end[] = {
	{ "515", "590.48" LAST, RELEASE_YES },
	{ "595.44", "610.57.04", RELEASE_NO },
};

/* Numbers of one to six digits, parted by dots. */
static bool is_version(const char *s)
{
	for (;; s++) {
		size_t digits = 0;

		for (; isdigit((unsigned char)*s); s++)
			digits++;
		if (digits == 0 || digits > 6)
			return false;
		if (*s != '.')
			return *s == '\0';
	}
}

static ReleaseAnswer look_up(const Releases *rows, size_t n, const char *version)
{
	const Releases *row = NULL;

	if (version && is_version(version))
		row = FIND(rows, n,
			   setup_compare_versions(version, it->from) >= 0 &&
				   (!it->to || setup_compare_versions(version, it->to) <= 0));
	return row ? row->answer : RELEASE_UNKNOWN;
}

ReleaseAnswer release_frees_modeset(const char *version)
{
	return look_up(frees_modeset, ELEMENTS(frees_modeset), version);
}

ReleaseAnswer release_wait_can_end(const char *version)
{
	return look_up(wait_can_end, ELEMENTS(wait_can_end), version);
}

char *release_modeset_cause(const char *version)
{
	if (release_frees_modeset(version) == RELEASE_NO)
		return strf("driver %s does not make it let go: an unbind would wait for ever "
			    "(580.105.08 and later do)",
			    version);
	return strf("%s%s is not known to make it let go (580.105.08 and later do): an unbind may "
		    "wait for ever",
		    version ? "driver " : "the loaded driver", str_or_empty(version));
}

#define REBOOT "see gpupassd(8), QUARANTINE"

char *release_wait_remedy(const char *version, const char *address)
{
	switch (release_wait_can_end(version)) {
	case RELEASE_NO:
		return strf("with driver %s nothing ends the wait, not even the end of what holds "
			    "the GPU: reboot the host, " REBOOT,
			    version);
	case RELEASE_YES:
		return strf("end what holds it (gpupass show %s), or, where that shows no process, "
			    "rmmod nvidia_drm: with driver %s the wait then ends; a reboot "
			    "ends it for certain, " REBOOT,
			    address, version);
	default:
		return strf("look for holders (gpupass show %s), and for nvidia_drm (lsmod); "
			    "whether the wait ends without them is not known of %s%s; a reboot "
			    "ends it for certain, " REBOOT,
			    address, version ? "driver " : "this driver", str_or_empty(version));
	}
}
