/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define FILE_MAX (1024U * 1024)
#define DAMAGED_FILE TOPOLOGY_FILE ".damaged"

int topology_store_open(const char *state_directory, TopologyStore *ret)
{
	*ret = (TopologyStore){ .dir_fd = -1 };
	pthread_mutex_init(&ret->lock, NULL);
	return dir_open_private(state_directory, &ret->dir_fd);
}

void topology_store_close(TopologyStore *store)
{
	store->dir_fd = close_fd(store->dir_fd);
	store->current = evidence_unref(store->current);
	pthread_mutex_destroy(&store->lock);
}

/* -ENOENT: there is none. */
static int read_file(const TopologyStore *store, Evidence **ret, char **ret_why)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = file_read_state_at(store->dir_fd, TOPOLOGY_FILE, FILE_MAX, &text, &size);

	return r < 0 ? r : evidence_from_text(text, size, ret, ret_why);
}

/* Does not overwrite an earlier damaged file. A new probe can restore all of its content. */
static int set_aside(const TopologyStore *store)
{
	if (renameat2(store->dir_fd, TOPOLOGY_FILE, store->dir_fd, DAMAGED_FILE, RENAME_NOREPLACE) <
	    0)
		return -errno;
	return 0;
}

static void note_unread(TopologyStore *store, int error, const char *why, char ***notes)
{
	int r;

	if (error == -EPROTO) {
		store->foreign = true;
		strv_appendf(notes,
			     TOPOLOGY_FILE " was written by another version (%s); it is left "
					   "alone, and what is probed now is not kept over "
					   "a restart",
			     str_or_empty(why));
		return;
	}
	r = set_aside(store);
	strv_appendf(notes,
		     TOPOLOGY_FILE " cannot be understood (%s); it was %s%s; look at the "
				   "links again: gpupass probe",
		     why ? why : file_state_error(error),
		     r < 0 ? "left in place: " : "set aside as " DAMAGED_FILE,
		     r < 0 ? strerror(-r) : "");
}

char **topology_store_load(TopologyStore *store)
{
	_cleanup_free_ char *why = NULL;
	Evidence *evidence = NULL;
	char **notes = NULL;
	int r = read_file(store, &evidence, &why);

	if (r < 0 && r != -ENOENT)
		note_unread(store, r, why, &notes);
	pthread_mutex_lock(&store->lock);
	evidence_unref(store->current);
	store->current = evidence;
	pthread_mutex_unlock(&store->lock);
	return notes;
}

Evidence *topology_store_get(TopologyStore *store)
{
	Evidence *evidence;

	pthread_mutex_lock(&store->lock);
	evidence = evidence_ref(store->current);
	pthread_mutex_unlock(&store->lock);
	return evidence;
}

static int save(const TopologyStore *store)
{
	_cleanup_free_ char *text = NULL;

	if (store->foreign)
		return -EPROTO;
	text = evidence_to_text(store->current);
	return file_replace_at(store->dir_fd, TOPOLOGY_FILE, text, strlen(text), FILE_MODE_PRIVATE);
}

int topology_store_update(TopologyStore *store, const Evidence *seen, bool whole)
{
	Evidence *merged = NULL;
	int r;

	pthread_mutex_lock(&store->lock);
	r = evidence_merge(store->current, seen, whole, &merged);
	if (r >= 0) {
		evidence_unref(store->current);
		store->current = merged;
		r = save(store);
	}
	pthread_mutex_unlock(&store->lock);
	return r;
}

/* Any number for a board that is not in the catalogue, or whose number of links is not known. */
static unsigned most_links(const Board *board)
{
	return !board || (board->kind == NVLINK_BRIDGE && board->links == 0) ? SIGHTING_LINKS_MAX
									     : board->links;
}

static int sighting_of(const GuestLook *look, size_t i, Sighting *s)
{
	const Gpu *gpu = look->gpus[i];
	/* A domain's name may have any bytes. Here it is only shown. */
	_cleanup_free_ char *source = strf("guest %.50s", look->domain);
	unsigned most = most_links(gpu->board), all = 0;

	*s = (Sighting){
		.bdf = gpu->lead->bdf,
		.way = WAY_GUEST,
		.seen_usec = look->seen_usec,
		.source = str_printable(source),
		.domain = xstrdup(look->domain_uuid),
		.uuid = xstrdup(gpu->uuid),
		.serial_number = xstrdup(gpu->serial_number),
		.vendor = gpu->lead->vendor,
		.device = gpu->lead->device,
		.subsystem_vendor = gpu->lead->subsystem_vendor,
		.subsystem_device = gpu->lead->subsystem_device,
		.peers = xcalloc(look->n_gpus + 1, sizeof(SeenPeer)),
		.inactive = look->inactive ? look->inactive[i] : 0,
		.fresh = true,
	};
	for (size_t k = 0; k < look->n_gpus; k++) {
		unsigned links = look->links[i * look->n_gpus + k];

		all += links < SIGHTING_LINKS_MAX ? links : SIGHTING_LINKS_MAX + 1;
		if (all > most || (k == i && links > 0))
			return -EINVAL;
		if (links > 0)
			s->peers[s->n_peers++] =
				(SeenPeer){ .bdf = look->gpus[k]->lead->bdf, .links = links };
	}
	return 0;
}

int topology_store_note_guest(TopologyStore *store, const GuestLook *look)
{
	_cleanup_(evidence_unrefp) Evidence *seen = NULL;
	int r = 0;

	seen = evidence_new();
	for (size_t i = 0; r >= 0 && i < look->n_gpus; i++) {
		Sighting s = { 0 };

		r = sighting_of(look, i, &s);
		if (r >= 0)
			r = evidence_add(seen, &s);
		else
			sighting_clear(&s);
	}
	return r < 0 ? r : topology_store_update(store, seen, false);
}
