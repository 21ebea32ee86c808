/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a symptom in a guest to its cause: the checks of this report that may explain it, in the
 * order in which to read them, and hints at what can only be seen in the guest.
 */
#include "core/doctor/doctor.h"
#include "util/json.h"

DEFINE_STRING_TABLE(doctor_symptom, DoctorSymptom, DOCTOR_SYMPTOMS)

#define SUSPECTS_MAX 12
#define HINTS_MAX 6

typedef struct Hint {
	const char *cause, *remedy;
} Hint;

typedef struct Symptom {
	DoctorSymptom symptom;
	const char *title;
	const char *suspects[SUSPECTS_MAX]; /* ids of checks */
	Hint hints[HINTS_MAX];
} Symptom;

static const Symptom symptoms[] = {
	{
		.symptom = SYMPTOM_NO_NVLINK,
		.title = "nvidia-smi in the guest shows no NVLink",
		.suspects = { "groups", "quarantine", "evidence", "drift", "domain-group",
			      "domain-hostdevs", "answers", "aer", "power", "domain-machine",
			      "domain-security" },
		.hints = {
			{ "the guest has only one of the bridged GPUs, so its link has no other end",
			  "in the guest: nvidia-smi -L; if one is missing: gpupass doctor DOMAIN "
			  "--symptom=one-gpu" },
			{ "the links did not train at this start of the guest: nvidia-smi nvlink --status "
			  "shows them inactive",
			  "reboot the guest, then: gpupass verify DOMAIN" },
			{ "Confidential Computing or MIG is on, and turns NVLink between GPUs off",
			  "in the guest: nvidia-smi conf-compute -f; nvidia-smi -mig 0" },
			{ "the guest's driver is too old for the board, or is not NVIDIA's",
			  "install NVIDIA's driver in the guest; nouveau does not support NVLink" },
			{ "after a reboot the links are still inactive, and the host did not see them "
			  "either: the bridge is not seated, or not on the declared boards",
			  "compare with what the host saw: gpupass status GROUP; then reseat the bridge "
			  "with the host switched off" },
		},
	},
	{
		.symptom = SYMPTOM_ONE_GPU,
		.title = "only one of the GPUs is visible in the guest",
		.suspects = { "domain-hostdevs", "domain-group", "domain-window", "bars",
			      "framebuffer", "answers", "groups", "reset", "domain-machine",
			      "domain-memlock", "managed" },
		.hints = {
			{ "the BARs of both do not fit into the guest's address window: lspci in the "
			  "guest shows both, and dmesg \"can't assign; no space\" or \"BAR … failed to "
			  "assign\"",
			  "<maxphysaddr mode='passthrough'/> in the domain's <cpu>, with UEFI; or the "
			  "QEMU option fw_cfg opt/ovmf/X-PciMmio64Mb" },
			{ "lspci in the guest shows only one: the hostdev is missing or was unplugged",
			  "virsh dumpxml DOMAIN; gpupass status DOMAIN" },
			{ "lspci shows both and dmesg \"RmInitAdapter failed\": the driver could not "
			  "start one",
			  "shut the guest down and start it again, which resets the board; then see "
			  "dmesg of the host" },
		},
	},
	{
		.symptom = SYMPTOM_NO_P2P,
		.title = "peer-to-peer between the GPUs is disabled in the guest",
		.suspects = { "groups", "domain-group", "domain-hostdevs", "answers",
			      "domain-machine", "domain-clique", "domain-security", "aer" },
		.hints = {
			{ "NVLink does not work either: nvidia-smi topo -m shows no NV in the pair",
			  "gpupass doctor DOMAIN --symptom=no-nvlink" },
			{ "nvidia-smi topo -p2p n shows CNS or TNS: this is about PCIe only, which a "
			  "guest's topology does not offer and NVLink does not need",
			  "ask for NVLink: NCCL_P2P_LEVEL=NVL, CUDA's cudaDeviceCanAccessPeer" },
			{ "nvidia-smi topo -p2p n shows GNS: the driver offers none for this board",
			  "see NVIDIA's notes for this board; GeForce boards have it over NVLink only" },
			{ "nvidia-smi topo -p2p n shows DR: a driver setting turns it off",
			  "look for NVreg_ options in the guest's modprobe.d" },
			{ "Confidential Computing or MIG is on", "in the guest: nvidia-smi -mig 0" },
		},
	},
	{
		.symptom = SYMPTOM_SLOW,
		.title = "bandwidth between the GPUs, or to the host, is low",
		.suspects = { "link-width", "link-speed", "aer", "answers", "domain-hostdevs",
			      "domain-numa", "domain-hugepages", "domain-machine", "acs", "power",
			      "groups" },
		.hints = {
			{ "fewer links are active than the board has: count those that nvidia-smi nvlink "
			  "--status does not call <inactive>, and compare with gpupass show GROUP",
			  "reboot the guest and count again; then reseat the bridge with the host "
			  "switched off; boards with three bridges need all three" },
			{ "the program does not use NVLink: NCCL_DEBUG=INFO shows via SHM or NET",
			  "NCCL_P2P_LEVEL=NVL; gpupass doctor DOMAIN --symptom=no-p2p" },
			{ "memory or virtual CPUs of the guest are on another NUMA node than the GPUs",
			  "gpupass topology; <numatune> and <vcpupin> in the domain" },
			{ "in the guest the link reads 2.5 GT/s while idle, which is normal",
			  "look at it under load" },
		},
	},
};

static json_t *suspects_json(const Symptom *symptom, const Findings *findings)
{
	json_t *list = json_array();

	/* Failed checks first: they explain more than warnings. */
	for (int status = FINDING_FAIL; status >= FINDING_WARN; status--)
		for (size_t i = 0; i < SUSPECTS_MAX && symptom->suspects[i]; i++)
			for (size_t k = 0; k < findings->n_items; k++)
				if (findings->items[k].status == (FindingStatus)status &&
				    str_equal(findings->items[k].check->id, symptom->suspects[i]))
					json_append(list, json_text(symptom->suspects[i]));
	return list;
}

static json_t *hints_json(const Symptom *symptom)
{
	json_t *list = json_array();

	for (size_t i = 0; i < HINTS_MAX && symptom->hints[i].cause; i++)
		json_append(list, json_build("{s:s, s:s}", "cause", symptom->hints[i].cause,
					     "remedy", symptom->hints[i].remedy));
	return list;
}

json_t *doctor_symptom_json(DoctorSymptom symptom, const Findings *findings)
{
	for (size_t i = 0; i < ELEMENTS(symptoms); i++)
		if (symptoms[i].symptom == symptom)
			return json_build("{s:s, s:s, s:o, s:o}", "name",
					  doctor_symptom_to_string(symptom), "title",
					  symptoms[i].title, "suspects",
					  suspects_json(&symptoms[i], findings), "hints",
					  hints_json(&symptoms[i]));
	return json_null();
}
