#include "pkg/kube/exec_plugin.h"

#include "nlohmann/json.hpp"

#include "pkg/base/base64.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/object.h"
#include "pkg/kube/process.h"
#include "pkg/kube/process_env.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxOutputBytes = std::size_t{1} << 20;

json ClusterInfo(const ClientConfig& config) {
  json cluster = {{"server", config.server}};
  if (!config.tls_server_name.empty()) cluster["tls-server-name"] = config.tls_server_name;
  if (config.insecure_skip_tls_verify) cluster["insecure-skip-tls-verify"] = true;
  if (!config.ca_data.empty()) {
    cluster["certificate-authority-data"] = Base64Encode(config.ca_data);
  }
  if (!config.proxy_url.empty()) cluster["proxy-url"] = config.proxy_url;
  if (!config.exec.cluster_config.empty()) {
    json own = json::parse(config.exec.cluster_config, nullptr, false);
    if (!own.is_discarded()) cluster["config"] = std::move(own);
  }
  return cluster;
}

absl::Status Failure(const ExecConfig& exec, std::string_view problem) {
  std::string text = StrCat("exec plugin ", exec.command, ": ", problem);
  if (!exec.install_hint.empty()) text.append("; ").append(exec.install_hint);
  return absl::UnauthenticatedError(text);
}

std::string LastLine(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

}  // namespace

std::string ExecInfo(const ClientConfig& config) {
  json info = {{"apiVersion", config.exec.api_version},
               {"kind", "ExecCredential"},
               {"spec", {{"interactive", false}}}};
  if (config.exec.provide_cluster_info) info["spec"]["cluster"] = ClusterInfo(config);
  return info.dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::StatusOr<ExecCredential> ParseExecCredential(std::string_view output,
                                                   std::string_view api_version) {
  const json answer = json::parse(output, nullptr, false);
  if (answer.is_discarded()) return absl::InvalidArgumentError("its output is not JSON");
  if (StringAt(answer, {"kind"}) != "ExecCredential") {
    return absl::InvalidArgumentError("its output is not an ExecCredential");
  }
  if (StringAt(answer, {"apiVersion"}) != api_version) {
    return absl::InvalidArgumentError(StrCat("it answers in ", StringAt(answer, {"apiVersion"}),
                                             ", but the kubeconfig asks for ", api_version));
  }
  ExecCredential credential;
  credential.token = StringAt(answer, {"status", "token"});
  credential.client_cert_pem = StringAt(answer, {"status", "clientCertificateData"});
  credential.client_key_pem = StringAt(answer, {"status", "clientKeyData"});
  if (credential.client_cert_pem.empty() != credential.client_key_pem.empty()) {
    return absl::InvalidArgumentError("it gives a certificate without its key, or the reverse");
  }
  if (credential.token.empty() && credential.client_cert_pem.empty()) {
    return absl::InvalidArgumentError("it gives neither a token nor a certificate");
  }
  const std::string expiration = StringAt(answer, {"status", "expirationTimestamp"});
  if (!expiration.empty()) {
    YM_ASSIGN_OR_RETURN(credential.expires_wall_ms, ParseTime(expiration));
  }
  return credential;
}

absl::StatusOr<ExecCredential> RunExecPlugin(const ClientConfig& config, std::int64_t timeout_ms,
                                             const std::stop_token& stop) {
  const ExecConfig& exec = config.exec;
  std::vector<std::string> argv = {exec.command};
  argv.insert(argv.end(), exec.args.begin(), exec.args.end());
  // Later entries win with getenv's usual reading only if earlier ones are gone.
  std::vector<std::string> env;
  for (std::string& entry : ChildEnvironment()) {
    bool replaced = entry.starts_with("KUBERNETES_EXEC_INFO=");
    for (const auto& [name, value] : exec.env) replaced |= entry.starts_with(name + "=");
    if (!replaced) env.push_back(std::move(entry));
  }
  for (const auto& [name, value] : exec.env) env.push_back(name + "=" + value);
  env.push_back("KUBERNETES_EXEC_INFO=" + ExecInfo(config));

  const absl::StatusOr<ProcessResult> result =
      RunProcess(argv, env, timeout_ms, kMaxOutputBytes, stop);
  if (!result.ok()) return Failure(exec, MessageOf(result.status()));
  if (result->exit_code != 0) {
    return Failure(exec, StrCat("exit code ", result->exit_code, ": ", LastLine(result->errors)));
  }
  absl::StatusOr<ExecCredential> credential = ParseExecCredential(result->output, exec.api_version);
  if (!credential.ok()) return Failure(exec, MessageOf(credential.status()));
  return credential;
}

}  // namespace yardmaster::kube
