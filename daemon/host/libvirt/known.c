/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of all domains. To read a thousand takes 50 ms here, and as much in libvirtd, so
 * that only those are read again of which libvirt has told
 * something. An event can be lost, and some changes have none (virsh attach-device --config): who
 * is about to write asks for a fresh reading.
 */
#include "host/libvirt/known.h"

#include <string.h>

#include "host/libvirt/libvirt.h"
#include "host/libvirt/uses.h"
#include "util/xalloc.h"

void virt_known_init(VirtKnown *known)
{
	pthread_mutex_init(&known->reading, NULL);
	pthread_mutex_init(&known->lock, NULL);
}

void virt_known_done(VirtKnown *known)
{
	domain_uses_free(known->uses);
	pthread_mutex_destroy(&known->reading);
	pthread_mutex_destroy(&known->lock);
}

static bool is_listed(const VirtChanges *changes, const char *uuid)
{
	for (size_t i = 0; i < changes->n; i++)
		if (strcmp(changes->uuids[i], uuid) == 0)
			return true;
	return false;
}

void virt_known_changed(Virt *virt, const char *uuid)
{
	VirtChanges *changes = &virt->known.changes;

	pthread_mutex_lock(&virt->known.lock);
	if (!uuid || (!is_listed(changes, uuid) && changes->n == ELEMENTS(changes->uuids)))
		changes->all = true;
	else if (!is_listed(changes, uuid))
		snprintf(changes->uuids[changes->n++], VIR_UUID_STRING_BUFLEN, "%s", uuid);
	pthread_mutex_unlock(&virt->known.lock);
}

/* What changes from here on is in the next ones, though this reading may see it. */
static VirtChanges take_changes(VirtKnown *known)
{
	VirtChanges changes;

	pthread_mutex_lock(&known->lock);
	changes = known->changes;
	known->changes = (VirtChanges){ .asked = changes.asked };
	pthread_mutex_unlock(&known->lock);
	return changes;
}

/* Whoever waits for a reading that began before it asked has the next one made, once for all. */
static uint64_t ask(VirtKnown *known)
{
	uint64_t asked;

	pthread_mutex_lock(&known->lock);
	asked = ++known->changes.asked;
	pthread_mutex_unlock(&known->lock);
	return asked;
}

/* One whose XML could not be read may be read now. */
static bool stays(const VirtChanges *changes, const DomainUse *use)
{
	return !use->unread && !is_listed(changes, use->uuid);
}

static int read_changed(const VirtCall *call, const VirtChanges *changes, DomainUses **uses,
			Problem **ret_problem)
{
	_cleanup_(domain_uses_freep) DomainUses *now = NULL;
	const DomainUses *then = *uses;
	size_t unread = 0;
	int r = 0;

	for (size_t i = 0; i < then->n_items; i++)
		unread += then->items[i].unread != NULL;
	if (changes->n == 0 && unread == 0)
		return 0;
	now = xcalloc(1, sizeof(DomainUses));
	now->items = xcalloc(then->n_items + changes->n + 1, sizeof(DomainUse));
	for (size_t i = 0; i < then->n_items; i++)
		if (stays(changes, &then->items[i]))
			domain_use_copy(&then->items[i], &now->items[now->n_items++]);
	for (size_t i = 0; r == 0 && i < changes->n; i++)
		r = virt_uses_read_one(call, changes->uuids[i], now, ret_problem);
	for (size_t i = 0; r == 0 && i < then->n_items; i++)
		if (then->items[i].unread && !is_listed(changes, then->items[i].uuid))
			r = virt_uses_read_one(call, then->items[i].uuid, now, ret_problem);
	if (r != 0)
		return r;
	domain_uses_free(*uses);
	*uses = TAKE_PTR(now);
	return 0;
}

/* Holds `reading`. */
static int renew(const VirtCall *call, uint64_t asked, Problem **ret_problem)
{
	VirtKnown *known = &call->virt->known;
	const VirtChanges changes = take_changes(known);
	int r;

	if (known->uses && known->connection == call->connection && !changes.all &&
	    known->answers >= asked) {
		r = read_changed(call, &changes, &known->uses, ret_problem);
	} else {
		known->uses = domain_uses_free(known->uses);
		r = virt_uses_read_all(call, &known->uses, ret_problem);
		known->answers = changes.asked;
		known->connection = call->connection;
	}
	if (r != 0) /* the changes are no longer listed */
		known->uses = domain_uses_free(known->uses);
	return r;
}

int virt_domain_uses(Virt *virt, bool fresh, DomainUses **ret, Problem **ret_problem)
{
	_cleanup_call_ VirtCall call = { 0 };
	uint64_t asked = fresh ? ask(&virt->known) : 0;
	int r = virt_call_begin(virt, &call, ret_problem);

	if (r != 0)
		return r;
	pthread_mutex_lock(&virt->known.reading);
	r = renew(&call, asked, ret_problem);
	if (r == 0)
		*ret = domain_uses_ref(virt->known.uses);
	pthread_mutex_unlock(&virt->known.reading);
	return r;
}
