#include "pkg/agent/profiles/pod_processes.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

using api::ProcessActivity;

constexpr char kUid[] = "0a1b2c3d-1111-2222-3333-444455556666";

TEST(ProcessStat, IsReadAfterTheNameWhateverThatIs) {
  const auto stat = ParseProcessStat(
      "42 (a) R 1 (b) T 1 42 42 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 1 0 9000 1 1\n", 100);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->state, 'T');
  EXPECT_EQ(stat->cpu_ms, 3'000);
  EXPECT_EQ(stat->start_ms, 90'000);
}

TEST(ProcessStat, AnythingElseIsNone) {
  EXPECT_FALSE(ParseProcessStat("", 100));
  EXPECT_FALSE(ParseProcessStat("42 (a)", 100));
  EXPECT_FALSE(ParseProcessStat("42 (a) R 1 2 3", 100));
  EXPECT_FALSE(ParseProcessStat(
      "42 (a) R 1 1 42 42 0 -1 4194560 1 0 0 0 -250 50 0 0 20 0 1 0 9000 1 1", 100));
  Random random(3);
  for (int round = 0; round < 2'000; ++round) {
    std::string text = "1 (x) S 1 1 1 0 -1 1 1 0 0 0 25 50 0 0 20 0 1 0 9000 1 1";
    for (std::uint64_t edits = random.Below(5); edits > 0; --edits) {
      text[random.Below(text.size())] = static_cast<char>(random.Below(256));
    }
    const auto stat = ParseProcessStat(text, 100);
    EXPECT_GE(stat ? stat->cpu_ms : 0, 0);
  }
}

TEST(PodOfCgroups, KnowsBothDriversAndBothVersions) {
  EXPECT_EQ(PodOfCgroups(StrCat("0::/kubepods/burstable/pod", kUid, "/abc\n")), kUid);
  EXPECT_EQ(PodOfCgroups("0::/../../kubepods-burstable.slice/kubepods-burstable-pod"
                         "0a1b2c3d_1111_2222_3333_444455556666.slice/cri-containerd-1.scope\n"),
            kUid);
  EXPECT_EQ(PodOfCgroups(StrCat("12:pids:/kubepods/pod", kUid, "/c\n1:name=systemd:/kubepods/pod",
                                kUid, "/c\n")),
            kUid);
  EXPECT_EQ(PodOfCgroups("0::/system.slice/kubelet.service\n"), "");
  EXPECT_EQ(PodOfCgroups(""), "");
}

TEST(PodOfCgroups, AFolderThatATenantMakesBelowItsOwnDoesNotCount) {
  constexpr char kOther[] = "ffffffff-1111-2222-3333-444455556666";
  EXPECT_EQ(PodOfCgroups(StrCat("0::/kubepods/pod", kUid, "/c/pod", kOther, "\n")), kUid);
}

std::deque<ProcessSample> Row(const std::vector<ProcessStat>& processes, double cpus = 0,
                              std::size_t count = kSummarySamples) {
  std::deque<ProcessSample> row;
  for (std::size_t i = 0; i < count; ++i) {
    ProcessSample sample{1'000'000 + static_cast<std::int64_t>(i) * 1'000, processes};
    sample.processes[0].cpu_ms += static_cast<std::int64_t>(cpus * 1000 * static_cast<double>(i));
    row.push_back(sample);
  }
  return row;
}

TEST(Summarize, TellsWhatCannotRunFromWhatIsIdleAndWhatPolls) {
  EXPECT_EQ(Summarize(Row({{'S', 50'000, 0}}, 1.0), 20'000).activity, ProcessActivity::kBusy);
  EXPECT_EQ(Summarize(Row({{'S', 50'000, 0}}, 0.01), 20'000).activity, ProcessActivity::kIdle);
  EXPECT_EQ(Summarize(Row({{'S', 50'000, 0}, {'T', 40'000, 0}}, 1.0), 20'000).activity,
            ProcessActivity::kStopped);
  EXPECT_EQ(Summarize(Row({{'D', 50'000, 0}, {'S', 10, 0}}), 20'000).activity,
            ProcessActivity::kUninterruptible);
}

TEST(Summarize, AProcessThatDidNothingOrWasSeenOtherwiseOnceSaysNothing) {
  EXPECT_EQ(Summarize(Row({{'S', 500'000, 0}, {'T', 30, 0}}, 1.0), 20'000).activity,
            ProcessActivity::kBusy)
      << "a shell that somebody left stopped";
  EXPECT_EQ(Summarize(Row({{'D', 50'000, 0}}, 0.3), 20'000).activity, ProcessActivity::kBusy)
      << "it writes a checkpoint";
  auto row = Row({{'T', 50'000, 0}});
  row[3].processes[0].state = 'S';
  EXPECT_EQ(Summarize(row, 20'000).activity, ProcessActivity::kIdle);
  EXPECT_EQ(Summarize(Row({{'T', 50'000, 0}}, 0, kSummarySamples - 1), 20'000).activity,
            ProcessActivity::kUnknown);
  EXPECT_EQ(Summarize({}, 20'000).activity, ProcessActivity::kUnknown);
}

TEST(Summarize, ProcessesYoungerThanThePauseAreARestart) {
  const std::int64_t started = 1'000'000 - 10'000;
  EXPECT_TRUE(Summarize(Row({{'R', 8'000, started}, {'S', 200, 0}}), 60'000).restarted);
  EXPECT_FALSE(Summarize(Row({{'R', 8'000, started}, {'S', 20'000, 0}}), 60'000).restarted)
      << "a helper of a job that goes on";
  EXPECT_FALSE(Summarize(Row({{'R', 8'000, started}}), 5'000).restarted);
}

TEST(PodProcesses, AreFoundByTheirCgroup) {
  const std::string root = StrCat(testing::TempDir(), getpid(), "-pod-processes");
  const auto add = [&](const char* pid, const std::string& cgroup) {
    std::filesystem::create_directories(StrCat(root, "/", pid));
    std::ofstream(StrCat(root, "/", pid, "/cgroup")) << cgroup;
    std::ofstream(StrCat(root, "/", pid, "/stat"))
        << pid << " (x) S 1 1 1 0 -1 1 1 0 0 0 25 50 0 0 20 0 1 0 9000 1 1\n";
  };
  add("7", StrCat("0::/kubepods/pod", kUid, "/a\n"));
  add("8", "0::/system.slice/sshd.service\n");
  add("9", StrCat("0::/kubepods/pod", kUid, "/b\n"));
  std::filesystem::create_directories(StrCat(root, "/sys"));
  std::ofstream(StrCat(root, "/uptime")) << "100.50 7.00\n";
  EXPECT_EQ(FindPodPids(root), (PodPids{{kUid, {7, 9}}}));
  const auto sample = PodProcesses(root).Sample(0, kUid);
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->boot_ms, 100'500);
  EXPECT_EQ(sample->processes.size(), 2u);
  EXPECT_FALSE(PodProcesses(root).Sample(0, "other").has_value());
  EXPECT_FALSE(PodProcesses("").Sample(0, kUid).has_value());
  EXPECT_TRUE(FindPodPids(StrCat(root, "/none")).empty());
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace yardmaster::agent
