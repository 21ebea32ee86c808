/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * These prototypes are our own, of NVML's stable ABI (nvml.h of CUDA 12). Structs, their tags and
 * numbers are those of nvml.h; function names are those that the library exports. clang's
 * -fsanitize=function, which covers C since version 17, also compares tags.
 */
#include "host/device/nvml.h"

#include <dlfcn.h>
#include <limits.h>

#include "util/text.h"
#include "util/xalloc.h"

#define LIBRARY "libnvidia-ml.so.1"

/*
 * NVML_NVLINK_MAX_LINKS has been 6, 12, 18, and is 36: ask until NVML says that there are no more.
 */
#define LINKS_ASKED SIGHTING_LINKS_MAX

#define BUFFER_SIZE 96 /* NVML_DEVICE_UUID_V2_BUFFER_SIZE, the largest of those used here */

typedef enum NvmlReturn {
	NVML_SUCCESS = 0,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
} NvmlReturn;

enum { REMOTE_GPU = 0 }; /* NVML_NVLINK_DEVICE_TYPE_GPU; 1 NPU, 2 switch */

enum { LINK_INACTIVE = 0, LINK_ACTIVE = 1, LINK_SLEEP = 2 }; /* NVML_NVLINK_STATE_… */

enum { FEATURE_DISABLED = 0, FEATURE_ENABLED = 1 }; /* nvmlEnableState_t */

typedef struct nvmlPciInfo_st { /* nvmlPciInfo_t, as of its version 3 */
	char bus_id_legacy[16];
	unsigned domain, bus, device;
	unsigned pci_device_id; /* device << 16 | vendor */
	unsigned pci_subsystem_id;
	char bus_id[32];
} NvmlPciInfo;
_Static_assert(offsetof(NvmlPciInfo, bus_id) == 36 && sizeof(NvmlPciInfo) == 68,
	       "not the layout of nvmlPciInfo_t");

typedef struct nvmlDevice_st *NvmlDevice;

/* X(member, exported name, arguments) */
#define NVML_FUNCTIONS(X)                                                                          \
	X(init, "nvmlInit_v2", (void))                                                             \
	X(shutdown, "nvmlShutdown", (void))                                                        \
	X(driver_version, "nvmlSystemGetDriverVersion", (char *, unsigned))                        \
	X(handle, "nvmlDeviceGetHandleByPciBusId_v2", (const char *, NvmlDevice *))                \
	X(pci_info, "nvmlDeviceGetPciInfo_v3", (NvmlDevice, NvmlPciInfo *))                        \
	X(uuid, "nvmlDeviceGetUUID", (NvmlDevice, char *, unsigned))                               \
	X(serial, "nvmlDeviceGetSerial", (NvmlDevice, char *, unsigned))                           \
	X(vbios, "nvmlDeviceGetVbiosVersion", (NvmlDevice, char *, unsigned))                      \
	X(link_state, "nvmlDeviceGetNvLinkState", (NvmlDevice, unsigned, int *))                   \
	X(remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType", (NvmlDevice, unsigned, int *))       \
	X(remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2",                                       \
	  (NvmlDevice, unsigned, NvmlPciInfo *))                                                   \
	X(get_persistence, "nvmlDeviceGetPersistenceMode", (NvmlDevice, int *))                    \
	X(set_persistence, "nvmlDeviceSetPersistenceMode", (NvmlDevice, int))

struct Nvml {
	void *handle_;
	const char *(*error_string)(int);
	int (*mig)(NvmlDevice, unsigned *, unsigned *); /* NULL: a driver before 450 */
	bool initialised;
	char *source;
#define X(member, name, arguments) int(*member) arguments;
	NVML_FUNCTIONS(X)
#undef X
};

/* The library's text, as far as it is text. */
static char *plain(const char *s, size_t max)
{
	char *copy = xstrndup(str_or_empty(s), max);

	for (char *c = copy; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return copy;
}

static char *error_text(const Nvml *nvml, int code)
{
	_cleanup_free_ char *text = plain(nvml->error_string(code), 200);

	return strf("%s (NVML error %d)", text, code);
}

static void find_optional(Nvml *nvml)
{
	void *symbol = dlsym(nvml->handle_, "nvmlDeviceGetMigMode");

	memcpy(&nvml->mig, &symbol, sizeof(symbol));
}

static int resolve(Nvml *nvml, char **ret_why)
{
	static const struct {
		const char *name;
		size_t offset;
	} functions[] = {
#define X(member, name, arguments) { name, offsetof(Nvml, member) },
		NVML_FUNCTIONS(X)
#undef X
			{ "nvmlErrorString", offsetof(Nvml, error_string) },
	};

	for (size_t i = 0; i < ELEMENTS(functions); i++) {
		void *symbol = dlsym(nvml->handle_, functions[i].name);

		if (!symbol) {
			*ret_why = strf("NVML has no %s: its driver is too old", functions[i].name);
			return -ENOSYS;
		}
		/*
		 * The address of a function in a void *, which POSIX allows and C has no cast for.
		 */
		memcpy((char *)nvml + functions[i].offset, &symbol, sizeof(symbol));
	}
	find_optional(nvml);
	return 0;
}

static int initialise(Nvml *nvml, char **ret_why)
{
	char version[BUFFER_SIZE] = "";
	_cleanup_free_ char *text = NULL;
	int code = nvml->init();

	if (code != NVML_SUCCESS) {
		text = error_text(nvml, code);
		*ret_why = strf("NVML does not start: %s", text);
		return -EIO;
	}
	nvml->initialised = true;
	if (nvml->driver_version(version, sizeof(version)) != NVML_SUCCESS)
		version[0] = '\0';
	version[sizeof(version) - 1] = '\0';
	text = plain(version, 32);
	nvml->source = strf("NVML%s%s", *text ? " " : "", text);
	return 0;
}

int nvml_open(const char *library, Nvml **ret, char **ret_why)
{
	_cleanup_(nvml_closep) Nvml *nvml = xcalloc(1, sizeof(Nvml));
	int r;

	nvml->handle_ = dlopen(library ? library : LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!nvml->handle_) {
		_cleanup_free_ char *why = plain(dlerror(), 200);

		*ret_why = strf("NVML cannot be loaded: %s", why);
		return -ENOENT;
	}
	r = resolve(nvml, ret_why);
	if (r >= 0)
		r = initialise(nvml, ret_why);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(nvml);
	return 0;
}

Nvml *nvml_close(Nvml *nvml)
{
	if (!nvml)
		return NULL;
	if (nvml->initialised)
		nvml->shutdown();
	if (nvml->handle_)
		dlclose(nvml->handle_);
	free(nvml->source);
	free(nvml);
	return NULL;
}

const char *nvml_source(const Nvml *nvml)
{
	return nvml->source;
}

/* Unknown if NVML does not give it, or it is not plain text: a board may have no serial number. */
static void read_text(NvmlDevice device, int (*get)(NvmlDevice, char *, unsigned), char **ret)
{
	char text[BUFFER_SIZE] = "";

	if (get(device, text, sizeof(text)) != NVML_SUCCESS)
		return;
	text[sizeof(text) - 1] = '\0';
	if (evidence_text_valid(text))
		*ret = xstrdup(text);
}

static MigMode mig_mode(unsigned mode)
{
	return mode == FEATURE_ENABLED ? MIG_ON : mode == FEATURE_DISABLED ? MIG_OFF : MIG_UNKNOWN;
}

/* NOT_SUPPORTED is what nearly every board says. Any other error tells as little. */
static void read_mig(const Nvml *nvml, NvmlDevice device, MigMode *ret, MigMode *ret_pending)
{
	unsigned now = UINT_MAX, pending = UINT_MAX;

	if (!nvml->mig || nvml->mig(device, &now, &pending) != NVML_SUCCESS)
		return;
	*ret = mig_mode(now);
	*ret_pending = mig_mode(pending);
}

static int read_identity(const Nvml *nvml, NvmlDevice device, Sighting *s, char **ret_why)
{
	NvmlPciInfo info = { .bus_id = "" };
	int code = nvml->pci_info(device, &info);

	if (code != NVML_SUCCESS) {
		*ret_why = error_text(nvml, code);
		return -ENODATA;
	}
	s->vendor = (uint16_t)(info.pci_device_id & 0xffff);
	s->device = (uint16_t)(info.pci_device_id >> 16);
	s->subsystem_vendor = (uint16_t)(info.pci_subsystem_id & 0xffff);
	s->subsystem_device = (uint16_t)(info.pci_subsystem_id >> 16);
	read_text(device, nvml->uuid, &s->uuid);
	read_text(device, nvml->serial, &s->board_serial);
	read_text(device, nvml->vbios, &s->vbios);
	read_mig(nvml, device, &s->mig, &s->mig_pending);
	return 0;
}

static int link_failed(const Nvml *nvml, unsigned link, const char *what, int code, char **ret_why)
{
	_cleanup_free_ char *text = error_text(nvml, code);

	*ret_why = strf("%s of link %u cannot be read: %s", what, link, text);
	return -ENODATA;
}

/* An active link's other end. Its pciSubSystemId cannot be trusted; its busId can. */
static int read_remote(const Nvml *nvml, NvmlDevice device, unsigned link, Sighting *s,
		       char **ret_why)
{
	NvmlPciInfo info = { .bus_id = "" };
	int type = -1, code;
	Bdf peer;

	code = nvml->remote_type(device, link, &type);
	if (code != NVML_SUCCESS)
		return link_failed(nvml, link, "the far end's kind", code, ret_why);
	if (type != REMOTE_GPU) {
		s->other++;
		return 0;
	}
	code = nvml->remote_pci(device, link, &info);
	if (code != NVML_SUCCESS)
		return link_failed(nvml, link, "the far end", code, ret_why);
	info.bus_id[sizeof(info.bus_id) - 1] = '\0';
	if (bdf_parse(info.bus_id, &peer) < 0 || bdf_equal(&peer, &s->bdf)) {
		_cleanup_free_ char *text = plain(info.bus_id, sizeof(info.bus_id));

		*ret_why = strf("link %u leads to \"%s\", which is not another GPU", link, text);
		return -ENODATA;
	}
	sighting_add_link(s, &peer);
	return 0;
}

/* A link that sleeps does not tell of its far end; and more states may come. */
static int odd_state(unsigned link, int state, char **ret_why)
{
	*ret_why = strf("link %u is neither active nor inactive, but %s (NVML's state %d)", link,
			state == LINK_SLEEP ? "asleep" : "in a state that is not known", state);
	return -ENODATA;
}

static int read_links(const Nvml *nvml, NvmlDevice device, Sighting *s, char **ret_why)
{
	for (unsigned link = 0; link < LINKS_ASKED; link++) {
		int active = 0, code = nvml->link_state(device, link, &active), r = 0;

		if (code == NVML_INVALID_ARGUMENT)
			return 0; /* there are no more */
		if (code == NVML_NOT_SUPPORTED)
			continue; /* the GPU has it, but this board does not connect it */
		if (code != NVML_SUCCESS)
			return link_failed(nvml, link, "the state", code, ret_why);
		if (active == LINK_INACTIVE)
			s->inactive++;
		else if (active == LINK_ACTIVE)
			r = read_remote(nvml, device, link, s, ret_why);
		else
			r = odd_state(link, active, ret_why);
		if (r < 0)
			return r;
	}
	return 0;
}

/* From here on NVML has the GPU open, and the driver has initialised it. */
static int find_device(const Nvml *nvml, const Bdf *bdf, NvmlDevice *ret, char **ret_why)
{
	/* NVML's own form: eight digits of segment. */
	_cleanup_free_ char *bus_id =
		strf("%08x:%02x:%02x.%x", bdf->segment, bdf->bus, bdf->device, bdf->function);
	int code;

	code = nvml->handle(bus_id, ret);
	if (code == NVML_SUCCESS)
		return 0;
	*ret_why = error_text(nvml, code);
	return -ENODATA;
}

int nvml_look(const Nvml *nvml, const Bdf *bdf, Sighting *ret, char **ret_why)
{
	Sighting s = { .bdf = *bdf };
	NvmlDevice device = NULL;
	int r = find_device(nvml, bdf, &device, ret_why);

	if (r < 0)
		return r;
	r = read_identity(nvml, device, &s, ret_why);
	if (r >= 0)
		r = read_links(nvml, device, &s, ret_why);
	if (r < 0) {
		sighting_clear(&s);
		return r;
	}
	*ret = s;
	return 0;
}

static int read_persistence(const Nvml *nvml, const Bdf *bdf, NvmlDevice *ret_device,
			    GpuPersistence *gpu)
{
	int state = -1, code, r = find_device(nvml, bdf, ret_device, &gpu->why);

	if (r < 0)
		return r;
	read_mig(nvml, *ret_device, &gpu->mig, &gpu->mig_pending);
	code = nvml->get_persistence(*ret_device, &state);
	if (code != NVML_SUCCESS) {
		gpu->why = error_text(nvml, code);
		return -ENODATA;
	}
	if (state != FEATURE_DISABLED && state != FEATURE_ENABLED) {
		gpu->why = strf("NVML reports a persistence mode %d", state);
		return -ENODATA;
	}
	gpu->mode = state == FEATURE_ENABLED ? PERSISTENCE_ON : PERSISTENCE_OFF;
	return 0;
}

void nvml_persistence(const Nvml *nvml, const Bdf *bdf, GpuPersistence *ret)
{
	NvmlDevice device = NULL;

	*ret = (GpuPersistence){ .bdf = *bdf };
	(void)read_persistence(nvml, bdf, &device, ret);
}

void nvml_set_persistence(const Nvml *nvml, const Bdf *bdf, bool on, GpuPersistence *ret)
{
	PersistenceMode wanted = on ? PERSISTENCE_ON : PERSISTENCE_OFF;
	NvmlDevice device = NULL;
	int code;

	*ret = (GpuPersistence){ .bdf = *bdf };
	if (read_persistence(nvml, bdf, &device, ret) < 0 || ret->mode == wanted)
		return;
	code = nvml->set_persistence(device, on ? FEATURE_ENABLED : FEATURE_DISABLED);
	if (code != NVML_SUCCESS) {
		ret->why = error_text(nvml, code);
		return;
	}
	/*
	 * Gets the handle again: turning the mode off can make it invalid (nvml.h, on GPUs with
	 * NUMA memory).
	 */
	ret->mode = PERSISTENCE_UNKNOWN;
	nvml_persistence(nvml, bdf, ret);
	if (ret->mode != wanted && !ret->why)
		ret->why = xstrdup("NVML reports success, but the mode has not changed");
}
