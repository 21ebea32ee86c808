# SPDX-License-Identifier: GPL-2.0-or-later
"""
How often a command makes the daemon wait for its disk, by strace: fsync, fdatasync, sync, syncfs, a write
with RWF_DSYNC or RWF_SYNC, and a write to a file that was opened with O_SYNC or O_DSYNC.
"""
import collections
import os
import re
import time

import rig

CALLS = "fsync,fdatasync,sync,syncfs,sync_file_range,openat,write,writev,pwrite64,pwritev,pwritev2"
ALWAYS = ("fsync", "fdatasync", "sync", "syncfs", "sync_file_range")
LINE = re.compile(r"^\d+ +(\w+)\((?:\d+<([^>]*)>|)(.*)")


class Watched:
    """In front of rig.Host or a subclass of it: its daemon runs under strace."""

    def command(self):
        self.trace = os.path.join(self.directory, "strace")
        # -D: strace is not the parent, and the daemon is who is begun here.
        return ["strace", "-D", "-f", "-y", "-s", "0", "-e", "trace=" + CALLS, "-e", "signal=none",
                "-o", self.trace, self.daemon]

    def syncs(self, *command, status=(0,)):
        """{file, or what is in its place: how often}"""
        begin = os.path.getsize(self.trace)
        r = self.gpupass(*command)
        rig.expect(r.returncode in status, *command, r.stderr)
        time.sleep(0.5)  # the audit trail is written by a thread of its own
        with open(self.trace, encoding="utf-8", errors="replace") as f:
            lines = f.read()
        # What was opened earlier counts, too.
        synced = set(re.findall(r"openat\(.*O_D?SYNC.*= \d+<([^>]*)>", lines))
        found = collections.Counter()
        for line in lines[begin:].splitlines():
            m = LINE.match(line)
            if m and "resumed>" not in line and (
                    m[1] in ALWAYS or "RWF_DSYNC" in m[3] or "RWF_SYNC" in m[3] or
                    (m[1] != "openat" and m[2] in synced)):
                found[self.kind(m[2] or m[1])] += 1
        return found

    def kind(self, path):
        """The folder of the state that a file is in, or its name there."""
        for place in (self.state, self.config):
            if path.startswith(place + "/"):
                parts = os.path.relpath(path, place).split("/")
                return parts[0] + ("/*" if len(parts) > 1 else "")
        return os.path.relpath(path, self.directory) if path.startswith("/") else path
