#include "pkg/kube/wire_form.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/json/json_pieces.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;

absl::StatusOr<WatchEventType> EventTypeOf(std::string_view type) {
  if (type == "ADDED") return WatchEventType::kAdded;
  if (type == "MODIFIED") return WatchEventType::kModified;
  if (type == "DELETED") return WatchEventType::kDeleted;
  if (type == "BOOKMARK") return WatchEventType::kBookmark;
  return absl::DataLossError(StrCat("an event of type \"", type, "\""));
}

}  // namespace

Query& Query::Add(std::string_view key, std::string_view value) {
  if (value.empty()) return *this;
  text_.append(text_.empty() ? "?" : "&").append(key).append("=").append(PercentEncode(value));
  return *this;
}

Query& Query::Add(const WriteOptions& options, const std::string& field_manager) {
  Add("fieldManager", field_manager.empty() ? options.field_manager : field_manager);
  if (options.dry_run) Add("dryRun", "All");
  return *this;
}

const char* ContentTypeOf(PatchType type) {
  return type == PatchType::kJson ? "application/json-patch+json" : "application/merge-patch+json";
}

std::string BodyOf(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

json DeleteBody(const DeleteOptions& options) {
  json body = {{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) {
    body["preconditions"]["resourceVersion"] = options.resource_version;
  }
  if (!options.propagation.empty()) body["propagationPolicy"] = options.propagation;
  if (options.grace_period_seconds >= 0) {
    body["gracePeriodSeconds"] = options.grace_period_seconds;
  }
  return body;
}

absl::StatusOr<json> ParseBody(std::string_view body, std::string_view what) {
  JsonParser parser;
  const auto parsed = parser.Parse(body);
  if (!parsed.ok() || !parsed->is_object()) {
    return absl::DataLossError(StrCat(what, ": the answer is not an object"));
  }
  return parsed->ToJson();
}

absl::StatusOr<PageEnd> ReadPageBody(std::string_view body, std::string_view what,
                                     const OnObject& on_object) {
  std::string_view kind, metadata, items;
  const bool is_object = ForEachMemberText(body, [&](std::string_view key, std::string_view value) {
    if (key == "kind") kind = value;
    if (key == "metadata") metadata = value;
    if (key == "items") items = value;
  });
  if (!is_object) return absl::DataLossError(StrCat(what, ": the answer is not a list"));
  // Callers delete every object that a list does not name, so an answer without a list must not
  // read as an empty one.
  const bool empty = (items.empty() || items == "null") && kind.ends_with("List\"");
  if (!items.starts_with('[') && !empty) {
    return absl::DataLossError(StrCat(what, ": the answer has no list of items"));
  }
  JsonParser parser;
  PageEnd end;
  if (const auto parsed = parser.Parse(metadata); parsed.ok()) {
    end = {(*parsed)["resourceVersion"].Text(), (*parsed)["continue"].Text()};
  } else if (!metadata.empty()) {
    return absl::DataLossError(StrCat(what, ": the list's metadata ", MessageOf(parsed.status())));
  }
  absl::Status sound;
  const bool whole =
      empty || ForEachElementText(items, [&](std::string_view item) {
        if (!sound.ok()) return;
        const auto parsed = parser.Parse(item);
        if (!parsed.ok()) {
          sound = absl::DataLossError(StrCat(what, ": an item ", MessageOf(parsed.status())));
        } else if (parsed->is_object()) {
          on_object(*parsed);
        }
      });
  YM_RETURN_IF_ERROR(sound);
  if (!whole) return absl::DataLossError(StrCat(what, ": the answer has no list of items"));
  return end;
}

absl::StatusOr<WatchEvent> ParseEvent(JsonParser& parser, std::string_view line,
                                      const ErrorContext& context) {
  const absl::StatusOr<JsonView> parsed = parser.Parse(line);
  const JsonView object = parsed.ok() ? (*parsed)["object"] : JsonView();
  if (!object.is_object()) {
    return Prefixed(
        context, absl::DataLossError(StrCat("a line of ", line.size(), " bytes is not an event")));
  }
  const std::string type = (*parsed)["type"].Text();
  if (type == "ERROR") return StatusFromObject(context, object.ToJson());
  absl::StatusOr<WatchEventType> event_type = EventTypeOf(type);
  if (!event_type.ok()) return Prefixed(context, event_type.status());
  return WatchEvent{*event_type, object};
}

bool HasAllOf(const json& actual, const json& wanted) {
  if (wanted.is_object() && actual.is_object()) {
    return std::all_of(wanted.items().begin(), wanted.items().end(), [&](const auto& item) {
      auto it = actual.find(item.key());
      return it == actual.end() ? item.value().empty() : HasAllOf(*it, item.value());
    });
  }
  if (wanted.is_array() && actual.is_array()) {
    return wanted.size() == actual.size() &&
           std::equal(wanted.begin(), wanted.end(), actual.begin(),
                      [](const json& w, const json& a) { return HasAllOf(a, w); });
  }
  return actual == wanted;
}

}  // namespace yardmaster::kube
