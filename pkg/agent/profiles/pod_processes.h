// Determines what the processes of pods do, from the host's /proc: stopped, in uninterruptible
// sleep, idle, or using CPUs. Read only while a worker makes no progress.
//
// A process belongs to the pod in whose cgroup it is: the outermost folder of its path that is
// named by a pod's uid, as kubelet names it with either driver ("pod<uid>",
// "kubepods-pod<uid>.slice"). A folder that a tenant creates below it is ignored. A process with
// less than a hundredth of its pod's CPU time, such as a stopped shell, is ignored.
//
// Result of a series of samples:
//
//   restarted         in the newest sample, most CPU time was used by processes that started during
//                     the pause
//   kStopped          a process is stopped in every sample
//   kUninterruptible  a process is in uninterruptible sleep and none runs in every sample, and all
//                     together use less than 2 % of a CPU
//   kIdle, kBusy      they use less than a tenth of a CPU, or more
//
// Thread safety: the functions have no state and read the file system; PodProcesses is for one
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/progress_report.h"

namespace yardmaster::agent {

struct ProcessStat {
  char state = '?';  // as in /proc/<pid>/stat
  std::int64_t cpu_ms = 0;
  std::int64_t start_ms = 0;  // after the boot
};

// nullopt if the text is no such line. `text` may be anything.
std::optional<ProcessStat> ParseProcessStat(std::string_view text, std::int64_t ticks_per_second);

// Returns the uid, with dashes, of the pod to which a process's cgroups belong; empty: none.
std::string PodOfCgroups(std::string_view text);

// By uid of a pod, the ids of its processes.
using PodPids = std::map<std::string, std::vector<int>>;
PodPids FindPodPids(const std::string& proc_root);

struct ProcessSample {
  std::int64_t boot_ms = 0;  // when it was taken, after the boot
  std::vector<ProcessStat> processes;
};

// Returns the CPU time of all processes, in ms.
std::int64_t CpuOf(const ProcessSample& sample);

// Processes that are gone are omitted. nullopt: the time since the boot cannot be read, or no
// process exists.
std::optional<ProcessSample> SampleProcesses(const std::string& proc_root,
                                             const std::vector<int>& pids);

// Samples the pods of a host. The assignment of processes to pods is read again every ten seconds,
// and only on request. Thread safety: one thread.
class PodProcesses {
 public:
  // `proc_root` empty: Sample always returns nullopt.
  explicit PodProcesses(std::string proc_root) : proc_root_(std::move(proc_root)) {}

  std::optional<ProcessSample> Sample(std::int64_t steady_ms, const std::string& pod_uid);

 private:
  const std::string proc_root_;
  PodPids pids_;
  std::int64_t next_pids_ms_ = 0;
};

struct ProcessSummary {
  api::ProcessActivity activity = api::ProcessActivity::kUnknown;
  bool restarted = false;
};

inline constexpr std::size_t kSummarySamples = 8;

// Summarizes the last kSummarySamples samples; with fewer the activity is unknown. `quiet_ms`: how
// long the worker has made no progress.
ProcessSummary Summarize(const std::deque<ProcessSample>& samples, std::int64_t quiet_ms);

}  // namespace yardmaster::agent
