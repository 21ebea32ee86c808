/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The grammar is that of PVE::QemuServer::parse_vm_config() and of hostpciN there. Proxmox VE skips
 * a line that it does not understand. Here such a line makes the whole file one that is not read,
 * since another version may understand it.
 */
#include "core/facts/machine.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "util/text.h"

#define ADDRESS_LENGTH_MAX 24
#define NAME_LENGTH_MAX 63
#define FUNCTIONS_OF_A_SLOT 8

typedef struct Parse {
	Machine *machine;
	const MachineMaps *maps;
	bool template; /* Proxmox VE starts none */
} Parse;

/* Of a hostpciN: KEY=VALUE, with commas between them; without a key it is the host's address. */
typedef struct HostPci {
	const char *hosts, *mapping;
	bool mdev;
} HostPci;

/* The first reason stays. */
static int give_up(Parse *p, char *why)
{
	if (!why)
		return -ENOMEM;
	if (p->machine->unread)
		free(why);
	else
		p->machine->unread = why;
	return 1;
}

/* ---- devices ---- */

static int add_device(Parse *p, const Bdf *bdf, bool maybe)
{
	Machine *m = p->machine;
	MachineDevice *bigger;

	for (size_t i = 0; i < m->n_devices; i++)
		if (bdf_equal(&m->devices[i].bdf, bdf)) {
			m->devices[i].maybe |= maybe;
			return 0;
		}
	if (m->n_devices == MACHINE_DEVICES_MAX)
		return give_up(p, strdup("it has too many functions of the host"));
	bigger = reallocarray(m->devices, m->n_devices + 1, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	m->devices = bigger;
	bigger[m->n_devices++] = (MachineDevice){ .bdf = *bdf, .maybe = maybe };
	return 0;
}

/* An address without a function means all that are in the slot. */
static int add_address(Parse *p, const char *address, bool maybe)
{
	_cleanup_free_ char *whole = NULL;
	Bdf bdf;
	int r = 0;

	if (strlen(address) > ADDRESS_LENGTH_MAX ||
	    address[strspn(address, "0123456789abcdefABCDEF:.")] != '\0')
		return give_up(p, strdup("the address in a hostpci line is none"));
	if (strchr(address, '.'))
		return bdf_parse(address, &bdf) < 0
			       ? give_up(p, strdup("the address in a hostpci line is none"))
			       : add_device(p, &bdf, maybe);
	whole = strf("%s.0", address);
	if (!whole)
		return -ENOMEM;
	if (bdf_parse(whole, &bdf) < 0)
		return give_up(p, strdup("the address in a hostpci line is none"));
	for (uint8_t i = 0; r == 0 && i < FUNCTIONS_OF_A_SLOT; i++) {
		bdf.function = i;
		r = add_device(p, &bdf, maybe);
	}
	return r;
}

static int add_addresses(Parse *p, const char *list, bool maybe)
{
	_cleanup_strv_ char **addresses = NULL;
	int r = strv_split(list, ";", &addresses);

	if (r == 0 && !addresses)
		return give_up(p, strdup("a hostpci line has no address"));
	for (char **address = addresses; r == 0 && address && *address; address++)
		r = add_address(p, *address, maybe);
	return r;
}

static int add_mapping(Parse *p, const char *name)
{
	const MachineMap *map = machine_maps_find(p->maps, name);
	int r = 0;

	if (p->maps->fault)
		return give_up(p, strf("a hostpci line has a mapping, and mapping/pci.cfg %s",
				       p->maps->fault));
	if (!map || !map->paths)
		return give_up(p, strdup("a hostpci line has a mapping that this node does not"));
	for (char **path = map->paths; r == 0 && *path; path++)
		r = add_addresses(p, *path, strv_length(map->paths) > 1);
	return r;
}

/* As generate_mdev_uuid() of PVE::SysFSTools makes it. */
static int add_mdev(Parse *p, unsigned index)
{
	_cleanup_free_ char *uuid = strf("%08u-0000-0000-0000-%012u", index, p->machine->vmid);

	return uuid ? strv_append(&p->machine->mdevs, uuid) : -ENOMEM;
}

static void read_part(char *part, HostPci *into)
{
	char *equals = strchr(part, '=');

	if (!equals) {
		into->hosts = part;
		return;
	}
	*equals = '\0';
	if (strcmp(part, "host") == 0)
		into->hosts = equals + 1;
	else if (strcmp(part, "mapping") == 0)
		into->mapping = equals + 1;
	else if (strcmp(part, "mdev") == 0)
		into->mdev = true;
}

/* What is in a mapping may be a vGPU without saying so here: then the board counts as given. */
static int read_hostpci(Parse *p, unsigned index, const char *value)
{
	_cleanup_strv_ char **parts = NULL;
	HostPci pci = { 0 };
	int r = strv_split(value, ",", &parts);

	for (char **part = parts; r == 0 && part && *part; part++)
		read_part(*part, &pci);
	if (r < 0)
		return r;
	if (!pci.hosts == !pci.mapping)
		return give_up(
			p, strf("hostpci%u has neither an address nor a mapping, or both", index));
	if (pci.mdev)
		return add_mdev(p, index);
	return pci.mapping ? add_mapping(p, pci.mapping) : add_addresses(p, pci.hosts, false);
}

/* ---- lines ---- */

static bool is_name(const char *value)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-";

	return *value && strlen(value) <= NAME_LENGTH_MAX && value[strspn(value, letters)] == '\0';
}

/* "creation-qemu=9.0.2,ctime=1720000000" */
static void read_meta(Machine *m, const char *value)
{
	const char *at = strstr(value, "ctime=");
	unsigned long long created = 0;
	char digits[12] = { 0 };

	if (!at || (at != value && at[-1] != ','))
		return;
	at += strlen("ctime=");
	memcpy(digits, at, strnlen(at, sizeof(digits) - 1));
	digits[strspn(digits, "0123456789")] = '\0';
	if (str_to_unsigned(digits, 10, UINT32_MAX, &created) >= 0)
		m->created = (uint32_t)created;
}

static int read_entry(Parse *p, const char *key, const char *value)
{
	static const char hostpci[] = "hostpci";
	unsigned long long index;

	if (str_starts_with(key, hostpci)) {
		if (str_to_unsigned(key + strlen(hostpci), 10, 999, &index) < 0)
			return give_up(p, strdup("it has a hostpci line without a number"));
		return read_hostpci(p, (unsigned)index, value);
	}
	/* Only root may set it; it goes to QEMU as it is. */
	if (strcmp(key, "args") == 0 && strstr(value, "vfio"))
		return give_up(p, strdup("its args name a device of vfio"));
	if (strcmp(key, "template") == 0)
		p->template = strcmp(value, "1") == 0;
	if (strcmp(key, "meta") == 0)
		read_meta(p->machine, value);
	if (strcmp(key, "name") == 0 && is_name(value) && !p->machine->name) {
		p->machine->name = strdup(value);
		return p->machine->name ? 0 : -ENOMEM;
	}
	return 0;
}

static bool is_key(const char *key)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return *key && key[strspn(key, letters)] == '\0';
}

static int read_line(Parse *p, char *line, unsigned number)
{
	char *colon;

	line = str_strip(line);
	if (*line == '\0' || *line == '#')
		return 0;
	colon = strchr(line, ':');
	if (colon) {
		*colon = '\0';
		if (is_key(line))
			return read_entry(p, line, str_strip(colon + 1));
	}
	return give_up(p, strf("line %u of its file is not understood", number));
}

/* -1: it is no line that begins a section. */
static int counts_section(char *line)
{
	size_t length;

	line = str_strip(line);
	length = strlen(line);
	if (*line != '[' || line[length - 1] != ']')
		return -1;
	return strcasecmp(line, "[PENDING]") == 0;
}

/* To the end also of a file that is not understood: its name and time tell whose it is. */
static int read_lines(Parse *p, char *text)
{
	bool counts = true;
	char *next = text, *line;
	int r = 0;

	for (unsigned number = 1; r >= 0 && (line = strsep(&next, "\n")); number++) {
		int section = counts_section(line);

		if (section >= 0)
			counts = section;
		else if (counts)
			r = read_line(p, line, number);
	}
	return r;
}

static void drop_devices(Machine *m)
{
	free(m->devices);
	m->devices = NULL;
	m->n_devices = 0;
	m->mdevs = strv_free(m->mdevs);
}

int machine_parse(uint32_t vmid, const char *text, size_t size, const MachineMaps *maps,
		  Machine *ret)
{
	Machine machine = { .vmid = vmid };
	Parse p = { .machine = &machine, .maps = maps };
	_cleanup_free_ char *copy = NULL;
	int r;

	if (size > MACHINE_FILE_MAX || strlen(text) != size) {
		r = give_up(&p, strdup(size > MACHINE_FILE_MAX ? "its file is too big"
							       : "its file has a NUL byte"));
	} else {
		copy = strdup(text);
		r = copy ? read_lines(&p, copy) : -ENOMEM;
	}
	if (r < 0) {
		machine_clear(&machine);
		return r;
	}
	if (machine.unread || p.template)
		drop_devices(&machine);
	*ret = machine;
	return 0;
}

void machine_clear(Machine *machine)
{
	drop_devices(machine);
	free(machine->name);
	free(machine->unread);
	*machine = (Machine){ 0 };
}

Machines *machines_free(Machines *machines)
{
	if (!machines)
		return NULL;
	for (size_t i = 0; i < machines->n_items; i++)
		machine_clear(&machines->items[i]);
	free(machines->items);
	free(machines);
	return NULL;
}

uint32_t machine_vmid(const char *file)
{
	const char *suffix = strstr(file, ".conf");
	unsigned long long vmid = 0;
	char digits[12] = { 0 };

	if (!suffix || suffix[strlen(".conf")] != '\0' || *file == '0' ||
	    (size_t)(suffix - file) >= sizeof(digits))
		return 0;
	memcpy(digits, file, (size_t)(suffix - file));
	if (str_to_unsigned(digits, 10, MACHINE_VMID_MAX, &vmid) < 0 || vmid < MACHINE_VMID_MIN)
		return 0;
	return (uint32_t)vmid;
}
