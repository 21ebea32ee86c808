# SPDX-License-Identifier: GPL-2.0-or-later
"""A host on which fake-polkit may answer, and which callers without privilege can use."""
import os
import shutil
import subprocess

import rig
from rig import TIMEOUT, until


class Host(rig.Host):
    def __init__(self, programs, fake_polkit):
        self.fake_polkit, self.polkit, self.begun = fake_polkit, None, []
        super().__init__(*programs)
        # The build folder may be closed to others.
        self.copy = shutil.copy(self.client, os.path.join(self.directory, "gpupass"))

    def start_polkit(self, answer):
        path = self.write("answer", answer + "\n")
        self.asked = open(os.path.join(self.directory, "asked"), "w+", encoding="utf-8")
        self.polkit = subprocess.Popen([self.fake_polkit, path], env=self.environment, stdout=self.asked)
        until(lambda: "ready" in self.questions(), "polkit did not come")

    def questions(self, beginning=""):
        with open(os.path.join(self.directory, "asked"), encoding="utf-8") as f:
            return [line for line in f.read().splitlines() if line.startswith(beginning)]

    def close(self):
        for process in self.begun + ([self.polkit] if self.polkit else []):
            process.kill()
            process.communicate(timeout=TIMEOUT)
        if self.polkit:
            self.asked.close()
        super().close()

    def as_nobody(self, *arguments):
        return self.nobody(self.copy, *arguments)
