#include <algorithm>
#include <memory>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/connect.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/output/overview.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/plan/planner.h"
#include "pkg/state/snapshot_builder.h"
#include "pkg/state/subject.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

constexpr char kDrainTaint[] = "yardmaster.dev/drain";

struct Move {
  std::string job;  // "namespace/name"
  int rank = 0;
  std::string from;
  std::string to;      // empty: no host is free
  std::string reason;  // why not
};

struct DrainFlags {
  ClusterFlags cluster;
  std::vector<std::string> what;
  std::string output;
  bool yes = false;
  bool undo = false;
};

std::vector<std::string> BelowTor(const plan::Snapshot& snapshot, fabric::SwitchId tor) {
  const fabric::Network& network = *snapshot.network;
  const fabric::FabricSpec& spec = network.spec();
  std::vector<std::string> hosts;
  for (fabric::HostId host : snapshot.places->hosts()) {
    bool below = false;
    for (int rail = 0; rail < spec.rails && !below; ++rail) {
      for (int port = 0; port < spec.nic_ports && !below; ++port) {
        below = network.tor({host, rail, port}) == tor;
      }
    }
    if (below) hosts.push_back(snapshot.places->name(host));
  }
  return hosts;
}

std::string NameOf(const state::ClusterState& cluster, const NamespacedName& key) {
  for (const state::Subject& subject : state::SubjectsOf(cluster)) {
    if (subject.key() == key) return StrCat(subject.namespace_name, "/", subject.name);
  }
  return key.text();
}

json EncodeMoves(const std::vector<std::string>& hosts, const std::vector<Move>& moves) {
  json out = {{"hosts", hosts}, {"moves", json::array()}};
  for (const Move& move : moves) {
    json entry = {{"job", move.job}, {"rank", move.rank}, {"from", move.from}, {"to", nullptr}};
    if (!move.to.empty()) entry["to"] = move.to;
    if (!move.reason.empty()) entry["reason"] = move.reason;
    out["moves"].push_back(std::move(entry));
  }
  return out;
}

void PrintMoves(const std::vector<std::string>& hosts, const std::vector<Move>& moves,
                std::ostream& out) {
  out << Count(static_cast<std::int64_t>(hosts.size()), "host") << ", "
      << Count(static_cast<std::int64_t>(moves.size()), "rank") << " to move\n";
  if (moves.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"JOB", "RANK", "FROM", "TO", "REASON"}};
  for (const Move& move : moves) {
    rows.push_back({move.job, StrCat(move.rank), move.from, move.to.empty() ? "nowhere" : move.to,
                    move.reason});
  }
  PrintTable(rows, out, WantsColour(out));
}

// Our taint among the others of the Node, or not.
json TaintsOf(const json& node, bool drained) {
  json taints = json::array();
  if (node.contains("spec") && node["spec"].contains("taints")) {
    for (const json& taint : node["spec"]["taints"]) {
      if (taint.value("key", "") != kDrainTaint) taints.push_back(taint);
    }
  }
  if (drained) taints.push_back({{"key", kDrainTaint}, {"effect", "NoExecute"}});
  return taints;
}

absl::Status SetDrained(kube::Client& client, const std::string& host, bool drained) {
  const kube::Target target{kube::Nodes(), "", host, ""};
  YM_ASSIGN_OR_RETURN(const json node, client.Get(target));
  // The version, so that a taint that came meanwhile is not lost.
  const json patch = {
      {"metadata", {{"resourceVersion", node["metadata"]["resourceVersion"]}}},
      {"spec",
       {{"unschedulable", drained ? json(true) : json()}, {"taints", TaintsOf(node, drained)}}}};
  return client.Patch(target, kube::MergePatch(patch), {kFieldManager}).status();
}

// Applies `change` to each host; a conflict is tried again. Returns the exit code.
template <typename Change>
int ForEach(const std::vector<std::string>& hosts, const char* done, Change change,
            std::ostream& out, std::ostream& err) {
  int failed = 0;
  for (const std::string& host : hosts) {
    absl::Status status;
    for (int attempt = 0; attempt < 3; ++attempt) {
      status = change(host);
      if (!absl::IsAborted(status)) break;
    }
    if (status.ok()) {
      out << "node " << host << " " << done << "\n";
    } else {
      err << "node " << host << ": " << MessageOf(status) << "\n";
      ++failed;
    }
  }
  return failed == 0 ? 0 : 1;
}

// Names of the Nodes that `what` means: a host; a segment ("p00s00" or "p00/p00s00"); a ToR by its
// name in the Fabric ("p00/p00s00/tor-r2-p0": the hosts below it). Errors: NotFound that names what
// is near.
absl::StatusOr<std::vector<std::string>> HostsMeant(const state::ClusterState& cluster,
                                                    const std::string& what) {
  const plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  const fabric::Places& places = *snapshot.places;
  if (places.FindHost(what).valid()) return std::vector<std::string>{what};
  std::vector<std::string> names;
  for (fabric::SegmentId segment : places.segments()) {
    const std::string& pod = places.name(places.fabric_pod_of(segment));
    names.push_back(StrCat(pod, "/", places.name(segment)));
    if (what != places.name(segment) && what != names.back()) continue;
    std::vector<std::string> hosts;
    for (fabric::HostId host : places.hosts_of(segment)) hosts.push_back(places.name(host));
    return hosts;
  }
  if (snapshot.network != nullptr) {
    const fabric::SwitchId id = snapshot.network->FindSwitch(what);
    if (id.valid() && snapshot.network->tier_of(id) == 0) return BelowTor(snapshot, id);
  }
  for (fabric::HostId host : places.hosts()) names.push_back(places.name(host));
  const std::string meant = api::Nearest(what, names);
  return absl::NotFoundError(StrCat("there is no host, segment or ToR ", what,
                                    meant.empty() ? "" : StrCat("; did you mean ", meant, "?")));
}

absl::StatusOr<std::vector<std::string>> AllHostsMeant(const state::ClusterState& cluster,
                                                       const std::vector<std::string>& what) {
  std::set<std::string> hosts;
  for (const std::string& each : what) {
    YM_ASSIGN_OR_RETURN(const std::vector<std::string> meant, HostsMeant(cluster, each));
    hosts.insert(meant.begin(), meant.end());
  }
  return std::vector<std::string>(hosts.begin(), hosts.end());
}

// What becomes of the ranks on these hosts when they are taken out of use now, by job and rank.
std::vector<Move> MovesOf(state::ClusterState cluster, const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    const auto node = cluster.nodes.Find({"", host});
    if (node == nullptr) continue;
    auto drained = std::make_shared<api::Node>(*node);
    drained->unschedulable = true;
    drained->taints.push_back({kDrainTaint, "", api::TaintEffect::kNoExecute});
    cluster.nodes.Put(std::move(drained));
  }
  const plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  plan::PlanOptions options;
  options.policies = {plan::ReplaceLostRanks()};
  const plan::Plan plan = plan::MakePlan(snapshot, options);
  const std::set<std::string> leaving(hosts.begin(), hosts.end());
  std::vector<Move> moves;
  for (const plan::JobPlan& job : plan.jobs) {
    const plan::JobState& state = snapshot.jobs[job.job.index()];
    if (!state.assignment) continue;
    const auto& now = state.assignment->host_of_rank;
    for (std::size_t rank = 0; rank < now.size(); ++rank) {
      const std::string& from = snapshot.places->name(now[rank]);
      if (leaving.count(from) == 0) continue;
      Move move{NameOf(cluster, state.job.key), static_cast<int>(rank), from, "", ""};
      const bool placed = rank < job.gang.host_of_rank.size();
      const std::string to = placed ? snapshot.places->name(job.gang.host_of_rank[rank]) : "";
      if (placed && to != from) {
        move.to = to;
      } else {
        const bool tolerated = std::find(state.lost_ranks.begin(), state.lost_ranks.end(),
                                         static_cast<int>(rank)) == state.lost_ranks.end();
        move.reason = tolerated                  ? "it tolerates the taint and stays"
                      : job.gang.reasons.empty() ? "no free host that fits"
                                                 : job.gang.reasons[0].message;
      }
      moves.push_back(std::move(move));
    }
  }
  std::sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) {
    return std::tie(a.job, a.rank) < std::tie(b.job, b.rank);
  });
  return moves;
}

}  // namespace

int RunDrainCommand(const Args& args, const Connector& connect, std::ostream& out,
                    std::ostream& err) {
  DrainFlags flags;
  CLI::App app(
      "Takes hosts out of use: says which ranks move where, and with --yes does it.\n"
      "Pods get their grace period to write a checkpoint.",
      "kubectl yardmaster drain");
  app.add_option("host", flags.what, "hosts, segments or ToRs")->required();
  CLI::Option* undo = app.add_flag("--undo", flags.undo, "bring the hosts back into use");
  app.add_flag("--yes", flags.yes, "do it; without it nothing is changed")->excludes(undo);
  app.add_option("-o,--output", flags.output, "json or yaml, of what would move")
      ->check(CLI::IsMember({"json", "yaml"}))
      ->excludes(undo);
  DeclareCluster(flags.cluster, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster drain p00s00h003\n"
      "  kubectl yardmaster drain p00/p00s00/tor-r2-p0 --yes\n"
      "  kubectl yardmaster drain p00s00h003 --undo");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  ReadFlags read{flags.cluster, ""};
  const absl::StatusOr<ConnectedCluster> cluster = ConnectAndRead(read, connect, err);
  if (!cluster.ok()) return Fail(cluster.status(), err);
  const auto hosts = AllHostsMeant(cluster->state, flags.what);
  if (!hosts.ok()) return Fail(hosts.status(), err);
  kube::Client& client = *cluster->connection.client;
  if (flags.undo) {
    return ForEach(
        *hosts, "is back in use",
        [&](const std::string& host) { return SetDrained(client, host, false); }, out, err);
  }
  const std::vector<Move> moves = MovesOf(cluster->state, *hosts);
  if (!flags.output.empty()) {
    PrintAnswer(EncodeMoves(*hosts, moves), flags.output, out);
  } else {
    PrintMoves(*hosts, moves, out);
  }
  if (!flags.yes) {
    err << "nothing was changed; --yes does it\n";
    return 0;
  }
  return ForEach(
      *hosts, "is drained", [&](const std::string& host) { return SetDrained(client, host, true); },
      flags.output.empty() ? out : err, err);
}

int RunBackupListCommand(const Args& args, const Connector& connect, std::ostream& out,
                         std::ostream& err) {
  ReadFlags flags;
  std::string output;
  CLI::App app("Backup hosts: kept free to replace a host of their domain or segment",
               "kubectl yardmaster backup list");
  app.add_option("-o,--output", output, "json, yaml or name")
      ->check(CLI::IsMember({"json", "yaml", "name"}));
  DeclareCluster(flags.cluster, app);
  app.footer("Example:\n  kubectl yardmaster backup list");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<ConnectedCluster> cluster = ConnectAndRead(flags, connect, err);
  if (!cluster.ok()) return Fail(cluster.status(), err);
  const plan::Snapshot snapshot = state::BuildSnapshot(cluster->state);
  std::vector<std::vector<std::string>> rows = {{"HOST", "FABRIC POD", "SEGMENT", "STATE"}};
  constexpr int kDomain = 3;  // after SEGMENT, where hosts have domains
  for (fabric::HostId host : snapshot.places->hosts()) {
    const placement::HostState& state = snapshot.cluster.hosts[host.index()];
    if (!state.backup) continue;
    const bool usable = state.unavailable == placement::Unavailability::kNo;
    rows.push_back({snapshot.places->name(host),
                    snapshot.places->name(snapshot.places->fabric_pod_of(host)),
                    snapshot.places->name(snapshot.places->segment_of(host)),
                    !usable                         ? "out"
                    : state.free_gpus == state.gpus ? "free"
                                                    : "in use"});
    if (snapshot.places->has_domains()) {
      rows.back().insert(rows.back().begin() + kDomain,
                         snapshot.places->name(snapshot.places->domain_of(host)));
    }
  }
  if (snapshot.places->has_domains()) rows[0].insert(rows[0].begin() + kDomain, "DOMAIN");
  if (output == "name") {
    for (std::size_t r = 1; r < rows.size(); ++r) out << "node/" << rows[r][0] << "\n";
  } else if (!output.empty()) {
    PrintAnswer({{"backup", RowsAsJson(rows)}}, output, out);
  } else {
    PrintTable(rows, out, WantsColour(out));
  }
  return 0;
}

int RunBackupSetCommand(const Args& args, const Connector& connect, std::ostream& out,
                        std::ostream& err) {
  ClusterFlags cluster;
  std::vector<std::string> hosts;
  bool off = false;
  CLI::App app("Marks Nodes as backup hosts of their domain and segment, or as ordinary ones",
               "kubectl yardmaster backup set");
  app.add_option("host", hosts, "names of Nodes")->required();
  app.add_flag("--off", off, "make them ordinary hosts");
  DeclareCluster(cluster, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster backup set p00s00h127\n"
      "  kubectl yardmaster backup set p00s00h127 --off");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<ClusterConnection> connection = connect(cluster);
  if (!connection.ok()) return Fail(connection.status(), err);
  const json patch = {{"metadata", {{"labels", {{api::kBackupKey, off ? json() : json("true")}}}}}};
  return ForEach(
      hosts, off ? "is an ordinary host" : "is a backup host",
      [&](const std::string& host) {
        return connection->client
            ->Patch({kube::Nodes(), "", host, ""}, kube::MergePatch(patch), {kFieldManager})
            .status();
      },
      out, err);
}

}  // namespace yardmaster::cli
