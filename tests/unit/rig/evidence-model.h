/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What boards tell of their links, and what groups come of it, in short; and hosts of such boards.
 */
#pragma once

#include "host-model.h"

#define A6000 0x2230
#define A40 0x2235
#define H200 0x233b

/* ---- sightings in short: "41 nvml@100 61x4 a1x4 uuid=GPU-… serial=… stored" ---- */

static inline _unused_ Bdf bus_bdf(const char *bus)
{
	_cleanup_free_ char *text = strf("0000:%.2s:00.0", bus);

	return bdf_of(text);
}

static inline _unused_ void see_peer(Sighting *s, const char *word)
{
	SeenPeer *peer = GROW(s->peers, s->n_peers);

	assert_int_equal(word[2], 'x');
	peer->bdf = bus_bdf(word);
	peer->links = (unsigned)strtoul(word + 3, NULL, 10);
}

static inline _unused_ void see_word(Sighting *s, const char *word)
{
	if (str_starts_with(word, "uuid="))
		s->uuid = strdup(word + 5);
	else if (str_starts_with(word, "domain="))
		s->domain = strf("00000000-0000-0000-0000-%012lu", strtoul(word + 7, NULL, 10));
	else if (str_starts_with(word, "serial="))
		s->serial_number = strdup(word + 7);
	else if (str_starts_with(word, "device="))
		s->device = (uint16_t)strtoul(word + 7, NULL, 16);
	else if (strcmp(word, "stored") == 0)
		s->fresh = false;
	else
		see_peer(s, word);
}

static inline _unused_ void see(Evidence *into, const char *text, uint16_t device)
{
	_cleanup_strv_ char **words = NULL;
	char *at;
	Sighting s = {
		.fresh = true,
		.vendor = PCI_VENDOR_NVIDIA,
		.device = device,
		.subsystem_vendor = PCI_VENDOR_NVIDIA,
		.subsystem_device = 0x1459,
	};

	strv_split(text, " ", &words);
	s.bdf = bus_bdf(words[0]);
	at = strchr(words[1], '@');
	*at = '\0';
	assert_int_equal(sighting_way_from_string(words[1], &s.way), 0);
	s.seen_usec = strtoull(at + 1, NULL, 10) * 1000000;
	s.source = strdup(s.way == WAY_NVML    ? "NVML 550"
			  : s.way == WAY_GUEST ? "guest vm1"
					       : "registers");
	for (char **word = words + 2; *word; word++)
		see_word(&s, *word);
	assert_int_equal(evidence_add(into, &s), 0);
}

/* ---- groups in short: "pair0 free probed NV4 41,61; unknown0 …" ---- */

static inline _unused_ char *group_in_short(const Group *group)
{
	_cleanup_free_ char *link = group_link_text(group), *buses = NULL;
	_cleanup_strv_ char **list = NULL;

	for (size_t i = 0; i < group->n_gpus; i++)
		strv_appendf(&list, "%02x", group->gpus[i]->lead->bdf.bus);
	buses = strv_join(list, ",");
	return strf("%s %s %s %s %s", group->name, group_state_to_string(group->state),
		    provenance_to_string(group->provenance), link, buses);
}

static inline _unused_ char *groups_in_short(const HostModel *h)
{
	_cleanup_strv_ char **list = NULL;

	for (size_t i = 0; i < h->groups->n_items; i++) {
		_cleanup_free_ char *text = group_in_short(&h->groups->items[i]);

		strv_append(&list, text);
	}
	return strv_join(list, "; ");
}

typedef struct BoardRow {
	const char *bus;
	uint16_t device;
	const char *driver; /* NULL: nvidia */
	const char *uuid, *serial;
} BoardRow;

typedef struct Row {
	const char *name;
	BoardRow boards[6];
	const char *declared; /* "41 61" */
	const char *seen[8];
	const char *groups;
	const char *reason; /* in the first group's fault or reasoning */
	const char *note;   /* in one of the notes; NULL: there is none */
} Row;

#define FOUR(id)                                                                                   \
	{                                                                                          \
		{ .bus = "41", .device = (id) }, { .bus = "61", .device = (id) },                  \
			{ .bus = "a1", .device = (id) }, { .bus = "c1", .device = (id) },          \
	}
#define TWO(id)                                                                                    \
	{                                                                                          \
		{ .bus = "41", .device = (id) }, { .bus = "61", .device = (id) },                  \
	}

static inline _unused_ HostModel host_of(const Row *row)
{
	HostModel h = host_new();

	h.evidence = evidence_new();
	for (size_t i = 0; i < ELEMENTS(row->boards) && row->boards[i].bus; i++) {
		_cleanup_free_ char *slot = strf("0000:%s:00", row->boards[i].bus);

		host_gpu(&h, slot, row->boards[i].device,
			 row->boards[i].driver ? row->boards[i].driver : "nvidia");
	}
	for (size_t i = 0; i < ELEMENTS(row->seen) && row->seen[i]; i++)
		see(h.evidence, row->seen[i],
		    row->boards[0].device == H200 || row->boards[0].device == 0x2331
			    ? row->boards[0].device
			    : A6000);
	if (row->declared) {
		_cleanup_free_ char *text = strf("[Group]\nName=x\nGpu=%.2s:00.0\nGpu=%.2s:00.0\n",
						 row->declared, row->declared + 3);

		host_declare(&h, text);
	}
	host_seal(&h);
	for (size_t i = 0; i < h.set->n_gpus; i++) {
		if (row->boards[i].uuid)
			h.set->gpus[i].uuid = strdup(row->boards[i].uuid);
		if (row->boards[i].serial)
			h.set->gpus[i].serial_number = strdup(row->boards[i].serial);
	}
	return h;
}
