#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes of include/gpupass/interfaces.h what is not C.

    interfaces.py xml NAME      the interface org.gpupass1.NAME, as introspection has it
    interfaces.py page FILE     FILE, a manual page, with its lines @interface NAME@, @access@, @options@ and
                                @states LIST@ replaced by what they name
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent / "gpupass"
ROW = re.compile(r'/\*(?P<text>.*?)\*/|^(?P<kind>[A-Z_]+)\((?P<rest>(?:[^()"]|\([^()]*\)|"[^"]*")*)\)$', re.S | re.M)


class Row:
    """A row of a list: its arguments, and the comment above it; None: it shares that of the row above."""

    def __init__(self, kind, arguments, text):
        self.kind, self.text = kind, text
        self.name, *self.rest = [a.strip().strip('"') for a in re.split(r",(?![^()]*\))", arguments)]
        self.is_method = kind.endswith("_METHOD")
        if self.is_method:
            self.id, self.takes, names = self.rest[0], re.findall(r"TAKES\((\w+)\)", self.rest[7]), self.rest[2]
            self.arguments = pairs(self.rest[1], names) + [("a{sv}", "options")]
            self.results, self.action = pairs(self.rest[3], self.rest[4]), self.rest[6]
        elif kind.endswith("_SIGNAL"):
            self.arguments, self.results = pairs(self.rest[0], self.rest[1]), []


def pairs(signature, names):
    """[(type, name)] of the arguments of a method or signal."""
    types, names = re.findall(r"a*(?:\{..\}|\(\w+\)|\w)", signature), re.findall(r"ARG\((\w+)\)", names)
    assert len(types) == len(names), names
    return list(zip(types, names))


def read(name):
    return (HERE / name).read_text(encoding="utf-8")


def rows():
    """All rows of the lists, in order. A comment is a row's when nothing but blanks is between them."""
    found, text, end = [], None, 0
    source = read("interfaces.h")
    for match in ROW.finditer(source):
        if match["text"] is not None:
            text = " ".join(re.sub(r"^ \* ?", "", match["text"], flags=re.M).split())
        elif source[match.start() - 8:match.start()] != "#define ":
            found.append(Row(match["kind"], match["rest"], text if source[end:match.start()] == "\n" else None))
            text = None
        end = match.end()
    return found


def macro(source, name):
    """The rows of a list that is a macro."""
    return re.search(rf"#define {name}\(X\)(.*?[^\\])\n", source, re.S)[1]


def signatures():
    """{PropertyType: signature}, those of structures from their members."""
    source = read("properties.h")
    found = dict(re.findall(r'#define PROPERTY_SIGNATURE_(\w+) "(\w+)"', source))
    for kind, members in re.findall(r'SIGNATURE_(\w+) "a\(" (\w+)\(', source):
        found[kind] = "a(" + "".join(found[t] for t in re.findall(r"X\((\w+),", macro(source, members))) + ")"
    return found


def interface(name):
    """Methods, signals and properties of an interface."""
    found = [row for row in rows() if row.kind.startswith(name.upper() + "_")]
    return sorted(found, key=lambda row: ("METHOD", "SIGNAL", "PROPERTY").index(row.kind.split("_")[1]))


# ---- XML ----

def element(row, types):
    if row.kind.endswith("_PROPERTY"):
        yield f'  <property name="{row.name}" type="{types[row.rest[0]]}" access="read">'
        if row.rest[2] == "CONST":
            yield '   <annotation name="org.freedesktop.DBus.Property.EmitsChangedSignal" value="const"/>'
        yield "  </property>"
        return
    tag, direction = ("method", ' direction="in"') if row.is_method else ("signal", "")
    yield f'  <{tag} name="{row.name}">'
    yield from (f'   <arg type="{t}" name="{n}"{direction}/>' for t, n in row.arguments)
    yield from (f'   <arg type="{t}" name="{n}" direction="out"/>' for t, n in row.results)
    yield f"  </{tag}>"


def xml(name):
    types = signatures()
    yield '<!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"'
    yield ' "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">'
    yield "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->"
    yield f'<node>\n <interface name="org.gpupass1.{name}">'
    for row in interface(name):
        yield from element(row, types)
    yield " </interface>\n</node>"


# ---- the manual page ----

def heading(row, types):
    """*Assign*(s _domain_, …) → o _job_; *State* (s)."""
    if row.kind.endswith("_PROPERTY"):
        return f'*{row.name}* ({types[row.rest[0]]}{", constant" if row.rest[2] == "CONST" else ""})'
    text = f'*{row.name}*({", ".join(f"{t} _{n}_" for t, n in row.arguments)})'
    return text + "".join(f" → {t} _{n}_" for t, n in row.results)


def entries(found, head):
    """Each text once, below the headings of its rows."""
    for i, row in enumerate(found):
        following = found[i + 1:] + [None]
        more = following[0] is not None and following[0].text is None
        if row.text is not None:
            text = row.text
        yield head(row) + ("++" if more else "")
        if not more:
            yield f"\t{text}\n"


def access(found):
    details = dict(re.findall(r'#define GPUPASS_ACTION_(\w+) "[\w.]+"\s*/\* (.*?) \*/', read("dbus.h")))
    for i, (action, detail) in enumerate(details.items()):
        yield ("[[ " if i == 0 else "|  ") + ", ".join(f"*{r.name}*" for r in found if r.action == action)
        yield (":< " if i == 0 else ":  ") + f"org.gpupass1.{action.lower()}, {detail}"
    yield ""


def states(name):
    words = re.findall(r'X\(\w+, "([\w-]+)"\)\s*(?:/\* (.*?) \*/)?', macro(read("states.h"), f"GPUPASS_{name}"))
    yield "; ".join(f"*{word}*" + (f" ({text})" if text else "") for word, text in words) + "."


def page(path):
    types, methods = signatures(), [row for row in rows() if row.is_method]
    options = [row for row in rows() if row.kind == "METHOD_OPTION"]

    def option(row):
        takers = ", ".join(m.name for m in methods if row.name in m.takes)
        return f"*{row.rest[0]}* ({types[row.rest[1]]}): {takers}"

    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        what = line.strip("@").split() if line.startswith("@") else [""]
        if what[0] == "interface":
            yield from entries(interface(what[1]), lambda row: heading(row, types))
        elif what[0] == "options":
            yield from entries(options, option)
        elif what[0] == "access":
            yield from access(methods)
        elif what[0] == "states":
            yield from states(what[1])
        else:
            yield line


if __name__ == "__main__":
    print("\n".join({"xml": xml, "page": page}[sys.argv[1]](sys.argv[2])))
