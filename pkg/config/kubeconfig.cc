#include "pkg/config/kubeconfig.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/base/base64.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/config/fields.h"
#include "pkg/config/yaml.h"

namespace yardmaster::config {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxFileBytes = 4u << 20;
constexpr const char* kExecExtension = "client.authentication.k8s.io/exec";

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::NotFoundError(path + ": no such file");
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(path + ": is a directory");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::PermissionDeniedError(path + ": cannot be opened");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return absl::UnavailableError(path + ": cannot be read");
  return text;
}

// One file of the list, and where its relative paths count from.
struct KubeconfigFile {
  std::string path;
  json content;

  std::string Absolute(const std::string& relative) const {
    if (relative.empty() || relative.front() == '/') return relative;
    return (std::filesystem::absolute(path).parent_path() / relative).lexically_normal();
  }
};

absl::StatusOr<KubeconfigFile> ReadKubeconfig(const std::string& path) {
  YM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  YamlLimits limits;
  limits.max_bytes = kMaxFileBytes;
  YM_ASSIGN_OR_RETURN(json content, ParseYaml(text, path, limits));
  if (!content.is_object()) {
    return absl::InvalidArgumentError(path + ": is not a kubeconfig (not a mapping)");
  }
  return KubeconfigFile{path, std::move(content)};
}

// An entry of clusters, users or contexts: the first of that name in all files.
struct Entry {
  const KubeconfigFile* file;
  Fields fields;  // of the `cluster`, `user` or `context` under the name
};

absl::StatusOr<Entry> FindEntry(const std::vector<KubeconfigFile>& files, const std::string& list,
                                const std::string& inner, const std::string& name) {
  std::vector<std::string> names;
  for (const KubeconfigFile& file : files) {
    auto entries = file.content.find(list);
    if (entries == file.content.end() || !entries->is_array()) continue;
    for (const json& entry : *entries) {
      if (!entry.is_object()) continue;
      const std::string entry_name = entry.value("name", json()).is_string()
                                         ? entry["name"].get<std::string>()
                                         : std::string();
      if (entry_name != name) {
        names.push_back(entry_name);
        continue;
      }
      auto value = entry.find(inner);
      return Entry{&file, Fields(value == entry.end() ? json() : *value,
                                 StrCat(file.path, ": ", list, "[", name, "].", inner))};
    }
  }
  return FieldError(StrCat(files.front().path, ": ", list),
                    StrCat("has no entry named \"", name, "\""),
                    names.empty() ? "" : StrCat("there are: ", Join(names, ", ")));
}

// "<key>-data", decoded, or the path in "<key>".
absl::Status ReadPem(const Entry& entry, const std::string& key, std::string& data,
                     std::string& path) {
  YM_ASSIGN_OR_RETURN(const std::string encoded, entry.fields.String(key + "-data"));
  YM_ASSIGN_OR_RETURN(const std::string relative, entry.fields.String(key));
  if (!encoded.empty()) {
    absl::StatusOr<std::string> decoded = Base64Decode(encoded);
    if (!decoded.ok()) {
      return FieldError(entry.fields.Path(key + "-data"), "is not base64",
                        MessageOf(decoded.status()));
    }
    data = *std::move(decoded);
  } else {
    path = entry.file->Absolute(relative);
  }
  return absl::OkStatus();
}

absl::Status ReadCluster(const Entry& entry, kube::ClientConfig& config) {
  const Fields& fields = entry.fields;
  YM_ASSIGN_OR_RETURN(config.server, fields.String("server"));
  while (config.server.ends_with("/")) config.server.pop_back();
  YM_ASSIGN_OR_RETURN(config.tls_server_name, fields.String("tls-server-name"));
  YM_ASSIGN_OR_RETURN(config.insecure_skip_tls_verify, fields.Bool("insecure-skip-tls-verify"));
  YM_ASSIGN_OR_RETURN(config.proxy_url, fields.String("proxy-url"));
  YM_RETURN_IF_ERROR(fields.Bool("disable-compression").status());
  YM_RETURN_IF_ERROR(ReadPem(entry, "certificate-authority", config.ca_data, config.ca_file));
  YM_ASSIGN_OR_RETURN(const std::vector<Fields> extensions, fields.List("extensions"));
  for (const Fields& extension : extensions) {
    YM_ASSIGN_OR_RETURN(const std::string name, extension.String("name"));
    if (name == kExecExtension) {
      config.exec.cluster_config = extension.value().value("extension", json()).dump();
    }
  }
  return absl::OkStatus();
}

absl::Status ReadExec(const KubeconfigFile& file, const Fields& fields, kube::ExecConfig& exec) {
  YM_ASSIGN_OR_RETURN(exec.api_version, fields.String("apiVersion"));
  YM_ASSIGN_OR_RETURN(exec.command, fields.String("command"));
  if (exec.command.empty()) {
    return FieldError(fields.Path("command"), "is missing", "name the credential program");
  }
  // A bare name is looked up in PATH; anything else is a path.
  if (exec.command.find('/') != std::string::npos) exec.command = file.Absolute(exec.command);
  YM_ASSIGN_OR_RETURN(exec.args, fields.Strings("args"));
  YM_ASSIGN_OR_RETURN(const std::vector<Fields> env, fields.List("env"));
  for (const Fields& variable : env) {
    YM_ASSIGN_OR_RETURN(std::string name, variable.String("name"));
    YM_ASSIGN_OR_RETURN(std::string value, variable.String("value"));
    exec.env.emplace_back(std::move(name), std::move(value));
  }
  YM_ASSIGN_OR_RETURN(exec.provide_cluster_info, fields.Bool("provideClusterInfo"));
  YM_ASSIGN_OR_RETURN(const std::string mode, fields.String("interactiveMode"));
  if (!mode.empty()) exec.interactive_mode = mode;
  YM_ASSIGN_OR_RETURN(exec.install_hint, fields.String("installHint"));
  return absl::OkStatus();
}

absl::Status ReadImpersonation(const Fields& fields, kube::ClientConfig& config) {
  YM_ASSIGN_OR_RETURN(config.as, fields.String("as"));
  YM_ASSIGN_OR_RETURN(config.as_uid, fields.String("as-uid"));
  YM_ASSIGN_OR_RETURN(config.as_groups, fields.Strings("as-groups"));
  YM_ASSIGN_OR_RETURN(const Fields extra, fields.Object("as-user-extra"));
  for (const auto& [key, values] : extra.value().items()) {
    YM_ASSIGN_OR_RETURN(config.as_user_extra[key], extra.Strings(key));
  }
  return absl::OkStatus();
}

absl::Status ReadUser(const Entry& entry, kube::ClientConfig& config) {
  const Fields& fields = entry.fields;
  if (fields.Has("auth-provider")) {
    return FieldError(fields.Path("auth-provider"), "has been removed from Kubernetes",
                      "use the exec plugin of your provider");
  }
  YM_RETURN_IF_ERROR(
      ReadPem(entry, "client-certificate", config.client_cert_data, config.client_cert_file));
  YM_RETURN_IF_ERROR(ReadPem(entry, "client-key", config.client_key_data, config.client_key_file));
  YM_ASSIGN_OR_RETURN(config.token, fields.String("token"));
  YM_ASSIGN_OR_RETURN(const std::string token_file, fields.String("tokenFile"));
  config.token_file = entry.file->Absolute(token_file);
  YM_ASSIGN_OR_RETURN(config.username, fields.String("username"));
  YM_ASSIGN_OR_RETURN(config.password, fields.String("password"));
  YM_RETURN_IF_ERROR(ReadImpersonation(fields, config));
  if (!fields.Has("exec")) return absl::OkStatus();
  YM_ASSIGN_OR_RETURN(const Fields exec, fields.Object("exec"));
  return ReadExec(*entry.file, exec, config.exec);
}

// The first non-empty `current-context`.
absl::StatusOr<std::string> CurrentContext(const std::vector<KubeconfigFile>& files) {
  for (const KubeconfigFile& file : files) {
    YM_ASSIGN_OR_RETURN(const std::string current,
                        Fields(file.content, file.path + ": ").String("current-context"));
    if (!current.empty()) return current;
  }
  return std::string();
}

absl::StatusOr<kube::ClientConfig> FromFiles(const std::vector<KubeconfigFile>& files,
                                             const ClientConfigRequest& request) {
  kube::ClientConfig config;
  std::string cluster;
  std::string user;
  YM_ASSIGN_OR_RETURN(std::string context, CurrentContext(files));
  if (!request.context.empty()) context = request.context;
  if (!context.empty()) {
    YM_ASSIGN_OR_RETURN(const Entry entry, FindEntry(files, "contexts", "context", context));
    YM_ASSIGN_OR_RETURN(cluster, entry.fields.String("cluster"));
    YM_ASSIGN_OR_RETURN(user, entry.fields.String("user"));
    YM_ASSIGN_OR_RETURN(config.default_namespace, entry.fields.String("namespace"));
  }
  if (!request.cluster.empty()) cluster = request.cluster;
  if (!request.user.empty()) user = request.user;
  if (!request.ns.empty()) config.default_namespace = request.ns;
  if (cluster.empty()) {
    return FieldError(StrCat(files.front().path, ": current-context"), "is not set",
                      "set it (kubectl config use-context), or give --context");
  }
  YM_ASSIGN_OR_RETURN(const Entry cluster_entry, FindEntry(files, "clusters", "cluster", cluster));
  YM_RETURN_IF_ERROR(ReadCluster(cluster_entry, config));
  if (!user.empty()) {
    YM_ASSIGN_OR_RETURN(const Entry user_entry, FindEntry(files, "users", "user", user));
    YM_RETURN_IF_ERROR(ReadUser(user_entry, config));
  }
  YM_RETURN_IF_ERROR(Annotate(kube::ValidateClientConfig(config),
                              StrCat(cluster_entry.file->path, ": cluster ", cluster, ", user ",
                                     user.empty() ? "(none)" : user)));
  return config;
}

absl::StatusOr<kube::ClientConfig> FromPaths(const std::vector<std::string>& paths, bool must_exist,
                                             const ClientConfigRequest& request) {
  std::vector<KubeconfigFile> files;
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    absl::StatusOr<KubeconfigFile> file = ReadKubeconfig(path);
    if (absl::IsNotFound(file.status()) && !must_exist) continue;
    if (!file.ok()) return file.status();
    files.push_back(*std::move(file));
  }
  if (files.empty()) {
    return absl::NotFoundError(StrCat("none of the kubeconfig files exists: ", Join(paths, ", ")));
  }
  return FromFiles(files, request);
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Surroundings SurroundingsOfThisProcess() {
  Surroundings surroundings;
  surroundings.kubeconfig_variable = Variable("KUBECONFIG");
  surroundings.home = Variable("HOME");
  surroundings.service_host = Variable("KUBERNETES_SERVICE_HOST");
  surroundings.service_port = Variable("KUBERNETES_SERVICE_PORT");
  return surroundings;
}

absl::StatusOr<kube::ClientConfig> InClusterConfig(const Surroundings& surroundings) {
  if (surroundings.service_host.empty() || surroundings.service_port.empty()) {
    return absl::NotFoundError("not in a cluster: KUBERNETES_SERVICE_HOST and _PORT are not set");
  }
  kube::ClientConfig config;
  // The HTTP library cannot connect to an IPv6 literal; the name means the same address.
  const bool ipv6 = surroundings.service_host.find(':') != std::string::npos;
  config.server = StrCat("https://", ipv6 ? "kubernetes.default.svc" : surroundings.service_host,
                         ":", surroundings.service_port);
  config.token_file = surroundings.service_account_dir + "/token";
  config.ca_file = surroundings.service_account_dir + "/ca.crt";
  YM_RETURN_IF_ERROR(Annotate(ReadTextFile(config.token_file).status(), "in-cluster"));
  absl::StatusOr<std::string> ns = ReadTextFile(surroundings.service_account_dir + "/namespace");
  if (ns.ok()) config.default_namespace = ns->substr(0, ns->find_last_not_of(" \r\n") + 1);
  YM_RETURN_IF_ERROR(Annotate(kube::ValidateClientConfig(config), "in-cluster"));
  return config;
}

absl::StatusOr<kube::ClientConfig> LoadClientConfig(const ClientConfigRequest& request,
                                                    const Surroundings& surroundings) {
  if (!request.kubeconfig.empty()) return FromPaths({request.kubeconfig}, true, request);
  if (!surroundings.kubeconfig_variable.empty()) {
    return FromPaths(Split(surroundings.kubeconfig_variable, ':'), false, request);
  }
  auto home = [&]() -> absl::StatusOr<kube::ClientConfig> {
    if (surroundings.home.empty()) return absl::NotFoundError("HOME is not set");
    return FromPaths({surroundings.home + "/.kube/config"}, true, request);
  };
  auto in_cluster = [&]() -> absl::StatusOr<kube::ClientConfig> {
    absl::StatusOr<kube::ClientConfig> config = InClusterConfig(surroundings);
    if (config.ok() && !request.ns.empty()) config->default_namespace = request.ns;
    return config;
  };
  absl::StatusOr<kube::ClientConfig> first = request.kubectl_order ? home() : in_cluster();
  if (!absl::IsNotFound(first.status())) return first;
  absl::StatusOr<kube::ClientConfig> second = request.kubectl_order ? in_cluster() : home();
  if (!absl::IsNotFound(second.status())) return second;
  return absl::NotFoundError(StrCat("no way to a cluster: no --kubeconfig, no KUBECONFIG; ",
                                    MessageOf(first.status()), "; ", MessageOf(second.status())));
}

}  // namespace yardmaster::config
