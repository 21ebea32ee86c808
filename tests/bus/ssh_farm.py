# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts that gpupass asks over ssh, which for some of them does what hosts in trouble do."""
import contextlib
import os
import shutil
import time

from client_rig import TIMEOUT, Bus, Skip, check

# It calls itself as sd-bus calls it, and does what the file of the host's name says.
SSH = """#!/bin/bash
echo "$*" >>%(directory)s/log
[[ $1 == -xT ]] || exit 99
shift
if [[ $1 == -p ]]; then port=$2; shift 2; fi
[[ $1 == -- && $3 == systemd-stdio-bridge && $# == 3 ]] || exit 99
host=${2#*@}
echo $$ >%(directory)s/pid.$host
. %(directory)s/host.$host
"""
BRIDGE = "exec systemd-stdio-bridge -p %s\n"
REFUSE = "echo 'ssh: connect to host %s port 22: Connection refused' >&2; exit 255\n"
HANG = "exec 2>&-; trap '' TERM; while :; do sleep 1; done\n"
# Each waits until all are there.
MEET = """touch %(directory)s/there.$host
until [[ %(wanted)s ]]; do sleep 0.05; done
"""
# What is true of every test but the one of hosts that hang: it is not the limit that ends it.
LONG = "--timeout=%d" % TIMEOUT


class Farm:
    """Hosts by their names, and what ssh does for each."""

    def __init__(self, bus):
        if not shutil.which("systemd-stdio-bridge"):
            raise Skip("there is no systemd-stdio-bridge")
        self.bus, self.others = bus, []
        self.directory = os.path.join(bus.directory, "farm")
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory)
        self.write("ssh", SSH % {"directory": self.directory})
        os.chmod(os.path.join(self.directory, "ssh"), 0o755)
        self.write("log", "")

    def close(self):
        for other in self.others:
            other.close()

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as f:
            f.write(text)
        return os.path.join(self.directory, name)

    def does(self, host, script):
        self.write("host." + host, script)

    def add(self, host, objects, methods=None, before=""):
        """A host with a daemon on a bus of its own."""
        other = Bus(self.bus.client, self.bus.fake)
        self.others.append(other)
        other.start(objects, methods)
        self.does(host, before + BRIDGE % other.address)
        return other

    def path(self):
        return self.directory + ":" + os.environ["PATH"]

    def run(self, *arguments, **environment):
        return self.bus.run(*arguments, PATH=self.path(), **environment)

    def log(self):
        with open(os.path.join(self.directory, "log"), encoding="utf-8") as f:
            return f.read().splitlines()

    def pid(self, host):
        """Of the ssh to it, once it runs."""
        path, deadline = os.path.join(self.directory, "pid." + host), time.monotonic() + TIMEOUT
        while True:
            with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as f:
                return int(f.read())
            check(time.monotonic() < deadline, "nobody asks " + host)
            time.sleep(0.01)


@contextlib.contextmanager
def farm(bus):
    with contextlib.closing(Farm(bus)) as made:
        yield made


def wait_until_gone(pid):
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                if f.read().rpartition(")")[2].split()[0] == "Z":
                    return
        except OSError:
            return
        check(time.monotonic() < deadline, f"process {pid} is still there")
        time.sleep(0.01)
