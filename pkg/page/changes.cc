#include "pkg/page/changes.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/state/subject.h"

namespace yardmaster::page {

namespace {

constexpr std::size_t kMaxMoves = 3;  // ranks that one event names

class Collector {
 public:
  explicit Collector(std::int64_t now_ms) : now_ms_(now_ms) {}

  void Add(bool warning, std::string subject, std::string text) {
    ++count_;
    if (events_.size() >= kMaxChanges) return;
    events_.push_back({now_ms_, warning, std::move(subject), std::move(text)});
  }

  std::vector<TimelineEvent> Take() {
    if (count_ > kMaxChanges) {
      const std::size_t more = count_ - kMaxChanges + 1;
      events_.back() = {now_ms_, false, "", StrCat("and ", more, " more changes at once")};
    }
    return std::move(events_);
  }

 private:
  const std::int64_t now_ms_;
  std::size_t count_ = 0;
  std::vector<TimelineEvent> events_;
};

bool IsReady(const api::Node& node) { return node.ready.value_or(false); }

void HostChanges(const api::Node* before, const api::Node* after, Collector& out) {
  const std::string subject = StrCat("host/", (after != nullptr ? after : before)->metadata.name);
  if (after == nullptr) return out.Add(true, subject, "is gone");
  if (before == nullptr) return out.Add(false, subject, "has come");
  if (IsReady(*before) != IsReady(*after)) {
    out.Add(!IsReady(*after), subject, IsReady(*after) ? "is ready again" : "is not ready");
  }
  if (before->unschedulable != after->unschedulable) {
    out.Add(after->unschedulable, subject, after->unschedulable ? "is cordoned" : "is uncordoned");
  }
}

std::string PlacesText(const api::Gang& gang) {
  const auto segments = state::SegmentsOf(gang);
  std::vector<std::string> names;
  for (const auto& [name, workers] : segments) names.push_back(name);
  if (names.size() > kMaxMoves) return Count(static_cast<std::int64_t>(names.size()), "segment");
  return Join(names, ", ");
}

std::string MovesText(const api::Gang& before, const api::Gang& after) {
  std::vector<std::string> moves;
  std::size_t moved = 0;
  const auto& from = before.status.assignments;
  const auto& to = after.status.assignments;
  for (std::size_t r = 0; r < from.size() && r < to.size(); ++r) {
    if (from[r].host == to[r].host) continue;
    if (++moved > kMaxMoves) continue;
    moves.push_back(StrCat("rank ", to[r].rank, " from ", from[r].host, " to ", to[r].host));
  }
  if (moved > kMaxMoves) moves.push_back(StrCat("and ", moved - kMaxMoves, " more"));
  return moves.empty() ? "is placed again" : StrCat("moves ", Join(moves, ", "));
}

void GangChanges(const api::Gang* before, const api::Gang* after, Collector& out) {
  const api::Gang& gang = after != nullptr ? *after : *before;
  const std::string subject = StrCat("job/", gang.metadata.namespace_name, "/", gang.metadata.name);
  if (after == nullptr) {
    if (before->status.committed()) out.Add(false, subject, "has left its hosts");
    return;
  }
  const bool was = before != nullptr && before->status.committed();
  if (after->status.committed() && !was) {
    out.Add(false, subject,
            StrCat("is placed: ", Count(after->placed_workers(), "worker"), " in ",
                   PlacesText(*after)));
  } else if (was && !after->status.committed()) {
    out.Add(true, subject, "gives its hosts back and waits");
  } else if (was && before->status.plan_generation != after->status.plan_generation) {
    out.Add(true, subject, MovesText(*before, *after));
  } else if (!was && after->status.outcome == placement::Outcome::kNever &&
             (before == nullptr || before->status.outcome != after->status.outcome)) {
    out.Add(true, subject,
            StrCat("can never be placed: ",
                   after->status.reasons.empty() ? "" : after->status.reasons[0].message));
  }
  if (was && before->status.network && after->status.network &&
      before->status.network->level != after->status.network->level) {
    out.Add(
        false, subject,
        StrCat("level ", before->status.network->level, " becomes ", after->status.network->level));
  }
}

void JobChanges(const api::TrainingJob* before, const api::TrainingJob* after, Collector& out) {
  if (before == nullptr || after == nullptr) return;
  for (const char* type : {"Running", "Succeeded", "Failed"}) {
    const bool is = api::IsTrue(after->status.conditions, type);
    if (is == api::IsTrue(before->status.conditions, type)) continue;
    const std::string subject = StrCat("job/", after->metadata.namespace_name, "/",
                                       api::GangName(api::kTrainingJobKind, after->metadata.name));
    const bool bad = is && std::string_view(type) == "Failed";
    const api::Condition* condition = api::FindCondition(after->status.conditions, type);
    const std::string message =
        condition == nullptr || condition->message.empty() ? "" : StrCat(": ", condition->message);
    if (is || std::string_view(type) == "Running") {
      out.Add(bad || !is, subject, StrCat(is ? "" : "no longer ", type, message));
    }
  }
}

}  // namespace

std::vector<TimelineEvent> ChangesBetween(const state::ClusterState& before,
                                          const state::ClusterState& after, std::int64_t now_ms) {
  Collector out(now_ms);
  state::ObjectTable<api::Node>::Differences(
      before.nodes, after.nodes,
      [&out](const auto& a, const auto& b) { HostChanges(a.get(), b.get(), out); });
  state::ObjectTable<api::Gang>::Differences(
      before.gangs, after.gangs,
      [&out](const auto& a, const auto& b) { GangChanges(a.get(), b.get(), out); });
  state::ObjectTable<api::TrainingJob>::Differences(
      before.jobs, after.jobs,
      [&out](const auto& a, const auto& b) { JobChanges(a.get(), b.get(), out); });
  return out.Take();
}

Text EncodeEvents(const std::deque<TimelineEvent>& oldest_first) {
  nlohmann::json out = nlohmann::json::array();
  for (auto event = oldest_first.rbegin(); event != oldest_first.rend(); ++event) {
    out.push_back({{"timeMs", event->time_ms},
                   {"warning", event->warning},
                   {"subject", event->subject},
                   {"text", event->text}});
  }
  return TextOf(out);
}

}  // namespace yardmaster::page
