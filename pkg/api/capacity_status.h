// What the operator rents for a TrainingJob: status.capacity. It is written before hosts are asked
// for, and everything that is done follows from it, so that any leader carries on.
//
//   None -> Requested -> Provisioned -> Leaving -> Releasing -> None, AwaitingPrice or Requested
//
// A rental that ends before all its hosts are there skips Provisioned; one whose job has no pods
// skips Leaving. AwaitingPrice ends in Requested or None.
//
//   Requested      the hosts are chosen and are being provided; the job has no pods
//   Provisioned    they are there; the job's pods run on them and nowhere else
//   Leaving        the job is asked for a checkpoint, then its pods are ended
//   Releasing      what asked for the hosts is being deleted
//   AwaitingPrice  the prices of these hosts rose above the cap, and the policy says to wait for
//                  them
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_visitor.h"
#include "pkg/api/node_constraints.h"
#include "pkg/capacity/money.h"

namespace yardmaster::api {

enum class RentalPhase { kNone, kRequested, kProvisioned, kLeaving, kReleasing, kAwaitingPrice };

// Why hosts are given back, or why there are none.
enum class RentalReason {
  kNone,
  kReclaimed,  // their provider takes them back, or took them
  kPriceAboveCap,
  kBudgetSpent,
  kNotProvided,  // the request failed or was not fulfilled in time
  kNotPlaced,    // the hosts are there, and the job was not placed on them in time
  kJobEnded,
  kSuspended,
  kNoRoom,   // the pools have no room for the job at any price
  kDeadline  // the deadline needs hosts that are not taken back
};

// What asks for the hosts of a pool.
enum class ScalingKind { kNone, kProvisioningRequest, kNodeClaims };

// The most hosts that a rental or an offer may hold.
inline constexpr int kMaxRentedHosts = 1'000'000;

inline constexpr std::string_view kScalingNames[] = {"None", "ProvisioningRequest", "NodeClaims"};

// Hosts of one pool under one contract.
struct RentedHosts {
  std::string pool;
  CapacityType type = CapacityType::kOnDemand;
  ScalingKind scaling = ScalingKind::kNone;
  int request = 0;
  int hosts = 0;
  int workers = 0;
  int provided = 0;
  capacity::Micros price = 0;
  std::map<std::string, std::string> node_labels;
  bool operator==(const RentedHosts&) const = default;

  // `currency`: of the prices of all entries.
  void Describe(FieldVisitor& fields, std::string& currency);
};

// An offer that is not chosen before `until_ms`.
struct AvoidedOffer {
  std::string pool;
  CapacityType type = CapacityType::kOnDemand;
  std::int64_t until_ms = 0;
  bool operator==(const AvoidedOffer&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Text("pool", pool, kObjectName, Required("Name of the CapacityPool.").Always());
    fields.Enum("type", type, kCapacityTypeNames, "The contract.");
    fields.Time("until", until_ms, About("From then on it is chosen again.").OrNull());
  }
};

struct CapacityStatus {
  RentalPhase phase = RentalPhase::kNone;
  std::int64_t since_ms = 0;    // when the phase began
  std::int64_t generation = 0;  // counts rentals; names what asks for the hosts
  std::vector<RentedHosts> hosts;
  std::string currency;
  capacity::Micros rate = 0;   // what is paid per hour since `accounted_ms`
  capacity::Micros spent = 0;  // until `accounted_ms`
  std::int64_t accounted_ms = 0;
  std::int64_t ran_seconds = 0;  // that all workers ran until `accounted_ms`; with a deadline
  RentalReason reason = RentalReason::kNone;  // of the last change of phase
  std::string message;                        // for people
  int moves = 0;  // how often hosts were given back before the job had ended
  std::vector<AvoidedOffer> avoided = {};
  bool operator==(const CapacityStatus&) const = default;

  // Whether hosts are asked for or paid for.
  bool active() const {
    return phase != RentalPhase::kNone && phase != RentalPhase::kAwaitingPrice;
  }
  // The job has no pods, or is to give them up.
  bool holds_job() const { return active() && phase != RentalPhase::kProvisioned; }
  // What all hosts cost in one hour, at the prices last seen; at most capacity::kMaxSum.
  capacity::Micros price() const;
  // The same of the rented hosts that exist.
  capacity::Micros price_of_provided() const;

  void Describe(FieldVisitor& fields);
};

const char* NameOf(RentalPhase phase);
const char* NameOf(RentalReason reason);
const char* NameOf(CapacityType type);

CapacityStatus ReadCapacityStatus(FieldReader in);
// Null for a job that has never rented. Nulls inside remove what an earlier status had.
nlohmann::json EncodeCapacityStatus(const CapacityStatus& status);

// While hosts are rented, the job's pods go to Nodes with the labels of one of the entries of
// `hosts`, and tolerate their taint. Without that, `constraints` stay as they are.
void AddRental(const CapacityStatus& status, const std::string& job_uid,
               NodeConstraints& constraints);

}  // namespace yardmaster::api
