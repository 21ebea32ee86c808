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
/* Around each operation: its fault, if it has one; what it returns. */
const FakeFault *fake_enter(FakeHost *fake, FakeOp op);
int fake_leave(FakeHost *fake, int r);
/* Within one: here the process could end. */
void fake_pass_point(FakeHost *fake);
void fake_note_violation(FakeHost *fake, const Bdf *bdf, const char *what, const char *who);

#define FAKE_KEEPER_PID 1312 /* nvidia-persistenced */

/* fake-persistence.c: the operations, and what a move does to the mode. */
void fake_expect_work(Host *host, bool persistence);
void fake_persistence(FakeHost *fake, const FakeFault *fault, Ask *ask);
void fake_set_persistence(FakeHost *fake, const FakeFault *fault, Ask *ask);
void fake_leave_driver(FakeHost *fake, size_t i);

/* Replace a string, by a copy or by the string itself. */
void fake_set_text(char **to, const char *from);
void fake_take_text(char **to, char *text);
