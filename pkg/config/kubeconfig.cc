#include "pkg/config/kubeconfig.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/base/base64.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
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
  api::FieldReader fields;  // of the `cluster`, `user` or `context` under the name
};

absl::StatusOr<Entry> FindEntry(const std::vector<KubeconfigFile>& files, const std::string& list,
                                const std::string& inner, const std::string& name,
                                api::FieldErrors& errors) {
  std::vector<std::string> names;
  for (const KubeconfigFile& file : files) {
    std::optional<JsonView> found;
    JsonView(file.content)[list].ForEachElement([&](JsonView entry) {
      if (found || !entry.is_object()) return;
      const std::string entry_name = entry["name"].Text();
      if (entry_name == name) {
        found = entry[inner];
      } else {
        names.push_back(entry_name);
      }
    });
    if (!found) continue;
    return Entry{&file,
                 {*found, StrCat(file.path, ": ", list, "[", name, "].", inner),
                  api::UnknownFields::kIgnore, &errors}};
  }
  return FieldError(StrCat(files.front().path, ": ", list),
                    StrCat("has no entry named \"", name, "\""),
                    names.empty() ? "" : StrCat("there are: ", Join(names, ", ")));
}

// "<key>-data", decoded, or the path in "<key>".
void ReadPem(Entry& entry, const std::string& key, std::string& data, std::string& path) {
  const std::string encoded = entry.fields.String(key + "-data");
  const std::string relative = entry.fields.String(key);
  if (encoded.empty()) {
    path = entry.file->Absolute(relative);
    return;
  }
  absl::StatusOr<std::string> decoded = Base64Decode(encoded);
  if (decoded.ok()) {
    data = *std::move(decoded);
  } else {
    entry.fields.errors().Add(entry.fields.PathOf(key + "-data"), "is not base64",
                              MessageOf(decoded.status()));
  }
}

void ReadCluster(Entry entry, kube::ClientConfig& config) {
  api::FieldReader& fields = entry.fields;
  config.server = fields.String("server");
  while (config.server.ends_with("/")) config.server.pop_back();
  config.tls_server_name = fields.String("tls-server-name");
  config.insecure_skip_tls_verify = fields.Bool("insecure-skip-tls-verify", false);
  config.proxy_url = fields.String("proxy-url");
  fields.Bool("disable-compression", false);
  ReadPem(entry, "certificate-authority", config.ca_data, config.ca_file);
  for (api::FieldReader& extension : fields.Objects("extensions")) {
    if (extension.String("name") == kExecExtension) {
      config.exec.cluster_config = extension.Raw("extension").ToJson().dump();
    }
  }
}

void ReadExec(const KubeconfigFile& file, api::FieldReader fields, kube::ExecConfig& exec) {
  exec.api_version = fields.String("apiVersion");
  exec.command = fields.RequiredString("command");
  // A bare name is looked up in PATH; anything else is a path.
  if (exec.command.find('/') != std::string::npos) exec.command = file.Absolute(exec.command);
  exec.args = fields.Strings("args");
  for (api::FieldReader& variable : fields.Objects("env")) {
    exec.env.emplace_back(variable.String("name"), variable.String("value"));
  }
  exec.provide_cluster_info = fields.Bool("provideClusterInfo", false);
  const std::string mode = fields.String("interactiveMode");
  if (!mode.empty()) exec.interactive_mode = mode;
  exec.install_hint = fields.String("installHint");
}

void ReadUser(Entry entry, kube::ClientConfig& config) {
  api::FieldReader& fields = entry.fields;
  if (fields.has("auth-provider")) {
    fields.errors().Add(fields.PathOf("auth-provider"), "has been removed from Kubernetes",
                        "use the exec plugin of your provider");
  }
  ReadPem(entry, "client-certificate", config.client_cert_data, config.client_cert_file);
  ReadPem(entry, "client-key", config.client_key_data, config.client_key_file);
  config.token = fields.String("token");
  config.token_file = entry.file->Absolute(fields.String("tokenFile"));
  config.username = fields.String("username");
  config.password = fields.String("password");
  config.as = fields.String("as");
  config.as_uid = fields.String("as-uid");
  config.as_groups = fields.Strings("as-groups");
  api::FieldReader extra = fields.Object("as-user-extra");
  for (const std::string& key : extra.Keys()) config.as_user_extra[key] = extra.Strings(key);
  if (fields.has("exec")) ReadExec(*entry.file, fields.Object("exec"), config.exec);
}

// The first non-empty `current-context`.
absl::StatusOr<std::string> CurrentContext(const std::vector<KubeconfigFile>& files) {
  for (const KubeconfigFile& file : files) {
    api::FieldErrors errors;
    std::string current = api::FieldReader(&file.content, "", api::UnknownFields::kIgnore, &errors)
                              .String("current-context");
    YM_RETURN_IF_ERROR(Annotate(errors.status(), file.path));
    if (!current.empty()) return current;
  }
  return std::string();
}

absl::StatusOr<kube::ClientConfig> FromFiles(const std::vector<KubeconfigFile>& files,
                                             const ClientConfigRequest& request) {
  kube::ClientConfig config;
  api::FieldErrors errors;
  std::string cluster;
  std::string user;
  YM_ASSIGN_OR_RETURN(std::string context, CurrentContext(files));
  if (!request.context.empty()) context = request.context;
  if (!context.empty()) {
    YM_ASSIGN_OR_RETURN(Entry entry, FindEntry(files, "contexts", "context", context, errors));
    cluster = entry.fields.String("cluster");
    user = entry.fields.String("user");
    config.default_namespace = entry.fields.String("namespace");
    YM_RETURN_IF_ERROR(errors.status());
  }
  if (!request.cluster.empty()) cluster = request.cluster;
  if (!request.user.empty()) user = request.user;
  if (!request.ns.empty()) config.default_namespace = request.ns;
  if (cluster.empty()) {
    return FieldError(StrCat(files.front().path, ": current-context"), "is not set",
                      "set it (kubectl config use-context), or give --context");
  }
  YM_ASSIGN_OR_RETURN(const Entry cluster_entry,
                      FindEntry(files, "clusters", "cluster", cluster, errors));
  ReadCluster(cluster_entry, config);
  if (!user.empty()) {
    YM_ASSIGN_OR_RETURN(Entry user_entry, FindEntry(files, "users", "user", user, errors));
    ReadUser(std::move(user_entry), config);
  }
  YM_RETURN_IF_ERROR(errors.status());
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
