/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/nvme/state.h"

#include <endian.h>
#include <libnvme.h>

#include "util/grow.h"
#include "util/xalloc.h"

/* What libnvme returns: -1 with errno, or a status of the controller. */
static void cannot_read(NvmeState *state, const char *what, int r)
{
	if (r < 0)
		strv_appendf(&state->unread, "%s: %s", what, strerror(errno));
	else
		strv_appendf(&state->unread, "%s: %s", what, nvme_status_to_string(r, false));
}

/* Padded with blanks, and perhaps of other bytes than text. */
static char *field(const char *text, size_t size)
{
	_cleanup_free_ char *copy = xstrndup(text, size);

	return str_printable(str_strip(copy));
}

/* ---- identify ---- */

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

#define CMIC_SHARED                                                                                \
	(NVME_CTRL_CMIC_MULTI_PORT | NVME_CTRL_CMIC_MULTI_CTRL | NVME_CTRL_CMIC_MULTI_SRIOV)

/*
 * CMIC says what the subsystem may have. Drives for two ports say so with one, too; the list of the
 * subsystem's controllers tells. What has no such list is taken by its word.
 */
static bool is_shared(int fd, const struct nvme_id_ctrl *id)
{
	struct nvme_ctrl_list list = { 0 };

	if (!(id->cmic & CMIC_SHARED))
		return false;
	if (!(le16toh(id->oacs) & NVME_CTRL_OACS_NS_MGMT) ||
	    nvme_identify_ctrl_list(fd, 0, &list) != 0)
		return true;
	return le16toh(list.num) != 1;
}

static void read_identity(int fd, const struct nvme_id_ctrl *id, NvmeState *state)
{
	unsigned oacs = le16toh(id->oacs), sanicap = le32toh(id->sanicap);

	state->model = field(id->mn, sizeof(id->mn));
	state->serial = field(id->sn, sizeof(id->sn));
	state->firmware = field(id->fr, sizeof(id->fr));
	state->shared = is_shared(fd, id);
	state->sanitizes_crypto = sanicap & NVME_CTRL_SANICAP_CES;
	state->sanitizes_block = sanicap & NVME_CTRL_SANICAP_BES;
	state->formats = oacs & NVME_CTRL_OACS_FORMAT;
	state->formats_crypto = id->fna & NVME_CTRL_FNA_CRYPTO_ERASE;
	state->erases_all = id->fna & NVME_CTRL_FNA_SEC_ALL_NAMESPACES;
	state->has_free = !is_zero(id->unvmcap, sizeof(id->unvmcap));
}

/* ---- namespaces ---- */

static bool list_has(const struct nvme_ns_list *list, uint32_t id)
{
	for (size_t i = 0; i < ELEMENTS(list->ns); i++)
		if (le32toh(list->ns[i]) == id)
			return true;
	return false;
}

/* Figure "Format Progress Indicator": bit 7 says that the others are there. */
#define FPI_SUPPORTED 0x80
#define FPI_PERCENT 0x7f

static void add_namespace(const struct nvme_id_ns *ns, uint32_t id, bool attached, NvmeState *state)
{
	unsigned left = ns->fpi & FPI_SUPPORTED ? ns->fpi & FPI_PERCENT : 0;

	*GROW(state->namespaces, state->n_namespaces) = (NvmeNamespace){
		.id = id,
		.attached = attached,
		.write_protected = ns->nsattr & NVME_NS_NSATTR_WRITE_PROTECTED,
		.shared = state->shared && (ns->nmic & 1),
		.blocks = le64toh(ns->nsze),
		.format = (ns->flbas & 0xfU) | (ns->flbas >> 5 & 3U) << 4,
		.format_percent = left < 100 ? left : 100,
	};
}

static void read_namespaces(int fd, bool managed, NvmeState *state)
{
	struct nvme_ns_list active = { 0 }, all = { 0 };
	int r = nvme_identify_active_ns_list(fd, 0, &active);

	if (r == 0 && managed)
		r = nvme_identify_allocated_ns_list(fd, 0, &all);
	if (r != 0) {
		cannot_read(state, "its list of namespaces", r);
		return;
	}
	if (!managed)
		all = active;
	if (all.ns[ELEMENTS(all.ns) - 1] != 0)
		strv_append(&state->unread, "its namespaces, which are more than one list has");
	for (size_t i = 0; i < ELEMENTS(all.ns) && all.ns[i] != 0; i++) {
		uint32_t id = le32toh(all.ns[i]);
		struct nvme_id_ns ns = { 0 };

		r = managed ? nvme_identify_allocated_ns(fd, id, &ns)
			    : nvme_identify_ns(fd, id, &ns);
		if (r == 0)
			add_namespace(&ns, id, list_has(&active, id), state);
		else
			cannot_read(state, "a namespace", r);
	}
}

/* ---- log pages ---- */

static void read_smart(int fd, NvmeState *state)
{
	struct nvme_smart_log log = { 0 };
	int r = nvme_get_log_smart(fd, NVME_NSID_ALL, true, &log);

	if (r != 0)
		cannot_read(state, "SMART", r);
	state->critical_warning = log.critical_warning;
	state->used_percent = log.percent_used;
}

static void read_firmware(int fd, NvmeState *state)
{
	struct nvme_firmware_slot log = { 0 };
	int r = nvme_get_log_fw_slot(fd, true, &log);

	if (r != 0) {
		cannot_read(state, "its firmware slots", r);
		return;
	}
	state->firmware_next = log.afi >> 4 & 7U;
	for (unsigned i = 0; i < ELEMENTS(log.frs); i++) {
		_cleanup_free_ char *name = field(log.frs[i], sizeof(log.frs[i]));

		if (*name)
			strv_appendf(&state->firmware_slots, "%u: %s", i + 1, name);
	}
}

static NvmeSanitize sanitize_of_status(unsigned status)
{
	switch (status & NVME_SANITIZE_SSTAT_STATUS_MASK) {
	case NVME_SANITIZE_SSTAT_STATUS_NEVER_SANITIZED:
		return NVME_SANITIZE_NONE;
	case NVME_SANITIZE_SSTAT_STATUS_COMPLETE_SUCCESS:
	case NVME_SANITIZE_SSTAT_STATUS_ND_COMPLETE_SUCCESS:
		return NVME_SANITIZE_DONE;
	case NVME_SANITIZE_SSTAT_STATUS_IN_PROGESS:
		return NVME_SANITIZE_RUNS;
	case NVME_SANITIZE_SSTAT_STATUS_COMPLETED_FAILED:
		return NVME_SANITIZE_FAILED;
	}
	return NVME_SANITIZE_UNKNOWN;
}

/* 0xffffffff: it gives no time. */
static uint32_t estimate(uint32_t little)
{
	uint32_t sec = le32toh(little);

	return sec == UINT32_MAX ? 0 : sec;
}

static void read_sanitize(int fd, bool can, NvmeState *state)
{
	struct nvme_sanitize_log_page log = { 0 };
	unsigned status;
	int r;

	if (!can) {
		state->sanitize = NVME_SANITIZE_NONE;
		return;
	}
	r = nvme_get_log_sanitize(fd, true, &log);
	if (r != 0) {
		cannot_read(state, "its sanitize status", r);
		return;
	}
	status = le16toh(log.sstat);
	state->sanitize = sanitize_of_status(status);
	state->erased = status & NVME_SANITIZE_SSTAT_GLOBAL_DATA_ERASED;
	state->sanitize_progress = le16toh(log.sprog);
	state->estimates = (NvmeEstimates){ estimate(log.etce), estimate(log.etbe) };
}

/* ---- its lock ---- */

#define PROTOCOL_LIST 0
#define PROTOCOL_TCG 1
#define COMID_DISCOVERY 1
#define SECURITY_BYTES 2048U

static int receive(int fd, uint8_t protocol, uint8_t comid, uint8_t data[SECURITY_BYTES])
{
	struct nvme_security_receive_args args = {
		.args_size = sizeof(args),
		.fd = fd,
		.timeout = NVME_DEFAULT_IOCTL_TIMEOUT,
		.secp = protocol,
		.spsp0 = comid,
		.al = SECURITY_BYTES,
		.data_len = SECURITY_BYTES,
		.data = data,
	};

	memset(data, 0, SECURITY_BYTES);
	return nvme_security_receive(&args);
}

/* SPC's list of security protocols: six reserved bytes, its length, a byte for each. */
static bool list_has_tcg(const uint8_t *data)
{
	size_t n = (size_t)data[6] << 8 | data[7];

	for (size_t i = 8; i < SECURITY_BYTES && i < 8 + n; i++)
		if (data[i] == PROTOCOL_TCG)
			return true;
	return false;
}

static void read_lock(int fd, bool can, NvmeState *state)
{
	uint8_t data[SECURITY_BYTES];
	int r;

	state->lock = NVME_LOCK_NONE;
	if (!can)
		return;
	r = receive(fd, PROTOCOL_LIST, 0, data);
	if (r == 0 && !list_has_tcg(data))
		return;
	if (r == 0)
		r = receive(fd, PROTOCOL_TCG, COMID_DISCOVERY, data);
	state->lock = r == 0 ? nvme_lock_parse(data, sizeof(data)) : NVME_LOCK_UNKNOWN;
}

#define SANICAP_ANY (NVME_CTRL_SANICAP_CES | NVME_CTRL_SANICAP_BES | NVME_CTRL_SANICAP_OWS)

void nvme_state_read_fd(int fd, NvmeState *state)
{
	struct nvme_id_ctrl id = { 0 };
	int r = nvme_identify_ctrl(fd, &id);
	unsigned oacs = le16toh(id.oacs);

	if (r != 0) {
		cannot_read(state, "what it is", r);
		return;
	}
	read_identity(fd, &id, state);
	read_namespaces(fd, oacs & NVME_CTRL_OACS_NS_MGMT, state);
	read_smart(fd, state);
	read_firmware(fd, state);
	read_sanitize(fd, le32toh(id.sanicap) & SANICAP_ANY, state);
	read_lock(fd, oacs & NVME_CTRL_OACS_SECURITY, state);
}

int nvme_state_read(const Roots *roots, const NvmeOpens *opens, const Bdf *bdf, NvmeState *ret)
{
	_cleanup_close_ int fd = -1;
	int r = nvme_controller_open(roots, opens, bdf, &fd);

	if (r < 0)
		return r;
	*ret = (NvmeState){ .bdf = *bdf };
	nvme_state_read_fd(fd, ret);
	return 0;
}
