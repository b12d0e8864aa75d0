#include "pkg/kube/event_writer.h"

#include <array>
#include <charconv>
#include <functional>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;

constexpr std::int64_t kSeriesIdleMs = 6 * 60'000;
constexpr std::int64_t kSimilarWindowMs = 10 * 60'000;
constexpr std::size_t kMaxNoteBytes = 1024;
constexpr std::size_t kMaxWordBytes = 128;
constexpr std::size_t kMaxNamePrefixBytes = 200;
// Where events about cluster-scoped objects live; the API allows no other place.
constexpr const char* kClusterNamespace = "default";
constexpr const char* kCombined = "(combined from similar events) ";

std::string Cut(std::string text, std::size_t max_bytes) {
  text.resize(CutAtCharacter(text, max_bytes).size());
  return text;
}

std::string Hex(std::uint64_t number) {
  std::array<char, 16> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + 16, number, 16).ptr};
}

// Everything but the note; the note comes last in a series' key.
std::string KeyWithoutNote(const EventRecord& event) {
  const ObjectReference& object = event.regarding;
  return StrCat(object.kind, "\n", object.ns, "\n", object.name, "\n", object.uid, "\n",
                static_cast<int>(event.type), "\n", event.reason, "\n", event.action, "\n");
}

std::string NamespaceFor(const EventRecord& event) {
  return event.regarding.ns.empty() ? kClusterNamespace : event.regarding.ns;
}

json SeriesField(int count, std::int64_t observed_wall_ms) {
  return {{"count", count}, {"lastObservedTime", FormatMicroTime(observed_wall_ms)}};
}

}  // namespace

absl::Status EventWriter::Write(const EventRecord& event, std::int64_t wall_ms) {
  const std::int64_t now = clock_.SteadyMs();
  EventRecord shaped = Shaped(event);
  const std::string key = KeyWithoutNote(shaped) + shaped.note;
  auto it = series_.find(key);
  if (it != series_.end() && now - it->second.active_ms < kSeriesIdleMs) {
    Series& series = it->second;
    ++series.count;
    series.observed_wall_ms = wall_ms;
    series.active_ms = now;
    return absl::OkStatus();
  }
  std::string name = NameFor(shaped, wall_ms);
  Series series{std::move(shaped), std::move(name), 1, 1, wall_ms, now, now};
  const absl::Status created = Create(series);
  if (created.ok()) series_[key] = std::move(series);
  return created;
}

absl::Status EventWriter::WriteDue() {
  const std::int64_t now = clock_.SteadyMs();
  absl::Status result;
  for (auto it = series_.begin(); it != series_.end();) {
    Series& series = it->second;
    const bool idle = now - series.active_ms >= kSeriesIdleMs;
    const bool due = idle || now - series.written_ms >= options_.series_period_ms;
    if (due && series.count != series.written_count) {
      if (absl::Status status = WriteCount(series); !status.ok()) result = status;
    }
    it = idle ? series_.erase(it) : std::next(it);
  }
  std::erase_if(similar_,
                [&](const auto& entry) { return now - entry.second.since_ms >= kSimilarWindowMs; });
  return result;
}

void EventWriter::WriteOpen(std::int64_t deadline_ms) {
  for (auto& [key, series] : series_) {
    if (series.count == series.written_count) continue;
    if (clock_.SteadyMs() >= deadline_ms || IsTransient(WriteCount(series))) return;
  }
}

EventRecord EventWriter::Shaped(EventRecord event) {
  event.reason = Cut(std::move(event.reason), kMaxWordBytes);
  event.action = Cut(std::move(event.action), kMaxWordBytes);
  event.note = Cut(std::move(event.note), kMaxNoteBytes);
  const std::int64_t now = clock_.SteadyMs();
  const std::string key = KeyWithoutNote(event);
  Similar& similar = similar_[key];
  if (similar.notes.empty() || now - similar.since_ms >= kSimilarWindowMs) {
    similar = {{}, now};
  }
  if (similar.notes.contains(event.note)) return event;
  if (similar.notes.size() < static_cast<std::size_t>(options_.max_similar)) {
    similar.notes.insert(event.note);
    return event;
  }
  // One note for all of them: with its own note each would be an event again.
  const std::string& first = *similar.notes.begin();
  event.note = Cut(kCombined + first, kMaxNoteBytes);
  return event;
}

std::string EventWriter::NameFor(const EventRecord& event, std::int64_t wall_ms) const {
  const std::string what = StrCat(seed_, "\n", KeyWithoutNote(event), event.note);
  std::string object = Cut(event.regarding.name, kMaxNamePrefixBytes);
  // A part of a name ends with a letter or a digit.
  object.resize(object.find_last_not_of(".-") + 1);
  return StrCat(object, ".", Hex(static_cast<std::uint64_t>(wall_ms)),
                Hex(std::hash<std::string>()(what)));
}

absl::Status EventWriter::Create(Series& series) {
  const EventRecord& event = series.event;
  const ObjectReference& object = event.regarding;
  json body = {
      {"metadata", {{"name", series.name}, {"namespace", NamespaceFor(event)}}},
      {"eventTime", FormatMicroTime(series.observed_wall_ms)},
      {"reportingController", options_.controller},
      {"reportingInstance", Cut(options_.instance, kMaxWordBytes)},
      {"action", event.action},
      {"reason", event.reason},
      {"type", event.type == EventType::kWarning ? "Warning" : "Normal"},
      {"note", event.note},
      {"regarding",
       {{"apiVersion", object.api_version}, {"kind", object.kind}, {"name", object.name}}},
  };
  if (!object.ns.empty()) body["regarding"]["namespace"] = object.ns;
  if (!object.uid.empty()) body["regarding"]["uid"] = object.uid;
  if (series.count > 1) body["series"] = SeriesField(series.count, series.observed_wall_ms);
  absl::StatusOr<json> created = client_.Create({Events(), NamespaceFor(event)}, body);
  // Else an earlier try took effect.
  if (!created.ok() && !absl::IsAlreadyExists(created.status())) return created.status();
  ++writes_;
  series.written_count = series.count;
  series.written_ms = clock_.SteadyMs();
  return absl::OkStatus();
}

absl::Status EventWriter::WriteCount(Series& series) {
  const json patch = {{"series", SeriesField(series.count, series.observed_wall_ms)}};
  absl::StatusOr<json> patched =
      client_.Patch({Events(), NamespaceFor(series.event), series.name}, MergePatch(patch));
  // The server keeps events for an hour only.
  if (absl::IsNotFound(patched.status())) return Create(series);
  if (!patched.ok()) return patched.status();
  ++writes_;
  series.written_count = series.count;
  series.written_ms = clock_.SteadyMs();
  return absl::OkStatus();
}

}  // namespace yardmaster::kube
