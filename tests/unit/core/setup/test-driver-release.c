/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/setup/driver-release.h"
#include "util/text.h"

/* faults N1, N2 */
TEST(what_a_release_does_in_an_unbind_is_known_by_its_version)
{
	static const struct {
		ReleaseAnswer frees_modeset, wait_can_end;
		const char *versions;
	} rows[] = {
		{ RELEASE_UNKNOWN, RELEASE_UNKNOWN,
		  "550.54.15-beta|550..15|580.105.|580.1050000.08|18446744073709551616.1|0.0.0|"
		  "470.256.02" },
		{ RELEASE_NO, RELEASE_YES,
		  "515.43.04|535.288.01|550.163.01|565.57.01|570.211.01|575.64.05|580.65.06|"
		  "580.94.05|580.95.05" },
		{ RELEASE_UNKNOWN, RELEASE_YES, "535.289.01|570.212|580.95.06|580.105.07" },
		{ RELEASE_YES, RELEASE_YES, "580.94.06|580.105.08|590.48.01" },
		{ RELEASE_YES, RELEASE_UNKNOWN, "590.49|595.43|610.57.05" },
		{ RELEASE_YES, RELEASE_NO, "595.45.04|610.57.04" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_strv_ char **versions = NULL;

		strv_split(rows[i].versions, "|", &versions);
		for (char **version = versions; *version; version++)
			if (release_frees_modeset(*version) != rows[i].frees_modeset ||
			    release_wait_can_end(*version) != rows[i].wait_can_end)
				fail_msg("row %zu: %s", i, *version);
	}
	assert_int_equal(release_frees_modeset(NULL), RELEASE_UNKNOWN);
	assert_int_equal(release_wait_can_end(NULL), RELEASE_UNKNOWN);
	assert_int_equal(release_frees_modeset(""), RELEASE_UNKNOWN);
	assert_int_equal(release_wait_can_end(""), RELEASE_UNKNOWN);
}
