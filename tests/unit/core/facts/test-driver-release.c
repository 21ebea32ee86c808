/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <stdlib.h>

#include "core/facts/driver-release.h"
#include "gpupass/cleanup.h"

/* faults N1, N2 */
TEST(what_a_release_does_in_an_unbind_is_known_by_its_version)
{
	static const struct {
		const char *version;
		ReleaseAnswer frees_modeset, wait_can_end;
	} rows[] = {
		{ NULL, RELEASE_UNKNOWN, RELEASE_UNKNOWN },
		{ "", RELEASE_UNKNOWN, RELEASE_UNKNOWN },
		{ "550.54.15-beta", RELEASE_UNKNOWN, RELEASE_UNKNOWN },
		{ "550..15", RELEASE_UNKNOWN, RELEASE_UNKNOWN },
		{ "580.105.", RELEASE_UNKNOWN, RELEASE_UNKNOWN },
		{ "580.1050000.08", RELEASE_UNKNOWN, RELEASE_UNKNOWN },
		{ "18446744073709551616.1", RELEASE_UNKNOWN, RELEASE_UNKNOWN },
		{ "0.0.0", RELEASE_UNKNOWN, RELEASE_UNKNOWN },
		{ "470.256.02", RELEASE_UNKNOWN, RELEASE_UNKNOWN },
		{ "515.43.04", RELEASE_NO, RELEASE_YES },
		{ "535.288.01", RELEASE_NO, RELEASE_YES },
		{ "535.289.01", RELEASE_UNKNOWN, RELEASE_YES },
		{ "550.163.01", RELEASE_NO, RELEASE_YES },
		{ "565.57.01", RELEASE_NO, RELEASE_YES },
		{ "570.211.01", RELEASE_NO, RELEASE_YES },
		{ "570.212", RELEASE_UNKNOWN, RELEASE_YES },
		{ "575.64.05", RELEASE_NO, RELEASE_YES },
		{ "580.65.06", RELEASE_NO, RELEASE_YES },
		{ "580.94.05", RELEASE_NO, RELEASE_YES },
		{ "580.94.06", RELEASE_YES, RELEASE_YES },
		{ "580.95.05", RELEASE_NO, RELEASE_YES },
		{ "580.95.06", RELEASE_UNKNOWN, RELEASE_YES },
		{ "580.105.07", RELEASE_UNKNOWN, RELEASE_YES },
		{ "580.105.08", RELEASE_YES, RELEASE_YES },
		{ "590.48.01", RELEASE_YES, RELEASE_YES },
		{ "590.49", RELEASE_YES, RELEASE_UNKNOWN },
		{ "595.43", RELEASE_YES, RELEASE_UNKNOWN },
		{ "595.45.04", RELEASE_YES, RELEASE_NO },
		{ "610.57.04", RELEASE_YES, RELEASE_NO },
		{ "610.57.05", RELEASE_YES, RELEASE_UNKNOWN },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		ReleaseAnswer frees = release_frees_modeset(rows[i].version);
		ReleaseAnswer ends = release_wait_can_end(rows[i].version);

		if (frees != rows[i].frees_modeset || ends != rows[i].wait_can_end)
			fail_msg("%s: %s, %s", rows[i].version ? rows[i].version : "none",
				 release_answer_to_string(frees), release_answer_to_string(ends));
	}
}
