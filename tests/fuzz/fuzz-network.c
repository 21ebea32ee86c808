/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel says by netlink of network devices and RDMA, in which others chose names and
 * addresses: whatever it is, it ends in users that can be sent to the daemon, and be told.
 */
#include "core/facts/nic.h"
#include "fuzz.h"
#include "host/net/nic.h"
#include "rig/netlink-replay.h"
#include "util/json.h"
#include "util/text.h"

static void users_are_told(const NicUse *use)
{
	EXPECT(use->n_users <= NIC_USERS_MAX);
	for (size_t i = 0; i < use->n_users; i++) {
		_cleanup_free_ char *text = nic_user_text(&use->bdf, &use->users[i]);
		_cleanup_free_ char *remedy = nic_user_remedy(&use->users[i]);

		EXPECT(*text && *remedy);
		EXPECT(i == 0 || use->users[i - 1].kind <= use->users[i].kind);
	}
}

static void use_reads_again(const NicUse *use)
{
	_cleanup_json_ json_t *once = json_struct_write(nic_use_members, use), *twice = NULL;
	_cleanup_(nic_use_clear) NicUse again = { 0 };
	_cleanup_free_ char *why = NULL;

	EXPECT(once && json_struct_read(nic_use_members, once, NULL, &again, &why) == 0);
	twice = json_struct_write(nic_use_members, &again);
	EXPECT(json_equal(once, twice));
}

void fuzz_one(const char *bytes, size_t size, const char *text)
{
	static char *nets[] = { (char *)"eth0", NULL }, *rdmas[] = { (char *)"mlx5_0", NULL };
	static NicFolder folder = { .driver = (char *)"mlx5_core",
				    .nets = nets,
				    .rdmas = rdmas,
				    .rdma_module = (char *)"mlx5_ib" };
	NetlinkReplay kernel = { { netlink_replay }, bytes, size, 0, 0 };
	_cleanup_(nic_use_clear) NicUse use = { .bdf = { .bus = 0x42 } };
	Roots roots = { .modules_fd = -1 };
	int fd;

	fuzz_directory(&fd);
	roots.sysfs_fd = roots.proc_fd = fd;
	nic_users_tell(&roots, &kernel.netlink, &folder, &use);
	users_are_told(&use);
	use_reads_again(&use);
}
