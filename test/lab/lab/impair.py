"""A cable that delays packets and loses some, where the kernel may have no netem: frames that arrive are sent to a TAP device, a
process holds them for the delay and puts those that are not lost back, as if they had come from the cable then.

As with netem, order is kept and what is lost is drawn by chance, from a seed.
"""

import fcntl
import heapq
import multiprocessing
import os
import random
import select
import struct
import time

from lab import netns

_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI = 2, 0x1000
_FRAME_BYTES = 2048


class Impairment:
    """Of what arrives at a device of a namespace, until end(). The device has the MAC `mac`."""

    def __init__(self, namespace, device, mac, delay_seconds, loss, seed=1):
        self._namespace, self._device = namespace, device
        tap = f"x{device}"
        with netns.inside(namespace):
            fd = os.open("/dev/net/tun", os.O_RDWR)
            fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", tap.encode(), _IFF_TAP | _IFF_NO_PI))
        netns.ip([f"link set {tap} address {mac} mtu 1600 up"], namespace)
        self._process = multiprocessing.get_context("fork").Process(
            target=_relay, args=(fd, delay_seconds, loss, random.Random(seed)), daemon=True)
        self._process.start()
        os.close(fd)
        with netns.inside(namespace):
            if "clsact" not in netns.run(["tc", "qdisc", "show", "dev", device]):
                netns.run(["tc", "qdisc", "add", "dev", device, "clsact"])
            netns.run(["tc", "filter", "add", "dev", device, "ingress", "pref", "1", "protocol", "all", "u32", "match", "u32",
                       "0", "0", "action", "mirred", "egress", "redirect", "dev", tap])

    def end(self):
        with netns.inside(self._namespace):
            netns.run(["tc", "filter", "del", "dev", self._device, "ingress", "pref", "1"])
        # With the last descriptor of it the device goes.
        self._process.terminate()
        self._process.join()


def _relay(fd, delay_seconds, loss, chance):
    os.setpriority(os.PRIO_PROCESS, 0, -10)
    held, number = [], 0
    while True:
        wait = max(0.0, held[0][0] - time.monotonic()) if held else None
        if select.select([fd], [], [], wait)[0]:
            frame = os.read(fd, _FRAME_BYTES)
            if chance.random() >= loss:
                number += 1
                heapq.heappush(held, (time.monotonic() + delay_seconds, number, frame))
        while held and held[0][0] <= time.monotonic():
            os.write(fd, heapq.heappop(held)[2])
