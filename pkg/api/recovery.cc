#include "pkg/api/recovery.h"

#include <string_view>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/status_word.h"
#include "pkg/api/time_field.h"
#include "pkg/base/clock.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr std::string_view kSegmentLossNames[] = {"Move", "Wait"};
constexpr std::string_view kHostLossNames[] = {"Replace", "Restart", "Fail"};
constexpr std::string_view kRuleActionNames[] = {"Ignore", "Replace", "Restart", "Fail",
                                                 "ReplaceHost"};
constexpr std::string_view kCauseNames[] = {"HostLost",         "WorkerFailed", "WorkerRemoved",
                                            "DeadlineExceeded", "HostFault",    "SegmentLost"};
constexpr int kMaxRanks = 1'000'000;
constexpr ListRule kExitCodes = {.max_entries = 255, .min_entries = 1, .is_set = true};

void ReadRules(FieldReader& recovery, std::vector<FailureRule>& rules) {
  for (FieldReader& in : recovery.Objects("rules", {32})) {
    FailureRule rule;
    rule.action = in.Enum("action", kRuleActionNames, rule.action);
    rule.container = in.String("container", NotEmpty(kLabelValue));
    const bool listed = in.has("exitCodes");
    const bool other = in.has("exitCodesNotIn");
    rule.not_in = other;
    rule.exit_codes = in.Ints(other ? "exitCodesNotIn" : "exitCodes", 1, 255, kExitCodes);
    if (listed && other) in.Ints("exitCodes", 1, 255, kExitCodes);
    rule.pod_condition = in.String("podCondition", TextRule{316, 1});
    if (int{listed} + int{other} + int{!rule.pod_condition.empty()} != 1) {
      in.errors().Add(in.path(),
                      "matches by none or by several of exitCodes, exitCodesNotIn and "
                      "podCondition",
                      "give exactly one of them");
    }
    in.Close();
    rules.push_back(std::move(rule));
  }
}

Incident ReadIncident(FieldReader& in) {
  Incident out;
  out.attempt = in.Int64("attempt", 0, 0, INT64_MAX);
  out.cause = ReadWord(in, "cause", kCauseNames, IncidentCause::kWorkerRemoved);
  out.action = in.Enum("action", kHostLossNames, out.action);
  out.counted = in.Bool("counted", false);
  out.ranks = in.Ints("ranks", 0, kMaxRanks, {.max_entries = 16'384, .is_set = true});
  out.first_rank = in.Int("firstRank", -1, -1, kMaxRanks);
  out.host = in.String("host", kObjectName);
  out.segment = in.String("segment", TextRule{127});
  out.blames_host = in.Bool("blamesHost", false);
  if (in.has("exitCode")) out.exit_code = in.Int("exitCode", 0, INT32_MIN, INT32_MAX);
  out.message = in.String("message", kMessage);
  out.start_ms = in.TimeMs("startTime");
  out.not_before_ms = in.TimeMs("notBefore");
  out.end_ms = in.TimeMs("endTime");
  in.Close();
  return out;
}

}  // namespace

RecoveryPolicy ReadRecoveryPolicy(FieldReader& spec) {
  FieldReader recovery = spec.Object("recovery");
  RecoveryPolicy policy;
  policy.on_host_loss = recovery.Enum("onHostLoss", kHostLossNames, policy.on_host_loss);
  policy.on_segment_loss =
      recovery.Enum("onSegmentLoss", kSegmentLossNames, policy.on_segment_loss);
  policy.on_worker_failure =
      recovery.Enum("onWorkerFailure", kHostLossNames, policy.on_worker_failure);
  policy.restart_window_seconds =
      recovery.Int("restartWindowSeconds", policy.restart_window_seconds, 1, kMaxSeconds);
  policy.backoff_seconds = recovery.Int("backoffSeconds", policy.backoff_seconds, 0, kMaxSeconds);
  policy.max_backoff_seconds =
      recovery.Int("maxBackoffSeconds", policy.max_backoff_seconds, 0, kMaxSeconds);
  policy.in_place_seconds = recovery.Int("inPlaceSeconds", policy.in_place_seconds, 0, kMaxSeconds);
  ReadRules(recovery, policy.rules);
  policy.host_grace_seconds =
      recovery.Int("hostGraceSeconds", policy.host_grace_seconds, 0, kMaxSeconds);
  policy.max_restarts = recovery.Int("maxRestarts", policy.max_restarts, 0, 1'000'000);
  recovery.Close();
  return policy;
}

json EncodeRecoveryPolicy(const RecoveryPolicy& policy) {
  json out = {
      {"onHostLoss", kHostLossNames[static_cast<std::size_t>(policy.on_host_loss)]},
      {"onSegmentLoss", kSegmentLossNames[static_cast<std::size_t>(policy.on_segment_loss)]},
      {"onWorkerFailure", kHostLossNames[static_cast<std::size_t>(policy.on_worker_failure)]},
      {"hostGraceSeconds", policy.host_grace_seconds},
      {"maxRestarts", policy.max_restarts},
      {"restartWindowSeconds", policy.restart_window_seconds},
      {"backoffSeconds", policy.backoff_seconds},
      {"maxBackoffSeconds", policy.max_backoff_seconds},
      {"inPlaceSeconds", policy.in_place_seconds}};
  for (const FailureRule& rule : policy.rules) {
    json entry = {{"action", kRuleActionNames[static_cast<std::size_t>(rule.action)]}};
    if (!rule.container.empty()) entry["container"] = rule.container;
    if (!rule.pod_condition.empty()) {
      entry["podCondition"] = rule.pod_condition;
    } else {
      entry[rule.not_in ? "exitCodesNotIn" : "exitCodes"] = rule.exit_codes;
    }
    out["rules"].push_back(std::move(entry));
  }
  return out;
}

RecoveryState ReadRecoveryState(FieldReader in) {
  RecoveryState out;
  out.attempt = in.Int64("attempt", 0, 0, INT64_MAX);
  out.min_attempt = in.Int64("minAttempt", 0, 0, INT64_MAX);
  out.running_attempt = in.Int64("runningAttempt", -1, -1, INT64_MAX);
  out.window_start_ms = in.TimeMs("windowStart");
  out.restarts_in_window = in.Int("restartsInWindow", 0, 0, INT32_MAX);
  out.consecutive_restarts = in.Int("consecutiveRestarts", 0, 0, INT32_MAX);
  for (FieldReader& incident : in.Objects("incidents", {10})) {
    out.incidents.push_back(ReadIncident(incident));
  }
  for (FieldReader& host : in.Objects("avoidedHosts", {32})) {
    out.avoided.push_back({host.RequiredString("host", kObjectName), host.TimeMs("until")});
    host.Close();
  }
  out.suspended = in.Bool("suspended", false);
  out.checkpoint_requested_ms = in.TimeMs("checkpointRequested");
  in.Close();
  return out;
}

json EncodeRecoveryState(const RecoveryState& state) {
  json out = {{"attempt", state.attempt},
              {"minAttempt", state.min_attempt},
              {"runningAttempt", state.running_attempt},
              {"restartsInWindow", state.restarts_in_window},
              {"consecutiveRestarts", state.consecutive_restarts},
              {"incidents", json::array()}};
  EncodeTime("windowStart", state.window_start_ms, out);
  for (const Incident& incident : state.incidents) {
    json entry = {{"attempt", incident.attempt},
                  {"cause", kCauseNames[static_cast<std::size_t>(incident.cause)]},
                  {"action", kHostLossNames[static_cast<std::size_t>(incident.action)]},
                  {"counted", incident.counted},
                  {"ranks", incident.ranks},
                  {"message", incident.message}};
    if (incident.first_rank >= 0) entry["firstRank"] = incident.first_rank;
    if (!incident.host.empty()) entry["host"] = incident.host;
    if (!incident.segment.empty()) entry["segment"] = incident.segment;
    if (incident.blames_host) entry["blamesHost"] = true;
    if (incident.exit_code) entry["exitCode"] = *incident.exit_code;
    EncodeTime("startTime", incident.start_ms, entry);
    EncodeTime("notBefore", incident.not_before_ms, entry);
    EncodeTime("endTime", incident.end_ms, entry);
    out["incidents"].push_back(std::move(entry));
  }
  // A merge patch replaces lists as a whole and keeps fields that are left out.
  out["avoidedHosts"] = json::array();
  for (const AvoidedHost& avoided : state.avoided) {
    json entry = {{"host", avoided.host}};
    EncodeTime("until", avoided.until_ms, entry);
    out["avoidedHosts"].push_back(std::move(entry));
  }
  out["suspended"] = state.suspended;
  out["checkpointRequested"] = nullptr;
  EncodeTime("checkpointRequested", state.checkpoint_requested_ms, out);
  return out;
}

}  // namespace yardmaster::api
