# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects of org.gpupass1 for fake-daemon, as the daemon would publish them."""
import json
import os
import re

from rig import HERE, text_of

ROOT = "/org/gpupass1"
MANAGER = "org.gpupass1.Manager"
GROUP = "org.gpupass1.Group"
GPU = "org.gpupass1.Gpu"
ASSIGNMENT = "org.gpupass1.Assignment"
JOB = "org.gpupass1.Job"
ERROR = "org.gpupass1.Error."

UUID = "4dea22b3-1d52-d8f3-2516-782e98ab3fa0"
VM42 = "9b0cf6fe-7c34-4f2d-9a0a-5d3e0c7a4242"
CREATED = 1767323045 * 1000000


def fixture(name):
    return json.loads(text_of(os.path.join(HERE, "..", "fixtures", "client", name + ".json")))


def gpu_path(address):
    return ROOT + "/gpus/" + address.replace(":", "_").replace(".", "_")


def group_path(name):
    return ROOT + "/groups/" + "".join(
        c if c.isalnum() else "_%02x" % ord(c) for c in name)


def properties_of(kind, *changes):
    """Of an object of this kind, as gpupassd has them where nothing else is said."""
    base = fixture("objects")[kind]
    for change in changes:
        base.update(change)
    return base


def manager(**properties):
    return {ROOT: {MANAGER: properties_of("Manager", properties)}}


def gpu(address, iommu, numa, group="", driver="nvidia", **properties):
    segment, bus, _ = address.split(":")
    return {gpu_path(address): {GPU: properties_of("Gpu", {
        "Address": ["s", address],
        "Functions": ["a(ssiu)", [
            [address, driver, iommu, 0x030000],
            [address[:-1] + "1", "vfio-pci" if driver == "vfio-pci" else "snd_hda_intel", iommu, 0x040300]]],
        "Driver": ["s", driver], "IommuGroup": ["i", iommu], "NumaNode": ["i", numa],
        "UpstreamPath": ["as", ["%s:%02x:01.0" % (segment, int(bus, 16) - 1)]],
        "Group": ["o", group_path(group) if group else "/"]}, properties)}}


def group(name, addresses, iommu, numa, **properties):
    source = "groups.d/%s.conf:1" % name
    return {group_path(name): {GROUP: properties_of("Group", {
        "Name": ["s", name], "Source": ["s", source], "Evidence": ["a(suts)", [["declared", 0, 0, source]]],
        "Gpus": ["ao", [gpu_path(a) for a in addresses]], "GpuAddresses": ["as", addresses],
        "Functions": ["as", [a[:-1] + f for a in addresses for f in "01"]],
        "IommuGroups": ["ai", iommu], "NumaNodes": ["ai", numa]}, properties)}}


def assignment(name, uuid, group_name, functions):
    return {ROOT + "/assignments/" + "%s_%s" % (uuid.replace("-", "_"),
                                                re.sub("[:.]", "_", functions[0])): {ASSIGNMENT: {
        "DomainName": ["s", name],
        "DomainUuid": ["s", uuid],
        "GroupName": ["s", group_name],
        "Group": ["o", group_path(group_name)],
        "Functions": ["as", functions],
        "CreatedAt": ["t", CREATED],
        "CreatedByUid": ["u", 0],
        "Topology": ["s", "flat"],
    }}}


def steps(*rows):
    return ["a(ssst)", [list(row) for row in rows]]


def job(number, **properties):
    return {job_path(number): {JOB: properties_of("Job", {"Id": ["u", number]}, properties)}}


def job_path(number):
    return ROOT + "/jobs/%d" % number


def altered(objects, *changes):
    """The same with other properties: of a group's name, a GPU's address or "" for the manager."""
    for name, properties in changes:
        interfaces = objects[gpu_path(name) if ":" in name else group_path(name) if name else ROOT]
        next(iter(interfaces.values())).update(properties)
    return objects


def host():
    """Two pairs, one of them in a domain, and a GPU without NVLink."""
    objects = manager()
    for address, iommu, numa, name, driver in (
            ("0000:41:00.0", 33, 0, "pair0", "vfio-pci"),
            ("0000:61:00.0", 41, 0, "pair0", "vfio-pci"),
            ("0000:a1:00.0", 57, 1, "pair1", "nvidia"),
            ("0000:c1:00.0", 60, 1, "pair1", "nvidia")):
        objects.update(gpu(address, iommu, numa, name, driver))
    objects.update(gpu("0000:e1:00.0", 70, -1, Model=["s", "RTX 4090"],
                       Name=["s", "AD102 [GeForce RTX 4090]"], DeviceId=["q", 0x2684],
                       Nvlink=["s", "none"],
                       NvlinkNote=["s", "Ada boards have no NVLink connector"],
                       NvlinkGeneration=["u", 0], NvlinkLinks=["u", 0],
                       NvlinkGroupSize=["u", 0], BootVga=["b", True]))
    objects.update(group("pair0", ["0000:41:00.0", "0000:61:00.0"], [33, 41], [0, 0],
                         State=["s", "assigned"], Driver=["s", "vfio-pci"],
                         DomainName=["s", "vm41"], DomainUuid=["s", UUID],
                         Assignable=["b", False]))
    objects.update(group("pair1", ["0000:a1:00.0", "0000:c1:00.0"], [57, 60], [1, 1]))
    objects.update(assignment("vm41", UUID, "pair0", ["0000:41:00.0", "0000:41:00.1",
                                                      "0000:61:00.0", "0000:61:00.1"]))
    return objects


# The four steps of an assignment, as far as they are done.
def assign_steps(done, last="done"):
    rows = [["preflight", "IOMMU groups 57,60 viable; no holders", 12000],
            ["bind vfio-pci", "4 functions", 935000],
            ["define", "4 hostdevs", 61000],
            ["verify", "drivers and XML re-read", 20000]]
    return steps(*[[name, "done" if i + 1 < done else last if i + 1 == done else "pending",
                    detail if i < done else "", took if i < done else 0]
                   for i, (name, detail, took) in enumerate(rows)])


def removed(number, result="done", error="", message=""):
    return {"signal": [ROOT, MANAGER, "JobRemoved", "uosss", number, job_path(number), result,
                       error, message]}


def begins(method, number=17, **properties):
    """Methods of a daemon that has this job by the time it answers."""
    path = job_path(number)
    return {method: {"before": [{"add": [path, job(number, **properties)[path]]}], "reply": ["o", path]}}


def says(**documents):
    """Methods that answer with these documents, or texts."""
    return {method: {"reply": ["s", d if isinstance(d, str) else json.dumps(d)]} for method, d in documents.items()}


def looked(times=1):
    """Of an action: when somebody has looked at an object so many times, such as at the job that the call
    began. However slow the client is, it has seen the job as it was before."""
    return ["GetAll", times]


def assignment_that_works(number=17, looks=1):
    """Methods of a daemon that assigns pair1 to vm42 step by step, when it was looked at."""
    path = job_path(number)
    methods = begins("Assign", number, GroupName=["s", ""], DomainUuid=["s", ""], State=["s", "planning"])
    then = [{"when": looked(looks), "set": [path, JOB, {"State": ["s", "running"],
                                                        "GroupName": ["s", "pair1"],
                                                        "DomainUuid": ["s", VM42],
                                                        "Steps": assign_steps(1, "running")}]}]
    for done in (1, 2, 3, 4):
        then.append({"after": 5, "set": [path, JOB, {"Steps": assign_steps(done)}]})
    then.append({"hush": [path, JOB, {"State": ["s", "done"], "DurationUsec": ["t", 1031000]}]})
    methods["Assign"]["then"] = then + [removed(number)]
    return methods


def assignment_that_fails(name, message, state="failed"):
    path = job_path(18)
    failed = job(18, State=["s", state], Steps=assign_steps(2, "failed"),
                 ErrorName=["s", ERROR + name], ErrorMessage=["s", message],
                 DurationUsec=["t", 5000])
    methods = begins("Assign", 18)
    methods["Assign"]["then"] = [{"after": 5, "add": [path, failed[path]]}, removed(18, state, ERROR + name, message)]
    return methods


CANCELLED = ("cannot assign pair1 to vm42: root cancelled the job\n"
             "State:  everything was put back as it was; undone: bind vfio-pci")


def cancellation(state="cancelled", error="Cancelled", message=CANCELLED):
    """Methods of a daemon whose job 17 has bound pair1, and is undone, or not."""
    path, cancelled = job_path(17), {"CancelRequested": ["b", True], "CancelledByUid": ["u", 0]}
    ended = job(17, State=["s", state], Steps=assign_steps(2, "undone"), **cancelled,
                ErrorName=["s", ERROR + error if error else ""], ErrorMessage=["s", message],
                DurationUsec=["t", 5000])
    methods = begins("Cancel", Steps=assign_steps(1, "running"), **cancelled)
    methods["Cancel"]["then"] = [{"when": looked(), "set": [path, JOB, {"State": ["s", "rolling-back"]}]},
                                 {"after": 5, "add": [path, ended[path]]},
                                 removed(17, state, ERROR + error if error else "", message)]
    return methods


def verdict(word, **members):
    """What a verification of pair1 in vm42 finds."""
    active = {"verified": 4, "degraded": 2}.get(word, 0)
    path = "NV%d" % active if active else "SYS"
    found = {
        "schema": "org.gpupass1.verify/1", "verdict": word, "cause": "none", "reason": None,
        "remedy": None, "domain": {"name": "vm42", "uuid": UUID}, "group": "pair1",
        "asked_at": CREATED, "matched_by": "uuid", "links_expected": 4,
        "gpus": [{"address": a, "found": True, "listed": True, "links_active": active}
                 for a in ("0000:a1:00.0", "0000:c1:00.0")],
        "links": [{"gpus": ["0000:a1:00.0", "0000:c1:00.0"], "verdict": word, "cause": "none",
                   "reason": None, "paths": [path, path], "peer_to_peer": ["OK", "OK"]}],
        "guest_report": None, "topology": None, "workload": None,
    }
    found.update(members)
    return found


def verification(found, number=5):
    return begins("Verify", number, State=["s", "done"], Operation=["s", "verify"], Changed=["b", False],
                  DurationUsec=["t", 700000], Result=["s", found if isinstance(found, str) else json.dumps(found)])


REFUSAL = ("cannot assign pair1 to vm42: IOMMU group 57 is not viable\n"
           "Cause:  0000:a0:01.0 (igb, eth2) shares IOMMU group 57 with 0000:a1:00.0\n"
           "        0000:a0:02.0 (e1000e) too\n"
           "State:  nothing was changed\n"
           "Remedy: use another slot or enable ACS; see gpupassd(8), IOMMU GROUPS")
# What gpupassd answers.
PLAN, DOCTOR, DRIFT, AUDIT, HOLDERS, METRICS = map(fixture, (
    "plan", "doctor", "drift", "audit", "holders", "metrics"))


def drift(*groups, **changes):
    """A daemon on which this has drifted, of these groups; with none: all of it."""
    found = dict(DRIFT, **changes)
    found["findings"] = [f for f in found["findings"] if not groups or f["group"] in groups]
    return says(GetDrift=found)


def reconciliation(number=19):
    path = job_path(number)
    done = job(number, Operation=["s", "reconcile"], GroupName=["s", "pair0"],
               DomainName=["s", "vm41"], State=["s", "done"], DurationUsec=["t", 1031000],
               Steps=steps(["bind vfio-pci", "done", "1 function", 935000],
                           ["record", "done", "pair0 for vm41", 3000]))
    methods = begins("Reconcile", number, Operation=["s", "reconcile"], GroupName=["s", ""], State=["s", "planning"])
    methods["Reconcile"]["then"] = [{"after": 5, "add": [path, done[path]]}, removed(number)]
    return methods


def counting(**changes):
    return says(GetMetrics=dict(METRICS, **changes))
