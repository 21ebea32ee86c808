#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes what follows from a struct: its clear, new, free, ref, copy, dup and equal functions, and its table for JSON; and the
names of an enum.

    structs.py [-I DIR]... MODULE.c OUTPUT.inc DEPFILE

MODULE.c includes OUTPUT.inc. What MODULE.h, or MODULE.c itself, declares by one of these is written there, unless
MODULE.c defines it by hand (docs/HACKING.md, "Structs"):

    DECLARE_CLEAR(Type, f)  DECLARE_FREE(Type, f)  DECLARE_COPY(Type, f)  DECLARE_DUP(Type, f)  DECLARE_EQUAL(Type, f)
    DECLARE_NEW(Type, f)  DECLARE_REF(Type, f)  DECLARE_FIND(Type, f)  DECLARE_FREE_LIST(Type, f)  DECLARE_READ(Type, f, "where")
    DECLARE_JSON(Type, table)  DECLARE_DOCUMENT(Type, table, SCHEMA)  DECLARE_JSON_OF(Type, table, member...)
    LOCAL_... in MODULE.c: the same, static
    DECLARE_ENUM(prefix, Type, LIST)
"""
import argparse
import os
import re
import sys

SCALARS = set("""bool char int unsigned long short double float size_t ssize_t off_t time_t uid_t gid_t pid_t mode_t dev_t ino_t
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t Bdf sd_id128_t pthread_t atomic_bool
    atomic_int atomic_uint pthread_mutex_t pthread_cond_t""".split())
FREES = {"char": "free", "void": "free", "uint8_t": "free", "json_t": "json_decref",
         "sd_bus_message": "sd_bus_message_unref", "sd_bus_slot": "sd_bus_slot_unref",
         "sd_event_source": "sd_event_source_disable_unref"}
DESTROYS = {"pthread_mutex_t": "pthread_mutex_destroy", "pthread_cond_t": "pthread_cond_destroy"}
MOST = {"uint8_t": "UINT8_MAX", "uint16_t": "UINT16_MAX", "uint32_t": "UINT32_MAX", "unsigned": "UINT32_MAX",
        "int": "INT32_MAX", "int32_t": "INT32_MAX", "pid_t": "INT32_MAX", "uint64_t": "INT64_MAX", "size_t": "INT64_MAX"}
DECLARATION = re.compile(r"^(DECLARE|LOCAL)_(CLEAR|NEW|FREE|REF|FREE_LIST|FIND|COPY|DUP|EQUAL|JSON|DOCUMENT|JSON_OF|READ)\(((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*)\)",
                         re.M)


class Wrong(Exception):
    pass


class Member:
    """One member of a struct."""

    def __init__(self, kind, const, stars, name, array, words, owner, borrowed):
        self.type, self.const, self.stars, self.name, self.array = kind, const, stars, name, array
        self.words, self.owner, self.borrowed = words, owner, borrowed


def split(text):
    """At commas that are in no parenthesis and no string."""
    found, depth, quoted, begin = [], 0, False, 0
    for i, c in enumerate(text):
        quoted ^= c == '"'
        if not quoted:
            depth += (c in "([{") - (c in ")]}")
            if c == "," and depth == 0:
                found.append(text[begin:i].strip())
                begin = i + 1
    return [one for one in found + [text[begin:].strip()] if one]


def words_of(text):
    """`as "group", max 8` as {"as": '"group"', "max": "8"}."""
    return {one.split(None, 1)[0]: (one.split(None, 1) + [""])[1] for one in split(text)}


def members_of(body, where):
    body = re.sub(r"/\*.*?\*/|^#.*$", "", body, flags=re.S | re.M)
    for statement in body.split(";"):
        statement = " ".join(statement.split())
        if not statement or "(*" in statement:
            continue  # a pointer to a function owns nothing
        words, owner = {}, None
        note = re.search(r"\b_json_\((.*)\)", statement)
        if note:
            words, statement = words_of(note[1]), statement[:note.start()].strip()
        note = re.search(r"\b_owned_\((\w+)\)", statement)
        if note:
            owner, statement = note[1], statement[:note.start()].strip()
        borrowed = "_borrowed_" in statement
        statement = re.sub(r"_borrowed_|_Atomic ", "", statement).strip()
        head = re.match(r"(const )?((?:struct |enum |unsigned |signed |long )*\w+\b(?: (?:long|int)\b)?) ?(?=[\w*])(.+)$", statement)
        if not head or "{" in statement:
            raise Wrong("%s: cannot read the member \"%s\"" % (where, statement))
        for one in head[3].split(","):
            parts = re.match(r"\s*(\**)\s*(?:const )?(\w+)\s*((?:\[[^\]]*\])+)?(?: ?: ?\d+)?$", one)
            if not parts:
                raise Wrong("%s: cannot read the member \"%s\"" % (where, statement))
            yield Member(re.sub(r"^(struct|enum) ", "", head[2]), bool(head[1]), len(parts[1]), parts[2], parts[3],
                         words, owner, borrowed)


class Sources:
    """The module's files and all headers that they include: types, and functions that take them."""

    def __init__(self, module, directories):
        self.directories, self.read = directories, []
        self.bodies, self.enums, self.functions, self.declared, self.members = {}, {}, {}, [], {}
        self.named = []
        header = os.path.splitext(module)[0] + ".h"
        for path in ([header] if os.path.exists(header) else []) + [module]:
            self.add(path)
        self.text = open(module, encoding="utf-8").read()
        for path in (header, module):
            if path in self.read:
                text = open(path, encoding="utf-8").read()
                self.declared += [(m[1] == "LOCAL", m[2], split(m[3])) for m in DECLARATION.finditer(text)]
                self.named += re.findall(r"^DECLARE_ENUM\((\w+),\s*(\w+),\s*(\w+)", text, re.M)

    def add(self, path):
        if path in self.read:
            return
        self.read.append(path)
        text = open(path, encoding="utf-8").read()
        for name in re.findall(r'^#include "([^"]+\.h)"', text, re.M):
            for directory in self.directories:
                if os.path.exists(os.path.join(directory, name)):
                    self.add(os.path.join(directory, name))
                    break
        for m in re.finditer(r"^(?:typedef )?struct (\w+) \{\n(.*?)^\}", text, re.S | re.M):
            self.bodies[m[1]] = (m[2], os.path.basename(path))
        for m in re.finditer(r"^typedef enum (\w+) \{\n(.*?)^\} \w+;", text, re.S | re.M):
            rows = re.search(r"^\s*(\w+)\(\w+\)$", m[2], re.M)
            self.enums[m[1]] = rows and rows[1]
        for m in re.finditer(r"^(?:NAMED_ENUM\(|DECLARE_ENUM\(\w+,\s*)(\w+),\s*(\w+)", text, re.M):
            self.enums[m[1]] = m[2]
        for m in re.finditer(r"^(?:static )?void (\w+_clear)\((\w+) \*\w*\)", text, re.M):
            self.functions.setdefault(("CLEAR", m[2]), m[1])
        for m in re.finditer(r"\bDEFINE_CLEANUP\((\w+), (\w+)\)|\bDEFINE_LOCAL_FREE\((\w+), (\w+), \w+\)", text):
            self.functions.setdefault(("FREE", m[1] or m[3]), m[2] or m[4])
        for m in DECLARATION.finditer(text):
            one = split(m[3])
            what = {"DOCUMENT": "JSON"}.get(m[2], m[2])
            if what != "JSON_OF":
                self.functions.setdefault((what, one[0]), one[1])

    def struct(self, name):
        if name not in self.members:
            if name not in self.bodies:
                raise Wrong("%s is no struct that the module's headers have" % name)
            body, where = self.bodies[name]
            self.members[name] = list(members_of(body, "%s: %s" % (where, name)))
        return self.members[name]

    def is_scalar(self, name):
        return name in SCALARS or name in self.enums or name.startswith(("unsigned", "signed", "long"))

    def count_of(self, members, name):
        return any(m.name == "n_" + name for m in members)

    def is_by_hand(self, name):
        return re.search(r"^(?:[\w *]*\b|DEFINE_FREE\(\w+, |DEFINE_LOCAL_FREE\(\w+, )%s(?:\([^;]*?\n?\{|,|\[\] =)" % name,
                         self.text, re.M) is not None


class Writer:
    """The functions of one module, those that others call before their callers."""

    def __init__(self, sources):
        self.sources, self.out, self.made = sources, [], {}

    def put(self, signature, lines):
        self.out.append("%s\n{\n%s\n}\n" % (signature, "\n".join("\t" + line if line else "" for line in lines)))

    def known(self, what, kind):
        """The function that does this with such a struct; it is written here if there is none. None: nothing to do."""
        found = self.sources.functions.get((what, kind)) or self.made.get((what, kind))
        if found or (what, kind) in self.made:
            return found
        lines = getattr(self, what.lower() + "_lines")(kind)
        self.made[what, kind] = None
        if lines and what == "CLEAR":
            self.put("static void clear_%s(%s *p)" % (kind, kind), lines)
        elif lines and what == "COPY":
            self.put("static %s copy_%s(const %s *from)" % (kind, kind, kind),
                     ["%s copy = *from;" % kind, ""] + lines + ["return copy;"])
        elif what == "EQUAL":
            self.put("static bool equal_%s(const %s *a, const %s *b)" % (kind, kind, kind),
                     ["return %s;" % " &&\n\t       ".join(lines or ["a == b"])])
        if lines or what == "EQUAL":
            self.made[what, kind] = "%s_%s" % (what.lower(), kind)
        return self.made[what, kind]

    # ---- what is owned ----

    def owned(self, members, m):
        """"", "text", "list", "one", "array", "structs" (an array of structs), "pointers", "struct", or "by" its owner."""
        if m.owner:
            return "by"
        if m.borrowed or m.array or (m.const and m.stars == 1):
            return ""
        if m.stars == 0:
            return "" if self.sources.is_scalar(m.type) else "struct"
        if m.stars == 1 and self.sources.count_of(members, m.name):
            return "array" if self.sources.is_scalar(m.type) else "structs"
        if m.stars == 1:
            return "text" if m.type == "char" else "one"
        return "list" if m.type == "char" and m.stars == 2 else "pointers"

    def destructor(self, kind):
        found = self.sources.functions.get(("FREE", kind)) or FREES.get(kind)
        if not found and self.sources.is_scalar(kind):
            return "free"
        if not found:
            raise Wrong("nothing frees a %s: _owned_(FUNCTION), or _borrowed_" % kind)
        return found

    def clear_lines(self, kind):
        lines, members = [], self.sources.struct(kind)
        for m in members:
            owned = self.owned(members, m)
            inner = self.known("CLEAR", m.type) if owned in ("struct", "structs") else None
            if m.type in DESTROYS and not m.stars:
                lines.append("%s(&p->%s);" % (DESTROYS[m.type], m.name))
            elif owned == "by":
                lines.append("%s(p->%s);" % (m.owner, m.name))
            elif owned == "struct" and inner:
                lines.append("%s(&p->%s);" % (inner, m.name))
            elif owned == "structs" and inner:
                lines += ["for (size_t i = 0; i < p->n_%s; i++)" % m.name, "\t%s(&p->%s[i]);" % (inner, m.name)]
            elif owned == "pointers":
                lines += ["for (size_t i = 0; i < p->n_%s; i++)" % m.name,
                          "\t%s(p->%s[i]);" % (self.destructor(m.type), m.name)]
            if owned in ("text", "array", "structs", "pointers"):
                lines.append("free(p->%s);" % m.name)
            elif owned == "list":
                lines.append("strv_free(p->%s);" % m.name)
            elif owned == "one":
                lines.append("%s(p->%s);" % (self.destructor(m.type), m.name))
        return lines

    def copy_lines(self, kind):
        lines, members = [], self.sources.struct(kind)
        for m in members:
            owned, n = self.owned(members, m), m.name
            inner = self.known("COPY", m.type) if owned in ("struct", "structs") else None
            if owned == "by" or owned == "pointers":
                raise Wrong("%s.%s cannot be copied" % (kind, n))
            if owned == "text":
                lines.append("copy.%s = xstrdup(from->%s);" % (n, n))
            elif owned == "list":
                lines += ["copy.%s = NULL;" % n, "strv_copy(from->%s, &copy.%s);" % (n, n)]
            elif owned == "struct" and inner:
                lines.append("copy.%s = %s(&from->%s);" % (n, inner, n))
            elif owned == "one":
                dup = self.sources.functions.get(("DUP", m.type))
                if not dup:
                    raise Wrong("%s.%s: %s has no DECLARE_DUP" % (kind, n, m.type))
                lines.append("copy.%s = from->%s ? %s(from->%s) : NULL;" % (n, n, dup, n))
            elif owned in ("array", "structs"):
                lines.append("copy.%s = xmemdup(from->%s, from->n_%s * sizeof(*from->%s));" % (n, n, n, n))
                if inner:
                    lines += ["for (size_t i = 0; i < from->n_%s; i++)" % n,
                              "\tcopy.%s[i] = %s(&from->%s[i]);" % (n, inner, n)]
        return lines

    def equal_lines(self, kind):
        lines, members = [], self.sources.struct(kind)
        for m in members:
            owned, n = self.owned(members, m), m.name
            if "plain" in m.words:
                lines.append("json_plain_equal(a->%s, b->%s)" % (n, n))
            elif owned == "text" or (m.type == "char" and m.stars == 1):
                lines.append("str_equal(a->%s, b->%s)" % (n, n))
            elif owned == "list":
                lines.append("strv_equal(a->%s, b->%s)" % (n, n))
            elif owned == "struct":
                lines.append("%s(&a->%s, &b->%s)" % (self.known("EQUAL", m.type), n, n))
            elif owned in ("array", "structs"):
                lines.append("%s(a->%s, a->n_%s, b->%s, b->n_%s)" % (self.arrays_equal(m), n, n, n, n))
            elif m.array:
                lines.append("memcmp(a->%s, b->%s, sizeof(a->%s)) == 0" % (n, n, n))
            elif m.type == "Bdf" and not m.stars:
                lines.append("bdf_equal(&a->%s, &b->%s)" % (n, n))
            elif owned:
                raise Wrong("%s.%s cannot be compared" % (kind, n))
            else:
                lines.append("a->%s == b->%s" % (n, n))
        return lines

    def arrays_equal(self, m):
        name = "equal_%s_arrays" % m.type
        if ("ARRAYS", m.type) not in self.made:
            if m.type == "Bdf":
                one = "bdf_equal(&a[i], &b[i])"
            elif self.sources.is_scalar(m.type):
                one = "a[i] == b[i]"
            else:
                one = "%s(&a[i], &b[i])" % self.known("EQUAL", m.type)
            self.made["ARRAYS", m.type] = name
            self.put("static bool %s(const %s *a, size_t n_a, const %s *b, size_t n_b)" % (name, m.type, m.type),
                     ["bool equal = n_a == n_b;", "", "for (size_t i = 0; equal && i < n_a; i++)",
                      "\tequal = %s;" % one, "return equal;"])
        return name

    # ---- JSON ----

    def integer(self, kind, path, m, words):
        if m.type not in MOST:
            raise Wrong("%s.%s: no number of JSON is made of a %s" % (kind, path, m.type))
        for word, row in (("errno", ".kind = JSON_KIND_ERRNO"), ("index", ".kind = JSON_KIND_INDEX"),
                          ("id", ".kind = JSON_KIND_ID, .max = UINT32_MAX - 1, .optional = true")):
            if word in words:
                return row
        if "hex" in words:
            return ".kind = JSON_KIND_HEX, .digits = %s, .max = (1ULL << 4 * %s) - 1" % (words["hex"], words["hex"])
        return ".kind = JSON_KIND_NUMBER, .max = %s" % words.get("max", MOST[m.type])

    @staticmethod
    def array(kind, prefix, m, words, what):
        place = prefix + m.name
        return (".kind = JSON_KIND_%s, .max = %s, .size = sizeof(%s), .offset = offsetof(%s, %s), .count = offsetof(%s, %sn_%s)"
                % (what, words["max"], m.type, kind, place, kind, prefix, m.name))

    def row(self, kind, prefix, members, m, words):
        """What is between the braces of a JsonMember, but for its key."""
        path = prefix + m.name
        row = [".offset = offsetof(%s, %s), .size = sizeof(((%s *)0)->%s)" % (kind, path, kind, path)]
        if "table" in words or (not self.sources.is_scalar(m.type) and m.type != "char" and not m.array):
            table = words.get("table") or self.sources.functions.get(("JSON", m.type))
            if not table:
                raise Wrong("%s.%s: %s has no DECLARE_JSON" % (kind, path, m.type))
            row.append(".kind = JSON_KIND_STRUCT, .members = %s" % table)
            if m.stars:
                row = [self.array(kind, prefix, m, words, "ARRAY, .members = %s" % table)]
        elif m.type == "Bdf" and m.stars and self.sources.count_of(members, m.name):
            row = [self.array(kind, prefix, m, words, "BDFS")]
        elif m.type == "char" and m.stars == 2:
            row.append(".kind = JSON_KIND_LIST")
        elif m.type == "char" and m.stars == 1:
            row.append(".kind = JSON_KIND_%s" % ("PLAIN" if "plain" in words else "TEXT"))
        elif m.stars or m.array:
            raise Wrong("%s.%s: no member of JSON is made of this" % (kind, path))
        elif self.sources.enums.get(m.type):
            row.append(".kind = JSON_KIND_ENUM, .names = (const char *const[]){ %s(STRING_TABLE_ENTRY_) NULL }, "
                       ".text = %s" % (self.sources.enums[m.type], words.get("wrong", '"is none that this version knows"')))
            if "if_any" in words or "not_0" in words:
                row.append(".min = 1")
        elif m.type in ("bool", "Bdf"):
            row.append(".kind = JSON_KIND_%s" % m.type.upper())
        else:
            row.append(self.integer(kind, path, m, words))
        if "if_any" in words:
            row.append(".optional = true, .sparse = true")
        elif "or_null" in words or "or_0" in words:
            row.append(".optional = true")
        return ", ".join(row)

    def rows(self, kind, struct, prefix, chosen):
        """(key, row) of each member; `chosen` of some, or [] of all."""
        members = self.sources.struct(struct)
        by_name = {m.name: m for m in members}
        if not chosen:
            chosen = [m.name for m in members
                      if "no" not in m.words and not (m.name[:2] == "n_" and m.name[2:] in by_name)]
        for item in chosen:
            name, more = re.match(r"(\"[^\"]*\"|\w+)(?:\((.*)\))?$", item, re.S).groups("")
            if name.startswith('"'):
                yield name, self.other(words_of(more))
                continue
            if name not in by_name:
                raise Wrong("%s has no member %s" % (struct, name))
            m = by_name[name]
            words = {**m.words, **words_of(more)}
            key = words.get("as", '"%s"' % name)
            if "flat" in words:
                yield from self.rows(kind, m.type, prefix + name + ".", words["flat"].split())
            elif "by" in words or "write" in words:
                yield key, self.other(words)
            else:
                yield key, self.row(kind, prefix, members, m, words)

    @staticmethod
    def other(words):
        if "by" in words:
            return ".kind = JSON_KIND_OTHER, .read = %s_read, .write = %s_write" % (words["by"], words["by"])
        return ".kind = JSON_KIND_OTHER" + (", .write = %s_write" % words["write"] if "write" in words else "")

    def table(self, local, kind, name, schema, chosen):
        rows = [('"schema"', ".kind = JSON_KIND_SCHEMA, .text = %s, .optional = true" % schema)] if schema else []
        rows += self.rows(kind, kind, "", chosen)
        self.out.append("%sconst JsonMember %s[] = {\n%s\t{ .key = NULL },\n};\n"
                        % ("static " if local else "", name,
                           "".join("\t{ .key = %s, %s },\n" % row for row in rows)))

    # ---- what the module declares ----

    def define(self, local, what, one):
        kind, name = one[0], one[1]
        static = "static " if local else ""
        if what == "JSON":
            self.table(local, kind, name, None, [])
        elif what == "DOCUMENT":
            self.table(local, kind, name, one[2], [])
        elif what == "JSON_OF":
            schema = one[2][len("schema "):] if len(one) > 2 and one[2].startswith("schema ") else None
            self.table(local, kind, name, schema, one[3 if schema else 2:])
        elif what == "CLEAR":
            self.put("%svoid %s(%s *p)" % (static, name, kind), self.clear_lines(kind) + ["*p = (%s){ 0 };" % kind])
        elif what == "FREE":
            clear = self.sources.functions.get(("CLEAR", kind))
            lines = ["%s(p);" % clear] if clear else self.clear_lines(kind)
            shared = any(m.name == "shared" and m.type == "atomic_uint" for m in self.sources.struct(kind))
            self.put("%s%s *%s(%s *p)" % (static, kind, name, kind),
                     ["if (!p%s)" % (" || atomic_fetch_sub(&p->shared, 1) > 0" if shared else ""), "\treturn NULL;"]
                     + lines + ["free(p);", "return NULL;"])
        elif what == "NEW":
            locks = [m for m in self.sources.struct(kind) if m.type == "pthread_mutex_t" and not m.stars]
            self.put("%s%s *%s(void)" % (static, kind, name),
                     ["%s *p = xcalloc(1, sizeof(*p));" % kind, ""]
                     + ["pthread_mutex_init(&p->%s, NULL);" % m.name for m in locks] + ["return p;"])
        elif what == "REF":
            self.put("%s%s *%s(%s *p)" % (static, kind, name, kind),
                     ["if (p)", "\tatomic_fetch_add(&p->shared, 1);", "return p;"])
        elif what == "FREE_LIST":
            clear = self.known("CLEAR", kind)
            self.put("%svoid %s(%s *list, size_t n)" % (static, name, kind),
                     ["for (size_t i = 0; list && i < n; i++)", "\t%s(&list[i]);" % clear, "free(list);"])
        elif what == "FIND":
            self.put("%sconst %s *%s(const %s *list, size_t n, const Bdf *bdf)" % (static, kind, name, kind),
                     ["return BDF_FIND(list, n, bdf);"])
        elif what == "READ":
            self.put("%sint %s(const json_t *json, %s **ret, char **ret_message)" % (static, name, kind),
                     ["_cleanup_(%sp) %s *made = xcalloc(1, sizeof(*made));" % (self.destructor(kind), kind),
                      "int r = json_struct_read(%s, json, %s, made, ret_message);"
                      % (self.sources.functions["JSON", kind], one[2]),
                      "", "if (r >= 0)", "\t*ret = TAKE_PTR(made);", "return r;"])
        elif what == "COPY":
            self.put("%s%s %s(const %s *from)" % (static, kind, name, kind),
                     ["%s copy = *from;" % kind, ""] + self.copy_lines(kind) + ["return copy;"])
        elif what == "DUP":
            made = self.sources.functions.get(("COPY", kind))
            lines = ["*to = %s(from);" % made, "return to;"] if made else (
                ["%s copy = *from;" % kind, ""] + self.copy_lines(kind) + ["*to = copy;", "return to;"])
            self.put("%s%s *%s(const %s *from)" % (static, kind, name, kind),
                     ["%s *to = xcalloc(1, sizeof(*to));" % kind] + ([""] if made else []) + lines)
        elif what == "EQUAL":
            self.put("%sbool %s(const %s *a, const %s *b)" % (static, name, kind, kind),
                     ["return %s;" % " &&\n\t       ".join(self.equal_lines(kind))])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-I", action="append", default=[], dest="directories")
    parser.add_argument("module")
    parser.add_argument("output")
    parser.add_argument("depfile")
    given = parser.parse_args()
    try:
        sources = Sources(given.module, given.directories)
        writer = Writer(sources)
        writer.out += ["DEFINE_STRING_TABLE(%s, %s, %s)\n" % one for one in sources.named]
        for local, what, one in sources.declared:
            if not sources.is_by_hand(one[1]):
                writer.define(local, what, one)
    except Wrong as wrong:
        sys.exit("%s: %s" % (given.module, wrong))
    with open(given.output, "w", encoding="utf-8") as f:
        f.write("/* Made by include/structs.py of %s and its header. */\n\n%s" % (os.path.basename(given.module),
                                                                               "\n".join(writer.out)))
    with open(given.depfile, "w", encoding="utf-8") as f:
        f.write("%s: %s\n" % (given.output, " ".join(sources.read)))


if __name__ == "__main__":
    main()
