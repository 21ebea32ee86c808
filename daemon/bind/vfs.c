/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bind/vfs.h"

#include <fcntl.h>
#include <time.h>

#include "core/links/declaration.h"
#include "host/launch/ask.h"
#include "host/scan/scan.h"
#include "host/scan/sysfs.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define PAUSE_NSEC (100 * 1000 * 1000)
#define GROUPS_FILE_MAX (256 * 1024)

/*
 * A VF has its NIC's vendor (pci_iov_add_virtfn() in drivers/pci/iov.c): another board that is
 * missing is none.
 */
static bool is_missing(const PciFunction *nic, const BootFunction *f)
{
	return f->outcome == BOOT_MISSING && f->record->vendor == nic->vendor &&
	       pci_function_vfs_for(nic, &f->record->bdf) > 0;
}

/*
 * The NIC where the VF's was has its serial number, and is in its slot. Else it may be the host's
 * own: no VF of it is made, and the report says why.
 */
static bool is_its_nic(const BootMachine *machine, const PciFunction *nic, BootFunction *f)
{
	_cleanup_free_ char *serial = NULL, *change = NULL;
	int r = machine->serial_number(machine, &nic->bdf, &serial);

	change = r < 0 ? strf("cannot be known: %s", strerror(-r))
		       : assigned_vf_change(f->record, nic, serial);
	if (!change)
		return true;
	f->outcome = BOOT_CHANGED;
	free(f->detail);
	f->detail = strf("as a VF of %s it %s", BDF_TEXT(&nic->bdf), change);
	return false;
}

/* So many that this one is among them. */
static void at_least(unsigned *number, const PciFunction *nic, const Bdf *vf)
{
	unsigned n = pci_function_vfs_for(nic, vf);

	if (n > *number)
		*number = n;
}

/* What cannot be read the daemon tells. */
static void count_declared(const char *config_dir, const PciFunction *nic, unsigned *number)
{
	_cleanup_(declarations_freep) Declarations *all = xcalloc(1, sizeof(Declarations));
	_cleanup_free_ char *folder = strf("%s/groups.d", config_dir);
	_cleanup_strv_ char **names = NULL;

	(void)dir_list_at(AT_FDCWD, folder, ".conf", &names);
	for (char **name = names; name && *name; name++) {
		_cleanup_(problem_freep) Problem *fault = NULL;
		_cleanup_free_ char *path = strf("%s/%s", folder, *name), *text = NULL;

		if (file_read_regular_at(AT_FDCWD, path, GROUPS_FILE_MAX, &text, NULL) >= 0)
			(void)declarations_parse(all, *name, text, &fault);
	}
	for (size_t i = 0; i < all->n_items; i++)
		for (size_t k = 0; k < all->items[i].n_companions; k++)
			at_least(number, nic, &all->items[i].companions[k].bdf);
}

/*
 * Its driver link is there before its probe() has begun (really_probe() in drivers/base/dd.c), its
 * network device, by which VFs get their rules, only in it. To make VFs then waits for the end.
 */
static void await_device(int sysfs_fd, const PciFunction *nic, uint64_t deadline)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NSEC };
	_cleanup_free_ char *path = sysfs_function_path(&nic->bdf, "net");

	while (faccessat(sysfs_fd, path, F_OK, 0) < 0 && now_monotonic() < deadline)
		nanosleep(&pause, NULL);
}

static char *ask(const WorkerConfig *parts, Ask *one)
{
	char *why = NULL;

	ask_parts(parts, one, 1, ASK_USUAL_TIMEOUT, 0);
	if (one->error < 0)
		why = strf("%s: %s", one->problem->reason, one->problem->cause);
	ask_clear(one);
	return why;
}

void vfs_make(const BootMachine *machine, const char *config_dir, uint64_t wait_usec,
	      BootReport *report)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	uint64_t deadline = now_monotonic() + wait_usec;

	if (boot_report_count(report, BOOT_MISSING) == 0 ||
	    scan_pci(machine->sysfs_fd, &snapshot) < 0)
		return;
	EACH_OF (PciFunction, nic, snapshot->functions, snapshot->n_functions) {
		_cleanup_free_ char *text = NULL, *why = NULL;
		VfsAnswer answer = { 0 };
		unsigned number = 0;

		for (size_t k = 0; member_kind_is(MEMBER_NIC, nic) && k < report->n_functions; k++)
			if (is_missing(nic, &report->functions[k]) &&
			    is_its_nic(machine, nic, &report->functions[k]))
				at_least(&number, nic, &report->functions[k].record->bdf);
		if (number == 0)
			continue;
		count_declared(config_dir, nic, &number);
		await_device(machine->sysfs_fd, nic, deadline);
		text = strf("%u", number);
		why = ask(machine->parts,
			  &(Ask){ ASK_VFS, .after = { text, "0" }, .functions = &nic->bdf, .n = 1,
				  .answer = &answer });
		for (size_t k = 0; why && k < report->n_functions; k++)
			if (is_missing(nic, &report->functions[k])) {
				free(report->functions[k].detail);
				report->functions[k].detail = xstrdup(why);
			}
	}
}

size_t vfs_count_missing(int sysfs_fd, const BootReport *report)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	size_t n = 0;

	if (boot_report_count(report, BOOT_MISSING) == 0 || scan_pci(sysfs_fd, &snapshot) < 0)
		return 0;
	for (size_t i = 0; i < report->n_functions; i++)
		n += SOME_OF(snapshot->functions, snapshot->n_functions,
			     member_kind_is(MEMBER_NIC, it) &&
				     is_missing(it, &report->functions[i]));
	return n;
}

char *vf_rule(const WorkerConfig *parts, const Bdf *vf)
{
	NicsAnswer answer = { 0 };
	char *why = ask(parts, &(Ask){ ASK_RULES, .functions = vf, .n = 1, .answer = &answer });

	if (!why && !nic_use_vf_is_ruled(answer.nics))
		why = answer.nics->vf_why ? xstrdup(answer.nics->vf_why)
					  : strf("the spoof check of %s is off, or it is trusted, "
						 "after all",
						 BDF_TEXT(vf));
	answer_clear(question(ASK_RULES), &answer);
	return why;
}
