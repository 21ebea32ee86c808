# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that stay on the bus: caller.c."""
import subprocess

from rig import ROOT, TIMEOUT, expect

DONE = "done"
ERROR = "org.gpupass1.Error."


class Caller:
    """One of them."""

    def __init__(self, program, environment):
        self.process = subprocess.Popen([program], env=environment, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answer()

    def say(self, line):
        self.process.stdin.write(line + "\n")

    def answer(self):
        line = self.process.stdout.readline()
        expect(line, "a caller ended")
        return line.rstrip("\n")

    def call(self, line):
        self.say(line)
        return self.answer()

    def get(self, path, interface, name):
        return self.call(f"get {ROOT}/{path} org.gpupass1.{interface} {name}")

    def close(self):
        self.process.stdin.close()
        self.process.wait(TIMEOUT)
        self.process.stdout.close()
