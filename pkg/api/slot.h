// The annotation yardmaster.dev/slot: which place in its gang a pod has. Written by the extender
// together with the pin, read by the operator and the agent.
//
//   {"version":1,"gang":"trainingjob-a","rank":0,"fabricPod":"p0","segment":"p0s3","stages":[0]}
//
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::api {

struct Slot {
  std::string gang;  // name of the Gang in the pod's namespace
  int rank = 0;
  std::string fabric_pod;
  std::string segment;
  std::vector<int> stages;
  bool operator==(const Slot&) const = default;
};

std::string EncodeSlot(const Slot& slot);
// Errors: InvalidArgument; another version than 1 is one.
absl::StatusOr<Slot> DecodeSlot(std::string_view text);

}  // namespace yardmaster::api
