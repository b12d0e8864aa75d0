#include "pkg/kube/credentials.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/process.h"
#include "pkg/kube/process_env.h"
#include "pkg/kube/testing/test_certificates.h"

namespace yardmaster::kube {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() {
    dir_ = std::filesystem::temp_directory_path() /
           StrCat("ym-credentials-", getpid(), "-",
                  testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(dir_);
  }
  ~CredentialsTest() override { std::filesystem::remove_all(dir_); }

  std::string Path(const std::string& name) const { return dir_ / name; }
  // As the kubelet does it: a new file takes the place of the old one.
  std::string WriteFile(const std::string& name, const std::string& content) {
    {
      std::ofstream file(Path(name + ".new"));
      file << content;
    }
    std::filesystem::rename(Path(name + ".new"), Path(name));
    return Path(name);
  }
  std::string WriteScript(const std::string& name, const std::string& body) {
    const std::string path = WriteFile(name, "#!/bin/sh\n" + body);
    chmod(path.c_str(), 0755);
    return path;
  }
  static ClientConfig Config() {
    ClientConfig config;
    config.server = "https://127.0.0.1:6443";
    return config;
  }
  ClientConfig ExecConfigOf(const std::string& script) {
    ClientConfig config = Config();
    config.exec.api_version = "client.authentication.k8s.io/v1";
    config.exec.command = WriteScript("plugin", script);
    return config;
  }
  int Runs() {
    std::ifstream file(Path("runs"));
    return static_cast<int>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }

  FakeClock clock_;
  std::filesystem::path dir_;
};

TEST_F(CredentialsTest, ATokenFileIsReadAgainWhenItChanges) {
  ClientConfig config = Config();
  config.token = "loses against the file";
  config.token_file = WriteFile("token", "one\n");
  Credentials credentials(config, clock_);
  EXPECT_EQ(*credentials.Authorization(), "Bearer one");
  WriteFile("token", "two\n");
  EXPECT_EQ(*credentials.Authorization(), "Bearer two");
}

TEST_F(CredentialsTest, ATokenFileThatVanishesLeavesTheLastTokenInUse) {
  ClientConfig config = Config();
  config.token_file = WriteFile("token", "one");
  Credentials credentials(config, clock_);
  EXPECT_EQ(*credentials.Authorization(), "Bearer one");
  std::filesystem::remove(config.token_file);
  EXPECT_EQ(*credentials.Authorization(), "Bearer one");
}

TEST_F(CredentialsTest, AFileChangedWithoutATraceIsSeenAfterAMinuteOrAfterARefusal) {
  ClientConfig config = Config();
  config.token_file = WriteFile("token", "one");
  Credentials credentials(config, clock_);
  EXPECT_EQ(*credentials.Authorization(), "Bearer one");
  struct stat before = {};
  stat(config.token_file.c_str(), &before);
  auto change_silently = [&](const char* token) {
    std::fstream file(config.token_file, std::ios::in | std::ios::out);
    file << token;
    file.close();
    const timespec times[2] = {before.st_atim, before.st_mtim};
    utimensat(AT_FDCWD, config.token_file.c_str(), times, 0);
  };
  change_silently("two");
  EXPECT_EQ(*credentials.Authorization(), "Bearer one");
  clock_.Advance(60'000);
  EXPECT_EQ(*credentials.Authorization(), "Bearer two");
  change_silently("six");
  credentials.Reject("Bearer two");
  EXPECT_EQ(*credentials.Authorization(), "Bearer six");
}

TEST_F(CredentialsTest, AMissingOrBrokenTokenFileIsAnErrorThatNamesIt) {
  ClientConfig config = Config();
  config.token_file = Path("none");
  EXPECT_THAT(MessageOf(Credentials(config, clock_).Authorization().status()),
              HasSubstr(config.token_file));
  // A container runtime makes a folder of a file that it cannot mount.
  std::filesystem::create_directory(config.token_file);
  EXPECT_THAT(MessageOf(Credentials(config, clock_).Authorization().status()),
              HasSubstr(config.token_file));
  config.token_file = WriteFile("empty", "\n");
  EXPECT_TRUE(absl::IsUnauthenticated(Credentials(config, clock_).Authorization().status()));
  config.token_file = WriteFile("split", "a\r\nX-Evil: 1");
  EXPECT_THAT(MessageOf(Credentials(config, clock_).Authorization().status()),
              HasSubstr("control character"));
}

TEST_F(CredentialsTest, PasswordsMakeABasicHeaderAndNothingMakesNone) {
  ClientConfig config = Config();
  EXPECT_EQ(*Credentials(config, clock_).Authorization(), "");
  config.username = "user";
  config.password = "pass";
  EXPECT_EQ(*Credentials(config, clock_).Authorization(), "Basic dXNlcjpwYXNz");
}

TEST_F(CredentialsTest, AnExecPluginIsRunOnceUntilItsAnswerExpires) {
  const std::string answer =
      StrCat(R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)",
             R"({"token":"t-'"$n"'","expirationTimestamp":")",
             FormatTime(clock_.WallMs() + 100'000), R"("}})");
  Credentials credentials(ExecConfigOf(StrCat("echo run >> ", Path("runs"), "\nn=$(wc -l < ",
                                              Path("runs"), ")\necho '", answer, "'\n")),
                          clock_);
  EXPECT_EQ(*credentials.Authorization(), "Bearer t-1");
  clock_.Advance(80'000);
  EXPECT_EQ(*credentials.Authorization(), "Bearer t-1");
  clock_.Advance(11'000);  // within ten seconds of its end
  EXPECT_EQ(*credentials.Authorization(), "Bearer t-2");
  EXPECT_EQ(Runs(), 2);
}

TEST_F(CredentialsTest, ARefusedTokenMakesThePluginRunAgainButAnOldRefusalDoesNot) {
  Credentials credentials(
      ExecConfigOf(StrCat(
          "echo run >> ", Path("runs"), "\nn=$(wc -l < ", Path("runs"), ")\n",
          R"(echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)",
          R"("status":{"token":"t-'"$n"'"}}')", "\n")),
      clock_);
  EXPECT_EQ(*credentials.Authorization(), "Bearer t-1");
  credentials.Reject("Bearer t-1");
  EXPECT_EQ(*credentials.Authorization(), "Bearer t-2");
  credentials.Reject("Bearer t-1");
  EXPECT_EQ(*credentials.Authorization(), "Bearer t-2");
  EXPECT_EQ(Runs(), 2);
}

TEST_F(CredentialsTest, AFailingPluginIsNamedWithItsWordsAndNotRunForEveryRequest) {
  ClientConfig config = ExecConfigOf(
      StrCat("echo run >> ", Path("runs"), "\necho first >&2\necho 'please log in' >&2\nexit 3\n"));
  config.exec.install_hint = "see the handbook";
  Credentials credentials(config, clock_);
  const absl::Status status = credentials.Authorization().status();
  EXPECT_TRUE(absl::IsUnauthenticated(status));
  EXPECT_THAT(MessageOf(status), HasSubstr("exit code 3: please log in; see the handbook"));
  EXPECT_FALSE(credentials.Authorization().ok());
  EXPECT_EQ(Runs(), 1);
  clock_.Advance(5'000);
  EXPECT_FALSE(credentials.Authorization().ok());
  EXPECT_EQ(Runs(), 2);

  config.exec.command = Path("no-such-program");
  EXPECT_THAT(MessageOf(Credentials(config, clock_).Authorization().status()),
              HasSubstr("No such file"));
}

TEST_F(CredentialsTest, APluginThatHangsIsKilledAtAStop) {
  std::stop_source stop;
  Credentials credentials(
      ExecConfigOf(StrCat("echo run >> ", Path("runs"), "\nsleep 1000 & wait\n")), clock_,
      stop.get_token());
  std::jthread process([&] {
    while (Runs() == 0) std::this_thread::yield();
    stop.request_stop();
  });
  EXPECT_THAT(MessageOf(credentials.Authorization().status()), HasSubstr(": stopped"));
  clock_.Advance(60'000);
  EXPECT_THAT(MessageOf(credentials.Authorization().status()), HasSubstr(": stopped"));
}

TEST_F(CredentialsTest, ThePluginSeesItsEnvironmentAndTheCluster) {
  ClientConfig config =
      ExecConfigOf(StrCat("printf '%s\\n%s\\n%s\\n' \"$KUBERNETES_EXEC_INFO\" \"$EXTRA\" \"$1\" > ",
                          Path("seen"), "\nexit 1\n"));
  config.exec.provide_cluster_info = true;
  config.exec.cluster_config = R"({"audience":"x"})";
  config.exec.env = {{"EXTRA", "value with spaces"}};
  config.exec.args = {"arg 1"};
  config.ca_data = "PEM";
  EXPECT_FALSE(Credentials(config, clock_).Authorization().ok());
  std::ifstream file(Path("seen"));
  std::string info;
  std::string extra;
  std::string argument;
  std::getline(file, info);
  std::getline(file, extra);
  std::getline(file, argument);
  EXPECT_EQ(info,
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":)"
            R"({"cluster":{"certificate-authority-data":"UEVN","config":{"audience":"x"},)"
            R"("server":"https://127.0.0.1:6443"},"interactive":false}})");
  EXPECT_EQ(extra, "value with spaces");
  EXPECT_EQ(argument, "arg 1");
}

TEST(ExecCredentialTest, AnswersOfTheWrongShapeSayWhatIsWrong) {
  constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";
  auto problem = [&](std::string_view text) {
    return MessageOf(ParseExecCredential(text, kV1).status());
  };
  EXPECT_THAT(problem("hello"), HasSubstr("not JSON"));
  EXPECT_THAT(problem("{}"), HasSubstr("not an ExecCredential"));
  EXPECT_THAT(
      problem(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"})"),
      HasSubstr("v1beta1"));
  const std::string head =
      StrCat(R"({"kind":"ExecCredential","apiVersion":")", kV1, R"(","status":)");
  EXPECT_THAT(problem(head + "{}}"), HasSubstr("neither"));
  EXPECT_THAT(problem(head + R"({"clientCertificateData":"x"}})"), HasSubstr("without its key"));
  EXPECT_THAT(problem(head + R"({"token":"x","expirationTimestamp":"soon"}})"), HasSubstr("soon"));
}

TEST_F(CredentialsTest, AGarbledCertificateLeavesTheLastGoodOneInUse) {
  const TestCertificates certs = MakeTestCertificates();
  ClientConfig config = Config();
  config.ca_file = WriteFile("ca", certs.ca_pem);
  config.client_cert_file = WriteFile("cert", certs.client_cert_pem);
  config.client_key_file = WriteFile("key", certs.client_key_pem);
  Credentials credentials(config, clock_);
  ASSERT_TRUE(credentials.Tls().ok()) << credentials.Tls().status();
  EXPECT_EQ(credentials.Tls()->cert_pem, certs.client_cert_pem);
  WriteFile("key", certs.server_key_pem);  // half of a rotation: it does not fit the certificate
  EXPECT_EQ(credentials.Tls()->key_pem, certs.client_key_pem);
  WriteFile("cert", certs.server_cert_pem);
  EXPECT_EQ(credentials.Tls()->key_pem, certs.server_key_pem);
  WriteFile("ca", "garbage");
  EXPECT_EQ(credentials.Tls()->ca_pem, certs.ca_pem);
}

TEST_F(CredentialsTest, BadCertificatesFromTheStartAreErrorsThatNameTheField) {
  const TestCertificates certs = MakeTestCertificates();
  ClientConfig config = Config();
  config.ca_data = "garbage";
  EXPECT_THAT(MessageOf(Credentials(config, clock_).Tls().status()),
              HasSubstr("certificate-authority"));
  config.ca_data = certs.ca_pem;
  config.client_cert_data = certs.client_cert_pem;
  config.client_key_data = certs.server_key_pem;
  EXPECT_THAT(MessageOf(Credentials(config, clock_).Tls().status()), HasSubstr("client-key"));
}

TEST(ProcessTest, OutputErrorsAndExitCodeAreCollected) {
  absl::StatusOr<ProcessResult> result = RunProcess(
      {"sh", "-c", "echo out; echo err >&2; cat; exit 7"}, {"PATH=/usr/bin:/bin"}, 10'000);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 7);
  EXPECT_EQ(result->output, "out\n");
  EXPECT_EQ(result->errors, "err\n");
}

TEST(ProcessTest, AProcessThatDoesNotEndIsKilledWithItsChildren) {
  const absl::Status status =
      RunProcess({"sh", "-c", "sleep 1000 & wait"}, {"PATH=/usr/bin:/bin"}, 100).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

TEST(ProcessTest, EndlessOutputIsAnErrorAndNotMemory) {
  const absl::Status status =
      RunProcess({"sh", "-c", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"},
                 {"PATH=/usr/bin:/bin"}, 20'000)
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST(ClientConfigTest, WhatCannotWorkIsRefusedWithTheFieldsName) {
  auto problem = [](auto change) {
    ClientConfig config;
    config.server = "https://example.com:6443";
    change(config);
    return MessageOf(ValidateClientConfig(config));
  };
  EXPECT_EQ(problem([](ClientConfig&) {}), "");
  EXPECT_THAT(problem([](auto& c) { c.server = ""; }), StartsWith("server:"));
  EXPECT_THAT(problem([](auto& c) { c.server = "example.com"; }), StartsWith("server:"));
  EXPECT_THAT(problem([](auto& c) { c.server = "https://:1"; }), StartsWith("server:"));
  EXPECT_THAT(problem([](auto& c) { c.server = "https://a:99999"; }), StartsWith("server:"));
  EXPECT_THAT(problem([](auto& c) { c.server = "https://[::1]:6443"; }), HasSubstr("IPv6"));
  EXPECT_THAT(problem([](auto& c) { c.proxy_url = "socks5://a:1"; }), StartsWith("proxy-url:"));
  EXPECT_THAT(problem([](auto& c) {
                c.insecure_skip_tls_verify = true;
                c.ca_data = "x";
              }),
              StartsWith("insecure-skip-tls-verify:"));
  EXPECT_THAT(problem([](auto& c) { c.client_cert_file = "x"; }), StartsWith("client-key:"));
  EXPECT_THAT(problem([](auto& c) { c.exec.command = "x"; }), StartsWith("exec.apiVersion:"));
  EXPECT_THAT(problem([](auto& c) {
                c.exec.command = "x";
                c.exec.api_version = "client.authentication.k8s.io/v1";
                c.exec.interactive_mode = "Always";
              }),
              StartsWith("exec.interactiveMode:"));
  EXPECT_THAT(problem([](auto& c) { c.as_groups = {"x"}; }), StartsWith("as:"));
  EXPECT_THAT(problem([](auto& c) {
                c.as = "x";
                c.as_groups = {"a", "b"};
              }),
              StartsWith("as-groups:"));
  EXPECT_THAT(problem([](auto& c) { c.token = "a\nb"; }), HasSubstr("control character"));
  EXPECT_THAT(problem([](auto& c) {
                c.server = "http://example.com";
                c.token = "t";
              }),
              HasSubstr("unencrypted"));
}

TEST(ClientConfigTest, ServerUrlsComeApart) {
  const ServerUrl url = *ParseServerUrl("server", "https://host.example:8443/k8s/c-1/");
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "host.example");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.path, "/k8s/c-1");
  EXPECT_EQ(ParseServerUrl("server", "http://h")->port, 80);
}

TEST(ProcessEnvTest, ChildrenGetTheCertificateVariablesBackAndPreparingTwiceIsOnce) {
  setenv("SSL_CERT_FILE", "/mine.crt", 1);
  unsetenv("SSL_CERT_DIR");
  UseEmptyCertificateBundle();
  UseEmptyCertificateBundle();
  EXPECT_STREQ(getenv("SSL_CERT_FILE"), "/dev/null");
  const std::vector<std::string> env = ChildEnvironment();
  EXPECT_THAT(env, testing::Contains("SSL_CERT_FILE=/mine.crt"));
  for (const std::string& entry : env) {
    EXPECT_FALSE(entry.starts_with("SSL_CERT_DIR=")) << entry;
    EXPECT_FALSE(entry.starts_with("YARDMASTER_SAVED")) << entry;
  }
  EXPECT_EQ(SystemCertificatesPath(), "/mine.crt");
}

}  // namespace
}  // namespace yardmaster::kube
