# SPDX-License-Identifier: GPL-2.0-or-later
"""What the documentation of all modules has in common."""
from __future__ import absolute_import, division, print_function
__metaclass__ = type


class ModuleDocFragment:
    DOCUMENTATION = r"""
author:
  - The gpupass developers (@gpupass)
attributes:
  platform:
    description: The hosts that the module runs on.
    platforms: linux
    support: full
requirements:
  - gpupass of the same version on the host, with gpupassd running or startable over D-Bus
notes:
  - The modules run C(gpupass) on the host that they manage, as root (C(become=true)) or as a user whom polkit permits it.
    C(gpupass) never asks for a password.
  - Text that users of libvirt choose, such as names of domains, is returned with control characters as C(\x1b) or C(\u202e).
seealso:
  - name: gpupass(1)
    description: The command, its options, and its exit codes.
    link: man:gpupass(1)
  - name: org.gpupass1(5)
    description: The errors, and the documents that are returned.
    link: man:org.gpupass1(5)
"""

    JOB = r"""
options:
  timeout:
    description:
      - How long a device or a guest may take, such as C(30), C(30s) or C(2min).
      - The default is DeviceTimeoutSec of gpupassd.conf(5).
    type: str
  allow_boot_vga:
    description: Also take a GPU that is the boot display of the host.
    type: bool
    default: false
"""
