#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# As assigned.sh, but the second board was another one when it was assigned; and the third is kept
# on vfio-pci.
# shellcheck source=tests/lab/lib/before.sh
. tests/lab/lib/before.sh
install_enabled
assign_pair0 1454
keep_solo0
define_vm42
