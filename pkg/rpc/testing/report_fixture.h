// A test fixture with a ReportServer, a record of its reports, and certificates for both sides. For
// tests only.
//
// Thread safety: one thread, except for the server's own calls.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "pkg/base/mutex.h"
#include "pkg/base/strings.h"
#include "pkg/rpc/report_server.h"
#include "pkg/rpc/report_stream.h"
#include "pkg/tls/authority.h"

namespace yardmaster::rpc {

using Ports = std::vector<api::NicPortKey>;

class ReportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "ym-reports-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    authority_ = *tls::MakeAuthority({.common_name = "first", .now_ms = clock_.WallMs()});
  }
  void TearDown() override {
    streams_.clear();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path + ".new") << text;
    std::filesystem::rename(path + ".new", path);
  }
  // Issues a certificate of `authority` for "server" or "client". The peer's certificate is checked
  // against authority_.
  TlsFiles Issue(const std::string& side, const tls::KeyPair& authority) const {
    tls::CertificateRequest request;
    request.common_name = side;
    request.ip_addresses = {"127.0.0.1"};
    request.server = side == "server";
    request.client = !request.server;
    request.now_ms = clock_.WallMs();
    const tls::KeyPair pair = *tls::Issue(authority, request);
    Write(side + ".crt", pair.certificate_pem);
    Write(side + ".key", pair.key_pem);
    Write(side + "-ca.crt", authority_.certificate_pem);
    const std::string path = folder_ + "/" + side;
    return {path + ".crt", path + ".key", path + "-ca.crt"};
  }

  ReportServer::Sink Sink() {
    return {[this](const std::string& node, const Ports& down) {
              MutexLock lock(mutex_);
              down_[node] = down;
              history_.push_back(StrCat(node, " ", api::EncodeDownPorts(down)));
              resumed_.wait(lock,
                            [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !slow_; });
            },
            [this](const std::string& node) {
              const MutexLock lock(mutex_);
              down_.erase(node);
              history_.push_back(node + " ended");
            }};
  }
  void StartServer(ReportServerOptions options = {}, ReportServer::Authenticate authenticate = {}) {
    if (options.address.empty()) options.address = "127.0.0.1:0";
    auto server = ReportServer::Start(options, clock_, std::move(authenticate), Sink());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->SetServing(true);
  }
  ReportStream& Stream(const std::string& node, TlsFiles tls = {}, std::string token_file = "") {
    ReportStreamOptions options;
    options.target = StrCat("127.0.0.1:", server_->port());
    options.tls = std::move(tls);
    options.token_file = std::move(token_file);
    options.node = node;
    options.first_retry_ms = 20;
    options.max_retry_ms = 100;
    streams_.push_back(std::make_unique<ReportStream>(options, clock_));
    return *streams_.back();
  }

  // Steps all streams until `holds`, because other threads fulfil it.
  template <typename Condition>
  ::testing::AssertionResult Eventually(Condition holds) {
    const std::int64_t until_ms = clock_.SteadyMs() + 30'000;
    while (!holds()) {
      if (clock_.SteadyMs() > until_ms) return ::testing::AssertionFailure() << "it never came";
      for (const auto& stream : streams_) stream->Step();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return ::testing::AssertionSuccess();
  }
  bool Knows(const std::string& node, const Ports& down) const {
    const MutexLock lock(mutex_);
    const auto at = down_.find(node);
    return at != down_.end() && at->second == down;
  }
  std::vector<std::string> History() const {
    const MutexLock lock(mutex_);
    return history_;
  }
  void SetSlow(bool slow) {
    const MutexLock lock(mutex_);
    slow_ = slow;
    resumed_.notify_all();
  }

  RealClock clock_;
  std::string folder_;
  tls::KeyPair authority_;
  std::unique_ptr<ReportServer> server_;
  std::vector<std::unique_ptr<ReportStream>> streams_;
  mutable Mutex mutex_;
  CondVar resumed_;
  bool slow_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Ports> down_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> history_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::rpc
