/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/boot.h"

#include <fcntl.h>

#include "core/pci/driver-name.h"
#include "manager/audit.h"
#include "manager/state.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"

#define BOOT_REPORT_MAX (4 * 1024 * 1024)

static void log_boot_faults(Manager *m, const BootFaults *faults)
{
	for (size_t i = 0; i < faults->n_items; i++) {
		_cleanup_free_ char *text = boot_fault_text(&faults->items[i]);

		log_line(LOG_WARNING,
			 &(LogFields){ .message_id = LOG_ID_NOT_BOUND,
				       .functions = BDF_TEXT(&faults->items[i].bdf) },
			 "at boot %s was not bound to vfio-pci: %s",
			 BDF_TEXT(&faults->items[i].bdf), text);
		audit_boot_fault(m, &faults->items[i]);
	}
}

void manager_load_boot(Manager *m, const char *runtime_directory)
{
	_cleanup_free_ char *path = strf("%s/boot.json", runtime_directory);
	_cleanup_free_ char *text = NULL, *message = NULL;
	size_t size = 0;
	int r;

	r = file_read_state_at(AT_FDCWD, path, BOOT_REPORT_MAX, &text, &size);
	if (r == -ENOENT)
		return; /* nothing was assigned, or gpupass-bind did not run */
	if (r >= 0)
		r = boot_faults_parse(text, size, &m->boot, &message);
	if (r < 0) {
		log_as(LOG_WARNING, LOG_ID_NOT_READ, "%s cannot be understood: %s", path,
		       message ? message : file_state_error(r));
		strv_appendf(&m->state_notes,
			     "%s cannot be understood (%s), so what happened at boot is "
			     "not known; see: journalctl -u gpupass-bind",
			     path, message ? message : file_state_error(r));
		return;
	}
	log_boot_faults(m, m->boot);
}

char *manager_boot_reason(const Manager *m, const Group *group)
{
	for (size_t i = 0; i < group->n_gpus; i++)
		for (size_t k = 0; k < group->gpus[i]->n_functions; k++) {
			const PciFunction *function = group->gpus[i]->functions[k];
			const BootFault *fault = boot_faults_find(m->boot, &function->bdf);
			_cleanup_free_ char *text = NULL;

			if (!fault || pci_function_on_vfio(function))
				continue;
			text = boot_fault_text(fault);
			return strf("at boot %s was not bound: %s", BDF_TEXT(&function->bdf), text);
		}
	return NULL;
}
