/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sources of the fake host share. */
#pragma once

#include "fake-host.h"
#include "util/text.h"

extern const HostOps fake_ops;

Bdf fake_parse_bdf(const char *text);
/* SIZE_MAX when there is no such function. */
size_t fake_find_function(const FakeHost *fake, const Bdf *bdf);
/* What moving this function comes to where it does not wake up; NULL: it does. */
const FakeMoveFault *fake_wake_fault(FakeWake wake, const DriverTarget *target);
/* Replace a string, by a copy or by the string itself. */
void fake_set_text(char **to, const char *from);
void fake_take_text(char **to, char *text);
