"""Compares the hash model `linux` with the kernel it describes.

A router namespace has one way in and up to 64 ways out. For every case (IPv4 or IPv6, number of
members, weights, a member lost) random headers go through `ip route get`, in part as real packets, and
each must leave by the member that `kubectl yardmaster hash` names.
"""

import argparse
import os
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

from lab import netns, wire

SIZES = [2, 3, 4, 5, 7, 8, 12, 15, 16, 24, 31, 32, 48, 59, 60, 64]
PACKET_SIZES = [2, 4, 7]
MAX_MEMBERS = 64
_SO_RCVBUFFORCE = 33
ROUTER, SOURCE, SINK = "router", "source", "sink"
MAC = {"in": "02:00:00:00:01:01", "peer": "02:00:00:00:01:02"}


def out_mac(member):
    return f"02:00:00:00:02:{member:02x}"


def sink_mac(member):
    return f"02:00:00:00:03:{member:02x}"


def make_router():
    """source --in-- router --m0 ... m63-- sink, all neighbours known."""
    netns.ip([f"netns add {name}" for name in (ROUTER, SOURCE, SINK)])
    for name in (ROUTER, SOURCE, SINK):
        netns.sysctl(name, {
            "net.ipv6.conf.all.accept_dad": 0, "net.ipv6.conf.default.accept_dad": 0,
            "net.ipv6.conf.default.router_solicitations": 0, "net.ipv6.conf.default.addr_gen_mode": 1,
            "net.ipv4.conf.all.rp_filter": 0, "net.ipv4.conf.default.rp_filter": 0})
    netns.sysctl(ROUTER, {"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})
    netns.ip([f"link add in0 netns {ROUTER} address {MAC['in']} type veth "
              f"peer name peer0 netns {SOURCE} address {MAC['peer']}"])
    netns.ip(["addr add 10.0.0.2/24 dev peer0", "addr add fd00::2/64 dev peer0 nodad",
              "link set peer0 up", f"neigh add 10.0.0.1 lladdr {MAC['in']} dev peer0 nud permanent",
              f"neigh add fd00::1 lladdr {MAC['in']} dev peer0 nud permanent",
              "route add default via 10.0.0.1", "route add ::/0 via fd00::1"], SOURCE)
    netns.ip(["addr add 10.0.0.1/24 dev in0", "addr add fd00::1/64 dev in0 nodad", "link set in0 up"], ROUTER)
    netns.ip([f"link add m{i} netns {ROUTER} address {out_mac(i)} type veth "
              f"peer name s{i} netns {SINK} address {sink_mac(i)}" for i in range(MAX_MEMBERS)])
    netns.ip([f"link set s{i} up" for i in range(MAX_MEMBERS)], SINK)
    lines = []
    for i in range(MAX_MEMBERS):
        lines += [f"addr add 10.1.{i}.1/24 dev m{i}", f"addr add fd01:{i:x}::1/64 dev m{i} nodad"]
    netns.ip(lines, ROUTER)
    wire.clear_hashes(ROUTER, ["in0"])
    # Only forwarded packets are to be counted, not the router's own reports of IPv6 groups.
    netns.nft("table inet quiet {\n chain own {\n type filter hook output priority 0; policy drop;\n }\n}\n", ROUTER)


def set_group(v6, weights):
    """The default route over the members with these weights, every link up."""
    lines = [f"link set m{i} up" for i in range(len(weights))]
    for i in range(len(weights)):
        lines += [f"addr replace fd01:{i:x}::1/64 dev m{i} nodad",
                  f"neigh replace 10.1.{i}.2 lladdr {sink_mac(i)} dev m{i} nud permanent",
                  f"neigh replace fd01:{i:x}::2 lladdr {sink_mac(i)} dev m{i} nud permanent"]
    gateway = "fd01:{:x}::2" if v6 else "10.1.{}.2"
    hops = " ".join(f"nexthop via {gateway.format(i)} dev m{i} weight {w}" for i, w in enumerate(weights))
    netns.ip(lines, ROUTER)
    subprocess.run(["ip", "-n", ROUTER, "-6" if v6 else "-4", "route", "flush", "default"], check=False,
                   stderr=subprocess.DEVNULL)
    netns.ip([f"route add {'::/0' if v6 else '0.0.0.0/0'} {hops}"], ROUTER)


def set_hash(v6, seed):
    family = "ipv6" if v6 else "ipv4"
    netns.sysctl(ROUTER, {"net.ipv4.fib_multipath_hash_seed": seed,
                          f"net.{family}.fib_multipath_hash_policy": 1})


def random_header(rng, v6):
    """(source, destination, protocol, source port, destination port)"""
    def address():
        if v6:
            words = ":".join(f"{rng.getrandbits(16):x}" for _ in range(6))
            return socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, f"2001:db8:{words}"))
        return f"{rng.randint(20, 99)}.{rng.getrandbits(8)}.{rng.getrandbits(8)}.{rng.randint(1, 254)}"
    ports = (rng.randint(1, 65535), rng.choice([4791, rng.randint(1, 65535)]))
    return (address(), address(), rng.choice(["udp", "tcp"])) + ports


def predict(seed, weights, headers):
    """The member of every header, by kubectl yardmaster hash."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as model:
        model.write(f"model: linux\nseed: {seed}\ngroup: {{weights: {weights}}}\n")
        model.flush()
        lines = "".join(",".join(map(str, header)) + "\n" for header in headers)
        answer = netns.run([os.environ["YARDMASTER_BIN"] + "/kubectl-yardmaster", "hash", "-f", model.name,
                            "--members", str(len(weights)), "-o", "json"], stdin=lines)
    return [int(index) for index in re.findall(r'"index": (\d+)', answer)]


def ask_kernel(v6, headers):
    """The member of every header, by ip route get."""
    lines = [f"route get {dip} from {sip} iif in0 ipproto {protocol} sport {sport} dport {dport}"
             for sip, dip, protocol, sport, dport in headers]
    out = netns.run(["ip", "-o", "-n", ROUTER, "-batch", "-"], stdin="\n".join(lines) + "\n")
    return [int(member) for member in re.findall(r" dev m(\d+) ", out)]


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame_of(v6, header, number):
    """An Ethernet frame of a UDP packet with this header that carries `number`."""
    sip, dip, _, sport, dport = header
    payload = struct.pack("!I", number)
    udp = struct.pack("!HHHH", sport, dport, 8 + len(payload), 0 if not v6 else 0xFFFF) + payload
    ethernet = bytes.fromhex((MAC["in"] + MAC["peer"]).replace(":", ""))
    if v6:
        family = socket.AF_INET6
        packet = struct.pack("!IHBB", 6 << 28, len(udp), 17, 64)
        return (ethernet + b"\x86\xdd" + packet + socket.inet_pton(family, sip) + socket.inet_pton(family, dip) + udp)
    packet = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
    packet += socket.inet_aton(sip) + socket.inet_aton(dip)
    packet = packet[:10] + struct.pack("!H", checksum(packet)) + packet[12:]
    return ethernet + b"\x08\x00" + packet + udp


def send_frames(v6, headers):
    with netns.inside(SOURCE):
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
            out.bind(("peer0", 0))
            for number, header in enumerate(headers):
                out.send(frame_of(v6, header, number))
                if number % 64 == 63:
                    time.sleep(0.002)


def send_from_sockets(v6, headers):
    """From connected sockets, which give packets a hash of their own (see wire.py)."""
    for number, header in enumerate(headers):
        with socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            out.bind((header[0], header[3]))
            out.connect((header[1], header[4]))
            out.send(struct.pack("!I", number))


def receive(count):
    """{number in the packet: member} of `count` packets, or fewer when no more come for a second."""
    with netns.inside(SINK):
        listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    listener.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 24)
    listener.settimeout(1.0)

    def collect():
        seen = {}
        try:
            while len(seen) < count:
                frame, (device, *_) = listener.recvfrom(2048)
                if frame[:6].startswith(b"\x02\x00\x00\x00\x03"):
                    seen[struct.unpack("!I", frame[-4:])[0]] = int(device[1:])
        except TimeoutError:
            pass
        listener.close()
        return seen
    return collect


class Tally:
    def __init__(self):
        self.headers = self.packets = self.wrong = 0
        self.examples = []

    def compare(self, case, headers, predicted, found):
        for i, header in enumerate(headers):
            if found.get(i) != predicted[i]:
                self.wrong += 1
                self.examples.append(f"{case}: {header} was to take member {predicted[i]}, took {found.get(i)}")


def check_headers(tally, case, v6, seed, weights, lost, headers):
    """`lost`: the member whose link went down, or None."""
    living = [i for i in range(len(weights)) if i != lost]
    predicted = [living[i] for i in predict(seed, [weights[i] for i in living], headers)]
    found = ask_kernel(v6, headers)
    tally.headers += len(headers)
    if len(found) != len(headers):
        raise RuntimeError(f"{case}: the kernel routed {len(found)} of {len(headers)} headers")
    tally.compare(case, headers, predicted, dict(enumerate(found)))


def check_packets(tally, case, v6, seed, weights, lost, headers, send):
    living = [i for i in range(len(weights)) if i != lost]
    predicted = [living[i] for i in predict(seed, [weights[i] for i in living], headers)]
    before = netns.counters(ROUTER)
    collect = receive(len(headers))
    with netns.inside(SOURCE):
        send(v6, headers)
    found = collect()
    after = netns.counters(ROUTER)
    tally.packets += len(headers)
    tally.compare(case, headers, predicted, found)
    for member in living:
        counted = after[f"m{member}"][0] - before[f"m{member}"][0]
        if counted != predicted.count(member):
            tally.wrong += 1
            tally.examples.append(f"{case}: m{member} counted {counted} packets, {predicted.count(member)} were to come")


def run(options):
    rng = random.Random(options.seed)
    make_router()
    tally = Tally()
    cases = [(v6, size, weighted, loss) for v6 in (False, True) for size in SIZES
             for weighted in (False, True) for loss in (False, True)]
    for at, (v6, size, weighted, loss) in enumerate(cases):
        seed = rng.randint(1, 2**32 - 1)
        weights = [rng.randint(1, 9) if weighted else 1 for _ in range(size)]
        lost = rng.randrange(size) if loss else None
        case = f"{'IPv6' if v6 else 'IPv4'}, {size} members{', weighted' if weighted else ''}{', one lost' if loss else ''}"
        set_group(v6, weights)
        if lost is not None:
            netns.ip([f"link set m{lost} down"], ROUTER)
        count = options.headers * (at + 1) // len(cases) - options.headers * at // len(cases)
        headers = [random_header(rng, v6) for _ in range(count)]
        set_hash(v6, seed)
        check_headers(tally, case, v6, seed, weights, lost, headers)
        if size not in PACKET_SIZES or options.packets == 0:
            continue
        frames = [h[:2] + ("udp",) + h[3:] for h in
                  (random_header(rng, v6) for _ in range(options.packets // (16 * len(PACKET_SIZES)) or 1))]
        check_packets(tally, case + ", packets", v6, seed, weights, lost, frames, send_frames)
        ports = rng.sample(range(10000, 60000), len(frames))
        own = "fd00::2" if v6 else "10.0.0.2"
        check_packets(tally, case + ", sockets", v6, seed, weights, lost,
                      [(own, h[1], "udp", port, 4791) for h, port in zip(frames, ports)], send_from_sockets)
    return tally


def main():
    parser = argparse.ArgumentParser(prog="test/lab/hash", description=__doc__)
    parser.add_argument("--headers", type=int, default=10000, help="headers for ip route get, in all")
    parser.add_argument("--packets", type=int, default=2000, help="real packets, in all, about")
    parser.add_argument("--seed", type=int, default=1, help="random seed")
    options = parser.parse_args()
    began = time.monotonic()
    tally = run(options)
    for example in tally.examples[:20]:
        print(example)
    print(f"{tally.headers} headers and {tally.packets} packets through Linux {os.uname().release}, "
          f"{tally.wrong} not where the model says, {time.monotonic() - began:.1f} s")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
