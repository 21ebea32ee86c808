/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A domain as it is now: who it is, and what libvirt says of it. */
#pragma once

#include <stdbool.h>

#include "gpupass/cleanup.h"

typedef struct VirtDomain {
	char *uuid;
	char *name;
	bool active;
	bool persistent;
	char *config_xml; /* the definition, INACTIVE|SECURE; NULL: the domain is transient */
	char *live_xml;	  /* SECURE; NULL unless active */
} VirtDomain;

DECLARE_FREE(VirtDomain, virt_domain_free)
