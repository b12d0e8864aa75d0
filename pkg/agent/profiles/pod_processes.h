// What the processes of pods do, as the host's /proc has it: stopped, waiting in the kernel, idle,
// or using CPUs. Read only while a worker makes no progress.
//
// The processes of a pod are those in its cgroup: the outermost folder of their path that is named
// by a pod's uid, as kubelet makes it with either driver ("pod<uid>", "kubepods-pod<uid>.slice"); a
// folder that a tenant makes below it does not count. A process counts by the CPU time that it has
// used: one below a hundredth of its pod's, such as a shell that somebody left stopped, says
// nothing of the pod.
//
// Of a row of samples:
//   restarted         in the newest, most CPU time was used by processes younger than the pause
//   kStopped          in every sample a process that counts is stopped
//   kUninterruptible  in every sample one that counts waits in the kernel and none runs, and all
//                     together use less than 2% of a CPU
//   kIdle, kBusy      they use less than a tenth of a CPU, or more
//
// Thread safety: of the functions, which have no state and read the file system: any thread.
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
  char state = '?';  // as /proc/<pid>/stat has it
  std::int64_t cpu_ms = 0;
  std::int64_t start_ms = 0;  // after the boot
};

// nullopt for what is no such line. `text` may be anything.
std::optional<ProcessStat> ParseProcessStat(std::string_view text, std::int64_t ticks_per_second);

// The uid of the pod that the cgroups of a process lie in, with dashes; empty: of none.
std::string PodOfCgroups(std::string_view text);

// By uid of a pod, the ids of its processes.
using PodPids = std::map<std::string, std::vector<int>>;
PodPids FindPodPids(const std::string& proc_root);

struct ProcessSample {
  std::int64_t boot_ms = 0;  // when it was taken, after the boot
  std::vector<ProcessStat> processes;
};

// CPU time that all of them have used.
std::int64_t CpuOf(const ProcessSample& sample);

// Processes that are gone are left out. nullopt: the time since the boot cannot be read, or no
// process.
std::optional<ProcessSample> SampleProcesses(const std::string& proc_root,
                                             const std::vector<int>& pids);

// Samples of the pods of a host. Which processes a pod has is read again every ten seconds, and
// only when it is asked for. Thread safety: none.
class PodProcesses {
 public:
  // `proc_root`: empty: nothing is known.
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

// The last kSummarySamples; until there are as many the activity is not known. `quiet_ms`: how long
// the worker has made no progress.
ProcessSummary Summarize(const std::deque<ProcessSample>& samples, std::int64_t quiet_ms);

}  // namespace yardmaster::agent
