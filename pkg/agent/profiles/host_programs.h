// Reads from other programs of the host, on its own thread, because they may be slow: FLOP of GPUs
// from a dcgm-exporter (gpu_observer.h), neighbours from an LLDP daemon (neighbour_observer.h).
//
// Thread safety: Start and Stop from one thread; the others from any. Lifetimes: what `timing`,
// `registry`, `log` and `ports` refer to outlives the object.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pkg/agent/plans/pod_input.h"
#include "pkg/agent/ports/neighbour_observer.h"
#include "pkg/agent/profiles/gpu_observer.h"
#include "pkg/base/run_once.h"
#include "pkg/kube/timing.h"
#include "pkg/metrics/loop.h"
#include "pkg/metrics/registry.h"

namespace yardmaster::agent {

struct HostProgramOptions {
  // http://... or a file of a dcgm-exporter's metrics; empty: GPUs are not measured.
  std::string gpu_metrics = {};
  // "MODEL=TERAFLOPS@MEGAHERTZ", in addition to the known models.
  std::vector<std::string> gpu_peaks = {};
  std::int64_t gpu_interval_ms = GpuOptions().interval_ms;
  // What lldpcli prints, or a command that prints it; empty: none.
  std::string lldp_file = {};
  std::string lldp_command = {};
  // YAML (neighbour_names.h); empty: neighbours are a metric only.
  std::string lldp_names_file = {};
};

class HostPrograms {
 public:
  explicit HostPrograms(HostProgramOptions options) : options_(std::move(options)) {}
  ~HostPrograms() { Stop(); }

  // Adds metrics too. Errors: InvalidArgument that names the flag.
  absl::Status Start(const std::string& node, const std::string& sysfs_root,
                     std::function<std::vector<LocalNicPort>()> ports, const kube::Timing& timing,
                     metrics::Registry& registry, const metrics::Logger& log);
  void Stop();

  // Adds the FLOP to a report of a pod that has none.
  void Fill(const std::optional<PodInput>& pod, api::ProfileReport& report) const;
  // True if the pod's GPUs compute; nullopt: not known.
  std::optional<bool> GpusCompute(const std::optional<PodInput>& pod) const;
  std::optional<std::string> Neighbours() const;
  // Returns why something is not measured; empty: all is.
  std::vector<absl::Status> problems() const;

 private:
  RunResult RunOnce(std::int64_t now_ms);
  absl::Status MakeGpus();
  absl::Status MakeNeighbours(const std::string& node, const std::string& sysfs_root,
                              std::function<std::vector<LocalNicPort>()> ports);

  const HostProgramOptions options_;
  std::unique_ptr<GpuObserver> gpus_;              // not changed after Start
  std::unique_ptr<NeighbourObserver> neighbours_;  // the same
  std::unique_ptr<metrics::Loop> loop_;            // the same
  std::jthread thread_;
};

}  // namespace yardmaster::agent
