#include "pkg/tls/certificate_watcher.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/status.h"
#include "pkg/tls/authority.h"

namespace yardmaster::tls {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kNow = 1'700'000'000'000;

class CertificateWatcherTest : public testing::Test {
 protected:
  CertificateWatcherTest() {
    std::string name = testing::TempDir() + "certificates-XXXXXX";
    folder_ = mkdtemp(name.data());
    paths_ = {folder_ + "/tls.crt", folder_ + "/tls.key", folder_ + "/ca.crt"};
    Write(paths_.client_ca, authority_.certificate_pem);
  }
  ~CertificateWatcherTest() override { std::filesystem::remove_all(folder_); }

  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::trunc) << text;
  }
  KeyPair NewPair() const {
    return *Issue(authority_, {.common_name = "x", .server = true, .now_ms = kNow});
  }
  void WritePair(const KeyPair& pair) const {
    Write(paths_.certificate, pair.certificate_pem);
    Write(paths_.key, pair.key_pem);
  }
  CertificateWatcher::Callbacks Callbacks() {
    return {.apply =
                [this](const CertificateFiles& files) {
                  applied_.push_back(files);
                  return apply_status_;
                },
            .report = [this](const absl::Status& status) { reports_.push_back(status); }};
  }

  const KeyPair authority_ = *MakeAuthority({.common_name = "ca", .now_ms = kNow});
  std::string folder_;
  CertificatePaths paths_;
  std::vector<CertificateFiles> applied_;
  std::vector<absl::Status> reports_;
  absl::Status apply_status_;
};

TEST_F(CertificateWatcherTest, AppliesNewContentOnce) {
  const KeyPair first = NewPair();
  WritePair(first);
  CertificateWatcher watcher(paths_, Callbacks());
  EXPECT_TRUE(watcher.Poll().ok());
  EXPECT_TRUE(watcher.Poll().ok());
  ASSERT_EQ(applied_.size(), 1U);
  EXPECT_EQ(applied_[0].certificate_pem, first.certificate_pem);
  EXPECT_EQ(applied_[0].client_ca_pem, authority_.certificate_pem);
  WritePair(NewPair());
  EXPECT_TRUE(watcher.Poll().ok());
  EXPECT_EQ(applied_.size(), 2U);
  EXPECT_THAT(reports_, testing::ElementsAre(absl::OkStatus(), absl::OkStatus()));
}

TEST_F(CertificateWatcherTest, AHalfDoneRotationIsNotAppliedAndReportedOnce) {
  WritePair(NewPair());
  CertificateWatcher watcher(paths_, Callbacks());
  ASSERT_TRUE(watcher.Poll().ok());
  const KeyPair next = NewPair();
  Write(paths_.certificate, next.certificate_pem);
  EXPECT_THAT(MessageOf(watcher.Poll()), HasSubstr(paths_.key));
  EXPECT_FALSE(watcher.Poll().ok());
  EXPECT_EQ(applied_.size(), 1U);
  EXPECT_EQ(reports_.size(), 2U) << "the first success and one error";
  Write(paths_.key, next.key_pem);
  EXPECT_TRUE(watcher.Poll().ok());
  EXPECT_EQ(applied_.back().key_pem, next.key_pem);
}

TEST_F(CertificateWatcherTest, DamagedAndMissingFilesAreNamed) {
  WritePair(NewPair());
  CertificateWatcher watcher(paths_, Callbacks());
  Write(paths_.client_ca, "rubbish");
  EXPECT_THAT(MessageOf(watcher.Poll()), HasSubstr(paths_.client_ca));
  Write(paths_.certificate, "");
  EXPECT_THAT(MessageOf(watcher.Poll()), HasSubstr(paths_.certificate));
  std::filesystem::remove(paths_.key);
  EXPECT_THAT(MessageOf(watcher.Poll()), HasSubstr(paths_.key));
  // A container runtime makes a folder of a file that it cannot mount.
  std::filesystem::create_directory(paths_.key);
  EXPECT_EQ(MessageOf(watcher.Poll()), paths_.key + ": cannot be read");
  EXPECT_TRUE(applied_.empty());
  EXPECT_EQ(reports_.size(), 4U);
}

TEST_F(CertificateWatcherTest, ContentThatCannotBeAppliedIsTriedAgain) {
  WritePair(NewPair());
  apply_status_ = absl::InvalidArgumentError("expired");
  CertificateWatcher watcher(paths_, Callbacks());
  EXPECT_FALSE(watcher.Poll().ok());
  apply_status_ = absl::OkStatus();
  EXPECT_TRUE(watcher.Poll().ok());
  EXPECT_EQ(applied_.size(), 2U);
}

TEST_F(CertificateWatcherTest, FollowsTheLinkSwapOfAMountedSecretOnItsOwnThread) {
  for (const char* version : {"/v1", "/v2"}) std::filesystem::create_directory(folder_ + version);
  const auto fill = [&](const std::string& version, const KeyPair& pair) {
    Write(folder_ + version + "/tls.crt", pair.certificate_pem);
    Write(folder_ + version + "/tls.key", pair.key_pem);
  };
  fill("/v1", NewPair());
  fill("/v2", NewPair());
  std::filesystem::create_directory_symlink("v1", folder_ + "/data");
  std::filesystem::create_symlink("data/tls.crt", paths_.certificate);
  std::filesystem::create_symlink("data/tls.key", paths_.key);

  std::mutex mutex;
  std::condition_variable changed;
  int applied = 0;
  CertificateWatcher watcher(paths_, {.apply =
                                          [&](const CertificateFiles&) {
                                            std::lock_guard lock(mutex);
                                            ++applied;
                                            changed.notify_all();
                                            return absl::OkStatus();
                                          },
                                      .report = [](const absl::Status&) {}});
  ASSERT_TRUE(watcher.Poll().ok());
  watcher.Start(5);
  std::filesystem::create_directory_symlink("v2", folder_ + "/next");
  std::filesystem::rename(folder_ + "/next", folder_ + "/data");
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(10), [&] { return applied == 2; }));
  lock.unlock();
  watcher.Stop();
}

}  // namespace
}  // namespace yardmaster::tls
