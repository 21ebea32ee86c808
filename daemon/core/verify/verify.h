/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether NVLink works in a guest, from what nvidia-smi printed there. Pure: job/verify.c runs the
 * programs.
 *
 * The verdict is what the guest says, checked for consistency. It claims nothing that the guest did
 * not print. If that is missing, contradictory or not understood, the verdict is "unknown".
 *
 *   verified   each two GPUs of the group have the same NV# both ways, both have as many active
 *              links as the board should have, and peer-to-peer over NVLink is "OK"
 *   degraded   NVLink works, with fewer links
 *   broken     no NVLink between two of them, or the guest's driver does not show a GPU
 *   unknown    no agent, no driver, no answer in time, or nothing that could be parsed
 */
#pragma once

#include "core/links/evidence.h"
#include "core/verify/answers.h"
#include "core/verify/report.h"

/* Run when the verdict is not good, to find the reason. */
#define VERIFY_DIAGNOSES 2
extern const char *const *const verify_diagnosis_commands[VERIFY_DIAGNOSES];

VerifyReport *verify_judge(const VerifyInput *input, const GuestRun runs[VERIFY_RUNS]);
/* Makes an "unknown" report, for a cause that kept the guest from being asked. */
VerifyReport *verify_give_up(const VerifyInput *input, VerifyCause cause);
/* The diagnosis may help. */
bool verify_wants_diagnosis(const VerifyReport *report);
/* Replaces cause, reason and remedy if the runs show what prevents NVLink. */
void verify_diagnose(const VerifyInput *input, const GuestRun runs[VERIFY_DIAGNOSES],
		     VerifyReport *report);

/*
 * What the guest tells of the links between the GPUs of its group, as sightings of these boards, in
 * the report's order. *ret NULL: it did not report every pair, or it is not certain which GPU is
 * which (by count). -EINVAL: the numbers are impossible, such as more links than a board has.
 */
int verify_evidence(const VerifyReport *report, const VerifyInput *input, Gpu *const *gpus,
		    uint64_t seen_usec, Evidence **ret);
