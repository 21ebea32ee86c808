/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command-line.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "gpupass/errors.h"

static void print_help(void)
{
	puts("gpupassd [OPTION...]\n"
	     "\n"
	     "Gives NVLink-bridged GPUs to libvirt domains, whole groups at a time.\n"
	     "\n"
	     "  -h --help             Show this text\n"
	     "     --version          Show the version\n"
	     "     --check            Check the settings and declared groups, and exit\n"
	     "     --config-dir=DIR   Settings, groups and assignments (" GPUPASS_CONFIG_DIR ")\n"
	     "     --state-dir=DIR    Journal, quarantines, receipts (" GPUPASS_STATE_DIR ")\n"
	     "     --runtime-dir=DIR  Where gpupass-bind left its report (/run/gpupass)\n"
	     "\n"
	     "For development:\n"
	     "     --session          On the session bus\n"
	     "     --libvirt-uri=URI  Instead of the configured one\n"
	     "     --worker=PROGRAM   Instead of the installed gpupass-worker\n"
	     "     --nvml=LIBRARY     Instead of libnvidia-ml.so.1\n"
	     "     --sysfs=DIR        Instead of /sys\n"
	     "     --proc=DIR         Instead of /proc\n"
	     "     --root=DIR         Instead of /, for what doctor looks at\n"
	     "\n"
	     "See gpupassd(8).");
}

enum {
	ARG_VERSION = 0x100,
	ARG_CHECK,
	ARG_CONFIG_DIR,
	ARG_STATE_DIR,
	ARG_RUNTIME_DIR,
	ARG_SESSION,
	ARG_LIBVIRT_URI,
	ARG_WORKER,
	ARG_NVML,
	ARG_SYSFS,
	ARG_PROC,
	ARG_ROOT,
};

static const struct option long_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, ARG_VERSION },
	{ "check", no_argument, NULL, ARG_CHECK },
	{ "config-dir", required_argument, NULL, ARG_CONFIG_DIR },
	{ "state-dir", required_argument, NULL, ARG_STATE_DIR },
	{ "runtime-dir", required_argument, NULL, ARG_RUNTIME_DIR },
	{ "session", no_argument, NULL, ARG_SESSION },
	{ "libvirt-uri", required_argument, NULL, ARG_LIBVIRT_URI },
	{ "worker", required_argument, NULL, ARG_WORKER },
	{ "nvml", required_argument, NULL, ARG_NVML },
	{ "sysfs", required_argument, NULL, ARG_SYSFS },
	{ "proc", required_argument, NULL, ARG_PROC },
	{ "root", required_argument, NULL, ARG_ROOT },
	{ NULL, 0, NULL, 0 },
};

static int take_option(int c, Options *options)
{
	switch (c) {
	case ARG_CHECK:
		options->check = true;
		return 0;
	case ARG_CONFIG_DIR:
		options->config_directory = optarg;
		return 0;
	case ARG_STATE_DIR:
		options->state_directory = optarg;
		return 0;
	case ARG_RUNTIME_DIR:
		options->runtime_directory = optarg;
		return 0;
	case ARG_SESSION:
		options->session = true;
		return 0;
	case ARG_LIBVIRT_URI:
		options->libvirt_uri = optarg;
		return 0;
	case ARG_WORKER:
		options->worker.program = optarg;
		return 0;
	case ARG_NVML:
		options->worker.nvml = optarg;
		return 0;
	case ARG_SYSFS:
		options->worker.sysfs_dir = optarg;
		return 0;
	case ARG_PROC:
		options->worker.proc_dir = optarg;
		return 0;
	case ARG_ROOT:
		options->worker.root_dir = optarg;
		return 0;
	default:
		return -EINVAL;
	}
}

bool options_parse(int argc, char *argv[], Options *ret, int *ret_status)
{
	Options options = {
		.config_directory = GPUPASS_CONFIG_DIR,
		.state_directory = GPUPASS_STATE_DIR,
		.runtime_directory = "/run/gpupass",
		.worker = {
			.program = GPUPASS_LIBEXEC_DIR "/gpupass-worker",
			.sysfs_dir = "/sys",
			.proc_dir = "/proc",
			.root_dir = "/",
		},
	};
	int c;

	*ret_status = GPUPASS_EXIT_DONE;
	while ((c = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		if (c == 'h') {
			print_help();
			return false;
		}
		if (c == ARG_VERSION) {
			puts("gpupassd " GPUPASS_VERSION);
			return false;
		}
		if (take_option(c, &options) < 0) {
			*ret_status = GPUPASS_EXIT_USAGE;
			return false;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "gpupassd: unexpected argument \"%s\"; see gpupassd --help\n",
			argv[optind]);
		*ret_status = GPUPASS_EXIT_USAGE;
		return false;
	}
	*ret = options;
	return true;
}
