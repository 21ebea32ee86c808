# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest agent of a domain, played by a thread; the daemon comes to it by fake-agent.c."""
import base64
import json
import socket
import subprocess
import threading

from rig import TIMEOUT


class Agent(threading.Thread):
    """Answers guest-exec with the next number, and tells of that program what `says` has for it."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen()
        self.says = {}
        self.programs = []
        self.root = None  # of files in the guest: what it runs by sh runs there
        self.start()

    def shell(self, text):
        for folder in ("/sys/", "/etc/", "/var/run/"):
            text = text.replace(folder, self.root + folder)
        done = subprocess.run(["sh", "-c", text], stdout=subprocess.PIPE, timeout=TIMEOUT, check=True)
        return done.stdout.replace(self.root.encode(), b"")

    def answer(self, message):
        call = json.loads(message)
        if call["execute"] == "guest-info":
            return {"supported_commands": [{"name": name, "enabled": True}
                                           for name in ("guest-exec", "guest-exec-status")]}
        if call["execute"] == "guest-exec":
            self.programs.append(" ".join(call["arguments"]["arg"]))
            if self.root and call["arguments"]["path"] == "sh":
                self.says[self.programs[-1]] = self.shell(call["arguments"]["arg"][1])
            return {"pid": len(self.programs) - 1}
        if call["execute"] == "guest-exec-status":
            text = self.says.get(self.programs[call["arguments"]["pid"]])
            ended = {"exited": True, "exitcode": 1 if text is None else 0}
            if text:
                ended["out-data"] = base64.b64encode(text).decode()
            return ended
        return {}

    def run(self):
        while True:
            with self.listener.accept()[0] as call:
                message = b""
                while chunk := call.recv(65536):
                    message += chunk
                call.sendall(json.dumps({"return": self.answer(message)}).encode())


def report(uuids, paths, links, peers=("OK", "OK")):
    """What nvidia-smi prints in a guest with these two: paths and active links of each."""
    def matrix(cells):
        return ("\tGPU0\tGPU1\n" + f"GPU0\t X \t{cells[0]}\n" + f"GPU1\t{cells[1]}\t X \n").encode()

    status = "".join(
        f"GPU {i}: NVIDIA GeForce RTX 3090 (UUID: {uuids[i]})\n" + "".join(
            f"\t Link {k}: {'14.062 GB/s' if k < links[i] else '<inactive>'}\n" for k in range(4))
        for i in range(2))
    return {
        "--query-gpu=index,uuid,pci.bus_id --format=csv,noheader":
            "".join(f"{i}, {uuids[i]}, 00000000:0{i + 1}:00.0\n" for i in range(2)).encode(),
        "topo -m": matrix(paths),
        "nvlink --status": status.encode(),
        "topo -p2p n": matrix(peers),
    }
