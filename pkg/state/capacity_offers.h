// The hosts that a TrainingJob could rent, as the pure chooser takes them (pkg/capacity). Thread safety:
// values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pkg/api/capacity_pool.h"
#include "pkg/api/training_job.h"
#include "pkg/capacity/chooser.h"

namespace yardmaster::state {

// By pool name and capacity type.
using HostsInUse = std::map<std::pair<std::string, api::CapacityType>, int>;

// An offer as people name it.
struct OfferName {
  std::string pool;
  api::CapacityType type = api::CapacityType::kOnDemand;
  bool operator==(const OfferName&) const = default;
};

struct CapacityQuestion {
  std::vector<capacity::Offer> offers;
  std::vector<OfferName> names;  // of the offers, at the same index
  capacity::Need need;
  // Why pools were left out, one line each: "pool a100: is in EUR and the cap in USD".
  std::vector<std::string> left_out;
};

// The longest time from the decision to leave rented hosts until they are given back: a checkpoint that
// is asked for, the end of the pods, and a minute for everything else.
std::int64_t StopSeconds(const api::TrainingJob& job);

// Pools in the order of their names. What the job has spent so far counts against its total, and so
// does the time that it takes to stop.
//
// Errors: InvalidArgument when the gang is larger than the chooser takes.
absl::StatusOr<CapacityQuestion> AskForCapacity(const api::TrainingJob& job,
                                                std::vector<api::CapacityPool> pools,
                                                const HostsInUse& in_use, capacity::Micros spent);

// What a choice means, in one line: "8 hosts of spot-a100 (Spot) at 96.00 USD/h, 5.1 % of the time
// expected to be lost". `currency` is that of the offers.
std::string DescribeChoice(const capacity::Choice& choice, const CapacityQuestion& question,
                           const std::string& currency);
// Why there is none, and what would help.
std::string DescribeRefusal(const capacity::ChoiceOutcome& outcome,
                            const CapacityQuestion& question, const std::string& currency);

}  // namespace yardmaster::state
