#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/input/cluster_overlay.h"
#include "pkg/cli/input/cluster_reader.h"
#include "pkg/cli/input/manifests.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/cli/input/switch_names_file.h"
#include "pkg/cli/output/job_cost.h"
#include "pkg/cli/output/plan_changes.h"
#include "pkg/cli/output/plan_report.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/cli/plan_input.h"
#include "pkg/cli/smaller_sizes.h"
#include "pkg/netplan/diff.h"

namespace yardmaster::cli {

namespace {

struct PlanFlags {
  ClusterFlags cluster;
  bool offline = false;
  bool diff = false;
  bool paths = false;
  std::vector<std::string> files;
  std::string namespace_name;
  std::string names;
  std::string output;  // empty: a table on a terminal, else json
  std::uint64_t seed = 1;
  std::int64_t max_steps = placement::PlannerOptions{}.max_steps;
  bool avoid_contention = false;
};

void Declare(PlanFlags& flags, CLI::App& app) {
  CLI::Option* files = app.add_option(
      "-f,--filename", flags.files,
      "manifests: a file, a directory or - (may be repeated); none: what waits in the cluster");
  CLI::Option* offline = app.add_flag("--offline", flags.offline,
                                      "plan from the files alone; the cluster is not asked");
  offline->needs(files);
  app.add_option("-n,--namespace", flags.namespace_name,
                 "namespace of manifests that name none (default: the context's)");
  app.add_option("--kubeconfig", flags.cluster.kubeconfig, "kubeconfig file")->excludes(offline);
  app.add_option("--context", flags.cluster.context, "context of the kubeconfig")
      ->excludes(offline);
  app.add_flag("--diff", flags.diff, "also what the manifests change in the cluster's plan")
      ->excludes(offline)
      ->needs(files);
  app.add_flag("--paths", flags.paths, "also the source port and links of every connection");
  DeclareNames(flags.names, app);
  app.add_option("-o,--output", flags.output,
                 "output format; when left out, table on a terminal and json elsewhere")
      ->check(CLI::IsMember({"json", "yaml", "table"}));
  DeclareSeed(flags.seed, app);
  app.add_option("--max-steps", flags.max_steps, "search steps before an exact search is cut")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  app.add_flag("--avoid-contention", flags.avoid_contention,
               "as the extender with this flag: among places that are equal otherwise, the one "
               "with the least contention");
}

// Jobs of the queue's head for which it is said whom to stop; each takes many plans.
constexpr int kMaxPreemptions = 16;

struct BothPlans {
  plan::Plan placement;
  netplan::NetworkPlan network;
};

BothPlans PlanOf(const PlanFlags& flags, const PlanInput& input) {
  plan::PlanOptions options;
  options.placement.max_steps = flags.max_steps;
  options.policies = {plan::ReplaceLostRanks(), plan::StopOthers(kMaxPreemptions)};
  if (flags.avoid_contention) options.policies.push_back(plan::AvoidContention());
  BothPlans plans;
  plans.placement = plan::MakePlan(input.snapshot, options);
  netplan::NetworkInput network;
  network.ports = flags.paths;
  network.policy.seed = flags.seed;
  network.lossy = input.lossy;
  if (input.previous) network.previous = &*input.previous;
  plans.network =
      netplan::PlanNetwork(input.snapshot, netplan::PlacedJobs(plans.placement), network);
  return plans;
}

// What is to be planned, and with --diff what it is compared with.
struct Question {
  PlanInput input;
  std::optional<PlanInput> before;
  std::map<std::string, std::string> origin;
  nlohmann::json costs = nlohmann::json::array();  // of the jobs given that have a cost cap
  // Workloads given whose parallelism is guessed, by Gang.
  std::map<NamespacedName, std::shared_ptr<const WorkloadSource>> guessed;
};

std::map<NamespacedName, std::shared_ptr<const WorkloadSource>> GuessedIn(const Manifests& given) {
  std::map<NamespacedName, std::shared_ptr<const WorkloadSource>> out;
  for (const auto& pod : given.expected_pods) {
    const auto source = given.workload_of_pod.find(KeyOf(pod->metadata));
    if (source == given.workload_of_pod.end() || !source->second->guessed) continue;
    const auto membership = api::ResolveMembership(*pod);
    if (!membership.ok() || !*membership) continue;
    out[{pod->metadata.namespace_name, (*membership)->gang_name}] = source->second;
  }
  return out;
}

// Pools of the files, where they hold some, else those of the cluster.
nlohmann::json CostsOf(const Manifests& given, const state::ClusterState* cluster) {
  const std::vector<api::CapacityPool> pools =
      given.pools.empty() && cluster != nullptr ? PoolsOf(*cluster) : given.pools;
  nlohmann::json costs = nlohmann::json::array();
  for (const auto& job : given.cluster.jobs) {
    if (!job->capacity.has_cap()) continue;
    const auto cost = CostOf(*job, pools);
    if (cost.ok()) costs.push_back(nlohmann::json(*cost));
  }
  return costs;
}

// An empty text is a slip, such as a failed command before the pipe.
absl::StatusOr<Manifests> ReadGiven(const PlanFlags& flags, std::istream& in,
                                    const ManifestDefaults& defaults) {
  YM_ASSIGN_OR_RETURN(Manifests given, ReadManifests(flags.files, in, defaults));
  if (given.any_object || flags.files.empty()) return given;
  return absl::InvalidArgumentError(StrCat(
      InputNames(flags.files), ": holds no object; write a Fabric, Nodes and jobs as manifests"));
}

absl::StatusOr<Question> AskFiles(const PlanFlags& flags, std::istream& in, std::ostream& err) {
  ManifestDefaults defaults;
  if (!flags.namespace_name.empty()) defaults.namespace_name = flags.namespace_name;
  YM_ASSIGN_OR_RETURN(Manifests manifests, ReadGiven(flags, in, defaults));
  YM_RETURN_IF_ERROR(UseSwitchNames(flags.names, in, manifests.cluster));
  Question question;
  question.origin = manifests.origin;
  question.costs = CostsOf(manifests, nullptr);
  question.guessed = GuessedIn(manifests);
  question.input = InputOfFiles(std::move(manifests), err);
  return question;
}

// A cluster as if all its objects had been given as manifests.
struct ClusterRead {
  Manifests manifests;
  ManifestDefaults defaults;
  std::int64_t now_ms = 0;
};

absl::StatusOr<ClusterRead> ReadForPlan(const PlanFlags& flags, const Connector& connect) {
  YM_ASSIGN_OR_RETURN(const ClusterConnection connection, connect(flags.cluster));
  ClusterRead read;
  read.now_ms = connection.now_ms;
  YM_ASSIGN_OR_RETURN(read.manifests.cluster, ReadCluster(*connection.client));
  YM_ASSIGN_OR_RETURN(ClusterPolicies policies,
                      ReadPolicies(*connection.client, read.manifests.cluster.problems));
  read.manifests.budgets = std::move(policies.budgets);
  read.defaults.priority_classes = std::move(policies.priority_classes);
  read.defaults.namespace_name =
      flags.namespace_name.empty() ? connection.default_namespace : flags.namespace_name;
  return read;
}

absl::StatusOr<Question> AskCluster(const PlanFlags& flags, const Connector& connect,
                                    std::istream& in, std::ostream& err) {
  absl::StatusOr<ClusterRead> read = ReadForPlan(flags, connect);
  if (!read.ok()) {
    return absl::Status(read.status().code(),
                        StrCat(MessageOf(read.status()), "; or use --offline and give the Fabric, ",
                               "the Nodes and the jobs with -f"));
  }
  YM_ASSIGN_OR_RETURN(const Manifests given, ReadGiven(flags, in, read->defaults));
  Question question;
  question.origin = given.origin;
  question.costs = CostsOf(given, &read->manifests.cluster);
  question.guessed = GuessedIn(given);
  if (flags.diff) {
    // Its problems are reported once, below.
    std::ostream nowhere(nullptr);
    question.before = InputOfCluster(read->manifests, read->now_ms, nowhere);
  }
  Manifests both = Overlay(std::move(read->manifests), given);
  YM_RETURN_IF_ERROR(UseSwitchNames(flags.names, in, both.cluster));
  question.input = InputOfCluster(std::move(both), read->now_ms, err);
  return question;
}

void Print(const nlohmann::json& report, const std::string& format, std::ostream& out) {
  if (format != "table") return PrintAnswer(report, format, out);
  PrintTable(ReportTable(report), out, WantsColour(out));
  for (const std::string& line : AdviceLines(report)) out << OneLine(line) << "\n";
  for (const nlohmann::json& cost : report.value("costs", nlohmann::json::array())) {
    out << "\nCost of " << cost["namespace"].get<std::string>() << "/"
        << cost["name"].get<std::string>() << ": " << cost["message"].get<std::string>() << "\n";
  }
  if (!report.contains("changes")) return;
  out << "\n";
  PrintTable(ChangesTable(report["changes"]), out);
}

// Says in the report and on `err` which jobs were planned on a guess.
void SayGuesses(const Question& question, nlohmann::json& report, std::ostream& err) {
  std::set<const WorkloadSource*> said;
  for (const auto& [gang, source] : question.guessed) {
    if (!said.insert(source.get()).second) continue;
    const std::string text = StrCat(
        "its pods state no parallelism, so they are planned as one data-parallel group of all "
        "their GPUs; without ",
        api::kParallelismAnnotation, " on the pod template kube-scheduler places them one by one");
    err << "warning: " << source->where << ": " << source->kind << " " << source->key.text() << ": "
        << text << "\n";
    for (nlohmann::json& job : report["jobs"]) {
      if (job["namespace"] != gang.namespace_name || job["name"] != source->key.name) continue;
      job["warnings"].push_back("parallelism guessed: one data-parallel group of all its GPUs");
    }
  }
}

// Says what contradicts itself, with the place it was read from. True when something does that was
// given.
bool PrintProblems(const Question& question, bool all_given, std::ostream& err) {
  bool any = false;
  for (const plan::JobState& state : question.input.snapshot.jobs) {
    const auto name = question.input.names.find(state.job.key);
    const std::string object =
        name == question.input.names.end()
            ? "Gang " + state.job.key.text()
            : StrCat(name->second.kind, " ", state.job.key.namespace_name, "/", name->second.name);
    const auto origin = question.origin.find(object);
    const bool given = origin != question.origin.end();
    for (const std::string& problem : state.problems) {
      any = any || given || all_given;
      err << (given ? origin->second + ": " : "") << object << ": " << problem << "\n";
    }
  }
  return any;
}

// Says why no flow has a source port where the Fabric's hashes cannot be used. True when the Fabric
// was given.
bool PrintHashesProblem(const Question& question, const netplan::NetworkPlan& plan,
                        std::ostream& err) {
  if (plan.report.hashes_problem.empty()) return false;
  const std::string object = StrCat("Fabric ", question.input.snapshot.network->spec().name);
  const auto origin = question.origin.find(object);
  const bool given = origin != question.origin.end();
  err << (given ? origin->second + ": " : "") << object << ": " << plan.report.hashes_problem
      << "\n";
  return given;
}

}  // namespace

int RunPlanCommand(const Args& args, const Connector& connect, std::istream& in, std::ostream& out,
                   std::ostream& err) {
  PlanFlags flags;
  CLI::App app(
      "What the planner would do in the cluster, with these manifests on top of what is there.\n"
      "Nothing is changed. With --offline the manifests alone are planned.",
      "kubectl yardmaster plan");
  Declare(flags, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster plan -f job.yaml -o table\n"
      "  kubectl yardmaster plan -f job.yaml --diff -o table\n"
      "  kubectl yardmaster plan --offline -f fabric.yaml -f job.yaml --paths");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  absl::StatusOr<Question> question =
      flags.offline ? AskFiles(flags, in, err) : AskCluster(flags, connect, in, err);
  if (!question.ok()) return Fail(question.status(), err);
  const PlanInput& input = question->input;
  const BothPlans plans = PlanOf(flags, input);
  nlohmann::json report =
      PlanReport(input.snapshot, plans.placement, plans.network, input.names, flags.paths);
  AddSmallerSizes(input, plans.placement, report);
  for (const RefusedWorkload& refused : input.refused) {
    const WorkloadSource& workload = *refused.workload;
    report["jobs"].push_back(InvalidJob(workload.key.namespace_name,
                                        {workload.kind, workload.key.name}, {refused.problem}));
  }
  bool bad_pods = false;
  for (const gather::IncompleteGang& gang : input.incomplete) {
    report["jobs"].push_back(IncompleteJob(gang));
    bad_pods |= flags.offline && gang.cause == gather::Incompleteness::kInvalid;
  }
  for (const PodsOfNoGang& pods : input.of_no_gang) {
    report["jobs"].push_back(InvalidJob(pods.namespace_name, pods.owner, {pods.problem}));
    bad_pods |= flags.offline;
  }
  for (const GangLeftAlone& gang : input.left_alone) {
    report["jobs"].push_back(JobLeftAlone(gang.gang, gang.name, gang.assignments, gang.why));
  }
  if (!question->costs.empty()) report["costs"] = question->costs;
  if (question->before) {
    const PlanInput& before = *question->before;
    ReportNames names = before.names;
    names.insert(input.names.begin(), input.names.end());
    const BothPlans present = PlanOf(flags, before);
    report["changes"] =
        ChangesJson(netplan::Diff({before.snapshot, present.placement, present.network},
                                  {input.snapshot, plans.placement, plans.network}),
                    names);
  }
  SayGuesses(*question, report, err);
  if (flags.output.empty()) flags.output = IsTerminal(out) ? "table" : "json";
  Print(report, flags.output, out);
  const bool contradicts = PrintProblems(*question, flags.offline, err);
  const bool bad_hashes = PrintHashesProblem(*question, plans.network, err);
  return contradicts || bad_hashes || bad_pods || !input.refused.empty() ? 1 : 0;
}

}  // namespace yardmaster::cli
