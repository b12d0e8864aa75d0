#include "pkg/state/capacity_offers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::state {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

api::CapacityPool Pool(const std::string& name, const std::string& segment, const char* offers) {
  json spec = {{"instanceType", "gpu.8x"},
               {"allocatable", {{"cpu", "96"}, {"nvidia.com/gpu", "8"}}},
               {"nodeLabels", {{"pool", name}}},
               {"offers", json::parse(offers)}};
  if (!segment.empty()) {
    spec["fabricPod"] = "p0";
    spec["segment"] = segment;
  }
  const auto pool = api::DecodeCapacityPool(json{{"apiVersion", "yardmaster.dev/v1alpha1"},
                                                 {"kind", "CapacityPool"},
                                                 {"metadata", {{"name", name}}},
                                                 {"spec", spec}});
  EXPECT_TRUE(pool.ok()) << pool.status();
  return *pool;
}

constexpr char kSpot[] =
    R"([{"type": "Spot", "pricePerHour": "10 USD", "maxHosts": 6, "interruptionsPerHour": 0.01,
         "noticeSeconds": 120}])";
constexpr char kBoth[] =
    R"([{"type": "Spot", "pricePerHour": "12 USD", "maxHosts": 2, "noticeSeconds": 30},
        {"type": "OnDemand", "pricePerHour": "30 USD", "maxHosts": 8}])";

api::TrainingJob Job(const std::string& spec) {
  const auto job =
      api::DecodeTrainingJob(json{{"apiVersion", "yardmaster.dev/v1alpha1"},
                                  {"kind", "TrainingJob"},
                                  {"metadata", {{"name", "a"}, {"namespace", "default"}}},
                                  {"spec", json::parse(spec)}});
  EXPECT_TRUE(job.ok()) << job.status();
  return *job;
}

CapacityQuestion Ask(const std::string& job, std::vector<api::CapacityPool> pools,
                     const HostsInUse& in_use = {}, capacity::Micros spent = 0) {
  auto question = AskForCapacity(Job(job), std::move(pools), {.in_use = in_use}, spent);
  EXPECT_TRUE(question.ok()) << question.status();
  return *std::move(question);
}

constexpr char kStages[] = R"({"workers": 8, "parallelism": {"tensor": 8, "pipeline": 2},
    "placement": {"data": {"within": "Segment", "mode": "Required"}},
    "capacity": {"maxCostPerHour": "100 USD"}, "checkpoint": {"costSeconds": 60}})";

TEST(CapacityOffersTest, AStageIsAGroupOfOneSegmentWhenTheJobAsksForThat) {
  const CapacityQuestion question =
      Ask(kStages, {Pool("b", "s1", kBoth), Pool("a", "s0", kSpot), Pool("c", "s0", kSpot)});
  EXPECT_EQ(question.need.groups, 2);
  EXPECT_EQ(question.need.workers_per_group, 4);
  EXPECT_EQ(question.need.max_price, 100 * capacity::kMicrosPerUnit);
  ASSERT_THAT(question.left_out, IsEmpty());
  ASSERT_THAT(question.names, ElementsAre(OfferName{"a", api::CapacityType::kSpot},
                                          OfferName{"b", api::CapacityType::kSpot},
                                          OfferName{"b", api::CapacityType::kOnDemand},
                                          OfferName{"c", api::CapacityType::kSpot}));
  EXPECT_EQ(question.offers[0].domain, question.offers[3].domain);
  EXPECT_NE(question.offers[0].domain, question.offers[1].domain);
  EXPECT_TRUE(question.offers[0].noticed);
  EXPECT_FALSE(question.offers[1].noticed) << "30 s are too short for a checkpoint";
  EXPECT_EQ(question.offers[0].interruptions_nano, 10'000'000);
}

TEST(CapacityOffersTest, LimitsOfGroupsWithOneGpuBindNothing) {
  const CapacityQuestion question = Ask(R"({"workers": 4, "parallelism": {"tensor": 8},
              "placement": {"data": {"within": "Fabric", "mode": "Required"},
                            "pipeline": {"within": "Segment", "mode": "Required"}}})",
                                        {Pool("a", "s0", kSpot), Pool("b", "", kSpot)});
  EXPECT_EQ(question.need.workers_per_group, 1);
  ASSERT_THAT(question.left_out, IsEmpty());
  EXPECT_EQ(question.offers[0].domain, question.offers[1].domain);
  EXPECT_THAT(Ask(R"({"workers": 4, "parallelism": {"tensor": 8, "expert": 2},
                      "placement": {"data": {"within": "Fabric", "mode": "Required"}}})",
                  {Pool("a", "s0", kSpot), Pool("b", "", kSpot)})
                  .left_out,
              ElementsAre("pool b: it names no fabricPod"));
}

TEST(CapacityOffersTest, PoolsThatCannotServeAreLeftOutWithTheReason) {
  const CapacityQuestion question =
      Ask(R"({"workers": 2, "placement": {"data": {"within": "Segment", "mode": "Required"}},
              "capacity": {"types": ["Spot"], "maxCostPerHour": "100 EUR"}})",
          {Pool("a", "s0", kSpot)});
  EXPECT_THAT(question.offers, IsEmpty());
  EXPECT_THAT(question.left_out, ElementsAre(HasSubstr("pool a: its prices are in USD")));
  EXPECT_THAT(Ask(kStages, {Pool("n", "", kSpot)}).left_out,
              ElementsAre("pool n: it names no segment"));
  EXPECT_THAT(
      Ask(R"({"workers": 2, "capacity": {"instanceTypes": ["other"]}})", {Pool("a", "s0", kSpot)})
          .left_out,
      ElementsAre(HasSubstr("gpu.8x is not in instanceTypes")));
  EXPECT_THAT(Ask(R"({"workers": 2, "gpusPerWorker": 16})", {Pool("a", "s0", kSpot)}).left_out,
              ElementsAre(HasSubstr("a host cannot carry")));
  EXPECT_THAT(Ask(R"({"workers": 2, "template": {"spec": {"nodeSelector": {"pool": "b"},
                      "containers": [{"name": "c", "image": "i"}]}}})",
                  {Pool("a", "s0", kSpot), Pool("b", "s0", kSpot)})
                  .left_out,
              ElementsAre(HasSubstr("pool a: the job's node selection")));
}

TEST(CapacityOffersTest, AnOfferWhoseNodesDoNotSayTheirTypeIsLeftOutForAJobThatAsksForTypes) {
  constexpr char kJob[] = R"({"workers": 2, "capacity": {"types": ["Spot"]}})";
  api::CapacityPool pool = Pool("a", "s0", kSpot);
  pool.scaling.provisioning_class = "c";
  EXPECT_THAT(Ask(kJob, {pool}).left_out,
              ElementsAre(HasSubstr("no label of its Nodes says Spot")));
  EXPECT_THAT(Ask(R"({"workers": 2, "capacity": {"types": ["Spot", "OnDemand"]}})", {pool}).offers,
              SizeIs(1));
  EXPECT_THAT(Ask(R"({"workers": 2, "capacity": {"maxCostPerHour": "100 USD"}})", {pool}).offers,
              SizeIs(1));
  pool.offers[0].node_labels = {{"cloud.google.com/gke-spot", "true"}};
  EXPECT_THAT(Ask(kJob, {pool}).offers, SizeIs(1));
}

TEST(CapacityOffersTest, HostsInUseAndMoneySpentAreTakenAway) {
  const std::string job =
      R"({"workers": 2, "placement": {"data": {"within": "FabricPod", "mode": "Required"}},
          "capacity": {"maxTotalCost": "100 USD", "minRuntimeSeconds": 6900}})";
  const CapacityQuestion question =
      Ask(job, {Pool("a", "s0", kBoth)}, {{{"a", api::CapacityType::kSpot}, 1}},
          40 * capacity::kMicrosPerUnit);
  ASSERT_THAT(question.offers, SizeIs(2));
  EXPECT_EQ(question.offers[0].hosts, 1);
  EXPECT_EQ(question.need.max_price, 30 * capacity::kMicrosPerUnit)
      << "6,900 s and a stop of 300 s";
}

TEST(CapacityOffersTest, WhatIsChosenAndWhatIsMissingIsSaidInWords) {
  CapacityQuestion question = Ask(kStages, {Pool("a", "s0", kSpot), Pool("b", "s1", kSpot)});
  const capacity::ChoiceOutcome chosen = Choose(question.offers, question.need);
  ASSERT_TRUE(chosen.choice);
  EXPECT_EQ(
      DescribeChoice(*chosen.choice, question, "USD").substr(0, 60),
      std::string("4 hosts of a (Spot), 4 hosts of b (Spot) at 80.00 USD/h, 0.8").substr(0, 60));
  question.need.max_price = 79 * capacity::kMicrosPerUnit;
  EXPECT_THAT(DescribeRefusal(Choose(question.offers, question.need), question, "USD"),
              HasSubstr("the cheapest hosts cost 80.00 USD/h and the caps allow 79.00 USD/h"));
  const CapacityQuestion small = Ask(kStages, {Pool("a", "s0", kSpot), Pool("n", "", kSpot)});
  EXPECT_EQ(DescribeRefusal(Choose(small.offers, small.need), small, "USD"),
            "the pools have room for 4 of 8 workers in groups of 4; add pools or raise their "
            "maxHosts; pool n: it names no segment");
}

TEST(CapacityOffersTest, AGangThatIsTooLargeIsRefusedWithTheLimit) {
  const auto question = AskForCapacity(Job(R"({"workers": 2000})"), {}, {}, 0);
  EXPECT_THAT(MessageOf(question.status()), HasSubstr("spec.workers: is 2000"));
}

}  // namespace
}  // namespace yardmaster::state
