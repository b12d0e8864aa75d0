#include "pkg/operator/jobs/refusal_pacer.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::op {
namespace {

using Keys = std::vector<std::string>;

class RefusalPacerTest : public ::testing::Test {
 protected:
  static JobInLine Job(const std::string& key, std::int64_t created_ms = 0, int priority = 0) {
    return {key, 1, priority, created_ms};
  }
  std::int64_t Refused(const std::string& key) { return pacer_.Refused(Job(key)); }
  // Of a turn in which it would make pods.
  std::int64_t WaitMs(const JobInLine& job) { return pacer_.WaitMs(job, true); }

  FakeClock clock_;
  Keys TakeNext(const std::string& freed_by = "") { return pacer_.TakeNext("team", freed_by).keys; }

  RefusalPacer pacer_{clock_};
};

TEST_F(RefusalPacerTest, AJobWaitsTwiceAsLongAfterEachRefusalUpToAMinute) {
  for (const std::int64_t wait_ms : {1'000, 2'000, 4'000, 8'000, 16'000, 32'000, 60'000, 60'000}) {
    EXPECT_EQ(Refused("team/a"), wait_ms);
    EXPECT_EQ(WaitMs(Job("team/a")), wait_ms);
    clock_.Advance(wait_ms);
    EXPECT_EQ(WaitMs(Job("team/a")), 0);
  }
  EXPECT_TRUE(pacer_.Forget("team/a"));
  EXPECT_FALSE(pacer_.Forget("team/a"));
  EXPECT_EQ(Refused("team/a"), 1'000) << "its pods were made meanwhile";
}

TEST_F(RefusalPacerTest, AnEditedJobIsTriedAtOnce) {
  for (int i = 0; i < 5; ++i) Refused("team/a");
  JobInLine edited = Job("team/a");
  edited.generation = 2;
  EXPECT_EQ(WaitMs(edited), 0);
  EXPECT_LE(pacer_.Refused(edited), 3'000) << "and waits from the beginning";
}

TEST_F(RefusalPacerTest, AllJobsOfANamespaceAreTriedTwiceASecond) {
  std::int64_t last_ms = 0;
  for (int i = 0; i < 2'000; ++i) last_ms = Refused(StrCat("flood/j", i));
  EXPECT_EQ(last_ms, 1'000'000);
  EXPECT_EQ(Refused("team/a"), 1'000) << "another namespace";
  EXPECT_EQ(WaitMs(Job("other/b")), 0);
  EXPECT_EQ(Refused("flood/j0"), 2'000) << "the first in order is not one of many";
}

TEST_F(RefusalPacerTest, TwoJobsThatAreTriedAgainAndAgainWaitAMinuteAtMost) {
  for (int i = 0; i < 1'000; ++i) {
    Refused("team/a");
    ASSERT_LE(Refused("team/b"), 60'000) << i;
    clock_.Advance(100);
    pacer_.TakeNext("team", "");
  }
  EXPECT_LE(WaitMs(Job("team/b")), 60'000);
}

TEST_F(RefusalPacerTest, AJobThatRunsWaitsForItsOwnDelayAndForNoFlood) {
  for (int i = 0; i < 2'000; ++i) Refused(StrCat("team/flood-", i));
  JobInLine running = Job("team/running", 1);
  running.runs = true;
  EXPECT_EQ(pacer_.Refused(running), 1'000);
  EXPECT_EQ(pacer_.Refused(running), 2'000);
}

TEST_F(RefusalPacerTest, RoomThatComesIsTriedByTheFirstInOrderAndByWhatWasRefusedLongestAgo) {
  EXPECT_TRUE(TakeNext().empty());
  for (const char* key : {"team/z", "team/y", "team/x", "team/w"}) {
    Refused(key);
    clock_.Advance(RefusalPacer::kPodMs);
  }
  EXPECT_EQ(TakeNext(), (Keys{"team/w", "team/z"}));
  EXPECT_EQ(WaitMs(Job("team/w")), 0);
  EXPECT_GT(WaitMs(Job("team/x")), 0);
  clock_.Advance(100);
  EXPECT_EQ(TakeNext(), (Keys{"team/x", "team/y"}));
}

TEST_F(RefusalPacerTest, RoomThatComesSoonAfterOtherRoomIsUsedWhenItIsTheTurnOfTheNext) {
  for (const char* key : {"team/a", "team/b", "team/c", "team/d", "team/e", "team/f"}) Refused(key);
  EXPECT_EQ(TakeNext(), (Keys{"team/a", "team/b"}));
  clock_.Advance(30);
  const JobsToTry next = pacer_.TakeNext("team", "");
  EXPECT_EQ(next.keys, (Keys{"team/c", "team/d"}));
  EXPECT_EQ(next.in_ms, 70);
  EXPECT_EQ(WaitMs(Job("team/c")), 70);
  EXPECT_TRUE(TakeNext().empty()) << "those find this room, too";
  clock_.Advance(70);
  EXPECT_EQ(pacer_.TakeNext("team", "").in_ms, 100);
}

TEST_F(RefusalPacerTest, RoomThatComesEndsALongWaitAndTheNextOneIsShort) {
  for (int i = 0; i < 8; ++i) {
    clock_.Advance(Refused("team/a"));
  }
  Refused("team/a");
  clock_.Advance(1'000);
  EXPECT_EQ(TakeNext(), (Keys{"team/a"}));
  EXPECT_EQ(WaitMs(Job("team/a")), 0);
  EXPECT_EQ(Refused("team/a"), 1'000) << "the quota has not counted yet what ended";
}

TEST_F(RefusalPacerTest, ALargeJobIsTriedLessOftenBecauseATryMayMakeAndTakeBackAllOfIt) {
  JobInLine large = Job("team/a");
  large.pods = 16'000;
  EXPECT_EQ(pacer_.Refused(large), 320'000);
  EXPECT_EQ(TakeNext(), (Keys{"team/a"}));
  EXPECT_EQ(WaitMs(large), 320'000) << "when other pods end, too";
}

TEST_F(RefusalPacerTest, LargeJobsOfANamespaceTogetherAreTriedLessOften) {
  JobInLine large = Job("team/a");
  large.pods = 1'000;
  std::int64_t last_ms = 0;
  for (int i = 0; i < 10; ++i) {
    large.key = StrCat("team/j", i);
    last_ms = pacer_.Refused(large);
  }
  EXPECT_EQ(last_ms, 200'000) << "10 tries of 20 s";
  EXPECT_EQ(Refused("other/b"), 1'000);
  // Tries that go on do not add up.
  for (int i = 0; i < 50; ++i) last_ms = pacer_.Refused(large);
  EXPECT_EQ(last_ms, 200'000);
}

TEST_F(RefusalPacerTest, NoRefusedJobTriesBeforeAQuotaHasCountedWhatWasTakenBack) {
  const JobInLine never_fits = Job("team/a", 1), fits = Job("team/b", 2);
  pacer_.Refused(never_fits);
  pacer_.Refused(fits);
  clock_.Advance(1'500);
  EXPECT_EQ(WaitMs(never_fits), 0);
  pacer_.Refused(never_fits);
  pacer_.TookBack(never_fits.key);
  EXPECT_EQ(WaitMs(fits), 1'000);
  EXPECT_EQ(WaitMs(Job("team/new", 3)), 0) << "one that was never refused";
  pacer_.Forget("team/new");
  clock_.Advance(900);
  TakeNext();
  clock_.Advance(100);
  EXPECT_GT(WaitMs(never_fits), 0) << "it lets others try, and when pods end, too";
  EXPECT_EQ(WaitMs(fits), 0);
  pacer_.TookBack("team/unknown");
  EXPECT_EQ(WaitMs(fits), 0) << "it tries already";
}

TEST_F(RefusalPacerTest, PodsThatARefusedJobTakesBackAreNoRoom) {
  Refused("team/a");
  Refused("team/b");
  EXPECT_TRUE(TakeNext("team/a").empty());
  EXPECT_EQ(TakeNext("team/c"), (Keys{"team/a", "team/b"}));
}

TEST_F(RefusalPacerTest, OneJobTriesAtATimeAndAmongThoseThatAreDueTheFirstInOrder) {
  const JobInLine older = Job("team/b", 1), newer = Job("team/a", 2);
  const JobInLine urgent = Job("team/c", 3, 10);
  pacer_.Refused(newer);
  pacer_.Refused(older);
  pacer_.Refused(urgent);
  clock_.Advance(1'500);
  EXPECT_GT(WaitMs(newer), 0);
  EXPECT_GT(WaitMs(older), 0);
  EXPECT_EQ(WaitMs(urgent), 0);
  EXPECT_GT(WaitMs(older), 0) << "the other one tries";
  EXPECT_EQ(WaitMs(urgent), 0) << "in its second turn";
  pacer_.Refused(urgent);
  EXPECT_GT(WaitMs(newer), 0);
  EXPECT_EQ(WaitMs(older), 0);
  pacer_.Forget(older.key);
  EXPECT_EQ(WaitMs(newer), 0);
}

TEST_F(RefusalPacerTest, AJobThatWasNeverRefusedWaitsForTheOneThatTriesAndForThoseBeforeIt) {
  const JobInLine fresh = Job("team/fresh", 5);
  EXPECT_EQ(WaitMs(fresh), 0);
  pacer_.Refused(Job("team/a", 1));
  EXPECT_EQ(WaitMs(fresh), 0) << "the refused one is not due yet";
  pacer_.Forget(fresh.key);
  clock_.Advance(1'000);
  EXPECT_GT(WaitMs(fresh), 0);
  EXPECT_EQ(WaitMs(Job("team/urgent", 9, 1)), 0);
  EXPECT_GT(WaitMs(Job("team/a", 1)), 0);
  EXPECT_EQ(pacer_.WaitMs(Job("team/running", 0), /*begins=*/false), 0) << "it makes none";
}

TEST_F(RefusalPacerTest, OneThatIsDueAndDoesNotComeKeepsOthersWaitingForTwoSecondsAtMost) {
  pacer_.Refused(Job("team/gone", 1));
  pacer_.Refused(Job("team/a", 2));
  clock_.Advance(1'000);
  EXPECT_GT(WaitMs(Job("team/a", 2)), 0);
  clock_.Advance(2'000);
  EXPECT_EQ(WaitMs(Job("team/a", 2)), 0);
  EXPECT_GT(WaitMs(Job("team/gone", 1)), 0) << "now the other one tries";
  clock_.Advance(RefusalPacer::kTryMs);
  EXPECT_EQ(WaitMs(Job("team/gone", 1)), 0) << "which ended without a word";
}

TEST_F(RefusalPacerTest, AJobThatWaitsForHostsLetsOthersTry) {
  Refused("team/a");
  Refused("team/b");
  clock_.Advance(60'000);
  ASSERT_EQ(WaitMs(Job("team/a")), 0);
  EXPECT_GT(WaitMs(Job("team/b")), 0);
  pacer_.Pause("team/a");
  EXPECT_EQ(WaitMs(Job("team/b")), 0);
  EXPECT_TRUE(pacer_.Forget("team/a")) << "it waits longer if it is refused again";
}

}  // namespace
}  // namespace yardmaster::op
