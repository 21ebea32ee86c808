/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/verdicts.h"

#include "manager/state.h"
#include "util/grow.h"
#include "util/log.h"
#include "util/text.h"

typedef struct VerdictOf VerdictOf;

static void verdict_of_clear(VerdictOf *v)
{
	free(v->domain_uuid);
	free(v->gpus);
}

static bool same_gpus(const VerdictOf *v, const Group *group)
{
	if (v->n_gpus != group->n_gpus)
		return false;
	for (size_t i = 0; i < group->n_gpus; i++)
		if (!bdf_in(&group->gpus[i]->lead->bdf, v->gpus, v->n_gpus))
			return false;
	return true;
}

Verdict manager_group_verdict(const Manager *m, const Group *group, uint64_t *ret_asked_usec)
{
	*ret_asked_usec = 0;
	for (size_t i = 0; i < m->verdicts.n_items; i++) {
		const VerdictOf *v = &m->verdicts.items[i];

		if (!str_equal(v->domain_uuid, group->domain_uuid) || !same_gpus(v, group))
			continue;
		*ret_asked_usec = v->asked_usec;
		return v->verdict;
	}
	return VERDICT_UNKNOWN;
}

/* Each GPU is in one entry at most, so there are never more entries than GPUs. */
static void drop_gpus(Verdicts *verdicts, const Bdf *gpus, size_t n)
{
	for (size_t i = 0; i < verdicts->n_items;) {
		VerdictOf *v = &verdicts->items[i];
		bool shared = false;

		for (size_t k = 0; k < v->n_gpus; k++)
			shared |= bdf_in(&v->gpus[k], gpus, n);
		if (!shared) {
			i++;
			continue;
		}
		verdict_of_clear(v);
		*v = verdicts->items[--verdicts->n_items];
	}
}

void manager_note_verdict(Manager *m, JobEvent *ended)
{
	Verdicts *verdicts = &m->verdicts;

	if (!ended->result)
		return;
	drop_gpus(verdicts, ended->functions, ended->n_functions);
	*GROW(verdicts->items, verdicts->n_items) = (VerdictOf){
		.domain_uuid = TAKE_PTR(ended->domain_uuid),
		.gpus = TAKE_PTR(ended->functions),
		.n_gpus = ended->n_functions,
		.verdict = ended->verdict,
		.asked_usec = ended->asked_usec,
	};
}

void manager_clear_verdicts(Manager *m)
{
	Verdicts *verdicts = &m->verdicts;

	for (size_t i = 0; i < verdicts->n_items; i++)
		verdict_of_clear(&verdicts->items[i]);
	free(verdicts->items);
	*verdicts = (Verdicts){ 0 };
}
