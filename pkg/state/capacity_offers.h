// The hosts that a TrainingJob could rent, as the pure chooser takes them (pkg/capacity). Thread
// safety: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pkg/api/capacity_pool.h"
#include "pkg/api/training_job.h"
#include "pkg/capacity/chooser.h"

namespace yardmaster::state {

// By pool name and capacity type.
using HostsInUse = std::map<std::pair<std::string, api::CapacityType>, int>;

// What others rent already, and for whom is asked.
struct RentalContext {
  HostsInUse in_use = {};               // by other jobs
  HostsInUse in_use_of_namespace = {};  // of these, by jobs of the job's namespace
  // Labels of the job's namespace; absent: not known, and no pool is left out for its
  // namespaceSelector.
  std::optional<std::map<std::string, std::string>> namespace_labels = std::nullopt;
};

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
  // Why pools were left out or have fewer hosts than their offers, one line each: "pool a100: its
  // prices are in EUR and the cap is in USD".
  std::vector<std::string> left_out;
};

// The longest time from the decision to leave rented hosts until they are given back: a checkpoint
// that is asked for, the end of the pods, and a minute for everything else.
std::int64_t StopSeconds(const api::TrainingJob& job);

// Pools in the order of their names. What the job has spent so far counts against its total, and so
// does the time that it takes to stop.
//
// Errors: InvalidArgument when the gang is larger than the chooser takes.
absl::StatusOr<CapacityQuestion> AskForCapacity(const api::TrainingJob& job,
                                                std::vector<api::CapacityPool> pools,
                                                const RentalContext& context,
                                                capacity::Micros spent);

// What a choice means, in one line: "8 hosts of spot-a100 (Spot) at 96.00 USD/h, 5.1 % of the time
// expected to be lost". `currency` is that of the offers.
std::string DescribeChoice(const capacity::Choice& choice, const CapacityQuestion& question,
                           const std::string& currency);
// Why there is none, and what would help.
std::string DescribeRefusal(const capacity::ChoiceOutcome& outcome,
                            const CapacityQuestion& question, const std::string& currency);

}  // namespace yardmaster::state
