# SPDX-License-Identifier: GPL-2.0-or-later
"""
The schemas of docs/schema, for tests: closed, so that a member or a word that no schema knows is found.
What is published is open, since a consumer must not break when a member is added.

Every schema is written out in full, without $ref. So any release of python3-jsonschema can use it, and
a document costs as little as can be.
"""
import atexit
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "schema"))
import documents  # noqa: E402

# Of documents that have no member "schema".
JOURNAL, VERSIONS = "journal.json", "bundle-versions.json"
ID = re.compile(r"org\.gpupass1\.([a-z-]+)/([0-9]+)")
# Where tests note what they have seen: a file a program.
SEEN_VARIABLE = "GPUPASS_SCHEMAS_SEEN"
# Keywords with schemas in them: of one, of a list, of a map.
ONE, LISTS, MAPS = ("items", "additionalProperties"), ("anyOf", "oneOf"), ("properties", "$defs")


def file_of(ident):
    """list-1.json of org.gpupass1.list/1; None: that is no id."""
    found = ID.fullmatch(ident) if isinstance(ident, str) else None
    return f"{found[1]}-{found[2]}.json" if found else None


class Fault(Exception):
    """A schema that cannot be used."""


def words_only(alternatives):
    """Of a word that may be one of a list, or any other: one of the list."""
    if not any("enum" in a for a in alternatives):
        return alternatives
    left = []
    for alternative in alternatives:
        types = alternative.get("type")
        types = [types] if isinstance(types, str) else types
        if types and not set(alternative) - {"type"}:
            types = [t for t in types if t != "string"]
            alternative = {"type": types}
        if types != []:
            left.append(alternative)
    return left


class Schemas:
    def __init__(self, closed=True):
        self.closed = closed
        self.files = documents.schemas()
        self.members, self.seen = set(), set()
        self._expanded, self._validators, self._passed = {}, {}, set()

    # ---- schemas in full

    def _target(self, file, pointer):
        key = (file, pointer)
        if key not in self._expanded:
            self._expanded[key] = None  # a circle ends here
            node = self.files.get(file)
            for part in filter(None, pointer.split("/")):
                node = node.get(part) if isinstance(node, dict) else None
            if node is None:
                raise Fault(f"{file}#{pointer} is not there")
            self._expanded[key] = self._expand(node, file, pointer)
        if self._expanded[key] is None:
            raise Fault(f"{file}#{pointer} refers to itself")
        return self._expanded[key]

    def _expand(self, node, file, pointer):
        if "$ref" in node:
            other, _, rest = node["$ref"].partition("#")
            strange = set(node) - {"$ref", "description"}
            if strange:
                raise Fault(f"{file}#{pointer} has {sorted(strange)} beside its $ref")
            if other:
                file = documents.file_of(other)
            return {**self._target(file, rest), **{k: v for k, v in node.items() if k != "$ref"}}
        full = dict(node)
        for key in ONE:
            if key in node:
                full[key] = self._expand(node[key], file, f"{pointer}/{key}")
        for key in LISTS:
            if key in node:
                full[key] = [self._expand(n, file, f"{pointer}/{key}/{i}") for i, n in enumerate(node[key])]
        for key in MAPS:
            if key in node:
                full[key] = {k: self._expand(n, file, f"{pointer}/{key}/{k}")
                             for k, n in node[key].items()}
        if "properties" in node:
            full["x-origin"] = f"{file}#{pointer}/properties/"
            self.members |= {full["x-origin"] + name for name in node["properties"]}
            if self.closed:
                full["additionalProperties"] = False
        if self.closed and "anyOf" in full:
            full["anyOf"] = words_only(full["anyOf"])
        return full

    def full(self, place):
        """FILE, or FILE#POINTER."""
        file, _, pointer = place.partition("#")
        return self._target(file, pointer)

    def load_all(self):
        for file in self.files:
            self.full(file)
        return self

    # ---- documents

    def validator(self, file):
        if file not in self._validators:
            import jsonschema  # a third of a second on a slow machine, and not every test has a document
            self._validators[file] = jsonschema.Draft202012Validator(self.full(file))
        return self._validators[file]

    def _note(self, schema, value):
        """Which members were there."""
        for alternative in schema.get("anyOf", schema.get("oneOf", ())):
            if fits(alternative, value):
                self._note(alternative, value)
                break
        if isinstance(value, list) and "items" in schema:
            for item in value:
                self._note(schema["items"], item)
        if isinstance(value, dict) and schema.get("additionalProperties"):
            for item in value.values():
                self._note(schema["additionalProperties"], item)
        if isinstance(value, dict) and "properties" in schema:
            for name in value.keys() & schema["properties"].keys():
                self.seen.add(schema["x-origin"] + name)
                self._note(schema["properties"][name], value[name])

    def findings(self, value, file=None):
        """What is wrong with it, a line each. `file` is as for full(); without it: by its member "schema"."""
        if file is None:
            ident = value.get("schema") if isinstance(value, dict) else None
            file = file_of(ident)
            if file not in self.files:
                return [f"no schema knows the document {ident!r}"]
        # Documents that differ only in numbers and hashes pass alike.
        text = json.dumps(value)
        key = (file, re.sub(r"[0-9]+", "0", re.sub(r"[0-9a-f]{64}", "H", text)))
        if key in self._passed:
            return []
        found = [f"{file}: {'/'.join(map(str, e.absolute_path)) or 'the document'}: {deepest(e)}"
                 for e in self.validator(file).iter_errors(value)]
        if not found:
            self._passed.add(key)
            self._note(self.full(file), value)
        return found

    def text_findings(self, text):
        """Of all documents in what a program printed: one after another, among other lines."""
        found, decoder, at = [], json.JSONDecoder(), 0
        while True:
            begin = re.compile(r"^\{", re.MULTILINE).search(text, at)
            if not begin:
                return found
            try:
                value, at = decoder.raw_decode(text, begin.start())
            except ValueError as error:
                return found + [f"no JSON: {error}"]
            found += self.findings(value)

    def file_findings(self, path):
        """Of a state file; [] of what is none, or is damaged: tests write such files, too."""
        path = pathlib.Path(path)
        if not path.is_file() or path.is_symlink():
            return []
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return []
        if path.suffix == ".journal":
            lines = re.findall(r"^[12] [0-9a-f]{8} (\{.*\})$", text, re.MULTILINE)
        elif path.suffix == ".log":
            lines = re.findall(r"^[0-9a-f]{64} (\{.*\})$", text, re.MULTILINE)
        else:
            lines = [text] if path.suffix == ".json" else []
        found = []
        for line in lines:
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if path.suffix == ".journal":
                found += self.findings(value, JOURNAL)
            elif not self.of_another_version(value):
                found += self.findings(value)
        return [f"{path}: {f}" for f in found]

    def of_another_version(self, value):
        """It is of a version that gpupass has not: of a test."""
        ident = value.get("schema") if isinstance(value, dict) else None
        file = file_of(ident)
        return bool(file) and file not in self.files and any(
            f.rpartition("-")[0] == file.rpartition("-")[0] for f in self.files)


def fits(schema, value):
    """Roughly: which of several the value is meant to be."""
    kinds = schema.get("type")
    kind = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer",
            type(None): "null"}.get(type(value), "number")
    if kinds and kind not in ([kinds] if isinstance(kinds, str) else kinds):
        return False
    if not isinstance(value, dict):
        return True
    words = all(value.get(name) == p["const"] if "const" in p else value.get(name) in p["enum"]
                for name, p in schema.get("properties", {}).items() if "const" in p or "enum" in p)
    return words and set(schema.get("required", ())) <= set(value)


def deepest(error):
    """Of several alternatives the one that came nearest."""
    while error.context:
        error = max(error.context, key=lambda e: (len(e.absolute_path), e.validator != "type"))
    where = "/".join(map(str, error.absolute_path))
    return f"{where}: {error.message}"[:400]


_shared = []


def shared():
    """The schemas of a test program. What it saw is noted at its end."""
    if not _shared:
        _shared.append(Schemas())
        directory = os.environ.get(SEEN_VARIABLE)
        if directory:
            atexit.register(_save, directory, _shared[0])
    return _shared[0]


def _save(directory, schemas):
    name = os.path.basename(sys.argv[0])
    path = os.path.join(directory, name)
    os.makedirs(directory, exist_ok=True)
    with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as f:
        f.write("".join(line + "\n" for line in sorted(schemas.seen)))
    os.replace(f"{path}.{os.getpid()}", path)
