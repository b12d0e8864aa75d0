#include "pkg/agent/profiles/progress_observer.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

using api::ProcessActivity;
using api::ProgressState;

constexpr char kUid[] = "0a1b2c3d-1111-2222-3333-444455556666";

// A real process that looks like one of the pod's.
class ProgressObserverTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = StrCat(testing::TempDir(), getpid(), "-progress");
    std::filesystem::remove_all(root_);
    pid_ = fork();
    if (pid_ == 0) {
      while (true) pause();
    }
    ASSERT_GT(pid_, 0);
    const std::string folder = StrCat(root_, "/", pid_);
    std::filesystem::create_directories(folder);
    std::filesystem::create_symlink(StrCat("/proc/", pid_, "/stat"), folder + "/stat");
    std::ofstream(folder + "/cgroup") << "0::/kubepods/pod" << kUid << "/c\n";
  }
  void TearDown() override {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(root_);
  }

  void Signal(int signal, char state) {
    kill(pid_, signal);
    for (int i = 0; i < 1'000; ++i) {
      std::ifstream in(StrCat("/proc/", pid_, "/stat"));
      const std::string text((std::istreambuf_iterator<char>(in)), {});
      const auto stat = ParseProcessStat(text, 100);
      if (stat && stat->state == state) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "the process is not in state " << state;
  }
  void Pass(std::int64_t ms) {
    for (std::int64_t end = clock_.SteadyMs() + ms; clock_.SteadyMs() < end;) {
      clock_.Advance(1'000);
      // A day after the boot by the test's clock: the process is older than the pause.
      std::ofstream(root_ + "/uptime")
          << std::fixed << 10'000'000 + clock_.SteadyMs() / 1'000 << ".00 0.00\n";
      observer_.Step(clock_.SteadyMs(), {kUid});
    }
  }
  void Train(int reports) {
    for (int i = 0; i < reports; ++i) {
      observer_.Report(kUid);
      Pass(2'000);
    }
  }

  std::string root_;
  pid_t pid_ = 0;
  FakeClock clock_;
  std::optional<bool> gpus_;
  std::unique_ptr<PodProcesses> processes_;
  ProgressObserver observer_{clock_,
                             {[this](std::int64_t steady_ms, const std::string& uid) {
                                if (!processes_) processes_ = std::make_unique<PodProcesses>(root_);
                                return processes_->Sample(steady_ms, uid);
                              },
                              [this](const std::string&) { return gpus_; }}};
};

TEST_F(ProgressObserverTest, AStoppedProcessIsFoundAndContinuedOneToo) {
  Train(20);
  const std::int64_t stopped_ms = clock_.WallMs();
  Signal(SIGSTOP, 'T');
  Pass(17'000);
  EXPECT_TRUE(observer_.reports().empty());
  Pass(5'000);
  const auto reports = observer_.reports();
  ASSERT_EQ(reports.count(kUid), 1u);
  EXPECT_EQ(reports.at(kUid).state, ProgressState::kWaiting);
  EXPECT_EQ(reports.at(kUid).processes, ProcessActivity::kStopped);
  EXPECT_NEAR(static_cast<double>(reports.at(kUid).last_progress_ms),
              static_cast<double>(stopped_ms), 4'000);
  Pass(20'000);
  auto later = observer_.reports();
  EXPECT_EQ(later.at(kUid).time_ms, clock_.WallMs() / 1000 * 1000) << "renewed";
  later.at(kUid).time_ms = reports.at(kUid).time_ms;
  EXPECT_EQ(later, reports) << "nothing else is known of it";
  Signal(SIGCONT, 'S');
  Train(1);
  EXPECT_EQ(observer_.reports().at(kUid).state, ProgressState::kProgressing);
}

TEST_F(ProgressObserverTest, AnIdleProcessWaitsOnlyAfterALongPause) {
  Train(20);
  gpus_ = true;
  Pass(55'000);
  EXPECT_TRUE(observer_.reports().empty());
  Pass(10'000);
  ASSERT_EQ(observer_.reports().count(kUid), 1u);
  EXPECT_EQ(observer_.reports().at(kUid).processes, ProcessActivity::kIdle);
  EXPECT_EQ(observer_.reports().at(kUid).gpus_compute, true);
  const std::int64_t since_ms = observer_.reports().at(kUid).last_progress_ms;
  gpus_ = false;
  Pass(10'000);
  EXPECT_EQ(observer_.reports().at(kUid).gpus_compute, false);
  EXPECT_EQ(observer_.reports().at(kUid).last_progress_ms, since_ms);
}

TEST_F(ProgressObserverTest, AProcessThatHasStartedSinceIsProgress) {
  Train(20);
  Pass(70'000);
  ASSERT_EQ(observer_.reports().at(kUid).state, ProgressState::kWaiting);
  std::filesystem::remove(StrCat(root_, "/", pid_, "/stat"));
  std::ofstream(StrCat(root_, "/", pid_, "/stat"))
      << pid_ << " (x) R 1 1 1 0 -1 1 1 0 0 0 2500 50 0 0 20 0 1 0 "
      << (10'000'000 + clock_.SteadyMs() / 1'000) * sysconf(_SC_CLK_TCK) << " 1 1\n";
  Pass(10'000);
  EXPECT_EQ(observer_.reports().at(kUid).state, ProgressState::kProgressing);
  Pass(200'000);
  EXPECT_EQ(observer_.reports().at(kUid).state, ProgressState::kProgressing)
      << "it starts, and its iterations are not known";
}

class ProgressOfTrafficTest : public ProgressObserverTest {
 protected:
  void Send(std::int64_t for_ms, double bytes) {
    for (std::int64_t end = clock_.SteadyMs() + for_ms; clock_.SteadyMs() < end;) {
      observer_.AddTraffic(clock_.SteadyMs(), kUid, sent_ += bytes);
      Pass(1'000);
    }
  }
  void TrainByTraffic() {
    Send(60'000, 1e9);
    observer_.AddPeriod(clock_.SteadyMs(), kUid, 2);
    Send(10'000, 1e9);
  }

  double sent_ = 0;
};

TEST_F(ProgressOfTrafficTest, AWorkerWhoseCountersAreNotReadAnyMoreIsNotSaidToWait) {
  TrainByTraffic();
  Send(70'000, 0);
  ASSERT_EQ(observer_.reports().at(kUid).state, ProgressState::kWaiting);
  Pass(10'000);
  EXPECT_TRUE(observer_.reports().empty());
  Send(10'000, 1e9);
  EXPECT_TRUE(observer_.reports().empty()) << "what is not said to wait needs no word";
}

TEST_F(ProgressOfTrafficTest, AHangIsReportedAgainAfterAGap) {
  TrainByTraffic();
  Send(700'000, 0);
  const std::int64_t since_ms = observer_.reports().at(kUid).last_progress_ms;
  Pass(10'000);
  ASSERT_TRUE(observer_.reports().empty());
  Send(2'000, 0);
  ASSERT_EQ(observer_.reports().count(kUid), 1u);
  EXPECT_EQ(observer_.reports().at(kUid).state, ProgressState::kWaiting);
  EXPECT_NEAR(static_cast<double>(observer_.reports().at(kUid).last_progress_ms),
              static_cast<double>(since_ms), 1'000);
}

// A stall of the thread: nothing was read and nothing was looked at.
TEST_F(ProgressOfTrafficTest, CountersThatBeganAnewUnseenAreNeitherProgressNorAHang) {
  TrainByTraffic();
  Send(700'000, 0);
  ASSERT_EQ(observer_.reports().at(kUid).state, ProgressState::kWaiting);
  clock_.Advance(6'000);
  sent_ = 0;
  Send(50'000, 0);
  EXPECT_TRUE(observer_.reports().empty());
  Send(20'000, 0);
  ASSERT_EQ(observer_.reports().count(kUid), 1u) << "it waits for a minute since";
  EXPECT_EQ(observer_.reports().at(kUid).state, ProgressState::kWaiting);
}

// Of processes that are given.
class ProgressOfProcessesTest : public testing::Test {
 protected:
  void Pass(std::int64_t ms) {
    for (std::int64_t end = clock_.SteadyMs() + ms; clock_.SteadyMs() < end;) {
      clock_.Advance(1'000);
      observer_.Step(clock_.SteadyMs(), {kUid});
    }
  }
  void Train() {
    for (int i = 0; i < 20; ++i) {
      observer_.Report(kUid);
      Pass(2'000);
    }
  }

  FakeClock clock_;
  std::vector<ProcessStat> processes_ = {{'S', 9'000'000, 5'000}, {'S', 3'000, 1'000}};
  ProgressObserver observer_{clock_,
                             {[this](std::int64_t steady_ms, const std::string&) {
                                return ProcessSample{10'000'000 + steady_ms, processes_};
                              },
                              [](const std::string&) { return std::optional<bool>(); }}};
};

TEST_F(ProgressOfProcessesTest, OneWhoseProcessesHaveEndedHasLeftItsLoop) {
  Train();
  processes_.erase(processes_.begin());
  Pass(3'600'000);
  EXPECT_TRUE(observer_.reports().empty()) << "its launcher is left";
  processes_.push_back({'S', 9'000'000, 10'000'000 + clock_.SteadyMs()});
  Train();
  Pass(70'000);
  EXPECT_EQ(observer_.reports().at(kUid).state, ProgressState::kWaiting) << "another loop";
  processes_.pop_back();
  Pass(5'000);
  EXPECT_TRUE(observer_.reports().empty()) << "it may have been killed for it";
}

TEST_F(ProgressOfProcessesTest, OneThatHasLostSomeOfItsProcessesWaits) {
  processes_.push_back({'S', 20'000'000, 5'000});
  Train();
  processes_.pop_back();
  Pass(70'000);
  EXPECT_EQ(observer_.reports().at(kUid).state, ProgressState::kWaiting);
}

TEST_F(ProgressOfProcessesTest, AWriteInTheKernelIsAPauseOfItsOwn) {
  Train();
  processes_[0].state = 'D';
  Pass(55'000);
  EXPECT_TRUE(observer_.reports().empty());
  Pass(65'000);
  EXPECT_EQ(observer_.reports().at(kUid).processes, ProcessActivity::kUninterruptible);
  processes_[0].state = 'S';
  Train();
  EXPECT_EQ(observer_.reports().at(kUid).state, ProgressState::kProgressing);
  processes_[0].state = 'D';
  Pass(150'000);
  EXPECT_EQ(observer_.reports().at(kUid).state, ProgressState::kProgressing)
      << "no longer than the one before";
  Pass(40'000);
  EXPECT_EQ(observer_.reports().at(kUid).state, ProgressState::kWaiting);
}

TEST_F(ProgressObserverTest, APodThatIsGoneIsForgotten) {
  Train(20);
  Pass(70'000);
  ASSERT_EQ(observer_.reports().size(), 1u);
  clock_.Advance(1'000);
  observer_.Step(clock_.SteadyMs(), {});
  EXPECT_TRUE(observer_.reports().empty());
}

}  // namespace
}  // namespace yardmaster::agent
