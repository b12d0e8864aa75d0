#include "pkg/workload/data_groups.h"

#include <algorithm>
#include <numeric>

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/workload/job.h"

namespace yardmaster::workload {
namespace {

Parallelism Make(int tensor, int expert, int data, int pipeline) {
  Parallelism p;
  p.tensor = tensor;
  p.expert = expert;
  p.data = data;
  p.pipeline = pipeline;
  return p;
}

TEST(DataGroupsTest, AGroupIsOneIndexOfDataParallelismAcrossItsStages) {
  // Two stages of four workers; worker w of each has data index w.
  EXPECT_EQ(DataGroupOfWorker(Make(8, 1, 4, 2), 8, 8), (std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(DataGroupsTest, ATensorGroupOverTwoWorkersIsOneGroup) {
  EXPECT_EQ(DataGroupOfWorker(Make(16, 1, 2, 1), 4, 8), (std::vector<int>{0, 0, 1, 1}));
}

TEST(DataGroupsTest, IndicesThatShareAWorkerAreOneGroup) {
  EXPECT_EQ(DataGroupOfWorker(Make(4, 1, 4, 1), 2, 8), (std::vector<int>{0, 1}));
  EXPECT_EQ(DataGroupOfWorker(Make(4, 1, 2, 2), 2, 8), std::vector<int>{}) << "through the stages";
}

TEST(DataGroupsTest, IndicesThatShareExpertsAreOneGroup) {
  EXPECT_EQ(DataGroupOfWorker(Make(8, 2, 4, 1), 4, 8), (std::vector<int>{0, 0, 1, 1}));
}

TEST(DataGroupsTest, OneGroupIsNone) {
  EXPECT_EQ(DataGroupOfWorker(Make(8, 1, 1, 4), 4, 8), std::vector<int>{});
  EXPECT_EQ(DataGroupOfWorker(Make(8, 4, 4, 1), 4, 8), std::vector<int>{});
}

// The groups of tensor, context, expert and pipeline families lie inside a data group, and no set
// of data groups could be split further.
TEST(DataGroupsTest, NoGroupButTheExchangeOfGradientsLeavesADataGroup) {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const auto draw = [&](int most) { return 1 + static_cast<int>(random.Below(most)); };
    const int expert = draw(2);
    Parallelism p = Make(draw(4), expert, expert * draw(4), draw(3));
    p.context = draw(2);
    random.Shuffle(p.order);
    const int world = static_cast<int>(p.world());
    int gpus = draw(8);
    while (world % gpus != 0) --gpus;
    const int workers = world / gpus;
    const std::vector<int> found = DataGroupOfWorker(p, workers, gpus);

    // Brute force: worker sets merged until nothing changes.
    const RankLayout layout(p);
    std::vector<int> label(static_cast<std::size_t>(workers));
    std::iota(label.begin(), label.end(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (int a = 0; a < world; ++a) {
        for (int b = 0; b < a; ++b) {
          if (layout.At(a).data / p.expert != layout.At(b).data / p.expert) continue;
          int& one = label[static_cast<std::size_t>(a / gpus)];
          int& other = label[static_cast<std::size_t>(b / gpus)];
          if (one == other) continue;
          one = other = std::min(one, other);
          changed = true;
        }
      }
    }
    const bool single = std::all_of(label.begin(), label.end(), [](int l) { return l == 0; });
    ASSERT_EQ(found.empty(), single);
    for (int a = 0; a < static_cast<int>(found.size()); ++a) {
      for (int b = 0; b < a; ++b) {
        const auto x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
        ASSERT_EQ(found[x] == found[y], label[x] == label[y]) << a << " " << b;
      }
    }
  }
}

TEST(DataGroupsTest, RanksTakeTheirGroupsWithThemAndRolesStayAsTheyAre) {
  const std::vector<int> groups = {0, 1, 2, 0, 1, 2};
  EXPECT_EQ(WithDataGroups({4}, groups), (std::vector<int>{1, 4}));
  EXPECT_EQ(WithDataGroups({0, 4, 6}, groups), (std::vector<int>{0, 1, 3, 4, 6}));
  EXPECT_EQ(WithDataGroups({1, 3}, {}), (std::vector<int>{1, 3}));
}

}  // namespace
}  // namespace yardmaster::workload
