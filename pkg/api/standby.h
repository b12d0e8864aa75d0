// Standbys of a TrainingJob (spec.recovery.standby): pods without GPUs that have a kubelet pull the
// images of the workers on the hosts that replacements would use. status.standby says how far they
// are. Thread safety: values and pure functions.
#pragma once

#include <string>

#include "pkg/api/field_visitor.h"

namespace yardmaster::api {

inline constexpr int kMaxStandbys = 2;
// Of pods that are standbys: the name of the TrainingJob. They have neither its label nor a rank.
inline constexpr char kStandbyLabel[] = "yardmaster.dev/standby";

enum class StandbyState {
  kNoHost,   // no host is free that a replacement would use
  kPulling,  // the pod is there, or is about to be, and has not got all images yet
  kReady,    // the host has all images
  kRefused   // the pod cannot be made, or does not get its images; it is tried again
};

struct Standby {
  StandbyState state = StandbyState::kNoHost;
  std::string host;     // with kNoHost: empty
  std::string pod;      // its name
  std::string message;  // for people; empty: nothing to say
  bool operator==(const Standby&) const = default;

  void Describe(FieldVisitor& fields);
};

}  // namespace yardmaster::api
