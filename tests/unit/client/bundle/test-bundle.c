/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stand-ins, the words that get one, the archive, and which of the kernel's lines matter. */
#include "rig/test.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "bundle/archive.h"
#include "bundle/journal.h"
#include "bundle/secrets.h"

static void replaced(const StandIns *s, const char *text, const char *expected)
{
	_cleanup_free_ char *out = stand_ins_replace(s, text);

	assert_non_null(out);
	assert_string_equal(out, expected);
}

TEST(a_word_has_one_stand_in_everywhere)
{
	_cleanup_(stand_ins_freep) StandIns *s = stand_ins_new();

	stand_ins_add(s, SECRET_DOMAIN, "web");
	stand_ins_add(s, SECRET_DOMAIN, "db");
	stand_ins_add(s, SECRET_DOMAIN, "web-2");
	stand_ins_add(s, SECRET_DOMAIN, "WEB");
	stand_ins_add(s, SECRET_DOMAIN, "");
	stand_ins_settle(s);
	assert_int_equal(stand_ins_count(s, SECRET_DOMAIN), 3);
	replaced(s, "domain web, 'db'; Web.", "domain domain-0002, 'domain-0001'; domain-0002.");
	replaced(s, "web-2 web-22 webs cobweb dbx", "domain-0003 domain-0002-22 webs cobweb dbx");
	/* libvirt's name of a guest's unit, as systemd escapes it. */
	replaced(
		s, "machine-qemu\\x2d1\\x2dweb\\x2d2.scope machine-qemu\\x2d3\\x2ddb.scope",
		"machine-qemu\\x2d1\\x2ddomain-0003.scope machine-qemu\\x2d3\\x2ddomain-0001.scope");
}

/* libvirt drops characters of it, and its end; the address of a NIC begins as a pair of ids does. */
TEST(a_name_is_known_in_the_forms_that_others_give_it)
{
	_cleanup_(stand_ins_freep) StandIns *s = stand_ins_new();

	stand_ins_add(s, SECRET_DOMAIN, "acme_prod (old)");
	stand_ins_add(s, SECRET_DOMAIN,
		      "the-database-of-the-largest-of-our-customers-in-the-north-of-1");
	stand_ins_add(s, SECRET_HOST, "fd12:3456:789a::5/64");
	stand_ins_add(s, SECRET_DOMAIN, "10de:2204");
	stand_ins_settle(s);
	replaced(s, "\"/machine.slice/machine-qemu\\x2d12\\x2dacmeprodold.scope/x.scope\"",
		 "\"/machine.slice/machine-qemu\\x2d12\\x2ddomain-0002.scope/x.scope\"");
	replaced(s,
		 "machine-qemu\\x2d1\\x2dthe\\x2ddatabase\\x2dof\\x2dthe\\x2dlargest\\x2dof\\x2dour"
		 "\\x2dcustomers\\x2din\\x2dthe.scope",
		 "machine-qemu\\x2d1\\x2ddomain-0003.scope");
	replaced(s, "machine-qemu\\x2d1\\x2da.scope\\x2db.scope a.scope",
		 "machine-qemu\\x2d1\\x2ddomain.scope a.scope");
	replaced(s, "machine-qemu\\x2d1\\x2dgone.scope", "machine-qemu\\x2d1\\x2ddomain.scope");
	replaced(s, "eth5 has the address fd12:3456:789a::5/64, of 10de:2204",
		 "eth5 has the address host-0001, of 10de:2204");
}

TEST(a_name_that_is_a_word_of_the_report_stays)
{
	_cleanup_(stand_ins_freep) StandIns *s = stand_ins_new();

	stand_ins_add(s, SECRET_HOST, "gpu");
	stand_ins_add(s, SECRET_DOMAIN, "Linux");
	stand_ins_add(s, SECRET_DOMAIN, "gpu1");
	stand_ins_settle(s);
	replaced(s, "GPU 0000:41:00.0 of gpu1, linux", "GPU 0000:41:00.0 of domain-0001, linux");
}

/* Of names that are words of the documents as well, only those that are names get a stand-in. */
TEST(names_that_are_vocabulary_spoil_nothing)
{
	static const char *const names[] = { "vfio-pci", "assigned", "0000",	     "41",
					     "10de",	 "pair0",    "nvidia",	     "driver",
					     "0000:41",	 "the",	     "split-groups", "xhci_pci",
					     "Bus",	 "sleeping", "0000:41:00.0" };
	static const char text[] =
		"{\"groups\": [{\"name\": \"pair0\", \"state\": \"assigned\", \"driver\": \"vfio-pci\","
		" \"domain\": {\"name\": \"%s\", \"uuid\": null}}], \"bdf\": \"0000:41:00.0\","
		" \"checks\": [{\"id\": \"split-groups\", \"title\": \"no board is sleeping\"}],"
		" \"modules\": [\"xhci_pci\"], \"ids\": \"10de:2204\", \"what\": [\"the nvidia driver of"
		" 0000:41:00.0 (10de:2204) of pair0 is assigned, 41 times on the bus\"]}";
	_cleanup_free_ char *expected = strf(text, "domain-0001");
	json_t *wanted = json_loads(expected, 0, NULL);

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_(stand_ins_freep) StandIns *s = stand_ins_new();
		_cleanup_free_ char *given = strf(text, names[i]);
		json_t *document = json_loads(given, 0, NULL), *clean;

		assert_int_equal(secrets_of_json(s, document), 0);
		stand_ins_settle(s);
		clean = secrets_replace_json(s, document);
		if (!json_equal(clean, wanted))
			fail_msg("%s: %s", names[i], json_dumps(clean, 0));
		json_decref(clean);
		json_decref(document);
	}
	json_decref(wanted);
}

/* Each finds its words in `text`, and `expected` is what is left of it. */
static const struct {
	const char *text, *expected;
} found[] = {
	{ "GPU-1b5c0a2e-0001-4a5b-8c9d-0123456789AB.",
	  "GPU-00000000-0000-4000-8000-000000000001." },
	{ "serial:00-04-4b-FF-fe-00-12-34", "serial:00-00-00-00-00-00-00-01" },
	{ "eth0 52:54:00:12:34:56", "eth0 02:00:00:00:00:01" },
	{ "bridge 52-54-00-12-34-56 up", "bridge 02:00:00:00:00:01 up" },
	{ "NVRM: GPU Board Serial Number: 1650522003820",
	  "NVRM: GPU Board Serial Number: serial-0001" },
	{ "no serial number is known", "no serial number is known" },
	{ "/home/jane/x.qcow2 of jane", "/home/user-0001/x.qcow2 of user-0001" },
	{ "id 0123456789abcdef0123456789abcdef ends", "id 00000000000000000000000000000001 ends" },
	/* What must stay. */
	{ "0000:41:00.0 10de:2204 driver 550.54.15", "0000:41:00.0 10de:2204 driver 550.54.15" },
	{ "0xfd00000000000000 1a:2b:3c:4d:5e", "0xfd00000000000000 1a:2b:3c:4d:5e" },
};

TEST(words_are_found_by_their_form)
{
	for (size_t i = 0; i < ELEMENTS(found); i++) {
		_cleanup_(stand_ins_freep) StandIns *s = stand_ins_new();

		secrets_of_text(s, found[i].text);
		stand_ins_settle(s);
		replaced(s, found[i].text, found[i].expected);
	}
}

TEST(members_of_a_document_are_found_by_their_name)
{
	_cleanup_(stand_ins_freep) StandIns *s = stand_ins_new();
	json_t *document = json_loads(
		"{\"schema\": \"a.node7.b\", \"domain\": {\"name\": \"one\", \"uuid\": null},"
		" \"jobs\": [{\"domain\": \"two\"}], \"domains\": [\"three\", {\"name\": \"four\"}],"
		" \"domain_name\": \"five\", \"board_serial\": \"13A\", \"serial\": \"S6X\", \"user\": \"jo\","
		" \"group\": \"pair0\", \"text\": \"one two three four five 13A jo node7 pair0 "
		"x-eui_S6X\"}",
		0, NULL);
	json_t *clean;

	assert_non_null(document);
	assert_int_equal(secrets_of_json(s, document), 0);
	secrets_of_host(s, "node7.dc1.test");
	stand_ins_settle(s);
	clean = secrets_replace_json(s, document);
	assert_non_null(clean);
	assert_string_equal(json_string_value(json_object_get(clean, "schema")), "a.node7.b");
	assert_string_equal(json_string_value(json_object_get(clean, "text")),
			    "domain-0003 domain-0005 domain-0004 domain-0002 domain-0001 "
			    "serial-0001 user-0001 host-0002 pair0 x-eui_serial-0002");
	replaced(s, "node7.dc1.test", "host-0003");
	json_decref(clean);
	json_decref(document);
}

/* Seen on a real host: "user-0001 24.04.3 LTS". */
TEST(the_user_who_has_the_systems_name_hides_nothing)
{
	_cleanup_(stand_ins_freep) StandIns *s = stand_ins_new();

	secrets_of_passwd(s, "ubuntu:x:1000:1000::/home/ubuntu:/bin/bash\nubu:x:1001:1001::/:\n");
	secrets_of_text(s, "/home/ubuntu/x");
	secrets_of_system(s, "ubuntu");
	secrets_of_host(s, "node7");
	stand_ins_settle(s);
	replaced(s, "Ubuntu 24.04.3 LTS of ubuntu, ubu and node7",
		 "Ubuntu 24.04.3 LTS of ubuntu, user-0001 and host-0001");
}

/* A tenant's names for what is on a disk, and those that have its serial number in them. */
TEST(what_is_on_a_disk_is_found)
{
	_cleanup_(stand_ins_freep) StandIns *s = stand_ins_new();
	json_t *document = json_loads(
		"{\"aliases\": [\"/dev/disk/by-id/nvme-X_S1N9\"], \"serial\": \"S1N9\","
		" \"labels\": [{\"type\": \"vfat\", \"uuid\": \"AB12-CD34\", \"name\": \"acme\"},"
		" {\"name\": \"acme-logs\", \"part_name\": \"acme p\", \"part_uuid\": \"aa-01\"}],"
		" \"users\": [{\"device\": \"eth5\", \"host\": \"10.0.0.5/24\"}],"
		" \"text\": \"vfat acme AB12-CD34 acme-logs acme p aa-01 nvme-X_S1N9 10.0.0.5/24\"}",
		0, NULL);
	json_t *clean;
	_cleanup_free_ char *text = NULL;
	static const char *const secrets[] = { "acme", "AB12", "S1N9", "aa-01", "10.0.0.5" };

	assert_int_equal(secrets_of_json(s, document), 0);
	stand_ins_settle(s);
	clean = secrets_replace_json(s, document);
	text = json_dumps(clean, 0);
	for (size_t i = 0; i < ELEMENTS(secrets); i++)
		if (strstr(text, secrets[i]))
			fail_msg("%s is still in %s", secrets[i], text);
	assert_non_null(strstr(text, "\"type\": \"vfat\""));
	assert_non_null(strstr(text, "\"device\": \"eth5\""));
	json_decref(clean);
	json_decref(document);
}

TEST(users_are_the_people_of_passwd)
{
	_cleanup_(stand_ins_freep) StandIns *s = stand_ins_new();

	secrets_of_passwd(s, "root:x:0:0::/root:/bin/sh\n"
			     "jane:x:1000:1000:Jane:/home/jane:/bin/sh\n"
			     "broken\nnobody:x:65534:1::/:\n:x:1001:1::/:\n");
	stand_ins_settle(s);
	assert_int_equal(stand_ins_count(s, SECRET_USER), 1);
	replaced(s, "root jane nobody broken", "root user-0001 nobody broken");
}

TEST(the_same_files_give_the_same_archive)
{
	char name[ARCHIVE_NAME_MAX + 2];
	_cleanup_free_ char *out = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&out, &size);

	assert_non_null(f);
	assert_int_equal(archive_add(f, "a/empty", "", 0), 0);
	assert_int_equal(archive_add(f, "a/text", "hello\n", 6), 0);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(archive_add(f, name, "", 0), -EINVAL);
	assert_int_equal(archive_end(f), 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(size, 5 * 512);
	assert_string_equal(out, "a/empty");
	assert_string_equal(out + 512, "a/text");
	assert_memory_equal(out + 512 + 100, "0000644\0000000000\0000000000\0", 24);
	assert_string_equal(out + 512 + 124, "00000000006");
	assert_string_equal(out + 512 + 136, "00000000000");
	assert_memory_equal(out + 512 + 257, "ustar\00000root\0", 13);
	assert_memory_equal(out + 1024, "hello\n\0", 7);
}

TEST(lines_of_the_kernel_are_those_about_the_boards)
{
	char device[] = "0000:41:00.0", *devices[] = { device, NULL };

	assert_true(journal_kernel_line_matters("pcieport 0000:41:00.0: AER: corrected", devices));
	assert_true(journal_kernel_line_matters("NVRM: Xid (PCI:0000:09:00): 79", devices));
	assert_true(journal_kernel_line_matters("vfio-pci 0000:09:00.0: reset", devices));
	assert_true(journal_kernel_line_matters("DMAR: DRHD: handling fault", devices));
	assert_false(journal_kernel_line_matters("EXT4-fs (sda1): mounted", devices));
	assert_false(journal_kernel_line_matters("e1000e 0000:00:1f.6 eth0: up", NULL));
}
