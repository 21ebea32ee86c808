/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/checks/checks.h"
#include "rig/host-model.h"

#define GPU "0000:41:00.0"
#define MIB (UINT64_C(1) << 20)

/* A display function, and what was seen of it and of its host. */
typedef struct Seen {
	PciFunction function;
	FunctionFacts facts;
	BarHolder holders[3];
	Inspection inspection;
	HostFacts host;
} Seen;

static void board_init(Seen *b)
{
	*b = (Seen){
		.function = {
			.bdf = bdf_of(GPU),
			.vendor = PCI_VENDOR_NVIDIA,
			.class_code = 0x030000,
			.driver = (char *)"vfio-pci",
			.iommu_group = 33,
			.bar_size = { 16 * MIB, 256 * MIB, 0, 32 * MIB, 0, 128, 512 << 10 },
		},
		.facts = { .bdf = bdf_of(GPU), .device_minor = -1 },
		.inspection = { .n_functions = 1, .interrupts_known = true,
				.interrupts_remapped = true, .vfio_pci = true },
	};
	b->inspection.functions = &b->facts;
	b->facts.bar_holders = b->holders;
}

static void held_by(Seen *b, int bar, const char *name)
{
	b->holders[b->facts.n_bar_holders++] = (BarHolder){ .bar = bar, .name = (char *)name };
}

static void nothing(Seen *b _unused_)
{
}

/* field: host/09 */
static void bar_unset(Seen *b)
{
	b->facts.bars_unset = 1 << 1;
}

static void bars_unset(Seen *b)
{
	b->facts.bars_unset = 1 << 1 | 1 << 3;
}

/* field: host/09, as Linux before 6.15 shows it */
static void bar_cleared(Seen *b)
{
	b->function.bar_size[1] = 0;
}

/* The BARs of an H100 have 64 bits, so that they are 0, 2 and 4. */
static void hopper(Seen *b)
{
	b->function.bar_size[1] = b->function.bar_size[3] = 0;
	b->function.bar_size[2] = UINT64_C(128) << 30;
	b->function.bar_size[4] = 32 * MIB;
}

static void hopper_cleared(Seen *b)
{
	hopper(b);
	b->function.bar_size[2] = 0;
}

/* What the lab's emulated boards are: NVMe functions, and NVIDIA only by their ids. */
static void emulated(Seen *b)
{
	for (size_t i = 0; i < PCI_BARS; i++)
		b->function.bar_size[i] = i == 0 ? 16 << 10 : 0;
}

static void other_maker(Seen *b)
{
	bar_cleared(b);
	b->function.vendor = 0x1a03;
}

static void virtual_function(Seen *b)
{
	bar_cleared(b);
	b->function.virtual_function = true;
}

static void sizes_unknown(Seen *b)
{
	for (size_t i = 0; i < PCI_BARS; i++)
		b->function.bar_size[i] = 0;
}

static void audio_bar_unset(Seen *b)
{
	b->function.class_code = 0x040300;
	b->facts.bars_unset = 1;
}

/* field: host/03 */
static void bootfb(Seen *b)
{
	held_by(b, 1, "BOOTFB");
}

static void bootfb_and_simpledrm(Seen *b)
{
	held_by(b, 1, "BOOTFB, simpledrm");
}

static void bootfb_on_nvidia(Seen *b)
{
	bootfb_and_simpledrm(b);
	b->function.driver = (char *)"nvidia";
}

static void efifb_somewhere(Seen *b)
{
	held_by(b, -1, "efifb");
}

static void two_bars_held(Seen *b)
{
	held_by(b, 1, "vesafb");
	held_by(b, 3, "BOOTFB");
}

static void direct(Seen *b)
{
	b->facts.direct_region = (char *)"0x00000000bdf6e000-0x00000000bdf81fff";
}

static void direct_on_amd(Seen *b)
{
	direct(b);
	b->host = (HostFacts){ .cpu_vendor = CPU_VENDOR_AMD, .kernel_major = 6, .kernel_minor = 6 };
}

static void direct_on_amd_before(Seen *b)
{
	direct_on_amd(b);
	b->host.kernel_minor = 5;
}

static void direct_before_relaxable(Seen *b)
{
	direct(b);
	b->host = (HostFacts){ .kernel_major = 5, .kernel_minor = 2 };
}

/* field: host/25 */
static void not_remapped_unsafe(Seen *b)
{
	b->inspection.interrupts_remapped = false;
	b->inspection.unsafe_interrupts = true;
}

static void not_remapped(Seen *b)
{
	b->inspection.interrupts_remapped = false;
}

static void remapping_unknown(Seen *b)
{
	b->inspection.interrupts_known = b->inspection.interrupts_remapped = false;
}

/* What the register says of it, and what that means for a plan. */
static char *told(Seen *b, bool iommu)
{
	PciFunction *function = &b->function;
	PciSnapshot snapshot = { .iommu = iommu, .functions = &function, .n_functions = 1 };
	const PciFunction *list = function;
	const Gpu gpu = { .lead = function, .functions = &list, .n_functions = 1 };
	const Gpu *gpus = &gpu;
	const GroupSet groups = { 0 };
	const DomainUses uses = { 0 };
	const CheckFacts facts = {
		.snapshot = &snapshot,
		.groups = &groups,
		.uses = &uses,
		.inspection = &b->inspection,
		.machine = &b->host,
	};
	_cleanup_(checks_clear) Checks c = { .facts = &facts, .gpus = &gpus, .n_gpus = 1 };
	_cleanup_(findings_clear) Findings found = checks_run(&c, REFUSES_TAKING | WARNS_TAKING);
	_cleanup_strv_ char **lines = NULL;

	for (size_t i = 0; i < found.n_items; i++)
		for (size_t k = 0; k < found.items[i].n_lines; k++) {
			const FindingLine *line = &found.items[i].lines[k];

			if (line->status >= FINDING_WARN)
				strv_appendf(&lines, "%s: %s; %s",
					     line->bars			    ? "refuses"
					     : line->status == FINDING_FAIL ? "fails"
									    : "warns",
					     line->what, line->remedy);
		}
	return strv_join(lines, "\n");
}

TEST(what_keeps_a_guest_from_a_board_is_told)
{
	static const struct {
		const char *name;
		void (*fault)(Seen *b);
		const char *words[4]; /* all in what is told; NULL: nothing is */
	} rows[] = {
		{ "nothing", nothing, { NULL } },
		ROW("BAR 1 unset", bar_unset,
		    { "refuses: " GPU ": BAR 1 has no address on this host: no guest can use the "
		      "board; ",
		      "Above 4G decoding" }),
		{ "two BARs", bars_unset, { "BARs 1, 3 have no address" } },
		{ "BAR 1 cleared", bar_cleared, { "the BAR of the memory (BAR 1, or 2" } },
		{ "an H100", hopper, { NULL } },
		ROW("an H100's memory", hopper_cleared,
		    { "refuses: " GPU ": the BAR of the memory" }),
		{ "the lab's boards", emulated, { NULL } },
		{ "a board of another maker", other_maker, { NULL } },
		{ "a virtual function", virtual_function, { NULL } },
		{ "sizes that are not known", sizes_unknown, { NULL } },
		{ "audio", audio_bar_unset, { "warns: " GPU ": BAR 0", "can use the function" } },
		ROW("BOOTFB", bootfb,
		    { "warns: " GPU
		      ": the firmware framebuffer (BOOTFB) holds BAR 1: a guest's start "
		      "gives \"BAR 1: can't reserve\", and the guest cannot use the board; boot with "
		      "initcall_blacklist=sysfb_init, or" }),
		ROW("simpledrm", bootfb_and_simpledrm,
		    { "(BOOTFB, simpledrm) holds BAR 1", "if it is still there" }),
		{ "still on nvidia", bootfb_on_nvidia, { "where vfio-pci does not end it" } },
		ROW("efifb in a BAR that is not known", efifb_somewhere,
		    { "(efifb) holds a BAR", "gives \"can't reserve\"",
		      "initcall_blacklist=sysfb_init video=efifb:off, or" }),
		ROW("two BARs held", two_bars_held,
		    { "(vesafb) holds BAR 1", "video=vesafb:off", "\nwarns: " GPU,
		      "(BOOTFB) holds BAR 3" }),
		{ "an RMRR", direct, { "refuses: ", "bdf6e000-0x", "IOMMU group 33" } },
		{ "on AMD, Linux 6.6", direct_on_amd, { "refuses: ", "platform RMRR" } },
		{ "on AMD, Linux 6.5", direct_on_amd_before, { NULL } },
		{ "Linux 5.2", direct_before_relaxable, { NULL } },
		ROW("unsafe interrupts", not_remapped_unsafe,
		    { "warns: vfio_iommu_type1 allows unsafe interrupts; take "
		      "allow_unsafe_interrupts out",
		      "\nfails: interrupts are not remapped: a guest can raise interrupts of the "
		      "host; " }),
		{ "no remapping", not_remapped, { "fails: ", "vfio refuses to give" } },
		{ "remapping that is not known", remapping_unknown, { NULL } },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = NULL;
		Seen b;

		board_init(&b);
		rows[i].fault(&b);
		text = told(&b, true);
		if (!rows[i].words[0] && *text)
			fail_msg("%s: %s", rows[i].name, text);
		for (size_t k = 0; k < ELEMENTS(rows[i].words) && rows[i].words[k]; k++)
			if (!strstr(text, rows[i].words[k]))
				fail_msg("%s: no \"%s\" in %s", rows[i].name, rows[i].words[k],
					 text);
	}
}

/* field: host/29 */
TEST(what_turns_the_iommu_on_depends_on_what_turned_it_off)
{
	static const char vt_d_asked[] = "enable VT-d in the firmware: the kernel command line has "
					 "intel_iommu=on already";
	static const struct {
		const char *words;
		CpuVendor vendor;
		IommuTable table;
		bool guest;
		const char *remedy; /* it begins with this */
	} rows[] = {
		{ "", CPU_VENDOR_UNKNOWN, IOMMU_TABLE_UNKNOWN, false,
		  "enable VT-d or AMD-Vi in the firmware and boot with intel_iommu=on (Intel)" },
		{ "intel_iommu=on", CPU_VENDOR_UNKNOWN, IOMMU_TABLE_UNKNOWN, false,
		  "enable VT-d or AMD-Vi in the firmware: the kernel command line has "
		  "intel_iommu=on already" },
		{ "", CPU_VENDOR_INTEL, IOMMU_TABLE_UNKNOWN, false,
		  "enable VT-d in the firmware and boot with intel_iommu=on" },
		{ "", CPU_VENDOR_INTEL, IOMMU_TABLE_NONE, false,
		  "enable VT-d in the firmware and boot with intel_iommu=on" },
		{ "iommu=pt", CPU_VENDOR_INTEL, IOMMU_TABLE_THERE, false,
		  "boot with intel_iommu=on" },
		{ "intel_iommu=on", CPU_VENDOR_INTEL, IOMMU_TABLE_UNKNOWN, false, vt_d_asked },
		{ "intel_iommu=on,sm_on", CPU_VENDOR_INTEL, IOMMU_TABLE_NONE, false,
		  "enable VT-d in the firmware, which describes no IOMMU: the kernel command line "
		  "has intel_iommu=on,sm_on already" },
		{ "intel_iommu=on", CPU_VENDOR_INTEL, IOMMU_TABLE_THERE, false,
		  "the firmware describes an IOMMU and the command line has intel_iommu=on: dmesg" },
		{ "", CPU_VENDOR_AMD, IOMMU_TABLE_UNKNOWN, false, "enable AMD-Vi (IOMMU)" },
		{ "intel_iommu=on", CPU_VENDOR_AMD, IOMMU_TABLE_NONE, false,
		  "enable AMD-Vi (IOMMU)" },
		{ "amd_iommu=on", CPU_VENDOR_AMD, IOMMU_TABLE_THERE, false,
		  "the firmware describes an IOMMU: dmesg" },
		/* The kernel takes one word after the other. */
		{ "intel_iommu=off", CPU_VENDOR_UNKNOWN, IOMMU_TABLE_UNKNOWN, false,
		  "take intel_iommu=off off the kernel command line, and reboot" },
		{ "intel_iommu=off intel_iommu=on", CPU_VENDOR_INTEL, IOMMU_TABLE_UNKNOWN, false,
		  vt_d_asked },
		{ "intel_iommu=on intel_iommu=igfx_off", CPU_VENDOR_INTEL, IOMMU_TABLE_UNKNOWN,
		  false, vt_d_asked },
		{ "intel_iommu=on intel_iommu=off", CPU_VENDOR_INTEL, IOMMU_TABLE_THERE, false,
		  "take intel_iommu=off off" },
		{ "iommu=off intel_iommu=on iommu=pt", CPU_VENDOR_INTEL, IOMMU_TABLE_THERE, false,
		  "take iommu=off off" },
		{ "iommu=pt,off", CPU_VENDOR_AMD, IOMMU_TABLE_THERE, false,
		  "take iommu=pt,off off" },
		{ "amd_iommu=off amd_iommu=on", CPU_VENDOR_AMD, IOMMU_TABLE_THERE, false,
		  "take amd_iommu=off off" },
		/* Of the other maker's IOMMU. */
		{ "intel_iommu=off", CPU_VENDOR_AMD, IOMMU_TABLE_NONE, false,
		  "enable AMD-Vi (IOMMU)" },
		{ "amd_iommu=off intel_iommu=on", CPU_VENDOR_INTEL, IOMMU_TABLE_UNKNOWN, false,
		  vt_d_asked },
		{ "intel_iommu=offline", CPU_VENDOR_INTEL, IOMMU_TABLE_THERE, false,
		  "boot with intel_iommu=on" },
		{ "intel_iommu=on", CPU_VENDOR_INTEL, IOMMU_TABLE_NONE, true,
		  "this host is itself a virtual machine" },
		{ "", CPU_VENDOR_INTEL, IOMMU_TABLE_THERE, true, "boot with intel_iommu=on" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		static const char refuses[] =
			"refuses: the IOMMU is off: the kernel has no IOMMU groups; ";
		_cleanup_strv_ char **words = NULL;
		_cleanup_free_ char *text = NULL;
		Seen b;

		board_init(&b);
		b.host = (HostFacts){ .cpu_vendor = rows[i].vendor,
				      .iommu_table = rows[i].table,
				      .virtual_machine = rows[i].guest };
		strv_split(rows[i].words, " ", &words);
		b.host.iommu_words = words;
		text = told(&b, false);
		if (!str_starts_with(text, refuses) ||
		    !str_starts_with(text + strlen(refuses), rows[i].remedy))
			fail_msg("row %zu: %s", i, text);
	}
}
