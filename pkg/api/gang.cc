#include "pkg/api/gang.h"

#include <algorithm>
#include <set>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/resource_list.h"
#include "pkg/api/short_hash.h"
#include "pkg/api/time_field.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr int kMaxListedRanks = 16'384;  // that a Gang holds entries for

OwnerReference ReadOwner(FieldReader in) {
  OwnerReference owner;
  owner.api_version = in.String("apiVersion", kQualifiedName);
  owner.kind = in.RequiredString("kind", kLabelValue);
  owner.name = in.RequiredString("name", kObjectName);
  owner.uid = in.String("uid", kUid);
  in.Close();
  return owner;
}

bool IsStoredAmount(std::string_view text) {
  if (text.size() > 1 && text.back() == 'm') text.remove_suffix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}
constexpr TextRule kStoredAmount = {32, 0, IsStoredAmount, "digits, and m after thousandths"};

workload::ResourceList ReadRequests(FieldReader& object) {
  FieldReader in = object.Object("requests");
  in.CheckEntries(128);
  for (const std::string& name : in.Keys()) in.CheckText(name, kStoredAmount);
  return ReadResources(in);
}

// Of a role, at most 2000: more than any host has.
int GpusOf(const workload::ResourceList& requests, const std::string& gpu_resource) {
  return static_cast<int>(
      std::clamp<std::int64_t>(workload::AmountOf(requests, gpu_resource), 0, 2000));
}

std::vector<RankBase> ReadRankBases(FieldReader& spec) {
  std::vector<RankBase> out;
  for (FieldReader& in : spec.Objects("rankBases", {kMaxListedRanks})) {
    out.push_back({in.String("subgroup", kObjectName), in.Int("firstRank", 0, 0, 1'000'000)});
    in.Close();
  }
  return out;
}

// The requests of a role say how many GPUs it asks for, unless not even the largest ones do: those
// of a Gang that was written by hand.
std::vector<workload::Role> ReadRoles(FieldReader& spec, const workload::ResourceList& largest,
                                      const std::string& gpu_resource) {
  std::vector<workload::Role> roles;
  for (FieldReader& in : spec.Objects("roles", {16})) {
    workload::Role role{in.Int("firstRank", 0, 0, 1'000'000), {}, {}};
    role.requests = ReadRequests(in);
    roles.push_back(std::move(role));
    in.Close();
  }
  std::sort(roles.begin(), roles.end(), [](const workload::Role& a, const workload::Role& b) {
    return a.first_rank < b.first_rank;
  });
  if (!roles.empty() && roles.front().first_rank > 0) roles.insert(roles.begin(), {0, largest, {}});
  if (workload::AmountOf(largest, gpu_resource) == 0) return roles;
  for (workload::Role& role : roles) role.gpus = GpusOf(role.requests, gpu_resource);
  return roles;
}

PreemptionStatus ReadPreemption(FieldReader in) {
  PreemptionStatus preemption;
  preemption.started_ms = in.TimeMs("startedTime");
  for (FieldReader& victim : in.Objects("victims", {1024})) {
    preemption.victims.push_back({victim.RequiredString("namespace", kLabelValue),
                                  victim.RequiredString("name", kObjectName),
                                  victim.String("uid", kUid)});
    victim.Close();
  }
  preemption.hosts = in.Strings("hosts", {kMaxListedRanks}, kObjectName);
  in.Close();
  return preemption;
}

std::vector<HostRefusal> ReadRefusals(FieldReader& status) {
  std::vector<HostRefusal> out;
  for (FieldReader& in : status.Objects("refusals", {kMaxListedRanks})) {
    HostRefusal refusal;
    refusal.rank = in.Int("rank", 0, 0, 1'000'000);
    refusal.host = in.RequiredString("host", kObjectName);
    refusal.until_ms = in.TimeMs("until");
    refusal.count = in.Int("count", 1, 1, 1'000'000);
    refusal.message = in.String("message", kMessage);
    in.Close();
    out.push_back(std::move(refusal));
  }
  return out;
}

json EncodeRefusals(const std::vector<HostRefusal>& refusals) {
  json out = json::array();
  for (const HostRefusal& refusal : refusals) {
    out.push_back({{"rank", refusal.rank},
                   {"host", refusal.host},
                   {"until", FormatTime(refusal.until_ms)},
                   {"count", refusal.count},
                   {"message", refusal.message}});
  }
  return out;
}

// What a newer version wrote into the status.
std::string OtherFields(JsonView object) {
  static const std::set<std::string> kKnown = {
      "observedGeneration", "planGeneration", "fabric",     "committedTime", "outcome",
      "objective",          "assignments",    "reasons",    "relaxations",   "network",
      "preemption",         "refusals",       "conditions", "fencingToken",  "settledWrites"};
  json others = json::object();
  object["status"].ForEachMember([&](std::string_view key, JsonView value) {
    std::string name(key);
    if (kKnown.count(name) == 0) others[std::move(name)] = value.ToJson();
  });
  return others.empty() ? "" : others.dump();
}

json EncodePreemption(const PreemptionStatus& preemption) {
  json victims = json::array();
  for (const VictimReference& victim : preemption.victims) {
    victims.push_back(
        {{"namespace", victim.namespace_name}, {"name", victim.name}, {"uid", victim.uid}});
  }
  json out = {{"victims", std::move(victims)}, {"hosts", preemption.hosts}};
  EncodeTime("startedTime", preemption.started_ms, out);
  return out;
}

// Ranks of a committed plan are 0 .. n-1, each once. Their number differs from spec.workers while a
// placed gang is being resized.
void CheckAssignments(const Gang& gang, FieldErrors& errors) {
  const auto& assignments = gang.status.assignments;
  if (assignments.empty()) return;
  std::set<int> ranks;
  for (const AssignmentEntry& entry : assignments) ranks.insert(entry.rank);
  const int placed = gang.placed_workers();
  if (static_cast<int>(ranks.size()) == placed && *ranks.begin() == 0 &&
      *ranks.rbegin() == placed - 1) {
    return;
  }
  errors.Add(
      "status.assignments",
      StrCat("hold ", Count(static_cast<std::int64_t>(ranks.size()), "distinct rank"), " in ",
             assignments.size(), " entries, the last of them rank ", *ranks.rbegin()),
      "a committed plan has every rank from 0 once; remove the status to plan anew");
}

GangStatus ReadGangStatus(FieldReader in) {
  GangStatus status;
  status.observed_generation = in.Int64("observedGeneration", 0, 0, INT64_MAX);
  status.plan_generation = in.Int64("planGeneration", 0, 0, INT64_MAX);
  status.fabric = in.String("fabric", kObjectName);
  status.committed_ms = in.TimeMs("committedTime");
  status.fencing_token = in.Int64("fencingToken", 0, 0, INT64_MAX);
  status.settled_writes = in.Int64("settledWrites", 0, 0, INT64_MAX);
  if (in.has("outcome")) status.outcome = ReadOutcome(in, "outcome", placement::Outcome::kNotNow);
  status.objective = ReadObjective(in.Object("objective"));
  status.assignments = ReadAssignments(in);
  std::sort(status.assignments.begin(), status.assignments.end(),
            [](const AssignmentEntry& a, const AssignmentEntry& b) { return a.rank < b.rank; });
  status.reasons = ReadReasons(in);
  status.relaxations = ReadRelaxations(in);
  if (in.has("network")) status.network = ReadNetwork(in.Object("network"));
  if (in.has("preemption")) status.preemption = ReadPreemption(in.Object("preemption"));
  status.refusals = ReadRefusals(in);
  status.conditions = ReadConditions(in);
  in.Close();
  return status;
}

}  // namespace

std::string GangName(std::string_view owner_kind, std::string_view owner_name) {
  constexpr std::size_t kMaxName = 253;
  std::string name = StrCat(owner_kind, "-", owner_name);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name.size() <= kMaxName) return name;
  std::string begin = name.substr(0, kMaxName - 11);
  // "-" may not follow a dot.
  while (begin.back() == '.') begin.pop_back();
  return StrCat(begin, "-", ShortHash(name));
}

absl::StatusOr<Gang> DecodeGang(JsonView object, Decoding decoding) {
  FieldErrors errors;
  const bool lenient = decoding == Decoding::kLenient;
  FieldReader in(object, "", lenient ? UnknownFields::kIgnore : UnknownFields::kReject, &errors);
  ReadTypeMeta(in, kGroupVersion, kGangKind);
  Gang gang;
  gang.metadata = ReadMetadata(in, Namespaced::kYes);
  FieldReader spec = in.Object("spec");
  gang.owner = ReadOwner(spec.Object("owner"));
  gang.job = ReadJobSpec(spec);
  gang.constraints = ReadConstraints(spec.Object("constraints"));
  gang.requests = ReadRequests(spec);
  gang.roles = ReadRoles(spec, gang.requests, gang.job.gpu_resource);
  gang.rank_bases = ReadRankBases(spec);
  spec.Close();
  gang.status = ReadGangStatus(in.Object("status"));
  CheckAssignments(gang, errors);
  in.Close();
  if (lenient && object.is_object()) gang.status.other_fields = OtherFields(object);
  if (errors.empty()) return gang;
  if (!lenient || gang.metadata.name.empty()) return errors.status();
  gang.problems = errors.lines();
  return gang;
}

json EncodeGangStatus(const GangStatus& status) {
  json out = {{"observedGeneration", status.observed_generation},
              {"planGeneration", status.plan_generation},
              {"objective", EncodeObjective(status.objective)},
              {"assignments", EncodeAssignments(status.assignments)},
              {"reasons", EncodeReasons(status.reasons)},
              {"relaxations", EncodeRelaxations(status.relaxations)},
              {"conditions", EncodeConditions(status.conditions)}};
  if (!status.other_fields.empty()) {
    const json others = json::parse(status.other_fields, nullptr, /*allow_exceptions=*/false);
    if (others.is_object()) out.update(others);
  }
  if (!status.refusals.empty()) out["refusals"] = EncodeRefusals(status.refusals);
  if (!status.fabric.empty()) out["fabric"] = status.fabric;
  EncodeTime("committedTime", status.committed_ms, out);
  if (status.fencing_token != 0) out["fencingToken"] = status.fencing_token;
  if (status.settled_writes != 0) out["settledWrites"] = status.settled_writes;
  if (status.outcome) out["outcome"] = EncodeOutcome(*status.outcome);
  if (status.preemption) out["preemption"] = EncodePreemption(*status.preemption);
  if (status.network) out["network"] = EncodeNetwork(*status.network);
  return out;
}

json EncodeGang(const Gang& gang) {
  json spec = {{"owner",
                {{"apiVersion", gang.owner.api_version},
                 {"kind", gang.owner.kind},
                 {"name", gang.owner.name},
                 {"uid", gang.owner.uid}}}};
  EncodeJobSpec(gang.job, spec);
  json constraints = EncodeConstraints(gang.constraints);
  if (!constraints.empty()) spec["constraints"] = std::move(constraints);
  if (!gang.requests.empty()) spec["requests"] = EncodeResources(gang.requests);
  for (const workload::Role& role : gang.roles) {
    spec["roles"].push_back(
        {{"firstRank", role.first_rank}, {"requests", EncodeResources(role.requests)}});
  }
  for (const RankBase& base : gang.rank_bases) {
    spec["rankBases"].push_back({{"subgroup", base.subgroup}, {"firstRank", base.first_rank}});
  }
  json out = {{"apiVersion", kGroupVersion},
              {"kind", kGangKind},
              {"metadata", EncodeMetadata(gang.metadata)},
              {"spec", std::move(spec)}};
  if (gang.status != GangStatus{}) out["status"] = EncodeGangStatus(gang.status);
  return out;
}

}  // namespace yardmaster::api
