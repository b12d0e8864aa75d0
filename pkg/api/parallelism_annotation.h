// The annotation yardmaster.dev/parallelism, in which users say how other controllers' pods
// split their model: "tp=8,pp=4,dp=16[,cp=2][,ep=4][,vpp=2][,order=tp-cp-ep-dp-pp]".
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/workload/parallelism.h"

namespace yardmaster::api {

struct ParallelismAnnotation {
  workload::Parallelism parallelism;
  bool data_given = false;  // else data is 1 here and follows from the number of pods
  bool operator==(const ParallelismAnnotation&) const = default;
};

// Sizes left out are 1. Errors: InvalidArgument that names the wrong part; a key given twice is
// one.
absl::StatusOr<ParallelismAnnotation> ParseParallelism(std::string_view text);

}  // namespace yardmaster::api
