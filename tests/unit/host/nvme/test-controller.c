/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A controller in memory, behind libnvme's own ioctl(2): what libnvme's tests do, too. Commands and
 * pages are laid out as in the NVM Express Base Specification.
 */
#include "rig/test.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <libnvme.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "host/nvme/erase.h"
#include "rig/look-rows.h"

#define ADDRESS "0000:43:00.0"
#define CONTROLLER "sys/bus/pci/devices/" ADDRESS "/nvme/nvme0/"
#define INVALID_FIELD 0x4002

typedef struct Model {
	struct nvme_id_ctrl id;
	struct nvme_id_ns ns[3];
	uint32_t active[3], allocated[3];
	struct nvme_smart_log smart;
	struct nvme_firmware_slot slots;
	struct nvme_sanitize_log_page sanitize;
	unsigned controllers;
	uint8_t lock_bits;
	bool without_tcg;
	uint8_t fails;	      /* this opcode */
	unsigned fails_of[2]; /* of Identify and Get Log Page: this CNS, this page */
	char **commands;      /* what changed something */
	bool busy;
} Model;

static Model model;

static int identify(const struct nvme_passthru_cmd *cmd, void *data)
{
	unsigned cns = cmd->cdw10 & 0xff;

	if (cns == model.fails_of[0] && cns != 0)
		return INVALID_FIELD;
	if (cns == NVME_IDENTIFY_CNS_CTRL)
		memcpy(data, &model.id, sizeof(model.id));
	else if (cns == NVME_IDENTIFY_CNS_NS_ACTIVE_LIST)
		memcpy(data, model.active, sizeof(model.active));
	else if (cns == NVME_IDENTIFY_CNS_ALLOCATED_NS_LIST)
		memcpy(data, model.allocated, sizeof(model.allocated));
	else if (cns == NVME_IDENTIFY_CNS_CTRL_LIST)
		*(uint16_t *)data = htole16((uint16_t)model.controllers);
	else if (cns == NVME_IDENTIFY_CNS_NS || cns == NVME_IDENTIFY_CNS_ALLOCATED_NS)
		memcpy(data, &model.ns[cmd->nsid - 1], sizeof(model.ns[0]));
	else
		return INVALID_FIELD;
	return 0;
}

static int log_page(const struct nvme_passthru_cmd *cmd, void *data)
{
	unsigned page = cmd->cdw10 & 0xff;

	if (page == model.fails_of[1] && page != 0)
		return INVALID_FIELD;
	if (page == NVME_LOG_LID_SMART)
		memcpy(data, &model.smart, sizeof(model.smart));
	else if (page == NVME_LOG_LID_FW_SLOT)
		memcpy(data, &model.slots, sizeof(model.slots));
	else if (page == NVME_LOG_LID_SANITIZE)
		memcpy(data, &model.sanitize, sizeof(model.sanitize));
	else
		return INVALID_FIELD;
	return 0;
}

static int security(const struct nvme_passthru_cmd *cmd, uint8_t *data)
{
	uint8_t locking[] = { 0, 2, 0x10, 4, model.lock_bits, 0, 0, 0 };

	if (cmd->cdw10 == 0) {
		data[7] = model.without_tcg ? 1 : 2;
		data[9] = 1;
	} else if (cmd->cdw10 == 0x01000100) {
		data[3] = 52;
		memcpy(data + 48, locking, sizeof(locking));
	} else {
		return INVALID_FIELD;
	}
	return 0;
}

static int run_command(const struct nvme_passthru_cmd *cmd)
{
	void *data = (void *)(uintptr_t)cmd->addr;

	if (cmd->opcode == model.fails)
		return INVALID_FIELD;
	switch (cmd->opcode) {
	case nvme_admin_identify:
		return identify(cmd, data);
	case nvme_admin_get_log_page:
		return log_page(cmd, data);
	case nvme_admin_security_recv:
		return security(cmd, data);
	case nvme_admin_sanitize_nvm:
		strv_appendf(&model.commands, "sanitize %x", cmd->cdw10);
		return 0;
	case nvme_admin_format_nvm:
		strv_appendf(&model.commands, "format %u %x %u", cmd->nsid, cmd->cdw10,
			     cmd->timeout_ms / 1000);
		return 0;
	}
	return INVALID_FIELD;
}

/* In place of libc's, also for libnvme. */
int ioctl(int fd, unsigned long request, ...)
{
	struct nvme_passthru_cmd *cmd;
	va_list ap;

	va_start(ap, request);
	cmd = va_arg(ap, struct nvme_passthru_cmd *);
	va_end(ap);
	if (request != NVME_IOCTL_ADMIN_CMD) {
		errno = ENOTTY;
		return -1;
	}
	return run_command(cmd);
}

/* ---- the host ---- */

static int open_disk(int root_fd, const char *node, dev_t number, bool exclusive, int *ret_fd)
{
	if (!exclusive || model.busy)
		return -EBUSY;
	*ret_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

static int open_controller(int root_fd, const char *node, dev_t number, int *ret_fd)
{
	assert_string_equal(node, "/dev/nvme0");
	*ret_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

static const NvmeOpens opens = { open_disk, open_controller };

static SysfsTree *one_nvme(void)
{
	SysfsTree *tree = sysfs_tree_new(NULL);
	PciFunction function = { .bdf = tree_bdf(ADDRESS), .class_code = 0x010802 };

	tree_add_function(tree, &function);
	tree_write(tree, CONTROLLER "dev", "240:0\n");
	tree_write(tree, CONTROLLER "nvme0n1/uevent", "");
	tree_write(tree, "sys/class/nvme-subsystem/nvme-subsys0/nvme0/uevent", "");
	tree_write(tree, "sys/block/nvme0n1/dev", "259:0\n");
	return tree;
}

/* A drive of a data centre: one namespace, all that is looked at supported, nothing wrong. */
static void reset_model(void)
{
	strv_free(model.commands);
	model = (Model){ .controllers = 1, .active = { htole32(1) }, .allocated = { htole32(1) } };
	memcpy(model.id.mn, "Model X                                 ", 40);
	memcpy(model.id.sn, "S1                  ", 20);
	memcpy(model.id.fr, "F1      ", 8);
	model.id.oacs =
		htole16(NVME_CTRL_OACS_FORMAT | NVME_CTRL_OACS_NS_MGMT | NVME_CTRL_OACS_SECURITY);
	model.id.fna = NVME_CTRL_FNA_CRYPTO_ERASE;
	model.id.sanicap = htole32(NVME_CTRL_SANICAP_CES | NVME_CTRL_SANICAP_BES);
	model.ns[0].nsze = htole64(1000);
	model.ns[0].flbas = 0x11;
	model.ns[0].dps = 0x9;
	model.ns[1].nsze = htole64(500);
	model.smart.percent_used = 3;
	memcpy(model.slots.frs[0], "F1      ", 8);
	model.slots.afi = 1;
	model.sanitize.etce = htole32(4);
	model.sanitize.etbe = htole32(UINT32_MAX);
	model.lock_bits = 1;
}

static json_t *look(void)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_nvme();
	_cleanup_(nvme_state_clear) NvmeState state = { 0 };
	const Bdf bdf = tree_bdf(ADDRESS);

	assert_int_equal(nvme_state_read(&tree->roots, &opens, &bdf, &state), 0);
	return json_struct_write(nvme_state_members, &state);
}

TEST(a_controller_says_what_it_is)
{
	reset_model();
	expect_json("whole", look(),
		    "{'bdf': '" ADDRESS "', 'model': 'Model X', 'serial': 'S1', 'firmware': 'F1', "
		    "'firmware_slots': ['1: F1'], 'firmware_next': 0, 'shared': false, "
		    "'sanitizes_crypto': true, 'sanitizes_block': true, 'formats': true, "
		    "'formats_crypto': true, 'erases_all': false, 'has_free': false, "
		    "'critical_warning': 0, 'used_percent': 3, 'lock': 'off', 'sanitize': 'none', "
		    "'erased': false, 'estimates': {'crypto_sec': 4, 'block_sec': 0}, "
		    "'namespaces': [{'id': 1, 'attached': true, 'blocks': 1000, 'format': 1}], "
		    "'unread': []}");
}

#define SAYS(what, change, wanted)                                                                 \
	do {                                                                                       \
		reset_model();                                                                     \
		change;                                                                            \
		expect_json(what, look(), wanted);                                                 \
	} while (0)

/* promise M9 */
TEST(what_a_tenant_left_is_seen)
{
	SAYS("locked", model.lock_bits = 7, "{'lock': 'locked'}");
	SAYS("firmware that waits", model.slots.afi = 0x21, "{'firmware_next': 2}");
	SAYS("a second firmware", memcpy(model.slots.frs[2], "EVIL    ", 8),
	     "{'firmware_slots': ['1: F1', '3: EVIL']}");
	SAYS("a namespace that is not attached", model.allocated[1] = htole32(2),
	     "{'namespaces': [{'attached': true}, {'id': 2, 'attached': false, 'blocks': 500}]}");
	SAYS("what is in no namespace", model.id.unvmcap[3] = 1, "{'has_free': true}");
	SAYS("write protection", model.ns[0].nsattr = 1,
	     "{'namespaces': [{'write_protected': true}]}");
	SAYS("a format under way", model.ns[0].fpi = 0x80 | 30,
	     "{'namespaces': [{'format_percent': 30}]}");
	SAYS("a sanitize under way",
	     (model.sanitize.sstat = htole16(2), model.sanitize.sprog = htole16(300)),
	     "{'sanitize': 'in progress', 'sanitize_progress': 300}");
	SAYS("a sanitize that failed", model.sanitize.sstat = htole16(3), "{'sanitize': 'failed'}");
	SAYS("one that is done, with nothing written since", model.sanitize.sstat = htole16(0x101),
	     "{'sanitize': 'done', 'erased': true}");
	SAYS("one without deallocation", model.sanitize.sstat = htole16(0x4),
	     "{'sanitize': 'done', 'erased': false}");
	SAYS("a status of a later specification", model.sanitize.sstat = htole16(0x5),
	     "{'sanitize': 'unknown'}");
	SAYS("a warning", model.smart.critical_warning = 4, "{'critical_warning': 4}");
}

TEST(what_others_may_reach_is_shared)
{
	SAYS("two ports, and one controller", model.id.cmic = 3, "{'shared': false}");
	SAYS("two controllers", (model.id.cmic = 3, model.controllers = 2), "{'shared': true}");
	SAYS("virtual functions", (model.id.cmic = 4, model.controllers = 33), "{'shared': true}");
	SAYS("no list of controllers",
	     (model.id.cmic = 2, model.id.oacs = htole16(NVME_CTRL_OACS_FORMAT)),
	     "{'shared': true}");
	SAYS("a list that is refused",
	     (model.id.cmic = 2, model.fails_of[0] = NVME_IDENTIFY_CNS_CTRL_LIST),
	     "{'shared': true}");
}

#define NOT(what)                                                                                  \
	"{'unread': ['" what ": Invalid Field in Command: A reserved coded value or an "           \
	"unsupported value in a defined field']}"

TEST(what_it_does_not_say_is_not_known)
{
	SAYS("anything", model.fails = nvme_admin_identify, NOT("what it is"));
	SAYS("namespaces", model.fails_of[0] = NVME_IDENTIFY_CNS_NS_ACTIVE_LIST,
	     NOT("its list of namespaces"));
	SAYS("a namespace", model.fails_of[0] = NVME_IDENTIFY_CNS_ALLOCATED_NS, NOT("a namespace"));
	SAYS("SMART", model.fails_of[1] = NVME_LOG_LID_SMART, NOT("SMART"));
	SAYS("firmware", model.fails_of[1] = NVME_LOG_LID_FW_SLOT, NOT("its firmware slots"));
	SAYS("sanitize", model.fails_of[1] = NVME_LOG_LID_SANITIZE, NOT("its sanitize status"));
	SAYS("its lock", model.fails = nvme_admin_security_recv, "{'lock': 'unknown'}");
	SAYS("a lock of another kind", model.without_tcg = true, "{'lock': 'none'}");
	SAYS("no lock", model.id.oacs = htole16(NVME_CTRL_OACS_FORMAT), "{'lock': 'none'}");
}

/* ---- the erase ---- */

static int begin_of(SysfsTree *tree, NvmeWay way, const char *serial, NvmeErase *ret)
{
	const Bdf bdf = tree_bdf(ADDRESS);

	return nvme_erase_begin(&tree->roots, &opens, &bdf, way, serial, ret);
}

static int begin(SysfsTree *tree, NvmeWay way, NvmeErase *ret)
{
	return begin_of(tree, way, "S1", ret);
}

typedef struct EraseRow {
	const char *what;
	uint32_t sanicap;
	uint16_t oacs;
	uint8_t fna;
	NvmeWay way;
	const char *commands;
	NvmeEraseEnd end;
} EraseRow;

#define FORMAT NVME_CTRL_OACS_FORMAT
#define MANAGED (NVME_CTRL_OACS_FORMAT | NVME_CTRL_OACS_NS_MGMT)

static const EraseRow erases[] = {
	{ "by key", 3, 0, 0, NVME_WAY_SANITIZE_CRYPTO, "sanitize 4", NVME_ERASE_RUNS },
	{ "by blocks", 2, 0, 0, NVME_WAY_SANITIZE_BLOCK, "sanitize 2", NVME_ERASE_RUNS },
	/* SES 2 and 1; LBA format 1, extended metadata, protection 1 at the end: as they are. */
	{ "format by key", 4, FORMAT, 4, NVME_WAY_FORMAT_CRYPTO, "format 1 531 600",
	  NVME_ERASE_DONE },
	{ "format", 0, FORMAT, 0, NVME_WAY_FORMAT_USER, "format 1 331 7200", NVME_ERASE_DONE },
	/* Chosen with other facts than there are now. */
	{ "another way than the best", 3, FORMAT, 4, NVME_WAY_FORMAT_USER, "", NVME_ERASE_FAILED },
	{ "a way that it has not", 0, FORMAT, 0, NVME_WAY_SANITIZE_BLOCK, "", NVME_ERASE_FAILED },
	{ "no way", 0, FORMAT, 0, NVME_WAY_NONE, "", NVME_ERASE_FAILED },
};

TEST(an_erase_is_the_command_of_its_way)
{
	for (size_t i = 0; i < ELEMENTS(erases); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_nvme();
		_cleanup_(nvme_erase_clear) NvmeErase erase = { 0 };
		_cleanup_free_ char *commands = NULL;

		reset_model();
		model.id.sanicap = htole32(erases[i].sanicap);
		model.id.oacs = htole16(erases[i].oacs);
		model.id.fna = erases[i].fna;
		assert_int_equal(begin(tree, erases[i].way, &erase), 0);
		commands = strv_join(model.commands, ", ");
		if (strcmp(commands, erases[i].commands) != 0 || erase.end != erases[i].end)
			fail_msg("%s: %s, %s: %s", erases[i].what, commands,
				 nvme_erase_end_to_string(erase.end), str_or_empty(erase.why));
		assert_true((erase.end == NVME_ERASE_FAILED) == (erase.why != NULL));
	}
}

TEST(every_attached_namespace_is_formatted)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_nvme();
	_cleanup_(nvme_erase_clear) NvmeErase erase = { 0 };

	reset_model();
	model.id.sanicap = 0;
	model.active[1] = model.allocated[1] = htole32(2);
	tree_write(tree, CONTROLLER "nvme0n2/uevent", "");
	tree_write(tree, "sys/block/nvme0n2/dev", "259:1\n");
	assert_int_equal(begin(tree, NVME_WAY_FORMAT_CRYPTO, &erase), 0);
	assert_int_equal(strv_length(model.commands), 2);
	assert_string_equal(model.commands[1], "format 2 400 600");
	assert_int_equal(erase.end, NVME_ERASE_DONE);
}

TEST(a_command_that_is_refused_has_failed)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_nvme();
	_cleanup_(nvme_erase_clear) NvmeErase erase = { 0 }, formatted = { 0 };

	reset_model();
	model.fails = nvme_admin_sanitize_nvm;
	assert_int_equal(begin(tree, NVME_WAY_SANITIZE_CRYPTO, &erase), 0);
	assert_int_equal(erase.end, NVME_ERASE_FAILED);
	assert_true(str_starts_with(erase.why, "the controller did not begin to sanitize: Inv"));
	model.fails = nvme_admin_format_nvm;
	model.id.sanicap = 0;
	assert_int_equal(begin(tree, NVME_WAY_FORMAT_CRYPTO, &formatted), 0);
	assert_int_equal(formatted.end, NVME_ERASE_FAILED);
	assert_true(str_starts_with(formatted.why, "the controller did not format: Inv"));
}

/* As after a restart of the daemon, or of the host: it goes on by itself. */
TEST(an_erase_under_way_is_not_begun_again)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_nvme();
	_cleanup_(nvme_erase_clear) NvmeErase erase = { 0 };

	reset_model();
	model.sanitize.sstat = htole16(2);
	model.sanitize.sprog = htole16(16384);
	assert_int_equal(begin(tree, NVME_WAY_SANITIZE_CRYPTO, &erase), 0);
	assert_int_equal(erase.end, NVME_ERASE_RUNS);
	assert_int_equal(erase.permille, 250);
	assert_null(model.commands);
}

TEST(a_sanitize_that_failed_is_begun_again)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_nvme();
	_cleanup_(nvme_erase_clear) NvmeErase erase = { 0 };

	reset_model();
	model.sanitize.sstat = htole16(3);
	assert_int_equal(begin(tree, NVME_WAY_SANITIZE_CRYPTO, &erase), 0);
	assert_int_equal(erase.end, NVME_ERASE_RUNS);
	assert_string_equal(model.commands[0], "sanitize 4");
}

/* Somebody has put it in since, also while the other one was sanitized. */
/* promise M8 */
TEST(another_one_than_was_looked_at_is_not_erased)
{
	for (unsigned runs = 0; runs < 2; runs++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_nvme();
		_cleanup_(nvme_erase_clear) NvmeErase erase = { 0 };

		reset_model();
		model.sanitize.sstat = htole16((uint16_t)(2 * runs));
		assert_int_equal(begin_of(tree, NVME_WAY_SANITIZE_CRYPTO, "S2", &erase), 0);
		assert_null(model.commands);
		assert_int_equal(erase.end, NVME_ERASE_FAILED);
		assert_string_equal(erase.why, "its serial number is S1, and was S2");
	}
}

static void expect_untouched(SysfsTree *tree, int error)
{
	_cleanup_(nvme_erase_clear) NvmeErase erase = { 0 };

	assert_int_equal(begin(tree, NVME_WAY_SANITIZE_CRYPTO, &erase), error);
	assert_null(model.commands);
	if (error == 0)
		assert_int_equal(erase.end, NVME_ERASE_FAILED);
}

/* promise M8 */
TEST(nothing_is_erased_that_anybody_may_use)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_nvme();

	reset_model();
	model.busy = true;
	expect_untouched(tree, -EBUSY);
	reset_model();
	model.id.cmic = 3;
	model.controllers = 2;
	expect_untouched(tree, 0);
	reset_model();
	model.fails_of[1] = NVME_LOG_LID_SMART;
	expect_untouched(tree, 0);
	reset_model();
	model.active[1] = model.allocated[1] = htole32(2);
	expect_untouched(tree, 0);
	reset_model();
	tree_write(tree, CONTROLLER "nvme0n2/uevent", "");
	expect_untouched(tree, -EBUSY);
	tree_remove(tree, CONTROLLER "nvme0n2");
	tree_write(tree, "sys/class/nvme-subsystem/nvme-subsys0/nvme1/uevent", "");
	expect_untouched(tree, -EBUSY);
	tree_remove(tree, CONTROLLER);
	expect_untouched(tree, -ENODEV);
	tree_remove_function(tree, ADDRESS);
	expect_untouched(tree, -ENOENT);
}
