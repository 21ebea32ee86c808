/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/word.h"

#include "util/text.h"
#include "util/xalloc.h"

/* One look at one guest. */
static bool same_look(const Sighting *a, const Sighting *b)
{
	return a->seen_usec == b->seen_usec && str_equal(a->source, b->source) &&
	       str_equal(a->domain, b->domain);
}

/* The guest reported all GPUs at one time, and the boards are still those. */
static bool is_whole(const Group *group, const Evidence *evidence, const GpuSet *set)
{
	const Sighting *first = evidence_find_guest(evidence, &group->gpus[0]->lead->bdf);

	for (size_t i = 0; i < group->n_gpus; i++) {
		const Sighting *s = evidence_find_guest(evidence, &group->gpus[i]->lead->bdf);
		_cleanup_free_ char *stale = NULL;

		if (!s || !same_look(s, first))
			return false;
		stale = sighting_stale(evidence, s, set);
		if (stale)
			return false;
	}
	return true;
}

static unsigned fewest_links(const Group *group, const Evidence *evidence)
{
	unsigned fewest = SIGHTING_LINKS_MAX;

	for (size_t i = 0; i < group->n_gpus; i++) {
		const Sighting *s = evidence_find_guest(evidence, &group->gpus[i]->lead->bdf);

		for (size_t k = 0; k < group->n_gpus; k++) {
			unsigned n = sighting_links_to(s, &group->gpus[k]->lead->bdf);

			if (k != i && n < fewest)
				fewest = n;
		}
	}
	return fewest;
}

static void hear(Group *group, const Evidence *evidence, const GpuSet *set)
{
	const Sighting *first;

	/* One GPU has no link to tell of. */
	if (group->n_gpus < 2 || !is_whole(group, evidence, set))
		return;
	first = evidence_find_guest(evidence, &group->gpus[0]->lead->bdf);
	group->word = (GuestWord){
		.domain_uuid = xstrdup(first->domain),
		.source = xstrdup(str_or_empty(first->source)),
		.seen_usec = first->seen_usec,
		.links = fewest_links(group, evidence),
	};
}

void groups_hear_guests(GroupSet *groups, const Evidence *evidence, const GpuSet *set)
{
	for (size_t i = 0; evidence && i < groups->n_items; i++)
		hear(&groups->items[i], evidence, set);
}

bool group_word_counts(const Group *group, const Assignment *record)
{
	const GuestWord *word = &group->word;

	return word->seen_usec > 0 && word->domain_uuid && record &&
	       str_equal(record->domain_uuid, word->domain_uuid) &&
	       record->created_usec <= word->seen_usec;
}

/* "2 of 4 NVLinks", "no NVLink" */
static char *count_text(const Group *group)
{
	unsigned links = group->word.links;

	if (links == 0)
		return xstrdup("no NVLink");
	if (group->links_expected > 0)
		return strf("%u of %u NVLinks", links, group->links_expected);
	return strf("%u NVLink%s", links, links == 1 ? "" : "s");
}

char *group_word_complaint(const Group *group, const char *domain)
{
	const GuestWord *word = &group->word;
	unsigned expected =
		group->links_expected > group->links ? group->links_expected : group->links;
	_cleanup_free_ char *count = NULL, *when = NULL;

	if (!word->counts || (word->links > 0 && word->links >= expected) ||
	    word->seen_usec < group->evidence_usec)
		return NULL;
	count = count_text(group);
	when = utc_text(word->seen_usec);
	return strf("%s reports %s between its GPUs (a guest's word, %s): reboot the guest, then: "
		    "gpupass verify %s",
		    word->source, count, when, domain);
}

char *group_word_past(const Group *group)
{
	const GuestWord *word = &group->word;
	_cleanup_free_ char *count = NULL, *when = NULL;

	if (word->seen_usec == 0 || word->counts)
		return NULL;
	count = count_text(group);
	when = utc_text(word->seen_usec);
	return strf("%s%s%s%s reported %s, %s: a guest's word, which does not count any more",
		    word->source, word->domain_uuid ? " (" : "", str_or_empty(word->domain_uuid),
		    word->domain_uuid ? ")" : "", count, when);
}
