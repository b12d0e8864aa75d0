#include "pkg/config/kubeconfig.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/base64.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class KubeconfigTest : public testing::Test {
 protected:
  KubeconfigTest() {
    dir_ = std::filesystem::temp_directory_path() /
           StrCat("ym-kubeconfig-", getpid(), "-",
                  testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(dir_);
    surroundings_.service_account_dir = dir_ / "serviceaccount";
  }
  ~KubeconfigTest() override { std::filesystem::remove_all(dir_); }

  std::string Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((dir_ / name).parent_path());
    std::ofstream file(dir_ / name);
    file << text;
    return dir_ / name;
  }
  absl::StatusOr<kube::ClientConfig> Load(const ClientConfigRequest& request = {}) {
    return LoadClientConfig(request, surroundings_);
  }
  kube::ClientConfig MustLoad(const ClientConfigRequest& request = {}) {
    auto config = Load(request);
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? *config : kube::ClientConfig();
  }
  std::string ErrorOf(const std::string& text, ClientConfigRequest request = {}) {
    request.kubeconfig = Write("broken", text);
    auto config = Load(request);
    EXPECT_FALSE(config.ok()) << text;
    return MessageOf(config.status());
  }
  // A small complete kubeconfig with `cluster` and `user` lines in flow style.
  static std::string Small(const std::string& cluster, const std::string& user,
                           const std::string& ns = "") {
    return StrCat("current-context: c\ncontexts:\n- {name: c, context: {cluster: k, user: u",
                  ns.empty() ? "" : ", namespace: ", ns, "}}\nclusters:\n- {name: k, cluster: {",
                  cluster, "}}\nusers:\n- {name: u, user: {", user, "}}\n");
  }
  void MakePod() {
    Write("serviceaccount/token", "t");
    Write("serviceaccount/namespace", "team\n");
    surroundings_.service_host = "10.0.0.1";
    surroundings_.service_port = "443";
  }

  std::filesystem::path dir_;
  Surroundings surroundings_;
};

TEST_F(KubeconfigTest, EveryKeyIsUnderstoodAndPathsCountFromTheFile) {
  const std::string path = Write("sub/config", StrCat(R"(
apiVersion: v1
kind: Config
preferences: {}
current-context: dev
clusters:
- name: k
  cluster:
    server: https://example.com:6443/
    tls-server-name: kube.example
    certificate-authority: ca.crt
    proxy-url: http://proxy:3128
    disable-compression: true
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: x}
contexts:
- name: dev
  context: {cluster: k, user: me, namespace: team}
users:
- name: me
  user:
    client-certificate-data: )",
                                                      Base64Encode("CERT"), R"(
    client-key: ../key.pem
    token: lesser
    tokenFile: token
    as: jane
    as-uid: "7"
    as-groups: [dev]
    as-user-extra: {scope: [a]}
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: ./plugin
      args: [get, token]
      env: [{name: A, value: b}]
      provideClusterInfo: true
      interactiveMode: Never
      installHint: install it
)"));
  const kube::ClientConfig config = MustLoad({.kubeconfig = path});
  EXPECT_EQ(config.server, "https://example.com:6443");
  EXPECT_EQ(config.tls_server_name, "kube.example");
  EXPECT_EQ(config.ca_file, (dir_ / "sub/ca.crt").string());
  EXPECT_EQ(config.proxy_url, "http://proxy:3128");
  EXPECT_EQ(config.client_cert_data, "CERT");
  EXPECT_EQ(config.client_key_file, (dir_ / "key.pem").string());
  EXPECT_EQ(config.token, "lesser");
  EXPECT_EQ(config.token_file, (dir_ / "sub/token").string());
  EXPECT_EQ(config.as, "jane");
  EXPECT_EQ(config.as_uid, "7");
  EXPECT_THAT(config.as_groups, ElementsAre("dev"));
  EXPECT_THAT(config.as_user_extra, ElementsAre(Pair("scope", ElementsAre("a"))));
  EXPECT_EQ(config.exec.api_version, "client.authentication.k8s.io/v1beta1");
  EXPECT_EQ(config.exec.command, (dir_ / "sub/plugin").string());
  EXPECT_THAT(config.exec.args, ElementsAre("get", "token"));
  EXPECT_THAT(config.exec.env, ElementsAre(Pair("A", "b")));
  EXPECT_TRUE(config.exec.provide_cluster_info);
  EXPECT_EQ(config.exec.cluster_config, R"({"audience":"x"})");
  EXPECT_EQ(config.exec.interactive_mode, "Never");
  EXPECT_EQ(config.exec.install_hint, "install it");
  EXPECT_EQ(config.default_namespace, "team");
}

TEST_F(KubeconfigTest, ABareCommandIsLeftToThePathAndDataWinsOverAFile) {
  const kube::ClientConfig config = MustLoad(
      {.kubeconfig = Write(
           "config",
           Small(
               StrCat("server: 'https://a', certificate-authority: x, certificate-authority-data: ",
                      Base64Encode("CA")),
               "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, args: null}"))});
  EXPECT_EQ(config.exec.command, "aws");
  EXPECT_EQ(config.ca_data, "CA");
  EXPECT_EQ(config.ca_file, "");
}

TEST_F(KubeconfigTest, OfSeveralFilesTheFirstOfANameWinsAndMissingOnesAreLeftOut) {
  const std::string a = Write("a", R"(
clusters:
- {name: k, cluster: {server: "https://first"}}
users:
- {name: other, user: {token: t}}
)");
  const std::string b = Write("b", Small("server: 'https://second'", "token: two"));
  surroundings_.kubeconfig_variable = StrCat(dir_.string(), "/missing:", a, "::", b);
  const kube::ClientConfig config = MustLoad();
  EXPECT_EQ(config.server, "https://first");
  EXPECT_EQ(config.token, "two");
  surroundings_.kubeconfig_variable = dir_ / "missing";
  EXPECT_TRUE(absl::IsNotFound(Load().status()));
}

TEST_F(KubeconfigTest, FlagsChooseContextClusterUserAndNamespace) {
  const std::string path = Write("config", R"(
current-context: one
contexts:
- {name: one, context: {cluster: k1, user: u1, namespace: n1}}
- {name: two, context: {cluster: k2, user: u2}}
clusters:
- {name: k1, cluster: {server: "https://k1"}}
- {name: k2, cluster: {server: "https://k2"}}
users:
- {name: u1, user: {token: t1}}
- {name: u2, user: {token: t2}}
)");
  EXPECT_EQ(MustLoad({.kubeconfig = path}).server, "https://k1");
  const kube::ClientConfig two = MustLoad({.kubeconfig = path, .context = "two"});
  EXPECT_EQ(two.server, "https://k2");
  EXPECT_EQ(two.token, "t2");
  EXPECT_EQ(two.default_namespace, "");
  const kube::ClientConfig mixed =
      MustLoad({.kubeconfig = path, .cluster = "k2", .user = "u1", .ns = "n9"});
  EXPECT_EQ(mixed.server, "https://k2");
  EXPECT_EQ(mixed.token, "t1");
  EXPECT_EQ(mixed.default_namespace, "n9");
}

TEST_F(KubeconfigTest, ProcessesPreferTheClusterTheyRunInAndKubectlTheHomeFile) {
  MakePod();
  surroundings_.home = dir_;
  Write(".kube/config", Small("server: 'https://home'", "token: t"));
  EXPECT_EQ(MustLoad().server, "https://10.0.0.1:443");
  EXPECT_EQ(MustLoad({.kubectl_order = true}).server, "https://home");
  surroundings_.service_host = "";
  EXPECT_EQ(MustLoad().server, "https://home");
  surroundings_.kubeconfig_variable = Write("v", Small("server: 'https://variable'", "token: t"));
  EXPECT_EQ(MustLoad({.kubectl_order = true}).server, "https://variable");
  EXPECT_EQ(MustLoad({.kubeconfig = Write("f", Small("server: 'https://flag'", ""))}).server,
            "https://flag");
}

TEST_F(KubeconfigTest, APodUsesItsServiceAccountAndANameForAnIpv6Address) {
  MakePod();
  kube::ClientConfig config = *InClusterConfig(surroundings_);
  EXPECT_EQ(config.token_file, surroundings_.service_account_dir + "/token");
  EXPECT_EQ(config.ca_file, surroundings_.service_account_dir + "/ca.crt");
  EXPECT_EQ(config.default_namespace, "team");
  surroundings_.service_host = "fd00::1";
  EXPECT_EQ(InClusterConfig(surroundings_)->server, "https://kubernetes.default.svc:443");
}

TEST_F(KubeconfigTest, WithNothingTheErrorSaysWhereWasLooked) {
  surroundings_.home = dir_;
  const absl::Status status = Load().status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(MessageOf(status), HasSubstr("KUBERNETES_SERVICE_HOST"));
  EXPECT_THAT(MessageOf(status), HasSubstr("/.kube/config"));
  EXPECT_TRUE(absl::IsNotFound(Load({.kubeconfig = dir_ / "none"}).status()));
}

TEST_F(KubeconfigTest, ErrorsNameFileEntryAndField) {
  const std::string file = (dir_ / "broken").string();
  EXPECT_THAT(ErrorOf("a: [1\n"), HasSubstr("broken:"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("is not a kubeconfig"));
  EXPECT_THAT(ErrorOf("clusters: []"), HasSubstr("current-context: is not set"));
  EXPECT_THAT(ErrorOf("current-context: c"), HasSubstr("contexts: has no entry named \"c\""));
  EXPECT_THAT(ErrorOf(Small("server: 'https://a'", ""), {.context = "d"}),
              HasSubstr("there are: c"));
  EXPECT_THAT(
      ErrorOf(Small("server: 7", "")),
      HasSubstr(file + ": clusters[k].cluster.server: expected a string, got 7; put it in quotes"));
  EXPECT_THAT(ErrorOf(Small("", "")), HasSubstr("server:"));
  EXPECT_THAT(ErrorOf(Small("server: 'https://[::1]:1'", "")), HasSubstr("IPv6"));
  EXPECT_THAT(ErrorOf(Small("server: 'https://a', insecure-skip-tls-verify: 'yes'", "")),
              HasSubstr("insecure-skip-tls-verify: expected true or false, got \"yes\""));
  EXPECT_THAT(ErrorOf(Small("server: 'https://a', certificate-authority-data: '!'", "")),
              HasSubstr("certificate-authority-data: is not base64"));
  EXPECT_THAT(ErrorOf(Small("server: 'https://a'", "auth-provider: {name: gcp}")),
              HasSubstr("users[u].user.auth-provider: has been removed"));
  EXPECT_THAT(ErrorOf(Small("server: 'https://a'", "exec: {apiVersion: v1}")),
              HasSubstr("users[u].user.exec.command: is missing"));
  EXPECT_THAT(ErrorOf(Small("server: 'https://a'", "exec: {apiVersion: v1, command: x}")),
              HasSubstr("exec.apiVersion: \"v1\" is not known"));
  EXPECT_THAT(ErrorOf(Small("server: 'https://a'", "exec: {command: x, args: [1]}")),
              HasSubstr("exec.args[0]: expected a string, got 1"));
  EXPECT_THAT(ErrorOf(Small("server: 'https://a'", "client-certificate: x")),
              HasSubstr("client-key: is missing"));
}

}  // namespace
}  // namespace yardmaster::config
