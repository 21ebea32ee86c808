/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Putting a group's functions into a domain and taking them out: its definition, and live. */
#include <string.h>

#include "core/domain-xml.h"
#include "job/steps.h"
#include "util/text.h"

static const HostOps *host_ops(const StepContext *c)
{
	return c->place->host->ops;
}

static int read_definition(StepContext *c, char **ret, Problem **ret_problem)
{
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	int r = host_ops(c)->domain_get(c->place->host, c->plan->domain_uuid, &domain, ret_problem);

	if (r != 0)
		return r;
	if (!domain->config_xml)
		return problem_set(ret_problem, GPUPASS_ERROR_STALE_PLAN,
				   "%s has no definition any more", c->plan->domain_name);
	*ret = TAKE_PTR(domain->config_xml);
	return 0;
}

static int define(StepContext *c, Problem **ret_problem)
{
	int r = host_ops(c)->domain_define(c->place->host, c->plan->domain_uuid,
					   c->plan->xml_before, c->plan->xml_after, ret_problem);

	if (r != 0)
		return r;
	/* libvirt fills in addresses and defaults: what it made of ours is what an undo must
	 * find unchanged. */
	return read_definition(c, &c->defined_xml, ret_problem);
}

static int undefine(StepContext *c, Problem **ret_problem)
{
	_cleanup_free_ char *now = NULL;
	int r;

	r = read_definition(c, &now, ret_problem);
	if (r != 0)
		return r;
	if (domain_xml_equivalent(now, c->plan->xml_before))
		return 0;
	return host_ops(c)->domain_define(c->place->host, c->plan->domain_uuid,
					  c->defined_xml ? c->defined_xml : now,
					  c->plan->xml_before, ret_problem);
}

/* Each function is, or is not, a hostdev of the domain there. */
static int hostdevs_hold(StepContext *c, bool live, bool wanted, Problem **ret_problem)
{
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	int r;

	r = host_ops(c)->domain_get(c->place->host, c->plan->domain_uuid, &domain, ret_problem);
	if (r == 0)
		r = domain_use_from_xml(domain->live_xml, domain->config_xml, &use, ret_problem);
	if (r != 0)
		return r;
	for (size_t i = 0; i < c->plan->n_functions; i++) {
		const Bdf *bdf = &c->plan->functions[i].bdf;
		const DomainHostdev *hostdev = domain_use_hostdev(&use, bdf);
		bool is = hostdev && (live ? hostdev->live : hostdev->config);

		if (is == wanted)
			continue;
		return problem_set(ret_problem,
				   wanted ? GPUPASS_ERROR_ATTACH_FAILED
					  : GPUPASS_ERROR_DETACH_TIMEOUT,
				   "%s is %s in the %s of %s after all", BDF_TEXT(bdf),
				   wanted ? "not" : "still", live ? "running guest" : "definition",
				   c->plan->domain_name);
	}
	return 0;
}

static bool hostdevs_wanted(const StepContext *c)
{
	return c->plan->operation == OPERATION_ASSIGN;
}

static int defined(StepContext *c, Problem **ret_problem)
{
	return hostdevs_hold(c, false, hostdevs_wanted(c), ret_problem);
}

const StepOps step_define = { .act = define, .undo = undefine, .holds = defined };

/* Attaches plan functions [from, n), counting in *done how far it came. */
static int attach_range(StepContext *c, size_t from, size_t n, size_t *done, Problem **ret_problem)
{
	for (size_t i = from; i < n; i++) {
		int r = host_ops(c)->domain_attach(c->place->host, c->plan->domain_uuid,
						   c->plan->hostdevs[i], ret_problem);

		if (r != 0)
			return r;
		(*done)++;
	}
	return 0;
}

/* In reverse: the display function, attached first, goes last. */
static int detach_range(StepContext *c, size_t n, Problem **ret_problem)
{
	uint64_t timeout = c->place->rules->policy.detach_timeout_usec;

	for (size_t i = n; i-- > 0;) {
		int r = host_ops(c)->domain_detach(c->place->host, c->plan->domain_uuid,
						   &c->plan->functions[i].bdf, timeout,
						   ret_problem);

		if (r != 0)
			return r;
		c->n_detached++;
	}
	return 0;
}

static int attach(StepContext *c, Problem **ret_problem)
{
	return attach_range(c, 0, c->plan->n_functions, &c->n_attached, ret_problem);
}

/* Also the one that failed: libvirt may have got as far as QEMU before it did, and detaching
 * what is not there is harmless. */
static int unattach(StepContext *c, Problem **ret_problem)
{
	size_t n = c->n_attached < c->plan->n_functions ? c->n_attached + 1 : c->n_attached;

	return detach_range(c, n, ret_problem);
}

static int attached(StepContext *c, Problem **ret_problem)
{
	return hostdevs_hold(c, true, true, ret_problem);
}

const StepOps step_attach = { .act = attach, .undo = unattach, .holds = attached };

static int detach(StepContext *c, Problem **ret_problem)
{
	return detach_range(c, c->plan->n_functions, ret_problem);
}

/* The last n_detached functions were taken out; they go back in their order. */
static int undetach(StepContext *c, Problem **ret_problem)
{
	size_t back = 0;

	return attach_range(c, c->plan->n_functions - c->n_detached, c->plan->n_functions, &back,
			    ret_problem);
}

static int detached(StepContext *c, Problem **ret_problem)
{
	return hostdevs_hold(c, true, false, ret_problem);
}

const StepOps step_detach = { .act = detach, .undo = undetach, .holds = detached };
