#include "pkg/api/fabric.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/ecmp_hash_json.h"
#include "pkg/api/field_codec.h"
#include "pkg/api/field_schema.h"
#include "pkg/api/names.h"

namespace yardmaster::api {

namespace {

using fabric::FabricSpec;
using nlohmann::json;

constexpr std::string_view kScopeNames[] = {"Segment", "FabricPod", "Fabric"};
constexpr std::string_view kBackupWhichNames[] = {"Marked", "Chosen"};
// Contradictions inside these bounds are fabric::Problems' business.
constexpr int kMaxSize = 10'000;       // fabric pods, segments and hosts
constexpr int kMaxSwitches = 100'000;  // of a tier, and ports of a switch
constexpr int kMaxGbps = 100'000;

bool IsAddressText(std::string_view text) {
  return text.size() >= 2 && text.find_first_not_of("0123456789ABCDEFabcdef:.") == text.npos;
}
constexpr TextRule kAddressText = {45, 0, IsAddressText, "an IPv4 or IPv6 address",
                                   "^[0-9A-Fa-f:.]{2,45}$"};

void DescribeLabels(FieldVisitor& labels, FabricSpec& spec) {
  labels.Text("fabricPod", spec.fabric_pod_label, NotEmpty(kQualifiedName),
              Defaulted("Label whose value is the fabric pod."));
  labels.Text("segment", spec.segment_label, NotEmpty(kQualifiedName),
              Defaulted("Label whose value is the segment, unique within its fabric pod."));
}

void DescribeHost(FieldVisitor& host, FabricSpec& spec) {
  host.Int("gpus", spec.gpus_per_host, 1, 64, Defaulted("GPUs."));
  host.Text("gpuResource", spec.gpu_resource, NotEmpty(kQualifiedName),
            Defaulted("Extended resource that the hosts' GPUs are.").OmitAt(kGpuResource));
  host.Int("rails", spec.rails, 1, 64, Defaulted("NICs, one per rail."));
  host.Int("nicPorts", spec.nic_ports, 1, 16,
           Defaulted("Ports of each NIC; port p belongs to plane p mod planes."));
  host.Int("nicGbps", spec.nic_gbps, 1, kMaxGbps, Defaulted("Gb/s of each port."));
  host.Bool(
      "nicSpraying", spec.nic_spraying,
      Defaulted("The NICs spread one flow's packets evenly over their ports and all equal paths "
                "(multi-plane load balancing): loads and levels are planned, source ports are not.")
          .OmitAt(false));
  host.Number("nvlinkGbps", spec.nvlink_gbps, 0, 1e6,
              Defaulted("Gb/s per GPU and direction inside a host, and inside a domain."));
}

void DescribeScaleUp(FieldVisitor& fields, fabric::ScaleUp& scale_up) {
  fields.Text(
      "label", scale_up.label, NotEmpty(kQualifiedName),
      Defaulted("Label whose value is the domain. A Node without it is a domain of its own.")
          .OmitAt("yardmaster.dev/domain"));
  fields.Texts("moreLabels", scale_up.more_labels, {.max_entries = 8, .is_set = true},
               NotEmpty(kQualifiedName),
               "Labels that are read where a Node has none of those before, for example "
               "nvidia.com/gpu.clique.",
               "A label.");
  fields.Int("hostsPerDomain", scale_up.hosts_per_domain, 0, kMaxSize,
             Defaulted("Hosts of one domain, backup hosts included; 0: not stated.").OmitAt(0));
  fields.Int("backupHostsPerDomain", scale_up.backup_hosts_per_domain, 0, kMaxSize,
             Defaulted("Backup hosts of one domain: in rendered Nodes, and where backup.which is "
                       "Chosen; besides them a segment keeps what backup asks for.")
                 .OmitAt(0));
}

// `object` with a list in spec.scaleUp.label, which files may have, as its first entry and
// moreLabels; null where nothing is to be changed.
json WithOneDomainLabel(JsonView object) {
  const JsonView given = object.At({"spec", "scaleUp"});
  if (!given["label"].is_array() || given["label"].size() == 0 || given["moreLabels"].present()) {
    return nullptr;
  }
  json out = object.ToJson();
  json& scale_up = out["spec"]["scaleUp"];
  json labels = std::move(scale_up["label"]);
  scale_up["label"] = labels[0];
  labels.erase(0);
  if (!labels.empty()) scale_up["moreLabels"] = std::move(labels);
  return out;
}

void DescribeSize(FieldVisitor& size, FabricSpec& spec) {
  size.Int("fabricPods", spec.fabric_pods, 1, kMaxSize, Defaulted("Fabric pods."));
  size.Int("segmentsPerFabricPod", spec.segments_per_fabric_pod, 1, kMaxSize,
           Defaulted("Segments of one fabric pod."));
  size.Int("hostsPerSegment", spec.hosts_per_segment, 1, kMaxSize,
           Defaulted("Hosts of one segment, backup hosts included."));
}

void DescribeBackup(FieldVisitor& fields, fabric::BackupPolicy& backup) {
  fields.Int("hostsPerSegment", backup.hosts_per_segment, 0, kMaxSize,
             Defaulted("Backup hosts of one segment."));
  fields.Bool("borrowInSegment", backup.borrow_in_segment,
              Defaulted("When no backup host of the segment is left, a free ordinary host of the "
                        "segment may step in."));
  fields.Bool(
      "borrowInFabricPod", backup.borrow_in_fabric_pod,
      Defaulted("When the segment has no host either, a free ordinary host of the fabric pod "
                "may step in; if false, the slot waits."));
  fields.Bool("lendToPreemptible", backup.lend_to_preemptible,
              Defaulted("Preemptible jobs may run on backup hosts until one is needed."));
  fields.Number(
      "ratio", backup.ratio, 0, 0.9,
      Defaulted("Share of a segment's hosts, rounded up. Of ratio and hostsPerSegment the "
                "larger number counts."));
  fields.Enum(
      "which", backup.which, kBackupWhichNames,
      Defaulted("Marked: the Nodes with the backup label or taint. Chosen: besides them, free "
                "hosts of each segment until there are as many as the policy says."));
}

struct LevelClass {
  int level = 0;
  int traffic_class = 0;

  void Describe(FieldVisitor& fields) {
    fields.Int("level", level, 0, 63, RequiredByServer("Level."));
    fields.Int("trafficClass", traffic_class, 0, 255, RequiredByServer("DSCP * 4."));
  }
};

void DescribeLevels(FieldVisitor& fields, fabric::NetworkLevels& levels) {
  fields.Int("count", levels.count, 1, 64, Defaulted("How many; 0 is the lowest."));
  fields.Ints("reserved", levels.reserved, 0, 63, {.max_entries = 63, .is_set = true},
              Defaulted("Levels that no job gets.").Always());
  std::vector<LevelClass> classes;
  for (const auto& [level, traffic_class] : levels.traffic_class_of_level) {
    classes.push_back({level, traffic_class});
  }
  fields.Objects(
      "trafficClasses", classes, {.max_entries = 64, .map_key = "level"},
      "IP traffic class byte of a level; others have a default from CS0 to CS5 that rises "
      "with the level.",
      "One level.");
  fields.Check([&](FieldReader&) {
    for (const LevelClass& entry : classes) {
      levels.traffic_class_of_level[entry.level] = entry.traffic_class;
    }
  });
}

void HashesField(FieldVisitor& fields, const char* key, int max_entries,
                 std::map<std::string, fabric::HashSpec>& hashes, const char* meaning) {
  const auto schema = [&]() -> json {
    return {
        {"type", "object"}, {"maxProperties", max_entries}, {"additionalProperties", HashSchema()}};
  };
  const auto read = [&](FieldReader& in) {
    for (auto& [name, block] : in.Members(key, max_entries)) hashes[name] = ReadHashSpec(block);
  };
  fields.Custom(key, schema, meaning, read, [&] {
    json out;
    for (const auto& [name, hash] : hashes) out[name] = EncodeHashSpec(hash);
    return out;
  });
}

void DescribeFabricRules(FieldVisitor& spec) {
  spec.Rule(
      "self.host.nicPorts % self.planes == 0",
      "planes must divide host.nicPorts; every plane needs the same number of ports of each NIC",
      ".planes");
  spec.Rule("self.host.gpus % self.host.rails == 0",
            "host.rails must divide host.gpus; give every rail the same number of GPUs",
            ".host.rails");
  spec.Rule("self.backup.hostsPerSegment < self.size.hostsPerSegment",
            "backup.hostsPerSegment must be less than size.hostsPerSegment; keep at least one "
            "ordinary host in a segment",
            ".backup.hostsPerSegment");
  spec.Rule("size(self.tiers) == 0 || self.tiers[0].scope == 'Segment'",
            "tiers[0].scope must be Segment; the first tier is what the hosts of one segment share",
            ".tiers");
  spec.Rule(
      "size(self.tiers) == 0 || self.tiers[0].switches * (self.tiers[0].perPlane ? self.planes : "
      "1) == self.host.nicPorts",
      "tiers[0].switches must be host.nicPorts / planes (host.nicPorts if perPlane is false); "
      "every port of a NIC goes to a switch of its own",
      ".tiers");
  spec.Rule("size(self.tiers) == 0 || self.tiers[0].downGbps == self.host.nicGbps",
            "tiers[0].downGbps must equal host.nicGbps; both ends of a cable have one speed",
            ".tiers");
  spec.Rule(
      "size(self.tiers) == 0 || self.tiers[0].downPorts >= self.size.hostsPerSegment * "
      "(self.tiers[0].perRail ? self.tiers[0].railsPerSwitch : self.host.rails)",
      "tiers[0].downPorts must be at least size.hostsPerSegment times railsPerSwitch (times "
      "host.rails without perRail); give more ports or fewer hosts in a segment",
      ".tiers");
  spec.Rule("size(self.tiers) == 0 || self.tiers[size(self.tiers) - 1].upPorts == 0",
            "upPorts of the highest tier must be 0; leave it out or add the tier above", ".tiers");
  spec.Rule(
      "[0, 1, 2].all(i, i + 1 >= size(self.tiers) || (self.tiers[i].upPorts >= 1 && "
      "self.tiers[i].upGbps >= 1))",
      "every tier below another needs upPorts and upGbps above 0; give both", ".tiers");
  spec.Rule(
      "[0, 1, 2].all(i, i + 1 >= size(self.tiers) || (((self.tiers[i + 1].scope == 'Segment') ? 0 "
      ": (self.tiers[i + 1].scope == 'FabricPod') ? 1 : 2) >= ((self.tiers[i].scope == 'Segment') "
      "? 0 : (self.tiers[i].scope == 'FabricPod') ? 1 : 2)))",
      "tiers must go from the hosts upwards; order them by scope: Segment, FabricPod, Fabric",
      ".tiers");
  spec.Rule(
      "[0, 1, 2].all(i, i + 1 >= size(self.tiers) || ((!self.tiers[i + 1].perRail || "
      "self.tiers[i].perRail) && (!self.tiers[i + 1].perPlane || self.tiers[i].perPlane)))",
      "a tier per rail or per plane cannot stand above one that mixes them; set perRail or "
      "perPlane on the tier below, too",
      ".tiers");
  spec.Rule(
      "self.tiers.all(t, self.host.rails % t.railsPerSwitch == 0 && (t.perRail || t.railsPerSwitch "
      "== 1))",
      "railsPerSwitch must divide host.rails and needs perRail; give every switch the same number "
      "of rails",
      ".tiers");
  spec.Rule(
      "[0, 1, 2].all(i, i + 1 >= size(self.tiers) || !self.tiers[i + 1].perRail || self.tiers[i + "
      "1].railsPerSwitch % self.tiers[i].railsPerSwitch == 0)",
      "railsPerSwitch must be a multiple of that of the tier below; all rails of a switch go to "
      "the same switches above",
      ".tiers");
  spec.Rule(
      "[0, 1, 2].all(i, i + 1 >= size(self.tiers) || (self.tiers[i].upGbps == self.tiers[i + "
      "1].downGbps))",
      "upGbps must equal downGbps of the tier above; both ends of a cable have one speed",
      ".tiers");
  spec.Rule(
      "[0, 1, 2].all(i, i + 1 >= size(self.tiers) || (self.tiers[i + 1].switches % self.tiers[i + "
      "1].stripes == 0 && (self.tiers[i].switches * (self.tiers[i].perRail ? (self.tiers[i + "
      "1].perRail ? self.tiers[i + 1].railsPerSwitch : self.host.rails) / "
      "self.tiers[i].railsPerSwitch : 1) * (self.tiers[i].perPlane && !self.tiers[i + 1].perPlane "
      "? self.planes : 1)) % self.tiers[i + 1].stripes == 0))",
      "stripes must divide switches and the switches of a place below; give every stripe the same "
      "number",
      ".tiers");
  spec.Rule(
      "[0, 1, 2].all(i, i + 1 >= size(self.tiers) || (self.tiers[i].upPorts % (self.tiers[i + "
      "1].stripes > self.tiers[i + 1].switches ? 1 : self.tiers[i + 1].switches / self.tiers[i + "
      "1].stripes) == 0))",
      "upPorts must spread evenly over the switches (of one stripe) of the tier above; use a "
      "multiple of their number",
      ".tiers");
  spec.Rule(
      "[0, 1, 2].all(i, i + 1 >= size(self.tiers) || (self.tiers[i + 1].stripes > self.tiers[i + "
      "1].switches || (self.tiers[i].scope == self.tiers[i + 1].scope ? 1 : self.tiers[i].scope == "
      "'FabricPod' ? self.size.fabricPods : self.tiers[i + 1].scope == 'FabricPod' ? "
      "self.size.segmentsPerFabricPod : self.size.segmentsPerFabricPod * self.size.fabricPods) * "
      "(self.tiers[i].switches * (self.tiers[i].perRail ? (self.tiers[i + 1].perRail ? "
      "self.tiers[i + 1].railsPerSwitch : self.host.rails) / self.tiers[i].railsPerSwitch : 1) * "
      "(self.tiers[i].perPlane && !self.tiers[i + 1].perPlane ? self.planes : 1)) * "
      "self.tiers[i].upPorts <= self.tiers[i + 1].downPorts * self.tiers[i + 1].switches))",
      "downPorts must hold all cables from the tier below (places * lower switches * upPorts / "
      "switches); give more downPorts or build the fabric smaller (size)",
      ".tiers");
  spec.Rule(
      "self.networkLevels.reserved.all(l, l < self.networkLevels.count) && "
      "size(self.networkLevels.reserved) < self.networkLevels.count",
      "networkLevels.reserved must name levels below networkLevels.count and leave one for jobs; "
      "reserve fewer",
      ".networkLevels.reserved");
  spec.Rule("!has(self.ecmpHash) || self.ecmpHash.all(role, self.tiers.exists(t, t.role == role))",
            "every key of ecmpHash must be the role of a tier; use a role of tiers", ".ecmpHash");
}

void DescribeSpec(FieldVisitor& in, FabricSpec& spec) {
  in.Group("labels", Defaulted("Node labels that name the place of a host."),
           [&](FieldVisitor& labels) { DescribeLabels(labels, spec); });
  in.Group("host", Defaulted("What every host has."),
           [&](FieldVisitor& host) { DescribeHost(host, spec); });
  in.Group("scaleUp", Defaulted("Domains: hosts that share a scale-up network, such as NVL72."),
           [&](FieldVisitor& scale_up) { DescribeScaleUp(scale_up, spec.scale_up); });
  in.Int("planes", spec.planes, 1, 16,
         Defaulted("Separate networks that NIC ports are spread over."));
  in.Group("size", Defaulted("The size the fabric was built for; Nodes say what is really there."),
           [&](FieldVisitor& size) { DescribeSize(size, spec); });
  in.Group("backup", Defaulted("Hosts kept free to replace others of their segment."),
           [&](FieldVisitor& backup) { DescribeBackup(backup, spec.backup); });
  in.Group("networkLevels", Defaulted("Network priorities that switches and NICs can tell apart."),
           [&](FieldVisitor& levels) { DescribeLevels(levels, spec.levels); });
  in.Group("addressing", Defaulted("NIC addresses where Nodes do not name them."),
           [&](FieldVisitor& addressing) {
             addressing.Text(
                 "base", spec.addressing.base, kAddressText,
                 "IPv4 or IPv6 address of the first NIC; the others follow by host and rail. Left "
                 "out: paths of hosts that do not name their addresses are not predicted.");
           });
  in.Objects("tiers", spec.tiers, {.max_entries = 4, .min_entries = 1, .map_key = "role"},
             RequiredByServer("Switch tiers from the hosts upwards."), "One tier.");
  HashesField(in, "ecmpHash", 4, spec.ecmp_hash,
              "Hash of the switches of a role; a role left out is not predictable.");
  HashesField(in, "ecmpHashOverrides", 1024, spec.ecmp_hash_overrides,
              "Hash of single switches, by switch id.");
  in.TextMap("switchNames", spec.switch_names, kMaxSwitchNames, kSwitchName,
             "What the operators of the network call a switch, by switch id: shown to people in "
             "place of the id, and taken in commands, annotations and reports. Other fields of a "
             "Fabric take ids alone.");
  in.Texts("absentSwitches", spec.absent_switches, {.max_entries = 4096, .is_set = true}, {253, 1},
           "Switches, by id, that are in the description and not in the network, because some "
           "fabric pods or segments have fewer: their cables are never used.",
           "A switch id.");
  DescribeFabricRules(in);
}

json EncodeSpec(const FabricSpec& spec) {
  return EncodeFields(
      [&](FieldVisitor& fields) { DescribeSpec(fields, const_cast<FabricSpec&>(spec)); });
}

}  // namespace

bool IsSwitchName(std::string_view text) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_allowed);
}

// What was not given (fabric::Problems says so) may not be written.
void Describe(FieldVisitor& fields, fabric::Tier& tier) {
  fields.Text("role", tier.role, DnsLabel(32), RequiredByServer("Unique name: tor, agg, core."));
  fields.Enum("scope", tier.scope, kScopeNames, Defaulted("The place one set of switches serves."));
  fields.Int("switches", tier.switches, 1, kMaxSwitches,
             Defaulted("Per place, per rail if perRail, per plane if perPlane."));
  fields.Bool("perRail", tier.per_rail,
              Defaulted("Own switches for every rail, or for every railsPerSwitch of them."));
  fields.Int("railsPerSwitch", tier.rails_per_switch, 1, 64,
             Defaulted("With perRail: neighbouring rails that share one set of switches; 2 where "
                       "rails 0 and 1 of a host end at one leaf, 2 and 3 at the next.")
                 .OmitAt(1));
  fields.Bool("perPlane", tier.per_plane, Defaulted("Own switches for every plane."));
  fields.Int("downPorts", tier.down_ports, 1, kMaxSwitches,
             RequiredByServer("Ports of a switch towards hosts.").OmitAt(0));
  fields.Int("downGbps", tier.down_gbps, 1, kMaxGbps, RequiredByServer("Gb/s of each.").OmitAt(0));
  fields.Int("upPorts", tier.up_ports, 0, kMaxSwitches,
             Defaulted("Ports of a switch away from hosts; 0 in the highest tier.").OmitAt(0));
  fields.Int("upGbps", tier.up_gbps, 0, kMaxGbps, Defaulted("Gb/s of each.").OmitAt(0));
  fields.Int(
      "stripes", tier.stripes, 1, kMaxSwitches,
      Defaulted("Lower switch i meets upper switch j when i mod stripes is j mod stripes; k/2 "
                "at the core of a k-ary fat tree."));
  fields.Bool("spraying", tier.spraying,
              Defaulted("Its switches spread one flow's packets evenly over the links that lead on "
                        "(adaptive routing): no source port chooses there.")
                  .OmitAt(false));
}

void Fabric::Describe(FieldVisitor& fields) {
  fields.Group("spec", RequiredByServer("The network: a folded Clos of tiers, rails and planes."),
               [this](FieldVisitor& in) { DescribeSpec(in, spec); });
  fields.Object("status", status, "What was found.");
}

json FabricSchema() {
  return SchemaOfResource(
      "Fabric describes the network of the cluster: tiers, planes, rails, speeds, switch hashes "
      "and "
      "backup policy.",
      [](FieldVisitor& fields) { Fabric().Describe(fields); });
}

absl::StatusOr<Fabric> DecodeFabric(JsonView object, UnknownFields unknown) {
  FieldErrors errors;
  const json one_label = WithOneDomainLabel(object);
  FieldReader in(one_label.is_null() ? object : JsonView(one_label), "", unknown, &errors);
  ReadTypeMeta(in, kGroupVersion, kFabricKind);
  Fabric out;
  out.metadata = ReadMetadata(in, Namespaced::kNo);
  out.spec.name = out.metadata.name;
  DecodeFields(in, [&](FieldVisitor& fields) { out.Describe(fields); });
  in.Close();
  if (!errors.empty()) return errors.status();
  return out;
}

json EncodeFabricStatus(const FabricStatus& status) { return EncodeObject(status); }

std::string ForwardingText(const fabric::FabricSpec& spec) {
  json out = EncodeSpec(spec);
  for (const char* other : {"backup", "networkLevels", "scaleUp", "switchNames"}) out.erase(other);
  if (out.contains("host")) {
    for (const char* other : {"nvlinkGbps", "gpuResource"}) out["host"].erase(other);
  }
  return out.dump();
}

json EncodeFabric(const Fabric& fabric) {
  json out = EncodeObject(fabric);
  out["apiVersion"] = kGroupVersion;
  out["kind"] = kFabricKind;
  out["metadata"] = EncodeMetadata(fabric.metadata);
  return out;
}

}  // namespace yardmaster::api
