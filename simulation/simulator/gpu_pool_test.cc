#include "simulation/simulator/gpu_pool.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <utility>

namespace yardmaster::sim {
namespace {

constexpr std::int32_t kGpus = 8;

std::int32_t GpusOf(const std::vector<HostGpus>& places) {
  std::size_t gpus = 0;
  for (const HostGpus& place : places) gpus += place.gpus.size();
  return static_cast<std::int32_t>(gpus);
}

TEST(GpuPool, NobodyGetsAGpuThatIsTakenAndEverythingComesBack) {
  for (const double fragmented : {0.0, 0.5, 1.0}) {
    GpuPool pool(12, kGpus, 0.3, fragmented);
    Random random(7);
    std::set<std::pair<std::int32_t, std::int32_t>> taken;
    std::vector<std::vector<HostGpus>> jobs;
    for (std::uint64_t step = 0; step < 2000; ++step) {
      if (!jobs.empty() && random.Unit() < 0.5) {
        const std::size_t j = random.Below(jobs.size());
        for (const HostGpus& place : jobs[j]) {
          for (const std::int32_t gpu : place.gpus) {
            ASSERT_EQ(taken.erase({place.host, gpu}), 1u);
          }
        }
        pool.Give(jobs[j]);
        jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(j));
        continue;
      }
      const auto want = static_cast<std::int32_t>(1 + random.Below(40));
      const auto got = pool.Take(want, step);
      if (!got) continue;
      EXPECT_EQ(GpusOf(*got), want);
      std::set<std::int32_t> hosts;
      for (const HostGpus& place : *got) {
        EXPECT_TRUE(hosts.insert(place.host).second) << "a host twice";
        for (const std::int32_t gpu : place.gpus) {
          ASSERT_TRUE(taken.insert({place.host, gpu}).second) << place.host << " " << gpu;
        }
      }
      jobs.push_back(*got);
    }
    for (const auto& job : jobs) pool.Give(job);
    EXPECT_TRUE(pool.Take(12 * kGpus, 1).has_value());
  }
}

TEST(GpuPool, ASmallJobFillsTheFullestHostThatHasRoom) {
  GpuPool pool(4, kGpus, 0, 0);
  ASSERT_TRUE(pool.TakeAt({{2, 4}, {3, 7}}, 1));
  EXPECT_EQ(pool.Take(2, 2)->front().host, 2);
  EXPECT_EQ(pool.Take(1, 3)->front().host, 3);
  EXPECT_EQ(pool.Take(4, 4)->front().host, 0);
  EXPECT_FALSE(pool.Take(3 * kGpus, 5)) << "two hosts are whole";
}

TEST(GpuPool, AFragmentedJobTakesHalvesThatOthersLeft) {
  GpuPool pool(6, kGpus, 0, 1);
  ASSERT_TRUE(pool.TakeAt({{1, 4}, {4, 4}}, 1));
  const auto job = pool.Take(16, 2);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->size(), 4u);
  const auto on = [&](std::int32_t host) {
    return std::any_of(job->begin(), job->end(),
                       [host](const HostGpus& place) { return place.host == host; });
  };
  EXPECT_TRUE(on(1) && on(4));
}

TEST(GpuPool, WhatAJobGetsDoesNotHangOnWhatWasDrawnBefore) {
  GpuPool one(30, kGpus, 0.5, 0.2);
  GpuPool two(30, kGpus, 0.5, 0.2);
  const auto gone = two.Take(24, 5);
  two.Give(*gone);
  const auto a = one.Take(64, 9);
  const auto b = two.Take(64, 9);
  ASSERT_EQ(a->size(), b->size());
  for (std::size_t i = 0; i < a->size(); ++i) EXPECT_EQ((*a)[i].host, (*b)[i].host);
}

}  // namespace
}  // namespace yardmaster::sim
