# SPDX-License-Identifier: GPL-2.0-or-later
"""
What NCCL reads of a topology file, by the rules of its own reader, src/graph/xml.cc of NVIDIA/nccl; and the
document of GetTopology of hosts for which one is exported.
"""
import json
import os

from rig import HERE, expect

HANDLERS = {None: ["system"], "system": ["cpu"], "cpu": ["pci", "nic"], "pci": ["pci", "gpu", "nic", "pcilink"]}
ATTRIBUTES_MAX, TEXT_MAX = 16, 254
SPEEDS = ("2.5 GT/s PCIe", "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe")


class Reader:
    def __init__(self, text):
        self.text, self.at = text, 0

    def char(self):
        expect(self.at < len(self.text), "unexpected end")
        self.at += 1
        return self.text[self.at - 1]

    def token(self):
        """xmlGetToken(): a name, its value or None, and what stands behind."""
        name = ""
        while (c := self.char()) not in " >/\n\r":
            if c == "=":
                quote = self.char()
                expect(quote in "\"'", "a value without quotes", name)
                end = self.text.index(quote, self.at)
                value, self.at = self.text[self.at:end], end + 1
                expect(len(value) <= TEXT_MAX, value)
                return name, value, self.char()
            name += c
        expect(len(name) <= TEXT_MAX, name)
        return name, None, c

    def node(self):
        """xmlGetNode(): (name, attributes, is it single), "/name", or None at the end."""
        while self.at < len(self.text) and self.text[self.at] in " \n\r":
            self.at += 1
        if self.at == len(self.text):
            return None
        expect(self.char() == "<", "no <", self.text[self.at - 1:])
        name, value, last = self.token()
        expect(value is None, name)
        if name.startswith("!--"):
            self.at = self.text.index("-->", self.at) + 3
            return self.node()
        if not name and last == "/":
            name, _, last = self.token()
            expect(last == ">", name)
            return "/" + name
        attributes = {}
        while last == " ":
            key, value, last = self.token()
            expect(value is not None and key not in attributes, name, key)
            attributes[key] = value
        expect(len(attributes) <= ATTRIBUTES_MAX, attributes)
        single = last == "/"
        if single:
            _, _, last = self.token()
        expect(last == ">", name, last)
        return name, attributes, single

    def tree(self, name=None):
        """xmlLoadSub(): [(name, attributes, [what is inside])]"""
        inside = []
        while (node := self.node()) != ("/" + name if name else None):
            expect(isinstance(node, tuple) and node[0] in HANDLERS.get(name, []), name, node)
            inside.append((node[0], node[1], [] if node[2] else self.tree(node[0])))
        return inside


def read(text):
    """The tree, as far as NCCL can use it."""
    tree = Reader(text).tree()
    expect(len(tree) == 1 and tree[0][1] == {"version": "1"}, tree)
    seen = set()

    def check(node):
        name, attributes, inside = node
        expect(name != "cpu" or attributes.keys() == {"numaid"} and int(attributes["numaid"]) < 1000, node)
        if name == "pci":
            busid = attributes["busid"]
            expect(busid == busid.lower() and len(busid) == 12 and busid not in seen, node)
            expect(busid.startswith("ffff:ff:") == bool(inside), node)
            expect(not inside or attributes["class"] == "0x060400", node)
            expect(attributes.get("link_speed", SPEEDS[0]) in SPEEDS, node)
            seen.add(busid)
        for one in inside:
            check(one)

    check(tree[0])
    return tree


def functions_of(host):
    """{address: function} of a golden host."""
    with open(os.path.join(HERE, "..", "fixtures", "hosts", host + ".json"), encoding="utf-8") as f:
        return {function["bdf"]: function for function in json.load(f)["functions"]}


def document(functions, domain, places, links):
    """GetTopology: `places` {address: (its address in the guest, its path there)}, `links` {address: (speed, lanes)}
    or of all that have none."""
    def link(address):
        speed, width = links.get(address, links[None])
        return {"max_link_speed": speed, "max_link_width": width}

    gpus, companions, bridges = [], [], {}
    for address, (guest, path) in places.items():
        f = functions[address]
        upstream = f.get("upstream", [])
        for i, bridge in enumerate(upstream):
            bridges[bridge] = dict(link(bridge), address=bridge, kind=(
                "root-port" if i == 0 else "downstream-port" if i % 2 == 0 else "upstream-port"))
        device = {"address": address, "numa_node": f.get("numa_node"), "upstream_path": upstream, "domains": [
            {"uuid": domain, "guest_address": guest, "guest_path": path}], "vendor_id": f["vendor"],
            "device_id": f["device"]}
        if f["class"].startswith("03"):
            gpus.append(dict(device, **link(address), functions=[{"address": address, "class": f["class"]}]))
        else:
            companions.append(dict(device, **link(address), **{"class": f["class"]}))
    return {"schema": "org.gpupass1.topology/1", "gpus": gpus, "companions": companions,
            "bridges": list(bridges.values())}
