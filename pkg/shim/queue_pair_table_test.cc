#include "pkg/shim/queue_pair_table.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace yardmaster::shim {
namespace {

const void* Pair(std::uintptr_t i) { return reinterpret_cast<const void*>((i + 1) * 64); }

Endpoint To(int peer) {
  Endpoint endpoint;
  endpoint.remote.bytes[14] = static_cast<std::uint8_t>(peer >> 8);
  endpoint.remote.bytes[15] = static_cast<std::uint8_t>(peer);
  return endpoint;
}

TEST(ConnectionTableTest, ANumberIsTakenByTheLeastUsedRuleAndKept) {
  const auto table = std::make_unique<QueuePairTable>();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(table->Add(Pair(i), 1, To(1), TransferRole::kSends, 4)->ordinal, i % 4);
  }
  EXPECT_EQ(table->Find(Pair(2), 1)->ordinal, 2);
  table->Remove(Pair(2));
  EXPECT_EQ(table->Find(Pair(2), 1), nullptr);
  EXPECT_EQ(table->Add(Pair(9), 1, To(1), TransferRole::kSends, 4)->ordinal, 2)
      << "it is free again";
  EXPECT_EQ(table->Add(Pair(10), 1, To(1), TransferRole::kReceives, 4)->ordinal, 0)
      << "another role";
  EXPECT_EQ(table->Add(Pair(11), 1, To(2), TransferRole::kSends, 4)->ordinal, 0) << "another peer";
}

TEST(ConnectionTableTest, AQueuePairAtADestroyedOnesPlaceIsAnother) {
  const auto table = std::make_unique<QueuePairTable>();
  table->Add(Pair(1), 7, To(1), TransferRole::kSends, 2);
  EXPECT_EQ(table->Find(Pair(1), 8), nullptr);
  EXPECT_EQ(table->Add(Pair(1), 8, To(1), TransferRole::kSends, 2)->ordinal, 0)
      << "the old one let go";
}

TEST(ConnectionTableTest, AFullTableSaysSo) {
  const auto table = std::make_unique<QueuePairTable>();
  int added = 0;
  for (int i = 0; i < QueuePairTable::kConnections + 10; ++i) {
    added += table->Add(Pair(i), 1, To(1), TransferRole::kSends, 64) != nullptr ? 1 : 0;
  }
  EXPECT_LE(added, QueuePairTable::kConnections);
  EXPECT_GT(added, QueuePairTable::kConnections / 2);
  int peers = 0;
  const auto other = std::make_unique<QueuePairTable>();
  for (int i = 0; i < 3 * QueuePairTable::kTablePeers; ++i) {
    peers += other->Add(Pair(i), 1, To(i), TransferRole::kSends, 64) != nullptr ? 1 : 0;
  }
  EXPECT_LE(peers, QueuePairTable::kTablePeers);
}

// Many random sequences against a plain model.
TEST(ConnectionTableTest, FollowsTheRuleThroughRandomSequences) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto table = std::make_unique<QueuePairTable>();
    const int ports = 1 + static_cast<int>(random() % 9);
    std::map<int, int> ordinal_of;            // by queue pair
    std::map<std::pair<int, int>, int> live;  // by peer and ordinal
    std::map<int, int> peer_of;
    for (int step = 0; step < 400; ++step) {
      const int pair = static_cast<int>(random() % 60);
      if (ordinal_of.count(pair) > 0) {
        ASSERT_EQ(table->Find(Pair(pair), 5)->ordinal, ordinal_of[pair]);
        if (random() % 2 == 0) continue;
        table->Remove(Pair(pair));
        --live[{peer_of[pair], ordinal_of[pair]}];
        ordinal_of.erase(pair);
        continue;
      }
      const int peer = static_cast<int>(random() % 3);
      int expected = 0;
      for (int i = 1; i < ports; ++i) {
        if (live[{peer, i}] < live[{peer, expected}]) expected = i;
      }
      ASSERT_EQ(table->Add(Pair(pair), 5, To(peer), TransferRole::kSends, ports)->ordinal,
                expected);
      ++live[{peer, expected}];
      ordinal_of[pair] = expected;
      peer_of[pair] = peer;
    }
  }
}

TEST(ConnectionTableTest, ThreadsShareThePortsEvenly) {
  const auto table = std::make_unique<QueuePairTable>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 16; ++i) {
          table->Add(Pair(t * 16 + i), 1, To(i % 4), TransferRole::kSends, 8);
        }
        if (round == 49) break;
        for (int i = 0; i < 16; ++i) table->Remove(Pair(t * 16 + i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::pair<int, int>, int> live;
  for (int i = 0; i < 128; ++i) ++live[{i % 4, table->Find(Pair(i), 1)->ordinal}];
  // 32 connections to each peer over 8 ports. Removals between leave what they leave, so a port may
  // have some more, and all are there.
  for (int peer = 0; peer < 4; ++peer) {
    int sum = 0;
    for (int i = 0; i < 8; ++i) sum += live[{peer, i}];
    EXPECT_EQ(sum, 32);
  }
}

}  // namespace
}  // namespace yardmaster::shim
