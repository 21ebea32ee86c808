/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What hardware and NVIDIA's library say: every call of NVML returns what the input says, texts
 * without an end included; config space and link registers are the input's bytes. A sighting that
 * is made can be sent to the daemon, and one that fails has its reason.
 */
#include <dlfcn.h>
#include <errno.h>

#include "core/links/nvlink-registers.h"
#include "core/pci/pcie-config.h"
#include "fuzz.h"
#include "host/device/nvml.h"
#include "host/wire/question.h"
#include "util/text.h"
#include "util/xalloc.h"

void *__wrap_dlopen(const char *path, int flags);   /* NOLINT: the linker's name */
void *__wrap_dlsym(void *handle, const char *name); /* NOLINT: the linker's name */
void *__real_dlsym(void *handle, const char *name); /* NOLINT: the linker's name */
int __wrap_dlclose(void *handle);		    /* NOLINT: the linker's name */

/* The library has no state of its own, so this is its only one. */
static FuzzBytes answers;

/* host/device/nvml.c: nvmlPciInfo_t */
typedef struct nvmlPciInfo_st {
	char bus_id_legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char bus_id[32];
} PciInfo;
typedef struct nvmlDevice_st *Device;

/* Mostly success; otherwise any code. */
static int code(void)
{
	uint8_t byte = fuzz_byte(&answers);

	return byte < 200 ? 0 : byte - 200;
}

static int fill(char *buffer, size_t size)
{
	_cleanup_free_ char *text = fuzz_string(&answers, size);

	memset(buffer, fuzz_byte(&answers) & 1 ? 'x' : 0, size);
	memcpy(buffer, text, strlen(text));
	return code();
}

static int no_arguments(void)
{
	return code();
}

static int driver_version(char *buffer, unsigned size)
{
	return fill(buffer, size);
}

static int text_of(_unused_ Device device, char *buffer, unsigned size)
{
	return fill(buffer, size);
}

static int handle(const char *bus_id, Device *ret)
{
	EXPECT(strlen(bus_id) >= strlen("00000000:41:00.0"));
	*ret = (Device)&answers;
	return code();
}

static int pci_info(Device device, PciInfo *ret)
{
	EXPECT(device == (Device)&answers);
	ret->pci_device_id = (unsigned)fuzz_number(&answers, 4);
	ret->pci_subsystem_id = (unsigned)fuzz_number(&answers, 4);
	return fill(ret->bus_id, sizeof(ret->bus_id));
}

static int link_state(_unused_ Device device, _unused_ unsigned link, int *ret)
{
	*ret = fuzz_byte(&answers) & 3;
	return code();
}

static int remote_type(_unused_ Device device, _unused_ unsigned link, int *ret)
{
	*ret = fuzz_byte(&answers) & 3;
	return code();
}

static int remote_pci(_unused_ Device device, _unused_ unsigned link, PciInfo *ret)
{
	uint8_t bus = fuzz_byte(&answers);

	if (bus >= 128)
		return fill(ret->bus_id, sizeof(ret->bus_id));
	snprintf(ret->bus_id, sizeof(ret->bus_id), "%08x:%02x:00.0", bus & 1, bus);
	return code();
}

static int get_mode(_unused_ Device device, int *ret)
{
	*ret = (int8_t)fuzz_byte(&answers) % 3;
	return code();
}

static int set_mode(_unused_ Device device, int mode)
{
	EXPECT(mode == 0 || mode == 1);
	return code();
}

static const char *error_string(int error)
{
	return error == 7 ? NULL : "\033[31mUnknown Error\n";
}

void *__wrap_dlopen(_unused_ const char *path, _unused_ int flags) /* NOLINT: the linker's name */
{
	return &answers;
}

int __wrap_dlclose(_unused_ void *handle_) /* NOLINT: the linker's name */
{
	return 0;
}

static void *find_function(const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} functions[] = {
		{ "nvmlInit_v2", (void *)no_arguments },
		{ "nvmlShutdown", (void *)no_arguments },
		{ "nvmlSystemGetDriverVersion", (void *)driver_version },
		{ "nvmlDeviceGetHandleByPciBusId_v2", (void *)handle },
		{ "nvmlDeviceGetPciInfo_v3", (void *)pci_info },
		{ "nvmlDeviceGetUUID", (void *)text_of },
		{ "nvmlDeviceGetSerial", (void *)text_of },
		{ "nvmlDeviceGetVbiosVersion", (void *)text_of },
		{ "nvmlDeviceGetNvLinkState", (void *)link_state },
		{ "nvmlDeviceGetNvLinkRemoteDeviceType", (void *)remote_type },
		{ "nvmlDeviceGetNvLinkRemotePciInfo_v2", (void *)remote_pci },
		{ "nvmlDeviceGetPersistenceMode", (void *)get_mode },
		{ "nvmlDeviceSetPersistenceMode", (void *)set_mode },
		{ "nvmlErrorString", (void *)error_string },
	};

	for (size_t i = 0; i < ELEMENTS(functions); i++)
		if (strcmp(functions[i].name, name) == 0)
			return functions[i].function;
	return NULL;
}

/*
 * The sanitizers' own start comes here, too, before they can be used, and takes the other way.
 */
__attribute__((no_sanitize("address", "undefined", "coverage"))) void *
__wrap_dlsym(void *handle_, const char *name) /* NOLINT: the linker's name */
{
	return handle_ == &answers ? find_function(name) : __real_dlsym(handle_, name);
}

static void expect_plain(const char *text)
{
	EXPECT(text && *text);
	for (; *text; text++)
		EXPECT(*text >= ' ' && *text <= '~');
}

/* What the probe sends of this GPU, the daemon takes. */
static void the_daemon_takes(const Bdf *gpu, Sighting *seen, const char *source)
{
	_cleanup_free_ char *document = NULL, *wrong = NULL;
	const Question *links = question(ASK_LINKS);
	ProbeAnswer answer = { 0 }, again = { 0 };
	bool peers_are_there = true;

	for (size_t i = 0; i < seen->n_peers; i++)
		peers_are_there &= seen->peers[i].links <= SIGHTING_LINKS_MAX;
	EXPECT(peers_are_there && seen->n_peers <= SIGHTING_LINKS_MAX);
	seen->way = WAY_NVML;
	seen->seen_usec = 1;
	seen->source = strdup(source);
	answer.boards = xcalloc(1, sizeof(Evidence));
	evidence_add(answer.boards, seen);
	document = answer_text(links, &answer);
	EXPECT(answer_parse(links, gpu, 1, document, strlen(document), &again, &wrong) == 0);
	answer_clear(links, &answer);
	answer_clear(links, &again);
}

static void nvml_is_asked(const char *bytes, size_t size)
{
	static const Bdf gpu = { .bus = 0x41 };
	_cleanup_(nvml_closep) Nvml *nvml = NULL;
	_cleanup_free_ char *why = NULL, *trouble = NULL;
	GpuPersistence mode = { 0 };
	Sighting seen = { 0 };

	answers = fuzz_bytes(bytes, size);
	if (nvml_open(NULL, &nvml, &why) < 0) {
		expect_plain(why);
		return;
	}
	expect_plain(nvml_source(nvml));
	if (nvml_look(nvml, &gpu, &seen, &trouble) == 0)
		the_daemon_takes(&gpu, &seen, nvml_source(nvml));
	else
		expect_plain(trouble);
	nvml_set_persistence(nvml, &gpu, size & 1, &mode);
	if (mode.mode == PERSISTENCE_UNKNOWN || mode.why)
		expect_plain(mode.why);
	gpu_persistence_clear(&mode);
}

static void registers_are_decoded(const char *bytes, size_t size)
{
	NvlinkRegisters registers = { 0 };
	NvlinkView views[2] = { { .bdf = { .bus = 1 } }, { .bdf = { .bus = 2 } } };
	_cleanup_free_ char *reason = NULL;
	Sighting seen = { 0 };
	const char *why = NULL;
	PcieConfig config;

	pcie_config_parse((const uint8_t *)bytes,
			  size < PCIE_CONFIG_BYTES ? size : PCIE_CONFIG_BYTES, &config);
	EXPECT(size >= 64 || !config.read);
	EXPECT(config.width <= 63 && config.speed <= 15 && pcie_speed_text(config.speed));
	memcpy(&registers, bytes, size < sizeof(registers) ? size : sizeof(registers));
	if (nvlink_decode(&registers, &views[0], &why) < 0) {
		expect_plain(why);
		return;
	}
	EXPECT(views[0].active <= NVLINK_LINKS);
	views[1] = views[0];
	views[1].bdf.bus = 2;
	if (nvlink_peers(views, 2, 0, &seen, &reason) < 0)
		expect_plain(reason);
	sighting_clear(&seen);
}

void fuzz_one(const char *bytes, size_t size, _unused_ const char *text)
{
	nvml_is_asked(bytes, size);
	registers_are_decoded(bytes, size);
}
