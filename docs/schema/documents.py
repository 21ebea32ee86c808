#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes JSON schemas of the descriptions in this folder: NAME.json of NAME.doc.

    documents.py --list         the names
    documents.py DIRECTORY      all of them, in this folder

    plan-1: The title                       first line; what follows up to an empty line is the description
    name?        TYPE  What it says.        a member, two spaces or more between; "?": it may be absent
      inner      TYPE  What it says.        one of the object above, indented by two
    define NAME  TYPE  What it says.        what @NAME of this file, or of others as @FILE#NAME, refers to
    either       {     What it says.        one of several forms that the document has

TYPE   string int bool object null, count (an integer from 0), int>=1, count<=9; /regular expression/;
       = CONST; "word" "word": one of these, with ... behind them: or a word that is not known yet;
       words LIST: those of this list of the code, or another; @NAME: of common.doc or this file;
       [TYPE], [TYPE]1..4: an array; {: an object, its members below; {*: TYPE}: a map; [{: an array of objects;
       TYPE|null; TYPE or TYPE
"""
import functools
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCHEMA = "Which document this is, and its version."


@functools.cache
def lists():
    """The text of each list of the code, #define LIST(X), by its name."""
    texts = [path.read_text(encoding="utf-8") for room in ("include", "daemon") for path in (ROOT / room).rglob("*.h")]
    return {name: body for text in texts
            for name, body in re.findall(r"^#define (\w+)\(X\)((?:.*\\\n)*.*)$", text, re.MULTILINE)}


def words_of(name):
    return re.findall(r'X\(\w+,[\s\\]*(?:/\*.*?\*/)?[\s\\]*"([^"]+)"', lists()[name])


# The ids of the schemas, by which they refer to each other.
URN = "urn:gpupass:schema:"


def file_of(ident):
    """The file of this id."""
    return ident.removeprefix(URN) + ".json"


class Document:
    def __init__(self, path):
        self.name = path.stem
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        title, _, rest = lines[0].partition(": ")
        if title != self.name:
            raise ValueError(f"{path}: begins with {title}")
        end = lines.index("") if "" in lines else len(lines)
        self.schema = {"$comment": "SPDX-License-Identifier: GPL-2.0-or-later",
                       "$schema": "https://json-schema.org/draft/2020-12/schema",
                       "$id": f"{URN}{self.name}", "title": rest,
                       "description": " ".join(lines[1:end])}
        self.defined = {line.split()[1] for line in lines if line.startswith("define ")}
        self.rows = [(len(line) - len(line.lstrip()), re.split(r"  +", line.strip()))
                     for line in lines[end:] if line.strip()]
        for _, row in self.rows:
            row += [""] * (3 - len(row))
        self.at = 0
        members, defined, forms = self.members(0)
        if members:
            self.schema.update(self.object(members))
        if forms:
            self.schema["oneOf"] = forms
        if defined:
            self.schema["$defs"] = defined

    @staticmethod
    def object(members):
        required = [name for name, (needed, _) in members.items() if needed]
        return {"type": "object", **({"required": required} if required else {}),
                "properties": {name: schema for name, (_, schema) in members.items()}}

    def members(self, depth):
        members, defined, forms = {}, {}, []
        while self.at < len(self.rows) and self.rows[self.at][0] == depth:
            name, kind, text = self.rows[self.at][1]
            self.at += 1
            if name == "schema" and not text:
                text = SCHEMA
            schema = {"description": text} if text else {}
            schema.update(self.kind(kind, depth))
            if name.startswith("define "):
                defined[name.split()[1]] = schema
            elif name == "either":
                forms.append(schema)
            else:
                members[name.rstrip("?")] = (not name.endswith("?"), schema)
        return members, defined, forms

    def inner(self, depth):
        return self.object(self.members(depth + 2)[0])

    def kind(self, text, depth):
        if text.endswith("|null"):
            one = self.kind(text[:-5], depth)
            if isinstance(one.get("type"), str):
                return {**one, "type": [one["type"], "null"]}
            if "enum" in one.get("anyOf", [{}])[0]:  # the word that is not known yet may be none
                return {**one, "anyOf": [one["anyOf"][0], {"type": ["string", "null"]}]}
            return {"anyOf": [one, {"type": "null"}]}
        array = re.fullmatch(r"\[(.*?)(?:\](?:(\d*)\.\.(\d*))?)?", text)
        if array:
            found = {"type": "array", "items": self.inner(depth) if array[1] == "{" else self.kind(array[1], depth)}
            return {**found, **({"minItems": int(array[2])} if array[2] else {}),
                    **({"maxItems": int(array[3])} if array[3] else {})}
        if " or " in text:
            return {"anyOf": [self.kind(one, depth) for one in text.split(" or ")]}
        one = re.fullmatch(r"\{\*: (.*)\}(?:\.\.(\d+))?", text)
        if one:
            return {"type": "object", **({"maxProperties": int(one[2])} if one[2] else {}),
                    "additionalProperties": self.kind(one[1], depth)}
        if text == "{":
            return self.inner(depth)
        if text.startswith("= "):
            return {"const": {"true": True, "false": False}.get(text[2:], text[2:])}
        if text.startswith("/"):
            return {"type": "string", "pattern": text[1:-1]}
        if text.startswith('"'):
            words = {"enum": re.findall(r'"([^"]*)"', text)}
            return {"anyOf": [words, {"type": "string"}]} if text.endswith("...") else words
        if text.startswith("words "):
            return {"$comment": text[6:], "anyOf": [{"enum": words_of(text[6:])}, {"type": "string"}]}
        if text.startswith("@"):
            file, _, place = text[1:].rpartition("#")
            if "/" in place or not place:
                return {"$ref": f"{URN}{file}#{place}" if place else f"{URN}{file}"}
            return {"$ref": f"{URN}{file}#/$defs/{place}" if file else
                    f"#/$defs/{place}" if place in self.defined and self.name != "common" else
                    f"{URN}common#/$defs/{place}"}
        number = re.fullmatch(r"(int|count)(?:>=(-?\d+))?(?:<=(\d+))?", text)
        if number:
            least = int(number[2]) if number[2] else 0 if number[1] == "count" else None
            return {"type": "integer", **({} if least is None else {"minimum": least}),
                    **({"maximum": int(number[3])} if number[3] else {})}
        kinds = {"string": "string", "bool": "boolean", "object": "object", "null": "null"}
        if text not in kinds:
            raise ValueError(f"{self.name}: {text!r} is no type")
        return {"type": kinds[text]}


def schemas():
    """{"plan-1.json": the schema}."""
    return {path.stem + ".json": Document(path).schema for path in sorted(HERE.glob("*.doc"))}


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(path.stem for path in sorted(HERE.glob("*.doc"))))
        return
    for name, schema in schemas().items():
        (pathlib.Path(sys.argv[1]) / name).write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
