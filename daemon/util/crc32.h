/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CRC-32 as in zlib, Ethernet and gzip. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t crc32_of(const void *bytes, size_t n);
