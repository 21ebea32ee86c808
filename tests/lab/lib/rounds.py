#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
    rounds.py [--rounds=N] [--seed=N] [--seconds=N]

In the lab, on the host two-pairs-a6000 with gpupass installed and libvirt up: random rounds of
assign, release, bind, unbind, starts and ends of domains, with the daemon killed at a random
instant in many of them. After each round what gpupass says is compared with what sysfs and libvirt
say. The seed fixes what is done and when the daemon is killed; how far it had come by then is the
machine's.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
# pylint: disable=wrong-import-position
import hostview as host

GROUPS = {
    "pair0": ["0000:41:00.0", "0000:41:00.1", "0000:61:00.0", "0000:61:00.1"],
    "pair1": ["0000:a1:00.0", "0000:a1:00.1", "0000:c1:00.0", "0000:c1:00.1"],
}
DOMAINS = ["vm1", "vm2"]
CONFIG, STATE = "/etc/gpupass", "/var/lib/gpupass"
HISTORY = 12
# Of commands that nobody disturbed: done; not possible, not there, busy or somebody else's. 1 only
# where a guest that is in its firmware did not let go.
UNDISTURBED = {0, 3, 8, 9}
KILLS, TWO_AT_A_TIME, STARTS, DESTROYS, KEEPS, SHOWS = 0.5, 0.3, 0.04, 0.5, 0.2, 0.25


class Difference(Exception):
    """What one side says and the other does not."""


def live_xml(domain):
    """Of libvirt's status file, which is there while the domain runs."""
    return host.read_or("/run/libvirt/qemu/%s.xml" % domain, None)


def records():
    """group -> (domain's name, its UUID, its functions), from assignments.d."""
    found = {}
    for name, text in host.files(CONFIG + "/assignments.d").items():
        record = json.loads(text)
        # A domain's first group, and what it has besides.
        if name not in (record["domain_uuid"] + ".json", "%s_%s.json" % (
                record["domain_uuid"], min(f["bdf"] for f in record["functions"]))):
            raise Difference("there is a file %s" % name)
        if record["group"] in found:
            raise Difference("two records name %s" % record["group"])
        found[record["group"]] = (record["domain_name"],
                                  sorted(f["bdf"] for f in record["functions"]))
    return found


def users_of(functions, views, what):
    """The domain that has all of them, or None. A part of them, or two domains, is a difference."""
    users = []
    for domain, found in views.items():
        part = [bdf for bdf in functions if bdf in found]
        if part and part != functions:
            raise Difference("%s of %s has a part of a group: %s" % (what, domain, part))
        if part:
            users.append(domain)
    if len(users) > 1:
        raise Difference("%s: %s have the same functions" % (what, users))
    return users[0] if users else None


def drivers_of(functions):
    """"vfio-pci", "host" or "none"; anything else is a split group."""
    now = [(bdf, host.driver_of(bdf), host.override_of(bdf)) for bdf in functions]
    if all(driver == override == "vfio-pci" for _, driver, override in now):
        return "vfio-pci"
    if all(driver == host.natural_driver(bdf) and override == "(null)" for bdf, driver, override in now):
        return "host"
    # Unbound without a record while nothing else here is on its usual driver.
    if all(driver == "none" and override == "(null)" for _, driver, override in now):
        return "none"
    raise Difference("the group is split: %s" % now)


class View(collections.namedtuple("View", "drivers config live record")):
    """A group, as the machine has it."""

    def expected(self):
        """What gpupass must call it, and whose."""
        if self.record:
            return "assigned", self.record
        return ("bound" if self.drivers == "vfio-pci" else "free"), None


def machine():
    """group -> View; Difference where the machine contradicts itself."""
    config = {d: host.hostdevs(host.definition(d)) for d in DOMAINS}
    running = {d: live_xml(d) for d in DOMAINS}
    live = {d: host.hostdevs(xml) for d, xml in running.items() if xml}
    written, views = records(), {}
    for name, functions in GROUPS.items():
        record = written.get(name)
        view = View(drivers_of(functions), users_of(functions, config, "the definition"),
                    users_of(functions, live, "the running guest"), record[0] if record else None)
        if record and record[1] != functions:
            raise Difference("the record of %s has other functions: %s" % (name, record[1]))
        if view.config != view.record:
            raise Difference("%s: the definition says %s, the record %s" % (
                name, view.config, view.record))
        if view.live and view.live != view.record:
            raise Difference("%s runs with %s, which is recorded for %s" % (
                view.live, name, view.record))
        if view.record and view.drivers != "vfio-pci":
            raise Difference("%s is %s's and on the host's drivers" % (name, view.record))
        views[name] = view
    for what, left in (("journal", host.open_jobs(STATE)),
                       ("quarantine", host.files(STATE + "/quarantine"))):
        if left:
            raise Difference("the %s is not empty: %s" % (what, left))
    return views


def compare_list(views, groups):
    for name, view in views.items():
        domain = groups[name]["domain"]
        said = groups[name]["state"], domain["name"] if domain else None
        if said != view.expected():
            raise Difference("gpupass says %s of %s, the machine %s" % (
                said, name, view.expected()))
        if sorted(groups[name]["functions"]) != GROUPS[name]:
            raise Difference("%s: gpupass lists %s" % (name, groups[name]["functions"]))


def compare_show(name):
    said = json.loads(host.must("gpupass", "show", name, "--json=short"))
    for gpu in said["gpus"]:
        for function in gpu["functions"]:
            now = host.driver_of(function["address"])
            if (function["driver"] or "none") != now:
                raise Difference("gpupass show says %s of %s, sysfs %s" % (
                    function["driver"], function["address"], now))


class Rounds:
    def __init__(self, seed, work):
        self.random = random.Random(seed)
        self.daemon = host.Daemon(work + "/gpupassd.log")
        self.history = []
        self.codes = collections.Counter()
        self.kills = 0
        self.libvirt_deaths = 0
        self.running = None  # the domain that runs: one at a time

    # ---- what is done ----

    def command(self, views):
        """One that makes sense more often than not."""
        r = self.random
        domain, group = r.choice(DOMAINS), r.choice(sorted(GROUPS))
        has = [name for name, view in views.items() if view.record == domain]
        sensible = r.random() < 0.8
        if sensible and has:
            keep = ["--keep-vfio"] if r.random() < KEEPS else []
            return ["release", r.choice([domain, has[0]]), *keep]
        if sensible and r.random() < 0.7:
            return ["assign", domain, group] if r.random() < 0.5 else ["assign", domain, "--any"]
        verb = r.choice(["assign", "release", "bind", "unbind"])
        return [verb, domain, group] if verb == "assign" else [verb, group]

    def tell(self, text):
        self.history.append(text)

    def start_or_end_domain(self):
        """Alone, since a guest that starts in the midst of a job is the operator's own doing."""
        if self.running and self.random.random() < DESTROYS:
            host.must("virsh", "-q", "destroy", self.running)
            self.tell("virsh destroy %s" % self.running)
            self.running = None
        elif not self.running and self.random.random() < STARTS:
            domain = self.random.choice(DOMAINS)
            host.must("virsh", "-q", "start", domain)
            self.tell("virsh start %s" % domain)
            self.running = domain

    def kill_after(self, seconds):
        time.sleep(seconds)
        self.daemon.kill()
        self.kills += 1
        self.tell("gpupassd killed after %.2f s" % seconds)

    def act(self, views):
        r = self.random
        commands = [self.command(views)]
        if r.random() < TWO_AT_A_TIME:
            commands.append(self.command(views))
        # Not beside a running guest: these have no system that would react to an unplug, so that a
        # live assign which is cut off cannot be undone, and its group is rightly quarantined.
        kill = r.random() < KILLS and not self.running
        seconds = r.uniform(0, 2)
        clients = [subprocess.Popen(["gpupass", "-q", *c], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                   for c in commands]
        if kill:
            self.kill_after(seconds)
        for command, client in zip(commands, clients):
            error = client.communicate(timeout=180 * host.patience())[1].decode("utf-8", "replace")
            code = client.returncode
            self.codes[code] += 1
            self.tell("gpupass %s: %d" % (" ".join(command), code))
            if (not kill and code not in UNDISTURBED and not (code == 1 and self.running)
                    and not self.mind_libvirtd()):
                raise Difference("gpupass %s ended with %d: %s" % (" ".join(command), code, error))
        if kill:
            self.daemon.start()

    def mind_libvirtd(self):
        """
        libvirtd 9.0 has been seen to die when a client is killed in the middle of its call. systemd
        would start it again, so that is done here; gpupass must then end what waited for it.
        """
        if host.run("pgrep", "-x", "libvirtd")[0] == 0:
            return False
        self.libvirt_deaths += 1
        self.tell("libvirtd had died: %s" % host.run("dmesg")[1].splitlines()[-1:])
        host.must(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "libvirt-up"))
        return True

    # ---- what is to be seen ----

    def settled(self):
        """What gpupass lists once it has come to rest."""
        if host.open_jobs(STATE):
            return None
        groups = host.gpupass_groups()
        if groups and all(groups[name]["state"] not in host.MOVING for name in GROUPS):
            return groups
        return None

    def compare(self):
        """Its own look at the machine may be a moment behind a guest's or a job's end."""
        end, error = time.monotonic() + 90 * host.patience(), None
        while time.monotonic() < end:
            groups = self.settled()
            if not groups:
                self.mind_libvirtd()
                time.sleep(0.05)
                continue
            views = machine()
            try:
                compare_list(views, groups)
            except Difference as different:
                if error is None:
                    end = time.monotonic() + 10 * host.patience()
                error = different
                time.sleep(0.2)
                continue
            if self.random.random() < SHOWS:
                compare_show(self.random.choice(sorted(GROUPS)))
            return views
        raise error or Difference("gpupassd does not come to rest: %s, journal %s" % (
            host.gpupass_groups(), host.open_jobs(STATE)))

    def one(self, n, views):
        self.tell("-- round %d" % n)
        self.start_or_end_domain()
        self.act(views)
        return self.compare()


def explain(rounds, seed, n, why):
    print("FAIL seed %d, round %d: %s" % (seed, n, why))
    for line in rounds.history[-HISTORY * 3:]:
        print("     | " + line)
    print("     | -- gpupass:")
    for line in host.run("gpupass", "list")[1].splitlines():
        print("     | " + line)
    print("     | -- the machine:")
    for line in host.world(CONFIG):
        print("     | " + line)
    for line in host.read_or(rounds.daemon.log, "").splitlines()[-30:]:
        print("     gpupassd: " + line)


def play(seed, count, seconds, work):
    rounds = Rounds(seed, work)
    begin, n = time.monotonic(), 0
    print("     seed %d" % seed)
    sys.stdout.flush()
    rounds.daemon.start()
    try:
        views = rounds.compare()
        for n in range(1, count + 1):
            views = rounds.one(n, views)
            if n % 25 == 0:
                print("     round %d of %d, %.0f s" % (n, count, time.monotonic() - begin))
                sys.stdout.flush()
            if seconds and time.monotonic() - begin > seconds:
                break
    except (Difference, RuntimeError, ValueError, OSError, subprocess.TimeoutExpired) as error:
        explain(rounds, seed, n, error)
        return False
    finally:
        if rounds.daemon.alive():
            rounds.daemon.stop()
        if rounds.running:
            host.run("virsh", "-q", "destroy", rounds.running)
    print("     %d rounds in %.0f s; the daemon was killed %d times, libvirtd died %d times; exit "
          "codes %s" % (n, time.monotonic() - begin, rounds.kills, rounds.libvirt_deaths,
                        dict(sorted(rounds.codes.items()))))
    print("ok   seed %d: after each round gpupass, sysfs and libvirt say the same" % seed)
    return n > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="default: a random one")
    parser.add_argument("--seconds", type=int, default=0, help="end earlier after so many")
    parser.add_argument("--work", default="/run/lab/case")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    return 0 if play(seed, options.rounds, options.seconds, options.work) else 1


if __name__ == "__main__":
    sys.exit(main())
