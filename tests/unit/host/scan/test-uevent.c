/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the kernel's messages are about PCI devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "gpupass/cleanup.h"
#include "host/scan/uevent.h"

#define GPU "remove@/devices/pci0000:00/0000:00:01.0/0000:01:00.0\0"

static void only_a_whole_message_about_a_pci_device_counts(_unused_ void **state)
{
	static const struct {
		const char *text;
		size_t size;
		bool is;
	} rows[] = {
#define ROW(text, is) { text, sizeof(text) - 1, is }
		ROW(GPU "ACTION=remove\0SUBSYSTEM=pci\0SEQNUM=4711\0", true),
		ROW(GPU "SUBSYSTEM=pci\0", true),
		ROW(GPU "SUBSYSTEM=drivers\0", false),
		ROW(GPU "SUBSYSTEM=pci_bus\0", false),
		ROW(GPU "MODALIAS=SUBSYSTEM=pci\0", false),
		ROW(GPU, false),
		/* udevd's own messages begin so. */
		ROW("libudev\0SUBSYSTEM=pci\0", false),
		/* Cut off. */
		ROW(GPU "SUBSYSTEM=pci", false),
		ROW("\0SUBSYSTEM=pci\0", false),
		ROW("", false),
#undef ROW
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (uevent_is_of_pci(rows[i].text, rows[i].size) != rows[i].is)
			fail_msg("row %zu: %s", i, rows[i].text);
}

static void what_does_not_come_from_the_kernel_is_no_message(_unused_ void **state)
{
	static const char text[] = GPU "SUBSYSTEM=pci";
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(uevent_receive(fds[0]), -EAGAIN);
	assert_int_equal(send(fds[1], text, sizeof(text), 0), sizeof(text));
	assert_int_equal(uevent_receive(fds[0]), 0);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_whole_message_about_a_pci_device_counts),
		cmocka_unit_test(what_does_not_come_from_the_kernel_is_no_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
