#include "test/integration/control_plane.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::testing {
namespace {

// One folder per start, the same on every run of a test, so that logs are found and do not pile up.
std::filesystem::path NextFolder() {
  static std::mutex mutex;
  static std::map<std::string, int> started;
  std::string name = "suite";
  if (const auto* test = ::testing::UnitTest::GetInstance()->current_test_info()) {
    name = StrCat(test->test_suite_name(), ".", test->name());
  } else if (const auto* suite = ::testing::UnitTest::GetInstance()->current_test_suite()) {
    name = suite->name();
  }
  for (char& c : name) {
    if (c == '/') c = '_';  // parameterised tests
  }
  std::lock_guard lock(mutex);
  return std::filesystem::path(YARDMASTER_TEST_OUTPUT) / StrCat(name, "-", ++started[name]);
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

absl::StatusOr<std::string> BinFolder() {
  const char* bin = std::getenv("YARDMASTER_CONTROLPLANE_BIN");
  if (bin != nullptr && *bin != '\0') return std::string(bin);
  return absl::FailedPreconditionError(
      "YARDMASTER_CONTROLPLANE_BIN is not set; `make test` sets it, by hand it is "
      "export YARDMASTER_CONTROLPLANE_BIN=$(test/controlplane/build)");
}

absl::StatusOr<int> KubernetesMinor(const std::string& bin) {
  YM_ASSIGN_OR_RETURN(const std::string text, RunProgram({bin + "/kube-apiserver", "--version"}));
  int minor = 0;
  if (std::sscanf(text.c_str(), "Kubernetes v1.%d", &minor) == 1) return minor;
  return absl::InternalError(StrCat("kube-apiserver --version printed ", text));
}

Command StarterCommand(const ControlPlane::Options& options, const std::string& bin, int minor,
                       const std::filesystem::path& folder) {
  std::string with = options.scheduler ? "scheduler" : "";
  if (options.kwok) with += with.empty() ? "kwok" : ",kwok";
  Command command = {bin + "/controlplane",
                     "--until-stdin-closes",
                     "--bin",
                     bin,
                     "--dir",
                     folder.string(),
                     "--with",
                     with};
  if (options.kwok) {
    command.insert(command.end(),
                   {"--kwok-config", YARDMASTER_SOURCE_DIR "/test/controlplane/kwok.yaml"});
  }
  if (!options.scheduler_config.empty()) {
    std::filesystem::path config = folder / "scheduler.yaml";
    std::ofstream(config) << options.scheduler_config;
    command.insert(command.end(), {"--scheduler-config", config.string()});
  }
  if (options.mutating_policies && minor < 36) {
    command.insert(command.end(),
                   {"--apiserver-arg", "feature-gates=MutatingAdmissionPolicy=true",
                    "--apiserver-arg", "runtime-config=admissionregistration.k8s.io/v1beta1=true"});
  }
  for (const std::string& argument : options.apiserver_args) {
    command.insert(command.end(), {"--apiserver-arg", argument});
  }
  for (const std::string& argument : options.controller_manager_args) {
    command.insert(command.end(), {"--controller-manager-arg", argument});
  }
  return command;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlPlane>> ControlPlane::Start(const Options& options) {
  std::filesystem::path folder = NextFolder();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::InternalError(StrCat(folder.string(), ": ", error.message()));
  YM_ASSIGN_OR_RETURN(const std::string bin, BinFolder());
  YM_ASSIGN_OR_RETURN(const int minor, KubernetesMinor(bin));
  const Command command = StarterCommand(options, bin, minor, folder);
  std::string log = folder / "starter.log";
  YM_ASSIGN_OR_RETURN(auto starter, Process::Start({.command = command, .log_file = log}));
  std::optional<std::string> line = starter->ReadLine();
  if (!line) {
    int code = starter->Wait();
    return absl::UnavailableError(
        StrCat("no control plane, exit code ", code, "; ", log, ":\n", ReadFile(log)));
  }
  YM_ASSIGN_OR_RETURN(Description description, Parse(*line));
  return std::unique_ptr<ControlPlane>(
      new ControlPlane(std::move(starter), std::move(description), minor));
}

absl::StatusOr<ControlPlane::Description> ControlPlane::Parse(const std::string& line) {
  try {
    auto json = nlohmann::json::parse(line);
    Description d;
    d.folder = json.at("dir");
    d.kubeconfig = json.at("kubeconfig");
    d.api_server = json.at("apiServer");
    d.etcd = json.at("etcd");
    d.scheduler = json.value("scheduler", "");
    d.bin = json.at("bin");
    d.ca_file = json.at("caFile");
    d.ca_key_file = json.at("caKeyFile");
    d.admin_cert_file = json.at("adminCertFile");
    d.admin_key_file = json.at("adminKeyFile");
    for (const auto& [name, pid] : json.at("pids").items()) d.pids[name] = pid;
    return d;
  } catch (const nlohmann::json::exception& e) {
    return absl::InternalError(StrCat("the starter printed ", line, ": ", e.what()));
  }
}

ControlPlane::~ControlPlane() { Stop(); }

int ControlPlane::Stop() {
  starter_->CloseInput();
  return starter_->Wait();
}

std::string ControlPlane::KubeconfigWithToken(const std::string& token_file) const {
  using Json = nlohmann::json;
  const Json cluster = {{"server", api_server()}, {"certificate-authority", ca_file()}};
  const Json object = {
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", "c"},
      {"clusters", Json::array({{{"name", "c"}, {"cluster", cluster}}})},
      {"users", Json::array({{{"name", "u"}, {"user", {{"tokenFile", token_file}}}}})},
      {"contexts", Json::array({{{"name", "c"}, {"context", {{"cluster", "c"}, {"user", "u"}}}}})}};
  return object.dump();
}

absl::StatusOr<std::string> ControlPlane::Kubectl(const std::vector<std::string>& arguments,
                                                  const std::string& input) const {
  Command command = {StrCat(bin(), "/kubectl"), "--kubeconfig", kubeconfig()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunProgram(command, input);
}

absl::Status ControlPlane::Apply(const std::string& manifests) const {
  return Kubectl({"apply", "-f", "-"}, manifests).status();
}

absl::Status ControlPlane::ForgetHistory() const {
  auto ask = [&](const std::string& path, const std::string& body) {
    return RunProgram(
        {"curl", "--silent", "--show-error", "--fail", "--data", body, etcd() + path});
  };
  // Any read tells the revision; "AA==" is the key of one zero byte, which is not in use.
  YM_ASSIGN_OR_RETURN(std::string answer, ask("/v3/kv/range", R"({"key": "AA=="})"));
  try {
    std::string revision = nlohmann::json::parse(answer).at("header").at("revision");
    return ask("/v3/kv/compaction", StrCat(R"({"revision": ")", revision, R"("})")).status();
  } catch (const nlohmann::json::exception& e) {
    return absl::InternalError(StrCat("etcd answered ", answer, ": ", e.what()));
  }
}

}  // namespace yardmaster::testing
