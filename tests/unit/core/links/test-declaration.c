/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "rig/host-model.h"
#include "rig/rows.h"

#define UUID_A "GPU-1b5c0e4d-0a1b-2c3d-4e5f-60718293a4b5"
#define SERIAL_A "00-04-4b-ff-fe-ab-cd-ef"
#define PAIR0 "[Group]\nName=pair0\nGpu=0000:41:00.0\nGpu=0000:61:00.0\n"
#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

TEST(names_are_short_words_that_start_with_a_letter)
{
	static const char most[] = "a" TEN TEN TEN TEN TEN TEN "12"; /* 63 */

	expect_each("pair0|a|Rack-3_left.a", group_name_valid, true);
	expect_each("0pair|-pair|.pair|pair 0|pair/0|pair\n|p\xc3\xa4ir", group_name_valid, false);
	assert_true(group_name_valid(most));
	assert_false(group_name_valid("a" TEN TEN TEN TEN TEN TEN "123"));
	assert_false(group_name_valid(""));
	assert_false(group_name_valid(NULL));
}

static bool is_selector(const char *text)
{
	_cleanup_(selector_clear) Selector selector = { 0 };
	int r = selector_parse(text, &selector);

	assert_true(r == 0 || (r == -EINVAL && !selector.text));
	return r == 0;
}

TEST(selectors_are_told_apart_by_their_form)
{
	static const struct {
		const char *text;
		SelectorKind kind;
		const char *kept;
	} rows[] = {
		{ "41:00.0", SELECTOR_ADDRESS, "41:00.0" },
		{ "pci_0000_41_00_0", SELECTOR_ADDRESS, "pci_0000_41_00_0" },
		{ UUID_A, SELECTOR_UUID, UUID_A },
		{ "serial:" SERIAL_A, SELECTOR_SERIAL, SERIAL_A },
		{ "slot:3", SELECTOR_SLOT, "3" },
		{ "slot:8191-1", SELECTOR_SLOT, "8191-1" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(selector_clear) Selector selector = { 0 };

		assert_int_equal(selector_parse(rows[i].text, &selector), 0);
		assert_int_equal(selector.kind, rows[i].kind);
		assert_string_equal(selector.text, rows[i].kept);
	}
	expect_each("GPU-1b5c|" UUID_A "0|MIG-1b5c0e4d-0a1b-2c3d-4e5f-60718293a4b5|serial:|"
		    "serial:00-04-4b|slot:|slot:../3|slot:3\nName=x|slot:" HUNDRED "|pair0",
		    is_selector, false);
	assert_false(is_selector(""));
}

TEST(a_file_declares_one_group_a_section)
{
	static const char text[] = "\xef\xbb\xbf# bridges of rack 3\r\n"
				   "\n"
				   "[Group]\r\n"
				   "Name = pair0   ; left\r\n"
				   "  Gpu=0000:41:00.0\n"
				   "\tGpu=" UUID_A "\n"
				   "; the right one\n"
				   "[Group] # trailing\n"
				   "Gpu=slot:3\n"
				   "Gpu=serial:" SERIAL_A "\n"
				   "Gpu=00000000:C1:00.0\n"
				   "Name=trio"; /* no newline at the end */
	_cleanup_(declarations_freep) Declarations *d = calloc(1, sizeof(*d));
	Problem *problem = NULL;

	assert_int_equal(declarations_parse(d, "groups.d/a.conf", text, &problem), 0);
	assert_int_equal(d->n_items, 2);
	assert_string_equal(d->items[0].name, "pair0");
	assert_string_equal(d->items[0].source, "groups.d/a.conf:3");
	assert_int_equal(d->items[0].n_members, 2);
	assert_int_equal(d->items[0].members[0].address.bus, 0x41);
	assert_int_equal(d->items[0].members[1].kind, SELECTOR_UUID);
	assert_string_equal(d->items[1].name, "trio");
	assert_string_equal(d->items[1].source, "groups.d/a.conf:8");
	assert_int_equal(d->items[1].n_members, 3);
}

TEST(files_without_a_section_declare_nothing)
{
	static const char *const rows[] = { "", "\n\n", "# nothing\n", "; nothing",
					    "\xef\xbb\xbf" };
	_cleanup_(declarations_freep) Declarations *d = calloc(1, sizeof(*d));
	Problem *problem = NULL;

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		assert_int_equal(declarations_parse(d, "a.conf", rows[i], &problem), 0);
	assert_int_equal(d->n_items, 0);
}

TEST(mistakes_are_named_by_file_line_and_remedy)
{
	static const struct {
		const char *text, *reason;
	} rows[] = {
		{ "Name=x\n", "a.conf:1: Name= stands before the first section" },
		{ "[Pair]\n", "a.conf:1: unknown section [Pair]" },
		{ "[group]\n", "a.conf:1: unknown section [group]" },
		{ "[Group]\nName=x\nColour=red\n", "a.conf:3: unknown key Colour=" },
		{ "[Group]\nname=x\n", "a.conf:2: unknown key name=" },
		{ "[Group]\nName=x\nName=y\n", "a.conf:3: Name= is here for the second time" },
		{ "[Group]\nName=0x\n", "a.conf:2: \"0x\" is no group name" },
		{ "[Group]\nName=\n", "a.conf:2: \"\" is no group name" },
		{ "\n[Group]\n", "a.conf:2: this [Group] has no Name=" },
		{ "[Group]\nGpu=41:00.0\nGpu=61:00.0\n", "a.conf:1: this [Group] has no Name=" },
		{ "[Group]\nName=x\n", "a.conf:1: group x has 0 members; a group has 1 to 16" },
		{ "[Group]\nName=x\nGpu=41:00.9\n", "a.conf:3: Gpu=41:00.9 is no PCI address" },
		{ "[Group]\nName=x\nGpu=\n", "a.conf:3: Gpu= is no PCI address" },
		{ "[Group]\nName=x\nGpu=41:00.0 61:00.0\n", "a.conf:3: Gpu=41:00.0 61:00.0 is no" },
		{ "[Group]\nName=x\nGpu=41:00.0\nGpu=0000:41:00.0\n",
		  "a.conf:4: 0000:41:00.0 is a member of this group already" },
		/* the audio function is the same board */
		{ "[Group]\nName=x\nGpu=41:00.0\nGpu=41:00.1\n",
		  "a.conf:4: 41:00.1 is a member of this group already" },
		{ "[Group]\nName=x\nGpu=" UUID_A "\nGpu=GPU-1B5C0E4D-0A1B-2C3D-4E5F-60718293A4B5\n",
		  "a.conf:4: GPU-1B5C0E4D-0A1B-2C3D-4E5F-60718293A4B5 is a member of this" },
		{ PAIR0 "[Group]\nName=pair0\n",
		  "a.conf:6: group pair0 is declared already, in a.conf:1" },
		{ PAIR0 "[Group]\nName=pair1\nGpu=81:00.0\nGpu=61:00.0\n",
		  "a.conf:8: 61:00.0 is a member of another group already, declared in a.conf:1" },
		{ "[Group]\nName=x\nGpu=1:0\n", "a.conf:3: Gpu=1:0 is no PCI address" },
		{ "[Group]\nName=x\nGpu=01:00.0\nGpu=02:00.0\nGpu=03:00.0\nGpu=04:00.0\n"
		  "Gpu=05:00.0\nGpu=06:00.0\nGpu=07:00.0\nGpu=08:00.0\n"
		  "Gpu=09:00.0\nGpu=0a:00.0\nGpu=0b:00.0\nGpu=0c:00.0\nGpu=0d:00.0\n"
		  "Gpu=0e:00.0\nGpu=0f:00.0\nGpu=10:00.0\nGpu=11:00.0\n",
		  "a.conf:19: the group has more than 16 members" },
		{ "[Group]\nName=x\nnonsense\n", "a.conf:3: this line is neither a section nor" },
		{ "[Group\nName=x\n", "a.conf:1: this line is neither a section nor" },
		/* of two mistakes the first */
		{ "nonsense\n[Pair]\n", "a.conf:1: this line is neither" },
		{ "[Pair]\nnonsense\n", "a.conf:1: unknown section [Pair]" },
		{ "[Group]\nName=x\nGpu=" HUNDRED HUNDRED "\n",
		  "a.conf:3: the line is longer than 198 characters" },
		{ "[Group]\nName=x\n#" HUNDRED HUNDRED "\n",
		  "a.conf:3: the line is longer than 198 characters" },
		/* what is not ASCII goes to a terminal and over D-Bus as '?' */
		{ "[Group]\nName=\x1b[2J\xff\n", "a.conf:2: \"?[2J?\" is no group name" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(declarations_freep) Declarations *d = calloc(1, sizeof(*d));
		_cleanup_(problem_freep) Problem *problem = NULL;
		int r = declarations_parse(d, "a.conf", rows[i].text, &problem);

		if (r != PROBLEM || d->n_items != 0 ||
		    !str_starts_with(problem->reason, rows[i].reason))
			fail_msg("row %zu: %d, %s", i, r, problem ? problem->reason : "none");
		assert_int_equal(problem->error, GPUPASS_ERROR_INVALID_CONFIG);
		assert_false(str_is_empty(problem->remedy));
	}
}

TEST(what_one_file_declares_no_other_may)
{
	static const struct {
		const char *text, *reason;
	} rows[] = {
		{ "[Group]\nName=pair0\nGpu=81:00.0\nGpu=a1:00.0\n",
		  "b.conf:2: group pair0 is declared already, in groups.d/test.conf:1" },
		{ "[Group]\nName=pair1\nGpu=41:00.0\nGpu=81:00.0\n",
		  "b.conf:3: 41:00.0 is a member of another group already, declared in "
		  "groups.d/test.conf:1" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_(host_done) HostModel h = host_new();

		host_declare(&h, PAIR0);
		assert_int_equal(
			declarations_parse(h.declarations, "b.conf", rows[i].text, &problem),
			PROBLEM);
		assert_string_equal(problem->reason, rows[i].reason);
		assert_int_equal(h.declarations->n_items, 1);
	}
}

TEST(more_declarations_than_any_host_needs_are_refused)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r = 0;
	unsigned i;
	_cleanup_(host_done) HostModel h = host_new();

	for (i = 0; r == 0 && i < 1000; i++) {
		_cleanup_free_ char *text =
			strf("[Group]\nName=g%u\nGpu=%04x:01:00.0\nGpu=%04x:02:00.0\n", i, i, i);

		r = declarations_parse(h.declarations, "a.conf", text, &problem);
	}
	assert_int_equal(r, PROBLEM);
	assert_int_equal(h.declarations->n_items, 256);
}

TEST(the_text_of_a_declaration_reads_back)
{
	char *members[] = { (char *)"0000:41:00.0", (char *)"slot:3", NULL };
	char *companions[] = { (char *)"vf:42:00.0", (char *)"nvme:0000:43:00.0", NULL };
	_cleanup_free_ char *text = declaration_to_text(&(DeclareWish){ .name = (char *)"pair0",
									.members = members,
									.companions = companions,
									.whole_nic = true,
									.erase = true,
									.vlan = 4094 });
	_cleanup_(host_done) HostModel h;

	assert_string_equal(text, "[Group]\nName=pair0\nGpu=0000:41:00.0\nGpu=slot:3\n"
				  "With=vf:0000:42:00.0\nWith=nvme:0000:43:00.0\n"
				  "WholeNic=yes\nErase=yes\nVlan=4094\n");
	h = host_new();
	host_declare(&h, text);
	assert_string_equal(h.declarations->items[0].name, "pair0");
	assert_int_equal(h.declarations->items[0].n_members, 2);
	assert_int_equal(h.declarations->items[0].n_companions, 2);
	assert_string_equal(MEMBER_TEXT(&h.declarations->items[0].companions[1]),
			    "nvme:0000:43:00.0");
	assert_true(h.declarations->items[0].whole_nic && h.declarations->items[0].erase);
	assert_int_equal(h.declarations->items[0].vlan, 4094);
}

TEST(nothing_gets_into_a_file_that_reads_as_another_line)
{
	char *good[] = { (char *)"41:00.0", (char *)"61:00.0", NULL };
	char *bad[] = { (char *)"41:00.0", (char *)"slot:3\n[Group]", NULL };

	char *companion[] = { (char *)"nic:42:00.0\nGpu=x", NULL };

	assert_null(declaration_to_text(
		&(DeclareWish){ .name = (char *)"pair0\nGpu=x", .members = good }));
	assert_null(declaration_to_text(&(DeclareWish){ .name = (char *)"pair0", .members = bad }));
	assert_null(declaration_to_text(&(DeclareWish){
		.name = (char *)"pair0", .members = good, .companions = companion }));
}

static Gpu *resolve(const HostModel *h, const char *text, char **why)
{
	Selector selector;
	Gpu *gpu;

	assert_int_equal(selector_parse(text, &selector), 0);
	gpu = selector_resolve(&selector, h->set, why);
	selector_clear(&selector);
	return gpu;
}

TEST(selectors_find_their_gpu_or_say_why_not)
{
	static const struct {
		const char *selector;
		int gpu; /* -1: none */
		const char *why;
	} rows[] = {
		{ "0000:41:00.0", 0, NULL },
		{ "0000:61:00.1", 1, NULL },
		{ UUID_A, 0, NULL },
		{ "serial:00-04-4B-FF-FE-AB-CD-EF", 1, NULL },
		{ "slot:3", 0, NULL },
		{ "0000:81:00.0", -1, "there is no NVIDIA GPU at 0000:81:00.0" },
		{ "slot:9", -1, "no GPU is in physical slot 9" },
		{ "slot:4", -1, "both 0000:61:00.0 and 0000:a1:00.0 answer to 4" },
		{ "serial:00-00-00-00-00-00-00-00", -1, "no GPU is known with serial number" },
		{ "GPU-00000000-0000-0000-0000-000000000000", -1, "no GPU is known as GPU-0" },
	};
	_cleanup_(host_done) HostModel h = host_new();

	host_gpu(&h, "0000:41:00", 0x2204, NULL);
	host_gpu(&h, "0000:61:00", 0x2204, NULL);
	host_gpu(&h, "0000:a1:00", 0x2204, NULL);
	h.snapshot->functions[0]->physical_slot = strdup("3");
	h.snapshot->functions[2]->physical_slot = strdup("4");
	h.snapshot->functions[4]->physical_slot = strdup("4");
	host_seal(&h);
	h.set->gpus[0].uuid = strdup(UUID_A);
	h.set->gpus[1].serial_number = strdup(SERIAL_A);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *why = NULL;
		Gpu *gpu = resolve(&h, rows[i].selector, &why);
		Gpu *expected = rows[i].gpu < 0 ? NULL : &h.set->gpus[rows[i].gpu];

		if (gpu != expected ||
		    (rows[i].why ? !why || !str_starts_with(why, rows[i].why) : why != NULL))
			fail_msg("row %zu, %s: %s", i, rows[i].selector, str_or_empty(why));
	}
}
