/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether NVLink works in a guest, from what nvidia-smi printed there. Pure: the programs are run by
 * job/verify.c.
 *
 * The verdict is the guest's word, checked for being consistent. It says nothing that the guest did
 * not print: where that is missing, contradictory or not understood the verdict is "unknown".
 *
 *   verified   each two GPUs of the group: NV# the same both ways, as many links as the board should
 *              have active on both, and peer-to-peer over NVLink "OK"
 *   degraded   NVLink works, with fewer links
 *   broken     no NVLink between two of them, or a GPU that the guest's driver does not show
 *   unknown    no agent, no driver, no answer in time, nothing that could be read
 */
#pragma once

#include "core/verify/guest-agent.h"
#include "core/verify/report.h"
#include "core/verify/text.h"

/* The programs, in the order of the runs. */
#define VERIFY_RUNS 4
extern const char *const *const verify_commands[VERIFY_RUNS];
/* Asked when the verdict is not good, for what may be the reason. */
#define VERIFY_DIAGNOSES 2
extern const char *const *const verify_diagnosis_commands[VERIFY_DIAGNOSES];

/* The verdict. 0 or -ENOMEM. */
int verify_judge(const VerifyInput *input, const GuestRun runs[VERIFY_RUNS], VerifyReport **ret);
/* "unknown" for a cause that kept the guest from being asked. */
int verify_give_up(const VerifyInput *input, VerifyCause cause, VerifyReport **ret);
/* Whether the diagnosis is worth asking for. */
bool verify_wants_diagnosis(const VerifyReport *report);
/* Replaces cause, reason and remedy where the runs show what stands in NVLink's way. */
int verify_diagnose(const VerifyInput *input, const GuestRun runs[VERIFY_DIAGNOSES],
		    VerifyReport *report);

/*
 * As evidence: how many active links each of the group's GPUs shows to each other one, in
 * links[i * n_gpus + k], and in inactive[i] those that are down. False, and nothing written, unless
 * the guest told of every two, and which of its GPUs is which is certain (not by count).
 */
bool verify_links_seen(const VerifyReport *report, unsigned *links, unsigned *inactive);
