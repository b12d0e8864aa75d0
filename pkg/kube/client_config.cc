#include "pkg/kube/client_config.h"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::kube {
namespace {

bool HasControlOrSpace(std::string_view text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7F) return true;
  }
  return false;
}

absl::Status ValidateTls(const ClientConfig& config) {
  const bool has_ca = !config.ca_data.empty() || !config.ca_file.empty();
  if (config.insecure_skip_tls_verify && has_ca) {
    return FieldError("insecure-skip-tls-verify", "is set together with a certificate authority",
                      "remove one of the two");
  }
  const bool has_cert = !config.client_cert_data.empty() || !config.client_cert_file.empty();
  const bool has_key = !config.client_key_data.empty() || !config.client_key_file.empty();
  if (has_cert != has_key) {
    return FieldError(has_cert ? "client-key" : "client-certificate",
                      "is missing: certificate and key only work together", "give both");
  }
  return absl::OkStatus();
}

absl::Status ValidateExec(const ExecConfig& exec) {
  if (exec.command.empty()) return absl::OkStatus();
  if (exec.api_version != "client.authentication.k8s.io/v1" &&
      exec.api_version != "client.authentication.k8s.io/v1beta1") {
    return FieldError("exec.apiVersion", StrCat("\"", exec.api_version, "\" is not known"),
                      "use client.authentication.k8s.io/v1 or v1beta1");
  }
  if (exec.interactive_mode == "Always") {
    return FieldError("exec.interactiveMode", "Always needs a terminal, and there is none",
                      "use a credential program that works with IfAvailable");
  }
  if (exec.interactive_mode != "Never" && exec.interactive_mode != "IfAvailable") {
    return FieldError("exec.interactiveMode",
                      StrCat("\"", exec.interactive_mode, "\" is not known"),
                      "use Never or IfAvailable");
  }
  return absl::OkStatus();
}

absl::Status ValidateImpersonation(const ClientConfig& config) {
  const bool more =
      !config.as_uid.empty() || !config.as_groups.empty() || !config.as_user_extra.empty();
  if (config.as.empty() && more) {
    return FieldError("as", "is missing, but other as-... fields are set", "name the user");
  }
  // The HTTP library folds headers of the same name into one, which the API server would read as
  // one strange name.
  if (config.as_groups.size() > 1) {
    return FieldError("as-groups", "only one group can be impersonated here", "keep one");
  }
  for (const auto& [key, values] : config.as_user_extra) {
    if (values.size() > 1) {
      return FieldError(StrCat("as-user-extra.", key), "only one value can be sent here",
                        "keep one");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ServerUrl> ParseServerUrl(std::string_view field, std::string_view url) {
  auto bad = [&](std::string_view problem) {
    return FieldError(field, StrCat("\"", url, "\" ", problem),
                      "write it like https://kubernetes.example.com:6443");
  };
  ServerUrl parsed;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    parsed.tls = false;
    parsed.port = 80;
  } else {
    return bad("does not begin with https:// or http://");
  }
  if (HasControlOrSpace(rest)) return bad("has white space in it");
  if (rest.find_first_of("?#@") != std::string_view::npos) {
    return bad("has a user, query or fragment");
  }
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    parsed.path = std::string(rest.substr(slash));
    while (!parsed.path.empty() && parsed.path.back() == '/') parsed.path.pop_back();
    rest = rest.substr(0, slash);
  }
  if (rest.starts_with("[") || rest.find(':') != rest.rfind(':')) {
    return FieldError(field, StrCat("\"", url, "\" is an IPv6 address"),
                      "use a host name instead, and tls-server-name for the name in the "
                      "certificate");
  }
  const std::size_t colon = rest.find(':');
  if (colon != std::string_view::npos) {
    const auto port = ParseNumber<int>(rest.substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) return bad("has no port between 1 and 65535");
    parsed.port = *port;
    rest = rest.substr(0, colon);
  }
  if (rest.empty()) return bad("has no host");
  parsed.host = std::string(rest);
  return parsed;
}

absl::Status ValidateClientConfig(const ClientConfig& config) {
  YM_ASSIGN_OR_RETURN(const ServerUrl server, ParseServerUrl("server", config.server));
  if (!config.proxy_url.empty()) {
    YM_ASSIGN_OR_RETURN(const ServerUrl proxy, ParseServerUrl("proxy-url", config.proxy_url));
    if (proxy.tls) {
      return FieldError("proxy-url", "a proxy that is itself reached over TLS does not work here",
                        "use an http:// proxy");
    }
  }
  YM_RETURN_IF_ERROR(ValidateTls(config));
  YM_RETURN_IF_ERROR(ValidateExec(config.exec));
  YM_RETURN_IF_ERROR(ValidateImpersonation(config));
  for (const std::string* value :
       {&config.token, &config.as, &config.as_uid, &config.tls_server_name, &config.user_agent}) {
    for (char c : *value) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
        return FieldError("token, as, tls-server-name", "has a control character in it",
                          "remove the line break");
      }
    }
  }
  const bool secret = !config.token.empty() || !config.token_file.empty() ||
                      !config.password.empty() || !config.exec.command.empty();
  if (secret && !server.tls && server.host != "127.0.0.1" && server.host != "localhost") {
    return FieldError("server", "credentials would cross the network unencrypted", "use https://");
  }
  return absl::OkStatus();
}

}  // namespace yardmaster::kube
