#!/usr/bin/python
# SPDX-License-Identifier: GPL-2.0-or-later
# GNU General Public License version 2, or (at your option) any later version, such as version 3:
# see the LICENSE of gpupass, or https://www.gnu.org/licenses/
from __future__ import absolute_import, division, print_function
__metaclass__ = type

DOCUMENTATION = r"""
module: assignment
short_description: Give groups of NVLink-bridged GPUs to a libvirt domain, and take them back
version_added: 0.9.0
description:
  - Gives whole groups of GPUs to a libvirt domain, in its definition and, if it runs, in the running domain.
  - When a step fails, gpupassd undoes all that was done.
options:
  domain:
    description: The domain, by UUID or name. A UUID is safer where users choose the names of their domains.
    type: str
    required: true
  state:
    description:
      - With C(present) the domain has the groups.
      - With C(absent) it has none of I(groups), or no group at all where none is named. A domain that has none is no
        error, and neither is one that does not exist.
    type: str
    choices: [present, absent]
    default: present
  groups:
    description:
      - The groups, by name. Other groups of the domain stay as they are.
      - If omitted, I(count) groups of I(model).
    type: list
    elements: str
  model:
    description: The board, as in the column MODEL of C(gpupass list). Only with C(present), and without I(groups).
    type: str
  count:
    description:
      - How many groups of I(model), or of any model, the domain has at least. What it has already counts.
      - Only with C(present), and without I(groups).
    type: int
    default: 1
  live:
    description:
      - Change the running domain, and not its definition unless I(config) is true, too.
      - With neither, the definition is changed and, if the domain runs, the running domain, too. Only with C(present).
    type: bool
    default: false
  config:
    description: Change the definition, and not the running domain unless I(live) is true, too. Only with C(present).
    type: bool
    default: false
  fit:
    description:
      - What to do about a domain whose address space or memory does not fit the group, to advise, to write what is
        missing into the definition, or to refuse. See gpupass(1), FIT. Only with C(present).
    type: str
    choices: [advise, apply, strict]
  numa:
    description: The same about NUMA placement.
    type: str
    choices: [advise, apply, strict]
  topology:
    description:
      - Whether the guest sees the members of the group as far apart as the host does, or each on a port of its own. If
        omitted, as it was assigned, or flat. See gpupass(1), TOPOLOGY. Only with C(present).
    type: str
    choices: [mirror, flat]
  peer_access:
    description:
      - Let the boards of the guest reach each other over PCIe; C(unsafe) lets GeForce boards, too. If omitted, as it
        was assigned, or off. See gpupass(1), PEER ACCESS. Only with C(present).
    type: str
    choices: ['on', unsafe]
  keep_vfio:
    description: Leave the functions on vfio-pci. Only with C(absent).
    type: bool
    default: false
attributes:
  check_mode:
    description: gpupassd makes the plan, and refuses what it would refuse otherwise.
    support: full
  diff_mode:
    description: The plan, with its steps, each write to sysfs, and the difference of the XML of the domain.
    support: full
extends_documentation_fragment:
  - gpupass.host.gpupass
  - gpupass.host.gpupass.job
"""

EXAMPLES = r"""
- name: Give a pair to a domain
  gpupass.host.assignment:
    domain: vm42
    groups: [pair0]
  become: true

- name: Give it any two groups of this board that are free
  gpupass.host.assignment:
    domain: 3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242
    model: RTX A6000
    count: 2
    numa: strict
  become: true

- name: Wait while another job has the group in hand
  gpupass.host.assignment:
    domain: vm42
    groups: [pair0]
  become: true
  register: assignment
  until: assignment.error.name | default('') != 'org.gpupass1.Error.GroupBusy'
  retries: 5
  delay: 10

- name: Take back all groups of a domain, and leave them on vfio-pci for the next one
  gpupass.host.assignment:
    domain: vm42
    state: absent
    keep_vfio: true
  become: true
"""

RETURN = r"""
domain:
  description: The domain as libvirt knows it, with I(name) and I(uuid). Null where it has no group and needs none.
  returned: success
  type: dict
  sample: {name: vm42, uuid: 3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242}
groups:
  description: The groups that this task was about, which the domain has now (C(present)), or had (C(absent)).
  returned: success
  type: list
  elements: str
  sample: [pair0]
job:
  description: The last job, or the one that failed, a document org.gpupass1.job/1. Null if there was none.
  returned: always
  type: dict
jobs:
  description: All jobs of this task, one a group; those that were done before it failed.
  returned: always
  type: list
  elements: dict
plans:
  description: What was planned, documents org.gpupass1.plan/1, one a group.
  returned: success
  type: list
  elements: dict
error:
  description: Why it failed, with I(name) of the D-Bus error, I(message), I(reason), I(cause), I(state) and I(remedy).
  returned: failure
  type: dict
  sample:
    name: org.gpupass1.Error.IommuGroupNotViable
    message: "cannot assign pair1 to vm42: IOMMU group 57 is not viable"
    reason: "cannot assign pair1 to vm42: IOMMU group 57 is not viable"
    cause: 0000:a0:01.0 (igb, eth2) shares IOMMU group 57 with 0000:a1:00.0
    state: nothing was changed
    remedy: use another slot or enable ACS; see gpupassd(8), IOMMU GROUPS
rc:
  description: The exit code of gpupass(1).
  returned: failure
  type: int
  sample: 6
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpupass.host.plugins.module_utils.gpupass import (
    EXIT_BUSY, Gpupass, is_domain, job_options, natural)


def explain(group):
    """Why a group cannot be chosen."""
    reason = group["domain"]["name"] if group["domain"] else group["reason"]
    return "%s is %s%s" % (group["name"], group["state"], ": " + reason if reason else "")


class Assignment:
    def __init__(self, module):
        self.gpupass = Gpupass(module)
        self.check_mode = module.check_mode
        self.parameters = module.params
        self.word = module.params["domain"]

    def done(self, changed, domain, groups):
        self.gpupass.done(changed, domain=domain, groups=groups)

    # ---- present ----

    def options(self):
        options = job_options(self.parameters)
        options += ["--" + name for name in ("live", "config") if self.parameters[name]]
        options += ["--%s=%s" % (name, self.parameters[name]) for name in ("fit", "numa", "topology")
                    if self.parameters[name] is not None]
        if self.parameters["peer_access"] is not None:
            options.append("--peer-access=" + self.parameters["peer_access"])
        return options

    def is_meant(self, group):
        model = self.parameters["model"]
        return model is None or (group["model"] or "").lower() == model.lower()

    def choose(self, first):
        """Names of `count` groups: those that the domain has, and others as gpupassd would choose.

        gpupassd chooses one group, and always the same for a domain that has one.
        """
        count = self.parameters["count"]
        groups = sorted(filter(self.is_meant, self.gpupass.call("list")[-1]["groups"]),
                        key=lambda group: natural(group["name"]))
        own = [group for group in groups
               if group["domain"] and group["domain"]["uuid"] == first["domain"]["uuid"]]
        others = [group for group in groups if group not in own]
        # Who names no group wants GPUs that are linked, where there are any.
        linked = any(len(group["gpus"]) > 1 for group in groups)
        free = [group for group in others
                if group["assignable"] and (len(group["gpus"]) > 1 or not linked)]
        chosen = own + free[:max(0, count - len(own))]
        if len(chosen) < count:
            self.gpupass.refuse(
                "%s can have %d of the %d groups%s" % (
                    self.word, len(chosen), count,
                    " of " + self.parameters["model"] if self.parameters["model"] else ""),
                cause="; ".join(explain(group) for group in others if group not in free) or None,
                remedy="release one: gpupass release GROUP", name="GroupBusy", code=EXIT_BUSY)
        return sorted((group["name"] for group in chosen), key=natural)

    def plan_each(self, names, options):
        return [self.gpupass.plan("assign", options, [self.word] + name) for name in names]

    def present(self):
        options, names = self.options(), self.parameters["groups"]
        chosen = [[name] for name in names or []]
        if not names:
            if self.parameters["model"] is not None:
                options.append("--model=" + self.parameters["model"])
            chosen = [[]]
        plans = self.plan_each(chosen, options)
        if self.parameters["count"] > 1:
            self.gpupass.plans = []
            options = self.options()
            chosen = [[name] for name in self.choose(plans[0])]
            plans = self.plan_each(chosen, options)
        changed = any(plan["changed"] for plan in plans)
        if changed and not self.check_mode:
            if chosen == [[]]:
                options.append("--any")
            jobs = self.gpupass.call("assign", options, sum(chosen, [self.word]))
            changed = any(job["changed"] for job in jobs)
        self.done(changed, plans[0]["domain"], [plan["group"] for plan in plans])

    # ---- absent ----

    def find(self):
        """The domain as the assignments name it, and the names of its groups."""
        assignments = [a for a in self.gpupass.call("status")[-1]["assignments"]
                       if is_domain(a["domain"], self.word)]
        uuids = sorted(set(a["domain"]["uuid"] for a in assignments))
        if len(uuids) > 1:
            self.gpupass.refuse("%s may be one of several domains" % self.word,
                                cause=", ".join(uuids), remedy="give the UUID of the one you mean")
        return (assignments[0]["domain"] if uuids else None,
                sorted((a["group"] for a in assignments), key=natural))

    def absent(self):
        options = job_options(dict(self.parameters, allow_boot_vga=False))
        if self.parameters["keep_vfio"]:
            options.append("--keep-vfio")
        domain, groups = self.find()
        wanted = [name for name in groups
                  if self.parameters["groups"] is None or name in self.parameters["groups"]]
        if not wanted:
            self.done(False, domain, [])
        # By UUID where that says it all: a domain can have the name of a group.
        targets = [domain["uuid"]] if wanted == groups and len(groups) == 1 else wanted
        for target in targets:
            self.gpupass.plan("release", options, [target])
        changed = any(plan["changed"] for plan in self.gpupass.plans)
        if not self.check_mode:
            changed = any(job["changed"] for job in self.gpupass.call("release", options, targets))
        self.done(changed, domain, wanted)


def main():
    module = AnsibleModule(
        argument_spec=dict(
            domain=dict(type="str", required=True),
            state=dict(type="str", choices=["present", "absent"], default="present"),
            groups=dict(type="list", elements="str"),
            model=dict(type="str"),
            count=dict(type="int", default=1),
            live=dict(type="bool", default=False),
            config=dict(type="bool", default=False),
            fit=dict(type="str", choices=["advise", "apply", "strict"]),
            numa=dict(type="str", choices=["advise", "apply", "strict"]),
            topology=dict(type="str", choices=["mirror", "flat"]),
            peer_access=dict(type="str", choices=["on", "unsafe"]),
            keep_vfio=dict(type="bool", default=False),
            timeout=dict(type="str"),
            allow_boot_vga=dict(type="bool", default=False),
        ),
        mutually_exclusive=[("groups", "model")],
        supports_check_mode=True,
    )
    assignment = Assignment(module)
    assignment.gpupass.check([module.params["domain"]] + (module.params["groups"] or []))
    if module.params["groups"] == []:
        # An empty variable must not mean the first free group, and not all groups either.
        assignment.gpupass.refuse("groups is empty", remedy="name a group, or leave groups out")
    if module.params["count"] < 1 or (module.params["count"] > 1 and module.params["groups"]):
        assignment.gpupass.refuse("count is 1 or more, and goes without groups",
                                  remedy="leave one of the two out")
    # Left out in silence, they would release more than was meant.
    for name, other in (("model", "present"), ("count", "present"), ("live", "present"),
                        ("config", "present"), ("fit", "present"), ("numa", "present"),
                        ("topology", "present"), ("peer_access", "present"), ("allow_boot_vga", "present"),
                        ("keep_vfio", "absent")):
        given = module.params[name] not in (None, False) and not (name == "count" and module.params[name] == 1)
        if given and module.params["state"] != other:
            assignment.gpupass.refuse("%s is for state: %s" % (name, other),
                                      remedy="leave it out, or name the groups")
    getattr(assignment, module.params["state"])()


if __name__ == "__main__":
    main()
