// pkg/kube against a real API server: what its answers are mapped to, and who it lets in.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <thread>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "pkg/base/base64.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/list_page.h"
#include "test/integration/kube_fixture.h"

namespace yardmaster::testing {
namespace {

using kube::JsonPatch;
using kube::MergePatch;
using nlohmann::json;
using ::testing::HasSubstr;

class KubeClientTest : public KubeFixture {
 protected:
  static void SetUpTestSuite() { StartPlane({}); }
  static void TearDownTestSuite() { StopPlane(); }

  std::string Folder() const {
    const std::string folder = plane_->folder() + "/" + ns_;
    std::filesystem::create_directories(folder);
    return folder;
  }
  static void WriteFile(const std::string& path, const std::string& content) {
    std::ofstream(path + ".new") << content;
    std::filesystem::rename(path + ".new", path);
  }
  // A ServiceAccount that may read ConfigMaps in the test's namespace.
  json MakeReader() {
    auto account =
        client_->Create({kServiceAccounts, ns_}, {{"metadata", {{"name", "reader"}}}}, {});
    EXPECT_TRUE(account.ok()) << account.status();
    const std::string subject = StrCat(ns_, ":reader");
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"create", "role", "reader", "-n", ns_,
                                                "--verb=get,list,watch", "--resource=configmaps"},
                                               {"create", "rolebinding", "reader", "-n", ns_,
                                                "--role=reader", "--serviceaccount=" + subject}}) {
      auto done = plane_->Kubectl(arguments);
      EXPECT_TRUE(done.ok()) << done.status();
    }
    return account.ok() ? *account : json();
  }
  std::string RequestToken() {
    auto answer = client_->Create({kServiceAccounts, ns_, "reader", "token"},
                                  {{"apiVersion", "authentication.k8s.io/v1"},
                                   {"kind", "TokenRequest"},
                                   {"spec", {{"expirationSeconds", 600}}}},
                                  {});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? kube::StringAt(*answer, {"status", "token"}) : "";
  }
  // A configuration that knows the server and nothing about who we are.
  static kube::ClientConfig Anonymous() {
    const kube::ClientConfig admin = AdminConfig();
    kube::ClientConfig config;
    config.server = admin.server;
    config.ca_file = admin.ca_file;
    config.ca_data = admin.ca_data;
    return config;
  }
};

TEST_F(KubeClientTest, ObjectsAreCreatedReadReplacedAndDeleted) {
  json map = MustCreateMap("a");
  EXPECT_TRUE(
      absl::IsAlreadyExists(client_->Create(Map(), {{"metadata", {{"name", "a"}}}}, {}).status()));
  const json stale = map;
  map["data"]["value"] = "1";
  auto replaced = client_->Replace(Map("a"), map, {});
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_TRUE(absl::IsAborted(client_->Replace(Map("a"), stale, {}).status()));
  EXPECT_EQ((*client_->Get(Map("a")))["data"]["value"], "1");
  EXPECT_TRUE(absl::IsAborted(client_->Delete(Map("a"), {.uid = "another"})));
  EXPECT_TRUE(absl::IsAborted(
      client_->Delete(Map("a"), {.resource_version = kube::ResourceVersionOf(stale)})));
  EXPECT_TRUE(client_->Delete(Map("a"), {.uid = kube::UidOf(map)}).ok());
  EXPECT_TRUE(absl::IsNotFound(client_->Get(Map("a")).status()));
  EXPECT_TRUE(absl::IsNotFound(client_->Delete(Map("a"), {})));
  EXPECT_TRUE(absl::IsNotFound(client_->Get({kube::Gangs(), ns_, "no-such-type"}).status()));
}

TEST_F(KubeClientTest, ListsComeInPagesOfOneSnapshot) {
  for (int i = 0; i < 25; ++i) MustCreateMap(StrCat("m", 10 + i));
  auto first = ReadListPage(*client_, Map(), {.limit = 10});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->items.size(), 10u);
  MustCreateMap("m99");
  auto second =
      ReadListPage(*client_, Map(), {.limit = 10, .continue_token = first->continue_token});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->resource_version, first->resource_version);
  auto all = ListAll(*client_, Map(), {.limit = 7});
  ASSERT_TRUE(all.ok()) << all.status();
  // One more than made here: kube-root-ca.crt.
  std::vector<std::string> names;
  for (const kube::ObjectPtr& object : *all) {
    EXPECT_EQ((*object)["kind"], "ConfigMap");
    names.push_back(kube::NameOf(*object));
  }
  std::erase(names, "kube-root-ca.crt");
  EXPECT_EQ(names.size(), 26u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(ListAll(*client_, Map(), {.field_selector = "metadata.name=m99"})->size(), 1u);
}

TEST_F(KubeClientTest, AJsonPatchThatDoesNotFitIsToldFromARefusedOne) {
  const json map = MustCreateMap("a");
  auto patch = [&](const json& operations) {
    return client_->Patch(Map("a"), JsonPatch(operations), {}).status();
  };
  EXPECT_TRUE(patch({{{"op", "test"}, {"path", "/metadata/uid"}, {"value", kube::UidOf(map)}},
                     {{"op", "add"}, {"path", "/data/more"}, {"value", "1"}}})
                  .ok());
  const absl::Status failed =
      patch({{{"op", "test"}, {"path", "/metadata/uid"}, {"value", "another"}},
             {{"op", "add"}, {"path", "/data/never"}, {"value", "1"}}});
  EXPECT_TRUE(absl::IsFailedPrecondition(failed)) << failed;
  EXPECT_TRUE(absl::IsFailedPrecondition(patch({{{"op", "remove"}, {"path", "/data/missing"}}})));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      patch({{{"op", "test"}, {"path", "/no/such/path"}, {"value", 1}}})));
  const absl::Status refused =
      patch({{{"op", "add"}, {"path", "/metadata/labels"}, {"value", {{"x", "not a label!"}}}}});
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(MessageOf(refused), HasSubstr("metadata.labels"));
  EXPECT_FALSE(client_->Get(Map("a"))->at("data").contains("never"));
}

TEST_F(KubeClientTest, AMergePatchWithAnotherUidOrAStaleVersionIsAborted) {
  const json map = MustCreateMap("a");
  auto patch = [&](const json& metadata) {
    return client_->Patch(Map("a"), MergePatch({{"metadata", metadata}}), {}).status();
  };
  EXPECT_TRUE(patch({{"uid", kube::UidOf(map)}, {"annotations", {{"k", "1"}}}}).ok());
  EXPECT_TRUE(absl::IsAborted(
      patch({{"resourceVersion", kube::ResourceVersionOf(map)}, {"annotations", {{"k", "2"}}}})));
  const absl::Status other = patch({{"uid", "another"}, {"annotations", {{"k", "3"}}}});
  EXPECT_TRUE(absl::IsAborted(other)) << other;
}

TEST_F(KubeClientTest, RefusalsCarryEveryCause) {
  const absl::Status invalid =
      client_
          ->Create(
              {kube::Pods(), ns_},
              {{"metadata", {{"name", "Bad_Name"}}}, {"spec", {{"containers", json::array()}}}}, {})
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(invalid)) << invalid;
  EXPECT_THAT(MessageOf(invalid), HasSubstr("metadata.name"));
  EXPECT_THAT(MessageOf(invalid), HasSubstr("spec.containers"));
}

TEST_F(KubeClientTest, StatusIsWrittenApart) {
  const std::string name = "node-" + ns_;
  ASSERT_TRUE(client_->Create({kube::Nodes()}, {{"metadata", {{"name", name}}}}, {}).ok());
  const json status = {{"status", {{"capacity", {{"nvidia.com/gpu", "8"}}}}}};
  ASSERT_TRUE(client_->Patch({kube::Nodes(), "", name}, MergePatch(status), {}).ok());
  EXPECT_FALSE(client_->Get({kube::Nodes(), "", name})->at("status").contains("capacity"));
  auto written = client_->Patch({kube::Nodes(), "", name, "status"}, MergePatch(status), {});
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ((*written)["status"]["capacity"]["nvidia.com/gpu"], "8");
  EXPECT_TRUE(client_->Delete({kube::Nodes(), "", name}, {}).ok());
}

TEST_F(KubeClientTest, RightsAreThoseOfTheServiceAccount) {
  MakeReader();
  MustCreateMap("a");
  kube::ClientConfig config = Anonymous();
  EXPECT_TRUE(absl::IsPermissionDenied(Connect(config)->Get(Map("a")).status()));
  config.token = "no token of this cluster";
  EXPECT_TRUE(absl::IsUnauthenticated(Connect(config)->Get(Map("a")).status()));
  config.token = RequestToken();
  auto reader = Connect(config);
  EXPECT_TRUE(reader->Get(Map("a")).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(reader->Delete(Map("a"), {})));
  kube::ClientConfig acting = AdminConfig();
  acting.as = StrCat("system:serviceaccount:", ns_, ":reader");
  EXPECT_TRUE(Connect(acting)->Get(Map("a")).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Connect(acting)->Delete(Map("a"), {})));
}

// A token as the API server would sign it, that ends at `expires_wall_s`.
std::string SignToken(const std::string& key_file, const std::string& ns, const json& account,
                      std::int64_t expires_wall_s) {
  auto url64 = [](const std::string& bytes) {
    std::string text = Base64Encode(bytes);
    std::replace(text.begin(), text.end(), '+', '-');
    std::replace(text.begin(), text.end(), '/', '_');
    text.erase(text.find_last_not_of('=') + 1);
    return text;
  };
  const std::string issuer = "https://kubernetes.default.svc.cluster.local";
  const std::string name = kube::NameOf(account);
  const json claims = {
      {"iss", issuer},
      {"aud", {issuer}},
      {"iat", expires_wall_s - 3600},
      {"nbf", expires_wall_s - 3600},
      {"exp", expires_wall_s},
      {"sub", StrCat("system:serviceaccount:", ns, ":", name)},
      {"kubernetes.io",
       {{"namespace", ns}, {"serviceaccount", {{"name", name}, {"uid", kube::UidOf(account)}}}}}};
  const std::string text =
      StrCat(url64(R"({"alg":"ES256","typ":"JWT"})"), ".", url64(claims.dump()));

  std::ifstream file(key_file);
  const std::string pem{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  std::string der(200, '\0');
  std::size_t size = der.size();
  EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key);
  EVP_DigestSign(context, reinterpret_cast<unsigned char*>(der.data()), &size,
                 reinterpret_cast<const unsigned char*>(text.data()), text.size());
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(key);
  const auto* der_data = reinterpret_cast<const unsigned char*>(der.data());
  ECDSA_SIG* signature = d2i_ECDSA_SIG(nullptr, &der_data, static_cast<long>(size));
  std::string raw(64, '\0');
  BN_bn2binpad(ECDSA_SIG_get0_r(signature), reinterpret_cast<unsigned char*>(raw.data()), 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(signature), reinterpret_cast<unsigned char*>(raw.data()) + 32, 32);
  ECDSA_SIG_free(signature);
  return StrCat(text, ".", url64(raw));
}

TEST_F(KubeClientTest, AnExpiredTokenIsReplacedByTheOneInTheFile) {
  const json account = MakeReader();
  MustCreateMap("a");
  kube::ClientConfig config = Anonymous();
  config.token_file = Folder() + "/token";
  // The API server allows a minute of clock skew and remembers a good token for ten seconds.
  WriteFile(config.token_file, SignToken(plane_->folder() + "/pki/service-account.key", ns_,
                                         account, clock_.WallMs() / 1000 - 55));
  auto reader = Connect(config);
  const absl::Status before = reader->Get(Map("a")).status();
  ASSERT_TRUE(before.ok()) << before;
  absl::Status expired;
  for (int tries = 0; expired.ok() && tries < 300; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    expired = reader->Get(Map("a")).status();
  }
  EXPECT_TRUE(absl::IsUnauthenticated(expired)) << expired;
  WriteFile(config.token_file, RequestToken());
  const absl::Status after = reader->Get(Map("a")).status();
  EXPECT_TRUE(after.ok()) << after;
}

TEST_F(KubeClientTest, ExecPluginsGiveTokensAndCertificates) {
  MakeReader();
  MustCreateMap("a");
  auto plugin = [&](const std::string& name, const json& status) {
    const json answer = {{"apiVersion", "client.authentication.k8s.io/v1"},
                         {"kind", "ExecCredential"},
                         {"status", status}};
    const std::string path = Folder() + "/" + name;
    WriteFile(path + ".json", answer.dump());
    WriteFile(path, StrCat("#!/bin/sh\nexec cat ", path, ".json\n"));
    chmod(path.c_str(), 0755);
    kube::ClientConfig config = Anonymous();
    config.exec.api_version = "client.authentication.k8s.io/v1";
    config.exec.command = path;
    return config;
  };
  auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  };
  auto reader = Connect(plugin("token", {{"token", RequestToken()}}));
  EXPECT_TRUE(reader->Get(Map("a")).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(reader->Delete(Map("a"), {})));
  auto admin =
      Connect(plugin("certificate", {{"clientCertificateData", read(plane_->admin_cert_file())},
                                     {"clientKeyData", read(plane_->admin_key_file())}}));
  EXPECT_TRUE(admin->Delete(Map("a"), {}).ok());
}

}  // namespace
}  // namespace yardmaster::testing
