/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drift of boards, drivers and overrides. */
#include "core/drift/finding.h"
#include "util/xalloc.h"

/* " (at boot: taken: nvidia was first)" */
static char *at_boot(const DriftSubject *s, const Bdf *bdf)
{
	const BootFault *fault = boot_faults_find(s->facts->boot, bdf);
	_cleanup_free_ char *text = fault ? boot_fault_text(fault) : NULL;

	return fault ? strf(" (at boot: %s)", text) : xstrdup("");
}

static void drift_add_board(DriftSubject *s, const Bdf *bdf, const char *how)
{
	_cleanup_free_ char *boot = at_boot(s, bdf);

	drift_about(s, bdf);
	drift_add(s, DRIFT_BOARD, DRIFT_REPAIR_NONE,
		  strf("%s, which was assigned to %s, %s%s", BDF_TEXT(bdf), s->record->domain_name,
		       how, boot),
		  strf("put the board back where it was, or: gpupass release %s", s->name));
}

void drift_check_boards(DriftSubject *s)
{
	EACH (const AssignedFunction, then, s->record->functions, s->record->n_functions) {
		const PciFunction *now = pci_snapshot_find(s->facts->snapshot, &then->bdf);
		const BootFault *fault = boot_faults_find(s->facts->boot, &then->bdf);

		if (!now)
			drift_add_board(s, &then->bdf, "is not there");
		/* By a serial number, which gpupass-bind has read: a person has to look. */
		else if (!assigned_function_is(then, now) ||
			 (fault && str_equal(fault->outcome, "changed") &&
			  !pci_function_on_vfio(now)))
			drift_add_board(s, &then->bdf, "is another board now");
		else if (!SOME_OF(s->functions, s->n_functions, bdf_equal(&it->bdf, &then->bdf)))
			drift_add_board(s, &then->bdf, "is not in the group");
	}
	EACH_OF (const PciFunction, f, s->functions, s->n_functions) {
		if (assignment_function(s->record, &f->bdf))
			continue;
		drift_about(s, &f->bdf);
		drift_add(
			s, DRIFT_BOARD, DRIFT_REPAIR_NONE,
			strf("%s is in the group, but was not assigned with it", BDF_TEXT(&f->bdf)),
			strf("gpupass release %s, then assign it again", s->name));
	}
}

static bool is_live(const DriftSubject *s, const Bdf *bdf)
{
	const DomainHostdev *hostdev = s->domain ? domain_use_hostdev(s->domain, bdf) : NULL;

	return hostdev && hostdev->live;
}

void drift_check_drivers(DriftSubject *s)
{
	const PciFunction *first = NULL;
	_cleanup_free_ char *boot = NULL;

	EACH_OF (const PciFunction, function, s->functions, s->n_functions) {
		/*
		 * A function in a running guest is bound to vfio. If the snapshot says otherwise,
		 * it was taken in the middle of a change.
		 */
		if (pci_function_on_vfio(function) || is_live(s, &function->bdf))
			continue;
		drift_about(s, &function->bdf);
		if (!first)
			first = function;
	}
	if (!first)
		return;
	boot = at_boot(s, &first->bdf);
	drift_add(s, DRIFT_DRIVER, DRIFT_REPAIR_BIND,
		  strf("%zu of %zu functions are not on " VFIO_PCI ": %s is on %s%s", s->n_about,
		       s->n_functions, BDF_TEXT(&first->bdf),
		       first->driver ? first->driver : "no driver", boot),
		  NULL);
}

/*
 * Without a driver_override, the next driver that is loaded may take the function when it appears
 * again.
 */
void drift_check_overrides(DriftSubject *s)
{
	const FunctionFacts *first = NULL;

	for (size_t i = 0; s->facts->inspection && i < s->n_functions; i++) {
		const Bdf *bdf = &s->functions[i]->bdf;
		const FunctionFacts *facts = inspection_find(s->facts->inspection, bdf);

		if (!facts || !function_facts_on_vfio(facts) || is_live(s, bdf) ||
		    str_equal(facts->driver, facts->driver_override))
			continue;
		drift_about(s, bdf);
		if (!first)
			first = facts;
	}
	if (!first)
		return;
	drift_add(s, DRIFT_OVERRIDE, DRIFT_REPAIR_BIND,
		  strf("the driver_override of %s is %s, not %s", BDF_TEXT(&first->bdf),
		       first->driver_override ? first->driver_override : "not set", first->driver),
		  NULL);
}
