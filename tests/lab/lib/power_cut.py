#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
    power_cut.py WORK

Of tests/lab/cases/power-cut.sh, which has prepared WORK: runs the operations with their files on a
logged disk, then has the power fail at every point where that disk was sure of something new, and
looks at what gpupass-bind and gpupassd make of it.

Modelled: the disk, to the block, with a volatile cache of which all is lost; the file system's own
recovery; drivers and overrides as the kernel leaves them at a boot; guests gone. Not modelled: a
boot's timing (tests/lab/power-cuts), a write torn within a sector, a disk that lies about flushes.
"""
import collections
import ctypes
import difflib
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
# pylint: disable=wrong-import-position
import hostview as host
import write_log

libc = ctypes.CDLL(None, use_errno=True)
Operation = collections.namedtuple("Operation", "name before after state_after")
FREE, ASSIGNED = ("free", None), ("assigned", "vm42")
TRAIL = "state/audit/"


def fail(name, why, lines=()):
    print("FAIL %s: %s" % (name, why))
    for line in lines:
        print("     | " + line)
    sys.stdout.flush()


def difference(before, now):
    return difflib.unified_diff(before, now, "expected", "found", lineterm="", n=1)


def group_state():
    """(state, domain) of pair0 once no job moves it; None when gpupass says nothing."""
    groups = host.gpupass_groups()
    if not groups or "pair0" not in groups:
        return None
    domain = groups["pair0"]["domain"]
    return groups["pair0"]["state"], domain["name"] if domain else None


class Recording:
    """The operations, undisturbed, on the logged disk."""

    def __init__(self, work):
        self.disk = work + "/disk"
        self.daemon = host.Daemon(work + "/gpupassd.log", "--config-dir=" + self.disk + "/etc",
                                  "--state-dir=" + self.disk + "/state")
        self.operations = []

    def world(self):
        return host.world(self.disk + "/etc")

    def operation(self, name, state_after, *command):
        """Its cuts lie between its two marks."""
        number = str(len(self.operations))
        os.sync()
        host.must("dmsetup", "message", "logged", "0", "mark", "begin-" + number)
        before = self.world()
        host.must(*command)
        os.sync()
        host.must("dmsetup", "message", "logged", "0", "mark", "end-" + number)
        after = self.world()
        if before == after:
            raise RuntimeError("%s changed nothing" % name)
        self.operations.append(Operation(name, before, after, state_after))

    def run(self):
        self.daemon.start()
        if not host.until(30, lambda: host.gpupass_groups() is not None):
            raise RuntimeError("gpupassd did not come up")
        host.must("gpupass", "declare", "pair0", "01:00.0", "02:00.0")
        self.operation("assign, shut off", ASSIGNED, "gpupass", "assign", "vm42", "pair0")
        self.operation("release", FREE, "gpupass", "release", "vm42")
        host.must("virsh", "-q", "start", "vm42")
        self.operation("assign, running", ASSIGNED, "gpupass", "assign", "vm42", "pair0")
        self.daemon.kill()
        host.must("virsh", "-q", "destroy", "vm42")
        host.must("umount", "-l", "/etc/libvirt/qemu")
        host.must("umount", self.disk)
        # Only when the target is gone its log is whole.
        host.must("env", "DM_DISABLE_UDEV=1", "dmsetup", "remove", "logged")
        return self.operations


class Cut:
    """The disk as it is after a cut, mounted at WORK/cut."""

    def __init__(self, work):
        self.work, self.mounted = work, work + "/cut"
        os.makedirs(self.mounted)
        shutil.copy(work + "/empty.img", work + "/cut.img")
        self.device = host.must("losetup", "--show", "-f", work + "/cut.img").strip()

    def mount(self, image):
        with open(self.device, "r+b") as device:
            device.write(image)
        if libc.mount(self.device.encode(), self.mounted.encode(), b"ext4", 0, None) != 0:
            raise OSError(ctypes.get_errno(), "the file system cannot be mounted after a cut")

    def umount(self):
        """A worker of the daemon that was killed may be about to end."""
        if not host.until(20, lambda: libc.umount2(self.mounted.encode(), 0) == 0):
            raise OSError(ctypes.get_errno(), "%s cannot be unmounted" % self.mounted)

    def contents(self):
        """Each file's text: (of the audit trail, of all others)."""
        trail, others = {}, {}
        for name, text in host.files(self.mounted).items():
            if name.startswith(TRAIL):
                trail[name] = text
            elif not name.startswith("lost+found"):
                others[name] = text
        return trail, others


def boot(cut):
    """What the kernel, gpupass-bind.service and coldplug do."""
    functions = host.nvidia_functions()
    for bdf in functions:
        if host.driver_of(bdf) != "none":
            host.write("%s/%s/driver/unbind" % (host.DEVICES, bdf), bdf)
        if host.override_of(bdf) != "(null)":
            host.write("%s/%s/driver_override" % (host.DEVICES, bdf), "\n")
    status, _, err = host.run("/usr/libexec/gpupass/gpupass-bind", "--all",
                              "--config-dir=" + cut.mounted + "/etc",
                              "--runtime-dir=" + cut.work + "/run")
    if status != 0:
        raise RuntimeError("gpupass-bind failed: " + err)
    for bdf in functions:
        host.write("/sys/bus/pci/drivers_probe", bdf)


def set_definition(cut):
    """libvirt starts with the definitions that the disk has."""
    path = cut.mounted + "/definitions/vm42.xml"
    if host.read(path) != host.read_or(host.DEFINITIONS + "/vm42.xml", None):
        host.must("virsh", "-q", "define", path)


def trail_is_whole(cut, name):
    """What is on disk of it has no gap; its last line may be cut off."""
    status, out, err = host.run("/usr/libexec/gpupass/gpupass-trail", cut.mounted + "/" + TRAIL)
    if status != 0:
        fail(name, "the audit trail is not whole", [out, err])
    return status == 0


def last_record(contents):
    """Where the journal was: "3 records"."""
    return "%d records" % sum(text.count("\n") for name, text in contents.items()
                              if name.startswith("state/journal/") and name.endswith(".log"))


def check(cut, operation, name):
    """Whether all is as before or as after; says which."""
    state = cut.mounted + "/state"
    daemon = host.Daemon(cut.work + "/gpupassd.log", "--config-dir=" + cut.mounted + "/etc",
                         "--state-dir=" + state)
    daemon.start()
    try:
        if not host.until(60, lambda: not host.open_jobs(state)):
            fail(name, "a job is open", host.open_jobs(state))
            return None
        wanted = {"before": FREE if operation.state_after == ASSIGNED else ASSIGNED,
                  "after": operation.state_after}
        world = host.world(cut.mounted + "/etc")
        which = ("before" if world == operation.before else
                 "after" if world == operation.after else None)
        if which is None:
            fail(name, "the world is neither as before nor as after",
                 difference(operation.before, world))
            return None
        if not host.until(20, lambda: group_state() == wanted[which], 0.2):
            fail(name, "gpupass says %s of what is as %s" % (group_state(), which))
            return None
        left = host.files(state + "/quarantine")
        if left:
            fail(name, "something is quarantined", left)
            return None
        return which
    finally:
        daemon.kill()


def is_new(contents, seen):
    """Notes it as seen."""
    key = hash(tuple(sorted(contents.items())))
    known = key in seen
    seen.add(key)
    return not known


class Operating:
    """What was found of one operation."""

    def __init__(self, operation, every):
        self.operation = operation
        self.every = every
        self.cuts = 0
        self.seen = set()
        self.trails = set()
        self.journals = set()
        self.outcomes = collections.Counter()
        self.begin = time.monotonic()

    def cut_here(self, cut, image):
        self.cuts += 1
        cut.mount(image)
        try:
            trail, contents = cut.contents()
            name = "%s, cut %d (%s)" % (self.operation.name, self.cuts, last_record(contents))
            self.journals.add(last_record(contents))
            if trail and is_new(trail, self.trails) and not trail_is_whole(cut, name):
                self.outcomes[None] += 1
                return False
            # What is done about a cut does not depend on the trail.
            if not is_new(contents, self.seen) or len(self.seen) % self.every != 0:
                return True
            set_definition(cut)
            boot(cut)
            which = check(cut, self.operation, name)
            self.outcomes[which] += 1
            return which is not None
        finally:
            cut.umount()

    def end(self):
        """The promise, and that the cuts were where they should be."""
        name = "%s: cut at every flush, all is as before or as after, and the audit trail whole" % (
            self.operation.name)
        told = "%d flushes, %d different trails, %d different disks, %d as before, %d as after" % (
            self.cuts, len(self.trails), len(self.seen), self.outcomes["before"],
            self.outcomes["after"])
        print("     %s: %s, %.0f s" % (self.operation.name, told, time.monotonic() - self.begin))
        if self.outcomes[None]:
            fail(name, "%d cuts were not" % self.outcomes[None])
        elif len(self.journals) < 3:
            fail(name, "not before, at and after the job's begin: %s" % sorted(self.journals))
        elif not self.outcomes["before"] or not self.outcomes["after"]:
            fail(name, "all cuts ended the same way: " + told)
        else:
            print("ok   " + name)
            return True
        return False


def cut_all(work, operations, every):
    left = dict(enumerate(operations))
    with open(work + "/empty.img", "rb") as f:
        image = bytearray(f.read())
    cut, current, good = Cut(work), None, True
    for kind, mark in write_log.replay(work + "/log.img", image):
        if kind == "durable" and current:
            if not current.cut_here(cut, image):
                good = False
        elif kind == "mark" and mark.startswith("begin-"):
            current = Operating(left.pop(int(mark[len("begin-"):])), every)
        elif kind == "mark" and mark.startswith("end-"):
            good = current.end() and good
            current = None
    if left:
        fail("the log has every operation", "it lacks %s" % [o.name for o in left.values()])
        good = False
    return good


def main():
    """WORK [--every=N]: of the different disks only each Nth boots."""
    work = sys.argv[1]
    every = int(sys.argv[2].removeprefix("--every=")) if len(sys.argv) > 2 else 1
    begin = time.monotonic()
    operations = Recording(work).run()
    print("     recorded in %.0f s" % (time.monotonic() - begin))
    sys.stdout.flush()
    return 0 if cut_all(work, operations, every) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        fail("power cuts", str(error))
        sys.exit(1)
