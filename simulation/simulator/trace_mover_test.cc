#include "simulation/simulator/trace_mover.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "simulation/simulator/trace_run.h"

namespace yardmaster::sim {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int32_t kGpus = 8;

// Three segments of four hosts.
fabric::Network ThreeSegments() {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 3, 4);
  spec.backup.hosts_per_segment = 0;
  return *fabric::Network::Build(spec,
                                 std::make_shared<const fabric::Places>(fabric::PlacesOf(spec)));
}

class TraceMoverTest : public testing::Test {
 protected:
  void Run(const std::vector<TracePlace>& places) {
    std::int32_t gpus = 0;
    for (const TracePlace& place : places) gpus += place.gpus;
    RunningJob job;
    job.index = trace_.size();
    job.places = *pool_.TakeAt(places, 1);
    running_.push_back(job);
    trace_.push_back({StrCat("j", trace_.size()), "GPT-13b", gpus});
    traffic_.emplace_back();
    ran_.push_back(3600);
  }
  std::vector<TraceMove> Moves(const TraceJob* waiting = nullptr) {
    return MovesOf(network_, {&trace_, &running_, &traffic_, ran_, waiting, &pool_}, {}).value();
  }

  const fabric::Network network_ = ThreeSegments();
  GpuPool pool_{network_.places().num_hosts(), kGpus, /*scatter=*/0, /*fragmented=*/0};
  std::vector<TraceJob> trace_;
  std::vector<RunningJob> running_;
  std::vector<crux::ContendingJob> traffic_;
  std::vector<double> ran_;
};

TEST_F(TraceMoverTest, AJobThatIsCutMovesToASegmentThatHoldsIt) {
  Run({{0, 8}, {4, 8}});
  const std::vector<TraceMove> moves = Moves();
  ASSERT_THAT(moves, SizeIs(1));
  ASSERT_THAT(moves[0].to, SizeIs(2));
  EXPECT_EQ(moves[0].to[0].host / 4, moves[0].to[1].host / 4);
  ran_[0] = 60;
  EXPECT_THAT(Moves(), IsEmpty()) << "it has just begun";
}

TEST_F(TraceMoverTest, PartsOfHostsMoveTogetherSoThatAWholeHostComesFree) {
  for (std::int32_t host = 0; host < 10; ++host) Run({{host, 8}});
  Run({{10, 4}});
  Run({{11, 2}});
  const TraceJob waiting{"w", "GPT-13b", 8};
  const std::vector<TraceMove> moves = Moves(&waiting);
  ASSERT_THAT(moves, SizeIs(1));
  EXPECT_EQ(moves[0].to[0].gpus, moves[0].running == 10 ? 4 : 2) << "they need no whole host";
}

TEST_F(TraceMoverTest, AReplayWithMovesDoesAllWorkAndCountsWhatTheyCost) {
  // The last is cut, until the second ends and leaves a segment to it.
  const std::vector<TraceJob> jobs = {{"a", "GPT-13b", 24, 0, 30'000},
                                      {"b", "GPT-13b", 24, 1, 5'000},
                                      {"c", "GPT-13b", 24, 2, 30'000},
                                      {"d", "GPT-13b", 16, 3, 30'000}};
  TraceOptions options;
  options.planner_places = true;
  const auto without = RunTrace(network_, jobs, options);
  options.moves.on = true;
  const auto with = RunTrace(network_, jobs, options);
  const auto again = RunTrace(network_, jobs, options);
  ASSERT_TRUE(without.ok() && with.ok() && again.ok()) << with.status();
  EXPECT_EQ(without->job_moves, 0);
  EXPECT_EQ(with->job_moves, 1);
  EXPECT_EQ(with->moved_gpu_seconds, 16 * (300 + 900));
  EXPECT_EQ(with->utilisation, again->utilisation);
  for (const TraceJobResult& job : with->jobs) EXPECT_GT(job.finish_seconds, job.start_seconds);
}

}  // namespace
}  // namespace yardmaster::sim
