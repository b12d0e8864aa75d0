#include "pkg/api/capacity_status.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/api/money_field.h"
#include "pkg/api/names.h"
#include "pkg/capacity/sum.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr std::string_view kPhaseNames[] = {"None",    "Requested", "Provisioned",
                                            "Leaving", "Releasing", "AwaitingPrice"};
constexpr std::string_view kReasonNames[] = {
    "None",      "Reclaimed", "PriceAboveCap", "BudgetSpent", "NotProvided",
    "NotPlaced", "JobEnded",  "Suspended",     "NoRoom",      "Deadline"};

std::string TextOf(capacity::Micros micros, const std::string& currency) {
  return currency.empty() ? "" : capacity::FormatMoney({micros, currency});
}

// A sum of money, or null before a currency is known.
void SumField(FieldVisitor& fields, const char* key, capacity::Micros& value, std::string& currency,
              const char* meaning) {
  fields.Parsed(
      key, kSumText, About(meaning).OrNull(),
      [&](FieldReader& in) {
        if (const auto sum = ReadSum(in, key)) {
          value = sum->micros;
          currency = sum->currency;
        }
      },
      [&] { return TextOf(value, currency); });
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

void RentedHosts::Describe(FieldVisitor& fields, std::string& currency) {
  const auto count = [&](const char* key, int& value, const char* meaning) {
    fields.Int(key, value, 0, kMaxRentedHosts, meaning);
  };
  fields.Text("pool", pool, kObjectName, Required("Name of the CapacityPool.").Always());
  fields.Enum("type", type, kCapacityTypeNames, "The contract.");
  fields.Enum("scaling", scaling, kScalingNames, "What asks for them.");
  count("request", request, "Entries of one number share a ProvisioningRequest.");
  count("hosts", hosts, "Hosts that were chosen.");
  count("workers", workers, "Workers that they have room for.");
  count("provided", provided, "Hosts of them that exist and are paid for.");
  fields.Parsed(
      "pricePerHour", kSumText, About("Of one host, as last seen.").OrNull(),
      [&](FieldReader& in) {
        if (const auto money = ReadMoney(in, "pricePerHour", kSumText)) {
          price = money->micros;
          currency = money->currency;
        }
      },
      [&] { return TextOf(price, currency); });
  fields.TextMap("nodeLabels", node_labels, 133, kLabelValue,
                 About("Labels by which their Nodes are known.").Always());
}

void CapacityStatus::Describe(FieldVisitor& fields) {
  fields.Enum("phase", phase, kPhaseNames, "How far the rental has come.");
  fields.Time("since", since_ms, About("When the phase began.").OrNull());
  fields.Int("generation", generation, 0, INT64_MAX,
             "Rentals so far; part of the names of what asks for the hosts.");
  fields.Objects("hosts", hosts, {256},
                 About("The hosts that are rented, by pool and contract.").Always(),
                 "Hosts of one pool under one contract.",
                 [this](FieldVisitor& in, RentedHosts& part) { part.Describe(in, currency); });
  // For people: follows from `hosts`.
  fields.Parsed(
      "pricePerHour", kSumText, About("What all chosen hosts cost per hour.").OrNull(),
      [](FieldReader& in) {
        in.Raw("pricePerHour");
        in.CheckText("pricePerHour", kSumText);
      },
      [this] { return TextOf(active() ? price() : 0, currency); });
  SumField(fields, "ratePerHour", rate, currency,
           "What is paid per hour for the hosts that exist.");
  SumField(fields, "spent", spent, currency, "What was paid until the time in accounted.");
  fields.Time(
      "accounted", accounted_ms,
      About("Until when spent is counted; written every minute and at each change.").OrNull());
  fields.Int("ranSeconds", ran_seconds, 0, INT64_MAX,
             About("How long all workers ran until the time in accounted, for a job with a "
                   "deadline.")
                 .OmitAt(0));
  fields.Word("reason", reason, kReasonNames, RentalReason::kNone,
              "Why hosts were given back, or why there are none.");
  fields.Text("message", message, kMessage, About("For people.").Always());
  fields.Int("moves", moves, 0, INT32_MAX,
             "How often hosts were given back before the job had ended.");
  fields.Objects("avoidedOffers", avoided, {256},
                 About("Offers that are not chosen for some time.").Always(), "One offer.");
}

CapacityStatus ReadCapacityStatus(FieldReader in) {
  return DecodeObject<CapacityStatus>(std::move(in));
}

json EncodeCapacityStatus(const CapacityStatus& status) {
  return status == CapacityStatus{} ? json() : EncodeObject(status);
}

void AddRental(const CapacityStatus& status, const std::string& job_uid,
               NodeConstraints& constraints) {
  if (!status.active()) return;
  for (const std::string& value : {job_uid, std::string(kRentedByAny)}) {
    constraints.tolerations.push_back(
        {kRentedKey, TolerationOperator::kEqual, value, "NoSchedule"});
  }
  // Terms are alternatives: every one that the job has, with every one of the rented hosts. An
  // empty one of the job selects nothing and stays out: requirements added to it would select
  // hosts.
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
