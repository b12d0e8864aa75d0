#include "pkg/cli/output/explain.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/output/job_cost.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/cli/output/unplanned_pods.h"
#include "pkg/extender/ledger/free_places.h"
#include "pkg/gather/incomplete_gang.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/residual_bandwidth.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::cli {

namespace {

using gather::IncompleteGang;
using state::StateOf;
using state::Subject;
using state::SubjectsOf;

void AddLine(std::string& out, const std::string& label, const std::string& text) {
  if (text.empty()) return;
  out += label + std::string(label.size() < 12 ? 12 - label.size() : 1, ' ') + OneLine(text) + "\n";
}

// Three digits are what a reader compares.
std::string Short(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// ", in 2 domains: d0, d1"; of many the first ones; nothing where there are none.
std::string InDomains(const std::set<std::string>& domains) {
  constexpr std::size_t kMost = 4;
  if (domains.empty()) return "";
  std::vector<std::string> names(domains.begin(), domains.end());
  const bool more = names.size() > kMost;
  if (more) names.resize(kMost);
  return StrCat(", in ", Count(static_cast<std::int64_t>(domains.size()), "domain"), ": ",
                Join(names, ", "), more ? ", ..." : "");
}

void ExplainPlacement(const api::Gang& gang, std::string& out) {
  const api::GangStatus& status = gang.status;
  // All of them, unless it is being resized.
  const std::string part =
      gang.placed_workers() == gang.job.workers
          ? ""
          : StrCat(gang.placed_workers(), " of ", Count(gang.job.workers, "worker"), ", ");
  AddLine(out, "placed:",
          StrCat(part, "on fabric ", status.fabric.empty() ? "-" : status.fabric, ", plan ",
                 status.plan_generation));
  std::map<std::string, std::vector<int>> by_segment;
  std::map<std::string, std::set<std::string>> domains_of;
  for (const api::AssignmentEntry& entry : status.assignments) {
    const std::string segment = StrCat(entry.fabric_pod, "/", entry.segment);
    by_segment[segment].push_back(entry.rank);
    if (!entry.domain.empty()) domains_of[segment].insert(entry.domain);
  }
  for (const auto& [segment, ranks] : by_segment) {
    AddLine(out, "  " + segment,
            StrCat(Count(static_cast<std::int64_t>(ranks.size()), "worker"), ", ranks ",
                   gather::RunsOf(ranks), InDomains(domains_of[segment])));
  }
  const placement::Objective& o = status.objective;
  AddLine(out, "splits:",
          StrCat("data groups over segments ", o.data_split_segments, ", over fabric pods ",
                 o.data_split_fabric_pods, "; tensor groups ", o.tensor_split_segments, ", ",
                 o.tensor_split_fabric_pods,
                 domains_of.empty() ? std::string()
                                    : StrCat("; tensor, context and expert groups over domains ",
                                             o.tensor_split_domains)));
  if (status.network) {
    AddLine(
        out, "network:",
        StrCat("level ", status.network->level, ", intensity ", Short(status.network->intensity),
               " FLOP per second of communication, ", Short(status.network->communication_seconds),
               " s of communication an iteration"));
  }
}

// Conditions in `shown` are left out: a job repeats some of its gang's conditions. A message that
// repeats one of `said`, or of a condition before it, is not written out again.
void ExplainConditions(const std::vector<api::Condition>& conditions,
                       const std::vector<api::Condition>& shown, std::vector<std::string>& said,
                       std::string& out) {
  const auto is_said = [&said](const std::string& message) {
    return std::any_of(said.begin(), said.end(), [&](const std::string& text) {
      return message.find(text) != std::string::npos;
    });
  };
  const auto is_shown = [&shown](const api::Condition& condition) {
    return std::any_of(shown.begin(), shown.end(), [&](const api::Condition& other) {
      return other.type == condition.type && other.status == condition.status &&
             other.message == condition.message;
    });
  };
  for (const api::Condition& condition : conditions) {
    if (is_shown(condition)) continue;
    if (condition.status != api::ConditionStatus::kTrue && condition.message.empty()) continue;
    static constexpr std::string_view kAnswers[] = {"yes", "no", "unknown"};  // by status
    const std::string answer(kAnswers[static_cast<std::size_t>(condition.status)]);
    if (condition.message.empty()) {
      AddLine(out, condition.type + ":", answer);
    } else if (is_said(condition.message)) {
      AddLine(out, condition.type + ":", answer + ", as above");
    } else {
      AddLine(out, condition.type + ":", StrCat(answer, ", ", condition.message));
      said.push_back(condition.message);
    }
  }
}

// A change that would help, as a command where the job itself can be changed so: only a TrainingJob
// has the field.
std::string TryText(const Subject& subject, const std::string& change) {
  if (change.starts_with("backup hosts:")) {
    return StrCat(change, " (kubectl yardmaster backup set HOST --off)");
  }
  if (!change.starts_with("placement:")) return change;
  const std::size_t end = std::min(change.find(';'), change.size());
  const std::string field = change.substr(0, end);
  const std::string rest = change.substr(end);
  if (subject.kind != api::kTrainingJobKind) {
    return StrCat(field, ", which only the spec of a TrainingJob has", rest);
  }
  return StrCat("kubectl patch trainingjob ", subject.name, " -n ", subject.namespace_name,
                " --type merge -p 'spec: {", field, "}'", rest);
}

// Which host holds a placed gang back, where NICs spray.
void ExplainBandwidth(const state::ClusterState& cluster, const Subject& subject,
                      std::string& out) {
  const plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  for (const plan::JobState& state : snapshot.jobs) {
    if (state.job.key != subject.key() || !state.assignment) continue;
    if (const auto narrow = plan::NarrowestOf(snapshot, state.assignment->host_of_rank)) {
      AddLine(out, "held back:", plan::TextOf(snapshot, *narrow));
    }
  }
}

// What planning it now, on this cluster, says. `said`: the reasons.
void ExplainWaiting(const state::ClusterState& cluster, const Subject& subject,
                    std::vector<std::string>& said, std::string& out) {
  const NamespacedName key = subject.key();
  const plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  const plan::Plan plan = plan::MakePlan(snapshot);
  for (const plan::JobPlan& job : plan.jobs) {
    const plan::JobState& state = snapshot.jobs[job.job.index()];
    if (state.job.key != key) continue;
    if (state.assignment) return;
    AddLine(out, "planned now:", std::string(placement::Name(job.gang.outcome)));
    for (const placement::Reason& reason : job.gang.reasons) {
      AddLine(out, "  because:", StrCat(reason.message, " (", placement::Name(reason.code), ")"));
      said.push_back(reason.message);
    }
    for (const placement::Relaxation& relaxation : job.gang.relaxations) {
      AddLine(
          out, "  try:",
          StrCat(TryText(subject, relaxation.change), " -> ", placement::Name(relaxation.outcome)));
    }
  }
}

// What incidents cost, and how often checkpoints are worth their price.
void ExplainWork(const api::TrainingJob& job, std::string& out) {
  const api::TrainingJobStatus& status = job.status;
  for (const auto& [cause, seconds] : status.lost_gpu_seconds) {
    AddLine(out, "lost:", StrCat(std::round(seconds / 36) / 100, " GPU hours, ", cause));
  }
  if (status.checkpoint.last_ms == 0) return;
  std::string text = StrCat("last at ", FormatTime(status.checkpoint.last_ms));
  if (status.checkpoint.interval_seconds > 0) {
    text += StrCat(", costs ", status.checkpoint.cost_seconds, " s, best every ",
                   status.checkpoint.interval_seconds, " s");
    if (job.checkpoint.interval_seconds > 0) {
      text += StrCat(", the spec says every ", job.checkpoint.interval_seconds, " s");
    }
  }
  AddLine(out, "checkpoint:", text);
}

// Where its images are kept for replacements.
void ExplainStandbys(const api::TrainingJob& job, std::string& out) {
  for (const api::Standby& standby : job.status.standby) {
    std::string text = standby.host;
    if (standby.state == api::StandbyState::kReady) text += " has the images";
    if (standby.state == api::StandbyState::kPulling) text += " pulls the images";
    if (standby.state == api::StandbyState::kRefused) text += " does not get the images";
    if (!standby.message.empty()) text += StrCat(text.empty() ? "" : ": ", standby.message);
    AddLine(out, "standby:", text);
  }
}

// A job by name: one with a TrainingJob or a Gang, or pods that are to be one.
struct Found {
  std::optional<Subject> subject;
  std::optional<IncompleteGang> incomplete;
  std::optional<UnplannedPods> unplanned;  // neither of those

  std::string namespace_name() const {
    if (unplanned) return unplanned->namespace_name;
    return subject ? subject->namespace_name : incomplete->gang.namespace_name;
  }
  std::string name() const {
    if (unplanned) return unplanned->name;
    return subject ? subject->name : incomplete->owner.name;
  }
  std::string kind() const {
    if (unplanned) return unplanned->kind;
    return subject ? subject->kind : incomplete->owner.kind;
  }
  std::string state() const {
    if (unplanned) return unplanned->state;
    return incomplete ? std::string(Name(incomplete->cause)) : StateOf(*subject);
  }
};

absl::StatusOr<Found> FindJob(const state::ClusterState& cluster, const std::string& ns,
                              const std::string& job) {
  const std::vector<IncompleteGang> incomplete = gather::IncompleteGangsOf(cluster);
  absl::StatusOr<Subject> subject = FindSubject(cluster, ns, job);
  if (subject.ok()) {
    Found found{*std::move(subject), std::nullopt, std::nullopt};
    for (const IncompleteGang& gang : incomplete) {
      if (gang.gang == found.subject->key()) found.incomplete = gang;
    }
    return found;
  }
  for (const IncompleteGang& gang : incomplete) {
    if (gang.gang.namespace_name == ns && (gang.owner.name == job || gang.gang.name == job)) {
      return Found{std::nullopt, gang, std::nullopt};
    }
  }
  if (auto unplanned = FindUnplannedPods(cluster, ns, job)) {
    return Found{std::nullopt, std::nullopt, std::move(unplanned)};
  }
  return subject.status();
}

void ExplainSubject(const state::ClusterState& cluster, const Subject& subject, std::string& out) {
  std::vector<std::string> said;
  if (subject.gang != nullptr && subject.gang->status.committed()) {
    ExplainPlacement(*subject.gang, out);
    ExplainBandwidth(cluster, subject, out);
  } else {
    ExplainWaiting(cluster, subject, said, out);
  }
  if (subject.job != nullptr) {
    ExplainWork(*subject.job, out);
    ExplainStandbys(*subject.job, out);
    for (const auto& [label, text] : ExplainCost(*subject.job, PoolsOf(cluster))) {
      AddLine(out, label, text);
    }
  }
  std::vector<api::Condition> shown;
  if (subject.job != nullptr) shown = subject.job->status.conditions;
  ExplainConditions(shown, {}, said, out);
  if (subject.gang != nullptr) ExplainConditions(subject.gang->status.conditions, shown, said, out);
}

std::string TextOf(const state::ClusterState& cluster, const Found& found) {
  std::string out;
  AddLine(out, "job:", StrCat(found.kind(), " ", found.namespace_name(), "/", found.name()));
  AddLine(out, "state:", found.state());
  if (found.incomplete) AddLine(out, "pods:", found.incomplete->text);
  if (found.unplanned) {
    AddLine(out, "pods:", found.unplanned->pods);
    AddLine(out, "planned:", "no: " + found.unplanned->why);
    AddLine(out, "scheduler:", found.unplanned->kube_scheduler);
  }
  if (found.subject) ExplainSubject(cluster, *found.subject, out);
  return out;
}

}  // namespace

absl::StatusOr<Subject> FindSubject(const state::ClusterState& cluster,
                                    const std::string& namespace_name, const std::string& job) {
  std::vector<std::string> names;
  std::string elsewhere;  // the namespace of another one of that name
  for (Subject& subject : SubjectsOf(cluster)) {
    if (subject.namespace_name != namespace_name) {
      if (elsewhere.empty() && subject.name == job) elsewhere = subject.namespace_name;
      continue;
    }
    names.push_back(subject.name);
    if (subject.name == job || subject.key().name == job) return std::move(subject);
  }
  for (const std::string& name : OwnersOfPods(cluster, namespace_name)) names.push_back(name);
  const std::string meant = api::Nearest(job, names);
  if (!elsewhere.empty()) {
    return absl::NotFoundError(StrCat("there is no job ", job, " in namespace ", namespace_name,
                                      "; there is one in namespace ", elsewhere, ": add -n ",
                                      elsewhere));
  }
  return absl::NotFoundError(StrCat("there is no job ", job, " in namespace ", namespace_name,
                                    meant.empty() ? "; kubectl yardmaster get jobs -A lists them"
                                                  : StrCat("; did you mean ", meant, "?")));
}

absl::StatusOr<std::string> Explain(const state::ClusterState& cluster,
                                    const std::string& namespace_name, const std::string& job) {
  YM_ASSIGN_OR_RETURN(const Found found, FindJob(cluster, namespace_name, job));
  return TextOf(cluster, found);
}

absl::StatusOr<nlohmann::json> ExplainAsJson(const state::ClusterState& cluster,
                                             const std::string& namespace_name,
                                             const std::string& job) {
  YM_ASSIGN_OR_RETURN(const Found found, FindJob(cluster, namespace_name, job));
  std::vector<std::string> lines = Split(TextOf(cluster, found), '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  nlohmann::json out = {{"namespace", found.namespace_name()},
                        {"name", found.name()},
                        {"kind", found.kind()},
                        {"state", found.state()},
                        {"lines", std::move(lines)}};
  if (!found.subject) return out;
  const Subject& subject = *found.subject;
  if (subject.job != nullptr) out["trainingJob"] = api::EncodeTrainingJob(*subject.job);
  if (subject.gang != nullptr) out["gang"] = api::EncodeGang(*subject.gang);
  return out;
}

}  // namespace yardmaster::cli
