/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-trail: reads the files of the audit trail, and prints whether the chain of their records
 * is whole, as JSON. It needs no daemon, because a daemon that was taken over must not be asked
 * whether its trail is whole. gpupass(1) runs it for audit --verify.
 */
#include <fcntl.h>

#include "gpupass/errors.h"
#include "store/trail-files.h"
#include "util/arguments.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

static const char help[] =
	"gpupass-trail [OPTION...] DIRECTORY\n"
	"\n"
	"Prints whether the audit trail in this directory is whole, as JSON.\n"
	"\n"
	"  -h --help         Show this text\n"
	"     --version      Show the version\n"
	"     --expect=HASH  The hash of a record, as noted earlier, that must be there\n"
	"\n"
	"See gpupassd(8), AUDIT.\n";

static const Program program = { "gpupass-trail", help, GPUPASS_VERSION };

static int failed(const char *directory, int error)
{
	fprintf(stderr, "%s: %s\n", directory, strerror(-error));
	if (error == -EACCES || error == -EPERM)
		return GPUPASS_EXIT_NOT_PERMITTED;
	return error == -ENOENT ? GPUPASS_EXIT_NOT_FOUND : GPUPASS_EXIT_FAILED;
}

static int print_report(const AuditReport *report)
{
	_cleanup_json_ json_t *o = audit_report_to_json(report);

	if (json_dumpf(o, stdout, JSON_COMPACT | JSON_ENSURE_ASCII) < 0 ||
	    fputc('\n', stdout) == EOF || fflush(stdout) == EOF)
		return -EIO;
	return report->all_findings == 0 ? GPUPASS_EXIT_DONE : GPUPASS_EXIT_FAILED;
}

static int check(const char *directory, const char *expect)
{
	_cleanup_(audit_report_clear) AuditReport report = { 0 };
	_cleanup_(audit_chain_freep) AuditChain *chain = NULL;
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(AT_FDCWD, directory, false, &fd);

	if (r < 0)
		return failed(directory, r);
	chain = audit_chain_new();
	r = trail_files_check(fd, chain);
	if (r < 0)
		return failed(directory, r);
	report = audit_chain_report(chain, expect);
	return print_report(&report);
}

int main(int argc, char *argv[])
{
	const char *expect = NULL;
	const Argument known[] = { { "expect", .text = &expect, .once = true } };
	int first, status;

	json_use_xalloc();
	if (!arguments_parse(&program, known, ELEMENTS(known), argc, argv, &first, &status))
		return status;
	if (argc - first != 1)
		return arguments_refuse(&program, "give one directory", NULL);
	if (expect && !line_hash_valid(expect))
		return arguments_refuse(&program, "this is no hash of 64 hex digits", expect);
	return check(argv[first], expect);
}
