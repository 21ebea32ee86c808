#!/usr/bin/python
# SPDX-License-Identifier: GPL-2.0-or-later
# GNU General Public License version 2, or (at your option) any later version, such as version 3:
# see the LICENSE of gpupass, or https://www.gnu.org/licenses/
from __future__ import absolute_import, division, print_function
__metaclass__ = type

DOCUMENTATION = r"""
module: info
short_description: Groups of NVLink-bridged GPUs, and who has them
version_added: 0.9.0
description:
  - Returns what gpupassd knows of the host, its groups of GPUs, their assignments to libvirt domains, and running jobs.
  - Changes nothing, and wakes no device.
options:
  gather:
    description:
      - What to return besides.
      - C(doctor) is what is wrong with the host, and what to do about it.
      - C(drift) is what differs from the assignments. C(doctor) and C(drift) need the polkit action org.gpupass1.read.
      - C(topology) is how the GPUs reach each other.
    type: list
    elements: str
    choices: [doctor, drift, topology]
    default: []
attributes:
  check_mode:
    description: The module changes nothing, in check mode or otherwise.
    support: full
extends_documentation_fragment:
  - gpupass.host.gpupass
"""

EXAMPLES = r"""
- name: Look at the host
  gpupass.host.info:
    gather: [doctor]
  become: true
  register: gpupass

- name: Print the groups that may be assigned
  ansible.builtin.debug:
    msg: "{{ gpupass.groups | selectattr('assignable') | map(attribute='name') | list }}"

- name: Stop where doctor found a fault
  ansible.builtin.assert:
    that: gpupass.doctor.counts.fail == 0
    fail_msg: "{{ gpupass.doctor.checks | selectattr('status', 'eq', 'fail') | list }}"
"""

RETURN = r"""
manager:
  description: The daemon, with I(version), I(libvirt_connected), I(domains_from), I(iommu_enabled), I(scanned_at) and I(notes).
  returned: success
  type: dict
  sample: {version: 0.9.0, libvirt_connected: true, domains_from: libvirt, iommu_enabled: true, notes: []}
groups:
  description: The groups, as C(gpupass list --json=short) prints them.
  returned: success
  type: list
  elements: dict
  sample:
    - name: pair0
      state: free
      assignable: true
      model: RTX A6000
      link: NV4
      gpus: ["0000:41:00.0", "0000:61:00.0"]
      domain: null
ungrouped_gpus:
  description: NVIDIA GPUs that are in no group, each with the reason.
  returned: success
  type: list
  elements: dict
assignments:
  description: Which group belongs to which domain.
  returned: success
  type: list
  elements: dict
  sample:
    - group: pair0
      domain: {name: vm42, uuid: 3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242}
jobs:
  description: The running jobs.
  returned: success
  type: list
  elements: dict
doctor:
  description: The document org.gpupass1.doctor/1.
  returned: when I(gather) has C(doctor)
  type: dict
drift:
  description: The document org.gpupass1.drift/1.
  returned: when I(gather) has C(drift)
  type: dict
topology:
  description: The document org.gpupass1.topology/1.
  returned: when I(gather) has C(topology)
  type: dict
error:
  description: Why it failed, with I(name) of the D-Bus error, I(message), I(reason), I(cause), I(state) and I(remedy).
  returned: failure
  type: dict
rc:
  description: The exit code of gpupass(1).
  returned: failure
  type: int
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpupass.host.plugins.module_utils.gpupass import Gpupass, printable

# What to gather: (verb, options, exit codes). doctor ends with 1 when it has found a fault.
VERBS = {
    "doctor": ("doctor", ["--verbose"], (0, 1)),
    "drift": ("reconcile", ["--dry-run"], (0,)),
    "topology": ("topology", [], (0,)),
}


def main():
    module = AnsibleModule(
        argument_spec=dict(
            gather=dict(type="list", elements="str", default=[], choices=sorted(VERBS)),
        ),
        supports_check_mode=True,
    )
    gpupass = Gpupass(module)
    status = gpupass.call("status")[-1]
    results = dict((key, status[key]) for key in ("manager", "groups", "assignments", "jobs"))
    results["ungrouped_gpus"] = gpupass.call("list")[-1]["ungrouped_gpus"]
    for what in module.params["gather"]:
        verb, options, codes = VERBS[what]
        results[what] = gpupass.call(verb, options, codes=codes)[-1]
    module.exit_json(changed=False, **printable(results))


if __name__ == "__main__":
    main()
