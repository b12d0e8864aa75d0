// Measures how much a pod is throttled by its own CPU limit, from the cpu.stat files of its
// cgroups.
//
// The kernel enforces a limit in periods, usually of 100 ms. For each cgroup with a limit it counts
// the periods in which its processes ran, and those in which they used up the limit and had to
// wait. The fraction of a pod is taken over the last kWindowMs: the higher one of its own cgroup
// and of the container that used the most CPU time, because a small limit of a sidecar does not
// slow the training. A cgroup above the pod's, such as kubelet's or the host's, is not the pod's
// limit and is ignored.
//
// The cgroups of a pod are found by its uid below kubelet's folder, as kubelet names it with either
// driver (kubepods.slice/..., kubepods/...), with cgroup v2 or v1. Those of a kubelet with its own
// --cgroup-root are not found, and the result is unknown.
//
// Thread safety: CpuThrottle from any thread; the functions are pure functions of the file system.
// Complexity: for each pod at most kMaxContainers files every kSampleMs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/base/mutex.h"

namespace yardmaster::agent {

// Totals of one cgroup.
struct ThrottleCounters {
  std::int64_t periods = 0;
  std::int64_t throttled = 0;  // of them
  std::int64_t usage_us = 0;   // of CPU time; 0: not known
  bool operator==(const ThrottleCounters&) const = default;
};

// nullopt if the text is not such a file, or has impossible counters. `text` may be
// anything.
std::optional<ThrottleCounters> ParseCpuStat(std::string_view text);

// Returns the cgroup of a pod below `cgroup_root` ("/sys/fs/cgroup"); empty: there is none, or
// `pod_uid` is no uid.
std::string PodCgroup(const std::string& cgroup_root, std::string_view pod_uid);

class CpuThrottle {
 public:
  static constexpr std::int64_t kWindowMs = 30'000;
  static constexpr std::int64_t kSampleMs = 5'000;
  static constexpr std::int64_t kMinPeriods = 10;
  static constexpr std::size_t kMaxContainers = 64;

  // `cgroup_root` empty: Fraction always returns nullopt.
  explicit CpuThrottle(std::string cgroup_root) : cgroup_root_(std::move(cgroup_root)) {}

  // Reads the pod's files, unless they were read recently. Returns the fraction of its periods that
  // were throttled; nullopt: not known, no limit, or it has hardly run.
  std::optional<double> Fraction(std::int64_t steady_ms, const std::string& pod_uid);

 private:
  struct Sample {
    std::int64_t steady_ms = 0;
    // "": the pod's own cgroup; else by the container's folder.
    std::map<std::string, ThrottleCounters> cgroups;
  };
  struct Pod {
    std::string folder;
    std::deque<Sample> samples;
  };

  void Read(std::int64_t steady_ms, const std::string& pod_uid, Pod& pod) const;
  void Forget(std::int64_t steady_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string cgroup_root_;
  Mutex mutex_;
  std::map<std::string, Pod> pods_ ABSL_GUARDED_BY(mutex_);  // by uid
};

}  // namespace yardmaster::agent
