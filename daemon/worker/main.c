/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-worker: does one thing that may never return (unbind a driver, wait for a device), so
 * that gpupassd need not. host/wire/question.h has the protocol.
 */

#include "host/wire/request.h"
#include "worker/command.h"

static const char usage[] =
	"Usage: gpupass-worker [OPTION]... move BDF DRIVER|- OVERRIDE|-\n"
	"       gpupass-worker [OPTION]... reset [--slot] BDF\n"
	"       gpupass-worker [OPTION]... vfs BDF NUMBER 0|1\n"
	"       gpupass-worker [OPTION]... inspect [--glance] [BDF]...\n"
	"       gpupass-worker [OPTION]... config [--awake] [BDF]...\n"
	"       gpupass-worker [OPTION]... nic BDF...\n"
	"       gpupass-worker [OPTION]... rules BDF...\n"
	"       gpupass-worker [OPTION]... examine --without-image | BDF [PORT]...\n"
	"       gpupass-worker [OPTION]... probe [--mmio] BDF...\n"
	"       gpupass-worker [OPTION]... persistence [--set=on|off] BDF...\n"
	"       gpupass-worker [OPTION]... memory BDF...\n"
	"       gpupass-worker [OPTION]... nvme [--no-labels] BDF...\n"
	"       gpupass-worker [OPTION]... machines\n"
	"       gpupass-worker uevents\n"
	"       gpupass-worker --part=NAME\n"
	"\n"
	"Moves one PCI function to a driver, resets one, gives a NIC its VFs, looks closely at\n"
	"some, reads their config space, finds who uses NICs, sets what VFs may do, examines the\n"
	"host's setup or one GPU's health, asks NVML about the NVLinks or persistence mode of\n"
	"some, sets the mode of one, or reads whether some have cleared their memory, what uses\n"
	"NVMes, or the virtual machines of Proxmox VE, for gpupassd(8).\n"
	"Writes one JSON document to standard output; uevents, a byte for each message of the\n"
	"kernel about a PCI device, while standard output is open. With --part it reads the\n"
	"verb and what follows from its standard input, and does only what this part is there\n"
	"for.\n"
	"\n"
	"      --sysfs=DIR     sysfs (default /sys)\n"
	"      --proc=DIR      procfs (default /proc)\n"
	"      --root=DIR      examine, machines, persistence: where etc, run and usr are (default /)\n"
	"      --without-image examine: the host, without its initramfs\n"
	"      --glance        inspect: the functions, and not who holds them\n"
	"      --awake         config: of what is in D0 only\n"
	"      --no-labels     nvme: not what is on them\n"
	"      --mmio          probe: read link registers (Hopper) instead of NVML\n"
	"      --nvml=LIBRARY  NVML's library (default libnvidia-ml.so.1)\n"
	"      --slot          reset: all functions of its slot, through vfio\n"
	"      --set=on|off    persistence: of one GPU, set it, and read it again\n"
	"  -h, --help          show this help\n"
	"      --version       show the version\n";

const Program worker_program = { "gpupass-worker", usage, GPUPASS_VERSION };

static const Part *find_part(const char *name)
{
	return strcmp(name, PART_MOVER) != 0 ? part_find(name) : NULL;
}

int main(int argc, char **argv)
{
	return worker_main(argc, argv, find_part);
}
