#include "pkg/cli/support_bundle.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <set>
#include <unistd.h>
#include <utility>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/kube/process.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

constexpr std::int64_t kLogMs = 60'000;
// Of one log or history: the most that a process of ours has is far less.
constexpr std::size_t kOutputBytes = std::size_t{64} << 20;
constexpr char kOurs[] = "app.kubernetes.io/part-of=yardmaster";

// What placement reads of a pod's spec.
const std::set<std::string>& KeptOfPodSpec() {
  static const std::set<std::string> kept = {
      "nodeName",    "nodeSelector",      "affinity",
      "tolerations", "schedulerName",     "schedulingGates",
      "priority",    "priorityClassName", "preemptionPolicy",
      "overhead",    "resourceClaims",    "terminationGracePeriodSeconds",
      "hostNetwork", "restartPolicy",     "topologySpreadConstraints"};
  return kept;
}

json ContainerWithoutSecrets(const json& container) {
  json out = json::object();
  for (const char* field : {"name", "resources", "ports"}) {
    if (container.contains(field)) out[field] = container[field];
  }
  return out;
}

json PodSpecWithoutSecrets(const json& spec) {
  json out = json::object();
  for (const auto& [field, value] : spec.items()) {
    if (KeptOfPodSpec().count(field) != 0) out[field] = value;
  }
  for (const char* field : {"containers", "initContainers"}) {
    if (!spec.contains(field)) continue;
    out[field] = json::array();
    for (const json& container : spec[field])
      out[field].push_back(ContainerWithoutSecrets(container));
  }
  return out;
}

// Of each container whether and how it runs; a message may have what the program wrote, or an
// image.
json ContainerStatusWithoutSecrets(const json& status) {
  json out = json::object();
  for (const char* field : {"name", "ready", "started", "restartCount", "state", "lastState"}) {
    if (status.contains(field)) out[field] = status[field];
  }
  for (const char* field : {"state", "lastState"}) {
    if (!out.contains(field) || !out[field].is_object()) continue;
    for (auto& [state, detail] : out[field].items()) {
      if (!detail.is_object()) continue;
      detail.erase("message");
      detail.erase("containerID");
    }
  }
  return out;
}

json PodStatusWithoutSecrets(const json& status) {
  json out = json::object();
  for (const char* field :
       {"phase", "reason", "conditions", "startTime", "qosClass", "nominatedNodeName",
        "resourceClaimStatuses", "extendedResourceClaimStatus"}) {
    if (status.contains(field)) out[field] = status[field];
  }
  for (const char* field : {"containerStatuses", "initContainerStatuses"}) {
    if (!status.contains(field) || !status[field].is_array()) continue;
    out[field] = json::array();
    for (const json& container : status[field]) {
      if (container.is_object()) out[field].push_back(ContainerStatusWithoutSecrets(container));
    }
  }
  return out;
}

// Of events what our processes and the scheduler say; kubelets name images, others anything.
void StripNote(json& event) {
  static const std::set<std::string> of_scheduler = {"FailedScheduling", "Scheduled", "Preempted"};
  const auto text = [&](const char* field) {
    return event.contains(field) && event[field].is_string() ? event[field].get<std::string>()
                                                             : std::string();
  };
  if (text("reportingController").starts_with("yardmaster.dev/") ||
      of_scheduler.count(text("reason")) != 0) {
    return;
  }
  if (event.contains("note")) event["note"] = "(left out)";
}

// Of a job's spec, or of one of its roles.
void StripTemplate(json& parent) {
  if (!parent.is_object() || !parent.contains("template")) return;
  json kept = json::object();
  const json& pod = parent["template"];
  if (pod.is_object() && pod.contains("spec") && pod["spec"].is_object()) {
    kept["spec"] = PodSpecWithoutSecrets(pod["spec"]);
  }
  parent["template"] = std::move(kept);
}

bool IsOurKey(const std::string& key) {
  return key.find("yardmaster.dev/") == 0 || key.find("kubernetes.io") != std::string::npos;
}

void StripMetadata(json& metadata) {
  metadata.erase("managedFields");
  for (const char* field : {"annotations", "labels"}) {
    if (!metadata.contains(field) || !metadata[field].is_object()) continue;
    for (auto& [key, value] : metadata[field].items()) {
      if (!IsOurKey(key) || key == "kubectl.kubernetes.io/last-applied-configuration") {
        value = "(left out)";
      }
    }
  }
}

class SupportFolder {
 public:
  SupportFolder(std::filesystem::path folder, std::ostream& err)
      : folder_(std::move(folder)), err_(err) {}

  void Write(const std::string& name, const std::string& text) {
    std::ofstream file(folder_ / name, std::ios::binary);
    file << text << std::flush;
    if (file) {
      ++files_;
    } else {
      ReportMissing(name, "it could not be written; is the disk full?");
    }
  }

  void Collect(kube::Client& client, const std::string& name, const kube::Target& target) {
    err_ << "reading " << name << "\n";
    const auto list = kube::ListAll(client, target);
    if (!list.ok()) return ReportMissing(name, MessageOf(list.status()));
    json items = json::array();
    for (const kube::ObjectPtr& object : *list) items.push_back(WithoutSecrets(*object));
    Write(name + ".json", items.dump(1, ' ', false, json::error_handler_t::replace));
  }

  // The output of kubectl.
  void Run(const std::string& name, std::vector<std::string> arguments,
           const ClusterFlags& cluster) {
    err_ << "reading " << name << "\n";
    arguments.insert(arguments.begin(), "kubectl");
    if (!cluster.kubeconfig.empty()) arguments.push_back("--kubeconfig=" + cluster.kubeconfig);
    if (!cluster.context.empty()) arguments.push_back("--context=" + cluster.context);
    std::vector<std::string> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
    const auto done = kube::RunProcess(arguments, environment, kLogMs, kOutputBytes);
    if (!done.ok()) return ReportMissing(name, MessageOf(done.status()));
    if (done->exit_code != 0) return ReportMissing(name, done->errors);
    Write(name, done->output);
  }

  void ReportMissing(const std::string& name, const std::string& why) {
    err_ << "warning: without " << name << ": " << why << "\n";
    missing_ += name + ": " + why + "\n";
  }

  // Writes what is missing. Returns the exit code: 1 where nothing else could be read or written.
  int Finish() {
    const int files = files_;
    Write("missing.txt", missing_);
    if (files > 0 && files_ > files) return 0;
    err_ << "nothing could be collected; see the warnings\n";
    return 1;
  }

 private:
  const std::filesystem::path folder_;
  std::ostream& err_;
  std::string missing_;
  int files_ = 0;  // written
};

// Logs and metrics of the last hour, and the metrics now, of every pod of ours.
void CollectProcesses(kube::Client& client, const ClusterFlags& cluster, const std::string& ns,
                      SupportFolder& folder) {
  const auto pods = kube::ListAll(client, {kube::Pods(), ns, "", ""}, {.label_selector = kOurs});
  if (!pods.ok()) return folder.ReportMissing("logs", MessageOf(pods.status()));
  for (const kube::ObjectPtr& pod : *pods) {
    const std::string name = (*pod)["metadata"].value("name", "");
    // The newest lines. --limit-bytes would keep the oldest.
    folder.Run(name + ".log", {"logs", "-n", ns, name, "--since=1h", "--tail=20000"}, cluster);
    const std::string proxy = StrCat("/api/v1/namespaces/", ns, "/pods/", name, ":8080/proxy");
    folder.Run(name + ".metrics", {"get", "--raw", proxy + "/metrics"}, cluster);
    folder.Run(name + ".openmetrics", {"get", "--raw", proxy + "/metrics/history"}, cluster);
  }
}

}  // namespace

json WithoutSecrets(json object) {
  if (!object.is_object()) return object;
  if (object.contains("metadata") && object["metadata"].is_object())
    StripMetadata(object["metadata"]);
  const std::string kind = object.value("kind", "");
  if (kind == "Event") StripNote(object);
  if (object.contains("status") && object["status"].is_object()) {
    json& status = object["status"];
    if (kind == "Pod") status = PodStatusWithoutSecrets(status);
    for (const char* field : {"images", "volumesInUse", "volumesAttached"}) {
      if (kind == "Node") status.erase(field);
    }
  }
  if (!object.contains("spec") || !object["spec"].is_object()) return object;
  json& spec = object["spec"];
  if (kind == "Pod") spec = PodSpecWithoutSecrets(spec);
  StripTemplate(spec);
  if (spec.contains("checkpoint") && spec["checkpoint"].is_object()) {
    spec["checkpoint"].erase("command");
  }
  if (spec.contains("roles") && spec["roles"].is_array()) {
    for (json& role : spec["roles"]) StripTemplate(role);
  }
  return object;
}

int RunSupportBundleCommand(const Args& args, const Connector& connect, std::ostream& out,
                            std::ostream& err) {
  ClusterFlags cluster;
  std::string to = "yardmaster-support";
  std::string ns = "yardmaster-system";
  CLI::App app(
      "Objects, and logs and metrics of the last hour, to diagnose a fault elsewhere; secrets are "
      "left out",
      "kubectl yardmaster support-bundle");
  app.add_option("--to", to, "new folder to write");
  app.add_option("-n,--namespace", ns, "namespace of the Helm release");
  DeclareCluster(cluster, app);
  app.footer(
      "Example:\n"
      "  kubectl yardmaster support-bundle --to /tmp/fault && tar czf fault.tar.gz -C /tmp fault");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<ClusterConnection> connection = connect(cluster);
  if (!connection.ok()) return Fail(connection.status(), err);
  std::error_code error;
  if (!std::filesystem::create_directories(to, error)) {
    err << to << ": " << (error ? error.message() : "is there already; name a new folder with --to")
        << "\n";
    return 1;
  }
  kube::Client& client = *connection->client;
  SupportFolder folder(to, err);
  const std::array<std::pair<const char*, kube::Resource>, 6> resources = {
      {{"fabrics", kube::Fabrics()},
       {"nodes", kube::Nodes()},
       {"gangs", kube::Gangs()},
       {"trainingjobs", kube::TrainingJobs()},
       {"pods", kube::Pods()},
       {"events", kube::Events()}}};
  for (const auto& [name, resource] : resources)
    folder.Collect(client, name, {resource, "", "", ""});
  folder.Collect(client, "leases", {kube::Leases(), ns, "", ""});
  CollectProcesses(client, cluster, ns, folder);
  out << to << "\n";
  return folder.Finish();
}

}  // namespace yardmaster::cli
