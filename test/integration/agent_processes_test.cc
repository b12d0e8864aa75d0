// The agent's program and real processes of pods, in cgroups as a kubelet makes them: one is
// stopped by a signal, one is throttled by its CPU limit. Needs root, or a cgroup that one may
// write to.
#include <csignal>
#include <unistd.h>

#include "pkg/api/profile_report.h"
#include "pkg/api/progress_report.h"
#include "test/integration/agent_fixture.h"

namespace yardmaster::testing {
namespace {

constexpr std::int64_t kFoundMs = 60'000;

class AgentProcessesTest : public AgentProcessTest {
 protected:
  void SetUp() override {
    AgentProcessTest::SetUp();
    // Version 1, or else 2.
    for (const char* top : {"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"}) {
      if (cgroups_.empty() && fs::is_directory(top)) cgroups_ = top;
    }
    v2_ = cgroups_.empty();
    if (v2_) cgroups_ = "/sys/fs/cgroup";
    std::error_code error;
    Enable(cgroups_);
    cgroups_ += StrCat("/yardmaster-test-", ::getpid());
    fs::create_directory(cgroups_, error);
    fs::create_directory(cgroups_ + "/probe", error);
    Enable(cgroups_);
    if (!Limit(cgroups_ + "/probe", "50000")) {
      RemoveCgroups();
      GTEST_SKIP() << "no right to limit CPUs by cgroups";
    }
    fs::create_directories(folder_ + "/sys/fs/cgroup");
    if (v2_) fs::remove(folder_ + "/sys/fs/cgroup");
    fs::create_directory_symlink(cgroups_, StrCat(folder_, "/sys/fs/cgroup", v2_ ? "" : "/cpu"));
  }
  void TearDown() override {
    processes_.clear();
    RemoveCgroups();
    AgentProcessTest::TearDown();
  }

  static bool WriteTo(const std::string& file, const std::string& text) {
    std::ofstream out(file);
    return static_cast<bool>(out << text << std::flush);
  }
  void Enable(const std::string& group) const {
    if (v2_) WriteTo(group + "/cgroup.subtree_control", "+cpu");
  }
  // Microseconds of each 100 ms.
  bool Limit(const std::string& group, const std::string& quota_us) const {
    return v2_ ? WriteTo(group + "/cpu.max", quota_us + " 100000")
               : WriteTo(group + "/cpu.cfs_quota_us", quota_us);
  }
  void RemoveCgroups() const {
    std::error_code error;
    std::vector<fs::path> folders = {cgroups_};
    for (fs::recursive_directory_iterator it(cgroups_, error), end; !error && it != end;
         it.increment(error)) {
      if (it->is_directory()) folders.push_back(it->path());
    }
    for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
      ::rmdir(folder->c_str());
    }
  }

  // Starts a process of the pod that computes for a while and then sleeps, over and over.
  const Process& StartProcess(const std::string& pod_uid) {
    const std::string group = PodGroup(pod_uid);
    for (const std::string& folder : {cgroups_ + "/kubepods", group, group + "/c"}) {
      fs::create_directories(folder);
      if (folder != group + "/c") Enable(folder);
    }
    const std::string script = StrCat(
        "echo $$ > ", group,
        "/c/cgroup.procs; while :; do i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; sleep 0.1; "
        "done");
    auto process = Process::Start({{"sh", "-c", script}, {}, folder_ + "/process.log"});
    EXPECT_TRUE(process.ok()) << process.status();
    return *processes_.emplace_back(*std::move(process));
  }
  std::string PodGroup(const std::string& pod_uid) const {
    return StrCat(cgroups_, "/kubepods/pod", pod_uid);
  }
  // As a helper of the training process does.
  void Report(const std::string& pod_uid) const {
    rpc::IterationReport report;
    report.pod_uid = pod_uid;
    report.means.samples = 2;
    report.means.iteration_seconds = 0.5;
    report.means.compute_seconds = 0.4;
    EXPECT_TRUE(client_->Report(report, kCallMs).ok());
  }
  std::string Annotation(const std::string& pod, const std::string& name) const {
    return Ask({"get", "pod", pod, "-n", namespace_, "-o",
                StrCat(R"(jsonpath={.metadata.annotations.yardmaster\.dev/)", name, "}")});
  }
  static std::int64_t NowMs() { return RealClock().SteadyMs(); }

  bool v2_ = false;
  std::string cgroups_;
  std::vector<std::unique_ptr<Process>> processes_;
};

TEST_F(AgentProcessesTest, AStoppedProcessAndACpuLimitAreReportedWithinAMinute) {
  MakeNode("grey-a");
  const std::string stopped = MakePod("stopped", "grey-a", 3'600'000);
  const std::string limited = MakePod("limited", "grey-a", 3'600'000);
  StartAgent({"--node=grey-a", "--proc-root=/proc"});
  Eventually("the plans", [&] {
    return Plan(stopped + ".json").contains("level") && Plan(limited + ".json").contains("level");
  });
  const Process& process = StartProcess(stopped);
  StartProcess(limited);
  const std::int64_t limited_ms = NowMs();
  ASSERT_TRUE(Limit(PodGroup(limited), "5000"));
  for (int i = 0; i < 6; ++i) {
    Report(stopped);
    Report(limited);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }

  process.Signal(SIGSTOP);
  const std::int64_t stopped_ms = NowMs();
  std::int64_t found_stopped_ms = -1, found_limited_ms = -1;
  while (NowMs() < stopped_ms + kFoundMs && (found_stopped_ms < 0 || found_limited_ms < 0)) {
    Report(limited);
    const auto progress = api::DecodeProgressReport(Annotation("stopped", "progress"));
    if (found_stopped_ms < 0 && progress.ok() && progress->is_stopped()) {
      found_stopped_ms = NowMs() - stopped_ms;
    }
    const auto profile = api::DecodeProfileReport(Annotation("limited", "profile"));
    if (found_limited_ms < 0 && profile.ok() && profile->cpu_throttled.value_or(0) > 0.5) {
      found_limited_ms = NowMs() - limited_ms;
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  EXPECT_GE(found_stopped_ms, 0) << "the stopped process was not reported";
  EXPECT_GE(found_limited_ms, 0) << "the limit was not reported: "
                                 << Annotation("limited", "profile");
  RecordProperty("stopped_found_ms", static_cast<int>(found_stopped_ms));
  RecordProperty("limit_found_ms", static_cast<int>(found_limited_ms));
  EXPECT_EQ(Annotation("limited", "progress"), "") << "it goes on";
  const auto other = api::DecodeProfileReport(Annotation("stopped", "profile"));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_FALSE(other->cpu_throttled) << "it has no limit";
}

}  // namespace
}  // namespace yardmaster::testing
