"""A cable that delays packets and damages some, where the kernel may have no netem: packets that arrive are sent to a TUN device, a
process holds them for the delay and puts them back, as if they had come from the cable then.

A damaged one comes back with a virtio header that no driver takes: the kernel drops it and counts it in rx_frame_errors of the TUN
device, as a NIC does with a wrong frame check sequence. As with netem, order is kept and what is damaged is drawn by chance, from a
seed.
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
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR = 1, 0x1000, 0x4000
_PACKET_BYTES = 2048
# struct virtio_net_hdr with a gso_type that does not exist.
_DAMAGED = struct.pack("BB8x", 0, 0x0F)


class Impairment:
    """Of what arrives at a device of a namespace, until end(). `arrivals`: the device on which it comes back."""

    def __init__(self, namespace, device, delay_seconds, loss, seed=1):
        self._namespace, self._device = namespace, device
        self.arrivals = f"x{device}"
        with netns.inside(namespace):
            fd = os.open("/dev/net/tun", os.O_RDWR)
            flags = _IFF_TUN | _IFF_NO_PI | _IFF_VNET_HDR
            fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", self.arrivals.encode(), flags))
        netns.ip([f"link set {self.arrivals} mtu 1600 up"], namespace)
        self._process = multiprocessing.get_context("fork").Process(
            target=_relay, args=(fd, delay_seconds, loss, random.Random(seed)), daemon=True)
        self._process.start()
        os.close(fd)
        with netns.inside(namespace):
            if "clsact" not in netns.run(["tc", "qdisc", "show", "dev", device]):
                netns.run(["tc", "qdisc", "add", "dev", device, "clsact"])
            netns.run(["tc", "filter", "add", "dev", device, "ingress", "pref", "1", "protocol", "all", "u32", "match", "u32",
                       "0", "0", "action", "mirred", "egress", "redirect", "dev", self.arrivals])

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
            packet = os.read(fd, _PACKET_BYTES)
            if chance.random() < loss:
                packet = _DAMAGED + packet[len(_DAMAGED):]
            number += 1
            heapq.heappush(held, (time.monotonic() + delay_seconds, number, packet))
        while held and held[0][0] <= time.monotonic():
            _put_back(fd, heapq.heappop(held)[2])


def _put_back(fd, packet):
    try:
        os.write(fd, packet)
    except OSError:
        if not packet.startswith(_DAMAGED):
            raise
