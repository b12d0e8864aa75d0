#include "pkg/app/report_intake.h"

#include <vector>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::app {

namespace {

constexpr std::int64_t kIntakePollMs = 200;
constexpr char kReportsAudience[] = "yardmaster.dev/reports";
// Agents that connect together, after a change of the leader, are looked up at this rate.
constexpr ClientLimits kReviewLimits{.qps = 500, .burst = 1'000};

}  // namespace

void ReportIntake::AddMetrics() {
  metrics::Registry& registry = runtime_.registry();
  registry.AddGaugeSource("yardmaster_operator_agent_streams", "agents that report over a stream",
                          [this] { return server_->stats().streams; });
  registry.AddCounterSource("yardmaster_operator_agent_reports_total", "reports over streams",
                            [this] { return server_->stats().reports; });
  registry.AddCounterSource("yardmaster_operator_agent_streams_refused_total",
                            "streams ended for their agent's identity or what it sent",
                            [this] { return server_->stats().refused; });
}

void ReportIntake::FollowLeadership(const std::stop_token& stop) {
  RunResult result;
  do {
    result = loop_.RunOnce([this] {
      server_->SetServing(leadership_.IsLeader());
      return RunResult{.again_ms = kIntakePollMs};
    });
  } while (runtime_.timing().sleeper.Sleep(*result.again_ms, stop));
}

absl::Status ReportIntake::Start(KubeAccess& access) {
  if (options_.address.empty()) return absl::OkStatus();
  if (account_.find(':') == std::string::npos) {
    return FieldError("--reports-service-account", "is not a namespace and a name",
                      "give namespace:name of the agents' ServiceAccount");
  }
  YM_ASSIGN_OR_RETURN(review_client_, access.NewClient(kReviewLimits));
  node_tokens_ = std::make_unique<op::NodeToken>(*review_client_, account_, kReportsAudience);
  YM_ASSIGN_OR_RETURN(
      server_, rpc::ReportServer::Start(
                   options_, runtime_.clock(),
                   [this](const std::string& token) { return node_tokens_->NodeOf(token); },
                   {[this](const std::string& node, const std::vector<api::NicPortKey>& down) {
                      links_.Put(node, down);
                    },
                    [this](const std::string& node) { links_.Drop(node); }}));
  AddMetrics();
  thread_ = std::jthread([this](const std::stop_token& stop) { FollowLeadership(stop); });
  return absl::OkStatus();
}

void ReportIntake::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  if (server_ != nullptr) server_->Stop();
}

}  // namespace yardmaster::app
