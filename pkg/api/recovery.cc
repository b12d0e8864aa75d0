#include "pkg/api/recovery.h"

#include <string_view>
#include <utility>

#include "pkg/api/gang.h"
#include "pkg/api/standby.h"

namespace yardmaster::api {

namespace {

constexpr std::string_view kSegmentLossNames[] = {"Move", "Wait"};
constexpr std::string_view kBandwidthLossNames[] = {"Keep", "Replace"};
constexpr std::string_view kSlowHostNames[] = {"Keep", "Replace"};
constexpr std::string_view kStallNames[] = {"Keep", "Restart"};
constexpr std::string_view kHostLossNames[] = {"Replace", "Restart", "Fail"};
constexpr std::string_view kUnitNames[] = {"Job", "DataGroup"};
constexpr std::string_view kRuleActionNames[] = {"Ignore", "Replace", "Restart", "Fail",
                                                 "ReplaceHost"};
constexpr int kMaxRanks = 1'000'000;
constexpr ListRule kExitCodes = {.max_entries = 255, .min_entries = 1, .is_set = true};

}  // namespace

void FailureRule::Describe(FieldVisitor& fields) {
  fields.Enum(
      "action", action, kRuleActionNames,
      RequiredByServer(
          "Ignore does as onWorkerFailure says and leaves the restart budget as it is; "
          "Replace replaces the pod of the failed rank; Restart replaces all pods; Fail ends the "
          "job; ReplaceHost does as onWorkerFailure says, or restarts where that is Fail, and "
          "the job avoids the host of the failed worker for a day."));
  fields.Text("container", container, NotEmpty(kLabelValue),
              "The container whose exit code counts. Left out: any.");
  const bool by_code = pod_condition.empty();
  std::vector<int> in, other;
  if (by_code) (not_in ? other : in) = exit_codes;
  fields.Ints("exitCodesNotIn", other, 1, 255, kExitCodes,
              "Matches every exit code but 0 and these.", "An exit code.");
  fields.Ints("exitCodes", in, 1, 255, kExitCodes, "Matches these exit codes.", "An exit code.");
  fields.Text("podCondition", pod_condition, TextRule{316, 1},
              "Matches a pod condition of this type that is True, for example DisruptionTarget.");
  fields.Rule(
      "[has(self.exitCodes), has(self.exitCodesNotIn), has(self.podCondition)].filter(x, x).size() "
      "== 1",
      "a rule has one condition; give exactly one of exitCodes, exitCodesNotIn and podCondition");
  fields.Check([&](FieldReader& rule) {
    not_in = rule.has("exitCodesNotIn");
    exit_codes = std::move(not_in ? other : in);
    if (int{rule.has("exitCodes")} + int{not_in} + int{!pod_condition.empty()} != 1) {
      rule.errors().Add(rule.path(),
                        "matches by none or by several of exitCodes, exitCodesNotIn and "
                        "podCondition",
                        "give exactly one of them");
    }
  });
}

void RecoveryPolicy::Describe(FieldVisitor& fields) {
  const auto seconds = [&](const char* key, int& value, int min, const char* meaning) {
    fields.Int(key, value, min, kMaxSeconds, Defaulted(meaning));
  };
  fields.Enum(
      "onHostLoss", on_host_loss, kHostLossNames,
      Defaulted("Replace moves the rank to another host and leaves the others, for "
                "frameworks whose communicators survive it; Restart restarts all workers, "
                "those on healthy hosts inside their pods where they can; Fail ends the job."));
  fields.Enum("onSegmentLoss", on_segment_loss, kSegmentLossNames,
              Defaulted("What happens when a whole segment is lost, as with its switches or its "
                        "power. Move does as onHostLoss says, and the ranks there move to other "
                        "segments together where the limits of placement allow it; Wait leaves the "
                        "pods where they are until it is back."));
  fields.Enum("onBandwidthLoss", on_bandwidth_loss, kBandwidthLossNames,
              Defaulted("What happens where NICs spray and one host holds the job back, because "
                        "ports of its NICs are down. Keep does nothing; Replace does as onHostLoss "
                        "says, or restarts where that is Fail, once a host of its segment that "
                        "would not hold the job back is free."));
  fields.Enum("onSlowHost", on_slow_host, kSlowHostNames,
              Defaulted("What happens when the worker of one host computes longer than the workers "
                        "of its stages, as measured by the agents. Keep does nothing; Replace does "
                        "as onHostLoss says, or restarts where that is Fail, once another host of "
                        "its segment is free."));
  fields.Enum(
      "onWorkerFailure", on_worker_failure, kHostLossNames,
      Defaulted("What follows when a worker fails and no rule says otherwise; values as for "
                "onHostLoss."));
  fields.Enum(
      "unit", unit, kUnitNames,
      Defaulted("Which workers restart where Restart is asked for. Job: all of them. DataGroup: "
                "those of the data groups concerned, which are all workers of one index of "
                "data parallelism across its stages and tensor groups; the others go on. For "
                "frameworks that bear the loss of replicas, such as TorchFT."));
  seconds("restartWindowSeconds", restart_window_seconds, 1,
          "The restart budget is full again this long after its first use.");
  seconds("backoffSeconds", backoff_seconds, 0,
          "Wait before the second restart in a row; doubles with each. The first is immediate; ten "
          "minutes of all workers running end the row.");
  seconds("maxBackoffSeconds", max_backoff_seconds, 0, "Longest wait before a restart.");
  seconds("inPlaceSeconds", in_place_seconds, 0,
          "How long a container may take to restart inside its pod before the pod is replaced. 0, "
          "pods are always replaced and get restartPolicy Never where the template sets none.");
  fields.Objects(
      "rules", rules, {32},
      "What follows from the way in which a worker failed; the first rule that matches decides.",
      "Matches the worker that failed first.");
  seconds("hostGraceSeconds", host_grace_seconds, 0,
          "A host that is NotReady or gone this long is lost.");
  fields.Int("maxRestarts", max_restarts, 0, 1'000'000,
             Defaulted("Restarts within one window before the job fails. Failures of one incident "
                       "count once; lost hosts and disrupted workers do not count."));
  fields.Enum("onStall", on_stall, kStallNames,
              Defaulted("What happens when all workers run and make no progress, as the agents see "
                        "it. Keep shows it in the condition Stalled; Restart restarts all workers, "
                        "whatever unit says, on other hosts where a single host is the suspect, "
                        "and takes a restart of the budget, at most once an hour."));
  seconds("stallSeconds", stall_seconds, 0,
          "How long no iteration may end before a job counts as stalled whose processes all seem "
          "to run. 0: 600. Stopped processes count after 30 s.");
  fields.Int("standby", standby, 0, kMaxStandbys,
             Defaulted("On how many hosts that replacements would use the images of the workers "
                       "are pulled before one is needed. 0: on none. The hosts stay free."));
}

void Incident::Describe(FieldVisitor& fields) {
  fields.Int("attempt", attempt, 0, INT64_MAX, "The attempt that it began.");
  fields.Word("cause", cause, kIncidentCauseNames, IncidentCause::kWorkerRemoved, "What happened.");
  fields.Enum("action", action, kHostLossNames, "What was decided.");
  fields.Bool("counted", counted, "Whether it counts against the restart budget.");
  fields.Ints(
      "ranks", ranks, 0, kMaxRanks, {.max_entries = kMaxListedRanks, .is_set = true},
      About("Ranks that caused it; with Replace those whose pods are replaced, else at most 64. "
            "Pods of roles have the numbers after the last rank, in the order of spec.roles.")
          .Always(),
      "A rank.");
  fields.Int("firstRank", first_rank, -1, kMaxRanks,
             About("The rank that was lost or failed first.").OmitAt(-1));
  fields.Text("host", host, kObjectName, "Its host.");
  fields.Text("segment", segment, TextRule{127},
              "Of SegmentLost: the segment, after its fabric pod and a slash.");
  fields.Text("domain", domain, TextRule{191},
              "Of DomainLost: the domain, after its fabric pod, its segment and slashes.");
  fields.Bool("blamesHost", blames_host,
              About("Whether it is recorded as a failure of the host.").OmitAt(false));
  fields.Int("exitCode", exit_code, INT32_MIN, INT32_MAX, "Of the worker that failed first.");
  fields.Text("message", message, kMessage, About("For people.").Always());
  fields.Time("startTime", start_ms, "When it was decided.");
  fields.Time("notBefore", not_before_ms, "No pod is made earlier.");
  fields.Time("endTime", end_ms,
              "When every worker ran again, or the job had ended; left out: not yet.");
}

void RecoveryState::Describe(FieldVisitor& fields) {
  fields.Int("attempt", attempt, 0, INT64_MAX, "Attempt of pods made from now on.");
  fields.Int("minAttempt", min_attempt, 0, INT64_MAX, "Pods of an earlier attempt are removed.");
  fields.Int("runningAttempt", running_attempt, -1, INT64_MAX,
             "The last attempt in which all workers ran at the same time; -1: none.");
  fields.Time("windowStart", window_start_ms,
              "When the present window of the restart budget began.");
  fields.Int("restartsInWindow", restarts_in_window, 0, INT32_MAX, "Restarts counted in it.");
  fields.Int("consecutiveRestarts", consecutive_restarts, 0, INT32_MAX,
             "Restarts without ten minutes of all workers running between them.");
  fields.Objects("incidents", incidents, {kKeptIncidents},
                 About("The last ten incidents, oldest first.").Always(),
                 "One decision to recover or to fail.");
  // A merge patch replaces lists as a whole and keeps fields that are left out.
  fields.Objects("avoidedHosts", avoided, {32},
                 About("Hosts that new pods of the job are not placed on.").Always(), "One host.");
  fields.Bool("suspended", suspended, "It was suspended; pods of earlier attempts are removed.");
  fields.Time(
      "checkpointRequested", checkpoint_requested_ms,
      About("When a checkpoint was asked for that is awaited before the job is stopped.").OrNull());
}

}  // namespace yardmaster::api
