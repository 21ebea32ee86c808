/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/quota.h"

#include <errno.h>

bool quota_is_privileged(const Quota *quota, uid_t uid)
{
	return uid == 0 || uid == quota->own_uid;
}

static int take_privileged(Quota *quota)
{
	if (quota->n_privileged >= quota->all_max)
		return -EAGAIN;
	quota->n_privileged++;
	return 0;
}

int quota_take(Quota *quota, uid_t uid)
{
	size_t of_user = 0;

	if (quota_is_privileged(quota, uid))
		return take_privileged(quota);
	for (size_t i = 0; i < quota->n; i++)
		of_user += quota->users[i] == uid;
	if (of_user >= quota->user_max)
		return -EDQUOT;
	if (quota->n >= quota->all_max || quota->n >= QUOTA_MAX)
		return -EAGAIN;
	quota->users[quota->n++] = uid;
	return 0;
}

void quota_give(Quota *quota, uid_t uid)
{
	if (quota_is_privileged(quota, uid)) {
		if (quota->n_privileged > 0)
			quota->n_privileged--;
		return;
	}
	for (size_t i = 0; i < quota->n; i++) {
		if (quota->users[i] != uid)
			continue;
		quota->users[i] = quota->users[--quota->n];
		return;
	}
}
