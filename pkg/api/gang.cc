#include "pkg/api/gang.h"

#include <algorithm>
#include <set>

#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/api/field_schema.h"
#include "pkg/api/names.h"
#include "pkg/api/resource_list.h"
#include "pkg/api/short_hash.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

bool IsStoredAmount(std::string_view text) {
  if (text.size() > 1 && text.back() == 'm') text.remove_suffix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}
constexpr TextRule kStoredAmount = {32, 0, IsStoredAmount, "digits, and m after thousandths",
                                    "^[0-9]+m?$"};
constexpr int kMaxResources = 128;

void RequestsField(FieldVisitor& fields, workload::ResourceList& requests, const About& about) {
  fields.Custom(
      "requests",
      []() -> json {
        return {{"type", "object"},
                {"maxProperties", kMaxResources},
                {"additionalProperties", TextSchema(kStoredAmount)}};
      },
      about,
      [&](FieldReader& object) {
        FieldReader in = object.Object("requests");
        in.CheckEntries(kMaxResources);
        for (const std::string& name : in.Keys()) in.CheckText(name, kStoredAmount);
        requests = ReadResources(in);
      },
      [&]() -> json {
        if (requests.empty() && about.written != Written::kAlways) return nullptr;
        return EncodeResources(requests);
      });
}

// Of a role, at most 2000: more than any host has.
int GpusOf(const workload::ResourceList& requests, const std::string& gpu_resource) {
  return static_cast<int>(
      std::clamp<std::int64_t>(workload::AmountOf(requests, gpu_resource), 0, 2000));
}

// The requests of a role say how many GPUs it asks for, unless not even the largest ones do: those
// of a Gang that was written by hand.
void CompleteRoles(Gang& gang) {
  std::vector<GangRole>& roles = gang.roles;
  std::sort(roles.begin(), roles.end(),
            [](const GangRole& a, const GangRole& b) { return a.first_rank < b.first_rank; });
  if (!roles.empty() && roles.front().first_rank > 0) {
    roles.insert(roles.begin(), GangRole{0, gang.requests});
  }
  if (workload::AmountOf(gang.requests, gang.job.gpu_resource) == 0) return;
  for (GangRole& role : roles) role.gpus = GpusOf(role.requests, gang.job.gpu_resource);
}

// What a newer version wrote into the status.
std::string OtherFields(JsonView object) {
  static const std::vector<std::string> kKnown =
      NamesOfFields([](FieldVisitor& fields) { GangStatus().Describe(fields); });
  json others = json::object();
  object["status"].ForEachMember([&](std::string_view key, JsonView value) {
    std::string name(key);
    if (!std::binary_search(kKnown.begin(), kKnown.end(), name)) {
      others[std::move(name)] = value.ToJson();
    }
  });
  return others.empty() ? "" : others.dump();
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
      "a committed plan has every rank from 0 once; remove the status to plan it again");
}

void DescribeOwner(FieldVisitor& fields, OwnerReference& owner) {
  fields.Text("apiVersion", owner.api_version, kQualifiedName,
              About("API group and version.").Always());
  fields.Text("kind", owner.kind, kLabelValue, Required("Kind.").Always());
  fields.Text("name", owner.name, kObjectName, Required("Name.").Always());
  fields.Text("uid", owner.uid, kUid, About("UID.").Always());
  fields.Rule("self == oldSelf",
              "owner cannot change; delete the Gang and let it be created again");
}

void DescribeSpec(FieldVisitor& spec, Gang& gang) {
  spec.Group("owner", RequiredByServer("The object whose pods these are."),
             [&](FieldVisitor& fields) { DescribeOwner(fields, gang.owner); });
  gang.job.Describe(spec, "has(self.roles)");
  spec.Object("constraints", gang.constraints, "What the pod template asks of a node.");
  RequestsField(
      spec, gang.requests,
      "What a pod asks of its host, as kube-scheduler counts it; of pods that differ, the "
      "most of each resource.");
  spec.Objects(
      "roles", gang.roles, {16},
      "Where pods ask for different amounts, or for different nodes: what those from a rank on "
      "ask for. Left out: all are alike.",
      "One role, up to the first rank of the next.");
  spec.Check([&](FieldReader&) { CompleteRoles(gang); });
  spec.Objects("rankBases", gang.rank_bases, {kMaxListedRanks},
               "First rank of every subgroup of pods.", "One subgroup.");
  spec.Enum("pods", gang.pods, kGangPodsNames,
            About("When its pods are made. First: before it is planned. Follow: once it has hosts, "
                  "each with its host. Refused: they were to follow, and were not all taken; it "
                  "gives its hosts back.")
                .OmitAt(GangPods::kFirst));
}

}  // namespace

void GangRole::Describe(FieldVisitor& fields) {
  fields.Int("firstRank", first_rank, 0, kHighestRank, RequiredByServer("Its first rank."));
  RequestsField(
      fields, requests,
      About("What a pod of it asks of its host, GPUs included, as kube-scheduler counts it.")
          .Always());
  fields.Object("constraints", constraints,
                "What its pods ask of a node, where that is not spec.constraints.");
}

void GangStatus::Describe(FieldVisitor& fields) {
  fields.Int("observedGeneration", observed_generation, 0, INT64_MAX,
             "metadata.generation this was computed from.");
  fields.Int("planGeneration", plan_generation, 0, INT64_MAX,
             Defaulted("Counts committed plans; never goes back."));
  fields.Text("fabric", fabric, kObjectName, "The Fabric it was planned on.");
  fields.Time("committedTime", committed_ms, "When the plan was committed.");
  fields.Int("fencingToken", fencing_token, 0, INT64_MAX,
             About("leaseTransitions of the Lease under which an extender wrote last; never goes "
                   "back.")
                 .OmitAt(0));
  fields.Int("settledWrites", settled_writes, 0, INT64_MAX,
             About("Counts writes whose outcome was unknown and that were then made impossible.")
                 .OmitAt(0));
  // One that cannot be read promises nothing.
  fields.Check([this](FieldReader& in) {
    if (in.has("outcome")) outcome = placement::Outcome::kNotNow;
  });
  fields.Enum("outcome", outcome, placement::kOutcomeNames, "Of the last planning.");
  fields.Object(
      "objective", objective,
      About("What the placement costs, in the order in which it was minimised.").Always());
  fields.Objects("assignments", assignments, {kMaxListedRanks},
                 About("Host of every rank; all ranks once committed, else none.").Always(),
                 "One rank.");
  fields.Check([this](FieldReader&) {
    std::sort(assignments.begin(), assignments.end(),
              [](const AssignmentEntry& a, const AssignmentEntry& b) { return a.rank < b.rank; });
  });
  fields.Objects("reasons", reasons, {64}, About("Why it is not placed.").Always(), "One reason.");
  fields.Objects("relaxations", relaxations, {16},
                 About("Changes that would help, nearest first.").Always(), "One change.");
  fields.Object("network", network, "Crux's numbers.");
  fields.Object(
      "preemption", preemption,
      "The decision to stop other gangs for this one, from its write until the commit that "
      "uses the place.");
  fields.Object("move", move,
                "The last move to other hosts that was asked for, with the hosts that are kept for "
                "the gang until it runs there.");
  fields.Objects(
      "refusals", refusals, {kMaxListedRanks},
      "Hosts that kube-scheduler refused to pods that were pinned there. The rank is not "
      "pinned there again before `until`.",
      "One rank on one host.");
  ConditionsField(fields, conditions);
  fields.Rule("!has(oldSelf.planGeneration) || self.planGeneration >= oldSelf.planGeneration",
              "planGeneration must not go back; read the Gang again and write on top of what is "
              "there",
              ".planGeneration");
  fields.Rule(
      "!has(oldSelf.fencingToken) || (has(self.fencingToken) && self.fencingToken >= "
      "oldSelf.fencingToken)",
      "fencingToken must not go back, because another extender leads now; read the Lease and stop "
      "writing",
      ".fencingToken");
}

void Gang::Describe(FieldVisitor& fields) {
  fields.Group(
      "spec",
      RequiredByServer("What planning needs, so that a plan can be made without the owner."),
      [this](FieldVisitor& spec) { DescribeSpec(spec, *this); });
  fields.Object("status", status, "The ledger: what was promised, and what the network plan says.");
  fields.Rule(
      "!has(self.status) || !has(self.status.assignments) || size(self.status.assignments) == 0 || "
      "size(self.status.assignments) == self.spec.workers || (has(oldSelf.status) && "
      "has(oldSelf.status.assignments) && size(oldSelf.status.assignments) == "
      "size(self.status.assignments))",
      "status.assignments must hold every rank or none; write all spec.workers of them at once",
      ".status.assignments");
}

json GangSchema() {
  return SchemaOfResource(
      "Gang is one set of pods of any owner that start all or none, and the ledger of where they "
      "were promised to run.",
      [](FieldVisitor& fields) { Gang().Describe(fields); });
}

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
  DecodeFields(in, [&](FieldVisitor& fields) { gang.Describe(fields); });
  CheckAssignments(gang, errors);
  in.Close();
  if (lenient && object.is_object()) gang.status.other_fields = OtherFields(object);
  if (errors.empty()) return gang;
  if (!lenient || gang.metadata.name.empty()) return errors.status();
  gang.problems = errors.lines();
  return gang;
}

json EncodeGangStatus(const GangStatus& status) {
  json out = EncodeObject(status);
  if (!status.other_fields.empty()) {
    const json others = json::parse(status.other_fields, nullptr, /*allow_exceptions=*/false);
    if (others.is_object()) out.update(others);
  }
  return out;
}

json EncodeGang(const Gang& gang) {
  json out = {{"apiVersion", kGroupVersion},
              {"kind", kGangKind},
              {"metadata", EncodeMetadata(gang.metadata)},
              {"spec", EncodeFields([&](FieldVisitor& spec) {
                 DescribeSpec(spec, const_cast<Gang&>(gang));
               })}};
  if (gang.status != GangStatus{}) out["status"] = EncodeGangStatus(gang.status);
  return out;
}

}  // namespace yardmaster::api
