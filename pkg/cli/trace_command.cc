#include "pkg/cli/trace_command.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/output/explain.h"
#include "pkg/cli/output/print_objects.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

class Tracer {
 public:
  void Add(std::int64_t time_ms, std::string source, std::string object, std::string text) {
    if (time_ms > 0)
      steps_.push_back({time_ms, std::move(source), std::move(object), std::move(text)});
  }

  void AddConditions(const std::vector<api::Condition>& conditions, const char* source,
                     const std::string& object) {
    for (const api::Condition& condition : conditions) {
      const bool is = condition.status == api::ConditionStatus::kTrue;
      // The network's condition of a Gang is the operator's, too.
      const bool network = condition.type == api::kNetworkPlannedCondition;
      Add(condition.transition_ms, network ? "operator" : source, object,
          StrCat(condition.type, is ? "" : " no longer",
                 condition.reason.empty() ? "" : StrCat(" (", condition.reason, ")"),
                 condition.message.empty() ? "" : StrCat(": ", condition.message)));
    }
  }

  // The same by many pods in one second is one step.
  void AddPod(std::int64_t time_ms, const std::string& source, const std::string& text) {
    if (time_ms > 0) ++pods_[{time_ms / 1000 * 1000, source, text}];
  }

  void AddEvent(const json& event) {
    const json regarding = event.value("regarding", json::object());
    const json time = event.value("eventTime", json());
    const auto at = ParseTime(time.is_string() ? time.get<std::string>() : "");
    if (!at.ok()) return;
    const int count = event.contains("series") && event["series"].is_object()
                          ? event["series"].value("count", 1)
                          : 1;
    std::string source = event.value("reportingController", std::string());
    source = source.substr(source.rfind('/') + 1);
    Add(*at, source,
        StrCat(regarding.value("kind", std::string()), " ", regarding.value("name", std::string())),
        StrCat(event.value("reason", std::string()), ": ", event.value("note", std::string()),
               count > 1 ? StrCat(" (", count, " times)") : ""));
  }

  std::vector<Step> Take() {
    for (const auto& [key, count] : pods_) {
      const auto& [time_ms, source, text] = key;
      Add(time_ms, source, Count(count, "pod"), text);
    }
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
      return std::tie(a.time_ms, a.source, a.object, a.text) <
             std::tie(b.time_ms, b.source, b.object, b.text);
    });
    return std::move(steps_);
  }

 private:
  std::vector<Step> steps_;
  std::map<std::tuple<std::int64_t, std::string, std::string>, int> pods_;
};

bool IsOf(const api::Pod& pod, const state::Subject& subject) {
  if (pod.metadata.namespace_name != subject.namespace_name) return false;
  const auto membership = api::ResolveMembership(pod);
  return membership.ok() && *membership && (*membership)->gang_name == subject.key().name;
}

}  // namespace

absl::StatusOr<std::vector<Step>> TraceOf(const state::ClusterState& cluster, const std::string& ns,
                                          const std::string& job, const std::vector<json>& events) {
  YM_ASSIGN_OR_RETURN(const state::Subject subject, FindSubject(cluster, ns, job));
  Tracer tracer;
  std::set<std::string> names = {subject.name, subject.key().name};
  if (subject.job != nullptr) {
    const std::string object = "TrainingJob " + subject.name;
    tracer.Add(subject.job->metadata.created_ms, "api", object, "made");
    tracer.AddConditions(subject.job->status.conditions, "operator", object);
    for (const api::Incident& incident : subject.job->status.recovery.incidents) {
      tracer.Add(incident.start_ms, "operator", object, StrCat("incident: ", incident.message));
      tracer.Add(incident.end_ms, "operator", object, "incident over: every worker runs again");
    }
  }
  if (subject.gang != nullptr) {
    const std::string object = "Gang " + subject.gang->metadata.name;
    tracer.Add(subject.gang->metadata.created_ms, "extender", object, "made");
    tracer.Add(subject.gang->status.committed_ms, "extender", object,
               StrCat("committed: plan ", subject.gang->status.plan_generation));
    tracer.AddConditions(subject.gang->status.conditions, "extender", object);
  }
  for (const auto& pod : cluster.pods) {
    if (!IsOf(*pod, subject)) continue;
    names.insert(pod->metadata.name);
    tracer.AddPod(pod->metadata.created_ms, "api", "made");
  }
  for (const json& event : events) {
    const json regarding = event.value("regarding", json::object());
    if (names.count(regarding.value("name", std::string())) != 0) tracer.AddEvent(event);
  }
  return tracer.Take();
}

int RunTraceCommand(const Args& args, const Connector& connect, std::ostream& out,
                    std::ostream& err) {
  ReadFlags flags;
  std::string job, output;
  CLI::App app("What each process did for a job, in the order of time", "kubectl yardmaster trace");
  app.add_option("job", job, "name of a job or of a Gang")->required();
  app.add_option("-o,--output", output, "json or yaml")->check(CLI::IsMember({"json", "yaml"}));
  DeclareRead(flags, app);
  app.footer("Example:\n  kubectl yardmaster trace gpt -n demo");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<ConnectedCluster> cluster = ConnectAndRead(flags, connect, err);
  if (!cluster.ok()) return Fail(cluster.status(), err);
  std::vector<json> events;
  const auto listed =
      kube::ListAll(*cluster->connection.client, {kube::Events(), flags.namespace_name, "", ""});
  if (listed.ok()) {
    for (const kube::ObjectPtr& event : *listed) events.push_back(*event);
  } else {
    err << "warning: without events: " << MessageOf(listed.status()) << "\n";
  }
  const auto steps = TraceOf(cluster->state, flags.namespace_name, job, events);
  if (!steps.ok()) return Fail(steps.status(), err);
  std::vector<std::vector<std::string>> rows = {{"TIME", "BY", "OBJECT", "WHAT"}};
  json answer = json::array();
  for (const Step& step : *steps) {
    rows.push_back({FormatTime(step.time_ms), step.source, step.object, step.text});
    answer.push_back({{"time", FormatTime(step.time_ms)},
                      {"by", step.source},
                      {"object", step.object},
                      {"what", step.text}});
  }
  if (output.empty()) {
    PrintTable(rows, out);
  } else {
    PrintAnswer({{"steps", std::move(answer)}}, output, out);
  }
  return 0;
}

}  // namespace yardmaster::cli
