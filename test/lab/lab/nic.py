"""The stand-in for a host's RoCE NIC: two VXLAN devices, and nftables as the queue pairs' attributes.

Jobs see n0 and n1, a connection each to every peer. Their packets leave as UDP to port 4791, as RoCEv2's do,
and every (connection, peer) has a source port, a NIC port (that is, a plane) and the host a traffic class;
all can be changed while connections are open, as a queue pair's can. All NIC ports have one address.

In a sprayed fabric the NIC sends each packet by the next of the planes that reach its peer.
"""

import random

from lab import netns, spray

CONNECTIONS = 2
_VNI = 100
_MTU = 1500
# The source port that a connection's packets have before the NIC gives them theirs.
_RAW_PORT = 1001
FIRST_PORT, LAST_PORT = 0xC001, 0xFFFF


def default_port(seed, host, peer, connection):
    """As a NIC derives it from queue pair numbers: any of the 16,383, by chance."""
    return random.Random(f"{seed}/{host.name}/{peer.name}/{connection}").randint(FIRST_PORT, LAST_PORT)


class Nic:
    def __init__(self, shape, host):
        self.shape, self.host = shape, host
        self.peers = [h for h in shape.all_hosts() if h.name != host.name]
        self.down_ports = set()

    def set_up(self):
        host = self.host
        lines = [f"addr add {host.address}/32 dev lo"]
        # Marked packets leave by the port of their plane; the rest by port 0.
        lines += spray.set_up([f"via 169.254.0.1 dev e{plane} onlink src {host.address}" for plane in range(self.shape.planes)])
        lines.append(f"route add default via 169.254.0.1 dev e0 onlink src {host.address}")
        for connection in range(CONNECTIONS):
            device = f"n{connection}"
            lines += [f"link add {device} address {host.mac(connection)} type vxlan id {_VNI + connection} "
                      f"local {host.address} dstport 4791 srcport {_RAW_PORT + connection} {_RAW_PORT + connection + 1} "
                      f"nolearning noudpcsum",
                      f"link set {device} mtu {_MTU} gso_max_segs 1 up",
                      f"addr add {host.inner(connection)}/24 dev {device}"]
            lines += [f"neigh add {peer.inner(connection)} lladdr {peer.mac(connection)} dev {device} nud permanent"
                      for peer in self.peers]
        netns.ip(lines, host.name)
        fdb = [f"fdb add {peer.mac(c)} dev n{c} dst {peer.address}" for c in range(CONNECTIONS) for peer in self.peers]
        netns.run(["bridge", "-n", host.name, "-batch", "-"], stdin="\n".join(fdb) + "\n")
        netns.nft("""table ip nic {
            map ports {
                type inet_service . ipv4_addr : inet_service
            }
            map planes {
                type inet_service . ipv4_addr : mark
            }
            chain class {
            }
            chain out {
                type route hook output priority mangle; policy accept;
                udp dport 4791 meta mark set udp sport . ip daddr map @planes
                udp dport 4791 jump class
                udp dport 4791 udp sport set udp sport . ip daddr map @ports
                # None, as with RoCEv2: nftables makes a wrong one out of none where the packet inside has its own already.
                udp dport 4791 udp checksum set 0
            }
        }
        """, host.name)
        if self.shape.sprayed:
            # After the chain `out`, so that its mark is that which counts.
            netns.nft(spray.chain("route hook output priority -140"), host.name)
            self.spray({})

    def apply(self, connections, level):
        """`connections`: {(connection, peer's address): (plane, source port)}; all of them, in one transaction."""
        ports = ", ".join(f"{_RAW_PORT + c} . {a} : {port}" for (c, a), (_, port) in connections.items())
        planes = ", ".join(f"{_RAW_PORT + c} . {a} : {spray.FIRST_MARK + plane}" for (c, a), (plane, _) in connections.items())
        netns.nft(f"flush map ip nic ports\nflush map ip nic planes\nflush chain ip nic class\n"
                  f"add element ip nic ports {{ {ports} }}\nadd element ip nic planes {{ {planes} }}\n"
                  f"add rule ip nic class ip dscp set {self.shape.traffic_class(level) >> 2}\n", self.host.name)

    def spray(self, peers):
        """In a sprayed fabric. `peers`: {peer's address: the planes by which it is reached}, where that is not all."""
        netns.nft(spray.rules(peers, range(self.shape.planes)), self.host.name)

    def connections(self, seed, planned, arriving):
        """What apply() takes.

        `planned`: {peer's address: [(plane, source port), ...]}, in the plan's order. `arriving`: the same of what
        peers send to this host. A connection that is not planned has a default port, and its packets, which answer
        the peer's, leave by the NIC port on which those arrive. What would leave by a port without a link leaves
        by the other, as with any bond."""
        out = {}
        for peer in self.peers:
            paths, back = planned.get(peer.address, []), arriving.get(peer.address, [])
            for connection in range(CONNECTIONS):
                plane = back[connection % len(back)][0] if back else connection
                port = default_port(seed, self.host, peer, connection)
                if paths:
                    plane, port = paths[connection % len(paths)]
                if plane in self.down_ports:
                    plane = (plane + 1) % self.shape.planes
                out[connection, peer.address] = (plane, port)
        return out

