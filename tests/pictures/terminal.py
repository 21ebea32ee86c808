# SPDX-License-Identifier: GPL-2.0-or-later
"""
What a program shows on a terminal, as an SVG: it runs on a pseudo-terminal of a given width, pyte
plays the terminal, and what then stands on the screen is drawn.

The SVG has no fonts, scripts or links of its own, its text is text, and each word has its place in
the grid of the terminal, whatever font there is.
"""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import xml.sax.saxutils

import pyte

TIMEOUT = 120
# More than any output has: nothing scrolls.
ROWS = 1000
CELL_W, CELL_H, FONT, MARGIN = 8.4, 18, 14, 14

# Of each theme, these colours in this order.
NAMES = ("page", "fg", "dim", "red", "green", "yellow", "blue", "magenta", "cyan")
PALETTES = {
    "light": "#f6f8fa #1f2328 #656d76 #cf222e #116329 #7d4e00 #0550ae #8250df #1b7c83".split(),
    "dark": "#0d1117 #e6edf3 #8b949e #ff7b72 #56d364 #e3b341 #79c0ff #d2a8ff #56d4dd".split(),
}


class Screen(pyte.Screen):
    """pyte knows no dim text: here it is a colour."""

    def select_graphic_rendition(self, *attributes, **more):
        super().select_graphic_rendition(*attributes, **more)
        if 2 in attributes:
            self.cursor.attrs = self.cursor.attrs._replace(fg="dim")


class Terminal:
    """A terminal of `columns` columns, on which programs run one after another."""

    def __init__(self, columns=80):
        self.columns = columns
        self.screen = Screen(columns, ROWS)
        self.stream = pyte.ByteStream(self.screen)

    def type(self, text):
        """What a person types after the prompt of root's shell."""
        self.stream.feed(b"# \033[1m" + text.encode() + b"\033[0m\r\n")

    def run(self, command, environment):
        """Runs it with all three streams on this terminal; its exit status."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, self.columns, 0, 0))
        with subprocess.Popen(command, env=environment, stdin=follower, stdout=follower,
                              stderr=follower, start_new_session=True) as process:
            os.close(follower)
            deadline = time.monotonic() + TIMEOUT
            while time.monotonic() < deadline:
                if not select.select([leader], [], [], 0.2)[0]:
                    continue
                try:
                    data = os.read(leader, 65536)
                except OSError:  # EIO: the other end is closed
                    break
                self.stream.feed(data)
            os.close(leader)
            return process.wait(max(1, deadline - time.monotonic()))

    def used(self):
        """The rows down to the last one with something on it."""
        last = max((y for y, row in self.screen.buffer.items()
                    if any(cell.data.strip() for cell in row.values())), default=-1)
        return [self.screen.buffer[y] for y in range(last + 1)]

    def lines(self):
        return ["".join(row[x].data for x in range(self.columns)).rstrip() for row in self.used()]

    def runs(self, row):
        """[(column, text, look)]: what stands together and looks alike, without the blanks between."""
        found, now = [], None
        for x in range(self.columns):
            cell = row[x]
            look = (cell.fg, cell.bold)
            if now and now[2] == look and x == now[0] + len(now[1]) and cell.data.isascii() == now[1][-1].isascii():
                now[1] += cell.data
            else:
                now = [x, cell.data, look]
                found.append(now)
        for x, text, look in found:
            for word in re.finditer(r"\S(?:.*?\S)??(?=\s\s|\s*$)", text):
                yield x + word.start(), word.group(), look

    def svg(self, title):
        """Light or dark, as the viewer prefers."""
        rows = self.used()
        width = int(self.columns * CELL_W + 2 * MARGIN)
        height = len(rows) * CELL_H + 2 * MARGIN
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
               f'viewBox="0 0 {width} {height}" role="img">', f"<title>{xml.sax.saxutils.escape(title)}</title>",
               "<style>", "text{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
               f"font-size:{FONT}px;white-space:pre}}", ".bold{font-weight:bold}"]
        out += [styles("light"), "@media (prefers-color-scheme:dark){", styles("dark"), "}"]
        out += ["</style>", f'<rect class="page" width="{width}" height="{height}" rx="8"/>']
        for y, row in enumerate(rows):
            for x, text, (colour, bold) in self.runs(row):
                out.append(text_element(x, y, text, colour, bold))
        return "\n".join(out + ["</svg>", ""])


def styles(theme):
    return "".join(f".{name}{{fill:{colour}}}" for name, colour in zip(NAMES, PALETTES[theme]))


def text_element(x, y, text, colour, bold):
    classes = {"default": "fg", "brown": "yellow"}.get(colour, colour) + (" bold" if bold else "")
    return (f'<text class="{classes}" x="{MARGIN + x * CELL_W:.1f}" y="{MARGIN + y * CELL_H + FONT}" '
            f'textLength="{len(text) * CELL_W:.1f}" lengthAdjust="spacingAndGlyphs">'
            f"{xml.sax.saxutils.escape(text)}</text>")


DURATION = r"\d+(?:\.\d+)? (?:ms|s)|\d+ min \d+ s"
MOMENT = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


def without_times(svg):
    """What must be the same in each recording: how long it took and when it was are the machine's, and
    a duration that ends a column also begins where it is long."""
    svg = re.sub(rf'x="[\d.]+" (y="\d+" )textLength="[\d.]+" ([^>]*>)(?:{DURATION})<', r"\1\2DURATION<", svg)
    svg = re.sub(rf'textLength="[\d.]+"( [^>]*>[^<]*)(?<![\d.])(?:{DURATION})', r"\1DURATION", svg)
    return re.sub(MOMENT, "MOMENT", svg)
