// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest without an operating system: it tells the serial port which PCI functions of vendor 10de
 * it has, once it is up and again at every change, in the words of guest/init. Under an emulator in
 * an emulator it is up a second after the firmware, where Linux takes most of a minute.
 *
 * QEMU starts it by multiboot (Multiboot Specification 0.6.96): 32 bits, flat segments, no paging,
 * interrupts off. The firmware has numbered the buses, programmed the interrupt controllers (IRQ 0
 * is vector 8) and left the timer at 18.2 interrupts a second.
 *
 * Hotplug goes by QEMU's own registers, as its ACPI tables would use them (QEMU,
 * docs/specs/acpi_pci_hotplug.rst; on q35 at I/O port 0xcc0, include/hw/acpi/ich9.h): a function
 * that is plugged in is there at the next look, one that is asked for is ejected.
 */
#include <stdint.h>

#define VENDOR_NVIDIA 0x10de
#define MAX_FUNCTIONS 64
#define MAX_HOTPLUG_BUSES 32
#define TICKS_A_LOOK 9 /* half a second */

#define MULTIBOOT_MAGIC 0x1badb002u
#define MULTIBOOT_FLAGS 0u

__attribute__((section(".multiboot"), used,
	       aligned(4))) static const uint32_t multiboot_header[3] = {
	MULTIBOOT_MAGIC, MULTIBOOT_FLAGS, -(MULTIBOOT_MAGIC + MULTIBOOT_FLAGS)
};

struct function {
	uint16_t address; /* bus, device, function as in config space's address register */
	uint16_t device;
	uint32_t class; /* 24 bits */
};

struct scan {
	unsigned n;
	struct function at[MAX_FUNCTIONS];
};

static inline void out8(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint8_t in8(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static inline void out32(uint16_t port, uint32_t value)
{
	__asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint32_t in32(uint16_t port)
{
	uint32_t value;

	__asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

/* ---- the serial port ---- */

#define COM1 0x3f8

static void put(char c)
{
	while (!(in8(COM1 + 5) & 0x20))
		;
	out8(COM1, (uint8_t)c);
}

static void text(const char *s)
{
	for (; *s; s++) {
		if (*s == '\n')
			put('\r');
		put(*s);
	}
}

static void hex(uint32_t value, int digits)
{
	while (digits-- > 0)
		put("0123456789abcdef"[value >> (4 * digits) & 0xf]);
}

static void decimal(unsigned value)
{
	if (value >= 10)
		decimal(value / 10);
	put((char)('0' + value % 10));
}

/* ---- PCI, by configuration mechanism 1 ---- */

static uint32_t config_read(uint16_t address, uint8_t offset)
{
	out32(0xcf8, 0x80000000u | (uint32_t)address << 8 | (offset & 0xfc));
	return in32(0xcfc);
}

static void scan_bus(struct scan *scan, uint8_t bus);

static void scan_function(struct scan *scan, uint16_t address, uint32_t id)
{
	uint32_t class = config_read(address, 0x08) >> 8;

	if ((id & 0xffff) == VENDOR_NVIDIA && scan->n < MAX_FUNCTIONS) {
		scan->at[scan->n++] = (struct function){ address, (uint16_t)(id >> 16), class };
		return;
	}
	uint8_t header = config_read(address, 0x0c) >> 16 & 0x7f;
	uint8_t secondary = config_read(address, 0x18) >> 8 & 0xff;

	if (header == 1 && secondary > address >> 8)
		scan_bus(scan, secondary);
}

static void scan_bus(struct scan *scan, uint8_t bus)
{
	for (unsigned slot = 0; slot < 32; slot++) {
		uint16_t first = (uint16_t)(bus << 8 | slot << 3);
		/*
		 * A function 0 that is not there says that no other is, unless it was handed alone.
		 */
		uint32_t id = config_read(first, 0);

		/* Below a root port there is one device. */
		if (id == 0xffffffff && bus == 0)
			continue;
		for (unsigned f = 0; f < 8; f++) {
			id = config_read((uint16_t)(first | f), 0);
			if (id != 0xffffffff)
				scan_function(scan, (uint16_t)(first | f), id);
		}
		if (bus != 0)
			return;
	}
}

/* ---- hotplug ---- */

#define HOTPLUG_DOWN (0xcc0 + 0x04)
#define HOTPLUG_EJECT (0xcc0 + 0x08)
#define HOTPLUG_BUS (0xcc0 + 0x10)

static void eject_what_is_asked_for(void)
{
	for (uint32_t bus = 0; bus < MAX_HOTPLUG_BUSES; bus++) {
		out32(HOTPLUG_BUS, bus);
		uint32_t slots = in32(HOTPLUG_DOWN);

		if (slots != 0 && slots != 0xffffffff)
			out32(HOTPLUG_EJECT, slots);
	}
}

/* ---- the report ---- */

static void tell(const char *sign, const struct function *f)
{
	text(sign);
	text("0000:");
	hex(f->address >> 8, 2);
	put(':');
	hex(f->address >> 3 & 0x1f, 2);
	put('.');
	hex(f->address & 7, 1);
}

static int has(const struct scan *scan, const struct function *f)
{
	for (unsigned i = 0; i < scan->n; i++)
		if (scan->at[i].address == f->address && scan->at[i].device == f->device)
			return 1;
	return 0;
}

/* True when there was a change. */
static int report(const struct scan *old, const struct scan *new)
{
	int changed = 0;

	for (unsigned i = 0; i < new->n; i++) {
		if (has(old, &new->at[i]))
			continue;
		changed = 1;
		tell("gpu + ", &new->at[i]);
		text(" 10de:");
		hex(new->at[i].device, 4);
		put(' ');
		hex(new->at[i].class, 6);
		text("\n");
	}
	for (unsigned i = 0; i < old->n; i++) {
		if (has(new, &old->at[i]))
			continue;
		changed = 1;
		tell("gpu - ", &old->at[i]);
		text("\n");
	}
	return changed;
}

/* ---- interrupts: nothing but the timer's, which ends a hlt ---- */

extern void interrupt(void);
__asm__("interrupt: push %eax\n"
	"mov $0x20, %al\n"
	"outb %al, $0xa0\n"
	"outb %al, $0x20\n"
	"pop %eax\n"
	"iret\n");

struct gate {
	uint16_t low, selector;
	uint16_t type, high;
};

static struct gate gates[256];

static void interrupts_on(void)
{
	struct __attribute__((packed)) {
		uint16_t limit;
		uint32_t base;
	} idt = { sizeof(gates) - 1, (uint32_t)gates };
	uint32_t handler = (uint32_t)interrupt;
	uint16_t code;

	__asm__("mov %%cs, %0" : "=r"(code));
	for (unsigned i = 0; i < 256; i++)
		gates[i] =
			(struct gate){ (uint16_t)handler, code, 0x8e00, (uint16_t)(handler >> 16) };
	__asm__ volatile("lidt %0" : : "m"(idt));
	out8(0x21, 0xfe); /* the timer alone */
	out8(0xa1, 0xff);
	__asm__ volatile("sti");
}

static struct scan scans[2];

__attribute__((used)) static void run(void)
{
	unsigned now = 0;

	interrupts_on();
	text("guest up\n");
	for (int changed = 1;; changed = 0, now = !now) {
		struct scan *old = &scans[!now], *new = &scans[now];

		eject_what_is_asked_for();
		new->n = 0;
		scan_bus(new, 0);
		if (report(old, new) || changed) {
			text("gpus ");
			decimal(new->n);
			text("\n");
		}
		for (int i = 0; i < TICKS_A_LOOK; i++)
			__asm__ volatile("hlt");
	}
}

__asm__(".globl _start\n"
	"_start: mov $stack_end, %esp\n"
	"call run\n"
	".bss\n.balign 16\n.space 16384\nstack_end:\n"
	".text\n");
