/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the kernel's messages are about PCI devices. */
#include "rig/test.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "gpupass/cleanup.h"
#include "host/scan/uevent.h"

#define GPU "remove@/devices/pci0000:00/0000:00:01.0/0000:01:00.0\0"
#define NAMED "PCI_SLOT_NAME=0000:01:00.0\0"

TEST(only_a_whole_message_about_a_pci_device_counts)
{
	static const struct {
		const char *text;
		size_t size;
		UeventKind is;
	} rows[] = {
#define MESSAGE(text, is) { text, sizeof(text) - 1, is }
		MESSAGE(GPU "ACTION=remove\0SUBSYSTEM=pci\0SEQNUM=4711\0", UEVENT_UNKNOWN),
		MESSAGE(GPU "SUBSYSTEM=pci\0", UEVENT_UNKNOWN),
		MESSAGE(GPU "SUBSYSTEM=pci\0" NAMED, UEVENT_FUNCTION),
		MESSAGE(GPU NAMED "SUBSYSTEM=pci\0", UEVENT_FUNCTION),
		MESSAGE(GPU "SUBSYSTEM=pci\0PCI_SLOT_NAME=\0", UEVENT_UNKNOWN),
		MESSAGE(GPU "SUBSYSTEM=pci\0PCI_SLOT_NAME=01:00.0\0", UEVENT_UNKNOWN),
		MESSAGE(GPU "SUBSYSTEM=pci\0PCI_SLOT_NAME=0000:01:00.0/..\0", UEVENT_UNKNOWN),
		MESSAGE(GPU "SUBSYSTEM=drivers\0" NAMED, UEVENT_OTHER),
		MESSAGE(GPU "SUBSYSTEM=pci_bus\0", UEVENT_OTHER),
		MESSAGE(GPU "MODALIAS=SUBSYSTEM=pci\0", UEVENT_OTHER),
		MESSAGE(GPU, UEVENT_OTHER),
		/* udevd's own messages begin so. */
		MESSAGE("libudev\0SUBSYSTEM=pci\0" NAMED, UEVENT_OTHER),
		/* Cut off. */
		MESSAGE(GPU "SUBSYSTEM=pci", UEVENT_OTHER),
		MESSAGE("\0SUBSYSTEM=pci\0", UEVENT_OTHER),
		MESSAGE("", UEVENT_OTHER),
#undef MESSAGE
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Bdf bdf = { 0 };
		UeventKind is = uevent_parse(rows[i].text, rows[i].size, &bdf);

		if (is != rows[i].is)
			fail_msg("row %zu: %s: %d", i, rows[i].text, is);
		if (is == UEVENT_FUNCTION)
			assert_string_equal(BDF_TEXT(&bdf), "0000:01:00.0");
	}
}

static UeventChanges read_lines(const char *text, size_t size, size_t at_a_time)
{
	UeventChanges changes = { 0 };
	UeventLines lines = { 0 };

	for (size_t i = 0; i < size; i += at_a_time)
		uevent_lines_read(&lines, text + i, size - i < at_a_time ? size - i : at_a_time,
				  &changes);
	return changes;
}

/* The part is not trusted: what it may say is an address, or that it does not know. */
TEST(a_line_that_is_no_address_says_that_anything_may_have_changed)
{
	static const struct {
		const char *text;
		size_t size;
		size_t n;
		bool unknown;
	} rows[] = {
#define MESSAGE(text, n, unknown) { text, sizeof(text) - 1, n, unknown }
		MESSAGE("0000:01:00.0\n", 1, false),
		MESSAGE("0000:01:00.0\n0000:01:00.1\n0000:01:00.0\n", 2, false),
		MESSAGE("fffffff0:01:1f.7\n", 1, false),
		MESSAGE("\n", 0, true),
		MESSAGE("0000:01:00.0\n\n", 1, true),
		MESSAGE("0000:01:00.0", 0, false), /* its end is to come */
		MESSAGE("01:00.0\n", 0, true),
		MESSAGE("0000:01:00.8\n", 0, true),
		MESSAGE("0000:01:00.0 \n", 0, true),
		MESSAGE("0000:01:00.0\0\n", 0, true),
		MESSAGE("../../etc\n", 0, true),
		MESSAGE("00000000000000000000000000000000000000:01:00.0\n0000:01:00.0\n", 1, true),
#undef MESSAGE
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		for (size_t k = 1; k < 64; k++) {
			UeventChanges is = read_lines(rows[i].text, rows[i].size, k);

			if (is.n_functions != rows[i].n || is.unknown != rows[i].unknown)
				fail_msg("row %zu by %zu: %zu, %d", i, k, is.n_functions,
					 is.unknown);
		}
}

TEST(more_functions_than_can_be_named_are_unknown_ones)
{
	UeventChanges changes = { 0 };
	UeventLines lines = { 0 };

	for (unsigned i = 0; i <= SCAN_CHANGED_MAX; i++) {
		Bdf bdf = { .bus = (uint8_t)i };
		char line[UEVENT_LINE_MAX + 1];

		assert_false(changes.unknown);
		bdf_format(&bdf, line);
		strcat(line, "\n");
		uevent_lines_read(&lines, line, strlen(line), &changes);
	}
	assert_true(changes.unknown);
	assert_int_equal(changes.n_functions, SCAN_CHANGED_MAX);
}

TEST(what_does_not_come_from_the_kernel_is_no_message)
{
	static const char text[] = GPU "SUBSYSTEM=pci";
	Bdf bdf;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(uevent_receive(fds[0], &bdf), -EAGAIN);
	assert_int_equal(send(fds[1], text, sizeof(text), 0), sizeof(text));
	assert_int_equal(uevent_receive(fds[0], &bdf), UEVENT_OTHER);
	close(fds[0]);
	close(fds[1]);
}
