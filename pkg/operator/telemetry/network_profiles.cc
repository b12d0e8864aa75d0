#include "pkg/operator/telemetry/network_profiles.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/netplan/flow_problem.h"
#include "pkg/workload/traffic.h"

namespace yardmaster::op {

namespace {

std::optional<double> Median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <typename Field>
std::optional<double> MedianOf(const std::vector<api::ProfileReport>& reports, Field field) {
  std::vector<double> values;
  for (const api::ProfileReport& report : reports) {
    if (const std::optional<double> value = field(report)) values.push_back(*value);
  }
  return Median(std::move(values));
}

// Held back by less is not told from undisturbed.
constexpr double kUndisturbed = 0.98;

// Of a host that states it.
std::string GpuModelOf(const fabric::Places& places, const placement::Cluster& cluster,
                       const std::string& host) {
  const fabric::HostId id = places.FindHost(host);
  if (!id.valid() || id.index() >= cluster.hosts.size()) return "";
  const std::size_t model = cluster.hosts[id.index()].gpu_model;
  return model < cluster.num_gpu_models() ? (*cluster.gpu_models)[model] : "";
}

// By the job's own profile.
workload::NetworkEstimate EstimateOf(const plan::JobState& state, const fabric::Network& network) {
  const fabric::FabricSpec& spec = network.spec();
  const auto connections = workload::ConnectionsOf(state.job, state.assignment->host_of_rank,
                                                   spec.rails, &network.places());
  double bytes = 0;
  for (const auto& c : connections) bytes += c.bytes;
  return {netplan::LoneSeconds(connections, spec), bytes / static_cast<double>(state.job.gpus())};
}

}  // namespace

std::optional<JobMeasurement> Combine(const std::vector<api::ProfileReport>& reports, int workers,
                                      int gpus_per_worker) {
  if (reports.empty()) return std::nullopt;
  using Report = api::ProfileReport;
  JobMeasurement out;
  workload::Measurement& m = out.measurement;
  std::vector<double> samples;
  for (const Report& report : reports) samples.push_back(static_cast<double>(report.samples));
  m.samples = static_cast<std::int64_t>(*Median(std::move(samples)));
  out.iteration_seconds = MedianOf(reports, [](const Report& r) { return r.iteration_seconds; });
  m.compute_seconds = MedianOf(reports, [](const Report& r) { return r.compute_seconds; });
  m.communication_seconds =
      MedianOf(reports, [](const Report& r) { return r.communication_seconds; });
  m.communication_start = MedianOf(reports, [](const Report& r) { return r.communication_start; });
  m.flop_per_iteration = MedianOf(reports, [](const Report& r) { return r.flop; });
  if (m.flop_per_iteration) *m.flop_per_iteration *= workers;
  m.sent_bytes_per_gpu =
      MedianOf(reports, [gpus_per_worker](const Report& r) -> std::optional<double> {
        if (r.sent_bytes.empty()) return std::nullopt;
        return std::accumulate(r.sent_bytes.begin(), r.sent_bytes.end(), 0.0) / gpus_per_worker;
      });
  return out;
}

std::optional<double> LoneTransfers::UncontendedSeconds(const NamespacedName& job,
                                                        std::optional<double> measured,
                                                        std::optional<double> share) {
  if (measured && (!share || *share >= kUndisturbed)) seconds_[job] = *measured;
  const auto at = seconds_.find(job);
  return measured && at != seconds_.end() ? std::optional(at->second) : std::nullopt;
}

void LoneTransfers::KeepOnly(const plan::Snapshot& snapshot) {
  std::set<NamespacedName> there;
  for (const plan::JobState& job : snapshot.jobs) there.insert(job.job.key);
  std::erase_if(seconds_, [&](const auto& entry) { return there.count(entry.first) == 0; });
}

MeasuredJob ApplyProfile(const std::map<int, std::shared_ptr<const api::Pod>>& members,
                         const fabric::Network& network, const placement::Cluster& cluster,
                         std::optional<double> share, LoneTransfers& transfers,
                         plan::JobState& job) {
  MeasuredJob out;
  if (job.job.profile.measured) out.source = api::NetworkSource::kMeasured;
  std::vector<api::ProfileReport> reports;
  std::vector<WorkerPace> paces;
  for (const auto& [rank, pod] : members) {
    const auto text = api::Find(pod->metadata.annotations, api::kProfileAnnotation);
    if (!text) continue;
    auto report = api::DecodeProfileReport(*text);
    if (report.ok()) {
      paces.push_back({rank, pod->node_name, pod->metadata.uid, report->samples,
                       report->recent_compute_seconds ? report->recent_compute_seconds
                                                      : report->compute_seconds,
                       report->gpu_clock_mhz, report->time_ms, report->cpu_throttled});
      paces.back().gpu_model = GpuModelOf(network.places(), cluster, pod->node_name);
      reports.push_back(*std::move(report));
    } else {
      out.problems.push_back(StrCat("Pod ", pod->metadata.namespace_name, "/", pod->metadata.name,
                                    ": ", api::kProfileAnnotation, ": ",
                                    MessageOf(report.status())));
    }
  }
  out.compared = CompareWorkers(paces, *job.groups);
  auto measured = Combine(reports, job.job.workers, job.job.gpus_per_worker);
  if (!measured || !job.assignment) return out;
  out.iteration_seconds = measured->iteration_seconds;
  std::optional<double>& seconds = measured->measurement.communication_seconds;
  seconds = transfers.UncontendedSeconds(job.job.key, seconds, share);
  const workload::BlendedProfile blended =
      workload::BlendProfile(job.job, measured->measurement, EstimateOf(job, network));
  if (blended.source == workload::ProfileSource::kAnalytic) return out;
  job.job.profile = blended.profile;
  // Estimates are filled in already, and are not computed again from the blended numbers.
  job.job.profile.measured = true;
  out.source = blended.source == workload::ProfileSource::kMeasured ? api::NetworkSource::kMeasured
                                                                    : api::NetworkSource::kBlended;
  return out;
}

}  // namespace yardmaster::op
