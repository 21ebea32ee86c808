/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/pcie-config.h"

#include "gpupass/cleanup.h"

/* PCI Local Bus 3.0, 6.1 and 6.7; PCI Express Base 5.0, 7.5.3, 7.6.3 and 7.7.8. */
#define HEADER_BYTES 64U
#define STATUS 0x06U
#define STATUS_HAS_CAPABILITIES 0x10U
#define CAPABILITY_POINTER 0x34U
#define CAPABILITY_PCIE 0x10U
#define PCIE_FLAGS 0x02U
#define PCIE_LINK_CAPABILITIES 0x0cU
#define PCIE_LINK_STATUS 0x12U
#define PCIE_BYTES 0x14U
#define EXTENDED_BEGIN 0x100U
#define EXTENDED_ACS 0x000dU
#define ACS_CAPABILITY 0x04U
#define ACS_CONTROL 0x06U
#define ACS_BYTES 0x08U

static unsigned get16(const uint8_t *bytes, size_t at)
{
	return bytes[at] | (unsigned)bytes[at + 1] << 8;
}

static uint32_t get32(const uint8_t *bytes, size_t at)
{
	return get16(bytes, at) | (uint32_t)get16(bytes, at + 2) << 16;
}

/* On a broken device the list may be a ring. Config space has no room for more entries. */
static size_t find_capability(const uint8_t *bytes, size_t size, unsigned id, size_t needed)
{
	size_t at = bytes[CAPABILITY_POINTER] & 0xfcU;

	if (!(get16(bytes, STATUS) & STATUS_HAS_CAPABILITIES))
		return 0;
	for (unsigned i = 0; i < 48 && at >= HEADER_BYTES; i++) {
		if (at + 2 > size || at > 0xff)
			return 0;
		if (bytes[at] == id)
			return at + needed <= size ? at : 0;
		at = bytes[at + 1] & 0xfcU;
	}
	return 0;
}

static size_t find_extended(const uint8_t *bytes, size_t size, unsigned id, size_t needed)
{
	size_t at = EXTENDED_BEGIN;

	for (unsigned i = 0; i < 480 && at >= EXTENDED_BEGIN && at + 4 <= size; i++) {
		uint32_t header = get32(bytes, at);

		if (header == 0 || header == UINT32_MAX)
			return 0;
		if ((header & 0xffff) == id)
			return at + needed <= size ? at : 0;
		at = header >> 20 & 0xffcU;
	}
	return 0;
}

void pcie_config_parse(const uint8_t *bytes, size_t size, PcieConfig *ret)
{
	PcieConfig config = { 0 };
	size_t at;

	*ret = config;
	if (size < HEADER_BYTES)
		return;
	config.read = true;
	config.all_ones = get32(bytes, 0) == UINT32_MAX;
	at = config.all_ones ? 0 : find_capability(bytes, size, CAPABILITY_PCIE, PCIE_BYTES);
	if (at > 0) {
		uint32_t able = get32(bytes, at + PCIE_LINK_CAPABILITIES);
		unsigned status = get16(bytes, at + PCIE_LINK_STATUS);

		config.pcie = true;
		config.type = get16(bytes, at + PCIE_FLAGS) >> 4 & 0xf;
		config.speed = status & 0xf;
		config.width = status >> 4 & 0x3f;
		config.speed_max = able & 0xf;
		config.width_max = able >> 4 & 0x3f;
		at = find_extended(bytes, size, EXTENDED_ACS, ACS_BYTES);
		config.acs = at > 0;
	}
	if (config.acs) {
		config.acs_capability = get16(bytes, at + ACS_CAPABILITY);
		config.acs_control = get16(bytes, at + ACS_CONTROL);
	}
	*ret = config;
}

const char *pcie_speed_name(unsigned code)
{
	static const char *const names[] = { NULL,	"2.5 GT/s", "5 GT/s", "8 GT/s",
					     "16 GT/s", "32 GT/s",  "64 GT/s" };

	return code < ELEMENTS(names) ? names[code] : NULL;
}

const char *pcie_speed_text(unsigned code)
{
	const char *name = pcie_speed_name(code);

	return name ? name : "?";
}

/* As pci_acs_flags_enabled() in drivers/pci/pci.c: only what a port offers must be on. */
bool pcie_acs_is_off(const PcieConfig *config)
{
	unsigned needed = PCIE_ACS_NEEDED & config->acs_capability;

	if (!config->acs ||
	    (config->type != PCIE_TYPE_ROOT_PORT && config->type != PCIE_TYPE_DOWNSTREAM))
		return false;
	return (config->acs_control & needed) != needed;
}
