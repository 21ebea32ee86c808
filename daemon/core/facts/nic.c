/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/nic.h"

#include "util/grow.h"
#include "util/text.h"

#include "nic.inc"

/* "eth5 VERB 10.0.0.5/24", and how the host lets go of it, where @ stands for eth5. */
static const struct {
	const char *verb, *remedy;
} kinds[NIC_USER_KIND_MAX_] = {
	[NIC_DEFAULT_ROUTE] = { "has a default route of the host:",
				"give the host another way out first, or leave this NIC out of the "
				"group: the host is reached by it" },
	[NIC_ELSEWHERE] = { "shows no device here: another network name space or port has it",
			    "find the container or name space that has it (ip netns; lsns -t net), "
			    "or the other port that it is bonded with, and end that" },
	[NIC_MASTER] = { "is a port of", "take it out: ip link set @ nomaster; of Open "
					 "vSwitch, ovs-vsctl del-port @ there" },
	[NIC_UPPER] = { "carries", "delete what stands on it: ip link delete NAME" },
	[NIC_SUBFUNCTION] = { "is a subfunction of it",
			      "devlink port show; devlink port delete; of vDPA, vdpa dev del" },
	[NIC_STORAGE] = { "is the way to", "unmount or disconnect that: umount; nvme disconnect" },
	[NIC_ADDRESS] = { "has the address",
			  "see that the network's own configuration leaves it alone, then: ip "
			  "address flush dev @; ip link set @ down" },
	[NIC_ROUTE] = { "has the route",
			"see that the network's own configuration leaves it alone, "
			"then: ip link set @ down" },
	[NIC_RDMA] = { "is used by", "stop it; rdma resource show has what it uses; of the kernel: "
				     "unload that module" },
	[NIC_UP] = { "is up, so that what is in another network name space may stand on it",
		     "ip link set @ down" },
};

static bool is_same(const NicUser *a, const NicUser *b)
{
	return a->kind == b->kind && a->pid == b->pid && str_equal(a->device, b->device) &&
	       str_equal(a->what, b->what) && str_equal(a->peer, b->peer);
}

void nic_use_add(NicUse *use, NicUser user)
{
	size_t of_kind = 0, place = 0;

	for (size_t i = 0; i < use->n_users; i++) {
		if (is_same(&use->users[i], &user)) {
			nic_user_clear(&user);
			return;
		}
		of_kind += use->users[i].kind == user.kind;
		place += use->users[i].kind <= user.kind;
	}
	if (of_kind == NIC_USERS_OF_KIND_MAX) {
		use->more++;
		nic_user_clear(&user);
		return;
	}
	(void)GROW(use->users, use->n_users);
	memmove(&use->users[place + 1], &use->users[place],
		(use->n_users - 1 - place) * sizeof(NicUser));
	use->users[place] = user;
}

void nic_use_unknown(NicUse *use, char *why)
{
	if (use->why)
		free(why);
	else
		use->why = why;
}

bool nic_use_vf_is_ruled(const NicUse *use)
{
	return use && use->vf_read && use->spoof_check && !use->trusted;
}

char *nic_user_text(const Bdf *bdf, const NicUser *user)
{
	const char *command = user->command ? user->command : "a process";
	_cleanup_free_ char *process =
		user->pid > 0 ? strf(" %s (pid %ld)", command, (long)user->pid) : NULL;
	_cleanup_free_ char *peer = user->peer ? strf(" %s", user->peer) : NULL;
	_cleanup_free_ char *what =
		user->what ? strf(user->peer ? " (%s)" : " %s", user->what) : NULL;

	return strf("%s: %s %s%s%s%s", BDF_TEXT(bdf), user->device, kinds[user->kind].verb,
		    str_or_empty(process), str_or_empty(peer), str_or_empty(what));
}

char *nic_user_remedy(const NicUser *user)
{
	/* Of "br0 over eth5" it is about br0. */
	_cleanup_free_ char *device = xstrndup(user->device, strcspn(user->device, " "));
	_cleanup_strv_ char **parts = NULL;

	strv_split(kinds[user->kind].remedy, "@", &parts);
	return strv_join(parts, device);
}
