"""The lab's fabric as data: who is cabled to whom, addresses, names, and the manifests that say so.

A segment has one ToR a plane, and every ToR one uplink to each Agg of its plane. Each host has one GPU (that
is, one worker process) and one NIC with a port in every plane. Rates are in Mbit/s on the wire and in Gb/s in
the Fabric: the lab is a network of a thousandth of the speed, and bytes count a thousandfold in manifests, so
that all times are the same.
"""

import dataclasses

SCALE = 1000
FABRIC_POD = "p0"


@dataclasses.dataclass(frozen=True)
class Host:
    index: int
    segment: int
    slot: int  # place in its segment, from 0
    backup: bool

    @property
    def name(self):
        return f"s{self.segment}h{self.slot}"

    @property
    def address(self):
        """Of the NIC, the same by all of its ports."""
        return f"10.77.{self.segment}.{self.slot + 1}"

    @property
    def namespace(self):
        """The network namespace that its containers join."""
        return self.name

    def manifest(self):
        return node_manifest(self)

    def status(self):
        return node_status()

    def inner(self, connection):
        """The address by which jobs use the NIC's connection 0 or 1 to every peer."""
        return f"192.168.{connection}.{self.index + 1}"

    def mac(self, connection):
        return f"02:00:0a:{connection:02x}:00:{self.index + 1:02x}"


@dataclasses.dataclass(frozen=True)
class Shape:
    planes: int = 2  # at most 10, as names of devices have one digit
    segments: int = 2
    hosts: int = 8  # of a segment, backup hosts included
    backups: int = 1
    aggs: int = 8  # of a plane
    nic_mbps: int = 12
    uplink_mbps: int = 12
    levels: int = 4
    seed: int = 1  # of the switches' hash seeds
    # Packets of one flow go by all planes and all uplinks, instead of by one that its ports say.
    sprayed: bool = False

    @property
    def host_mbps(self):
        """Of a NIC, all planes together."""
        return self.planes * self.nic_mbps

    def all_hosts(self):
        return [Host(s * self.hosts + h, s, h, h >= self.hosts - self.backups)
                for s in range(self.segments) for h in range(self.hosts)]

    def tor(self, segment, plane):
        return f"t{segment}{plane}"

    def agg(self, plane, agg):
        return f"a{plane}{agg}"

    def tor_name(self, segment, plane):
        """As `kubectl yardmaster path` names it."""
        return f"{FABRIC_POD}/s{segment}/tor-r0-p{plane}"

    def agg_name(self, plane, agg):
        return f"{FABRIC_POD}/agg-p{plane}-{agg}"

    def uplink(self, segment, plane, agg):
        return f"{self.tor_name(segment, plane)}:u{agg}"

    def hash_seed(self, switch):
        """Not 0, another for every switch."""
        return (hash_text(f"{self.seed}/{switch}") % (2**32 - 1)) + 1

    def traffic_class(self, level):
        """CS1 for level 1 and so on; CS6 and CS7 are the network's own and not used."""
        return 32 * level


def hash_text(text):
    """FNV-1a; Python's own hash() differs from run to run."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def fabric_manifest(shape):
    def linux(switch):
        return {"model": "linux", "seed": shape.hash_seed(switch)}
    overrides = {}
    for plane in range(shape.planes):
        for segment in range(shape.segments):
            overrides[shape.tor_name(segment, plane)] = linux(shape.tor(segment, plane))
        for agg in range(shape.aggs):
            overrides[shape.agg_name(plane, agg)] = linux(shape.agg(plane, agg))
    return {
        "apiVersion": "yardmaster.dev/v1alpha1", "kind": "Fabric", "metadata": {"name": "lab"},
        "spec": {
            "host": {"gpus": 1, "rails": 1, "nicPorts": shape.planes, "nicGbps": shape.nic_mbps, "nvlinkGbps": 3600,
                     "nicSpraying": shape.sprayed},
            "planes": shape.planes,
            "size": {"fabricPods": 1, "segmentsPerFabricPod": shape.segments, "hostsPerSegment": shape.hosts},
            "backup": {"hostsPerSegment": shape.backups},
            "networkLevels": {"count": shape.levels, "trafficClasses": [
                {"level": level, "trafficClass": shape.traffic_class(level)} for level in range(shape.levels)]},
            "tiers": [
                {"role": "tor", "spraying": shape.sprayed, "scope": "Segment", "switches": 1, "perRail": True, "perPlane": True,
                 "downPorts": shape.hosts, "downGbps": shape.nic_mbps,
                 "upPorts": shape.aggs, "upGbps": shape.uplink_mbps},
                {"role": "agg", "scope": "FabricPod", "switches": shape.aggs, "perRail": False, "perPlane": True,
                 "downPorts": shape.segments, "downGbps": shape.uplink_mbps}],
            "ecmpHash": {"tor": {"model": "linux", "seed": 1}, "agg": {"model": "linux", "seed": 2}},
            "ecmpHashOverrides": overrides}}


def node_manifest(host):
    labels = {"yardmaster.dev/fabric-pod": FABRIC_POD, "yardmaster.dev/segment": f"s{host.segment}",
              "kubernetes.io/hostname": host.name}
    node = {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": host.name, "labels": labels,
                         "annotations": {"yardmaster.dev/nic-addresses": host.address}},
            "spec": {}}
    if host.backup:
        labels["yardmaster.dev/backup"] = "true"
        node["spec"]["taints"] = [{"key": "yardmaster.dev/backup", "value": "true", "effect": "NoSchedule"}]
    return node


def node_status(ready=True):
    amount = {"cpu": "8", "memory": "16Gi", "pods": "110", "nvidia.com/gpu": "1"}
    return {"capacity": amount, "allocatable": amount,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False", "reason": "LabNode",
                            "message": "the test node answers"}]}


def manifests(shape):
    nodes = []
    for host in shape.all_hosts():
        node = node_manifest(host)
        node["status"] = node_status()
        nodes.append(node)
    return [fabric_manifest(shape)] + nodes
