/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/virt-domain.h"

#include <stdlib.h>

static void virt_domain_clear(VirtDomain *domain)
{
	free(domain->uuid);
	free(domain->name);
	free(domain->config_xml);
	free(domain->live_xml);
}

DEFINE_FREE(VirtDomain, virt_domain_free, virt_domain_clear)
