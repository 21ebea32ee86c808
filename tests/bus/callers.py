# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that stay on the bus."""
import collections
import time

from rig import ROOT
from wire import BUS, ERROR as FAILED, REPLY_SERIAL, SIGNAL, Connection

DONE = "done"
ERROR = "org.gpupass1.Error."
MANAGER = ("org.gpupass1", ROOT, "org.gpupass1.Manager")


def first_line(*words):
    return " ".join(words).split("\n")[0]


class Caller(Connection):
    """A line is a method of the manager and its arguments, which have no blanks."""

    def join(self):
        super().join()
        super().call(*BUS, "AddMatch", "s", "type='signal',sender='org.gpupass1',member='JobRemoved'")

    def say(self, line):
        # Signals of the daemon before, whose jobs had the same paths, count no more.
        while self.receive(0):
            pass
        self.others.clear()
        member, *words = line.split()
        signature, words = ("sas", [words[0], words[1:]]) if member == "Declare" else ("s" * len(words), words)
        self.said = member, self.begin(*MANAGER, member, signature + "a{sv}", *words, {})

    def answer(self):
        """DONE, when the call and its job have succeeded; otherwise the error's name and the first line of its
        message."""
        member, serial = self.said
        reply = self.reply_to(serial)
        if reply.kind == FAILED:
            return first_line(reply.error, *reply.values)
        if member == "Declare" or reply.types != ["o"]:
            return DONE
        while True:
            heard = self.others.pop(0) if self.others else self.receive()
            if heard.kind == SIGNAL and heard.member == "JobRemoved" and heard.values[1] == reply.values[0]:
                return DONE if heard.values[2] == DONE else first_line(*heard.values[3:])

    def ask(self, line):
        self.say(line)
        return self.answer()

    def get(self, path, interface, name):
        """A property, or the error's name."""
        reply = self.call("org.gpupass1", f"{ROOT}/{path}", "org.freedesktop.DBus.Properties", "Get", "ss",
                          "org.gpupass1." + interface, name)
        return reply.error or reply.values[0]

    def leave(self, seconds, line):
        """It calls, and leaves the bus so soon, without an answer. Then it is there again, under another name."""
        self.say(line)
        time.sleep(seconds)
        self.close()
        self.join()

    def flood(self, count, *call):
        """So many calls of the manager at once; what waits for the answers: {error or "ok": how many}."""
        serials = {self.begin(*MANAGER, *call) for _ in range(count)}

        def answers():
            found = collections.Counter()
            while serials:
                reply = self.receive()
                if reply.fields.get(REPLY_SERIAL) in serials:
                    serials.remove(reply.fields[REPLY_SERIAL])
                    found[reply.error or "ok"] += 1
            return found
        return answers
