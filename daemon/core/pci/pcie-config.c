/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/pcie-config.h"

/* PCI Local Bus 3.0, 6.1 and 6.7; PCI Express Base 5.0, 7.5.3, 7.6.3, 7.7.8 and 10.5.1. */
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
#define VENDOR_INTEL 0x8086U
#define WIDE_ACS_CONTROL 0x08U
#define WIDE_ACS_BYTES 0x0cU
#define EXTENDED_ATS 0x000fU
#define ATS_CONTROL 0x06U
#define ATS_ENABLE 0x8000U
#define ATS_BYTES 0x08U

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

/*
 * Root ports of Intel's 100 and 200 series chipsets and of their mobile ones have ACS registers of
 * 32 bits each, so that control is further behind (drivers/pci/quirks.c,
 * pci_quirk_intel_spt_pch_acs_match(), with Intel's errata).
 */
static bool has_wide_acs(const uint8_t *bytes, const PcieConfig *config)
{
	unsigned device = get16(bytes, 2);

	return get16(bytes, 0) == VENDOR_INTEL && config->type == PCIE_TYPE_ROOT_PORT &&
	       ((device >= 0xa110 && device <= 0xa11f) || (device >= 0xa167 && device <= 0xa16a) ||
		(device >= 0xa290 && device <= 0xa29f) || (device >= 0xa2e7 && device <= 0xa2ee) ||
		(device >= 0x9d10 && device <= 0x9d1b));
}

static void parse_acs(const uint8_t *bytes, size_t size, PcieConfig *config)
{
	bool wide = has_wide_acs(bytes, config);
	size_t at = find_extended(bytes, size, EXTENDED_ACS, wide ? WIDE_ACS_BYTES : ACS_BYTES);

	config->acs = at > 0;
	if (at == 0)
		return;
	config->acs_capability = get16(bytes, at + ACS_CAPABILITY);
	config->acs_control = get16(bytes, at + (wide ? WIDE_ACS_CONTROL : ACS_CONTROL));
}

static void parse_ats(const uint8_t *bytes, size_t size, PcieConfig *config)
{
	size_t at = find_extended(bytes, size, EXTENDED_ATS, ATS_BYTES);

	config->ats = at > 0;
	config->ats_on = at > 0 && get16(bytes, at + ATS_CONTROL) & ATS_ENABLE;
}

void pcie_config_parse(const uint8_t *bytes, size_t size, PcieConfig *ret)
{
	PcieConfig config = { 0 };
	size_t at;

	*ret = config;
	if (size < HEADER_BYTES)
		return;
	config.read = true;
	/* The ids of a VF are; what follows them, command and status, is so of no device. */
	config.all_ones = get32(bytes, 0) == UINT32_MAX && get32(bytes, 4) == UINT32_MAX;
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
		parse_acs(bytes, size, &config);
		parse_ats(bytes, size, &config);
	}
	*ret = config;
}

const char *pcie_speed_text(unsigned code)
{
	const char *name = pcie_speed_name(code);

	return name ? name : "?";
}

/*
 * As pci_acs_flags_enabled() in drivers/pci/pci.c: only what a port, or a function beside others,
 * offers must be on.
 */
bool pcie_acs_is_off(const PcieConfig *config)
{
	unsigned needed = PCIE_ACS_NEEDED & config->acs_capability;

	if (!config->acs ||
	    (config->type != PCIE_TYPE_ROOT_PORT && config->type != PCIE_TYPE_DOWNSTREAM &&
	     config->type != PCIE_TYPE_ENDPOINT))
		return false;
	return (config->acs_control & needed) != needed;
}

DEFINE_STRING_TABLE(pcie_translated, PcieTranslated, PCIE_TRANSLATEDS)

/*
 * PCI Express Base 5.0, 6.12.1.1: Direct Translated P2P takes translated requests out of the
 * redirection of all others, and Translation Blocking goes before both. A port without ACS, which
 * the kernel puts into one IOMMU group with its neighbours, redirects nothing.
 */
PcieTranslated pcie_translated(const PcieConfig *port)
{
	if (!port->read || port->all_ones || !port->pcie)
		return PCIE_TRANSLATED_UNKNOWN;
	if (port->acs_control & PCIE_ACS_BLOCK_TRANSLATED)
		return PCIE_TRANSLATED_BLOCKED;
	if (!(port->acs_control & PCIE_ACS_REDIRECT) ||
	    port->acs_control & PCIE_ACS_DIRECT_TRANSLATED)
		return PCIE_TRANSLATED_DIRECT;
	return port->acs_capability & PCIE_ACS_DIRECT_TRANSLATED ? PCIE_TRANSLATED_REDIRECTED
								 : PCIE_TRANSLATED_NEVER;
}
