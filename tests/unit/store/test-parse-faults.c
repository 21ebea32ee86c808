/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory runs out at every allocation of every parser, once and for good: it says so, and leaves
 * nothing behind; what sanitizers see is a part of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/domain/xml.h"
#include "core/facts/boot-faults.h"
#include "core/facts/cpio-stream.h"
#include "core/facts/initramfs.h"
#include "core/facts/kept.h"
#include "core/facts/modprobe.h"
#include "core/facts/remains.h"
#include "core/links/declaration.h"
#include "core/pci/snapshot-json.h"
#include "core/plan/record.h"
#include "core/tenancy/tenancy.h"
#include "core/verify/guest-agent.h"
#include "core/verify/nvidia-smi.h"
#include "host/wire/document.h"
#include "host/wire/persistence.h"
#include "host/wire/probe.h"
#include "rig/libc-faults.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

#define FILE_MAX (1024U * 1024)

static const Bdf gpus[] = { { .bus = 0x41 }, { .bus = 0x61 } };

/* ---- documents of the state directory ---- */

/* PARSES(): the result is freed, and there is none after an error. */
#define PARSES(name, Type, call, destroy)                                                          \
	static int name(const char *text, size_t size)                                             \
	{                                                                                          \
		_cleanup_free_ _unused_ char *why = NULL;                                          \
		Type *ret = NULL;                                                                  \
		int r = call;                                                                      \
                                                                                                   \
		assert_true((r < 0) == !ret);                                                      \
		destroy(ret);                                                                      \
		return r;                                                                          \
	}

PARSES(assignment, Assignment, assignment_from_json(text, size, &ret, &why), assignment_free)
PARSES(kept, Assignment, kept_from_json(text, size, &ret, &why), assignment_free)
PARSES(tenant, TenantMark, tenant_mark_from_json(text, size, &ret, &why), tenant_mark_free)
PARSES(evidence, Evidence, evidence_from_text(text, size, &ret, &why), evidence_unref)
PARSES(snapshot, PciSnapshot, pci_snapshot_from_json(text, size, &ret, &why), pci_snapshot_free)
PARSES(boot, BootFaults, boot_faults_parse(text, size, &ret, &why), boot_faults_free)

/* From JSON, which libjansson has parsed before: NULL where that had no memory. */
#define READS(name, Type, call, destroy)                                                           \
	static int name(const char *text, size_t size)                                             \
	{                                                                                          \
		_cleanup_json_ json_t *json = json_loadb(text, size, 0, NULL);                     \
		_cleanup_free_ _unused_ char *why = NULL;                                          \
		Type *ret = NULL;                                                                  \
		int r = json ? call : -ENOMEM;                                                     \
                                                                                                   \
		assert_true((r < 0) == !ret);                                                      \
		destroy(ret);                                                                      \
		return r;                                                                          \
	}

READS(plan, Plan, plan_from_record(json, &ret, &why), plan_free)
READS(inspection, Inspection, inspection_from_json(json, &ret, &why), inspection_free)
READS(examination, Examination, examination_from_json(json, &ret, &why), examination_free)
READS(image, Initramfs, initramfs_from_json(json, &ret, &why), initramfs_free)

static int remains(const char *text, size_t size)
{
	Remains found = { 0 };
	int r = remains_scan(text, size, &found);

	remains_clear(&found);
	return r;
}

/* ---- answers of workers and guests ---- */

/* FILLS(): a struct of the caller's, which stays empty after an error. */
#define FILLS(name, Type, call, clear)                                                             \
	static int name(const char *text, size_t size)                                             \
	{                                                                                          \
		static const Type nothing;                                                         \
		Type ret = { 0 };                                                                  \
		int r = call;                                                                      \
                                                                                                   \
		assert_true(r >= 0 || memcmp(&ret, &nothing, sizeof(ret)) == 0);                   \
		clear(&ret);                                                                       \
		return r;                                                                          \
	}

static void forget(_unused_ const void *nothing_is_owned)
{
}

FILLS(move, DriverResult, worker_move_document_parse(text, size, &gpus[0], &ret),
      driver_result_clear)
FILLS(reset, ResetReport, worker_reset_document_parse(text, size, &gpus[0], &ret),
      reset_report_clear)
FILLS(health, GpuHealth, worker_examine_gpu_parse(text, size, &gpus[0], &ret), gpu_health_clear)
FILLS(probe, ProbeAnswer, probe_document_parse(text, size, gpus, 2, WAY_NVML, &ret),
      probe_answer_clear)
PARSES(inspect, Inspection, worker_inspect_document_parse(text, size, gpus, 1, &ret),
       inspection_free)
FILLS(smi_gpus, SmiGpus, smi_parse_gpus(text, size, &ret, NULL), forget)
FILLS(smi_topology, SmiMatrix, smi_parse_topology(text, size, &ret, NULL), forget)

static int persistence(const char *text, size_t size)
{
	GpuPersistence modes[2] = { 0 };
	int r = persistence_document_parse(text, size, gpus, 2, modes);

	gpu_persistence_clear(&modes[0]);
	gpu_persistence_clear(&modes[1]);
	return r;
}

static int guest_run(const char *text, _unused_ size_t size)
{
	GuestRun run = { 0 };
	bool ended = false;
	int r = agent_parse_status(text, &ended, &run);

	assert_true(r >= 0 || !run.out);
	guest_run_clear(&run);
	return r;
}

/* ---- what operators, packages and libvirt write ---- */

static int group(const char *text, _unused_ size_t size)
{
	_cleanup_(declarations_freep) Declarations *all = calloc(1, sizeof(*all));
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r = all ? declarations_parse(all, "a.conf", text, &problem) : -ENOMEM;

	assert_true(r == 0 || !all || all->n_items == 0);
	return r;
}

static int modprobe(const char *text, _unused_ size_t size)
{
	_cleanup_strv_ char **settings = NULL;
	_cleanup_free_ char *ids = NULL;
	const char *setting;
	int r = strv_split(text, "\n", &settings);

	return r < 0 ? r : modprobe_value(settings, settings, "vfio_pci", "ids", &ids, &setting);
}

static int domain_edit(const char *text, _unused_ size_t size)
{
	static const DomainXmlGpu gpu = { .functions = { { 0, 0x81, 0, 0 } }, .n_functions = 1 };
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *written = NULL;
	int r = domain_xml_parse(text, &xml, &problem);

	if (r == 0)
		r = domain_xml_add_group(xml, "pair1", &gpu, 1, &problem);
	if (r == 0)
		written = domain_xml_to_text(xml);
	return r == 0 && !written ? -ENOMEM : r;
}

static int domain_use(const char *text, _unused_ size_t size)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	DomainUse use = { 0 };
	int r = domain_use_from_xml(text, text, &use, &problem);

	assert_true(r == 0 || (!use.uuid && !use.hostdevs));
	domain_use_clear(&use);
	return r;
}

static int note_entry(const char *name, void *userdata)
{
	return initramfs_note_name(userdata, name);
}

static int note_content(const char *name, const char *text, void *userdata)
{
	return initramfs_note_content(userdata, name, text);
}

static int archive(const char *text, size_t size)
{
	_cleanup_(initramfs_freep) Initramfs *into = calloc(1, sizeof(*into));
	const CpioHandler handler = { note_entry, note_content, into };
	CpioStream stream;
	size_t used;
	int r;

	if (!into)
		return -ENOMEM;
	cpio_stream_init(&stream, &handler);
	r = cpio_stream_push(&stream, text, size, &used);
	cpio_stream_clear(&stream);
	return r;
}

/* ---- all of them ---- */

#define SEEDS FIXTURES "/../fuzz/corpus/"

static const struct {
	int (*parse)(const char *text, size_t size);
	const char *file;
} parsers[] = {
	{ assignment, FIXTURES "/documents/assignment-2.json" },
	{ kept, FIXTURES "/documents/kept.json" },
	{ tenant, FIXTURES "/documents/tenant.json" },
	{ evidence, FIXTURES "/documents/evidence.json" },
	{ snapshot, FIXTURES "/documents/snapshot.json" },
	{ boot, SEEDS "documents/boot" },
	{ plan, FIXTURES "/documents/plan.json" },
	{ inspection, FIXTURES "/documents/inspection.json" },
	{ examination, FIXTURES "/documents/examination.json" },
	{ image, FIXTURES "/documents/initramfs.json" },
	{ remains, FIXTURES "/documents/assignment-1.json" },
	{ move, SEEDS "worker/move" },
	{ reset, SEEDS "worker/reset" },
	{ health, SEEDS "worker/examine-gpu" },
	{ probe, SEEDS "worker/probe" },
	{ inspect, SEEDS "worker/inspect" },
	{ persistence, SEEDS "worker/persistence" },
	{ smi_gpus, FIXTURES "/guests/a30/gpus" },
	{ smi_topology, FIXTURES "/guests/a30/topo" },
	{ guest_run, SEEDS "guest/ended" },
	{ group, SEEDS "config/group" },
	{ modprobe, SEEDS "config/modprobe" },
	{ domain_edit, FIXTURES "/domains/q35.xml" },
	{ domain_use, FIXTURES "/domains/q35-assigned.xml" },
	{ archive, SEEDS "initramfs/plain" },
};

static char *read_file(const char *path, size_t *ret_size)
{
	char *text = NULL;

	if (file_read_at(AT_FDCWD, path, FILE_MAX, &text, ret_size) < 0)
		fail_msg("%s cannot be read", path);
	return text;
}

/*
 * libjansson keeps its memory here: when it has none, it leaves out characters of strings without a
 * word, or ends in a signal (2.14: results of strbuffer_append_byte() are not looked at).
 */
void *__real_malloc(size_t size); /* NOLINT: the linker's name */

static unsigned parse_with(size_t i, const char *text, size_t size, unsigned nth, bool for_good)
{
	unsigned calls;
	int r;

	libc_arm(LIBC_MEMORY, nth, for_good);
	json_set_alloc_funcs(__real_malloc, free);
	r = parsers[i].parse(text, size);
	calls = libc_disarm();
	if (r != (nth == 0 ? 0 : -ENOMEM))
		fail_msg("%s: %d after allocation %u of %u failed%s", parsers[i].file, r, nth,
			 calls, for_good ? " for good" : "");
	return calls;
}

/* fault 44 */
static void every_parser_says_when_it_has_no_memory(_unused_ void **state)
{
	for (size_t i = 0; i < ELEMENTS(parsers); i++) {
		size_t size = 0;
		_cleanup_free_ char *text = read_file(parsers[i].file, &size);
		unsigned calls;

		calls = parse_with(i, text, size, 0, false);
		assert_true(calls > 0);
		for (unsigned nth = 1; nth <= calls; nth++) {
			parse_with(i, text, size, nth, false);
			parse_with(i, text, size, nth, true);
		}
	}
}

/* Or it would be set aside, and its domain fenced. */
static void a_good_document_is_not_called_damaged_without_memory(_unused_ void **state)
{
	for (size_t i = 0; i < 5; i++) {
		size_t size = 0;
		_cleanup_free_ char *text = read_file(parsers[i].file, &size);

		libc_arm(LIBC_MEMORY, 1, true);
		assert_int_equal(parsers[i].parse(text, size), -ENOMEM);
		(void)libc_disarm();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_document_is_not_called_damaged_without_memory),
		cmocka_unit_test(every_parser_says_when_it_has_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
