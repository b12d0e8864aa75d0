#include "pkg/shim/plan_cache.h"

#include <atomic>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/shim/testing/child.h"

namespace yardmaster::shim {
namespace {

std::string PlanWith(int peers, int port) {
  std::string text;
  for (int i = 0; i < peers; ++i) {
    text += (i == 0 ? "" : ",") + std::string(R"({"address":"10.0.0.9","sourcePorts":[)") +
            std::to_string(port) + "]}";
  }
  return R"({"version":1,"rails":[{"peers":[)" + text + "]}]}";
}

TEST(PlanCacheTest, AFileThatChangedIsReadAgain) {
  const std::string path = MakeFolder() + "/plan";
  const auto cache = std::make_unique<PlanCache>();
  cache->SetPath(path.c_str());
  {
    const PlanCache::Use use(*cache);
    ASSERT_NE(use.plan(), nullptr);
    EXPECT_EQ(use.plan()->state, PlanFileState::kAbsent);
  }
  WriteFile(path, PlanWith(1, 50001));
  std::uint32_t generation = 0;
  {
    const PlanCache::Use use(*cache);
    EXPECT_EQ(use.plan()->port[0], 50001);
    generation = use.generation();
  }
  EXPECT_EQ(PlanCache::Use(*cache).generation(), generation) << "nothing changed";
  const PlanCache::Use old(*cache);
  WriteFile(path, PlanWith(1, 50002));
  EXPECT_EQ(PlanCache::Use(*cache).plan()->port[0], 50002);
  EXPECT_EQ(old.plan()->port[0], 50001) << "who reads the old plan keeps it";
  WriteFile(path, "{");
  EXPECT_EQ(PlanCache::Use(*cache).plan()->state, PlanFileState::kUnreadable);
}

TEST(PlanCacheTest, WhatIsNoFileIsNoPlan) {
  const std::string folder = MakeFolder();
  const std::string fifo = folder + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {folder, fifo, std::string("/nonexistent/plan"), std::string()}) {
    const auto cache = std::make_unique<PlanCache>();
    cache->SetPath(path.c_str());
    EXPECT_EQ(PlanCache::Use(*cache).plan()->state, PlanFileState::kAbsent) << path;
  }
}

TEST(PlanCacheTest, ReadersSeeOnePlanWholeWhileItChanges) {
  const std::string path = MakeFolder() + "/plan";
  const auto cache = std::make_unique<PlanCache>();
  cache->SetPath(path.c_str());
  WriteFile(path, PlanWith(20, 50000));
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> newest = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 6; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const PlanCache::Use use(*cache);
        const PlanFile* plan = use.plan();
        if (plan == nullptr || plan->state != PlanFileState::kReady || plan->peers != 20) {
          ++wrong;
          continue;
        }
        for (int p = 0; p < 20; ++p) wrong += plan->port[p] == plan->port[0] ? 0 : 1;
        newest = plan->port[0];
      }
    });
  }
  for (int port = 50001; port <= 50100; ++port) WriteFile(path, PlanWith(20, port));
  while (newest != 50100) std::this_thread::yield();
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace yardmaster::shim
