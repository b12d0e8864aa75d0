// Exports the metrics yardmaster_agent_* on /metrics. Thread safety: any thread. Lifetime: what the
// sources read outlives the registry's last Text().
#pragma once

#include <functional>
#include <memory>

#include "pkg/agent/link_reporter.h"
#include "pkg/agent/plans/plan_loop.h"
#include "pkg/agent/profiles/host_job_observer.h"
#include "pkg/agent/profiles/profile_collector.h"
#include "pkg/agent/profiles/report_relay.h"
#include "pkg/metrics/registry.h"
#include "pkg/rpc/report_stream.h"

namespace yardmaster::agent {

// `links` returns null while no reporter exists.
void AddAgentMetrics(metrics::Registry& registry,
                     std::function<std::shared_ptr<const PlanReport>()> report,
                     std::function<const LinkReporter*()> links);

void AddReportMetrics(metrics::Registry& registry, const ProfileCollector& profiles,
                      const ReportRelay& relay);

void AddStreamMetrics(metrics::Registry& registry, const rpc::ReportStream& stream);

void CountNotice(metrics::Registry& registry, NoticeKind kind);

// `observer` returns null while no observer exists.
void AddObserverMetrics(metrics::Registry& registry,
                        std::function<const HostJobObserver*()> observer);

}  // namespace yardmaster::agent
