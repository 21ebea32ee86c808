#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
A host as in tests/bus, and its page in a browser: the real gpupassd on a private bus, the real cockpit-ws and
cockpit-bridge, and client/cockpit as it is in the sources.

    def a_story(h):
        p = h.open()                              # root, #overview, 1,280 wide, light
        p = h.open("#doctor", user=OPERATOR)      # not root, but of the group gpupass: polkit is asked
        p = h.open(user=STRANGER)                 # not of the group: the bus lets him not in

A story fails when a page had an error in its console that it did not take out of `p.errors`. How the page of
one that failed looked is in build/cockpit/failed-STORY-N.png.
"""
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../bus")]
import polkit_host  # noqa: E402
import rig  # noqa: E402
from browser import Browser  # noqa: E402
from rig import NOBODY, TIMEOUT, become_root, equal, expect  # noqa: E402
SOURCE = os.path.realpath(os.path.join(HERE, "../../client/cockpit"))
COCKPIT_WS = next((p for p in ("/usr/lib/cockpit/cockpit-ws", "/usr/libexec/cockpit-ws") if os.path.exists(p)), None)
# Users. On the private bus the group gpupass is that of nobody.
ROOT_USER, OPERATOR, STRANGER = 0, NOBODY, 1
PAGE = "/cockpit/@localhost/gpupass/index.html"
# A name that would be another one, or markup at work; and as it is shown.
HOSTILE = "<img src=x onerror='alert(1)'>\u202egnp.\u200bvm"
SHOWN = "<img src=x onerror='alert(1)'>\\u202egnp.\\u200bvm"
BROWSERS = []


def browser():
    """One for the program."""
    if not BROWSERS:
        BROWSERS.append(Browser())
    return BROWSERS[0]


class Host(polkit_host.Host):
    def __init__(self, *programs, **more):
        self.pages, self.servers = [], []
        super().__init__(*programs, **more)
        # Others may not read the sources, nor the client where it was built.
        self.data = os.path.join(self.directory, "data")
        shutil.copytree(SOURCE, os.path.join(self.data, "cockpit/gpupass"))
        self.path = os.path.join(self.directory, "bin")
        os.mkdir(self.path)
        os.symlink(self.copy, os.path.join(self.path, "gpupass"))

    def serve(self, user):
        """A cockpit-ws, which is good for one page: its session ends with it. Its address."""
        home = os.path.join(self.directory, f"home-{len(self.servers)}")
        os.mkdir(home, 0o700)
        os.chown(home, user, user)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        environment = dict(self.environment, HOME=home, XDG_RUNTIME_DIR=home, XDG_DATA_DIRS=self.data + ":/usr/share",
                           PATH=self.path + ":" + os.environ["PATH"])
        with open(os.path.join(home, "log"), "wb") as log:
            process = subprocess.Popen(
                [COCKPIT_WS, "--no-tls", "--address=127.0.0.1", f"--port={port}", "--local-session=cockpit-bridge"],
                env=environment, user=user, group=user, extra_groups=[], cwd="/", stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)
        self.servers.append(process)

        def listens():
            expect(process.poll() is None, "cockpit-ws ended:", rig.text_of(os.path.join(home, "log")))
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return True
            return False
        rig.until(listens, "cockpit-ws does not listen")
        return f"http://127.0.0.1:{port}"

    def open(self, tab="", user=ROOT_USER, width=1280, ready=True):
        """The page of this host, which has drawn what it heard of the daemon."""
        page = browser().page()
        self.pages.append(page)
        page.size(width)
        page.goto(self.serve(user) + PAGE + tab)
        page.colours("light")
        if ready:
            self.ready(page)
        return page

    @staticmethod
    def ready(page):
        """Something of the tab is there, or why it is not."""
        page.until("document.querySelector('[role=tabpanel]:not([hidden]) *, #connection [role=alert]')")

    def tell(self, story, errors):
        """What it looked like when the story failed."""
        print("errors in the page's console:", *errors or ["none"], flush=True)
        for n, page in enumerate(self.pages):
            with contextlib.suppress(AssertionError):
                print("picture:", page.picture(f"failed-{story}-{n}"), flush=True)

    def close(self):
        errors = [error for page in self.pages for error in page.errors]
        failed = sys.exc_info()[2]
        if failed:
            self.tell(traceback.extract_tb(failed)[1].name, errors)
        for page in self.pages:
            page.close()
        for process in self.servers:
            process.terminate()
        for process in self.servers:
            process.wait(TIMEOUT)
        super().close()
        expect(failed or not errors, "errors in the page's console:", *errors)


def pictures(p, name):
    """Of the whole page in both colours and widths, where nothing sticks out."""
    for colours in ("dark", "light"):
        p.colours(colours)
        for width in (375, 1280):
            p.size(width)
            equal([], p.too_wide())
            p.picture(f"{name}-{width}-{colours}")


def hold_next_answer(p, method="read"):
    """Of a method of bus, until letGo() is called in the page."""
    p.evaluate("""method => import("./bus.js").then(({bus}) => {
        const ask = bus[method];
        bus[method] = async (...all) => {
            bus[method] = ask;
            const answer = await ask(...all);
            await new Promise(resolve => { window.letGo = resolve; });
            return answer;
        };
    })""", method)


def main():
    become_root("the page is opened as users with and without rights")
    try:
        return rig.main(new_host=Host)
    finally:
        for found in BROWSERS:
            found.close()


def can():
    """Why there cannot be a browser here, or nothing."""
    if not shutil.which("chromium"):
        return "chromium is not installed"
    if not COCKPIT_WS or not shutil.which("cockpit-bridge"):
        return "cockpit-ws or cockpit-bridge is not installed"
    begin = time.monotonic()
    try:
        browser()
    except (AssertionError, OSError) as why:
        return f"chromium does not start: {' '.join(str(why).split())[-300:]}"
    finally:
        for found in BROWSERS:
            found.close()
        BROWSERS.clear()
    return "" if time.monotonic() - begin < TIMEOUT else "chromium is too slow"


if __name__ == "__main__":
    print(can())
