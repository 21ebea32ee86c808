# SPDX-License-Identifier: GPL-2.0-or-later
"""
A headless Chromium, by its own protocol over two pipes: no driver, and nothing but Python.

What a story does here is what a person can do. It finds things by what a screen reader calls them (role and
name), or by data-key; it clicks where they are on the screen, with events of a mouse, and fails when
something covers them or they are disabled. What the page writes to its console as an error, and what its
Content-Security-Policy refuses, is kept in Page.errors.
"""
import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../bus")]
from rig import TIMEOUT, expect, until  # noqa: E402
PATIENCE = min(TIMEOUT / 4, 90)  # a page needs a second
PICTURES = os.path.join(HERE, "../../build/cockpit")
COMMAND = ["chromium", "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
           "--disable-background-networking", "--disable-component-update", "--no-first-run", "--mute-audio",
           "--hide-scrollbars", "--font-render-hinting=none", "--force-color-profile=srgb",
           "--remote-debugging-pipe"]
# name: key, code, Windows's virtual key code, text
KEYS = {"Enter": ("Enter", "Enter", 13, "\r"), "Escape": ("Escape", "Escape", 27, ""), "Tab": ("Tab", "Tab", 9, ""),
        "Home": ("Home", "Home", 36, ""), "End": ("End", "End", 35, ""),
        "ArrowLeft": ("ArrowLeft", "ArrowLeft", 37, ""), "ArrowRight": ("ArrowRight", "ArrowRight", 39, "")}
SHIFT, CONTROL = 8, 2
# What a name alone may mean: what can be clicked.
CLICKED = ("button", "link", "tab", "checkbox", "radio", "switch", "option", "menuitem", "combobox", "textbox",
           "searchbox", "spinbutton", "DisclosureTriangle", "treeitem", "row")


class Gone(AssertionError):
    """The page has drawn anew what was found in it."""


class Browser:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="gpupass-browser-")
        self.log = os.path.join(self.directory, "log")
        here, there = os.pipe(), os.pipe()
        its = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (here[0], there[1])]
        os.close(here[0])
        os.close(there[1])
        more = ["--no-sandbox"] if os.geteuid() == 0 else []
        # It reads descriptor 3 and writes 4.
        shell = f'exec "$@" 3<&{its[0]} 4>&{its[1]} {its[0]}<&- {its[1]}>&-'
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", shell, "-", *COMMAND, *more, "--user-data-dir=" + self.directory, "about:blank"],
                pass_fds=its, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=dict(os.environ, HOME=self.directory, LC_ALL="C.UTF-8"))
        for fd in its:
            os.close(fd)
        self.to, self.of = here[1], there[0]
        self.number, self.received, self.pages = 0, b"", {}
        try:
            self.call("Browser.getVersion")
        except AssertionError:
            self.close()
            raise

    def close(self):
        os.close(self.to)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.of)
        shutil.rmtree(self.directory, ignore_errors=True)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()[-2000:]

    def receive(self, seconds):
        """One message, or None; events are given to their page."""
        while b"\0" not in self.received:
            if not select.select([self.of], [], [], max(0, seconds))[0]:
                return None
            data = os.read(self.of, 1 << 20)
            expect(data, "the browser ended:", self.said())
            self.received += data
        text, _, self.received = self.received.partition(b"\0")
        message = json.loads(text)
        if "method" in message and message.get("sessionId") in self.pages:
            self.pages[message["sessionId"]].hear(message["method"], message["params"])
        return message

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        deadline = time.monotonic() + TIMEOUT
        while True:
            answer = self.receive(deadline - time.monotonic())
            expect(answer or time.monotonic() < deadline, "the browser does not answer:", method)
            if answer and answer.get("id") == self.number:
                if "node" in answer.get("error", {}).get("message", "").lower():
                    raise Gone(method, answer["error"])
                expect("error" not in answer, method, answer.get("error"))
                return answer["result"]

    def page(self):
        """With cookies and a storage of its own."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.pages[session] = Page(self, session, context)
        return self.pages[session]


class Page:
    def __init__(self, browser, session, context):
        self.browser, self.session, self.context, self.errors = browser, session, context, []
        for domain in ("Page", "Runtime", "Log", "DOM", "Accessibility"):
            self.call(domain + ".enable")
        self.size()

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def hear(self, event, told):
        if event == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif event == "Runtime.consoleAPICalled" and told["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in told["args"]))
        elif event == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(f"{told['entry']['source']}: {told['entry']['text']} {told['entry'].get('url', '')}")

    def close(self):
        self.browser.pages.pop(self.session)
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)

    def goto(self, url):
        expect("errorText" not in self.call("Page.navigate", url=url), "there is nothing at", url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, script, *arguments):
        """An expression; with arguments a function. A promise is waited for."""
        if arguments:
            script = f"({script})({', '.join(map(json.dumps, arguments))})"
        r = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        expect("exceptionDetails" not in r, script, r.get("exceptionDetails", {}).get("exception", {}).get("description"))
        return r["result"].get("value")

    def until(self, script, *what):
        """Of JavaScript, true; `what` may have functions of what to tell."""
        def true():
            try:
                return self.evaluate(f"Boolean({script})")
            except AssertionError as why:
                if "context" in str(why):  # it goes elsewhere at this moment
                    return False
                raise
        until(true, *(what or (f"it did not become true: {script}",)), "on the page:", self.text,
              lambda: f"errors: {self.errors}", seconds=PATIENCE)

    def text(self):
        """What is on the page to be read."""
        return self.evaluate("document.body ? document.body.innerText : ''")

    def shows(self, *texts):
        """Waits for each of them."""
        for text in texts:
            self.until(f"document.body.innerText.includes({json.dumps(text)})", "it does not show", repr(text))

    def hides(self, *texts):
        for text in texts:
            self.until(f"!document.body.innerText.includes({json.dumps(text)})", "it still shows", repr(text))

    # By what a screen reader knows.

    def tree(self):
        """[(role, name, properties, node)] of all that is not hidden from it, in order; node is for the browser."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        known, found, left = {n["nodeId"]: n for n in nodes}, [], [n["nodeId"] for n in nodes[:1]]
        while left:
            node = known.get(left.pop())
            if not node:
                continue
            left += reversed(node.get("childIds", []))
            if not node.get("ignored") and "backendDOMNodeId" in node:
                more = {p["name"]: p["value"].get("value") for p in node.get("properties", [])}
                more.update({w: node[w].get("value") for w in ("description", "value") if w in node})
                found.append((node["role"]["value"], node.get("name", {}).get("value", ""), more,
                              node["backendDOMNodeId"]))
        return found

    def all(self, role=None, name=None, inside=None):
        """Those of this role and name; a name that nothing has in whole may be a part of one. inside: of a
        data-key; only what is in that element."""
        found = [n for n in self.tree() if (n[0] == role if role else name is None or n[0] in CLICKED)]
        if inside is not None:
            container = self.node(f'[data-key={json.dumps(inside)}]')
            expect(container, "nothing has data-key", inside)
            found = [n for n in found if self.on(n[3], "function (other) { return other.contains(this); }", container)]
        if name is not None:
            found = [n for n in found if n[1].strip() == name] or [n for n in found if name in n[1]]
        return found

    def find(self, name=None, role=None, key=None, inside=None):
        """The one that is meant; waits until it is there. The node of the browser, and what it knows of it."""
        found = []

        def one():
            with contextlib.suppress(Gone):
                found[:] = self.keyed(key) if key is not None else self.all(role, name, inside)
                return len(found) == 1
            return False
        until(one, lambda: f"{len(found)} are {role or ''} {name or key!r}: {[n[:2] for n in found]}, on the page:",
              self.text, seconds=PATIENCE)
        return found[0][3], found[0][2]

    def keyed(self, key):
        nodes = self.call("DOM.querySelectorAll", nodeId=self.call("DOM.getDocument", depth=0)["root"]["nodeId"],
                          selector=f'[data-key={json.dumps(key)}]')["nodeIds"]
        backend = [self.call("DOM.describeNode", nodeId=n)["node"]["backendNodeId"] for n in nodes]
        known = {n[3]: n for n in self.tree()} if backend else {}
        return [known.get(b, ("", key, {}, b)) for b in backend]

    def node(self, selector):
        """Of CSS; the first one, or None."""
        root = self.call("DOM.getDocument", depth=0)["root"]["nodeId"]
        found = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        return self.call("DOM.describeNode", nodeId=found)["node"]["backendNodeId"] if found else None

    def on(self, node, function, *nodes):
        """A function of JavaScript with the node as `this`, and others as arguments."""
        def handle(n):
            return self.call("DOM.resolveNode", backendNodeId=n)["object"]["objectId"]
        r = self.call("Runtime.callFunctionOn", functionDeclaration=function, objectId=handle(node),
                      arguments=[{"objectId": handle(n)} for n in nodes], returnByValue=True, awaitPromise=True)
        expect("exceptionDetails" not in r, function, r.get("exceptionDetails"))
        return r["result"].get("value")

    # As a person would.

    def has(self, name=None, role=None, **where):
        """Whether it is there now."""
        return bool(self.all(role, name, **where))

    def property(self, what, name=None, role=None, **where):
        """disabled, expanded, checked, pressed, selected, description, value: as a screen reader tells it."""
        return self.find(name, role, **where)[1].get(what)

    def disabled(self, name=None, role=None, **where):
        return bool(self.property("disabled", name, role, **where))

    def where(self, node):
        """The middle of what of it is on the screen."""
        self.call("DOM.scrollIntoViewIfNeeded", backendNodeId=node)
        quads = self.call("DOM.getContentQuads", backendNodeId=node)["quads"]
        if not quads:
            raise Gone("it is not on the screen")
        quad = quads[0]
        return sum(quad[0::2]) / 4, sum(quad[1::2]) / 4

    def click(self, name=None, role=None, **where):
        """Waits until it is enabled, as a person does, and until nothing covers it. What is above it on the page
        may grow between aim, press and release: then it was not clicked, and is aimed at again."""
        why, hit = [], []

        def pressed():
            with contextlib.suppress(Gone):
                at, node = self.aim(why, name, role, **where)
                if at:
                    hit[:] = [self.press_at(at, node)]
            return hit == [True]
        until(pressed, name or where, lambda: " ".join(why), "on the page:", self.text, seconds=PATIENCE)

    def press_at(self, at, node):
        """Whether it was what was clicked."""
        self.on(node, """function () {
            window.hit = null;
            addEventListener("click", event => {
                /* Or what was drawn in its place meanwhile: a second click would take back what this one did. */
                const twin = !this.isConnected && event.target.closest(this.localName);
                window.hit = event.target === this.aimed || this.contains(event.target) ||
                    Boolean(twin) && twin.textContent === this.textContent;
            }, { once: true, capture: true });
        }""")
        for what in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=what, x=at[0], y=at[1],
                      button="none" if what == "mouseMoved" else "left", clickCount=0 if what == "mouseMoved" else 1)
        try:
            hit = self.evaluate("String(window.hit)")
        except AssertionError:
            hit = "undefined"
        # It led to another page, or is in a frame; and of a select not each browser tells.
        return hit in ("true", "undefined") or (
            hit == "null" and self.on(node, "function () { return this.matches('select, option'); }"))

    def aim(self, why, name, role, **where):
        """Where to click, or nothing and why not."""
        node, known = self.find(name, role, **where)
        if known.get("disabled"):
            why[:] = ["is disabled:", known.get("description", "")]
            return [], node
        x, y = self.where(node)
        why[:] = ["is covered"]
        return [x, y] if self.on(node, f"""function () {{
            const top = this.aimed = document.elementFromPoint({x}, {y});
            const box = (this.getBoundingClientRect ? this : this.parentElement).getBoundingClientRect();
            const moved = {x} < box.left || {x} > box.right || {y} < box.top || {y} > box.bottom;
            return this.contains(top) || (!moved && top?.contains(this) && !top.matches("dialog, body, html")) ||
                Boolean(this.labels && [...this.labels].some(l => l.contains(top)));
        }}""") else [], node

    def press(self, key, shift=False, control=False):
        """A key of KEYS, or a letter."""
        key, code, number, text = KEYS.get(key) or (key, "Key" + key.upper(), ord(key.upper()), key)
        more = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": SHIFT * shift + CONTROL * control}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text and not control else "rawKeyDown", **more,
                  **({"text": text} if text and not control else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **more)

    def type(self, text, name=None, role=None, **where):
        """Into the field of this name, over what is there; without a name where the focus is."""
        if name or role or where:
            self.click(name, role, **where)
            self.press("a", control=True)
        self.call("Input.insertText", text=text)

    def select(self, option, name=None, role=None, **where):
        """Of a <select>: by what the option says."""
        node, known = self.find(name, role, **where)
        expect(not known.get("disabled"), name or where, "is disabled")
        found = self.on(node, """function () { return [...this.options].map(o => [o.label, o.disabled]); }""")
        expect([option, False] in found, "no option", option, "in", found)
        self.on(node, f"""function () {{
            this.focus();
            this.selectedIndex = [...this.options].findIndex(o => o.label === {json.dumps(option)} && !o.disabled);
            for (const type of ["input", "change"])
                this.dispatchEvent(new Event(type, {{bubbles: true}}));
        }}""")

    def focused(self):
        """What has the focus: (role, name)."""
        found = [n[:2] for n in self.tree() if n[2].get("focused") and n[0] != "RootWebArea"]
        return found[0] if found else None

    # How it looks.

    def size(self, width=1280, height=800):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)

    def colours(self, scheme):
        """light or dark: what the person has set in his browser, and in Cockpit."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.evaluate("""scheme => {
            localStorage.setItem("shell:style", scheme);
            window.dispatchEvent(new CustomEvent("cockpit-style", {detail: {style: scheme}}));
        }""", scheme)

    def picture(self, name, whole=True):
        """build/cockpit/NAME.png: the whole page, or what is in the window; when nothing in it has changed for a while."""
        self.evaluate("""new Promise(done => {
            const again = () => { clearTimeout(timer); timer = setTimeout(done, 300); };
            let timer = setTimeout(done, 300);
            setTimeout(done, 3000);
            new MutationObserver(again).observe(document, {attributes: true, childList: true, subtree: true,
                                                           characterData: true});
        })""")
        os.makedirs(PICTURES, exist_ok=True)
        more = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            more = {"captureBeyondViewport": True, "clip": {**size, "scale": 1}}
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png", **more)["data"])
        path = os.path.realpath(os.path.join(PICTURES, name + ".png"))
        with open(path, "wb") as f:
            f.write(data)
        return path

    def too_wide(self):
        """What sticks out of the window at its right, and cannot be scrolled to in a place of its own."""
        return self.evaluate("""[...document.querySelectorAll("body *")].filter(e => {
            const box = e.getBoundingClientRect();
            if (!box.width || box.right <= innerWidth + 1)
                return false;
            for (let p = e.parentElement; p; p = p.parentElement)
                if (getComputedStyle(p).overflowX !== "visible" && p.getBoundingClientRect().right <= innerWidth + 1)
                    return false;
            return true;
        }).map(e => e.tagName + "." + e.getAttribute("class") + ": " + e.textContent.slice(0, 40)).slice(0, 5)""")

    def files(self):
        """Downloads go into the folder that this returns."""
        directory = tempfile.mkdtemp(prefix="downloads-", dir=self.browser.directory)
        self.browser.call("Browser.setDownloadBehavior", behavior="allow", browserContextId=self.context,
                          downloadPath=directory)
        return directory
