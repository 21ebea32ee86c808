/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/health.h"
#include "util/text.h"

#define CAP 0x60

static void put16(uint8_t *bytes, size_t at, unsigned value)
{
	bytes[at] = (uint8_t)value;
	bytes[at + 1] = (uint8_t)(value >> 8);
}

/* A root port, x8 of x16 at 8 of 16 GT/s, with ACS half on. */
static void make_config(uint8_t bytes[PCIE_CONFIG_BYTES])
{
	memset(bytes, 0, PCIE_CONFIG_BYTES);
	put16(bytes, 0x00, 0x8086);
	put16(bytes, 0x06, 0x0010);
	bytes[0x34] = 0x40;
	put16(bytes, 0x40, 0x6005); /* MSI, then at 0x60 */
	put16(bytes, CAP, 0x0010);
	put16(bytes, CAP + 2, 4 << 4 | 2);
	put16(bytes, CAP + 0x0c, 4 | 16 << 4);
	put16(bytes, CAP + 0x12, 3 | 8 << 4);
	put16(bytes, 0x100, 0x0001); /* AER, then at 0x140 */
	put16(bytes, 0x102, 1 | 0x140 << 4);
	put16(bytes, 0x140, 0x000d); /* ACS, then ATS at 0x180 */
	put16(bytes, 0x142, 1 | 0x180 << 4);
	put16(bytes, 0x144, 0x1f);
	put16(bytes, 0x146, 0x10);
	put16(bytes, 0x180, 0x000f);
	put16(bytes, 0x182, 1);
	put16(bytes, 0x184, 0x0020);
	put16(bytes, 0x186, 0x001f);
}

TEST(config_space_tells_link_and_acs)
{
	uint8_t bytes[PCIE_CONFIG_BYTES];
	PcieConfig c;

	make_config(bytes);
	pcie_config_parse(bytes, sizeof(bytes), &c);
	assert_true(c.read && c.pcie && c.acs && !c.all_ones);
	assert_int_equal(c.type, PCIE_TYPE_ROOT_PORT);
	assert_int_equal(c.speed, 3);
	assert_int_equal(c.speed_max, 4);
	assert_int_equal(c.width, 8);
	assert_int_equal(c.width_max, 16);
	assert_int_equal(c.acs_capability, 0x1f);
	assert_true(pcie_acs_is_off(&c));
	put16(bytes, 0x146, 0x1d);
	pcie_config_parse(bytes, sizeof(bytes), &c);
	assert_false(pcie_acs_is_off(&c));
}

/* 8086:a110 and others: capability 0x0f and control 0x0d, both of 32 bits. */
TEST(acs_of_intels_chipsets_is_read_where_it_is)
{
	static const struct {
		unsigned device, type, control;
	} rows[] = {
		{ 0xa10f, 4, 0x00 }, { 0xa110, 4, 0x0d }, { 0xa11f, 4, 0x0d }, { 0xa167, 4, 0x0d },
		{ 0xa16b, 4, 0x00 }, { 0xa290, 4, 0x0d }, { 0xa2ee, 4, 0x0d }, { 0xa2ef, 4, 0x00 },
		{ 0x9d10, 4, 0x0d }, { 0x9d1b, 4, 0x0d }, { 0x9d1c, 4, 0x00 }, { 0xa110, 0, 0x00 },
	};
	uint8_t bytes[PCIE_CONFIG_BYTES];
	PcieConfig c;

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		make_config(bytes);
		put16(bytes, 2, rows[i].device);
		put16(bytes, CAP + 2, rows[i].type << 4 | 2);
		put16(bytes, 0x144, 0x0f);
		put16(bytes, 0x146, 0);
		put16(bytes, 0x148, 0x0d);
		pcie_config_parse(bytes, sizeof(bytes), &c);
		assert_int_equal(c.acs_capability, 0x0f);
		if (c.acs_control != rows[i].control)
			fail_msg("%04x: control %02x", rows[i].device, c.acs_control);
	}
	put16(bytes, 2, 0xa110);
	put16(bytes, CAP + 2, 4 << 4 | 2);
	pcie_config_parse(bytes, 0x14b, &c);
	assert_false(c.acs);
}

TEST(config_space_tells_whether_ats_is_there_and_on)
{
	uint8_t bytes[PCIE_CONFIG_BYTES];
	PcieConfig c;

	make_config(bytes);
	pcie_config_parse(bytes, sizeof(bytes), &c);
	assert_true(c.ats && !c.ats_on);
	put16(bytes, 0x186, 0x8000);
	pcie_config_parse(bytes, sizeof(bytes), &c);
	assert_true(c.ats && c.ats_on);
	put16(bytes, 0x142, 1); /* the list ends before it */
	pcie_config_parse(bytes, sizeof(bytes), &c);
	assert_false(c.ats || c.ats_on);
	make_config(bytes);
	pcie_config_parse(bytes, 0x187, &c);
	assert_true(c.acs && !c.ats);
}

TEST(a_port_says_where_translated_requests_go)
{
	static const struct {
		unsigned capability, control;
		PcieTranslated goes;
	} rows[] = {
		{ 0, 0, PCIE_TRANSLATED_DIRECT },	 { 0x5f, 0x00, PCIE_TRANSLATED_DIRECT },
		{ 0x5f, 0x19, PCIE_TRANSLATED_DIRECT }, /* no request is redirected */
		{ 0x5f, 0x5d, PCIE_TRANSLATED_DIRECT },	 { 0x5f, 0x1d, PCIE_TRANSLATED_REDIRECTED },
		{ 0x1f, 0x1d, PCIE_TRANSLATED_NEVER },	 { 0x5f, 0x1f, PCIE_TRANSLATED_BLOCKED },
		{ 0x5f, 0x5f, PCIE_TRANSLATED_BLOCKED },
	};
	PcieConfig silent = { .read = true, .all_ones = true }, asleep = { 0 };

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		PcieConfig c = { .read = true,
				 .pcie = true,
				 .acs_capability = rows[i].capability,
				 .acs_control = rows[i].control };

		assert_int_equal(pcie_translated(&c), rows[i].goes);
	}
	assert_int_equal(pcie_translated(&silent), PCIE_TRANSLATED_UNKNOWN);
	assert_int_equal(pcie_translated(&asleep), PCIE_TRANSLATED_UNKNOWN);
}

/* As the kernel has it: what the port does not offer, it need not do; others need none at all. */
TEST(acs_is_asked_of_what_offers_it)
{
	PcieConfig c = { .acs = true, .type = PCIE_TYPE_DOWNSTREAM, .acs_capability = 0x01 };

	assert_true(pcie_acs_is_off(&c));
	c.acs_control = 0x01;
	assert_false(pcie_acs_is_off(&c));
	c.acs_control = 0;
	c.type = 5; /* upstream port */
	assert_false(pcie_acs_is_off(&c));
	c = (PcieConfig){ .type = PCIE_TYPE_ROOT_PORT, .acs_capability = 0x1f };
	assert_false(pcie_acs_is_off(&c));
}

TEST(silence_is_told_apart)
{
	uint8_t bytes[PCIE_CONFIG_BYTES];
	PcieConfig c;

	memset(bytes, 0xff, sizeof(bytes));
	pcie_config_parse(bytes, sizeof(bytes), &c);
	assert_true(c.read && c.all_ones && !c.pcie && !c.acs);
	/* PCIe 5.0, 9.3.4.1: a VF's ids are all ones, and its command and status are not. */
	memset(bytes + 4, 0, 4);
	pcie_config_parse(bytes, sizeof(bytes), &c);
	assert_true(c.read && !c.all_ones);
	pcie_config_parse(bytes, 63, &c);
	assert_false(c.read || c.all_ones);
	make_config(bytes);
	pcie_config_parse(bytes, 64, &c);
	assert_true(c.read && !c.pcie);
	pcie_config_parse(bytes, 256, &c);
	assert_true(c.pcie && !c.acs && !c.ats);
}

/* Each pointer and each byte, at every size: ASan sees what is read beyond. */
TEST(lists_that_lead_back_to_themselves_end)
{
	uint8_t bytes[PCIE_CONFIG_BYTES];
	PcieConfig c;

	make_config(bytes);
	bytes[CAP] = 0x05;
	bytes[CAP + 1] = 0x40;
	pcie_config_parse(bytes, sizeof(bytes), &c);
	assert_false(c.pcie);
	make_config(bytes);
	put16(bytes, 0x140, 0x0002);
	put16(bytes, 0x142, 1 | 0x100 << 4);
	pcie_config_parse(bytes, sizeof(bytes), &c);
	assert_false(c.acs || c.ats);
}

static PcieConfig a_link(unsigned width)
{
	return (PcieConfig){ .read = true,
			     .pcie = true,
			     .speed = 4,
			     .speed_max = 4,
			     .width = width,
			     .width_max = 16 };
}

TEST(verdicts)
{
	HealthPort narrow = { .config = { .read = true, .pcie = true, .width_max = 8 } };
	const struct {
		GpuHealth health;
		Health verdict;
		const char *reason;
	} rows[] = {
		{ { .config = a_link(16), .correctable = 9 }, HEALTH_OK, "" },
		{ { .config = a_link(8) }, HEALTH_DEGRADED, "x8 of x16" },
		{ { .config = a_link(8), .ports = &narrow, .n_ports = 1 }, HEALTH_OK, "" },
		{ { .config = a_link(4), .ports = &narrow, .n_ports = 1 },
		  HEALTH_DEGRADED,
		  "x4 of x8" },
		{ { .config = a_link(16), .fatal = 1 }, HEALTH_DEGRADED, "1 fatal" },
		{ { .config = a_link(16), .nonfatal = 1 }, HEALTH_DEGRADED, "1 non-fatal" },
		{ { .config = { .read = true, .all_ones = true }, .fatal = 1 },
		  HEALTH_LOST,
		  "all ones" },
		{ { .power_state = (char *)"D3hot" }, HEALTH_UNKNOWN, "sleeps (D3hot)" },
		{ { .power_state = (char *)"D3hot", .fatal = 2 }, HEALTH_DEGRADED, "2 fatal" },
		{ { .power_state = (char *)"D0" }, HEALTH_UNKNOWN, "could not be read" },
		{ { .error = -ETIMEDOUT }, HEALTH_UNKNOWN, "does not end" },
		{ { .error = -EPROTO }, HEALTH_UNKNOWN, "could not be looked at" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *reason = NULL;
		Health verdict = gpu_health_judge(&rows[i].health, &reason);

		if (verdict != rows[i].verdict || !strstr(reason, rows[i].reason) ||
		    (*reason == '\0') != (verdict == HEALTH_OK))
			fail_msg("row %zu: %s: %s", i, health_to_string(verdict), reason);
	}
}

TEST(what_nobody_looked_at_is_unknown)
{
	_cleanup_free_ char *reason = NULL;
	Health verdict = gpu_health_judge(NULL, &reason);

	assert_int_equal(verdict, HEALTH_UNKNOWN);
	assert_non_null(strstr(reason, "not looked at"));
}
