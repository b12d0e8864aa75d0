// Observes the jobs on its host without their help: iterations from the NICs' byte counters
// (traffic_meter.h), whether they continue (progress_observer.h), and what the shims in the
// containers did (shim_report.h).
//
//   - The traffic of a gang's pod is measured by the counters of the NIC ports that only it has
//     (pod_nics.h). If these are not known, it is measured by all ports of the host while no pod of
//     another gang is there.
//   - A pod that reports by itself is not measured.
//   - The host's ports come from the file, or from discovery if it finds as many as the Fabric has.
//   - Counters are read every `traffic.interval_ms` while there is something to measure.
//
//   while (sleeper.Sleep(observer.Step(clock.SteadyMs()), stop)) {}
//
// Thread safety: Step from one thread; the others from any. Lifetime: what the functions use
// outlives the object.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pkg/agent/plans/effective_plan.h"
#include "pkg/agent/plans/pod_nics.h"
#include "pkg/agent/plans/shim_report.h"
#include "pkg/agent/ports/local_nic_port.h"
#include "pkg/agent/profiles/progress_observer.h"
#include "pkg/agent/profiles/traffic_meter.h"
#include "pkg/base/mutex.h"
#include "pkg/rpc/agent_status.h"

namespace yardmaster::agent {

struct ObserverOptions {
  std::string sysfs_root;           // empty: traffic is not measured
  std::vector<LocalNicPort> ports;  // empty: discovery
  std::string kubelet_pods_folder;  // empty: shim reports are not read
  TrafficOptions traffic;
  std::int64_t shim_interval_ms = 10'000;
  std::int64_t measure_interval_ms = 30'000;
};

class HostJobObserver {
 public:
  struct Sources {
    std::function<std::vector<rpc::PodPlanStatus>()> pods;  // pods with a place in a gang
    std::function<std::optional<FabricView>()> fabric;
    std::function<absl::Status(const rpc::IterationReport&)> take;
    // Returns the ports that pods have for themselves, among the given ports of the host. Empty:
    // not known for any pod.
    std::function<std::vector<PodNics>(const std::vector<LocalNicPort>&)> nics;
  };

  // `progress`: null, or the observer that gets the pods and their traffic and is stepped.
  HostJobObserver(ObserverOptions options, Sources sources, ProgressObserver* progress = nullptr)
      : options_(std::move(options)), sources_(std::move(sources)), progress_(progress) {}

  // Does what is due. Returns the milliseconds until the next call.
  std::int64_t Step(std::int64_t steady_ms);
  // Ends the measurement of a pod whose process reports its own measurements.
  void StopMeasuring(const std::string& pod_uid);

  // Sum over all pods, as last read. Pods without the volume are not included.
  ShimSummary shims() const;
  std::map<std::string, ShimSummary> shims_by_pod() const;
  std::int64_t measured() const { return measured_; }

 private:
  struct Measurement {
    TrafficMeter meter;
    std::int64_t next_ms = 0;  // when the meter is asked
  };

  std::map<std::string, std::vector<LocalNicPort>> PodsToMeasure() const;
  void ChooseMeasurements();
  void Measure(std::int64_t steady_ms, const std::string& pod_uid, Measurement& measurement);
  void ReadShims();

  const ObserverOptions options_;
  const Sources sources_;
  ProgressObserver* const progress_;
  // By pod; the stepping thread's, as what follows.
  std::map<std::string, Measurement> measurements_;
  std::int64_t pods_checked_ms_ = -1;
  std::int64_t next_shims_ms_ = 0;

  mutable Mutex mutex_;
  std::set<std::string> reporting_ ABSL_GUARDED_BY(mutex_);           // pods that report themselves
  std::map<std::string, ShimSummary> shims_ ABSL_GUARDED_BY(mutex_);  // by pod
  std::atomic<std::int64_t> measured_ = 0;
};

}  // namespace yardmaster::agent
