/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/command.h"

#include <fcntl.h>

#include "host/device/bar0.h"
#include "host/device/nvlink-mmio.h"
#include "host/device/nvml.h"
#include "host/scan/function.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/* Takes the sighting, or reports that the board was not observed. */
static int take(ProbeAnswer *answer, const Bdf *bdf, SightingWay way, const char *source, int r,
		Sighting *s, char *why)
{
	if (r < 0) {
		probe_answer_unseen(answer, bdf, why ? why : xstrdup(strerror(-r)));
		return 0;
	}
	free(why);
	s->way = way;
	s->seen_usec = now_realtime();
	s->source = xstrdup(source);
	return evidence_add(answer->boards, s);
}

static int probe_nvml(const WorkerCommand *command, ProbeAnswer *answer)
{
	_cleanup_(nvml_closep) Nvml *nvml = NULL;
	int r = nvml_open(command->nvml, &nvml, &answer->error);

	if (r < 0)
		return 0;
	for (size_t i = 0; r >= 0 && i < command->n_functions; i++) {
		const Bdf *bdf = &command->functions[i];
		Sighting s = { 0 };
		char *why = NULL;

		r = nvml_look(nvml, bdf, &s, &why);
		r = take(answer, bdf, WAY_NVML, nvml_source(nvml), r, &s, why);
	}
	return r;
}

/* ---- registers ---- */

static int view_board(int sysfs_fd, const Bdf *bdf, NvlinkView *ret, char **ret_why)
{
	PciFunction ids = { 0 };
	NvlinkRegisters registers;
	const char *why = NULL;
	const Board *board;
	int r = scan_ids(sysfs_fd, bdf, &ids);

	if (r < 0)
		return r;
	board = board_find(ids.vendor, ids.device, ids.subsystem_device);
	*ret = (NvlinkView){ .bdf = *bdf, .expected = board ? board->links : 0 };
	r = nvlink_mmio_read(sysfs_fd, bdf, &registers, &why);
	if (r >= 0)
		r = nvlink_decode(&registers, ret, &why);
	*ret_why = r < 0 ? xstrdup(why ? why : bar0_error(r)) : NULL;
	return r;
}

static int match_boards(int sysfs_fd, const NvlinkView *views, size_t n, ProbeAnswer *answer)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		Sighting s = { .bdf = views[i].bdf };
		PciFunction ids = { 0 };
		char *why = NULL;

		r = scan_ids(sysfs_fd, &s.bdf, &ids);
		s.vendor = ids.vendor;
		s.device = ids.device;
		s.subsystem_vendor = ids.subsystem_vendor;
		s.subsystem_device = ids.subsystem_device;
		if (r >= 0)
			r = nvlink_peers(views, n, i, &s, &why);
		r = take(answer, &views[i].bdf, WAY_MMIO, "link registers", r, &s, why);
	}
	return r;
}

static int probe_mmio(const WorkerCommand *command, ProbeAnswer *answer)
{
	_cleanup_free_ NvlinkView *views = xcalloc(command->n_functions + 1, sizeof(NvlinkView));
	_cleanup_close_ int sysfs_fd = -1;
	size_t n = 0;
	int r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd);

	if (r < 0) {
		answer->error = strf("sysfs cannot be opened: %s", strerror(-r));
		return 0;
	}
	for (size_t i = 0; r >= 0 && i < command->n_functions; i++) {
		const Bdf *bdf = &command->functions[i];
		char *why = NULL;

		r = view_board(sysfs_fd, bdf, &views[n], &why);
		if (r >= 0)
			n++;
		else
			r = take(answer, bdf, WAY_MMIO, "", r, NULL, why);
	}
	return r < 0 ? r : match_boards(sysfs_fd, views, n, answer);
}

int probe_links(const WorkerCommand *command, void *ret_answer)
{
	ProbeAnswer *answer = ret_answer;

	answer->boards = xcalloc(1, sizeof(Evidence));
	return question_id(command->question) == ASK_REGISTERS ? probe_mmio(command, answer)
							       : probe_nvml(command, answer);
}
