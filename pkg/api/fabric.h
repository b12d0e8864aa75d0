// Fabric: the network as its platform team describes it, as a Kubernetes object. The content is
// fabric::FabricSpec; this is its JSON. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/condition.h"
#include "pkg/api/metadata.h"
#include "pkg/fabric/spec.h"

namespace yardmaster::api {

inline constexpr char kFabricKind[] = "Fabric";

// What operators may call a switch, and how many of them: 20 bytes of id and 40 of name each are
// 1 MB.
bool IsSwitchName(std::string_view text);
inline constexpr TextRule kSwitchName = {253, 1, IsSwitchName, "letters, digits, ., _ and -",
                                         "^[A-Za-z0-9._-]+$"};
inline constexpr int kMaxSwitchNames = 16'384;

// A segment that is lost as a whole: one fault of its switches or of its power.
struct LostSegment {
  std::string fabric_pod;
  std::string segment;
  std::int64_t since_ms = 0;
  bool operator==(const LostSegment&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Text("fabricPod", fabric_pod, kLabelValue, Required("Its fabric pod.").Always());
    fields.Text("segment", segment, kLabelValue, Required("Its name.").Always());
    fields.Time("since", since_ms, About("When its hosts were lost.").Always());
  }
};

// A domain that is lost as a whole: one fault of a rack's power or of its cooling.
struct LostDomain {
  std::string fabric_pod;
  std::string segment;
  std::string domain;
  std::int64_t since_ms = 0;
  bool operator==(const LostDomain&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Text("fabricPod", fabric_pod, kLabelValue, Required("Its fabric pod.").Always());
    fields.Text("segment", segment, kLabelValue, Required("Its segment.").Always());
    fields.Text("domain", domain, kLabelValue, Required("Its name.").Always());
    fields.Time("since", since_ms, About("When its hosts were lost.").Always());
  }
};

struct FabricStatus {
  std::int64_t observed_generation = 0;
  // 0: written by a version that did not tell such edits apart.
  std::int64_t network_generation = 0;
  int fabric_pods = 0;
  int segments = 0;
  int hosts = 0;
  int backup_hosts = 0;
  std::vector<LostSegment> lost_segments;  // by fabric pod and name
  std::vector<LostDomain> lost_domains;    // by fabric pod, segment and name
  std::vector<Condition> conditions;
  bool operator==(const FabricStatus&) const = default;

  void Describe(FieldVisitor& fields) {
    constexpr int kMaxCount = 1'000'000;
    fields.Int("observedGeneration", observed_generation, 0, INT64_MAX,
               "metadata.generation this was computed from.");
    fields.Int(
        "networkGeneration", network_generation, 0, INT64_MAX,
        "The last generation whose edit changed where packets go; older path plans are stale.");
    fields.Int("fabricPods", fabric_pods, 0, kMaxCount, "Fabric pods that Nodes stand in.");
    fields.Int("segments", segments, 0, kMaxCount, "Segments that Nodes stand in.");
    fields.Int("hosts", hosts, 0, kMaxCount, "Nodes with a place.");
    fields.Int("backupHosts", backup_hosts, 0, kMaxCount,
               "Nodes with a place that are backup hosts.");
    fields.Objects("lostSegments", lost_segments, {1024},
                   About("Segments that are lost as a whole; nothing is placed there.").Always(),
                   "One segment.");
    fields.Objects("lostDomains", lost_domains, {1024},
                   "Domains that are lost as a whole; nothing is placed there.", "One domain.");
    ConditionsField(fields, conditions);
  }
};

struct Fabric {
  ObjectMeta metadata;
  fabric::FabricSpec spec;  // spec.name is the object's name
  FabricStatus status;

  void Describe(FieldVisitor& fields);
};

// Errors: InvalidArgument, one line per wrong field. Of the hashes, contradictions between fields
// are errors, too (ecmp_hash_json.h); those of the rest of the spec are not: see fabric::Problems.
absl::StatusOr<Fabric> DecodeFabric(JsonView object,
                                    UnknownFields unknown = UnknownFields::kReject);
nlohmann::json EncodeFabric(const Fabric& fabric);
// What of the spec decides where packets go, as text: two specs with equal texts have equal paths.
std::string ForwardingText(const fabric::FabricSpec& spec);
nlohmann::json EncodeFabricStatus(const FabricStatus& status);
nlohmann::json FabricSchema();

}  // namespace yardmaster::api
