#include "pkg/operator/network_profiles.h"

#include <algorithm>
#include <numeric>

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
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

// What one GPU sends to other hosts in an iteration, by the job's own profile.
double SentBytesPerGpu(const plan::JobState& state, int rails) {
  double bytes = 0;
  for (const auto& c : workload::ConnectionsOf(state.job, state.assignment->host_of_rank, rails)) {
    bytes += c.bytes;
  }
  return bytes / (static_cast<double>(state.job.workers) * state.job.gpus_per_worker);
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

MeasuredJob ApplyProfile(const std::map<int, std::shared_ptr<const api::Pod>>& members, int rails,
                         plan::JobState& job) {
  MeasuredJob out;
  if (job.job.profile.measured) out.source = api::NetworkSource::kMeasured;
  std::vector<api::ProfileReport> reports;
  for (const auto& [rank, pod] : members) {
    const auto text = api::Find(pod->metadata.annotations, api::kProfileAnnotation);
    if (!text) continue;
    auto report = api::DecodeProfileReport(*text);
    if (report.ok()) {
      reports.push_back(*std::move(report));
    } else {
      out.problems.push_back(StrCat("Pod ", pod->metadata.namespace_name, "/", pod->metadata.name,
                                    ": ", api::kProfileAnnotation, ": ",
                                    MessageOf(report.status())));
    }
  }
  const auto measured = Combine(reports, job.job.workers, job.job.gpus_per_worker);
  if (!measured || !job.assignment) return out;
  out.iteration_seconds = measured->iteration_seconds;
  workload::NetworkEstimate estimate;
  estimate.sent_bytes_per_gpu = SentBytesPerGpu(job, rails);
  const workload::BlendedProfile blended =
      workload::BlendProfile(job.job, measured->measurement, estimate);
  if (blended.source == workload::ProfileSource::kAnalytic) return out;
  job.job.profile = blended.profile;
  // Estimates are filled in already, and are not to be made anew from the blended numbers.
  job.job.profile.measured = true;
  out.source = blended.source == workload::ProfileSource::kMeasured ? api::NetworkSource::kMeasured
                                                                    : api::NetworkSource::kBlended;
  return out;
}

}  // namespace yardmaster::op
