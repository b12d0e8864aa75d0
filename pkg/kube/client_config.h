// How to reach an API server and with which identity: the content of a kubeconfig or of the files
// of a pod's ServiceAccount (pkg/config/kubeconfig.h reads both).
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yardmaster::kube {

// A program that prints credentials: client.authentication.k8s.io.
struct ExecConfig {
  // "client.authentication.k8s.io/v1" or ".../v1beta1".
  std::string api_version = {};
  // With a slash: a path (already made absolute); else looked up in PATH.
  std::string command = {};
  std::vector<std::string> args = {};
  std::vector<std::pair<std::string, std::string>> env = {};
  // Tell the program about the cluster; `cluster_config` is then JSON of the cluster's own choosing
  // (the extension client.authentication.k8s.io/exec), or empty.
  bool provide_cluster_info = false;
  std::string cluster_config = {};
  // "Never", "IfAvailable", "Always". There is never a terminal here: Always is an error.
  std::string interactive_mode = "IfAvailable";
  // Appended to the error message when the program fails or is missing.
  std::string install_hint = {};
};

struct ClientConfig {
  // "https://host:port[/path]". No IPv6 literal: the HTTP library cannot connect to one.
  std::string server = {};

  // TLS. Data wins over file; files are read again when they change.
  std::string ca_data = {};
  std::string ca_file = {};
  std::string client_cert_data = {};
  std::string client_cert_file = {};
  std::string client_key_data = {};
  std::string client_key_file = {};
  // The name to verify and send as SNI instead of the server's host.
  std::string tls_server_name = {};
  bool insecure_skip_tls_verify = false;

  // Identity. At most one of token (file wins over the text), password and exec is used, in that
  // order.
  std::string token_file = {};
  std::string token = {};
  std::string username = {};
  std::string password = {};
  ExecConfig exec = {};  // unused if its command is empty

  // Impersonation. ValidateClientConfig allows one group, and one value per key of as_user_extra.
  std::string as = {};
  std::string as_uid = {};
  std::vector<std::string> as_groups = {};
  std::map<std::string, std::vector<std::string>> as_user_extra = {};

  // "http://proxy:3128"; empty: connect directly.
  std::string proxy_url = {};

  // The namespace of the context or pod; empty means "default".
  std::string default_namespace = {};

  std::string user_agent = "yardmaster";
  // The client's own limit; qps <= 0 means none.
  double qps = 50;
  int burst = 100;
  // For one call with all its retries, and for one try.
  std::int64_t call_deadline_ms = 30'000;
  std::int64_t attempt_deadline_ms = 20'000;
  // A watch without an event or bookmark for this long is treated as dead and is resumed. The API
  // server sends a bookmark every one to two minutes.
  std::int64_t watch_idle_ms = 180'000;
};

// Errors: InvalidArgument naming the field as a kubeconfig calls it ("server",
// "insecure-skip-tls-verify", "proxy-url", "exec.apiVersion", ...).
absl::Status ValidateClientConfig(const ClientConfig& config);

// The scheme, host, port and path of an http(s) URL.
struct ServerUrl {
  bool tls = true;
  std::string host;
  int port = 443;
  std::string path;  // without a trailing slash; often empty
};
absl::StatusOr<ServerUrl> ParseServerUrl(std::string_view field, std::string_view url);

}  // namespace yardmaster::kube
