"""Builds the fabric of a Shape out of network namespaces: hosts, ToRs and Aggs, veth pairs as cables.

Switches are Linux routers: ECMP by fib_multipath_hash_policy=1 with a seed a switch, or spraying of packets, HTB as
strict levels and rate limit on every port, static routes. What BGP would do after a failure is done by Routing.
"""

import json
import threading

from lab import netns, spray, wire
from lab.impair import Impairment

# Buffers hold what all senders of a port may have in flight: switches that pause instead of dropping.
QUEUE_BYTES = 1_000_000
SOCKET_BYTES = 131072


def _level_rules(shape):
    """nftables: the class of a packet's level, on the way out."""
    lines = [f"ip dscp {shape.traffic_class(level) >> 2} meta priority set 1:1{level}" for level in range(shape.levels)]
    return "\n".join(lines)


def _port_commands(device, mbps, levels):
    """HTB: every leaf may use the whole link, the higher level first."""
    lines = [f"qdisc add dev {device} root handle 1: htb default 10",
             f"class add dev {device} parent 1: classid 1:1 htb rate {mbps}mbit ceil {mbps}mbit burst 3000 cburst 3000"]
    for level in range(levels):
        lines += [f"class add dev {device} parent 1:1 classid 1:1{level} htb rate {mbps * 10}kbit ceil {mbps}mbit "
                  f"prio {levels - 1 - level} quantum 1514 burst 1600 cburst 3000",
                  f"qdisc add dev {device} parent 1:1{level} handle {2 + level}: bfifo limit {QUEUE_BYTES}"]
    return lines


class _Port:
    """One end of a cable."""

    def __init__(self, namespace, device, mac, mbps):
        self.namespace, self.device, self.mac, self.mbps = namespace, device, mac, mbps


class Fabric:
    """Lifetime: the namespaces live until the process namespace of `isolate` ends."""

    def __init__(self, shape):
        self.shape = shape
        self.hosts = shape.all_hosts()
        self._ports = {}  # namespace -> [(own port, far port)]
        self._macs = 0
        self._down = set()  # ports that were taken down
        self._switches = [shape.tor(s, p) for s in range(shape.segments) for p in range(shape.planes)]
        self._switches += [shape.agg(p, a) for p in range(shape.planes) for a in range(shape.aggs)]

    def build(self):
        names = [host.name for host in self.hosts] + self._switches
        netns.ip([f"netns add {name}" for name in names])
        for name in names:
            self._set_up_namespace(name)
        self._lay_cables()
        for name in names:
            self._raise_links(name)
        for switch in self._switches:
            self._set_up_switch(switch)
        self.set_routes(set())

    # Names of devices: hosts have e0, e1; ToRs d0.. (hosts) and u0.. (Aggs); Aggs d0.. (segments).
    def _lay_cables(self):
        shape, cables = self.shape, []
        for host in self.hosts:
            for plane in range(shape.planes):
                cables.append((host.name, f"e{plane}", shape.tor(host.segment, plane), f"d{host.slot}", shape.nic_mbps))
        for plane in range(shape.planes):
            for segment in range(shape.segments):
                for agg in range(shape.aggs):
                    cables.append((shape.tor(segment, plane), f"u{agg}", shape.agg(plane, agg), f"d{segment}",
                                   shape.uplink_mbps))
        lines = []
        for near, near_device, far, far_device, mbps in cables:
            a, b = self._port(near, near_device, mbps), self._port(far, far_device, mbps)
            self._ports.setdefault(near, []).append((a, b))
            self._ports.setdefault(far, []).append((b, a))
            lines.append(f"link add {near_device} netns {near} address {a.mac} type veth "
                         f"peer name {far_device} netns {far} address {b.mac}")
        netns.ip(lines)

    def _port(self, namespace, device, mbps):
        self._macs += 1
        return _Port(namespace, device, f"02:00:0c:00:{self._macs >> 8:02x}:{self._macs & 255:02x}", mbps)

    def _set_up_namespace(self, name):
        settings = {"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1,
                    "net.ipv4.conf.all.rp_filter": 0, "net.ipv4.conf.default.rp_filter": 0,
                    "net.ipv4.tcp_wmem": f"4096 65536 {SOCKET_BYTES}", "net.ipv4.tcp_rmem": f"4096 131072 {SOCKET_BYTES}",
                    "net.ipv4.tcp_slow_start_after_idle": 0, "net.ipv4.tcp_rto_min_us": 40000,
                    "net.ipv4.tcp_rto_max_ms": 1000, "net.ipv4.tcp_no_metrics_save": 1}
        if self.shape.sprayed:
            settings |= spray.TCP_SETTINGS
        if name in self._switches:
            settings |= {"net.ipv4.ip_forward": 1, "net.ipv4.fib_multipath_hash_policy": 1,
                         "net.ipv4.fib_multipath_hash_seed": self.shape.hash_seed(name)}
        netns.sysctl(name, settings)

    def _raise_links(self, name):
        lines, queues = ["link set lo up"], []
        for own, far in self._ports[name]:
            # A gateway a port, known by its MAC: no ARP on cables. 169.254.0.1 means "the other end".
            lines += [f"link set {own.device} mtu 1600 gso_max_segs 1 up",
                      f"neigh add 169.254.0.1 lladdr {far.mac} dev {own.device} nud permanent"]
            queues += _port_commands(own.device, own.mbps, self.shape.levels)
        netns.ip(lines, name)
        netns.tc(queues, name)
        netns.nft(f"""table ip levels {{
            chain out {{
                type filter hook postrouting priority 0; policy accept;
                {_level_rules(self.shape)}
            }}
        }}
        """, name)

    def _set_up_switch(self, switch):
        wire.clear_hashes(switch, [own.device for own, _ in self._ports[switch]])
        if switch[0] == "t" and self.shape.sprayed:
            netns.ip(spray.set_up([f"via 169.254.0.1 dev u{agg} onlink" for agg in range(self.shape.aggs)]), switch)
            netns.nft(spray.chain("filter hook prerouting priority mangle"), switch)
        if switch[0] == "t":
            # Which flow left by which uplink, and how much of it.
            netns.nft("""table ip flows {
                set seen {
                    type ipv4_addr . ipv4_addr . inet_service . ifname
                    flags dynamic
                    counter
                    size 65535
                }
                chain out {
                    type filter hook postrouting priority 10; policy accept;
                    oifname "u*" udp dport 4791 add @seen { ip saddr . ip daddr . udp sport . oifname }
                    oifname "u*" tcp dport 29500 add @seen { ip saddr . ip daddr . tcp sport . oifname }
                }
            }
            """, switch)

    def set_routes(self, down, planes=None):
        """Routes that use no uplink of `down`, a set of (segment, plane, agg); those of some planes only, or of all."""
        shape = self.shape
        for plane in range(shape.planes) if planes is None else planes:
            for segment in range(shape.segments):
                targets = {}
                lines = [f"route replace 10.77.{segment}.{slot + 1}/32 via 169.254.0.1 dev d{slot} onlink"
                         for slot in range(shape.hosts)]
                for other in range(shape.segments):
                    ways = [agg for agg in range(shape.aggs)
                            if (segment, plane, agg) not in down and (other, plane, agg) not in down]
                    hops = " ".join(f"nexthop via 169.254.0.1 dev u{agg} onlink" for agg in ways)
                    if other != segment:
                        targets[f"10.77.{other}.0/24"] = ways
                    if other != segment and ways:
                        lines.append(f"route replace 10.77.{other}.0/24 {hops}")
                netns.ip(lines, shape.tor(segment, plane))
                if shape.sprayed:
                    netns.nft(spray.rules(targets), shape.tor(segment, plane))
            for agg in range(shape.aggs):
                lines = [f"route replace 10.77.{s}.0/24 via 169.254.0.1 dev d{s} onlink"
                         for s in range(shape.segments) if (s, plane, agg) not in down]
                if lines:
                    netns.ip(lines, shape.agg(plane, agg))

    def remove(self):
        """All namespaces, so that another fabric can be built. Nothing may run in them any more."""
        netns.ip([f"netns del {name}" for name in [host.name for host in self.hosts] + self._switches])

    def uplink_bytes(self):
        """{link id as `kubectl yardmaster path` has it: bytes sent}, both directions of every ToR-Agg cable."""
        shape, out = self.shape, {}
        for plane in range(shape.planes):
            for segment in range(shape.segments):
                sent = netns.counters(shape.tor(segment, plane))
                for agg in range(shape.aggs):
                    out[shape.uplink(segment, plane, agg) + ".up"] = sent[f"u{agg}"][1]
            for agg in range(shape.aggs):
                sent = netns.counters(shape.agg(plane, agg))
                for segment in range(shape.segments):
                    out[shape.uplink(segment, plane, agg) + ".down"] = sent[f"d{segment}"][1]
        return out

    def flows(self):
        """[(link id, source address, destination address, source port, bytes)] since clear_flows()."""
        shape, out = self.shape, []
        for plane in range(shape.planes):
            for segment in range(shape.segments):
                text = netns.run(["ip", "netns", "exec", shape.tor(segment, plane), "nft", "-j", "list", "set", "ip",
                                  "flows", "seen"])
                for item in json.loads(text)["nftables"]:
                    for element in item.get("set", {}).get("elem", []):
                        element = element["elem"]
                        source, target, port, device = element["val"]["concat"]
                        link = shape.uplink(segment, plane, int(device[1:])) + ".up"
                        out.append((link, source, target, port, element["counter"]["bytes"]))
        return out

    def clear_flows(self):
        for plane in range(self.shape.planes):
            for segment in range(self.shape.segments):
                netns.nft("flush set ip flows seen\n", self.shape.tor(segment, plane))

    def impair(self, host, plane, delay_seconds, loss):
        """Of the cable of a host's NIC port, both ways: the Impairments of the host's end and of the switch's."""
        near, far = next(ends for ends in self._ports[host.name] if ends[0].device == f"e{plane}")
        return [Impairment(end.namespace, end.device, delay_seconds, loss) for end in (near, far)]

    def carrier(self, namespace, device):
        """Whether the far end of a port's cable is up (and the port itself)."""
        return (namespace, device) not in self._down and self._far(namespace, device) not in self._down

    def _far(self, namespace, device):
        far = next(f for o, f in self._ports[namespace] if o.device == device)
        return far.namespace, far.device

    def set_link(self, namespace, device, up):
        netns.ip([f"link set {device} {'up' if up else 'down'}"], namespace)
        (self._down.discard if up else self._down.add)((namespace, device))
        if up:
            # The kernel forgets neighbours and routes of a device that goes down.
            own, far = next((o, f) for o, f in self._ports[namespace] if o.device == device)
            for end, other in ((own, far), (far, own)):
                netns.ip([f"neigh replace 169.254.0.1 lladdr {other.mac} dev {end.device} nud permanent"], end.namespace)


class Routing:
    """Stands for BGP: some time after a link goes, no switch routes over it any more."""

    def __init__(self, fabric, converge_seconds):
        self._fabric, self._seconds = fabric, converge_seconds
        self._down, self._lock = set(), threading.Lock()

    def lost(self, uplinks):
        with self._lock:
            self._down |= set(uplinks)
            down = set(self._down)
        threading.Timer(self._seconds, self._fabric.set_routes, [down]).start()

    def back(self, uplinks):
        with self._lock:
            self._down -= set(uplinks)
            self._fabric.set_routes(set(self._down))
