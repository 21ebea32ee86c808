#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pair0 is assigned to vm42, which libvirt starts by itself.
# shellcheck source=tests/lab/lib/before.sh
. tests/lab/lib/before.sh
install_enabled
assign_pair0
define_vm42
