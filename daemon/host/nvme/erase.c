/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/nvme/erase.h"

#include <libnvme.h>

#include "util/grow.h"

/* Disks that are kept from everybody else. */
typedef struct Claims {
	int *fds;
	size_t n_fds;
} Claims;

static void claims_clear(Claims *claims)
{
	for (size_t i = 0; i < claims->n_fds; i++)
		close(claims->fds[i]);
	free(claims->fds);
}

static int claim_disks(const Roots *roots, const NvmeOpens *opens, const Bdf *bdf, Claims *ret)
{
	_cleanup_(nvme_use_clear) NvmeUse use = { .bdf = *bdf };
	_cleanup_(nvme_look_clear) NvmeLook look = { .roots = roots, .use = &use };
	int r = nvme_look_begin(&look);

	/* A disk that cannot be seen cannot be claimed; others may reach what siblings do. */
	if (r >= 0 && (use.unread || use.siblings))
		r = -EBUSY;
	for (size_t i = 0; r >= 0 && i < look.n_nodes; i++) {
		int fd = -1;

		if (!look.nodes[i].whole)
			continue;
		r = opens->node(roots->root_fd, use.nodes[i], look.nodes[i].number, true, &fd);
		if (r >= 0)
			*GROW(ret->fds, ret->n_fds) = fd;
	}
	return r;
}

static void fail(NvmeErase *erase, const char *what, int r)
{
	erase->end = NVME_ERASE_FAILED;
	erase->why =
		strf("%s: %s", what, r < 0 ? strerror(errno) : nvme_status_to_string(r, false));
}

/*
 * Restricted: after a failure the controller gives nobody data until a sanitize has succeeded
 * (AUSE 0). Blocks are deallocated, so that nothing is written that need not be.
 */
static void sanitize(int fd, NvmeWay way, NvmeErase *erase)
{
	struct nvme_sanitize_nvm_args args = {
		.args_size = sizeof(args),
		.fd = fd,
		.timeout = NVME_DEFAULT_IOCTL_TIMEOUT,
		.sanact = way == NVME_WAY_SANITIZE_CRYPTO ? NVME_SANITIZE_SANACT_START_CRYPTO_ERASE
							  : NVME_SANITIZE_SANACT_START_BLOCK_ERASE,
	};
	int r = nvme_sanitize_nvm(&args);

	if (r != 0)
		fail(erase, "the controller did not begin to sanitize", r);
	else
		erase->end = NVME_ERASE_RUNS;
}

/* The namespace keeps its LBA format, metadata and protection. */
static int format(int fd, uint32_t id, NvmeWay way, unsigned limit_sec)
{
	struct nvme_id_ns ns = { 0 };
	struct nvme_format_nvm_args args = {
		.args_size = sizeof(args),
		.fd = fd,
		.timeout = limit_sec * 1000,
		.nsid = id,
		.ses = way == NVME_WAY_FORMAT_CRYPTO ? NVME_FORMAT_SES_CRYPTO_ERASE
						     : NVME_FORMAT_SES_USER_DATA_ERASE,
	};
	int r = nvme_identify_ns(fd, id, &ns);

	if (r != 0)
		return r;
	args.lbaf = ns.flbas & 0xf;
	args.lbafu = ns.flbas >> 5 & 3;
	args.mset = (enum nvme_cmd_format_mset)(ns.flbas >> 4 & 1);
	args.pi = (enum nvme_cmd_format_pi)(ns.dps & 7);
	args.pil = (enum nvme_cmd_format_pil)(ns.dps >> 3 & 1);
	return nvme_format_nvm(&args);
}

static void format_all(int fd, const NvmeState *state, NvmeWay way, NvmeErase *erase)
{
	unsigned limit_sec = nvme_erase_limit_sec(state, way);

	for (size_t i = 0; i < state->n_namespaces; i++) {
		int r;

		if (!state->namespaces[i].attached)
			continue;
		r = format(fd, state->namespaces[i].id, way, limit_sec);
		if (r != 0) {
			fail(erase, "the controller did not format", r);
			return;
		}
	}
	erase->end = NVME_ERASE_DONE;
}

/* What is at the address now may be another one, which somebody has put in. */
static bool is_meant(const NvmeState *state, const char *serial, NvmeErase *erase)
{
	if (str_equal(str_or_empty(state->serial), serial))
		return true;
	erase->end = NVME_ERASE_FAILED;
	erase->why =
		strf("its serial number is %s, and was %s", str_or_empty(state->serial), serial);
	return false;
}

/*
 * Chosen anew: whoever asked knew the controller as it was some time ago. A namespace without a disk
 * is claimed by nobody, and so perhaps used.
 */
static bool may_begin(const NvmeState *state, NvmeWay way, size_t n_claims, NvmeErase *erase)
{
	size_t attached = COUNT(state->namespaces, state->n_namespaces, it->attached);
	_cleanup_strv_ char **reasons = NULL;

	if (n_claims >= attached && way != NVME_WAY_NONE &&
	    nvme_erase_choose(state, &reasons) == way && !state->unread && !state->shared)
		return true;
	for (char **what = state->unread; what && *what; what++)
		strv_appendf(&reasons, "not known: %s", *what);
	if (state->shared)
		strv_append(&reasons, "others may reach its namespaces");
	if (n_claims < attached)
		strv_append(&reasons, "the host does not show all of its namespaces");
	if (!reasons)
		strv_append(&reasons, "it is no longer to be erased in this way");
	erase->end = NVME_ERASE_FAILED;
	erase->why = strv_join(reasons, "; ");
	return false;
}

int nvme_erase_begin(const Roots *roots, const NvmeOpens *opens, const Bdf *bdf, NvmeWay way,
		     const char *serial, NvmeErase *ret)
{
	_cleanup_(nvme_state_clear) NvmeState state = { .bdf = *bdf };
	_cleanup_(claims_clear) Claims claims = { 0 };
	NvmeErase erase = { .bdf = *bdf, .way = way };
	_cleanup_close_ int fd = -1;
	int r = nvme_controller_open(roots, opens, bdf, &fd);

	if (r >= 0)
		r = claim_disks(roots, opens, bdf, &claims);
	if (r < 0)
		return r;
	nvme_state_read_fd(fd, &state);
	if (!is_meant(&state, serial, &erase)) {
		/* It has failed. */
	} else if (nvme_erase_judge(&state, way) == NVME_ERASE_RUNS) {
		erase.end = NVME_ERASE_RUNS;
		erase.permille = nvme_erase_permille(&state);
	} else if (may_begin(&state, way, claims.n_fds, &erase)) {
		if (nvme_way_is_sanitize(way))
			sanitize(fd, way, &erase);
		else
			format_all(fd, &state, way, &erase);
	}
	*ret = erase;
	return 0;
}
