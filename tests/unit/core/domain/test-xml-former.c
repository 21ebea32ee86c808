/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domains whose metadata has the name of versions before 0.9. */
#include "rig/test.h"

#include <string.h>

#include "core/domain/xml-tree.h"
#include "core/domain/xml-tune.h"
#include "rig/domains.h"

#define UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"
#define NEW DOMAIN_XML_NAMESPACE
#define OLD DOMAIN_XML_FORMER_NAMESPACE
#define DOMAIN(metadata)                                                                           \
	"<domain type=\"kvm\"><name>vm42</name><uuid>" UUID "</uuid><metadata>" metadata           \
	"</metadata></domain>\n"
#define MARK(name, group) "<g:assignment xmlns:g=\"" name "\" group=\"" group "\"/>"
#define OTHERS "<x:y xmlns:x=\"urn:x\" xmlns:z=\"" OLD "\" z:a=\"1\"> <z:b/>\t</x:y>"

static const Bdf functions[] = { { 0, 0x41, 0, 0 }, { 0, 0x61, 0, 0 } };
static const DomainXmlGpu pair[] = {
	{ .functions = { { 0, 0x41, 0, 0 } }, .n_functions = 1 },
	{ .functions = { { 0, 0x61, 0, 0 } }, .n_functions = 1 },
};

/* What a text reads as, and what of it a change writes, which reads as the same. */
static const struct {
	const char *text, *names, *written;
} rows[] = {
	{ DOMAIN(MARK(OLD, "a")), "a", DOMAIN(MARK(NEW, "a")) },
	{ DOMAIN(MARK(NEW, "a")), "a", DOMAIN(MARK(NEW, "a")) },
	{ DOMAIN("<assignment xmlns=\"" OLD "\" group=\"a\"/>"), "a",
	  DOMAIN("<assignment xmlns=\"" NEW "\" group=\"a\"/>") },
	{ DOMAIN("<!-- c -->  " OTHERS "\n" MARK(OLD, "a") "<?pi?>"), "a",
	  DOMAIN("<!-- c -->  " OTHERS "\n" MARK(NEW, "a") "<?pi?>") },
	/* What is in it, by a declaration of its own and of another prefix, too. */
	{ DOMAIN("<g:assignment xmlns:g=\"" OLD "\" group=\"a\">\n  <g:also group=\"b\"/>\n  "
		 "<h:also xmlns:h=\"" OLD "\" group=\"c\" h:by=\"d\"/><g:added what=\"w\" "
		 "value=\"v\"/><x:also xmlns:x=\"urn:x\" group=\"x\"/></g:assignment>"),
	  "a+b+c",
	  DOMAIN("<g:assignment xmlns:g=\"" NEW "\" group=\"a\">\n  <g:also group=\"b\"/>\n  "
		 "<h:also xmlns:h=\"" NEW "\" group=\"c\" h:by=\"d\"/><g:added what=\"w\" "
		 "value=\"v\"/><x:also xmlns:x=\"urn:x\" group=\"x\"/></g:assignment>") },
	/* Only others' elements have it: they are others'. */
	{ DOMAIN(OTHERS), "", DOMAIN(OTHERS) },
	{ DOMAIN("<g:other xmlns:g=\"" OLD "\" group=\"a\"/>"), "",
	  DOMAIN("<g:other xmlns:g=\"" OLD "\" group=\"a\"/>") },
	{ "<domain xmlns:g=\"" OLD "\"><name>a</name><uuid>" UUID "</uuid></domain>\n", "",
	  "<domain xmlns:g=\"" OLD "\"><name>a</name><uuid>" UUID "</uuid></domain>\n" },
	/* Declared around it: that goes if nobody else uses it. */
	{ "<domain xmlns:g=\"" OLD "\"><name>a</name><uuid>" UUID
	  "</uuid><metadata><g:assignment group=\"a\"><g:also group=\"b\" g:c=\"d\"/>"
	  "</g:assignment></metadata></domain>\n",
	  "a+b",
	  "<domain><name>a</name><uuid>" UUID "</uuid><metadata><g:assignment xmlns:g=\"" NEW
	  "\" group=\"a\"><g:also group=\"b\" g:c=\"d\"/></g:assignment></metadata></domain>\n" },
	{ "<domain><name>a</name><uuid>" UUID "</uuid><metadata xmlns:g=\"" OLD
	  "\"><x g:a=\"b\"/><g:assignment group=\"a\"/></metadata></domain>\n",
	  "a",
	  "<domain><name>a</name><uuid>" UUID "</uuid><metadata xmlns:g=\"" OLD
	  "\"><x g:a=\"b\"/><g:assignment xmlns:g=\"" NEW
	  "\" group=\"a\"/></metadata></domain>\n" },
	/* Both, as after a downgrade: one, where the first was. Each thing is said once. */
	{ DOMAIN(MARK(OLD, "a") OTHERS MARK(NEW, "a")), "a", DOMAIN(MARK(NEW, "a") OTHERS) },
	{ DOMAIN(MARK(NEW, "a") OTHERS MARK(OLD, "b")), "a+b",
	  DOMAIN("<g:assignment xmlns:g=\"" NEW "\" group=\"a\">\n      <g:also group=\"b\"/>\n    "
		 "</g:assignment>" OTHERS) },
	{ DOMAIN("<o:assignment xmlns:o=\"" OLD "\" group=\"a\"><o:also group=\"b\"/><o:added "
		 "what=\"w\" value=\"v\"/></o:assignment><g:assignment xmlns:g=\"" NEW
		 "\" group=\"b\"><g:also group=\"c\"/><g:added what=\"w\" value=\"v\"/><g:added "
		 "what=\"w\" value=\"u\"/><g:added what=\"w\"/></g:assignment>"),
	  "a+b+c",
	  DOMAIN("<o:assignment xmlns:o=\"" NEW "\" group=\"a\"><o:also group=\"b\"/><o:added "
		 "what=\"w\" value=\"v\"/><o:added what=\"w\" value=\"u\"/><o:also group=\"c\"/>"
		 "</o:assignment>") },
	{ DOMAIN("<g:assignment xmlns:g=\"" NEW "\"/>" MARK(OLD, "a")), "a",
	  DOMAIN(MARK(NEW, "a")) },
};

static void expect_names(size_t row, const DomainXml *xml)
{
	_cleanup_strv_ char **names = domain_xml_groups(xml);
	_cleanup_free_ char *text = strv_join(names, "+");

	if (!str_equal(text, rows[row].names))
		fail_msg("row %zu: %s", row, text);
}

TEST(both_names_are_read_and_todays_is_written)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(rows[i].text),
						      *skimmed = NULL;
		_cleanup_free_ char *written = domain_xml_to_text(xml);

		assert_int_equal(domain_xml_skim(rows[i].text, &skimmed, NULL), 0);
		expect_names(i, skimmed);
		expect_names(i, xml);
		if (!str_equal(written, rows[i].written))
			fail_msg("row %zu: %s", i, written);
		assert_true(domain_xml_equivalent(rows[i].text, written));
		assert_true(domain_xml_equivalent(written, rows[i].text));
	}
}

/*
 * Whoever reads the plan sees the line that a change writes anew: it brings today's name, or where that was beside it,
 * takes the former.
 */
TEST(the_difference_shows_the_name)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *diff = domain_xml_diff(rows[i].text, rows[i].written);

		assert_non_null(diff);
		if (str_equal(rows[i].text, rows[i].written) != (*diff == '\0'))
			fail_msg("row %zu: %s", i, diff);
		if (*diff && !strstr(diff, strstr(rows[i].text, NEW) ? OLD : NEW))
			fail_msg("row %zu: %s", i, diff);
	}
}

TEST(the_use_says_by_which_name_the_mark_is_there)
{
	static const struct {
		const char *text;
		bool former;
	} marks[] = {
		{ DOMAIN(MARK(OLD, "a")), true },
		{ DOMAIN(MARK(NEW, "a") MARK(OLD, "a")), true },
		{ DOMAIN(MARK(NEW, "a")), false },
		{ DOMAIN(MARK(NEW, "a") OTHERS), false },
		{ DOMAIN(""), false },
	};

	for (size_t i = 0; i < ELEMENTS(marks); i++) {
		_cleanup_(domain_use_clear) DomainUse use = { 0 };

		assert_int_equal(domain_use_from_xml(NULL, marks[i].text, &use, NULL), 0);
		if (use.former_mark != marks[i].former)
			fail_msg("row %zu", i);
	}
}

/* Nothing else is touched, and neither name is left. */
TEST(taking_out_removes_both_names_byte_for_byte)
{
	static const char *const marks[] = {
		"\n    " MARK(OLD, "pair0"),
		"\n    " MARK(NEW, "pair0"),
		"\n    " MARK(NEW, "pair0") "\n    " MARK(OLD, "pair0"),
		"\n    " MARK(OLD, "pair0") "\n    " MARK(NEW, "pair0"),
		"\n    <g:assignment xmlns:g=\"" OLD
		"\" group=\"pair0\"><g:added what=\"cpu\" value=\"x\"/></g:assignment>",
	};
	static const char form[] =
		"<domain type=\"kvm\">\n  <name>vm42</name>\n  <uuid>" UUID
		"</uuid>\n  <metadata>\n    <x:y xmlns:x=\"urn:x\" a=\"&#13;&lt;\"> </x:y>%s\n"
		"  </metadata>\n  <!-- c -->\n  <devices>\n    <emulator>/x</emulator>\n"
		"  </devices>\n</domain>\n";
	_cleanup_free_ char *clean = strf(form, "");

	for (size_t i = 0; i < ELEMENTS(marks); i++) {
		_cleanup_free_ char *text = strf(form, marks[i]), *after = NULL;
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);
		bool changed = false;

		domain_xml_remove_group(xml, "pair0", functions, ELEMENTS(functions), &changed);
		assert_true(changed);
		after = domain_xml_to_text(xml);
		assert_string_equal(after, clean);
	}
}

TEST(one_more_group_is_named_in_the_same_element)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(
		"<domain type=\"kvm\"><name>vm42</name><uuid>" UUID "</uuid><metadata>" MARK(
			OLD,
			"pair1") "</metadata><os><type machine=\"q35\">hvm</type></os></domain>");
	_cleanup_free_ char *text = NULL;

	assert_int_equal(domain_xml_add_group(xml, "pair0", pair, ELEMENTS(pair), NULL, NULL), 0);
	text = domain_xml_to_text(xml);
	assert_non_null(strstr(text, "<g:assignment xmlns:g=\"" NEW "\" group=\"pair1\">"
				     "\n      <g:also group=\"pair0\"/>\n    </g:assignment>"));
	assert_null(strstr(text, OLD));
}

/* The notes of --fit=apply count, also those beside. */
TEST(notes_of_both_names_are_undone)
{
	static const char text[] =
		"<domain type=\"kvm\">\n  <name>vm42</name>\n  <uuid>" UUID "</uuid>\n"
		"  <metadata>\n    <g:assignment xmlns:g=\"" OLD "\" group=\"pair0\">\n"
		"      <g:added what=\"vcpu-cpuset\" value=\"0-7\"/>\n    </g:assignment>\n"
		"    <n:assignment xmlns:n=\"" NEW "\" group=\"pair0\">\n"
		"      <n:added what=\"numatune\" value=\"preferred 0\"/>\n    </n:assignment>\n"
		"  </metadata>\n  <vcpu cpuset=\"0-7\">8</vcpu>\n"
		"  <numatune>\n    <memory mode=\"preferred\" nodeset=\"0\"/>\n  </numatune>\n"
		"</domain>\n";
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);
	_cleanup_free_ char *after = NULL;
	bool fit, numa, changed;

	domain_xml_tuned(xml, &fit, &numa);
	assert_true(numa && !fit);
	domain_xml_remove_group(xml, "pair0", functions, ELEMENTS(functions), &changed);
	after = domain_xml_to_text(xml);
	assert_string_equal(after, "<domain type=\"kvm\">\n  <name>vm42</name>\n  <uuid>" UUID
				   "</uuid>\n  <vcpu>8</vcpu>\n</domain>\n");
}

/* As libvirt hands out what an older version defined. */
TEST(what_older_versions_defined_is_taken_out)
{
	static const Bdf all[] = {
		{ 0, 0x41, 0, 0 }, { 0, 0x41, 0, 1 }, { 0, 0x61, 0, 0 }, { 0, 0x61, 0, 1 }
	};
	_cleanup_free_ char *text = domain_fixture("q35-assigned-before-0.9");
	_cleanup_free_ char *now = domain_fixture("q35-assigned"), *was = domain_fixture("q35");
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);
	_cleanup_free_ char *after = NULL;
	bool changed;

	assert_non_null(strstr(text, OLD));
	assert_true(domain_xml_equivalent(text, now));
	domain_xml_remove_group(xml, "pair0", all, ELEMENTS(all), &changed);
	after = domain_xml_to_text(xml);
	assert_true(domain_xml_equivalent(after, was));
}

/* A tenant writes what it likes there, by either name. */
TEST(of_what_tenants_write_beside_few_names_are_taken_and_all_is_written_by_todays)
{
	_cleanup_strv_ char **lines = NULL, **names = NULL;
	_cleanup_free_ char *many = NULL, *text = NULL, *after = NULL;
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;

	for (unsigned i = 0; i < 20000; i++)
		strv_appendf(&lines, "<a:also group='x%u'/><a:added what='w' value='%u'/>", i, i);
	many = strv_join(lines, "");
	text = strf(DOMAIN("<a:assignment xmlns:a='" OLD "' group='g'>%s</a:assignment>"
			   "<a:assignment xmlns:a='" NEW "' group='h'>%s</a:assignment>"),
		    many, many);
	xml = domain_parsed(text);
	names = domain_xml_groups(xml);
	assert_int_equal(strv_length(names), XML_NAMES_MAX);
	after = domain_xml_to_text(xml);
	assert_null(strstr(after, OLD));
}
