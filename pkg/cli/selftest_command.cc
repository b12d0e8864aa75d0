#include <functional>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <unistd.h>

#include "CLI/CLI.hpp"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/kube/http_transport.h"

namespace yardmaster::cli {

namespace {

constexpr std::int64_t kCallMs = 20'000;
constexpr unsigned kPauseSeconds = 2;

struct SelftestFlags {
  ClusterFlags cluster;
  std::string extender;  // https://host:port
  std::string extender_name;
  std::string tls_folder;
  std::string page;  // http://host:port
  std::string gpu_resource = "nvidia.com/gpu";
  int seconds = 90;
};

// A cluster without a place for it has an answer, too: what counts is that there is one.
absl::Status PlanAJob(const SelftestFlags& flags, const Connector& connect) {
  std::istringstream job(
      StrCat(R"({"apiVersion":"yardmaster.dev/v1alpha1","kind":"TrainingJob","metadata":)",
             R"({"name":"selftest"},"spec":{"workers":1,"gpusPerWorker":1,"template":{"spec":)",
             R"({"containers":[{"name":"worker","image":"none","resources":{"limits":{")",
             flags.gpu_resource, R"(":"1"}}}]}}}})"));
  std::vector<std::string> args = {"-f", "-", "-o", "json"};
  if (!flags.cluster.kubeconfig.empty()) args.push_back("--kubeconfig=" + flags.cluster.kubeconfig);
  if (!flags.cluster.context.empty()) args.push_back("--context=" + flags.cluster.context);
  std::ostringstream out, err;
  RunPlanCommand(args, connect, job, out, err);
  if (out.str().find("\"outcome\"") != std::string::npos) return absl::OkStatus();
  return absl::UnavailableError(err.str());
}

absl::Status Ask(const kube::ClientConfig& config, const kube::HttpRequest& request,
                 const std::vector<std::string>& expected) {
  static const RealClock clock;
  YM_RETURN_IF_ERROR(kube::ValidateClientConfig(config));
  YM_ASSIGN_OR_RETURN(
      const std::unique_ptr<kube::Transport> transport,
      kube::MakeHttpTransport(config, std::make_shared<kube::Credentials>(config, clock)));
  YM_ASSIGN_OR_RETURN(const kube::HttpResponse response, transport->Unary(request, kCallMs, {}));
  const auto unexpected = [&](const std::string& what) {
    return absl::UnavailableError(
        StrCat(config.server, request.target, " answers ", what, ": ", response.body));
  };
  if (response.code != 200) return unexpected(StrCat(response.code));
  for (const std::string& text : expected) {
    if (response.body.find(text) == std::string::npos) return unexpected(StrCat("without ", text));
  }
  return absl::OkStatus();
}

// As kube-scheduler does, of a pod without GPUs, for which every host will do.
absl::Status AskTheExtender(const SelftestFlags& flags) {
  kube::ClientConfig config;
  config.server = flags.extender;
  config.tls_server_name = flags.extender_name;
  config.ca_file = flags.tls_folder + "/ca.crt";
  config.client_cert_file = flags.tls_folder + "/tls.crt";
  config.client_key_file = flags.tls_folder + "/tls.key";
  const std::string pod =
      R"({"Pod":{"metadata":{"name":"selftest","namespace":"default","uid":"selftest"},"spec":)"
      R"({"containers":[{"name":"c","image":"none"}]}},"NodeNames":["selftest"]})";
  kube::HttpRequest request;
  request.method = "POST";
  request.target = "/filter";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = pod;
  return Ask(config, request, {R"("NodeNames":["selftest"])"});
}

absl::Status ReadThePage(const SelftestFlags& flags) {
  kube::ClientConfig config;
  config.server = flags.page;
  kube::HttpRequest request;
  request.method = "GET";
  request.target = "/";
  return Ask(config, request, {"<title>"});
}

}  // namespace

int RunSelftestCommand(const Args& args, const Connector& connect, std::ostream& out,
                       std::ostream& err) {
  SelftestFlags flags;
  CLI::App app("Asks an installation what `helm test` asks", "kubectl yardmaster selftest");
  app.add_option("--extender", flags.extender,
                 "https://host:port of the extender; not asked if empty");
  app.add_option("--extender-name", flags.extender_name, "name in its certificate");
  app.add_option("--tls-dir", flags.tls_folder,
                 "folder with kube-scheduler's tls.crt, tls.key and ca.crt");
  app.add_option("--page", flags.page,
                 "http://host:port of the operator's page; not read if empty");
  app.add_option("--gpu-resource", flags.gpu_resource, "resource that a GPU is");
  app.add_option("--seconds", flags.seconds, "how long each is tried")->check(CLI::Range(0, 3600));
  DeclareCluster(flags.cluster, app);
  app.footer("Example:\n  kubectl yardmaster selftest --seconds 0");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const RealClock clock;
  const auto passes = [&](const std::string& what, const std::function<absl::Status()>& check) {
    const std::int64_t end_ms = clock.SteadyMs() + std::int64_t{1000} * flags.seconds;
    absl::Status status = check();
    while (!status.ok() && clock.SteadyMs() < end_ms) {
      sleep(kPauseSeconds);
      status = check();
    }
    out << (status.ok() ? "passed: " : "failed: ") << what
        << (status.ok() ? "" : ": " + MessageOf(status).substr(0, 2'000)) << std::endl;
    return status.ok();
  };
  const bool passed =
      passes("a job is planned", [&] { return PlanAJob(flags, connect); }) &&
      (flags.extender.empty() || passes(StrCat("the extender at ", flags.extender, " answers"),
                                        [&] { return AskTheExtender(flags); })) &&
      (flags.page.empty() ||
       passes(StrCat("the page at ", flags.page, " is read"), [&] { return ReadThePage(flags); }));
  return passed ? 0 : 1;
}

}  // namespace yardmaster::cli
