#include "pkg/api/capacity_status.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/capacity/sum.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

RentedHosts Hosts(const char* pool, int hosts, capacity::Micros price) {
  RentedHosts out;
  out.pool = pool;
  out.hosts = hosts;
  out.price = price;
  out.node_labels = {{"pool", pool}};
  return out;
}

CapacityStatus Rented(RentalPhase phase, std::vector<RentedHosts> hosts) {
  CapacityStatus status;
  status.phase = phase;
  status.generation = 1;
  status.currency = "USD";
  status.hosts = std::move(hosts);
  return status;
}

constexpr RentalPhase kPhases[] = {RentalPhase::kNone,        RentalPhase::kRequested,
                                   RentalPhase::kProvisioned, RentalPhase::kLeaving,
                                   RentalPhase::kReleasing,   RentalPhase::kAwaitingPrice};

CapacityStatus ReadBack(const json& encoded, FieldErrors& errors) {
  return ReadCapacityStatus({&encoded, "status.capacity", UnknownFields::kReject, &errors});
}

TEST(CapacityStatusTest, AJobThatHasNeverRentedHasNone) {
  EXPECT_TRUE(EncodeCapacityStatus({}).is_null());
  FieldErrors errors;
  EXPECT_EQ(ReadBack(json(), errors), CapacityStatus{});
  EXPECT_TRUE(errors.empty());
}

TEST(CapacityStatusTest, APriceThatIsTooLargeForAnIntegerIsTheLargestSum) {
  const int hosts = kMaxRentedHosts;
  const auto status = Rented(RentalPhase::kRequested, {Hosts("a", hosts, capacity::kMaxMicros),
                                                       Hosts("b", hosts, capacity::kMaxMicros)});
  EXPECT_EQ(status.price(), capacity::kMaxSum);
  EXPECT_EQ(EncodeCapacityStatus(status)["pricePerHour"], "9000000000000.00 USD");
}

TEST(CapacityStatusTest, EveryFieldSurvivesARoundTrip) {
  CapacityStatus status;
  status.phase = RentalPhase::kProvisioned;
  status.since_ms = 1'800'000'000'000;
  status.generation = 3;
  status.hosts = {
      {"a", CapacityType::kSpot, ScalingKind::kNodeClaims, 1, 4, 4, 2, 9'800'000, {{"pool", "a"}}}};
  status.currency = "USD";
  status.rate = 19'600'000;
  status.spent = 123'456;
  status.accounted_ms = 1'800'000'060'000;
  status.reason = RentalReason::kReclaimed;
  status.message = "host n is gone";
  status.moves = 2;
  status.avoided = {{"b", CapacityType::kOnDemand, 1'800'000'600'000}};
  FieldErrors errors;
  const json encoded = EncodeCapacityStatus(status);
  EXPECT_EQ(ReadCapacityStatus({&encoded, "status", UnknownFields::kReject, &errors}), status);
  EXPECT_TRUE(errors.empty()) << errors.status();
  EXPECT_EQ(encoded["pricePerHour"], "39.20 USD");
}

TEST(CapacityStatusTest, EveryPhaseAndReasonReadsBackByItsName) {
  for (RentalPhase phase : kPhases) {
    for (int reason = 0; reason <= static_cast<int>(RentalReason::kDeadline); ++reason) {
      CapacityStatus status = Rented(phase, {Hosts("a", 2, 1'500'000)});
      status.reason = static_cast<RentalReason>(reason);
      FieldErrors errors;
      EXPECT_EQ(ReadBack(EncodeCapacityStatus(status), errors), status) << NameOf(status.reason);
      EXPECT_TRUE(errors.empty()) << errors.status();
    }
  }
}

// A merge patch keeps fields that it leaves out.
TEST(CapacityStatusTest, WhatIsOverIsRemovedByNull) {
  CapacityStatus status;
  status.generation = 1;
  const json encoded = EncodeCapacityStatus(status);
  for (const char* key : {"since", "accounted", "pricePerHour", "ratePerHour", "spent"}) {
    ASSERT_TRUE(encoded.contains(key)) << key;
    EXPECT_TRUE(encoded[key].is_null()) << key;
  }
  for (const char* key : {"hosts", "avoidedOffers"}) EXPECT_EQ(encoded[key], json::array()) << key;
}

TEST(CapacityStatusTest, InAClusterAReasonOfANewerVersionReadsAsNoneAndItsPhaseIsAnError) {
  FieldErrors errors;
  const json newer = {{"reason", "Eclipsed"}};
  const CapacityStatus read =
      ReadCapacityStatus({&newer, "status.capacity", UnknownFields::kIgnore, &errors});
  EXPECT_EQ(read.reason, RentalReason::kNone);
  EXPECT_TRUE(errors.empty()) << errors.status();
  ReadBack(json{{"phase", "Eclipsed"}}, errors);
  ASSERT_EQ(errors.lines().size(), 1u);
  EXPECT_EQ(errors.lines()[0].rfind("status.capacity.phase: expected None, Requested", 0), 0u);
}

TEST(CapacityStatusTest, AllHostsHaveAPriceAndThoseThatExistAreTheProvidedOnes) {
  CapacityStatus status =
      Rented(RentalPhase::kRequested, {Hosts("a", 3, 2'000'000), Hosts("b", 1, 500'000)});
  status.hosts[0].provided = 2;
  EXPECT_EQ(status.price(), 6'500'000);
  EXPECT_EQ(status.price_of_provided(), 4'000'000);
  EXPECT_EQ(CapacityStatus{}.price(), 0);
}

TEST(CapacityStatusTest, AJobHasPodsOnlyOutsideRentalsAndOnProvidedHosts) {
  for (RentalPhase phase : kPhases) {
    const CapacityStatus status = Rented(phase, {});
    const bool outside = phase == RentalPhase::kNone || phase == RentalPhase::kAwaitingPrice;
    EXPECT_EQ(status.active(), !outside) << NameOf(phase);
    EXPECT_EQ(status.holds_job(), !outside && phase != RentalPhase::kProvisioned) << NameOf(phase);
  }
}

Node Labelled(const char* pool, const char* zone) {
  Node node;
  node.metadata.labels = {{"pool", pool}, {"zone", zone}};
  return node;
}

SelectorTerm InZone(const char* zone) { return {{{"zone", SelectorOperator::kIn, {zone}}}, {}}; }

// `own` and its rental together select what both select.
void ExpectNarrowed(const NodeConstraints& own, RentalPhase phase) {
  NodeConstraints both = own;
  AddRental(Rented(phase, {Hosts("a", 1, 1), Hosts("b", 1, 1)}), "uid", both);
  const bool rented = phase != RentalPhase::kNone && phase != RentalPhase::kAwaitingPrice;
  for (const char* pool : {"a", "b", "c"}) {
    for (const char* zone : {"x", "y", "z"}) {
      const Node node = Labelled(pool, zone);
      EXPECT_EQ(Selects(both, node), Selects(own, node) && (!rented || *pool != 'c'))
          << NameOf(phase) << " " << pool << " " << zone << " terms " << own.terms.size();
    }
  }
}

TEST(CapacityStatusTest, ARentalAllowsNoNodeThatTheJobDoesNot) {
  NodeConstraints by_label;
  by_label.node_selector = {{"zone", "x"}};
  NodeConstraints by_terms;
  by_terms.has_affinity = true;
  by_terms.terms = {InZone("x"), InZone("y")};
  NodeConstraints nothing;  // no terms
  nothing.has_affinity = true;
  NodeConstraints empty_term = nothing;  // which selects nothing, too
  empty_term.terms = {{}};
  NodeConstraints empty_and_zone = empty_term;
  empty_and_zone.terms.push_back(InZone("z"));
  for (RentalPhase phase : kPhases) {
    for (const NodeConstraints& own :
         {NodeConstraints{}, by_label, by_terms, nothing, empty_term, empty_and_zone}) {
      ExpectNarrowed(own, phase);
    }
  }
}

TEST(CapacityStatusTest, ARentalToleratesItsOwnTaintAndThatOfItsPoolOnly) {
  NodeConstraints constraints;
  AddRental(Rented(RentalPhase::kProvisioned, {Hosts("a", 1, 1)}), "uid", constraints);
  for (const char* value : {"uid", kRentedByAny}) {
    EXPECT_TRUE(Tolerates(constraints.tolerations, {kRentedKey, value, TaintEffect::kNoSchedule}));
    EXPECT_FALSE(Tolerates(constraints.tolerations, {kRentedKey, value, TaintEffect::kNoExecute}));
  }
  EXPECT_FALSE(Tolerates(constraints.tolerations, {kRentedKey, "other", TaintEffect::kNoSchedule}));
}

}  // namespace
}  // namespace yardmaster::api
