# SPDX-License-Identifier: GPL-2.0-or-later
"""A host on which a stand-in for polkitd may answer, and which callers without privilege can use."""
import os
import shutil
import subprocess
import threading
import xml.etree.ElementTree as ET

import rig
from rig import NOBODY, ROOT, TIMEOUT
from wire import BUS, CALL, MEMBER, Connection

ALLOW_USER_INTERACTION = 1
# Methods of the manager that everybody may call.
READS = {"Allowed", "GetTopology", "GetEvidence", "GetMetrics", "Nearest"}


class Polkit(threading.Thread):
    """What it answers is the first word of a file, read anew for each question:

        yes | no | challenge | error | nonsense | silent | leave | hold

    or, after it, the word that stands behind an action of ours: "yes assign=no probe=challenge".
    A challenge becomes a yes where interaction is allowed, as if somebody had typed the password. "silent" never
    answers; "leave" leaves the bus instead; what is asked while it is "hold" gets a yes as soon as it is another
    word. What it is asked is in `asked`."""

    def __init__(self, address, path):
        super().__init__(daemon=True)
        self.path, self.connection, self.held, self.asked = path, Connection(address), [], ["ready"]
        self.connection.call(*BUS, "RequestName", "su", "org.freedesktop.PolicyKit1", 0)
        self.start()

    def close(self):
        self.connection.close()
        self.join(TIMEOUT)

    def answer(self, call, word, interactive=False):
        yes = word == "yes" or (word == "challenge" and interactive)
        if word == "hold":
            self.held.append(call)
        elif word == "leave":
            self.connection.close()
        elif word == "error":
            self.connection.reply(call, "s", "polkit is not well", error="org.freedesktop.PolicyKit1.Error.Failed")
        elif word == "nonsense":
            self.connection.reply(call, "s", "yes")
        elif word != "silent":
            self.connection.reply(call, "(bba{ss})", (yes, word == "challenge" and not yes, {}))

    def hear(self, call, word):
        if call.member == "CheckAuthorization":
            (kind, subject), action, details, flags, cookie = call.values
            words = [f"{key}={value}" for key, value in details.items()]
            self.asked.append(" ".join(["check", kind, f"name={subject['name']}", action, *words, f"flags={flags}",
                                        f"id={cookie}"]))
            self.answer(call, word.get(action.removeprefix("org.gpupass1."), word.get("", "")), flags & ALLOW_USER_INTERACTION)
        elif call.member == "CancelCheckAuthorization":
            self.asked.append("cancel id=" + call.values[0])
            self.connection.reply(call)
        elif call.kind == CALL:  # who registers an agent
            self.connection.reply(call, error="org.freedesktop.DBus.Error.UnknownMethod")

    def run(self):
        while True:
            try:
                call = self.connection.receive(0.05 if self.held else None)
                with open(self.path, encoding="ascii") as f:
                    word = {action: word for action, _, word in (w.rpartition("=") for w in f.read().split())}
                while self.held and word.get("") != "hold":
                    self.answer(self.held.pop(0), "yes")
                if call and MEMBER in call.fields:
                    self.hear(call, word)
            except (EOFError, OSError, ValueError):  # the bus has gone, or it has left it
                return


class Host(rig.Host):
    def __init__(self, *programs, **more):
        self.polkit, self.begun = None, []
        super().__init__(*programs, **more)
        # The build folder may be closed to others.
        self.copy = shutil.copy(self.client, os.path.join(self.directory, "gpupass"))

    def start_polkit(self, answer):
        self.polkit = Polkit(self.bus.address, self.write("answer", answer))

    def questions(self, beginning=""):
        return [line for line in self.polkit.asked if line.startswith(beginning)]

    def close(self):
        for process in self.begun:
            process.kill()
            process.communicate(timeout=TIMEOUT)
        if self.polkit:
            self.polkit.close()
        super().close()

    def popen(self, *command, uid=NOBODY):
        """A program that is ended with this host."""
        process = subprocess.Popen(command, env=self.environment, user=uid, group=uid, extra_groups=[], cwd="/",
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.begun.append(process)
        return process

    def methods(self):
        """Of the manager."""
        r = self.busctl("introspect", "--xml-interface", "org.gpupass1", ROOT)
        return [m.get("name") for i in ET.fromstring(r.stdout).iter("interface")
                if i.get("name") == "org.gpupass1.Manager" for m in i.iter("method")]

    def as_nobody(self, *arguments):
        return self.nobody(self.copy, *arguments)
