# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests/hardware --look reads: the PCI functions as org.gpupass1.snapshot/1, what NVIDIA's tool says of the
links, and which versions there are. It writes nothing, opens no device, and reads no config space; what needs a
right that is not there is left out, and named."""
import os
import platform
import re
import subprocess

NVIDIA = "10de"
BRIDGE, DISPLAY = "0604", ("0300", "0302")
# sysfs leaves these numbers out, or has -1, where there is nothing to tell.
COUNTS = {"sriov_totalvfs": "vfs_max", "sriov_offset": "vf_offset", "sriov_stride": "vf_stride",
          "sriov_drivers_autoprobe": "vf_autoprobe"}
# No attribute of them waits for a device's lock.
DMI = ("sys_vendor", "product_name", "board_vendor", "board_name", "bios_version", "bios_date")
UUID = re.compile(r"(?:GPU-|MIG-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
SERIAL = re.compile(r"(Serial Number\s*:\s*)(?!N/A)\S+", re.I)


def text(*path):
    """"": it is not there, or may not be read."""
    try:
        with open(os.path.join(*path), encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return ""


def target(*path):
    try:
        return os.path.basename(os.readlink(os.path.join(*path)))
    except OSError:
        return ""


def said(*command):
    """What a program prints; None: it is not there, it fails, or it hangs."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def without_names(words):
    """UUIDs and serial numbers by stand-ins, the same one for the same word, as in a bundle of gpupass doctor."""
    seen = {}

    def stand_in(match):
        return seen.setdefault(match.group(0).lower(), f"uuid-{len(seen) + 1:04}")
    return SERIAL.sub(r"\1serial", UUID.sub(stand_in, words))


def bars(directory):
    sizes = []
    for line in text(directory, "resource").splitlines()[:7]:
        start, end, _ = (int(word, 16) for word in line.split())
        sizes.append(end - start + 1 if end > start else 0)
    return sizes


def optional(directory):
    """The members that are there only where there is something to tell."""
    found = {
        "driver": target(directory, "driver"),
        "power_state": text(directory, "power_state"),
        "reset_methods": text(directory, "reset_method"),
        "physical": target(directory, "physfn"),
        "vfio_dev": os.path.isdir(os.path.join(directory, "vfio-dev")),
        "boot_vga": text(directory, "boot_vga") == "1",
        "virtual_function": bool(target(directory, "physfn")),
        "has_vfs": bool(target(directory, "virtfn0")),
    }
    group, node = target(directory, "iommu_group"), text(directory, "numa_node")
    found = {key: value for key, value in found.items() if value}
    if group:
        found["iommu_group"] = int(group)
    if node and int(node) >= 0:
        found["numa_node"] = int(node)
    for name, member in COUNTS.items():
        if text(directory, name):
            found[member] = int(text(directory, name))
    return found


def function(sys, bdf):
    directory = os.path.join(sys, "bus/pci/devices", bdf)
    words = {member: text(directory, name)[2:] for member, name in (
        ("class", "class"), ("vendor", "vendor"), ("device", "device"),
        ("subsystem_vendor", "subsystem_vendor"), ("subsystem_device", "subsystem_device"))}
    found = {"bdf": bdf, **words, **optional(directory)}
    above = os.path.realpath(directory).split("/")[:-1]
    if words["class"].startswith(BRIDGE):
        found["bridge"] = True
    else:
        found["bar_size"] = bars(directory)
        found["upstream"] = [name for name in above if re.fullmatch(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", name)]
    return found


def slots(sys):
    """{address without the function: name}"""
    folder = os.path.join(sys, "bus/pci/slots")
    try:
        return {text(folder, name, "address"): name for name in os.listdir(folder)}
    except OSError:
        return {}


def snapshot(sys):
    """Of NVIDIA's boards, and the bridges above them."""
    try:
        names = sorted(os.listdir(os.path.join(sys, "bus/pci/devices")))
    except OSError:
        names = []
    functions = [function(sys, bdf) for bdf in names]
    boards = [f for f in functions if f["vendor"] == NVIDIA and not f.get("bridge")]
    above = {bdf for f in boards for bdf in f["upstream"]}
    place = slots(sys)
    for f in functions:
        if f["bdf"].rsplit(".", 1)[0] in place:
            f["physical_slot"] = place[f["bdf"].rsplit(".", 1)[0]]
    return {"schema": "org.gpupass1.snapshot/1", "taken_usec": 0,
            "iommu": bool(os.path.isdir(os.path.join(sys, "kernel/iommu_groups")) and
                          os.listdir(os.path.join(sys, "kernel/iommu_groups"))),
            "functions": [f for f in functions if f in boards or f["bdf"] in above]}


def gpus(found):
    return [f for f in found["functions"] if f["vendor"] == NVIDIA and f["class"][:4] in DISPLAY]


def host(gpupass, sys):
    """Versions, and what machine it is: no name of its own, and no serial number."""
    release = dict(line.split("=", 1) for line in text("/etc/os-release").splitlines() if "=" in line)
    cpu = re.search(r"^model name\s*:\s*(.*)$", text("/proc/cpuinfo"), re.M)
    return {
        "system": release.get("PRETTY_NAME", "").strip('"'), "kernel": platform.release(), "machine": platform.machine(),
        "cpu": cpu.group(1) if cpu else "", "kernel_arguments": sorted(
            word for word in text("/proc/cmdline").split() if re.match(r"(intel_|amd_)?iommu|vfio|pci(e_\w+)?=|nvidia", word)),
        "dmi": {name: text(sys, "class/dmi/id", name) for name in DMI if text(sys, "class/dmi/id", name)},
        "nvidia": next(iter(text("/proc/driver/nvidia/version").splitlines()), ""),
        "gpupass": (said(gpupass, "--version") or "").strip(),
        "libvirt": (said("virsh", "version") or "").strip().splitlines(),
    }


def nvidia():
    """What NVIDIA's tool says, a section each; {}: it is not there, or says nothing."""
    sections = {
        "boards": ["--query-gpu=index,name,pci.bus_id,driver_version,vbios_version,persistence_mode,mig.mode.current",
                   "--format=csv"],
        "topology": ["topo", "-m"], "links": ["nvlink", "--status"], "remotes": ["nvlink", "-R"],
        "peers": ["topo", "-p2p", "n"],
    }
    found = {name: said("nvidia-smi", *arguments) for name, arguments in sections.items()}
    return {name: without_names(words) for name, words in found.items() if words}


def look(gpupass, sys):
    """{name of a file: document or text}"""
    found, words = snapshot(sys), nvidia()
    files = {"snapshot.json": found, "host.json": host(gpupass, sys)}
    for name, section in words.items():
        files[f"nvidia-smi-{name}.txt"] = section
    lacks = []
    if gpus(found) and not words:
        lacks.append("nvidia-smi is not there, or says nothing: the links were not seen")
    if any(not f.get("reset_methods") for f in gpus(found)):
        lacks.append("the kernel tells no reset method of a board, or this user may not read it")
    return files, lacks
