# SPDX-License-Identifier: GPL-2.0-or-later
"""
What a lab host is, as its kernel and libvirt say it and not as gpupass does: drivers and overrides
from sysfs, definitions from libvirt's own files, and gpupass's files.
"""
import glob
import json
import os
import re
import subprocess
import time
import xml.etree.ElementTree as ET

DEVICES = "/sys/bus/pci/devices"
DEFINITIONS = "/etc/libvirt/qemu"
MOVING = ("binding", "attaching", "detaching", "releasing", "rolling-back")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def read_or(path, default):
    try:
        return read(path)
    except OSError:
        return default


def write(path, value):
    """A sysfs attribute: one write, its error an exception."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)


def driver_of(bdf):
    try:
        return os.path.basename(os.readlink("%s/%s/driver" % (DEVICES, bdf)))
    except OSError:
        return "none"


def natural_driver(bdf):
    return "nvidia" if bdf.endswith(".0") else "snd_hda_intel"


def override_of(bdf):
    return read("%s/%s/driver_override" % (DEVICES, bdf)).strip()


def nvidia_functions():
    """Addresses, in order."""
    return sorted(bdf for bdf in os.listdir(DEVICES)
                  if read("%s/%s/vendor" % (DEVICES, bdf)).strip() == "0x10de")


def definition(name):
    """libvirt's file without its comment; None when there is none."""
    text = read_or("%s/%s.xml" % (DEFINITIONS, name), None)
    return None if text is None else re.sub(r"<!--.*?-->\s*", "", text, flags=re.S)


def definitions():
    names = sorted(os.path.basename(p)[:-4] for p in glob.glob(DEFINITIONS + "/*.xml"))
    return {name: definition(name) for name in names}


def hostdevs(xml):
    """Host addresses of PCI hostdevs, in order."""
    found = []
    for hostdev in ET.fromstring(xml).iter("hostdev"):
        at = hostdev.find("source/address")
        if at is not None and hostdev.get("type") == "pci":
            found.append("%04x:%02x:%02x.%x" % tuple(
                int(at.get(k), 16) for k in ("domain", "bus", "slot", "function")))
    return sorted(found)


def files(directory):
    """Every file below it with its text, those whose name begins with a dot as well."""
    found = {}
    for folder, _, names in sorted(os.walk(directory)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, directory)] = f.read().decode("utf-8", "replace")
    return found


def open_jobs(state):
    """Files of the journal whose last job has not ended."""
    found = []
    for path in sorted(glob.glob(state + "/journal/*")):
        records = re.findall('"record":"(begin|end)"', read_or(path, ""))
        if path.endswith(".journal") or (path.endswith(".log") and records[-1:] == ["begin"]):
            found.append(path)
    return found


def world(config_dir):
    """Drivers, overrides, definitions, assignments and kept groups, as lines to compare."""
    lines = ["%s %s %s" % (bdf, driver_of(bdf), override_of(bdf)) for bdf in nvidia_functions()]
    for name, xml in definitions().items():
        lines += ["== " + name] + xml.splitlines()
    for directory in ("/assignments.d", "/kept.d"):
        for name, text in files(config_dir + directory).items():
            lines += ["== " + name] + text.splitlines()
    return lines


def run(*command):
    """(status, stdout, stderr)"""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=75 * patience(), check=False)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode(
        "utf-8", "replace")


def must(*command):
    status, out, err = run(*command)
    if status != 0:
        raise RuntimeError("%s: exit status %d\n%s%s" % (" ".join(command), status, out, err))
    return out


def patience():
    """How many times longer a wait may take than on an idle machine; see slowness.sh."""
    try:
        with open("/run/lab/boot/slowness", encoding="ascii") as f:
            return 4 * int(f.read())
    except OSError:
        return 4


def until(seconds, true, pause=0.05):
    """Whether it became true in time, which is SECONDS on an idle machine."""
    end = time.monotonic() + seconds * patience()
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def gpupass_groups():
    """What `gpupass list` says, by name; None while the daemon does not answer."""
    status, out, _ = run("gpupass", "list", "--json=short")
    if status != 0:
        return None
    return {group["name"]: group for group in json.loads(out)["groups"]}


class Daemon:
    """gpupassd, as a child of this process."""

    def __init__(self, log, *options):
        self.log, self.options, self.process = log, options, None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(["gpupassd", *self.options], stderr=log,
                                            stdin=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        return self.process.wait(10 * patience())

    def alive(self):
        return self.process.poll() is None
