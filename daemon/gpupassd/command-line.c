/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gpupassd/command-line.h"

#include "gpupass/dbus.h"
#include "gpupass/formats.h"
#include "util/arguments.h"

static const char help[] =
	"gpupassd [OPTION...]\n"
	"\n"
	"Gives NVLink-bridged GPUs to libvirt domains, whole groups at a time.\n"
	"\n"
	"  -h --help             Show this text\n"
	"     --version          Show the versions of gpupassd, D-Bus and files\n"
	"     --check            Check the settings and declared groups, and exit\n"
	"     --config-dir=DIR   Settings, groups and assignments (" GPUPASS_CONFIG_DIR ")\n"
	"     --state-dir=DIR    Journal, quarantines, receipts (" GPUPASS_STATE_DIR ")\n"
	"     --runtime-dir=DIR  Where gpupass-bind left its report (/run/gpupass)\n"
	"\n"
	"For development:\n"
	"     --session          On the session bus\n"
	"     --libvirt-uri=URI  Instead of the configured one\n"
	"     --worker=PROGRAM   Instead of the installed gpupass-worker\n"
	"     --initramfs=PROGRAM  Instead of the installed gpupass-initramfs\n"
	"     --eraser=PROGRAM   Instead of the installed gpupass-eraser\n"
	"     --nvml=LIBRARY     Instead of libnvidia-ml.so.1\n"
	"     --sysfs=DIR        Instead of /sys\n"
	"     --proc=DIR         Instead of /proc\n"
	"     --root=DIR         Instead of /, for what doctor looks at, nvidia-smi and\n"
	"                        nvidia-persistenced\n"
	"\n"
	"See gpupassd(8).\n";

static const char version[] =
	GPUPASS_VERSION " (" GPUPASS_BUS_NAME "; files:" GPUPASS_FILES(GPUPASS_AND_FORMAT) ")";

static const Program program = { "gpupassd", help, version };

bool options_parse(int argc, char **argv, Options *ret, int *ret_status)
{
	const WorkerConfig installed = {
		.program = GPUPASS_LIBEXEC_DIR "/gpupass-worker",
		.initramfs = GPUPASS_LIBEXEC_DIR "/gpupass-initramfs",
		.eraser = GPUPASS_LIBEXEC_DIR "/gpupass-eraser",
		.sysfs_dir = "/sys",
		.proc_dir = "/proc",
		.root_dir = "/",
	};
	Options o = {
		.config_directory = GPUPASS_CONFIG_DIR,
		.state_directory = GPUPASS_STATE_DIR,
		.runtime_directory = "/run/gpupass",
		.worker = installed,
	};
	const Argument known[] = {
		{ "check", .flag = &o.check },
		{ "config-dir", .text = &o.config_directory },
		{ "state-dir", .text = &o.state_directory },
		{ "runtime-dir", .text = &o.runtime_directory },
		{ "session", .flag = &o.session },
		{ "libvirt-uri", .text = &o.libvirt_uri },
		{ "worker", .text = &o.worker.program },
		{ "initramfs", .text = &o.worker.initramfs },
		{ "eraser", .text = &o.worker.eraser },
		{ "nvml", .text = &o.worker.nvml },
		{ "sysfs", .text = &o.worker.sysfs_dir },
		{ "proc", .text = &o.worker.proc_dir },
		{ "root", .text = &o.worker.root_dir },
	};
	int first;

	if (!arguments_parse(&program, known, ELEMENTS(known), argc, argv, &first, ret_status))
		return false;
	if (first < argc) {
		*ret_status = arguments_refuse(&program, "unexpected argument", argv[first]);
		return false;
	}
	o.elsewhere = strcmp(o.worker.program, installed.program) != 0 ||
		      strcmp(o.worker.initramfs, installed.initramfs) != 0 ||
		      strcmp(o.worker.eraser, installed.eraser) != 0 ||
		      strcmp(o.worker.sysfs_dir, installed.sysfs_dir) != 0 ||
		      strcmp(o.worker.proc_dir, installed.proc_dir) != 0 ||
		      strcmp(o.worker.root_dir, installed.root_dir) != 0 || o.worker.nvml;
	*ret = o;
	return true;
}
