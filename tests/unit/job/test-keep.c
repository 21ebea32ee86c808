/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups that stay on vfio-pci while no domain has them. */
#include "rig/test.h"

#include <string.h>

#include "rig/job-rig.h"
#include "util/file.h"
#include "util/text.h"

#define KEPT_FILE "0000:41:00.0.json"

static bool has_file(const Rig *rig)
{
	return faccessat(rig->kept.dir_fd, KEPT_FILE, F_OK, 0) == 0;
}

static void drivers_came_first(Rig *rig)
{
	rig_kept(rig);
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_set_driver(&rig->fake, pair0_bdfs[i], i % 2 ? "snd_hda_intel" : "nvidia",
				NULL);
}

static void drifted(Rig *rig)
{
	rig_kept(rig);
	fake_set_driver(&rig->fake, "0000:61:00.0", "nvidia", NULL);
}

/* fault 60 */
/* What each job does with a kept group, or to keep one, and that it does it once. */
TEST(a_group_is_kept_until_an_unbind_ends_it)
{
	static const struct {
		void (*arrange)(Rig *rig);
		JobRequest request;
		const char *steps;
		bool bound, kept;
	} rows[] = {
		{ rig_shut_off, KEEP,
		  "preflight: done, bind vfio-pci: done, verify: done, keep: done", true, true },
		{ rig_kept, KEEP, "", true, true },
		/* A group that is bound already is only written down; and one that a domain has. */
		{ rig_bound, KEEP, "keep: done", true, true },
		{ rig_assigned, KEEP, "keep: done", true, true },
		{ rig_kept, UNBIND, "preflight: done, give back: done, verify: done, unkeep: done",
		  false, false },
		{ drivers_came_first, UNBIND, "unkeep: done", false, false },
		/* No driver of the host is in between: the functions are not moved at all. */
		{ rig_kept_and_assigned, RELEASE,
		  "preflight: done, define: done, reset: done, verify: done, forget: done", true,
		  true },
		{ drifted, RECONCILE, "preflight: done, bind vfio-pci: done, verify: done", true,
		  true },
		{ rig_kept, RECONCILE, "", true, true },
		/* Nobody keeps it. */
		{ rig_shut_off, RECONCILE, "", false, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rows[i].arrange(rig);
		rig_must(rig, &rows[i].request);
		rig_expect_steps(rig, rows[i].steps);
		if (rig_is_bound(rig) != rows[i].bound || rig_is_home(rig) == rows[i].bound ||
		    has_file(rig) != rows[i].kept)
			fail_msg("row %zu", i);
	}
}

ON_A_RIG(its_file_says_which_boards)
{
	_cleanup_free_ char *text = NULL;

	rig_kept(rig);
	assert_int_equal(file_read_at(rig->kept.dir_fd, KEPT_FILE, 65536, &text, NULL), 0);
	assert_non_null(strstr(text, "\"bdf\": \"0000:61:00.1\""));
	assert_non_null(strstr(text, "\"subsystem_device\""));
}

ON_A_RIG(a_group_kept_while_a_domain_has_it_stays_when_it_is_released)
{
	rig_assigned(rig);
	rig_must(rig, &KEEP);
	rig_must(rig, &RELEASE);
	assert_true(rig_is_bound(rig));
}

ON_A_RIG(what_cannot_be_stored_is_not_bound)
{
	static const char text[] = "{\"schema\": \"org.gpupass1.kept/9\"}";

	rig->store.kept = NULL;
	rig_fails(rig, &KEEP, GPUPASS_ERROR_STATE_READ_ONLY, "kept.d/" KEPT_FILE);
	rig->store.kept = &rig->kept;
	/* Another version may say more of it than this one can. */
	assert_int_equal(file_replace_at(rig->kept.dir_fd, KEPT_FILE, text, strlen(text), 0644), 0);
	rig_fails(rig, &KEEP, GPUPASS_ERROR_GROUP_BUSY, "later version");
}
