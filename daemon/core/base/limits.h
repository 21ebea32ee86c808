/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The largest sizes of a group, wherever one is declared, kept or written into a domain. */
#pragma once

#define GROUP_GPUS_MAX 16
/* NICs, VFs and NVMes beside the GPUs: core/facts/member.h */
#define GROUP_COMPANIONS_MAX 16
/* A board has at most 8 functions. */
#define GROUP_FUNCTIONS_MAX (8 * GROUP_GPUS_MAX + GROUP_COMPANIONS_MAX)
