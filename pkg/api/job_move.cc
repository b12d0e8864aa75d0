#include "pkg/api/job_move.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/annotation.h"
#include "pkg/api/field_codec.h"
#include "pkg/api/gang_move.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

constexpr ListRule kHosts{16'384};

// What the last request alone means for later ones.
MoveRecord RecordOf(const JobMove& move) {
  MoveRecord record;
  if (move.id.empty()) return record;
  const bool refused = move.state == JobMoveState::kRefused;
  if (!move.by_policy) record.request_id = move.id;
  if (!refused && !move.active()) record.last_ms = move.ended_ms;
  if (move.by_policy && refused) record.policy_refused_ms = move.ended_ms;
  if (move.by_policy && !refused) {
    record.policy_moves.push_back({move.asked_ms, move.price_gpu_seconds});
  }
  return record;
}

}  // namespace

void MoveRequest::Describe(FieldVisitor& fields) {
  fields.Text("id", id, NotEmpty(kMoveId), Required("Another one is another request."));
  fields.Texts("hosts", hosts, {kHosts.max_entries, 1}, NotEmpty(kObjectName),
               RequiredByServer("The next host of every rank."), "Name of a Node.");
}

absl::StatusOr<MoveRequest> DecodeMoveRequest(std::string_view text) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json object, ParseAnnotation(text, 1));
  FieldErrors errors;
  FieldReader in(&object, "", UnknownFields::kIgnore, &errors);
  MoveRequest request;
  DecodeFields(in, [&](FieldVisitor& fields) { request.Describe(fields); });
  const bool names_all =
      std::none_of(request.hosts.begin(), request.hosts.end(), [](const std::string& host) {
        return host.empty() || host.size() > static_cast<std::size_t>(kObjectName.max_length);
      });
  if ((request.hosts.empty() || !names_all) && errors.empty()) {
    errors.Add("hosts", names_all ? "is empty or missing" : "has a name that no Node has",
               "name the next host of every rank");
  }
  // It goes into a status, where the API server checks it.
  if (request.id.size() > static_cast<std::size_t>(kMoveId.max_length)) {
    errors.Add("id", StrCat("has ", request.id.size(), " characters"),
               StrCat("use ", kMoveId.max_length, " at most"));
  }
  if (!errors.empty()) return errors.status();
  return request;
}

std::string EncodeMoveRequest(const MoveRequest& request) {
  nlohmann::ordered_json out = {{"version", 1}, {"id", request.id}, {"hosts", request.hosts}};
  return out.dump();
}

void MoveExpense::Describe(FieldVisitor& fields) {
  fields.Time("askedTime", asked_ms, "When it was asked for.");
  fields.Number("gpuSeconds", gpu_seconds, 0, kNoMaximum,
                About("GPU seconds that it was expected to cost.").Always());
}

void MoveRecord::Describe(FieldVisitor& fields) {
  fields.Text("requestId", request_id, kMoveId,
              About("The last request by annotation that was answered.").OrNull());
  fields.Time("lastTime", last_ms,
              About("When the last move was Done or Abandoned. The job is not asked to move again "
                    "for an hour.")
                  .OrNull());
  fields.Time(
      "policyRefusedTime", policy_refused_ms,
      About("When a move that the operator's policy asked for was last Refused. It asks for "
            "no other one for an hour.")
          .OrNull());
  fields.Objects("policyMoves", policy_moves, {kKeptExpenses},
                 About("Moves that the operator's policy asked for in a day, oldest first, without "
                       "those that were refused.")
                     .OrNull(),
                 "One move.");
}

void JobMove::Describe(FieldVisitor& fields) {
  fields.Text("id", id, kMoveId, About("Names the request.").Always());
  fields.Word("state", state, kJobMoveStateNames, JobMoveState::kNone,
              About("Asked: the next hosts are asked for. Moving: they are promised, and the job "
                    "restarts there. Done, Refused and Abandoned: it is over.")
                  .Always());
  fields.Text("message", message, kMessage, About("For people.").OrNull());
  fields.Bool("byPolicy", by_policy,
              About("Whether the operator's policy asked for it, and not a person.").Always());
  fields.Number("priceGPUSeconds", price_gpu_seconds, 0, kNoMaximum,
                About("GPU seconds that it was expected to cost.").OrNull());
  fields.Time("askedTime", asked_ms, About("When it was accepted.").OrNull());
  fields.Time("endTime", ended_ms, About("When it was over.").OrNull());
  fields.Int("attempt", attempt, 0, INT64_MAX,
             About("While it moves, the attempt of its incident.").OrNull());
  fields.Texts("hosts", hosts, kHosts, kObjectName,
               About("While it is asked for, the next host of every rank.").OrNull(),
               "Name of a Node.");
  fields.Object(
      "record", record,
      About("What earlier requests mean for later ones; the next request does not replace it.")
          .OrNull());
  // An earlier version wrote none, and an API server whose CRD is older keeps none.
  fields.Check([&](FieldReader&) {
    if (record == MoveRecord{}) record = RecordOf(*this);
  });
}

}  // namespace yardmaster::api
