"""Packet spraying by the kernel: nftables gives each packet a mark, and the mark has a table of routes.

Round robin over the ways that there are. Full packets and short ones (the acknowledgements) take turns apart from
each other: with one turn for both, data would take every other way only.
"""

FIRST_MARK, FIRST_TABLE = 1, 101
_SHORT_BYTES = 300

# Packets of a connection overtake each other, which real NICs that spray take as it comes. TCP is made to do so, too: it
# takes a packet for lost only when those sent a quarter of the present round trip later have arrived (or more, where that
# was wrong before), and waits for the clock only where nothing else is left. Windows are small, so that queues are.
TCP_SETTINGS = {"net.ipv4.tcp_congestion_control": "reno", "net.ipv4.tcp_min_rtt_wlen": 0,
                "net.ipv4.tcp_reordering": 300, "net.ipv4.tcp_max_reordering": 1000,
                "net.ipv4.tcp_wmem": "4096 65536 65536", "net.ipv4.tcp_rmem": "4096 65536 65536",
                "net.ipv4.tcp_rto_min_us": 300000, "net.ipv4.tcp_rto_max_ms": 4000}


def set_up(ways):
    """`ip` commands that let packets go by the way of their mark; `ways`: a route's "via ... dev ..." each."""
    lines = []
    for i, way in enumerate(ways):
        lines += [f"route add default {way} table {FIRST_TABLE + i}", f"rule add fwmark {FIRST_MARK + i} table {FIRST_TABLE + i}"]
    return lines


def chain(kind):
    """An nftables table with an empty chain `spray`, and one that calls it; `kind`: of that chain."""
    return f"""table ip spray {{
        chain spray {{
        }}
        chain packets {{
            type {kind}; policy accept;
            udp dport 4791 jump spray
        }}
    }}
    """


def rules(targets, ways=()):
    """What spreads packets to a network of `targets` over its ways (numbers from 0), others over `ways`, if there are any."""
    lines = ["flush chain ip spray spray"]
    for network, some in sorted(targets.items()):
        lines += [f"add rule ip spray spray ip daddr {network} {rule}" for rule in _turns(some) or ["drop"]]
    return "\n".join(lines + [f"add rule ip spray spray {rule}" for rule in _turns(ways)]) + "\n"


def _turns(ways):
    if not ways:
        return []
    marks = ", ".join(f"{i} : {FIRST_MARK + way}" for i, way in enumerate(ways))
    return [f"udp length {size} meta mark set numgen inc mod {len(ways)} map {{ {marks} }} return"
            for size in (f"< {_SHORT_BYTES}", f">= {_SHORT_BYTES}")]
