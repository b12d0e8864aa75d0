// The cheapest hosts to rent for a gang below its cost cap.
//
// Problem. Offers i with price p_i (per host and hour), interruptions l_i (per host and hour),
// room u_i (hosts) and k_i workers a host, each in one domain (a segment, or a zone). The gang
// has G groups of m workers; all workers of a group lie in one domain. Choose hosts n_i <= u_i and
// how many groups each domain holds such that the domains' hosts carry their groups' workers, and
//
//   P = sum n_i p_i <= cap,   minimal expected price of a useful hour  P / (1 - share(L, L')),
//
// L and L' = sums of n_i l_i over offers with and without notice, share as in overhead.h. The gang
// runs in lockstep: one host taken back stops all of it.
//
// Method. The objective rises with P, L and L', so dynamic programming over (offers, workers) with
// the Pareto front of (P, L, L') in every state loses no optimum. A bound (the cheapest hosts for
// the workers that are missing) drops what cannot win. Fronts are cut to `max_labels`, their
// cheapest label kept; a choice found by cut fronts says exact = false and is the best of what was
// kept. Complexity: at worst offers * workers^2 * max_labels^2 labels are made, each compared with
// a front.
//
// Budgets. An offer gives no more hosts than its budget pays for. Where offers of one budget cost
// more together, the dearest of them gives up what is too much and the choice is made again; each
// time an offer has fewer hosts. Such a choice says exact = false. No choice is ever above a
// budget.
//
// Fails to choose when the offers have no room for the gang, or when every combination is above the
// cap or loses all of its time (share >= 1); lowest_price tells the first case from the others.
// Determinism: the outcome is a function of the arguments. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pkg/capacity/money.h"
#include "pkg/capacity/overhead.h"

namespace yardmaster::capacity {

struct Offer {
  int domain = 0;            // hosts of one domain may hold one group
  int instance_type = 0;     // a dense id
  int workers_per_host = 1;  // >= 1
  int hosts = 0;             // that can be rented now
  Micros price = 0;          // of one host for one hour
  // Of one host, in 10^-9 per hour: exact sums.
  std::int64_t interruptions_nano = 0;
  bool noticed = true;  // announced early enough for a checkpoint
  int budget = -1;      // index into Need::budgets; -1: none
};

struct Need {
  int groups = 1;
  int workers_per_group = 1;
  bool one_instance_type = true;  // all hosts alike
  CheckpointCost checkpoint = {};
  std::optional<Micros> max_price = std::nullopt;  // P may not exceed it
  std::vector<Micros> budgets = {};                // what the hosts of its offers cost together
};

struct Rented {
  int offer = 0;  // index into the offers
  int hosts = 0;  // > 0
  bool operator==(const Rented&) const = default;
};

struct Choice {
  std::vector<Rented> rented;  // ascending by offer
  Micros price = 0;            // P, per hour
  double interruptions_per_hour = 0;
  double lost_share = 0;
  double useful_price = 0;  // P / (1 - share), in Micros per hour
  bool exact = true;
};

struct ChoiceOutcome {
  std::optional<Choice> choice;
  // Without a choice: the lowest P without the cap; absent when the offers have no room for the
  // gang at any price.
  std::optional<Micros> lowest_price;
  // Groups that the offers have room for (of one instance type where the need says so), at most
  // Need::groups.
  int groups_with_room = 0;
};

// The largest gang that Choose takes, in workers: its work grows with the square.
inline constexpr int kMaxWorkers = 1024;

// `max_labels` are kept in a front. REQUIRES: groups and workers_per_group >= 1, their product at
// most kMaxWorkers; prices, interruptions, budgets and hosts >= 0; max_labels >= 2.
ChoiceOutcome Choose(const std::vector<Offer>& offers, const Need& need, int max_labels = 32);

// The highest hourly price at which `remaining` pays for `min_run_seconds` (at least 1 s); 0 if
// nothing remains.
Micros MaxPriceForTotal(Micros remaining, std::int64_t min_run_seconds);

}  // namespace yardmaster::capacity
