// Gang: one all-or-nothing set of pods of any owner. Its status is the ledger: one write of it
// commits a plan, and a host is promised to a rank while an assignment here names it. The spec
// holds all that planning needs, so that a plan can be made without the owner.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/condition.h"
#include "pkg/api/gang_move.h"
#include "pkg/api/job_spec.h"
#include "pkg/api/metadata.h"
#include "pkg/api/outcome_json.h"

namespace yardmaster::api {

inline constexpr char kGangKind[] = "Gang";
inline constexpr int kMaxListedRanks = 16'384;  // that a Gang holds entries for
// More than any fabric has hosts; sums of two such numbers fit into an int.
inline constexpr int kHighestRank = 1'000'000;

// Condition types of a Gang.
inline constexpr char kPlannedCondition[] = "Planned";
inline constexpr char kReleasedCondition[] = "Released";
inline constexpr char kNetworkPlannedCondition[] = "NetworkPlanned";
inline constexpr char kDegradedCondition[] = "Degraded";
// kube-scheduler cannot bind a released pod where its rank belongs.
inline constexpr char kHostRefusedCondition[] = "HostRefused";
// Every pod has been bound since the gang was placed; only with a limit for that (--ready-timeout).
inline constexpr char kRunningCondition[] = "Running";
// A placed gang has as many ranks as its owner wants now. False: it waits for room to grow.
inline constexpr char kResizedCondition[] = "Resized";
// It queues behind the others since this condition's transition.
inline constexpr char kRequeuedCondition[] = "Requeued";
// It lost its place through no act of its owner: for a limited time from this condition's
// transition on it goes before gangs of its priority, and the hosts of its next place are kept for
// it. False: that is over.
inline constexpr char kExpeditedCondition[] = "Expedited";
// It waits for hosts that come free soon, or has done so since it had its last place: since this
// condition's transition, once. False: its time for that is over.
inline constexpr char kAwaitsHostsCondition[] = "AwaitsHosts";
// A placed gang has no pod. True until one of its pods is on a node, or its hosts are given back.
inline constexpr char kPodsGoneCondition[] = "PodsGone";
inline constexpr char kPreemptingCondition[] = "Preempting";  // on the gang that gets room
inline constexpr char kPreemptedCondition[] = "Preempted";    // on a gang that makes room

// Ranks of the pods of one subgroup (a Job of a JobSet, a replica type, a task) begin at
// `first_rank`: a pod's rank is that plus its index in the subgroup.
struct RankBase {
  std::string subgroup;  // as Membership::subgroup; "" where there is only one
  int first_rank = 0;
  bool operator==(const RankBase&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Text("subgroup", subgroup, kObjectName,
                About("Name or number of the subgroup.").Always());
    fields.Int("firstRank", first_rank, 0, kHighestRank, RequiredByServer("Its first rank."));
  }
};

// When the pods of a gang are made. Of a gang whose pods follow, the place comes first: it is
// planned from its spec, and its pods are made with their hosts. Refused: they followed, and the
// API server did not take all of them; the gang gives its hosts back and is not planned until its
// operator writes Follow again.
enum class GangPods { kFirst, kFollow, kRefused };
inline constexpr std::string_view kGangPodsNames[] = {"First", "Follow", "Refused"};

// Of a Gang.
struct VictimReference {
  std::string namespace_name;
  std::string name;
  std::string uid;
  bool operator==(const VictimReference&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Text("namespace", namespace_name, kLabelValue, Required("Namespace.").Always());
    fields.Text("name", name, kObjectName, Required("Name.").Always());
    fields.Text("uid", uid, kUid,
                About("Its uid, so that no later Gang of that name is meant.").Always());
  }
};

// The decision to stop other gangs for this one. From its write on the hosts are kept for this gang
// and the present leader evicts the victims' pods; it is removed by the commit that uses it, or
// when it is given up.
struct PreemptionStatus {
  std::int64_t started_ms = 0;
  std::vector<VictimReference> victims;
  std::vector<std::string> hosts;  // by name, each once
  bool operator==(const PreemptionStatus&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Time("startedTime", started_ms, "When it was decided.");
    fields.Objects("victims", victims, {1024}, About("Gangs whose pods are evicted.").Always(),
                   "One Gang.");
    fields.Texts("hosts", hosts, {kMaxListedRanks}, kObjectName,
                 About("Hosts kept for this gang meanwhile.").Always());
  }
};

// kube-scheduler refused the host that a rank was pinned to. The rank is not pinned there again
// before `until_ms`.
struct HostRefusal {
  int rank = 0;
  std::string host;
  std::int64_t until_ms = 0;
  int count = 1;  // the time doubles with it
  std::string message;
  bool operator==(const HostRefusal&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Int("rank", rank, 0, kHighestRank, RequiredByServer("The rank."));
    fields.Text("host", host, kObjectName, Required("The host that was refused.").Always());
    fields.Time("until", until_ms, RequiredByServer("When the host may be tried again.").Always());
    fields.Int("count", count, 1, kHighestRank, "How often in a row.");
    fields.Text("message", message, kMessage, About("What kube-scheduler said.").Always());
  }
};

struct GangStatus {
  std::int64_t observed_generation = 0;
  std::int64_t plan_generation = 0;
  std::string fabric;
  std::int64_t committed_ms = 0;
  std::int64_t fencing_token = 0;
  std::int64_t settled_writes = 0;
  std::optional<placement::Outcome> outcome;  // of the last planning; nothing: not planned yet
  placement::Objective objective;
  // By rank; all ranks with which it was committed, else none. The spec may now ask for another
  // number of workers.
  std::vector<AssignmentEntry> assignments;
  std::vector<placement::Reason> reasons;
  std::vector<placement::Relaxation> relaxations;
  std::optional<NetworkStatus> network;
  std::optional<PreemptionStatus> preemption;
  std::optional<GangMove> move;       // the last one that was asked for
  std::vector<HostRefusal> refusals;  // by rank, then host
  std::vector<Condition> conditions;
  // Fields of a newer version, as a JSON object; empty: none. They are written back as they were.
  std::string other_fields;
  bool operator==(const GangStatus&) const = default;

  bool committed() const { return plan_generation > 0 && !assignments.empty(); }
  // Hosts are kept for it beside those that it has.
  bool is_promised_next() const { return move && move->promised(); }
  void Describe(FieldVisitor& fields);
};

// Pods from `first_rank` on, up to the next role's: what they ask of their host, and of nodes.
struct GangRole {
  int first_rank = 0;
  workload::ResourceList requests;                  // as Gang::requests
  std::optional<int> gpus = {};                     // as workload::Role::gpus
  std::optional<NodeConstraints> constraints = {};  // nothing: those of the gang
  bool operator==(const GangRole&) const = default;

  void Describe(FieldVisitor& fields);
};

struct Gang {
  ObjectMeta metadata;
  OwnerReference owner;  // the object whose pods these are
  JobSpec job;
  NodeConstraints constraints;  // what pods ask of a node; of roles that differ, rank 0
  // What a pod of it asks of its host; of pods that differ, the most of each resource. Empty:
  // written by a version that counted only GPUs.
  workload::ResourceList requests;
  // Where pods differ: what those from a rank on ask for. Empty: they are alike.
  std::vector<GangRole> roles;
  std::vector<RankBase> rank_bases;
  GangPods pods = GangPods::kFirst;
  GangStatus status;
  // One line for each field that could not be read. The hosts in status.assignments are still
  // treated as occupied; nothing else of such a gang is used.
  std::vector<std::string> problems;
  bool operator==(const Gang&) const = default;

  // Ranks that have a host: all that it was placed with. Another number than job.workers while the
  // gang is being resized.
  int placed_workers() const { return static_cast<int>(status.assignments.size()); }
  void Describe(FieldVisitor& fields);
};

// "<kind>-<name>" in lower case, cut and hashed where that would be too long for a name, so that a
// TrainingJob and a Job of one name have different gangs.
std::string GangName(std::string_view owner_kind, std::string_view owner_name);

// kStrict is for files. Programs write Gangs, but people edit what they exported for a what-if, so
// fields that are not known and values that the API server would refuse are errors, in the status,
// too. kLenient is for what the API server has, from any version: fields that are not known are
// kept in the status and ignored in the spec, words of reasons that are not known are replaced, and
// the rules of the schema are not checked. Errors: InvalidArgument; with kLenient only if it has no
// name.
absl::StatusOr<Gang> DecodeGang(JsonView object, Decoding decoding = Decoding::kStrict);
nlohmann::json EncodeGang(const Gang& gang);
nlohmann::json EncodeGangStatus(const GangStatus& status);
nlohmann::json GangSchema();

}  // namespace yardmaster::api
