#include "pkg/api/capacity_status.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/money_field.h"
#include "pkg/api/names.h"
#include "pkg/api/status_word.h"
#include "pkg/api/time_field.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/capacity/sum.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr std::string_view kPhaseNames[] = {"None",    "Requested", "Provisioned",
                                            "Leaving", "Releasing", "AwaitingPrice"};
constexpr std::string_view kReasonNames[] = {"None",        "Reclaimed",   "PriceAboveCap",
                                             "BudgetSpent", "NotProvided", "NotPlaced",
                                             "JobEnded",    "Suspended",   "NoRoom"};
constexpr std::string_view kScalingNames[] = {"None", "ProvisioningRequest", "NodeClaims"};

RentedHosts ReadRentedHosts(FieldReader& in, std::string& currency) {
  RentedHosts out;
  out.pool = in.RequiredString("pool", kObjectName);
  out.type = in.Enum("type", kCapacityTypeNames, out.type);
  out.scaling = in.Enum("scaling", kScalingNames, out.scaling);
  out.request = in.Int("request", 0, 0, kMaxRentedHosts);
  out.hosts = in.Int("hosts", 0, 0, kMaxRentedHosts);
  out.workers = in.Int("workers", 0, 0, kMaxRentedHosts);
  out.provided = in.Int("provided", 0, 0, kMaxRentedHosts);
  if (const auto price = ReadMoney(in, "pricePerHour", kSumText)) {
    out.price = price->micros;
    currency = price->currency;
  }
  out.node_labels = in.StringMap("nodeLabels", 133, kLabelValue);
  in.Close();
  return out;
}

AvoidedOffer ReadAvoided(FieldReader& in) {
  AvoidedOffer out{in.RequiredString("pool", kObjectName),
                   in.Enum("type", kCapacityTypeNames, CapacityType::kOnDemand),
                   in.TimeMs("until")};
  in.Close();
  return out;
}

// Of `hosts` hosts in one hour.
capacity::Micros CostOf(const RentedHosts& part, int hosts) {
  return hosts > 0 && part.price > capacity::kMaxSum / hosts ? capacity::kMaxSum
                                                             : part.price * hosts;
}

SelectorTerm TermOf(const RentedHosts& hosts) {
  SelectorTerm term;
  for (const auto& [key, value] : hosts.node_labels) {
    term.expressions.push_back({key, SelectorOperator::kIn, {value}});
  }
  return term;
}

}  // namespace

capacity::Micros CapacityStatus::price() const {
  capacity::Micros sum = 0;
  for (const RentedHosts& part : hosts) sum = capacity::AddToSum(sum, CostOf(part, part.hosts));
  return sum;
}

capacity::Micros CapacityStatus::price_of_provided() const {
  capacity::Micros sum = 0;
  for (const RentedHosts& part : hosts) sum = capacity::AddToSum(sum, CostOf(part, part.provided));
  return sum;
}

const char* NameOf(RentalPhase phase) { return kPhaseNames[static_cast<int>(phase)].data(); }
const char* NameOf(RentalReason reason) { return kReasonNames[static_cast<int>(reason)].data(); }
const char* NameOf(CapacityType type) { return kCapacityTypeNames[static_cast<int>(type)].data(); }

CapacityStatus ReadCapacityStatus(FieldReader in) {
  CapacityStatus out;
  out.phase = in.Enum("phase", kPhaseNames, out.phase);
  out.since_ms = in.TimeMs("since");
  out.generation = in.Int64("generation", 0, 0, INT64_MAX);
  for (FieldReader& part : in.Objects("hosts", {256})) {
    out.hosts.push_back(ReadRentedHosts(part, out.currency));
  }
  in.Raw("pricePerHour");  // for people: follows from `hosts`
  in.CheckText("pricePerHour", kSumText);
  if (const auto rate = ReadSum(in, "ratePerHour")) {
    out.rate = rate->micros;
    out.currency = rate->currency;
  }
  if (const auto spent = ReadSum(in, "spent")) {
    out.spent = spent->micros;
    out.currency = spent->currency;
  }
  out.accounted_ms = in.TimeMs("accounted");
  out.reason = ReadWord(in, "reason", kReasonNames, out.reason);
  out.message = in.String("message", kMessage);
  out.moves = in.Int("moves", 0, 0, INT32_MAX);
  for (FieldReader& offer : in.Objects("avoidedOffers", {256}))
    out.avoided.push_back(ReadAvoided(offer));
  in.Close();
  return out;
}

json EncodeCapacityStatus(const CapacityStatus& status) {
  if (status == CapacityStatus{}) return nullptr;
  json out = {{"phase", NameOf(status.phase)}, {"generation", status.generation},
              {"hosts", json::array()},        {"reason", NameOf(status.reason)},
              {"message", status.message},     {"moves", status.moves},
              {"avoidedOffers", json::array()}};
  EncodeTimeOrNull("since", status.since_ms, out);
  EncodeTimeOrNull("accounted", status.accounted_ms, out);
  const auto money = [&](capacity::Micros micros) -> json {
    if (status.currency.empty()) return nullptr;
    return capacity::FormatMoney({micros, status.currency});
  };
  for (const RentedHosts& part : status.hosts) {
    out["hosts"].push_back({{"pool", part.pool},
                            {"type", NameOf(part.type)},
                            {"scaling", kScalingNames[static_cast<int>(part.scaling)]},
                            {"request", part.request},
                            {"hosts", part.hosts},
                            {"workers", part.workers},
                            {"provided", part.provided},
                            {"pricePerHour", money(part.price)},
                            {"nodeLabels", part.node_labels}});
  }
  out["pricePerHour"] = money(status.active() ? status.price() : 0);
  out["ratePerHour"] = money(status.rate);
  out["spent"] = money(status.spent);
  for (const AvoidedOffer& avoided : status.avoided) {
    json entry = {{"pool", avoided.pool}, {"type", NameOf(avoided.type)}};
    EncodeTimeOrNull("until", avoided.until_ms, entry);
    out["avoidedOffers"].push_back(std::move(entry));
  }
  return out;
}

void AddRental(const CapacityStatus& status, const std::string& job_uid,
               NodeConstraints& constraints) {
  if (!status.active()) return;
  for (const std::string& value : {job_uid, std::string(kRentedByAny)}) {
    constraints.tolerations.push_back(
        {kRentedKey, TolerationOperator::kEqual, value, "NoSchedule"});
  }
  // Terms are alternatives: every one that the job has, with every one of the rented hosts. An empty
  // one of the job selects nothing and stays out: requirements added to it would select hosts.
  std::vector<SelectorTerm> own = {{}};
  if (constraints.has_affinity) {
    own = std::move(constraints.terms);
    std::erase(own, SelectorTerm{});
  }
  constraints.has_affinity = true;
  constraints.terms.clear();
  for (const SelectorTerm& term : own) {
    for (const RentedHosts& part : status.hosts) {
      SelectorTerm both = term;
      const SelectorTerm rented = TermOf(part);
      both.expressions.insert(both.expressions.end(), rented.expressions.begin(),
                              rented.expressions.end());
      constraints.terms.push_back(std::move(both));
    }
  }
}

}  // namespace yardmaster::api
