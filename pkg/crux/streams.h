// Defines streams: a stream is what moves at one rate in a job, which is a single flow or all hops
// of a ring. Simulation, search and evaluation use streams, so that a fast hop does not take
// bandwidth that its ring cannot use.
//
// A stream carries `bytes`, those of its largest hop, each time it runs. Its i-th link carries
// `uses[i]` times the stream's rate. A single flow has uses of 1, or of its shares.
//
// Deterministic. Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct Stream {
  double bytes = 0;
  double start = 1;  // fraction of compute after which it may start
  std::int32_t every_iterations = 1;
  bool background = false;
  std::vector<std::int32_t> links;  // ascending, each once
  std::vector<double> uses;         // parallel to links
};

// How flows are merged into streams.
enum class Merging {
  kRings,  // as rings of the problem
  kJobs,   // flows of a job with equal start, every_iterations and background
};

// Returns the streams of `job` on `paths` (one entry per flow), ordered by their first flow.
// Complexity: O(L log L) in the links used.
std::vector<Stream> StreamsOf(const ContendingJob& job, std::span<const std::int32_t> paths,
                              Merging merging = Merging::kRings);
// Returns the number of streams with Merging::kJobs, for any paths. Complexity: O(F log F) in the
// flows.
std::size_t MergedStreamCount(const ContendingJob& job);

}  // namespace yardmaster::crux
