#include "test/e2e/cluster.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/base/testing/free_port.h"

namespace yardmaster::testing {

namespace {

namespace fs = std::filesystem;

constexpr int kBackupHosts = 8;  // per segment

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> Lines(const std::string& path) {
  std::vector<std::string> lines = Split(ReadFile(path), '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string Source(const std::string& path) { return StrCat(YARDMASTER_SOURCE_DIR, "/", path); }
std::string Binary(const std::string& name) { return StrCat(YARDMASTER_BIN_DIR, "/", name); }

}  // namespace

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::Start(int hosts, bool kueue, bool observes) {
  auto cluster = std::make_unique<Cluster>();
  cluster->kueue_ = kueue;
  cluster->observes_ = observes;
  std::string folder = (fs::temp_directory_path() / "yardmaster-e2e-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return absl::InternalError("mkdtemp");
  cluster->folder_ = folder;
  cluster->plans_ = folder + "/plans";
  fs::create_directories(cluster->plans_);
  YM_RETURN_IF_ERROR(RunProgram({Source("test/cluster/prepare"), folder}).status());
  ControlPlane::Options options;
  options.scheduler = options.kwok = true;
  options.scheduler_config = ReadFile(folder + "/scheduler.yaml");
  // check-rights compares what our processes ask for with what the chart grants them.
  fs::create_directories(YARDMASTER_AUDIT_DIR);
  options.apiserver_args = {"audit-policy-file=" + Source("test/e2e/audit-policy.yaml"),
                            StrCat("audit-log-path=", YARDMASTER_AUDIT_DIR, "/",
                                   fs::path(folder).filename().string(), ".log")};
  YM_ASSIGN_OR_RETURN(cluster->plane_, ControlPlane::Start(options));
  const std::string path = StrCat(cluster->plane_->bin(), ":", getenv("PATH"));
  Command install = {Source("test/cluster/install"), folder, cluster->plane_->kubeconfig()};
  if (!observes) install.push_back("--policies");  // of which Observe has none
  install.insert(install.end(),
                 {std::string("kueue.enabled=") + (kueue ? "true" : "false"),
                  "computeDomains.enabled=true", "waitSuspended.enabled=true", "moves.mode=Auto"});
  if (observes) install.push_back("mode=Observe");
  YM_RETURN_IF_ERROR(RunProgram(install, "", {{"PATH", path}}).status());
  YM_ASSIGN_OR_RETURN(
      const std::string fabric,
      RunProgram({Binary("kubectl-yardmaster"), "fabric", "render", "--preset", "hpn-small",
                  "--hosts", StrCat(hosts), "--backup-hosts", StrCat(kBackupHosts), "-o", "yaml"}));
  YM_RETURN_IF_ERROR(cluster->plane_->Kubectl({"create", "-f", "-"}, fabric).status());
  YM_RETURN_IF_ERROR(
      cluster->plane_->Kubectl({"wait", "--for=condition=Ready", "nodes", "--all", "--timeout=60s"})
          .status());
  return cluster;
}

absl::StatusOr<std::unique_ptr<Process>> Cluster::Run(const std::string& name,
                                                      const std::string& health_port,
                                                      std::vector<std::string> arguments) {
  Process::Options options;
  options.command = {
      Binary("yardmaster-" + name), "--kubeconfig", StrCat(folder_, "/", name, ".kubeconfig"),
      "--metrics-bind-address",     "127.0.0.1:0",  "--health-bind-address",
      "127.0.0.1:" + health_port};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  if (traces_port_ != 0 && name != "agent") {
    options.command.push_back(StrCat("--otlp-endpoint=http://127.0.0.1:", traces_port_));
  }
  // Beside the control plane's own logs, which stay after a failed test.
  options.log_file = StrCat(plane_->folder(), "/logs/", name, "-", ++lives_, ".log");
  return Process::Start(options);
}

absl::StatusOr<std::unique_ptr<Process>> Cluster::RunExtender(int port, int health_port) {
  std::vector<std::string> arguments = {"--leader-elect",
                                        "--bind-address",
                                        StrCat("127.0.0.1:", port),
                                        "--tls-cert-file",
                                        folder_ + "/extender.crt",
                                        "--tls-key-file",
                                        folder_ + "/extender.key",
                                        "--client-ca-file",
                                        folder_ + "/ca.crt",
                                        "--network-plan-wait",
                                        "10",
                                        "--taint-after",
                                        "0"};
  if (observes_) {
    metrics_ports_.push_back(FreePort());
    arguments.insert(arguments.end(), {"--mode=Observe", "--metrics-bind-address",
                                       StrCat("127.0.0.1:", metrics_ports_.back())});
  }
  return Run("extender", StrCat(health_port), arguments);
}

double Cluster::ExtenderMetric(const std::string& series) const {
  double sum = 0;
  for (const int port : metrics_ports_) {
    const auto text =
        RunProgram({"curl", "-s", "-m", "5", StrCat("http://127.0.0.1:", port, "/metrics")});
    if (!text.ok()) continue;
    for (const std::string& line : Split(*text, '\n')) {
      if (line.starts_with(series + " ")) sum += std::stod(line.substr(series.size() + 1));
    }
  }
  return sum;
}

tls::KeyPair Cluster::SchedulerCertificate() const {
  return {ReadFile(folder_ + "/scheduler.crt"), ReadFile(folder_ + "/scheduler.key")};
}

int Cluster::extender_port() const { return std::stoi(Lines(folder_ + "/extender-port").front()); }

absl::Status Cluster::StartExtender() {
  const std::vector<std::string> ports = Lines(folder_ + "/extender-ports");
  if (service_ == nullptr) {
    Process::Options service;
    service.command = {Source("test/cluster/service"), StrCat(extender_port())};
    service.command.insert(service.command.end(), ports.begin(), ports.end());
    YM_ASSIGN_OR_RETURN(service_, Process::Start(service));
  }
  for (std::size_t i = 0; i < extenders_.size(); ++i) {
    if (extenders_[i] != nullptr) continue;
    const std::vector<std::string> port_and_health = Split(ports[i], ':');
    YM_ASSIGN_OR_RETURN(extenders_[i],
                        RunExtender(std::stoi(port_and_health[0]), std::stoi(port_and_health[1])));
  }
  return absl::OkStatus();
}

void Cluster::KillExtender() {
  for (auto& extender : extenders_) extender.reset();
}

std::string Cluster::LeaderOf(const std::string& component) const {
  const nlohmann::json lease = Get({"lease", "-n", "yardmaster-system", "yardmaster-" + component});
  return lease.is_object() ? lease["spec"].value("holderIdentity", std::string()) : "";
}

std::int64_t Cluster::LedSinceMs(const std::string& component) const {
  const nlohmann::json lease = Get({"lease", "-n", "yardmaster-system", "yardmaster-" + component});
  if (!lease.is_object()) return -1;
  return ParseTime(lease["spec"].value("acquireTime", std::string())).value_or(-1);
}

absl::Status Cluster::SignalLeader(const std::string& component, int signal) {
  const std::string leader = LeaderOf(component);
  for (auto& process : component == "extender" ? extenders_ : operators_) {
    if (process == nullptr || !leader.ends_with(StrCat("_", process->pid()))) continue;
    process->Signal(signal);
    signalled_.push_back(std::move(process));
    return absl::OkStatus();
  }
  return absl::NotFoundError(StrCat("no replica of ours is the leader \"", leader, "\""));
}

absl::Status Cluster::StartOperator() {
  std::vector<std::string> arguments = {
      "--leader-elect",  "--kube-api-qps",          "500",  "--kube-api-burst",          "1000",
      "--no-rent-hosts", "--segment-loss-grace-ms", "3000", "--bandwidth-loss-grace-ms", "1000",
      "--wait-suspended"};
  for (const char* flag : {"--slow-host-grace-ms", "--slow-host-warm-up-ms"}) {
    arguments.insert(arguments.end(), {flag, "1000"});
  }
  if (kueue_) arguments.push_back("--kueue");
  if (observes_) arguments.push_back("--mode=Observe");
  arguments.insert(arguments.end(), operator_flags_.begin(), operator_flags_.end());
  for (auto& process : operators_) {
    if (process != nullptr) continue;
    YM_ASSIGN_OR_RETURN(process, Run("operator", "0", arguments));
  }
  return absl::OkStatus();
}

absl::Status Cluster::StartAgent() {
  YM_ASSIGN_OR_RETURN(agent_,
                      Run("agent", "0",
                          {"--nodes-matching", "yardmaster.dev/segment", "--plan-dir", plans_,
                           "--grpc-bind-address", StrCat("unix:", folder_, "/agent.sock")}));
  return absl::OkStatus();
}

nlohmann::json Cluster::Get(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), "get");
  arguments.insert(arguments.end(), {"-o", "json"});
  auto text = plane_->Kubectl(arguments);
  if (!text.ok()) return nullptr;
  auto object = nlohmann::json::parse(*text, nullptr, false);
  return object.is_discarded() ? nlohmann::json() : object;
}

absl::StatusOr<std::string> Cluster::Yardmaster(const std::vector<std::string>& arguments,
                                                const std::string& input) const {
  Command command = {Binary("kubectl-yardmaster")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunProgram(command, input, {{"KUBECONFIG", plane_->kubeconfig()}});
}

bool WaitFor(int seconds, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    if (done()) return true;
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::string ConditionOf(const nlohmann::json& object, const std::string& type) {
  const nlohmann::json::json_pointer at("/status/conditions");
  if (!object.is_object() || !object.contains(at)) return "";
  for (const auto& condition : object[at]) {
    if (condition["type"] == type) return condition["status"];
  }
  return "";
}

}  // namespace yardmaster::testing
