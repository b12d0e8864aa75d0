#include "pkg/capacity/chooser.h"

#include <functional>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/random.h"

namespace yardmaster::capacity {
namespace {

using testing::ElementsAre;

constexpr Micros kUnit = kMicrosPerUnit;

Offer Make(Micros units, int hosts, std::int64_t interruptions_nano = 0, int domain = 0) {
  return {.domain = domain,
          .hosts = hosts,
          .price = units * kUnit,
          .interruptions_nano = interruptions_nano};
}

TEST(ChooserTest, TheCheapestHostsAreTaken) {
  const std::vector<Offer> offers = {Make(30, 8), Make(10, 3), Make(12, 4)};
  const ChoiceOutcome outcome = Choose(offers, {.workers_per_group = 5});
  ASSERT_TRUE(outcome.choice);
  EXPECT_THAT(outcome.choice->rented, ElementsAre(Rented{1, 3}, Rented{2, 2}));
  EXPECT_EQ(outcome.choice->price, 54 * kUnit);
  EXPECT_TRUE(outcome.choice->exact);
}

TEST(ChooserTest, CapacityThatIsTakenBackTooOftenIsNotCheap) {
  // Half the price, and taken back so often that more than half of the time is lost.
  const std::vector<Offer> offers = {Make(20, 4), Make(10, 4, 5'000'000'000)};
  const Need need{.workers_per_group = 4,
                  .checkpoint = {.checkpoint_seconds = 60, .restart_seconds = 60}};
  EXPECT_THAT(Choose(offers, need).choice->rented, ElementsAre(Rented{0, 4}));
  const std::vector<Offer> calm = {Make(20, 4), Make(10, 4, 5'000'000)};
  EXPECT_THAT(Choose(calm, need).choice->rented, ElementsAre(Rented{1, 4}));
}

TEST(ChooserTest, ACapMixesCheapHostsWithSafeOnes) {
  // All safe is above the cap; one host of the other offer brings the price under it.
  const std::vector<Offer> offers = {Make(20, 4), Make(15, 4, 1'500'000'000)};
  Need need{.workers_per_group = 4,
            .checkpoint = {.checkpoint_seconds = 300, .restart_seconds = 300}};
  EXPECT_THAT(Choose(offers, need).choice->rented, ElementsAre(Rented{0, 4}));
  need.max_price = 75 * kUnit;
  EXPECT_THAT(Choose(offers, need).choice->rented, ElementsAre(Rented{0, 3}, Rented{1, 1}));
}

TEST(ChooserTest, OffersOfOneBudgetCostNoMoreTogether) {
  std::vector<Offer> offers = {Make(20, 4), Make(15, 4, 1'500'000'000)};
  offers[0].budget = offers[1].budget = 0;
  Need need{.workers_per_group = 4,
            .checkpoint = {.checkpoint_seconds = 300, .restart_seconds = 300},
            .budgets = {80 * kUnit}};
  EXPECT_THAT(Choose(offers, need).choice->rented, ElementsAre(Rented{0, 4}));
  EXPECT_TRUE(Choose(offers, need).choice->exact);
  need.budgets = {75 * kUnit};
  EXPECT_THAT(Choose(offers, need).choice->rented, ElementsAre(Rented{0, 3}, Rented{1, 1}));
  need.budgets = {70 * kUnit};
  EXPECT_THAT(Choose(offers, need).choice->rented, ElementsAre(Rented{0, 2}, Rented{1, 2}));
  EXPECT_FALSE(Choose(offers, need).choice->exact);
  need.budgets = {59 * kUnit};
  EXPECT_FALSE(Choose(offers, need).choice) << "the cheapest four cost 60";
  offers.push_back(Make(40, 1));
  EXPECT_EQ(Choose(offers, need).choice->rented.back(), (Rented{2, 1})) << "it has no budget";
}

TEST(ChooserTest, RandomChoicesStayWithinTheirBudgets) {
  Random random(7);
  int chosen = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<Offer> offers;
    Need need{.workers_per_group = static_cast<int>(random.Below(6)) + 1};
    need.checkpoint = {.checkpoint_seconds = 60, .restart_seconds = 60};
    for (int b = 0; b < 2; ++b)
      need.budgets.push_back(static_cast<Micros>(random.Below(120)) * kUnit);
    for (int i = 0; i < 5; ++i) {
      offers.push_back(Make(static_cast<Micros>(random.Below(30)),
                            static_cast<int>(random.Below(6)),
                            static_cast<std::int64_t>(random.Below(1'000'000'000))));
      offers.back().budget = static_cast<int>(random.Below(3)) - 1;
    }
    const ChoiceOutcome outcome = Choose(offers, need);
    if (!outcome.choice) continue;
    ++chosen;
    std::vector<Micros> costs(need.budgets.size(), 0);
    int hosts = 0;
    for (const Rented& rented : outcome.choice->rented) {
      const Offer& offer = offers[static_cast<std::size_t>(rented.offer)];
      hosts += rented.hosts;
      EXPECT_LE(rented.hosts, offer.hosts);
      if (offer.budget >= 0)
        costs[static_cast<std::size_t>(offer.budget)] += offer.price * rented.hosts;
    }
    EXPECT_EQ(hosts, need.workers_per_group);
    for (std::size_t b = 0; b < costs.size(); ++b) EXPECT_LE(costs[b], need.budgets[b]) << round;
  }
  EXPECT_GT(chosen, 100);
}

TEST(ChooserTest, AGroupStaysInOneDomain) {
  const std::vector<Offer> offers = {Make(10, 3, 0, 0), Make(10, 3, 0, 1), Make(11, 4, 0, 2)};
  EXPECT_THAT(Choose(offers, {.workers_per_group = 4}).choice->rented, ElementsAre(Rented{2, 4}));
  EXPECT_THAT(Choose(offers, {.groups = 2, .workers_per_group = 3}).choice->rented,
              ElementsAre(Rented{0, 3}, Rented{1, 3}));
}

TEST(ChooserTest, HostsOfSeveralWorkersCarryAGroupThatDoesNotFillThem) {
  Offer offer = Make(10, 9);
  offer.workers_per_host = 8;
  const ChoiceOutcome outcome = Choose({offer}, {.groups = 2, .workers_per_group = 12});
  ASSERT_TRUE(outcome.choice);
  EXPECT_THAT(outcome.choice->rented, ElementsAre(Rented{0, 3}));
}

TEST(ChooserTest, WhatIsMissingIsSaid) {
  const std::vector<Offer> offers = {Make(10, 4, 0, 0), Make(20, 4, 0, 1)};
  const ChoiceOutcome dear =
      Choose(offers, {.groups = 2, .workers_per_group = 4, .max_price = 100 * kUnit});
  EXPECT_FALSE(dear.choice);
  EXPECT_EQ(dear.lowest_price, 120 * kUnit);
  const ChoiceOutcome full = Choose(offers, {.groups = 3, .workers_per_group = 4});
  EXPECT_FALSE(full.choice || full.lowest_price);
  EXPECT_EQ(full.groups_with_room, 2);
  EXPECT_FALSE(Choose({}, {}).choice);
}

TEST(ChooserTest, AlikeHostsAreAskedForUnlessTheyMayDiffer) {
  std::vector<Offer> offers = {Make(10, 2), Make(30, 2), Make(25, 4)};
  offers[2].instance_type = 1;
  Need need{.workers_per_group = 4};
  EXPECT_THAT(Choose(offers, need).choice->rented, ElementsAre(Rented{0, 2}, Rented{1, 2}));
  need.one_instance_type = false;
  EXPECT_THAT(Choose(offers, need).choice->rented, ElementsAre(Rented{0, 2}, Rented{2, 2}));
}

TEST(ChooserTest, ATotalBoundsTheHourlyPrice) {
  EXPECT_EQ(MaxPriceForTotal(100 * kUnit, 7200), 50 * kUnit);
  EXPECT_EQ(MaxPriceForTotal(0, 7200), 0);
  EXPECT_EQ(MaxPriceForTotal(-1, 0), 0);
  EXPECT_GT(MaxPriceForTotal(kMaxMicros, 0), kMaxMicros);
}

// Every combination, without fronts or states.
double BruteForce(const std::vector<Offer>& offers, const Need& need) {
  double best = -1;
  std::vector<int> hosts(offers.size(), 0);
  const std::function<void(std::size_t)> visit = [&](std::size_t at) {
    if (at < offers.size()) {
      for (hosts[at] = 0; hosts[at] <= offers[at].hosts; ++hosts[at]) visit(at + 1);
      return;
    }
    std::map<int, int> workers;
    std::map<int, bool> types;
    Micros price = 0;
    Interruptions interruptions;
    for (std::size_t i = 0; i < offers.size(); ++i) {
      workers[offers[i].domain] += hosts[i] * offers[i].workers_per_host;
      if (hosts[i] > 0) types[offers[i].instance_type] = true;
      price += hosts[i] * offers[i].price;
      (offers[i].noticed ? interruptions.announced_per_hour : interruptions.unannounced_per_hour) +=
          1e-9 * static_cast<double>(offers[i].interruptions_nano * hosts[i]);
    }
    int groups = 0;
    for (const auto& [domain, count] : workers) groups += count / need.workers_per_group;
    const double share = LostShare(need.checkpoint, interruptions);
    if (groups < need.groups || share >= 1 || (need.one_instance_type && types.size() > 1)) return;
    if (need.max_price && price > *need.max_price) return;
    const double useful = static_cast<double>(price) / (1 - share);
    if (best < 0 || useful < best) best = useful;
  };
  visit(0);
  return best;
}

TEST(ChooserTest, NoCombinationIsBetterThanTheChosenOne) {
  Random random(11);
  int chosen = 0;
  for (int round = 0; round < 600; ++round) {
    std::vector<Offer> offers(1 + random.Below(4));
    for (Offer& offer : offers) {
      offer = {.domain = static_cast<int>(random.Below(2)),
               .instance_type = static_cast<int>(random.Below(2)),
               .workers_per_host = static_cast<int>(1 + random.Below(3)),
               .hosts = static_cast<int>(random.Below(5)),
               .price = static_cast<Micros>(random.Below(20)) * kUnit,
               .interruptions_nano = static_cast<std::int64_t>(random.Below(3'000'000'000)),
               .noticed = random.Below(2) == 0};
    }
    Need need{.groups = static_cast<int>(1 + random.Below(3)),
              .workers_per_group = static_cast<int>(1 + random.Below(4)),
              .one_instance_type = random.Below(2) == 0,
              .checkpoint = {.checkpoint_seconds = static_cast<double>(random.Below(300)),
                             .restart_seconds = static_cast<double>(random.Below(300)),
                             .interval_seconds = static_cast<double>(random.Below(2) * 900)}};
    if (random.Below(2) == 0) need.max_price = static_cast<Micros>(random.Below(120)) * kUnit;
    const double best = BruteForce(offers, need);
    const ChoiceOutcome outcome = Choose(offers, need);
    ASSERT_EQ(outcome.choice.has_value(), best >= 0) << round;
    if (!outcome.choice) continue;
    ++chosen;
    EXPECT_TRUE(outcome.choice->exact);
    EXPECT_NEAR(outcome.choice->useful_price, best, 1e-6 * (1 + best)) << round;
    Micros price = 0;
    for (const Rented& rented : outcome.choice->rented) {
      EXPECT_LE(rented.hosts, offers[rented.offer].hosts);
      price += rented.hosts * offers[rented.offer].price;
    }
    EXPECT_EQ(price, outcome.choice->price);
  }
  EXPECT_GT(chosen, 200);
}

TEST(ChooserTest, CutFrontsStayBelowTheCapAndSaySo) {
  Random random(3);
  std::vector<Offer> offers;
  for (int i = 0; i < 12; ++i) {
    offers.push_back(Make(10 + static_cast<Micros>(random.Below(30)), 20,
                          static_cast<std::int64_t>(random.Below(4'000'000))));
    offers.back().noticed = i % 2 == 0;
  }
  const Need need{.workers_per_group = 100, .max_price = 2500 * kUnit};
  const ChoiceOutcome cut = Choose(offers, need, /*max_labels=*/4);
  ASSERT_TRUE(cut.choice);
  EXPECT_FALSE(cut.choice->exact);
  EXPECT_LE(cut.choice->price, *need.max_price);
}

}  // namespace
}  // namespace yardmaster::capacity
