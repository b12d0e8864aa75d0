#include "pkg/cli/ui_command.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/kube/resource.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

constexpr int kPagePort = 8082;
constexpr char kOperators[] = "app.kubernetes.io/component=operator";

// The pod that holds the operators' lease: identities are "<pod>_<process>". People who may look at
// the page may get this lease by its name and list none; it is called like the pods' Deployment.
std::string LeaderIn(kube::Client& client, const std::string& ns,
                     const std::vector<std::string>& pods) {
  constexpr std::string_view kSuffix = "-operator";
  for (const std::string& name : pods) {
    const std::size_t at = name.rfind(StrCat(kSuffix, "-"));
    if (at == std::string::npos) continue;
    const auto lease = client.Get({kube::Leases(), ns, name.substr(0, at + kSuffix.size()), ""});
    if (!lease.ok() || !lease->contains("spec")) continue;
    const std::string holder = (*lease)["spec"].value("holderIdentity", "");
    const std::string pod = holder.substr(0, holder.rfind('_'));
    if (std::find(pods.begin(), pods.end(), pod) != pods.end()) return pod;
  }
  return "";
}

// A port of loopback that is free now.
absl::StatusOr<int> FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool bound = fd >= 0 &&
                     bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  if (fd >= 0) close(fd);
  if (!bound) return absl::UnavailableError(StrCat("no free port: ", std::strerror(errno)));
  return ntohs(address.sin_port);
}

// Opens the address where this machine has a desktop, once the proxy has had time to listen.
void OpenBrowser(const std::string& url) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
  if (fork() != 0) return;
  sleep(1);
  execlp("xdg-open", "xdg-open", url.c_str(), nullptr);
  _exit(127);
}

int Become(const std::vector<std::string>& argv, std::ostream& err) {
  std::vector<char*> pointers;
  for (const std::string& text : argv) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  err << argv[0] << ": " << std::strerror(errno) << "; it must be in PATH\n";
  return 1;
}

}  // namespace

absl::StatusOr<PageProxy> FindPage(kube::Client& client, const ClusterFlags& cluster,
                                   const std::string& namespace_name, int port) {
  YM_ASSIGN_OR_RETURN(const std::vector<kube::ObjectPtr> pods,
                      kube::ListAll(client, {kube::Pods(), namespace_name, "", ""},
                                    {.label_selector = kOperators}));
  std::vector<std::string> running;
  bool has_page = false;
  for (const kube::ObjectPtr& pod : pods) {
    if (!pod->contains("status") || (*pod)["status"].value("phase", "") != "Running") continue;
    running.push_back((*pod)["metadata"].value("name", ""));
    has_page = has_page || pod->dump().find("--page-bind-address") != std::string::npos;
  }
  if (running.empty()) {
    return absl::NotFoundError(StrCat("no operator runs in namespace ", namespace_name,
                                      "; -n names the namespace of the Helm release"));
  }
  if (!has_page) {
    return absl::NotFoundError(
        "the operator serves no page; set operator.page.enabled=true in the chart");
  }
  std::string pod = LeaderIn(client, namespace_name, running);
  if (pod.empty()) pod = running.front();
  const std::string path =
      StrCat("/api/v1/namespaces/", namespace_name, "/pods/http:", pod, ":", kPagePort, "/proxy/");
  PageProxy page;
  page.url = StrCat("http://127.0.0.1:", port, path);
  page.argv = {"kubectl", "proxy", StrCat("--port=", port), StrCat("--accept-paths=^", path),
               "--reject-methods=^(POST|PUT|PATCH|DELETE)$"};
  if (!cluster.kubeconfig.empty()) page.argv.push_back("--kubeconfig=" + cluster.kubeconfig);
  if (!cluster.context.empty()) page.argv.push_back("--context=" + cluster.context);
  return page;
}

int RunUiCommand(const Args& args, const Connector& connect, std::ostream& out, std::ostream& err) {
  ClusterFlags cluster;
  std::string ns = "yardmaster-system";
  int port = 0;
  bool no_browser = false;
  CLI::App app("Opens the operator's page through the API server", "kubectl yardmaster ui");
  app.add_option("-n,--namespace", ns, "namespace of the Helm release");
  app.add_option("--port", port, "port on this machine; 0: a free one")
      ->check(CLI::Range(0, 65535));
  app.add_flag("--no-browser", no_browser, "only print the address");
  DeclareCluster(cluster, app);
  app.footer("Example:\n  kubectl yardmaster ui --no-browser");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<ClusterConnection> connection = connect(cluster);
  if (!connection.ok()) return Fail(connection.status(), err);
  if (port == 0) {
    const auto free_port = FreePort();
    if (!free_port.ok()) return Fail(free_port.status(), err);
    port = *free_port;
  }
  const auto page = FindPage(*connection->client, cluster, ns, port);
  if (!page.ok()) return Fail(page.status(), err);
  out << page->url << "\nCtrl-C ends it.\n" << std::flush;
  if (!no_browser) OpenBrowser(page->url);
  return Become(page->argv, err);
}

}  // namespace yardmaster::cli
