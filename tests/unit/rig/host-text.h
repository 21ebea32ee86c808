/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts in short, and the groups that come of them in short:
 *   boards    "41 61 a1=2235 =233b c1 :vfio-pci e1": buses; a device; what the following are and are
 *             on; behind a board "uuid=…", "serial=…", "slot=…", "make=…" (subsystem)
 *   declared  "x=41,61 y=slot:3,a1": groups and their members
 *   seen      "41-61 nvml@100 x4, a1 guest@9 c1x2 domain=1 stored": what boards see of each other, or
 *             one of others, by which way, in which second; "uuid=…", "serial=…", "device=…" are then;
 *             "mig": in MIG mode; "off": NVML has no links, not even such that are down
 *   domains   "vm1 41 61.0 running; vm2 61.1 mark=x managed": what they have; "unread" is not known
 *   records   "x vm1 41 61 since=10; y vm2 61.1": of groups for domains
 *   groups    "x degraded:vm1 declared NV2 41,61; unknown0 …": name, state and domain, provenance, links,
 *             buses; "free?" is free and cannot be assigned all the same
 */
#pragma once

#include "host-model.h"

#define A6000 "2230"
#define DOMAIN_TEXT "00000000-0000-0000-0000-%012lu"

typedef struct Scenario {
	const char *name, *boards, *declared, *seen, *domains, *records;
	bool inferred, singles; /* AcceptInferred=, SingleGpus= */
	const char *groups;
	const char *tells[2]; /* in the reasons, faults and reasonings of its groups */
	const char *note;     /* in one of the notes; NULL: there is none */
	const char *past;     /* of a guest's word that does not count any more */
} Scenario;

static inline _unused_ char **words_of(const char *text, const char *parted_by)
{
	char **words = NULL;

	strv_split(str_or_empty(text), parted_by, &words);
	return words;
}

/* What stands behind `key` in the word; NULL: it is another word. */
static inline _unused_ const char *value_of(const char *word, const char *key)
{
	return str_starts_with(word, key) ? word + strlen(key) : NULL;
}

static inline _unused_ uint16_t hex_of(const char *text)
{
	return (uint16_t)strtoul(text, NULL, 16);
}

static inline _unused_ Bdf bus_bdf(const char *bus)
{
	_cleanup_free_ char *text = strf("0000:%.2s:00.0", bus);

	return bdf_of(text);
}

/* Seals the snapshot, since serial numbers and UUIDs are known of GPUs only. */
static inline _unused_ void host_boards(HostModel *h, const char *text)
{
	_cleanup_strv_ char **words = words_of(text, " "), **later = NULL;
	_cleanup_free_ char *device = xstrdup(A6000), *driver = xstrdup("nvidia");
	PciFunction *last = NULL;
	const char *value;

	for (char **word = words; word && *word; word++)
		if ((value = value_of(*word, "=")) || (value = value_of(*word, ":"))) {
			char **to = **word == '=' ? &device : &driver;

			free(*to);
			*to = str_equal(value, "none") ? NULL : xstrdup(value);
		} else if ((value = value_of(*word, "slot="))) {
			last->physical_slot = xstrdup(value);
		} else if ((value = value_of(*word, "make="))) {
			last->subsystem_device = hex_of(value);
		} else if (str_starts_with(*word, "uuid=") || str_starts_with(*word, "serial=")) {
			strv_appendf(&later, "%02x %s", last->bdf.bus, *word);
		} else {
			_cleanup_free_ char *slot = strf("0000:%.2s:00", *word);

			host_gpu(h, slot, hex_of((*word)[2] == '=' ? *word + 3 : device), driver);
			last = h->snapshot->functions[h->snapshot->n_functions - 2];
		}
	host_seal(h);
	for (char **word = later; word && *word; word++) {
		Bdf bdf = bus_bdf(*word);
		Gpu *gpu = gpu_set_find(h->set, &bdf);

		if ((value = value_of(*word + 3, "uuid=")))
			gpu->uuid = xstrdup(value);
		else
			gpu->serial_number = xstrdup(*word + 3 + strlen("serial="));
	}
}

static inline _unused_ void see_peer(Sighting *s, const char *bus, const char *links)
{
	assert_int_equal(*links, 'x');
	*GROW(s->peers, s->n_peers) =
		(SeenPeer){ .bdf = bus_bdf(bus), .links = (unsigned)strtoul(links + 1, NULL, 10) };
}

static inline _unused_ void see_word(Sighting *s, const char *boards, const char *word)
{
	const char *value;

	if ((value = value_of(word, "uuid=")))
		s->uuid = xstrdup(value);
	else if ((value = value_of(word, "domain=")))
		s->domain = strf(DOMAIN_TEXT, strtoul(value, NULL, 10));
	else if ((value = value_of(word, "serial=")))
		s->serial_number = xstrdup(value);
	else if ((value = value_of(word, "device=")))
		s->device = hex_of(value);
	else if (str_equal(word, "stored"))
		s->fresh = false;
	else if (str_equal(word, "mig"))
		s->mig = MIG_ON;
	else if (str_equal(word, "off"))
		s->inactive = 0;
	else if (*word != 'x')
		see_peer(s, word, word + 2);
	else
		for (; *boards; boards += boards[2] ? 3 : 2)
			if (hex_of((char[]){ boards[0], boards[1], 0 }) != s->bdf.bus)
				see_peer(s, boards, word);
}

/* The boards are of this set, or A6000s. */
static inline _unused_ void see(Evidence *into, const char *text, const GpuSet *set)
{
	_cleanup_strv_ char **words = words_of(text, " ");
	char *at = strchr(words[1], '@');

	*at = '\0';
	for (const char *board = words[0]; *board; board += board[2] ? 3 : 2) {
		Sighting s = {
			.bdf = bus_bdf(board),
			.fresh = true,
			.vendor = PCI_VENDOR_NVIDIA,
			.subsystem_vendor = PCI_VENDOR_NVIDIA,
			.subsystem_device = 0x1459,
			.seen_usec = strtoull(at + 1, NULL, 10) * 1000000,
		};
		const Gpu *gpu = set ? gpu_set_find(set, &s.bdf) : NULL;

		s.device = gpu ? gpu->lead->device : hex_of(A6000);
		assert_int_equal(sighting_way_from_string(words[1], &s.way), 0);
		s.inactive = s.way == WAY_NVML ? 4 : 0;
		s.source = xstrdup(s.way == WAY_NVML	? "NVML 550"
				   : s.way == WAY_GUEST ? "guest vm1"
							: "registers");
		for (char **word = words + 2; *word; word++)
			see_word(&s, words[0], *word);
		assert_int_equal(evidence_add(into, &s), 0);
	}
}

static inline _unused_ Evidence *evidence_of_text(const char *text, const GpuSet *set)
{
	_cleanup_strv_ char **all = words_of(text, ",");
	Evidence *evidence = xcalloc(1, sizeof(Evidence));

	for (char **one = all; one && *one; one++)
		see(evidence, *one + strspn(*one, " "), set);
	return evidence;
}

/* "x=41,61": a group. */
static inline _unused_ void host_declared(HostModel *h, const char *text)
{
	_cleanup_strv_ char **groups = words_of(text, " "), **lines = NULL;
	_cleanup_free_ char *file = NULL;

	for (char **group = groups; group && *group; group++) {
		char *members = strchr(*group, '=');
		_cleanup_strv_ char **list = words_of(members + 1, ",");

		strv_appendf(&lines, "[Group]\nName=%.*s", (int)(members - *group), *group);
		for (char **member = list; *member; member++)
			strv_appendf(&lines, "Gpu=%s%s", *member, (*member)[2] ? "" : ":00.0");
	}
	file = strv_join(lines, "\n");
	host_declare(h, file);
}

/* "41" is a board's both functions, "41.1" one of them. Other words are left in *rest. */
static inline _unused_ char **functions_of(char *const *words, char ***rest)
{
	char **functions = NULL;

	for (; *words; words++)
		if (strspn(*words, "0123456789abcdef") != 2)
			strv_append(rest, *words);
		else
			for (const char *f = "01"; *f; f++)
				if (!(*words)[2] || (*words)[3] == *f)
					strv_appendf(&functions, "0000:%.2s:00.%c", *words, *f);
	return functions;
}

static inline _unused_ void host_domain_of(HostModel *h, const char *text)
{
	_cleanup_strv_ char **words = words_of(text, " "), **rest = NULL;
	_cleanup_strv_ char **functions = functions_of(words + 1, &rest);
	static const char *const none[] = { NULL };
	DomainUse *use = host_domain(h, words[0], strv_contains(rest, "running"),
				     functions ? (const char *const *)functions : none);

	free(use->uuid);
	use->uuid =
		strf(DOMAIN_TEXT, strtoul(words[0] + strcspn(words[0], "0123456789"), NULL, 10));
	for (char **word = rest; word && *word; word++)
		if (value_of(*word, "mark="))
			strv_append(&use->gpupass_groups, value_of(*word, "mark="));
		else if (value_of(*word, "name="))
			use->name = (free(use->name), xstrdup(value_of(*word, "name=")));
		else if (str_equal(*word, "unread"))
			use->unread = xstrdup("too long");
		else if (str_equal(*word, "managed"))
			for (size_t i = 0; i < use->n_hostdevs; i++)
				use->hostdevs[i].managed = true;
}

static inline _unused_ void host_record_of(HostModel *h, const char *text)
{
	_cleanup_strv_ char **words = words_of(text, " "), **rest = NULL;
	_cleanup_strv_ char **functions = functions_of(words + 2, &rest);
	Assignment *a =
		host_assignment(h, words[0], words[1], (unsigned)strtoul(words[1] + 2, NULL, 10),
				(const char *const *)functions);

	for (char **word = rest; word && *word; word++)
		if (value_of(*word, "since="))
			a->created_usec = strtoull(value_of(*word, "since="), NULL, 10) * 1000000;
}

/* All of it, and its groups. */
static inline _unused_ HostModel host_of(const Scenario *s)
{
	_cleanup_strv_ char **domains = words_of(s->domains, ";"), **records = NULL;
	HostModel h = host_new();

	host_boards(&h, s->boards);
	h.evidence = evidence_of_text(s->seen, h.set);
	host_declared(&h, s->declared);
	for (char **text = domains; text && *text; text++)
		host_domain_of(&h, *text + strspn(*text, " "));
	records = words_of(s->records, ";");
	for (char **text = records; text && *text; text++)
		host_record_of(&h, *text + strspn(*text, " "));
	h.policy.single_gpus = s->singles;
	host_resolve(&h);
	return h;
}

/* ---- groups in short ---- */

static inline _unused_ char *group_in_short(const Group *group)
{
	_cleanup_free_ char *link = group_link_text(group), *buses = NULL;
	_cleanup_strv_ char **list = NULL;
	bool doubtful =
		!group->assignable && (group->state == GROUP_FREE || group->state == GROUP_BOUND);

	for (size_t i = 0; i < group->n_gpus; i++)
		strv_appendf(&list, "%02x", group->gpus[i]->lead->bdf.bus);
	buses = strv_join(list, ",");
	assert_true(!group->domain_name == !group->domain_uuid);
	return strf("%s %s%s%s%s %s %s %s", group->name, group_state_to_string(group->state),
		    doubtful ? "?" : "", group->domain_name ? ":" : "",
		    str_or_empty(group->domain_name), provenance_to_string(group->provenance), link,
		    buses);
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

/* What is said of all groups, a line each. */
static inline _unused_ char *told_of_groups(const HostModel *h)
{
	_cleanup_strv_ char **lines = NULL;

	for (size_t i = 0; i < h->groups->n_items; i++) {
		const Group *group = &h->groups->items[i];

		strv_appendf(&lines, "%s\n%s\n%s\n", str_or_empty(group->reason),
			     str_or_empty(group->fault), group->reasoning);
	}
	return strv_join(lines, "");
}

static inline _unused_ bool is_noted(char *const *notes, const char *text)
{
	for (; notes && *notes; notes++)
		if (strstr(*notes, text))
			return true;
	return false;
}

/* Only what is known and nobody has can be given away. */
static inline _unused_ void expect_safe(const Scenario *s, const Group *group)
{
	if (group->assignable &&
	    (group->fault || group->domain_name || group->provenance == PROVENANCE_NONE ||
	     (group->provenance == PROVENANCE_INFERRED && !s->inferred) ||
	     (group->state != GROUP_FREE && group->state != GROUP_BOUND)))
		fail_msg("%s: %s can be assigned", s->name, group->name);
}

static inline _unused_ void expect_groups(HostModel *h, const Scenario *s)
{
	_cleanup_free_ char *found = NULL, *told = NULL;

	/* Twice: what the first leaves behind must not show in the second. */
	host_observe(h, s->inferred);
	host_observe(h, s->inferred);
	found = groups_in_short(h);
	told = told_of_groups(h);
	if (!str_equal(found, s->groups))
		fail_msg("%s: %s", s->name, found);
	for (size_t i = 0; i < ELEMENTS(s->tells); i++)
		if (s->tells[i] && !strstr(told, s->tells[i]))
			fail_msg("%s: %s", s->name, told);
	if (s->note ? !is_noted(h->notes, s->note) : h->notes != NULL)
		fail_msg("%s: note %s", s->name, h->notes ? *h->notes : "is missing");
	for (size_t i = 0; i < h->groups->n_items; i++)
		expect_safe(s, &h->groups->items[i]);
}

static inline _unused_ void expect_scenarios(const Scenario *scenarios, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_(host_done) HostModel h = host_of(&scenarios[i]);

		expect_groups(&h, &scenarios[i]);
	}
}
