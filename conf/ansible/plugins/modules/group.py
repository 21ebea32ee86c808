#!/usr/bin/python
# SPDX-License-Identifier: GPL-2.0-or-later
# GNU General Public License version 2, or (at your option) any later version, such as version 3:
# see the LICENSE of gpupass, or https://www.gnu.org/licenses/
from __future__ import absolute_import, division, print_function
__metaclass__ = type

DOCUMENTATION = r"""
module: group
short_description: Declare which GPUs are bridged, and keep a group on vfio-pci
version_added: 0.9.0
description:
  - Declares that GPUs are bridged, or that one GPU is a group by itself, and names the group; withdraws a declaration.
  - Binds a group that no domain has to vfio-pci, for once or until further notice, or gives it back to the drivers of the
    host.
options:
  name:
    description: The name of the group.
    type: str
    required: true
  state:
    description:
      - With C(present) the group exists, and is declared where I(gpus) is given.
      - With C(absent) no declaration names it. GPUs whose links were observed can still be a group of that name.
    type: str
    choices: [present, absent]
    default: present
  gpus:
    description:
      - The GPUs of the group, each as a PCI address, a UUID (GPU-...), serial:NUMBER or slot:NAME; see gpupassd.conf(5).
      - Write addresses in quotes. YAML reads 41:00.0 as a number.
      - A group that is declared with other GPUs is refused. Set it to C(absent) first.
    type: list
    elements: str
  companions:
    description:
      - What a domain gets with the GPUs, each as nic, vf or nvme, a colon and its PCI address, or as nearest:KIND.
      - Only looked at with I(gpus). A group that is declared with others is refused; omitted, they stay as they are.
      - What C(nearest) found once stays, and so does the VF that C(vf) with the address of a NIC took.
    type: list
    elements: str
  whole_nic:
    description: A whole NIC may be among the I(companions), which a tenant can re-flash. Not compared.
    type: bool
    default: false
  erase:
    description: Data on an NVMe of the I(companions) that gpupass does not know may be erased. Not compared.
    type: bool
    default: false
  vlan:
    description: The VLAN of the VFs among the I(companions), 1 to 4094. Not compared.
    type: int
  no_bridge_seen:
    description: Of a group of one GPU, that you looked and no bridge is on the board, although its chip can have one.
    type: bool
    default: false
  bound:
    description:
      - Whether the functions of the group are on vfio-pci while no domain has them. If omitted, they stay as they are.
      - A group that a domain has counts as bound.
    type: bool
  persist:
    description:
      - With I(bound=true), keep the group on vfio-pci also after a release and a boot, until I(bound=false).
      - C(false) does not end that.
    type: bool
    default: false
attributes:
  check_mode:
    description: A bind and an unbind are planned by gpupassd. A declaration is compared, but not tried.
    support: full
  diff_mode:
    description: The plan of a bind or an unbind, with each write to sysfs; the GPUs of a declaration.
    support: full
extends_documentation_fragment:
  - gpupass.host.gpupass
  - gpupass.host.gpupass.job
"""

EXAMPLES = r"""
- name: Declare a pair
  gpupass.host.group:
    name: pair0
    gpus: ["0000:41:00.0", "0000:61:00.0"]
  become: true

- name: Declare a pair with the nearest port of its NIC, and an NVMe that is erased between tenants
  gpupass.host.group:
    name: pair1
    gpus: ["0000:81:00.0", "0000:a1:00.0"]
    companions: ["nearest:vf", "nvme:0000:83:00.0"]
    erase: true
  become: true

- name: Keep it on vfio-pci, so that no driver of the host ever has it
  gpupass.host.group:
    name: pair0
    bound: true
    persist: true
  become: true

- name: Give it back to the drivers of the host
  gpupass.host.group:
    name: pair0
    bound: false
  become: true

- name: Withdraw the declaration
  gpupass.host.group:
    name: pair0
    state: absent
  become: true
"""

RETURN = r"""
group:
  description: The group as it is afterwards, as C(gpupass list --json=short) prints it. Null if there is none.
  returned: success
  type: dict
job:
  description: The last job, or the one that failed, a document org.gpupass1.job/1. Null if there was none.
  returned: always
  type: dict
jobs:
  description: All jobs of this task; those that were done before it failed.
  returned: always
  type: list
  elements: dict
plans:
  description: What was planned, documents org.gpupass1.plan/1.
  returned: success
  type: list
  elements: dict
error:
  description: Why it failed, with I(name) of the D-Bus error, I(message), I(reason), I(cause), I(state) and I(remedy).
  returned: failure
  type: dict
  sample:
    name: org.gpupass1.Error.GroupBusy
    message: "cannot forget pair0: it is assigned to vm42"
    reason: "cannot forget pair0: it is assigned to vm42"
    cause: null
    state: nothing was changed
    remedy: "release it first: gpupass release vm42"
rc:
  description: The exit code of gpupass(1).
  returned: failure
  type: int
  sample: 9
"""

import re

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpupass.host.plugins.module_utils.gpupass import Gpupass, job_options

ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")
# What YAML makes of an address without quotes whose digits are all below 60: a number in base 60.
NUMBER = re.compile(r"[0-9]+\.[0-9]+")
NODE_DEVICE = re.compile(r"pci_([0-9a-f]{4,8})_([0-9a-f]{2})_([0-9a-f]{2})_([0-7])")


def function_of(address):
    """(segment, bus, device, function) of an address in any of its forms; None: it is no address."""
    match = ADDRESS.fullmatch(address.lower()) or NODE_DEVICE.fullmatch(address.lower())
    return tuple(int(part or "0", 16) for part in match.groups()) if match else None


def slot_of(address):
    function = function_of(address)
    return function and function[:3]


def are_with(words, companions):
    """Whether these words mean exactly these companions: by address, or one of the kind that was chosen."""
    left = [(one["kind"], function_of(one["address"])) for one in companions]
    open_kinds = []
    for word in words:
        kind, _, address = word.partition(":")
        if (kind, function_of(address)) in left:
            left.remove((kind, function_of(address)))
        else:
            open_kinds.append(address if kind == "nearest" else kind if kind == "vf" else None)
    return sorted(kind for kind, _ in left) == sorted(kind or "" for kind in open_kinds)


def means(word, gpu):
    """Whether this word of a declaration means the GPU."""
    slot = slot_of(word)
    if slot is not None:
        return slot == slot_of(gpu["address"])
    if word.startswith("serial:"):
        return gpu["serial_number"] == word[len("serial:"):]
    if word.startswith("slot:"):
        return gpu["physical_slot"] == word[len("slot:"):]
    return gpu["uuid"] is not None and gpu["uuid"].lower() == word.lower()


class Group:
    def __init__(self, module):
        self.gpupass = Gpupass(module)
        self.check_mode = module.check_mode
        self.parameters = module.params
        self.name = module.params["name"]
        self.group, self.gpus = None, []
        self.changed = False
        self.diffs = []
        self.look()

    def look(self):
        """There may be a GPU of the name, but a group's name has no colon."""
        shown = self.gpupass.call("show", arguments=[self.name], expected=["NoSuchGroup", "NoSuchGpu"])
        group = shown[-1]["group"] if shown else None
        if group and group["name"] == self.name:
            self.group, self.gpus = group, shown[-1]["gpus"]
        else:
            self.group, self.gpus = None, []

    def is_declared(self):
        return self.group is not None and self.group["provenance"] == "declared"

    def change(self, verb, arguments, before, after, options=()):
        """What cannot be planned: a change of the declaration."""
        self.changed = True
        self.diffs.append(dict(before_header="declaration of " + self.name, before=before,
                               after_header="declaration of " + self.name, after=after))
        if self.check_mode:
            return
        self.gpupass.call(verb, options=options, arguments=[self.name] + arguments)
        self.look()

    def declare(self):
        words, companions = self.parameters["gpus"], self.parameters["companions"]
        for word in words:
            if NUMBER.fullmatch(word):
                self.gpupass.refuse("%s names no GPU" % word, cause="YAML reads 41:00.0 as a number",
                                    remedy='write addresses in quotes: "41:00.0"')
        if not self.is_declared():
            options = ["--" + name.replace("_", "-") for name in ("no_bridge_seen", "whole_nic", "erase")
                       if self.parameters[name]]
            options += ["--with=" + word for word in companions or []]
            options += ["--vlan=%d" % self.parameters["vlan"]] if self.parameters["vlan"] is not None else []
            self.change("declare", words, "", "".join(word + "\n" for word in words + (companions or [])), options)
            return
        found = [gpu["address"] for gpu in self.gpus]
        strange = [gpu["address"] for gpu in self.gpus if not any(means(word, gpu) for word in words)]
        # A member of a degraded group may be missing on the host: then the others must be meant.
        fewer = len(found) < len(words) and self.group["state"] == "degraded"
        if strange or not (fewer or len(found) == len(words)):
            self.gpupass.refuse(
                "%s is declared with other GPUs" % self.name,
                cause="%s has %s; the task has %s" % (self.group["source"], ", ".join(found),
                                                      ", ".join(words)),
                remedy="correct the task, or withdraw the declaration first, with state=absent")
        if companions is not None and not are_with(companions, self.group["companions"]):
            self.gpupass.refuse(
                "%s is declared with other companions" % self.name,
                cause="%s has %s; the task has %s" % (
                    self.group["source"],
                    ", ".join("%s:%s" % (one["kind"], one["address"]) for one in self.group["companions"]) or "none",
                    ", ".join(companions) or "none"),
                remedy="correct the task, or withdraw the declaration first, with state=absent")
        if self.group["state"] == "degraded":
            self.gpupass.module.warn("%s is degraded: %s" % (self.name, self.group["reason"]))

    def bind(self):
        options = job_options(self.parameters)
        verb = "bind" if self.parameters["bound"] else "unbind"
        if self.parameters["persist"]:
            options.append("--persist")
        if self.check_mode and self.diffs:
            return  # it is yet to be declared, and cannot be planned before
        if verb == "bind" and self.group["state"] == "assigned" and not self.parameters["persist"]:
            return
        if not self.gpupass.plan(verb, options, [self.name])["changed"]:
            return
        self.changed = True
        if not self.check_mode:
            job = self.gpupass.call(verb, options, [self.name])[-1]
            self.changed = job["changed"] or bool(self.diffs)
            self.look()

    def present(self):
        if self.parameters["gpus"] is not None:
            self.declare()
        elif self.group is None:
            self.gpupass.call("show", arguments=[self.name])  # fails, and says why
        if self.parameters["bound"] is not None:
            self.bind()

    def absent(self):
        if self.is_declared():
            self.change("forget", [], "".join(gpu["address"] + "\n" for gpu in self.gpus), "")


def main():
    module = AnsibleModule(
        argument_spec=dict(
            name=dict(type="str", required=True),
            state=dict(type="str", choices=["present", "absent"], default="present"),
            gpus=dict(type="list", elements="str"),
            companions=dict(type="list", elements="str"),
            whole_nic=dict(type="bool", default=False),
            vlan=dict(type="int"),
            erase=dict(type="bool", default=False),
            no_bridge_seen=dict(type="bool", default=False),
            bound=dict(type="bool"),
            persist=dict(type="bool", default=False),
            timeout=dict(type="str"),
            allow_boot_vga=dict(type="bool", default=False),
        ),
        supports_check_mode=True,
    )
    group = Group(module)
    if module.params["state"] == "absent" and (module.params["bound"] is not None):
        group.gpupass.refuse("bound is about a group that is there", remedy="leave it out, or use state=present")
    if module.params["persist"] and not module.params["bound"]:
        group.gpupass.refuse("persist goes with bound=true", remedy="add bound=true, or leave persist out")
    getattr(group, module.params["state"])()
    group.gpupass.done(group.changed, group.diffs, group=group.group)


if __name__ == "__main__":
    main()
