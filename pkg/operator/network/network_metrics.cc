#include "pkg/operator/network/network_metrics.h"

#include <string>

namespace yardmaster::op {

namespace {

class Metrics {
 public:
  explicit Metrics(metrics::Registry& registry) : registry_(registry) {}

  void Gauge(const std::string& name, const std::string& help, double value,
             const metrics::Labels& labels = {}) {
    registry_.GetGauge("yardmaster_operator_" + name, help, labels).Set(value);
  }
  void Count(const std::string& name, const std::string& help, double more) {
    registry_.GetCounter("yardmaster_operator_" + name + "_total", help).Increment(more);
  }
  void Seconds(const std::string& name, const std::string& help, double value) {
    registry_.GetHistogram("yardmaster_operator_" + name, help, metrics::LatencyBuckets())
        .Observe(value);
  }

 private:
  metrics::Registry& registry_;
};

}  // namespace

void ReportWrites(const WriteResult& written, metrics::Registry& registry) {
  Metrics out(registry);
  out.Count("annotated_pods", "pods whose annotations were written",
            static_cast<double>(written.done));
  out.Count("released_pods", "of them, pinned and ungated with the same patch", written.released);
  out.Count("write_errors", "writes to be made again",
            static_cast<double>(written.failures.size()));
  out.Gauge("deferred_pods", "pods that the write limit lets wait", written.deferred);
}

void ReportRound(const RoundReport& report, double seconds, metrics::Registry& registry) {
  Metrics out(registry);
  out.Seconds("network_plan_seconds", "length of a network planning round", seconds);
  out.Seconds("network_compute_seconds", "of it, planning without reading and writing",
              report.plan_seconds);
  out.Gauge("placed_gangs", "gangs with a network plan", report.gangs);
  out.Gauge("measured_gangs", "of them, planned with measured profiles", report.measured_gangs);
  out.Count("network_statuses", "Gang and Fabric statuses written", report.statuses);
  WriteResult written;
  written.done = report.pods;
  written.released = report.released;
  written.deferred = report.deferred;
  written.failures = report.failures;
  ReportWrites(written, registry);
  out.Gauge("network_input_problems", "reports and annotations that cannot be used",
            static_cast<double>(report.problems.size()));

  const netplan::NetworkReport& plan = report.plan;
  out.Gauge("flows", "connections by what they have",
            plan.kept_flows + plan.changed_flows + plan.new_flows - plan.unplanned_flows,
            {{"port", "planned"}});
  out.Gauge("flows", "connections by what they have", plan.unplanned_flows, {{"port", "default"}});
  out.Count("replanned_flows", "connections that got another source port, or none any more",
            plan.changed_flows);
  out.Count("replanned_gangs", "gangs that chose paths", plan.changed_jobs);
  out.Gauge("oldest_path_plan_seconds", "age of the oldest path plan on a pod",
            report.oldest_plan_seconds);

  out.Gauge("cables", "cables that are not used, by why", report.cables_down, {{"state", "down"}});
  out.Gauge("cables", "cables that are not used, by why", report.cables_held, {{"state", "held"}});
  out.Gauge("cables", "cables that are not used, by why", report.cables_lossy,
            {{"state", "lossy"}});
  out.Gauge("lost_segments", "segments that are lost as a whole", report.lost_segments);
  if (report.lost_domains) {
    out.Gauge("lost_domains", "domains that are lost as a whole", *report.lost_domains);
  }
  out.Gauge("miswired_ports", "ports that are plugged into something else", report.miswired_ports);
  out.Gauge("nic_balancing_hosts", "hosts whose NICs choose paths by themselves",
            report.balancing_hosts);
  for (const repac::RoleTrust& role : report.roles) {
    out.Gauge("hash_mistrusted", "1: the role's switches do not hash as the Fabric says",
              role.verdict == repac::TrustVerdict::kMistrusted ? 1 : 0, {{"role", role.role}});
    out.Gauge("hash_checked_hops", "hops of the role that were compared", role.checked,
              {{"role", role.role}});
  }
  out.Gauge("starved_jobs", "jobs below their least share of the network", report.starving);
  out.Gauge("lifted_jobs", "jobs above their planned level for a while", report.lifted);
}

}  // namespace yardmaster::op
