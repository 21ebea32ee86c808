/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands in for libnvidia-ml.so.1, with its names, numbers and layouts, and knows nothing of
 * gpupass: libc only, so that the lab can compile it by itself. What it tells is in the file
 * $FAKE_NVML_SCENARIO, or that of its own path with ".scenario" behind it:
 *
 *   gpu 0000:41:00.0 223010de 145910de GPU-… VBIOS SERIAL     the last three may be "-"
 *   link 0000:41:00.0 0 up 00000000:61:00.0                   an active link to a GPU
 *   link 0000:41:00.0 1 down | switch | none | error CODE | type-error CODE | peer-error CODE |
 *                      state N
 *   init CODE            nvmlInit_v2() returns it
 *   hang init | link     that call never returns
 *   endless              every link number is one, up and to 00000000:LL:00.0
 *   locate 0000:41:00.0 CODE    the GPU cannot be found
 *   persistence DIR      the persistence mode is in DIR/0000:41:00.0/persistence, 0 or 1;
 *                        without: NOT_SUPPORTED
 *   persistence get | set CODE | deaf    reading it, setting it fails; setting it does nothing
 *   hang persistence     reading it never returns
 *   mig 0000:41:00.0 1 0 MIG mode now, and after a reset; without: NOT_SUPPORTED
 *
 * Links up to the highest that is named, but not named, are not led out (NOT_SUPPORTED); beyond it
 * there are none (INVALID_ARGUMENT).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUCCESS 0
#define INVALID_ARGUMENT 2
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define GPUS_MAX 32
#define LINKS_MAX 64

#define EXPORT __attribute__((visibility("default")))

/* host/device/nvml.h: nvmlPciInfo_t */
typedef struct nvmlPciInfo_st {
	char busIdLegacy[16];
	unsigned int domain, bus, device;
	unsigned int pciDeviceId;
	unsigned int pciSubSystemId;
	char busId[32];
} nvmlPciInfo_t;

typedef struct Link {
	char what[16], peer[64];
	int code;
} Link;

typedef struct nvmlDevice_st {
	char bdf[32], uuid[64], vbios[32], serial[32];
	unsigned device, subsystem;
	int locate;
	int mig, mig_pending, can_mig;
	Link links[LINKS_MAX];
	unsigned n_links; /* the highest named, and one */
} Gpu;

static struct {
	Gpu gpus[GPUS_MAX];
	size_t n_gpus;
	int init;
	int hang_init, hang_link, endless;
	char persistence[128];
	int hang_persistence, deaf_persistence, get_persistence, set_persistence;
} scenario;

static Gpu *find(const char *bdf)
{
	for (size_t i = 0; i < scenario.n_gpus; i++)
		if (strcmp(scenario.gpus[i].bdf, bdf) == 0)
			return &scenario.gpus[i];
	return NULL;
}

static void read_gpu(const char *line)
{
	Gpu *g = &scenario.gpus[scenario.n_gpus];

	if (scenario.n_gpus < GPUS_MAX &&
	    sscanf(line, "gpu %31s %x %x %63[^ \n] %31s %31s", g->bdf, &g->device, &g->subsystem,
		   g->uuid, g->vbios, g->serial) == 6)
		scenario.n_gpus++;
}

static void read_link(const char *line)
{
	char bdf[32], what[16], rest[64] = "";
	unsigned number;
	Gpu *g;

	if (sscanf(line, "link %31s %u %15s %63[^\n]", bdf, &number, what, rest) < 3)
		return;
	g = find(bdf);
	if (!g || number >= LINKS_MAX)
		return;
	strcpy(g->links[number].what, what);
	strcpy(g->links[number].peer, rest);
	g->links[number].code = atoi(rest);
	if (number >= g->n_links)
		g->n_links = number + 1;
}

static void read_persistence(const char *line)
{
	sscanf(line, "persistence get %d", &scenario.get_persistence);
	sscanf(line, "persistence set %d", &scenario.set_persistence);
	if (strncmp(line, "persistence /", 13) == 0)
		sscanf(line, "persistence %127s", scenario.persistence);
	scenario.deaf_persistence |= strncmp(line, "persistence deaf", 16) == 0;
	scenario.hang_persistence |= strncmp(line, "hang persistence", 16) == 0;
}

static void read_mig(const char *line)
{
	int now, pending;
	char bdf[32];
	Gpu *g;

	if (sscanf(line, "mig %31s %d %d", bdf, &now, &pending) != 3)
		return;
	g = find(bdf);
	if (!g)
		return;
	g->mig = now;
	g->mig_pending = pending;
	g->can_mig = 1;
}

static void read_line(const char *line)
{
	char bdf[32];
	int code;

	read_gpu(line);
	read_link(line);
	read_persistence(line);
	sscanf(line, "init %d", &scenario.init);
	read_mig(line);
	if (sscanf(line, "locate %31s %d", bdf, &code) == 2 && find(bdf))
		find(bdf)->locate = code;
	scenario.hang_init |= strncmp(line, "hang init", 9) == 0;
	scenario.hang_link |= strncmp(line, "hang link", 9) == 0;
	scenario.endless |= strncmp(line, "endless", 7) == 0;
}

static void hang(void)
{
	for (;;)
		pause();
}

static FILE *open_scenario(void)
{
	const char *path = getenv("FAKE_NVML_SCENARIO");
	char beside[4096];
	Dl_info info;

	if (path)
		return fopen(path, "re");
	if (!dladdr((void *)&scenario, &info))
		return NULL;
	snprintf(beside, sizeof(beside), "%s.scenario", info.dli_fname);
	return fopen(beside, "re");
}

EXPORT int nvmlInit_v2(void)
{
	char line[256];
	FILE *f;

	memset(&scenario, 0, sizeof(scenario));
	f = open_scenario();
	if (!f)
		return 9; /* DRIVER_NOT_LOADED */
	while (fgets(line, sizeof(line), f))
		read_line(line);
	fclose(f);
	if (scenario.hang_init)
		hang();
	return scenario.init;
}

EXPORT int nvmlShutdown(void)
{
	return SUCCESS;
}

EXPORT const char *nvmlErrorString(int code)
{
	return code == 9    ? "Driver Not Loaded"
	       : code == 15 ? "GPU is lost"
	       : code == 18 ? "Driver/library version mismatch"
			    : "Unknown \033[31mError";
}

EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
	snprintf(version, length, "550.54.15");
	return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *busId, Gpu **device)
{
	unsigned segment, bus, slot, function;
	char bdf[32];
	Gpu *g;

	if (sscanf(busId, "%8x:%2x:%2x.%1x", &segment, &bus, &slot, &function) != 4)
		return INVALID_ARGUMENT;
	snprintf(bdf, sizeof(bdf), "%04x:%02x:%02x.%x", segment, bus, slot, function);
	g = find(bdf);
	if (!g)
		return NOT_FOUND;
	*device = g;
	return g->locate;
}

EXPORT int nvmlDeviceGetPciInfo_v3(Gpu *device, nvmlPciInfo_t *pci)
{
	memset(pci, 0, sizeof(*pci));
	snprintf(pci->busId, sizeof(pci->busId), "0000%.27s", device->bdf);
	snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%.15s", device->bdf);
	pci->pciDeviceId = device->device;
	pci->pciSubSystemId = device->subsystem;
	return SUCCESS;
}

static int text(const char *from, char *to, unsigned length)
{
	if (strcmp(from, "-") == 0)
		return NOT_SUPPORTED;
	snprintf(to, length, "%s", from);
	return SUCCESS;
}

EXPORT int nvmlDeviceGetUUID(Gpu *device, char *uuid, unsigned length)
{
	return text(device->uuid, uuid, length);
}

EXPORT int nvmlDeviceGetSerial(Gpu *device, char *serial, unsigned length)
{
	return text(device->serial, serial, length);
}

EXPORT int nvmlDeviceGetVbiosVersion(Gpu *device, char *version, unsigned length)
{
	return text(device->vbios, version, length);
}

static const Link *link_of(const Gpu *device, unsigned number, int *ret)
{
	static const Link up = { .what = "up" };

	if (scenario.hang_link)
		hang();
	*ret = SUCCESS;
	if (scenario.endless)
		return &up;
	*ret = number >= device->n_links ? INVALID_ARGUMENT
	       : !*device->links[number].what || strcmp(device->links[number].what, "none") == 0
		       ? NOT_SUPPORTED
		       : SUCCESS;
	return *ret == SUCCESS ? &device->links[number] : NULL;
}

EXPORT int nvmlDeviceGetNvLinkState(Gpu *device, unsigned number, int *active)
{
	int r;
	const Link *l = link_of(device, number, &r);

	if (!l)
		return r;
	if (strcmp(l->what, "error") == 0)
		return l->code;
	*active = strcmp(l->what, "state") == 0 ? l->code : strcmp(l->what, "down") != 0;
	return SUCCESS;
}

EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(Gpu *device, unsigned number, int *type)
{
	int r;
	const Link *l = link_of(device, number, &r);

	if (!l)
		return r;
	if (strcmp(l->what, "type-error") == 0)
		return l->code;
	*type = strcmp(l->what, "switch") == 0 ? 2 : 0;
	return SUCCESS;
}

EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(Gpu *device, unsigned number, nvmlPciInfo_t *pci)
{
	int r;
	const Link *l = link_of(device, number, &r);

	if (!l)
		return r;
	if (strcmp(l->what, "peer-error") == 0)
		return l->code;
	memset(pci, 0xff, sizeof(*pci)); /* what is not busId is not to be trusted */
	if (scenario.endless)
		snprintf(pci->busId, sizeof(pci->busId), "00000000:%02x:00.0", number);
	else
		strncpy(pci->busId, l->peer, sizeof(pci->busId)); /* perhaps without an end */
	return SUCCESS;
}

EXPORT int nvmlDeviceGetMigMode(Gpu *device, unsigned *now, unsigned *pending)
{
	if (!device->can_mig)
		return NOT_SUPPORTED;
	*now = (unsigned)device->mig;
	*pending = (unsigned)device->mig_pending;
	return SUCCESS;
}

static FILE *open_mode(const Gpu *device, const char *how)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s/persistence", scenario.persistence, device->bdf);
	return fopen(path, how);
}

EXPORT int nvmlDeviceGetPersistenceMode(Gpu *device, int *mode)
{
	FILE *f;
	int n;

	if (scenario.hang_persistence)
		hang();
	if (scenario.get_persistence)
		return scenario.get_persistence;
	f = *scenario.persistence ? open_mode(device, "re") : NULL;
	if (!f)
		return NOT_SUPPORTED;
	n = fscanf(f, "%d", mode);
	fclose(f);
	return n == 1 ? SUCCESS : 999;
}

EXPORT int nvmlDeviceSetPersistenceMode(Gpu *device, int mode)
{
	FILE *f;

	if (scenario.set_persistence)
		return scenario.set_persistence;
	if (scenario.deaf_persistence)
		return SUCCESS;
	f = *scenario.persistence ? open_mode(device, "we") : NULL;
	if (!f)
		return NOT_SUPPORTED;
	fprintf(f, "%d\n", mode);
	return fclose(f) == 0 ? SUCCESS : 999;
}
