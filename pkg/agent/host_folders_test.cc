#include "pkg/agent/host_folders.h"

#include <filesystem>
#include <functional>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gmock/gmock.h"

#include "pkg/agent/plans/file_sink.h"
#include "pkg/agent/testing/fake_sink.h"

namespace yardmaster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uid_t kSomeUser = 65532;

uid_t OwnerOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_uid;
}

// What a process of that user and group reports; a child of its own, because a process gives its
// rights away for good.
bool AsUser(uid_t user, gid_t group, const std::function<bool()>& what) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is = ::setgroups(0, nullptr) == 0 && ::setgid(group) == 0 && ::setuid(user) == 0;
    ::_exit(is && what() ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(HostFolders, AreThoseOfThePlansAndOfTheLocalSockets) {
  EXPECT_THAT(WrittenFolders("/run/y/plans", {"unix:/run/y/agent.sock", "0.0.0.0:9000",
                                              "unix:/run/y/other.sock", "unix:relative.sock"}),
              ElementsAre("/run/y", "/run/y/plans"));
}

TEST(HostFolders, AreMadeForTheirOwner) {
  const TempFolder folder;
  const std::string plans = folder.path() + "/run/plans";
  ASSERT_TRUE(HandOverFolders({folder.path() + "/run", plans}, ::geteuid()).ok());
  EXPECT_TRUE(std::filesystem::is_directory(plans));
  // Again, as at each start of the agent's pod.
  EXPECT_TRUE(HandOverFolders({folder.path() + "/run", plans}, ::geteuid()).ok());
}

TEST(HostFolders, LetAnotherUserReplaceWhatRootLeft) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives folders away";
  const TempFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const std::string plans = folder.path() + "/plans";
  const auto write = [&plans] {
    FileSink sink(plans, "n1", FolderPerNode::kNo);
    return sink.Prepare().ok() && sink.Write({"n1", "u-1"}, "one").ok() &&
           sink.Remove({"n1", "u-1"}).ok();
  };
  FileSink as_root(plans, "n1", FolderPerNode::kNo);
  ASSERT_TRUE(as_root.Prepare().ok());
  ASSERT_TRUE(as_root.Write({"n1", "u-1"}, "of root").ok());
  EXPECT_FALSE(AsUser(kSomeUser, kSomeUser, write));

  ASSERT_TRUE(HandOverFolders({plans}, kSomeUser).ok());
  EXPECT_EQ(OwnerOf(plans), kSomeUser);
  EXPECT_TRUE(AsUser(kSomeUser, kSomeUser, write));
  // The group stands for root without its capabilities, which an agent of an earlier version is.
  EXPECT_TRUE(AsUser(kSomeUser + 1, 0, write));
  EXPECT_FALSE(AsUser(kSomeUser + 1, kSomeUser + 1, write));
}

TEST(HostFolders, AreNotGivenAwayByAProcessThatIsNotRoot) {
  const TempFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  const std::string plans = folder.path() + "/plans";
  const bool root = ::geteuid() == 0;
  const auto refused = [&] { return !HandOverFolders({plans}, kSomeUser + 1).ok(); };
  EXPECT_TRUE(root ? AsUser(kSomeUser, kSomeUser, refused) : refused());
  EXPECT_EQ(OwnerOf(plans), root ? kSomeUser : ::geteuid());
}

TEST(HostFolders, AreNotSoughtBehindALink) {
  const TempFolder folder;
  const std::string target = folder.path() + "/target";
  const std::string link = folder.path() + "/link";
  std::filesystem::create_directory(target);
  std::filesystem::create_directory_symlink(target, link);
  const absl::Status refused = HandOverFolders({link}, ::geteuid() == 0 ? kSomeUser : ::geteuid());
  EXPECT_THAT(std::string(refused.message()), HasSubstr("cannot give the folder " + link));
  EXPECT_EQ(OwnerOf(target), ::geteuid());
}

}  // namespace
}  // namespace yardmaster::agent
