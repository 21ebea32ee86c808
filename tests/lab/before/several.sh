#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pair0 and the GPU that is not bridged are assigned to vm42, which libvirt starts by itself.
# shellcheck source=tests/lab/lib/before.sh
. tests/lab/lib/before.sh
install_enabled
printf '[Group]\nName=solo0\nGpu=03:00.0\n' >/etc/gpupass/groups.d/solo0.conf
assign_pair0
assign_solo0
define_vm42
