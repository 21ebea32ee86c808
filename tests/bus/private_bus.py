# SPDX-License-Identifier: GPL-2.0-or-later
"""A dbus-daemon of one's own, on which anybody may be; who may talk to gpupassd the installed policy says,
with the group of the user nobody for the operators'."""
import os
import subprocess

CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
 <type>custom</type>
 <listen>unix:path=%s</listen>
 <auth>EXTERNAL</auth>
%s
 <policy context="default">
  <allow user="*"/>
  <allow send_destination="*"/>
  <allow receive_type="method_call"/>
  <allow receive_type="method_return"/>
  <allow receive_type="error"/>
  <allow receive_type="signal"/>
  <allow own="*"/>
 </policy>
%s
</busconfig>
"""
POLICY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../conf/org.gpupass1.conf.in")
MEMBERS = "65534"  # the group of nobody


# What is built in is 128, and that is what the system bus of Debian and Ubuntu has.
MANY_REPLIES = """ <limit name="max_replies_per_connection">50000</limit>"""


def policy():
    """What of the installed file is between <busconfig> and its end. The user of the test is its root."""
    with open(POLICY, encoding="utf-8") as f:
        text = f.read().replace("@group@", MEMBERS).replace('user="root"', f'user="{os.geteuid()}"')
    return text.partition("<busconfig>")[2].partition("</busconfig>")[0]


class PrivateBus:
    """Listens in `directory`; `address` is for DBUS_SYSTEM_BUS_ADDRESS.

    limits: as settings of dbus-daemon; "" for those that are built in, as on a system bus.
    """

    def __init__(self, directory, limits=MANY_REPLIES):
        socket = os.path.join(directory, "bus")
        config = os.path.join(directory, "bus.conf")
        with open(config, "w", encoding="utf-8") as f:
            f.write(CONFIG % (socket, limits, policy()))
        self.address = "unix:path=" + socket
        self.process = subprocess.Popen(
            ["dbus-daemon", "--nofork", "--print-address", "--config-file=" + config],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.process.stdout.readline()  # it listens

    def close(self, timeout):
        self.process.terminate()
        self.process.wait(timeout)
        self.process.stdout.close()
