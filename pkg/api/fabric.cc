#include "pkg/api/fabric.h"

#include "nlohmann/json.hpp"

#include "pkg/api/ecmp_hash_json.h"
#include "pkg/api/names.h"
#include "pkg/base/clock.h"

namespace yardmaster::api {

namespace {

using fabric::FabricSpec;
using fabric::Scope;
using fabric::Tier;
using nlohmann::json;

constexpr std::string_view kScopeNames[] = {"Segment", "FabricPod", "Fabric"};
constexpr std::string_view kBackupWhichNames[] = {"Marked", "Chosen"};
// The bounds of the CRD's schema. Contradictions inside them are fabric::Problems' business.
constexpr int kMaxSize = 10'000;       // fabric pods, segments and hosts
constexpr int kMaxSwitches = 100'000;  // of a tier, and ports of a switch
constexpr int kMaxGbps = 100'000;
constexpr int kMaxCount = 1'000'000;  // of a status

bool IsAddressText(std::string_view text) {
  return text.size() >= 2 && text.find_first_not_of("0123456789ABCDEFabcdef:.") == text.npos;
}
constexpr TextRule kAddressText = {45, 0, IsAddressText, "an IPv4 or IPv6 address"};

void ReadSizes(FieldReader& in, FabricSpec& spec) {
  FieldReader labels = in.Object("labels");
  spec.fabric_pod_label =
      labels.String("fabricPod", NotEmpty(kQualifiedName), spec.fabric_pod_label);
  spec.segment_label = labels.String("segment", NotEmpty(kQualifiedName), spec.segment_label);
  labels.Close();
  FieldReader host = in.Object("host");
  spec.gpus_per_host = host.Int("gpus", spec.gpus_per_host, 1, 64);
  spec.gpu_resource = host.String("gpuResource", NotEmpty(kQualifiedName), spec.gpu_resource);
  spec.rails = host.Int("rails", spec.rails, 1, 64);
  spec.nic_ports = host.Int("nicPorts", spec.nic_ports, 1, 16);
  spec.nic_gbps = host.Int("nicGbps", spec.nic_gbps, 1, kMaxGbps);
  spec.nic_spraying = host.Bool("nicSpraying", spec.nic_spraying);
  spec.nvlink_gbps = host.Number("nvlinkGbps", spec.nvlink_gbps, 0, 1e6);
  host.Close();
  spec.planes = in.Int("planes", spec.planes, 1, 16);
  FieldReader size = in.Object("size");
  spec.fabric_pods = size.Int("fabricPods", spec.fabric_pods, 1, kMaxSize);
  spec.segments_per_fabric_pod =
      size.Int("segmentsPerFabricPod", spec.segments_per_fabric_pod, 1, kMaxSize);
  spec.hosts_per_segment = size.Int("hostsPerSegment", spec.hosts_per_segment, 1, kMaxSize);
  size.Close();
}

void ReadPolicies(FieldReader& in, FabricSpec& spec) {
  FieldReader backup = in.Object("backup");
  spec.backup.hosts_per_segment = backup.Int("hostsPerSegment", 0, 0, kMaxSize);
  spec.backup.borrow_in_segment = backup.Bool("borrowInSegment", spec.backup.borrow_in_segment);
  spec.backup.borrow_in_fabric_pod =
      backup.Bool("borrowInFabricPod", spec.backup.borrow_in_fabric_pod);
  spec.backup.lend_to_preemptible =
      backup.Bool("lendToPreemptible", spec.backup.lend_to_preemptible);
  spec.backup.ratio = backup.Number("ratio", 0, 0, 0.9);
  spec.backup.which = backup.Enum("which", kBackupWhichNames, fabric::BackupWhich::kMarked);
  backup.Close();
  FieldReader levels = in.Object("networkLevels");
  spec.levels.count = levels.Int("count", spec.levels.count, 1, 64);
  spec.levels.reserved = levels.Ints("reserved", 0, 63, {.max_entries = 63, .is_set = true});
  for (FieldReader& entry :
       levels.Objects("trafficClasses", {.max_entries = 64, .map_key = "level"})) {
    const int level = entry.Int("level", 0, 0, 63);
    spec.levels.traffic_class_of_level[level] = entry.Int("trafficClass", 0, 0, 255);
    entry.Close();
  }
  levels.Close();
  FieldReader addressing = in.Object("addressing");
  spec.addressing.base = addressing.String("base", kAddressText, "");
  addressing.Close();
}

void ReadTiers(FieldReader& in, FabricSpec& spec) {
  for (FieldReader& entry :
       in.Objects("tiers", {.max_entries = 4, .min_entries = 1, .map_key = "role"})) {
    Tier tier;
    tier.role = entry.String("role", DnsLabel(32));
    tier.scope = entry.Enum("scope", kScopeNames, Scope::kSegment);
    tier.switches = entry.Int("switches", 1, 1, kMaxSwitches);
    tier.per_rail = entry.Bool("perRail", false);
    tier.per_plane = entry.Bool("perPlane", true);
    tier.down_ports = entry.Int("downPorts", 0, 1, kMaxSwitches);
    tier.down_gbps = entry.Int("downGbps", 0, 1, kMaxGbps);
    tier.up_ports = entry.Int("upPorts", 0, 0, kMaxSwitches);
    tier.up_gbps = entry.Int("upGbps", 0, 0, kMaxGbps);
    tier.stripes = entry.Int("stripes", 1, 1, kMaxSwitches);
    entry.Close();
    spec.tiers.push_back(std::move(tier));
  }
}

json EncodeTiers(const FabricSpec& spec) {
  json out = json::array();
  for (const Tier& tier : spec.tiers) {
    json entry = {{"scope", kScopeNames[static_cast<std::size_t>(tier.scope)]},
                  {"switches", tier.switches},
                  {"perRail", tier.per_rail},
                  {"perPlane", tier.per_plane},
                  {"stripes", tier.stripes}};
    // What was not given (fabric::Problems says so) may not be written.
    if (!tier.role.empty()) entry["role"] = tier.role;
    if (tier.down_ports != 0) entry["downPorts"] = tier.down_ports;
    if (tier.down_gbps != 0) entry["downGbps"] = tier.down_gbps;
    if (tier.up_ports != 0) {
      entry["upPorts"] = tier.up_ports;
      entry["upGbps"] = tier.up_gbps;
    }
    out.push_back(std::move(entry));
  }
  return out;
}

json EncodeLevels(const fabric::NetworkLevels& levels) {
  json out = {{"count", levels.count}, {"reserved", levels.reserved}};
  for (const auto& [level, traffic_class] : levels.traffic_class_of_level) {
    out["trafficClasses"].push_back({{"level", level}, {"trafficClass", traffic_class}});
  }
  return out;
}

json EncodeHashes(const std::map<std::string, fabric::HashSpec>& hashes) {
  json out = json::object();
  for (const auto& [name, hash] : hashes) out[name] = EncodeHashSpec(hash);
  return out;
}

json EncodeSpec(const FabricSpec& spec) {
  json host = {{"gpus", spec.gpus_per_host},
               {"rails", spec.rails},
               {"nicPorts", spec.nic_ports},
               {"nicGbps", spec.nic_gbps},
               {"nvlinkGbps", spec.nvlink_gbps}};
  if (spec.nic_spraying) host["nicSpraying"] = true;
  if (spec.gpu_resource != FabricSpec().gpu_resource) host["gpuResource"] = spec.gpu_resource;
  json addressing = json::object();
  if (!spec.addressing.base.empty()) addressing["base"] = spec.addressing.base;
  return {{"labels", {{"fabricPod", spec.fabric_pod_label}, {"segment", spec.segment_label}}},
          {"host", std::move(host)},
          {"planes", spec.planes},
          {"size",
           {{"fabricPods", spec.fabric_pods},
            {"segmentsPerFabricPod", spec.segments_per_fabric_pod},
            {"hostsPerSegment", spec.hosts_per_segment}}},
          {"backup",
           {{"hostsPerSegment", spec.backup.hosts_per_segment},
            {"borrowInSegment", spec.backup.borrow_in_segment},
            {"borrowInFabricPod", spec.backup.borrow_in_fabric_pod},
            {"lendToPreemptible", spec.backup.lend_to_preemptible},
            {"ratio", spec.backup.ratio},
            {"which", kBackupWhichNames[static_cast<std::size_t>(spec.backup.which)]}}},
          {"networkLevels", EncodeLevels(spec.levels)},
          {"addressing", std::move(addressing)}};
}

FabricStatus ReadFabricStatus(FieldReader in) {
  FabricStatus status;
  status.observed_generation = in.Int64("observedGeneration", 0, 0, INT64_MAX);
  status.network_generation = in.Int64("networkGeneration", 0, 0, INT64_MAX);
  status.fabric_pods = in.Int("fabricPods", 0, 0, kMaxCount);
  status.segments = in.Int("segments", 0, 0, kMaxCount);
  status.hosts = in.Int("hosts", 0, 0, kMaxCount);
  status.backup_hosts = in.Int("backupHosts", 0, 0, kMaxCount);
  for (FieldReader& lost : in.Objects("lostSegments", {1024})) {
    status.lost_segments.push_back({lost.RequiredString("fabricPod", kLabelValue),
                                    lost.RequiredString("segment", kLabelValue),
                                    lost.TimeMs("since")});
    lost.Close();
  }
  status.conditions = ReadConditions(in);
  in.Close();
  return status;
}

}  // namespace

absl::StatusOr<Fabric> DecodeFabric(JsonView object, UnknownFields unknown) {
  FieldErrors errors;
  FieldReader in(object, "", unknown, &errors);
  ReadTypeMeta(in, kGroupVersion, kFabricKind);
  Fabric out;
  out.metadata = ReadMetadata(in, Namespaced::kNo);
  out.spec.name = out.metadata.name;
  FieldReader spec = in.Object("spec");
  ReadSizes(spec, out.spec);
  ReadPolicies(spec, out.spec);
  ReadTiers(spec, out.spec);
  for (auto& [role, block] : spec.Members("ecmpHash", 4)) {
    out.spec.ecmp_hash[role] = ReadHashSpec(block);
  }
  for (auto& [name, block] : spec.Members("ecmpHashOverrides", 1024)) {
    out.spec.ecmp_hash_overrides[name] = ReadHashSpec(block);
  }
  spec.Close();
  out.status = ReadFabricStatus(in.Object("status"));
  in.Close();
  if (!errors.empty()) return errors.status();
  return out;
}

json EncodeFabricStatus(const FabricStatus& status) {
  json lost_segments = json::array();
  for (const LostSegment& lost : status.lost_segments) {
    lost_segments.push_back({{"fabricPod", lost.fabric_pod},
                             {"segment", lost.segment},
                             {"since", FormatTime(lost.since_ms)}});
  }
  return {{"observedGeneration", status.observed_generation},
          {"networkGeneration", status.network_generation},
          {"fabricPods", status.fabric_pods},
          {"segments", status.segments},
          {"hosts", status.hosts},
          {"backupHosts", status.backup_hosts},
          {"lostSegments", std::move(lost_segments)},
          {"conditions", EncodeConditions(status.conditions)}};
}

json EncodeWholeSpec(const fabric::FabricSpec& spec) {
  json out = EncodeSpec(spec);
  if (!spec.tiers.empty()) out["tiers"] = EncodeTiers(spec);
  if (!spec.ecmp_hash.empty()) out["ecmpHash"] = EncodeHashes(spec.ecmp_hash);
  if (!spec.ecmp_hash_overrides.empty()) {
    out["ecmpHashOverrides"] = EncodeHashes(spec.ecmp_hash_overrides);
  }
  return out;
}

std::string ForwardingText(const fabric::FabricSpec& spec) {
  json out = EncodeWholeSpec(spec);
  for (const char* other : {"backup", "networkLevels"}) out.erase(other);
  if (out.contains("host")) {
    for (const char* other : {"nvlinkGbps", "gpuResource"}) out["host"].erase(other);
  }
  return out.dump();
}

json EncodeFabric(const Fabric& fabric) {
  json out = {{"apiVersion", kGroupVersion},
              {"kind", kFabricKind},
              {"metadata", EncodeMetadata(fabric.metadata)},
              {"spec", EncodeWholeSpec(fabric.spec)}};
  if (fabric.status != FabricStatus{}) out["status"] = EncodeFabricStatus(fabric.status);
  return out;
}

}  // namespace yardmaster::api
