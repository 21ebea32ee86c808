/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The grammar is that of PVE::QemuServer::parse_vm_config(), of parse_pending_delete() in
 * PVE::AbstractConfig, and of hostpci_fmt in PVE::QemuServer::PCI: the last line of a key counts, a
 * line that is not understood is left out, and the pending changes are applied with a start.
 */
#include "core/facts/machine.h"

#include <strings.h>

#include "util/grow.h"
#include "util/text.h"

#define ADDRESS_LENGTH_MAX 24
#define NAME_LENGTH_MAX 63
#define FUNCTIONS_OF_A_SLOT 8
#define HOSTPCI "hostpci"
#define HOSTPCI_MAX 100
#define HOSTPCI_KNOWN 16 /* $MAX_HOSTPCI_DEVICES; higher ones are left out, or of a later version */

/* What counts of a section. */
typedef struct Section {
	const char *hostpci[HOSTPCI_MAX];
	const char *args, *template, *delete, *lock, *vmstate;
} Section;

typedef struct Parse {
	Machine *machine;
	const MachineMaps *maps;
	Section now, pending;
	Section unknown; /* of kinds of sections that this version does not know */
} Parse;

/* A line's devices: when the machine has them, and whether Proxmox VE surely takes the line. */
typedef struct Line {
	unsigned index;
	bool now, next, doubtful;
} Line;

typedef struct HostPci {
	const char *host, *mapping;
	bool mdev;
} HostPci;

#include "machine.inc"

/* Whatever is known stays known. The first reason stays. */
static void give_up(Parse *p, char *why)
{
	if (p->machine->unread)
		free(why);
	else
		p->machine->unread = why;
}

static void blame_file(Parse *p, const char *why)
{
	give_up(p, strf(MACHINE_FILES "/%u.conf %s", p->machine->vmid, why));
}

static void blame_line(Parse *p, const Line *line, const char *why)
{
	give_up(p, strf(MACHINE_FILES "/%u.conf has " HOSTPCI "%u %s", p->machine->vmid,
			line->index, why));
}

/* ---- devices ---- */

static void add_device(Parse *p, const Line *line, const Bdf *bdf, bool maybe)
{
	Machine *m = p->machine;
	MachineDevice *device = BDF_FIND(m->devices, m->n_devices, bdf);

	if (!device && m->n_devices == MACHINE_DEVICES_MAX) {
		blame_file(p, "names too many functions of the host");
		return;
	}
	if (!device) {
		device = GROW(m->devices, m->n_devices);
		*device = (MachineDevice){ .bdf = *bdf };
	}
	device->now |= line->now;
	device->next |= line->next;
	device->maybe |= maybe || line->doubtful;
}

/* An address without a function means all that are in the slot. */
static void add_address(Parse *p, const Line *line, const char *address, bool maybe)
{
	bool slot = !strchr(address, '.');
	_cleanup_free_ char *whole = strf("%s%s", address, slot ? ".0" : "");
	Bdf bdf;

	if (strlen(address) > ADDRESS_LENGTH_MAX ||
	    address[strspn(address, MACHINE_HEX "ABCDEF:.")] || bdf_parse(whole, &bdf) < 0) {
		blame_line(p, line, "with an address that is none");
		return;
	}
	add_device(p, line, &bdf, maybe);
	for (uint8_t i = 1; slot && i < FUNCTIONS_OF_A_SLOT; i++) {
		bdf.function = i;
		add_device(p, line, &bdf, maybe);
	}
}

static void add_addresses(Parse *p, const Line *line, const char *list, bool maybe)
{
	_cleanup_strv_ char **addresses = NULL;

	strv_split(list, ";", &addresses);
	if (!addresses)
		blame_line(p, line, "without an address");
	for (char **address = addresses; address && *address; address++)
		add_address(p, line, *address, maybe);
}

static void add_mapping(Parse *p, const Line *line, const char *name)
{
	const MachineMap *map = machine_maps_find(p->maps, name);

	if (!machine_is_config_id(name))
		blame_line(p, line, "with a mapping whose name is none");
	else if (p->maps->fault)
		give_up(p, strf(MACHINE_MAPPINGS " %s", p->maps->fault));
	else if (!map || !map->paths)
		give_up(p, strf(MACHINE_MAPPINGS " has no device of this node in the mapping "
						 "%s, which " HOSTPCI "%u of %u names",
				name, line->index, p->machine->vmid));
	else
		for (char **path = map->paths; *path; path++)
			add_addresses(p, line, *path, strv_length(map->paths) > 1 || map->doubtful);
}

/* As generate_mdev_uuid() of PVE::QemuServer::PCI::Mdev makes it. */
static void add_mdev(const Parse *p, const Line *line)
{
	_cleanup_free_ char *uuid =
		strf("%08u-0000-0000-0000-%012u", line->index, p->machine->vmid);

	if (!strv_contains(p->machine->mdevs, uuid))
		strv_append(&p->machine->mdevs, uuid);
}

/* ---- hostpci lines ---- */

static bool is_one_of(const char *value, const char *const words[4])
{
	return SOME_OF(words, 4, strcasecmp(value, it) == 0);
}

static bool is_yes(const char *value)
{
	return is_one_of(value, (const char *const[4]){ "1", "on", "yes", "true" });
}

static bool is_boolean(const char *value)
{
	return is_yes(value) ||
	       is_one_of(value, (const char *const[4]){ "0", "off", "no", "false" });
}

static bool is_hex_id(const char *value)
{
	return str_starts_with(value, "0x") && strlen(value) == strlen("0x10de") &&
	       value[2 + strspn(value + 2, MACHINE_HEX "ABCDEF")] == '\0';
}

static bool is_vgpu_type(const char *value)
{
	return !strpbrk(value, "/.:");
}

static bool is_rom_file(const char *value)
{
	return !strchr(value, ';');
}

static bool is_driver(const char *value)
{
	return strcmp(value, "vfio") == 0 || strcmp(value, "keep") == 0;
}

static bool is_host(const char *value)
{
	return machine_is_host(value, false);
}

static const struct {
	const char *key;
	bool (*is_valid)(const char *value);
} hostpci_keys[] = {
	{ "host", is_host },
	{ "mapping", machine_is_config_id },
	{ "mdev", is_vgpu_type },
	{ "rombar", is_boolean },
	{ "romfile", is_rom_file },
	{ "pcie", is_boolean },
	{ "x-vga", is_boolean },
	{ "legacy-igd", is_boolean },
	{ "vendor-id", is_hex_id },
	{ "device-id", is_hex_id },
	{ "sub-vendor-id", is_hex_id },
	{ "sub-device-id", is_hex_id },
	{ "driver", is_driver },
};

static void take_part(const char *key, const char *value, HostPci *into)
{
	if (strcmp(key, "host") == 0 && !into->host)
		into->host = value;
	else if (strcmp(key, "mapping") == 0 && !into->mapping)
		into->mapping = value;
	else if (strcmp(key, "mdev") == 0)
		into->mdev = true;
}

/* false: this version of Proxmox VE, or another one, leaves the whole line out. */
static bool read_parts(char *text, HostPci *into)
{
	const char *key, *value;
	unsigned seen = 0;
	bool sure = true;
	int r;

	while ((r = machine_property_next(&text, &key, &value)) != 0) {
		size_t i = 0;

		key = key ? key : "host";
		while (r > 0 && i < ELEMENTS(hostpci_keys) && strcmp(hostpci_keys[i].key, key) != 0)
			i++;
		if (r < 0 || i == ELEMENTS(hostpci_keys) || seen & 1U << i ||
		    !hostpci_keys[i].is_valid(value)) {
			sure = false;
		} else {
			seen |= 1U << i;
		}
		if (r > 0)
			take_part(key, value, into);
	}
	return sure;
}

/* Of two lines with one key the last counts, unless Proxmox VE leaves that one out. */
static void check_replaced(Parse *p, const char *before, const char *value, unsigned index)
{
	_cleanup_free_ char *copy = xstrdup(value);
	HostPci pci = { 0 };

	if (before && !read_parts(copy, &pci))
		blame_line(p, &(Line){ .index = index },
			   "twice, and Proxmox VE may leave the last line out");
}

/* What is in a mapping may be a vGPU without saying so here: then the board counts as given. */
static void read_hostpci(Parse *p, const char *value, Line line)
{
	_cleanup_free_ char *copy = xstrdup(value);
	HostPci pci = { 0 };

	if (!value)
		return;
	line.doubtful = !read_parts(copy, &pci) || line.index >= HOSTPCI_KNOWN;
	if (!pci.host == !pci.mapping)
		blame_line(p, &line,
			   pci.host ? "with both an address and a mapping"
				    : "with neither an address nor a mapping");
	else if (pci.mdev && !line.doubtful)
		add_mdev(p, &line);
	else if (pci.mapping)
		add_mapping(p, &line, pci.mapping);
	else
		add_addresses(p, &line, pci.host, false);
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

/* Where the value of that key is kept; NULL: nowhere. */
static const char **value_of(Section *section, const char *key)
{
	const char *digits = key + strlen(HOSTPCI);
	unsigned long long index;

	if (strcmp(key, "args") == 0)
		return &section->args;
	if (strcmp(key, "template") == 0)
		return &section->template;
	if (strcmp(key, "delete") == 0)
		return &section->delete;
	if (strcmp(key, "lock") == 0)
		return &section->lock;
	if (strcmp(key, "vmstate") == 0)
		return &section->vmstate;
	if (!str_starts_with(key, HOSTPCI) || (digits[0] == '0' && digits[1] != '\0') ||
	    str_to_unsigned(digits, 10, HOSTPCI_MAX - 1, &index) < 0)
		return NULL;
	return &section->hostpci[index];
}

static void read_entry(Parse *p, Section *section, const char *key, const char *value)
{
	const char **kept = value_of(section, key);

	if (kept && kept >= section->hostpci && kept < section->hostpci + HOSTPCI_MAX)
		check_replaced(p, *kept, value, (unsigned)(kept - section->hostpci));
	if (kept)
		*kept = value;
	if (section != &p->now)
		return;
	if (strcmp(key, "meta") == 0)
		read_meta(p->machine, value);
	if (strcmp(key, "name") != 0 || !is_name(value))
		return;
	free(p->machine->name);
	p->machine->name = xstrdup(value);
}

/* No blank may stand before the key. */
static void read_line(Parse *p, Section *section, char *line)
{
	size_t key = strspn(line, "abcdefghijklmnopqrstuvwxyz_-");

	if (key == 0 || strchr("_-", *line))
		return;
	key += strspn(line + key, "0123456789");
	if (line[key] != ':' || line[key + 1] == '\0')
		return;
	line[key] = '\0';
	read_entry(p, section, line, str_strip(line + key + 1));
}

/* Whether the line begins a section, and then which. *ret_section NULL: one that does not count. */
static bool begins_section(Parse *p, char *line, Section **ret_section)
{
	char *end = strchr(line, ']');

	if (*line != '[' || !end || end[1 + strspn(end + 1, MACHINE_BLANKS)] != '\0')
		return false;
	*end = '\0';
	line++;
	*ret_section = &p->unknown;
	if (strcasecmp(line, "PENDING") == 0) {
		p->pending = (Section){ 0 };
		*ret_section = &p->pending;
	} else if (strcasecmp(line, "special:cloudinit") == 0 ||
		   strcasecmp(line, "special:fleecing") == 0 || machine_is_config_id(line)) {
		*ret_section = NULL; /* a snapshot's name has the letters of an ID */
	}
	return true;
}

static void read_lines(Parse *p, char *text)
{
	Section *section = &p->now;
	char *next = text, *line;

	while ((line = strsep(&next, "\n")))
		if (!begins_section(p, line, &section) && section)
			read_line(p, section, line);
}

/* ---- what is had, and what will be ---- */

/* To a machine that goes on from where it was suspended, vm_start_nolock() applies nothing. */
static bool will_resume(const Section *now)
{
	return now->vmstate || str_equal(now->lock, "suspended");
}

/* Deletions are as in "agent,!hostpci0". */
static void apply_pending(Parse *p, Section *next)
{
	_cleanup_free_ char *keys = xstrdup(str_or_empty(p->pending.delete));
	Section pending = p->pending;
	char *rest = keys, *key;

	*next = p->now;
	if (will_resume(&p->now))
		return;
	while ((key = strsep(&rest, ",;" MACHINE_BLANKS))) {
		const char **value = value_of(next, *key == '!' ? key + 1 : key);

		if (value)
			*value = NULL;
	}
	for (unsigned i = 0; i < HOSTPCI_MAX; i++) {
		if (!pending.hostpci[i])
			continue;
		check_replaced(p, next->hostpci[i], pending.hostpci[i], i);
		next->hostpci[i] = pending.hostpci[i];
	}
	if (pending.args)
		next->args = pending.args;
}

/* Only root may set it; it goes to QEMU as it is. */
static bool has_vfio(const char *args)
{
	return args && strstr(args, "vfio");
}

/* An older Proxmox VE takes such lines for those of the section before. */
static void check_unknown(Parse *p)
{
	if (has_vfio(p->unknown.args) || SOME_OF(p->unknown.hostpci, HOSTPCI_MAX, it != NULL))
		blame_file(p, "has devices in a section of a kind that is not known");
}

static void read_devices(Parse *p)
{
	Section next;

	apply_pending(p, &next);
	for (unsigned i = 0; i < HOSTPCI_MAX; i++) {
		const char *now = p->now.hostpci[i];
		bool stays = now && now == next.hostpci[i];

		read_hostpci(p, now, (Line){ .index = i, .now = true, .next = stays });
		if (!stays)
			read_hostpci(p, next.hostpci[i], (Line){ .index = i, .next = true });
	}
	if (has_vfio(p->now.args) || has_vfio(next.args))
		blame_file(p, "has args with a device of vfio");
	check_unknown(p);
}

/* Wherever it names one: in a disk's line, in args, or in a snapshot's, to which it may go back. */
static void read_disks(Parse *p, const char *text)
{
	Machine *m = p->machine;
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, "/dev/")); at++) {
		_cleanup_free_ char *path = xstrndup(at, strcspn(at, ", \t\n\"'"));

		if (strv_contains(m->disks, path))
			continue;
		if (n++ == MACHINE_DISKS_MAX) {
			blame_file(p, "names more disks than gpupass looks at");
			return;
		}
		strv_append(&m->disks, path);
	}
}

Machine machine_parse(uint32_t vmid, const char *text, size_t size, const MachineMaps *maps)
{
	Machine machine = { .vmid = vmid };
	Parse p = { .machine = &machine, .maps = maps };
	_cleanup_free_ char *copy = xstrdup(text);

	if (size > MACHINE_FILE_MAX || strlen(text) != size) {
		blame_file(&p, size > MACHINE_FILE_MAX ? "is too big" : "has a NUL byte");
	} else {
		read_lines(&p, copy);
		/* Proxmox VE starts no template. */
		if (!(p.now.template && is_yes(p.now.template)))
			read_devices(&p);
		read_disks(&p, text);
	}
	return machine;
}
