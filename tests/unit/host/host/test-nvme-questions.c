/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of NVMes and NICs, and what becomes of the answers. */
#include "rig/test.h"

#include <errno.h>
#include <string.h>

#include "host/host/questions.h"
#include "util/text.h"
#include "util/xalloc.h"

static const Bdf nvme = { .bus = 0x43 };
static int fault;
static char *asked;

static void stand_in(_unused_ Host *host, Ask *asks, size_t n, _unused_ uint64_t timeout_usec)
{
	NvmeAnswer *answer = asks->answer;

	assert_int_equal(n, 1);
	free(asked);
	asked = strf("%s %s %zu %s", question(asks->id)->verb, str_or_empty(asks->before), asks->n,
		     str_or_empty(asks->after[0]));
	asks->error = fault;
	if (fault)
		return;
	if (asks->id == ASK_NVME_STATE) {
		answer->states = xcalloc(answer->n_states = 1, sizeof(NvmeState));
		answer->states->model = xstrdup("Model X");
	} else {
		answer->erases = xcalloc(answer->n_erases = 1, sizeof(NvmeErase));
		answer->erases->why = xstrdup("no");
	}
}

static const HostOps ops = { .ask = stand_in };

TEST(each_question_about_nvmes_has_its_answer)
{
	Host host = { .ops = &ops };
	_cleanup_(nvme_state_clear) NvmeState told = { 0 };
	_cleanup_(nvme_erase_clear) NvmeErase erase = { 0 };

	fault = 0;
	assert_int_equal(host_nvme_state(&host, &nvme, &told, NULL), 0);
	assert_string_equal(told.model, "Model X");
	assert_string_equal(asked, "nvme-state  1 ");
	assert_int_equal(host_nvme_erase(&host, &nvme, NVME_WAY_FORMAT_USER, "S1", 1, &erase, NULL),
			 0);
	assert_string_equal(erase.why, "no");
	assert_string_equal(asked, "erase --way=format-user 1 --serial=S1");
	free(TAKE_PTR(asked));
}

TEST(without_an_answer_nothing_is_known)
{
	Host host = { .ops = &ops };
	NvmeState told = { 0 };
	NvmeErase erase = { 0 };

	fault = -EBUSY;
	assert_int_equal(host_nvme_state(&host, &nvme, &told, NULL), -EBUSY);
	assert_null(told.model);
	assert_int_equal(host_nvme_erase(&host, &nvme, NVME_WAY_FORMAT_USER, "S1", 1, &erase, NULL),
			 -EBUSY);
	assert_null(erase.why);
	free(TAKE_PTR(asked));
}

/* ---- a network part that hangs ---- */

static void hangs(_unused_ Host *host, Ask *asks, size_t n, _unused_ uint64_t timeout_usec)
{
	InspectAnswer *answer = asks->answer;

	assert_int_equal(n, 1);
	if (asks->id == ASK_NICS) {
		asks->error = -ETIMEDOUT;
		return;
	}
	answer->inspection = xcalloc(1, sizeof(Inspection));
	answer->inspection->functions = xcalloc(1, sizeof(FunctionFacts));
	answer->inspection->functions[answer->inspection->n_functions++] = (FunctionFacts){
		.bdf = nvme, .network = true, .vf = true, .driver = xstrdup("vfio-pci")
	};
}

static pid_t on_none(_unused_ Host *host, _unused_ const Bdf *function)
{
	return 0;
}

/* What takes a VF back must not wait for rtnl; and nobody gets one of which nothing is known. */
TEST(a_network_part_that_hangs_hides_its_nics_and_nothing_else)
{
	static const HostOps hanging = { .ask = hangs, .worker_on = on_none };
	Host host = { .ops = &hanging };
	_cleanup_(inspection_freep) Inspection *in = NULL;
	const NicUse *use;

	assert_int_equal(host_inspect(&host, &nvme, 1, INSPECT_CONFIG_NOT, &in, NULL), 0);
	assert_int_equal(in->n_functions, 1);
	use = nic_use_find(in->nics, in->n_nics, &nvme);
	assert_true(use && !use->vf_read && !nic_use_vf_is_ruled(use));
	assert_string_equal(use->why, "it was not looked at: Connection timed out");
	assert_string_equal(use->vf_why, "its NIC was not asked: Connection timed out");
}
