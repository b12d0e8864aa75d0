// A stream is what moves at one rate in a job: a flow on its own, or all hops of a ring.
// Simulation, search and evaluation work on streams, so that a fast hop does not take bandwidth
// that its ring cannot use.
//
// A stream of several hops carries `bytes`, those of its largest hop, each time it runs; its i-th
// link carries `uses[i]` times the stream's rate. A single flow has uses of 1, or of its shares.
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
  std::vector<std::int32_t> links;  // rising, each once
  std::vector<double> uses;         // beside links
};

// How far flows are merged into streams.
enum class Merging {
  kRings,  // as the problem says
  kJobs,   // flows of a job with the same start, every_iterations and background, as one ring
};

// The streams of `job` on `paths` (one entry per flow), in the order of their first flows.
// Complexity: O(L log L) in the links used.
std::vector<Stream> StreamsOf(const ContendingJob& job, std::span<const std::int32_t> paths,
                              Merging merging = Merging::kRings);
// How many streams StreamsOf gives for Merging::kJobs, for any paths. Complexity: O(F log F) in the
// flows.
std::size_t MergedStreamCount(const ContendingJob& job);

}  // namespace yardmaster::crux
