/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/virt-domain.h"

#include <stdlib.h>

VirtDomain *virt_domain_free(VirtDomain *domain)
{
	if (!domain)
		return NULL;
	free(domain->uuid);
	free(domain->name);
	free(domain->config_xml);
	free(domain->live_xml);
	free(domain);
	return NULL;
}
