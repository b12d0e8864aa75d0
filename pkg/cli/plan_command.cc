#include "pkg/cli/plan_command.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/manifests.h"
#include "pkg/cli/plan_report.h"
#include "pkg/cli/print_objects.h"
#include "pkg/config/yaml.h"
#include "pkg/extender/gather.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::cli {

namespace {

struct Flags {
  bool offline = false;
  bool paths = false;
  std::vector<std::string> files;
  std::string output = "json";
  std::uint64_t seed = 1;
  std::int64_t max_steps = placement::PlannerOptions{}.max_steps;
};

void Declare(Flags& flags, CLI::App& app) {
  app.add_flag("--offline", flags.offline, "plan from files only; the cluster is not asked")
      ->required();
  app.add_option("-f,--filename", flags.files,
                 "manifests: a file, a directory or - (may be repeated)")
      ->required();
  app.add_flag("--paths", flags.paths, "also the source port and links of every connection");
  app.add_option("-o,--output", flags.output, "output format")
      ->check(CLI::IsMember({"json", "yaml", "table"}))
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "of what is random")->capture_default_str();
  app.add_option("--max-steps", flags.max_steps, "search steps before an exact search is cut")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}))
      ->capture_default_str();
}

// Pods of other controllers that have no Gang yet become one, as the extender would make it. What a
// workload's controller would make counts where no pod of that gang is there.
void AddGangsOfPods(const extender::Gathered& gathered, std::set<workload::JobKey>& known,
                    state::World& world, std::ostream& err) {
  for (const auto& gang : world.gangs) {
    known.insert({gang->metadata.namespace_name, gang->metadata.name});
  }
  for (const auto& job : world.jobs) {
    known.insert(
        {job->metadata.namespace_name, api::GangName(api::kTrainingJobKind, job->metadata.name)});
  }
  for (const std::string& problem : gathered.problems) err << problem << "\n";
  for (const extender::GatheredGang& pods : gathered.gangs) {
    if (!known.insert({pods.namespace_name, pods.name}).second) continue;
    auto gang = extender::MakeGang(pods, nullptr);
    if (!gang.ok()) {
      err << MessageOf(gang.status()) << "\n";
    } else if (*gang) {
      // It is as old as its youngest pod.
      for (const extender::GangMember& member : pods.members) {
        (*gang)->metadata.created_ms =
            std::max((*gang)->metadata.created_ms, member.pod->metadata.created_ms);
      }
      world.gangs.Put(std::make_shared<const api::Gang>(**std::move(gang)));
    } else {
      err << "gang " << pods.namespace_name << "/" << pods.name << ": not planned, "
          << Count(static_cast<std::int64_t>(pods.members.size()), "pod")
          << " are there and more belong to it\n";
    }
  }
}

// Jobs of the queue's head for which it is said whom to stop; each takes many plans.
constexpr int kMostPreemptions = 16;

// Which disruption budgets cover how many pods of the placed gangs. A pod under two budgets cannot
// be evicted at all.
void AddBudgets(const std::vector<api::DisruptionBudget>& budgets,
                const state::ObjectTable<api::Pod>& pods, plan::Snapshot& snapshot) {
  if (budgets.empty()) return;
  for (const api::DisruptionBudget& budget : budgets) {
    const auto allowed = std::min<std::int64_t>(budget.disruptions_allowed, INT32_MAX);
    snapshot.budgets.push_back({StrCat(budget.metadata.namespace_name, "/", budget.metadata.name),
                                static_cast<int>(allowed)});
  }
  std::map<workload::JobKey, plan::JobState*> jobs;
  for (plan::JobState& job : snapshot.jobs) {
    if (job.assignment) jobs[job.job.key] = &job;
  }
  for (const extender::GatheredGang& gang : extender::Gather(pods).gangs) {
    const auto at = jobs.find({gang.namespace_name, gang.name});
    if (at == jobs.end()) continue;
    std::map<int, int> covered;
    for (const extender::GangMember& member : gang.members) {
      int by = 0;
      for (std::size_t b = 0; b < budgets.size(); ++b) {
        if (!budgets[b].Covers(gang.namespace_name, member.pod->metadata.labels)) continue;
        ++covered[static_cast<int>(b)];
        ++by;
      }
      if (by > 1) at->second->may_be_preempted = false;
    }
    for (const auto& [budget, count] : covered) at->second->budgets.push_back({budget, count});
  }
}

ReportNames NamesOf(const state::World& world) {
  ReportNames names;
  for (const auto& job : world.jobs) {
    names[{job->metadata.namespace_name,
           api::GangName(api::kTrainingJobKind, job->metadata.name)}] = {api::kTrainingJobKind,
                                                                         job->metadata.name};
  }
  for (const auto& gang : world.gangs) {
    names[{gang->metadata.namespace_name, gang->metadata.name}] = {gang->owner.kind,
                                                                   gang->owner.name};
  }
  return names;
}

void Print(const nlohmann::json& report, const std::string& format, std::ostream& out) {
  if (format == "table") {
    PrintTable(ReportTable(report), out);
  } else if (format == "yaml") {
    out << config::EmitYaml(report);
  } else {
    out << report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
}

// Says what contradicts itself, with the place it was read from. True when something does.
bool TellProblems(const plan::Snapshot& snapshot, const ReportNames& names,
                  const Manifests& manifests, std::ostream& err) {
  bool any = false;
  for (const plan::JobState& state : snapshot.jobs) {
    const auto name = names.find(state.job.key);
    const std::string object =
        name == names.end()
            ? "Gang " + state.job.key.text()
            : StrCat(name->second.kind, " ", state.job.key.namespace_name, "/", name->second.name);
    const auto origin = manifests.origin.find(object);
    for (const std::string& problem : state.problems) {
      any = true;
      err << (origin == manifests.origin.end() ? "" : origin->second + ": ") << object << ": "
          << problem << "\n";
    }
  }
  return any;
}

}  // namespace

int RunPlanCommand(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                   std::ostream& err) {
  Flags flags;
  CLI::App app("What the planner would do with these manifests", "kubectl yardmaster plan");
  Declare(flags, app);
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  absl::StatusOr<Manifests> manifests = ReadManifests(flags.files, in);
  if (!manifests.ok()) {
    err << MessageOf(manifests.status()) << "\n";
    return 1;
  }
  for (const auto& [kind, count] : manifests->ignored) {
    err << "ignored: " << Count(count, kind)
        << " (read are Nodes, Pods, our own kinds, and workloads whose pods ask for GPUs and carry "
        << api::kParallelismAnnotation << ")\n";
  }
  std::set<workload::JobKey> known;
  AddGangsOfPods(extender::Gather(manifests->world.pods), known, manifests->world, err);
  AddGangsOfPods(extender::Gather(manifests->expected_pods), known, manifests->world, err);
  const ReportNames names = NamesOf(manifests->world);
  plan::Snapshot snapshot = state::BuildSnapshot(manifests->world);
  AddBudgets(manifests->budgets, manifests->world.pods, snapshot);
  for (const std::string& warning : snapshot.warnings) err << "warning: " << warning << "\n";
  plan::PlanOptions options;
  options.placement.max_steps = flags.max_steps;
  options.paths = flags.paths;
  options.preemptions = kMostPreemptions;
  options.seed = flags.seed;
  const plan::Plan plan = plan::MakePlan(snapshot, options);
  Print(PlanReport(snapshot, plan, names, flags.paths), flags.output, out);
  return TellProblems(snapshot, names, *manifests, err) ? 1 : 0;
}

}  // namespace yardmaster::cli
