/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* What the host gave the guest. Borrowed. */
typedef struct ExportGuest {
	const char *domain_uuid;
	const char *distribution; /* auto, debian, ubuntu, rhel */
	char *const *models;	  /* of its GPUs, each once */
	unsigned n_gpus;
	char *const *links; /* active ones that each GPU should have, least first; as numbers */
} ExportGuest;
