#include <algorithm>
#include <istream>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/api/gang.h"
#include "pkg/api/outcome_json.h"
#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/cli/apply_move.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/input/cluster_reader.h"
#include "pkg/cli/input/manifests.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/cli/output/node_names.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/cli/plan_input.h"
#include "pkg/operator/jobs/move_snapshot.h"
#include "pkg/operator/jobs/move_terms.h"
#include "pkg/plan/rebalance/rebalance.h"

namespace yardmaster::cli {

namespace {

using fabric::HostId;
using nlohmann::json;

struct RebalanceFlags {
  ClusterFlags cluster;
  bool offline = false;
  std::vector<std::string> files;
  plan::RebalanceOptions options;
  std::string output = "table";
  std::string job;  // "namespace/name"; empty: all
  bool apply = false;
  int wait_seconds = 1'800;
};

void Declare(RebalanceFlags& flags, CLI::App& app) {
  CLI::Option* files = app.add_option(
      "-f,--filename", flags.files,
      "with --offline: a Fabric, Nodes, Gangs and TrainingJobs: a file, a directory or - (may be "
      "repeated)");
  CLI::Option* offline =
      app.add_flag("--offline", flags.offline, "the files alone; the cluster is not asked");
  offline->needs(files);
  files->needs(offline);
  app.add_option("--kubeconfig", flags.cluster.kubeconfig, "kubeconfig file")->excludes(offline);
  app.add_option("--context", flags.cluster.context, "context of the kubeconfig")
      ->excludes(offline);
  app.add_option("--max-moves", flags.options.max_moves, "moves to propose at most")
      ->check(CLI::Range(1, 1'000));
  app.add_option("--min-gain", flags.options.min_gain,
                 "GPU seconds that a move, or all moves for one waiting gang, gain at least for "
                 "each that they cost")
      ->check(NumberBetween(0, 1e9));
  app.add_option("--horizon-seconds", flags.options.horizon_seconds,
                 "for so long what is gained counts, if the job does not end before")
      ->check(NumberBetween(1, 1e9));
  app.add_option("-o,--output", flags.output, "table, wide, json or yaml")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml"}));
  app.add_option("--job", flags.job, "moves of this job alone: NAMESPACE/NAME")
      ->check([](const std::string& text) {
        const std::size_t slash = text.find('/');
        const bool is_one = slash != 0 && slash != text.npos && slash + 1 < text.size() &&
                            text.find('/', slash + 1) == text.npos;
        return is_one ? std::string() : StrCat("is ", text, "; write NAMESPACE/NAME");
      });
  CLI::Option* apply = app.add_flag("--apply", flags.apply, "make the first move, and wait for it")
                           ->excludes(offline);
  app.add_option("--wait-seconds", flags.wait_seconds,
                 "how long --apply waits for the job to run at its next place; 0: not at all")
      ->check(CLI::Range(0, 86'400))
      ->needs(apply);
}

struct MovesInput {
  PlanInput input;
  std::vector<plan::MoveTerms> terms;  // by JobId
};

// REQUIRES: --job.
NamespacedName WantedGang(const RebalanceFlags& flags) {
  const std::size_t slash = flags.job.find('/');
  return {flags.job.substr(0, slash),
          api::GangName(api::kTrainingJobKind, flags.job.substr(slash + 1))};
}

// `terms` for the moves that are asked about.
op::TermsByGang WithinFlags(op::TermsByGang terms, const RebalanceFlags& flags) {
  if (flags.job.empty()) return terms;
  const NamespacedName wanted = WantedGang(flags);
  for (auto& [key, job] : terms) {
    if (key != wanted) op::Hold("--job names another one", job);
  }
  return terms;
}

MovesInput MovesInputOf(PlanInput input, const op::TermsByGang& terms, std::ostream& err) {
  const auto stays = std::count_if(input.snapshot.jobs.begin(), input.snapshot.jobs.end(),
                                   [&](const plan::JobState& state) {
                                     return state.assignment && terms.count(state.job.key) == 0;
                                   });
  if (stays > 0) {
    err << "not moved: " << Count(stays, "placed gang")
        << " without a TrainingJob, whose owners restart them by themselves\n";
  }
  std::vector<plan::MoveTerms> in_order = op::TermsInOrder(terms, input.snapshot);
  return {std::move(input), std::move(in_order)};
}

absl::StatusOr<MovesInput> MovesInputOfFiles(const RebalanceFlags& flags, std::istream& in,
                                             std::ostream& err) {
  YM_ASSIGN_OR_RETURN(Manifests manifests, ReadManifests(flags.files, in));
  if (!manifests.any_object) {
    return absl::InvalidArgumentError(
        StrCat(InputNames(flags.files),
               ": holds no object; write a Fabric, Nodes, Gangs and TrainingJobs as manifests"));
  }
  const op::TermsByGang terms =
      WithinFlags(op::MoveTermsOf(manifests.cluster.jobs, /*now_ms=*/0), flags);
  return MovesInputOf(InputOfFiles(std::move(manifests), err), terms, err);
}

absl::StatusOr<MovesInput> MovesInputOfCluster(const RebalanceFlags& flags,
                                               const ClusterConnection& connection,
                                               std::ostream& err) {
  Manifests manifests;
  YM_ASSIGN_OR_RETURN(manifests.cluster, ReadCluster(*connection.client));
  YM_ASSIGN_OR_RETURN(ClusterPolicies policies,
                      ReadPolicies(*connection.client, manifests.cluster.problems));
  manifests.budgets = std::move(policies.budgets);
  op::TermsByGang terms =
      WithinFlags(op::MoveTermsOf(manifests.cluster.jobs, connection.now_ms), flags);
  op::KeepFollowing(manifests.cluster.gangs, terms);
  manifests.cluster = op::WithoutIdleJobs(std::move(manifests.cluster));
  const state::ObjectTable<api::Gang> gangs = manifests.cluster.gangs;
  PlanInput input = InputOfCluster(std::move(manifests), connection.now_ms, err);
  op::MoveOthersForThoseThatDoNotFit(gangs, input.snapshot);
  return MovesInputOf(std::move(input), terms, err);
}

// Writes an answer down in the names of objects.
class MovesReport {
 public:
  MovesReport(const PlanInput& input, const plan::Rebalancing& answer)
      : snapshot_(input.snapshot), names_(input.names), answer_(answer) {}

  json AsJson() const {
    json moves = json::array();
    for (const plan::Move& move : answer_.moves) moves.push_back(MoveJson(move));
    json stays = json::array();
    for (const plan::Stay& stay : answer_.stays) {
      stays.push_back({{"job", NameOf(stay.job)},
                       {"namespace", NamespaceOf(stay.job)},
                       {"reason", plan::kStayReasonNames[static_cast<std::size_t>(stay.reason)]},
                       {"why", stay.why}});
    }
    json report = {{"kind", "RebalanceReport"},
                   {"apiVersion", "yardmaster.dev/v1alpha1"},
                   {"moves", std::move(moves)},
                   {"stays", std::move(stays)},
                   {"objectiveBefore", ObjectiveJson(answer_.before)},
                   {"objectiveAfter", ObjectiveJson(answer_.after)}};
    if (answer_.is_cut) report["searchCut"] = true;
    return report;
  }

  void Print(bool wide, std::ostream& out) const {
    std::vector<std::vector<std::string>> rows = {
        {"MOVE", "NAMESPACE", "JOB", "FROM", "TO", "PRICE GPU-H", "GAIN GPU-H", "WHY"}};
    for (const plan::Move& move : answer_.moves) {
      const plan::JobState& state = snapshot_.jobs[move.job.index()];
      rows.push_back({StrCat(rows.size()), state.job.key.namespace_name, NameOf(move.job),
                      wide ? Hosts(move.from) : Segments(move.from),
                      wide ? Hosts(move.to) : Segments(move.to), Hours(move.price_gpu_seconds),
                      Hours(move.gain.gpu_seconds), move.why});
    }
    PrintTable(rows, out, WantsColour(out));
    const plan::FleetObjective& before = answer_.before;
    const plan::FleetObjective& after = answer_.after;
    out << "\n";
    rows = {{"OBJECTIVE", "NOW", "AFTER"},
            {"waiting gangs that do not fit", StrCat(before.waiting), StrCat(after.waiting)},
            {"segments of running gangs, summed", StrCat(before.places.segments),
             StrCat(after.places.segments)}};
    if (snapshot_.places->has_domains()) {
      rows.push_back({"domains of running gangs, summed", StrCat(before.places.domains),
                      StrCat(after.places.domains)});
    }
    rows.push_back({"GPUs lost to the network", plan::Tenths(before.lost_gpus),
                    plan::Tenths(after.lost_gpus)});
    PrintTable(rows, out);
    PrintStays(out);
  }

  // The first move, as a request.
  MoveToApply First(std::int64_t now_ms) const {
    const plan::Move& move = answer_.moves.front();
    MoveToApply first{snapshot_.jobs[move.job.index()].job.key.namespace_name,
                      NameOf(move.job),
                      StrCat("apply-", now_ms),
                      {}};
    for (const HostId host : move.to) first.hosts.push_back(snapshot_.places->name(host));
    return first;
  }

 private:
  void PrintStays(std::ostream& out) const {
    std::vector<std::vector<std::string>> rows = {{"NO MOVE FOR", "NAMESPACE", "WHY"}};
    for (const plan::Stay& stay : answer_.stays) {
      rows.push_back({NameOf(stay.job), NamespaceOf(stay.job), stay.why});
    }
    if (rows.size() > 1) {
      out << "\n";
      PrintTable(rows, out);
    } else if (answer_.moves.empty()) {
      out << "\nNo gang waits that moves could help, and every placed gang has the best place.\n";
    }
  }

  const std::string& NamespaceOf(plan::JobId job) const {
    return snapshot_.jobs[job.index()].job.key.namespace_name;
  }

  std::string NameOf(plan::JobId job) const {
    const NamespacedName& key = snapshot_.jobs[job.index()].job.key;
    const auto at = names_.find(key);
    return at == names_.end() ? key.name : at->second.name;
  }

  json MoveJson(const plan::Move& move) const {
    const NamespacedName& key = snapshot_.jobs[move.job.index()].job.key;
    json admits = json::array();
    for (const plan::JobId job : move.gain.admits) {
      admits.push_back(
          StrCat(snapshot_.jobs[job.index()].job.key.namespace_name, "/", NameOf(job)));
    }
    return {{"job", NameOf(move.job)},
            {"namespace", key.namespace_name},
            {"from", HostList(move.from)},
            {"to", HostList(move.to)},
            {"priceGpuSeconds", move.price_gpu_seconds},
            {"gain",
             {{"segments", move.gain.segments},
              {"domains", move.gain.domains},
              {"lostGpus", move.gain.lost_gpus},
              {"contention", move.gain.lost_gpus},  // the name that it had before
              {"gpuSeconds", move.gain.gpu_seconds},
              {"admits", std::move(admits)}}},
            {"why", move.why}};
  }

  static json ObjectiveJson(const plan::FleetObjective& objective) {
    json out = api::EncodeObjective(objective.places);
    out["waiting"] = objective.waiting;
    out["lostGpus"] = objective.lost_gpus;
    out["contention"] = objective.lost_gpus;  // the name that it had before
    return out;
  }

  // By rank.
  json HostList(const std::vector<HostId>& hosts) const {
    json names = json::array();
    for (const HostId host : hosts) names.push_back(snapshot_.places->name(host));
    return names;
  }

  std::string Hosts(const std::vector<HostId>& hosts) const {
    std::set<std::string> names;
    for (const HostId host : hosts) names.insert(snapshot_.places->name(host));
    return HostNames({names.begin(), names.end()});
  }

  // "p0s1:4,p0s2:1": hosts in each segment.
  std::string Segments(const std::vector<HostId>& hosts) const {
    std::map<fabric::SegmentId, std::set<HostId>> of_segment;
    for (const HostId host : hosts) of_segment[snapshot_.places->segment_of(host)].insert(host);
    std::vector<std::string> parts;
    for (const auto& [segment, there] : of_segment) {
      parts.push_back(StrCat(fabric::DistinctName(*snapshot_.places, segment), ":", there.size()));
    }
    return Join(parts, ",");
  }

  static std::string Hours(double seconds) { return plan::Tenths(seconds / 3600); }

  const plan::Snapshot& snapshot_;
  const ReportNames& names_;
  const plan::Rebalancing& answer_;
};

}  // namespace

int RunRebalanceCommand(const Args& args, const Connector& connect, std::istream& in,
                        std::ostream& out, std::ostream& err) {
  RebalanceFlags flags;
  CLI::App app(
      "Moves of running TrainingJobs that would let waiting gangs start, or give jobs better "
      "places.\nWithout --apply nothing is changed.",
      "kubectl yardmaster rebalance");
  Declare(flags, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster rebalance\n"
      "  kubectl yardmaster rebalance --max-moves 1 --min-gain 3 -o wide\n"
      "  kubectl yardmaster rebalance --job team/bert --apply\n"
      "  kubectl yardmaster rebalance --offline -f fabric.yaml -f jobs.yaml -o json");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  absl::StatusOr<ClusterConnection> connection = ClusterConnection();
  if (!flags.offline) connection = connect(flags.cluster);
  if (!connection.ok()) return Fail(connection.status(), err);
  const absl::StatusOr<MovesInput> asked = flags.offline
                                               ? MovesInputOfFiles(flags, in, err)
                                               : MovesInputOfCluster(flags, *connection, err);
  if (!asked.ok()) return Fail(asked.status(), err);
  absl::StatusOr<plan::Rebalancing> answer =
      plan::ProposeMoves(asked->input.snapshot, asked->terms, flags.options);
  if (!answer.ok()) return Fail(answer.status(), err);
  if (!flags.job.empty()) {
    std::erase_if(answer->stays, [&](const plan::Stay& stay) {
      return asked->input.snapshot.jobs[stay.job.index()].job.key != WantedGang(flags);
    });
  }
  const MovesReport report(asked->input, *answer);
  if (flags.output == "table" || flags.output == "wide") {
    report.Print(flags.output == "wide", out);
  } else {
    PrintAnswer(report.AsJson(), flags.output, out);
  }
  if (!flags.apply) return 0;
  if (answer->moves.empty()) {
    err << "no move is proposed, and nothing was changed\n";
    return 1;
  }
  const RealClock clock;
  kube::RealSleeper sleeper;
  const absl::Status applied =
      ApplyMove(*connection->client, report.First(connection->now_ms), flags.wait_seconds, clock,
                sleeper, flags.output == "table" || flags.output == "wide" ? out : err);
  return applied.ok() ? 0 : Fail(applied, err);
}

}  // namespace yardmaster::cli
