// What a Kubernetes API server's requests and answers look like as text: query strings, bodies,
// lines of a watch. Thread safety: pure functions and values; a JsonParser is the caller's.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/json/json_view.h"
#include "pkg/kube/api_error.h"
#include "pkg/kube/client.h"

namespace yardmaster::kube {

// "?a=b&c=d" of what is not empty.
class Query {
 public:
  Query& Add(std::string_view key, std::string_view value);
  // `field_manager`, where it is not empty, goes before that of the options.
  Query& Add(const WriteOptions& options, const std::string& field_manager = "");
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

const char* ContentTypeOf(PatchType type);
// Text that is not UTF-8 is written with replacement characters.
std::string BodyOf(const nlohmann::json& object);
nlohmann::json DeleteBody(const DeleteOptions& options);

// A document of one object, without what lies deeper than JsonView::kMaxCopiedLevels. Errors:
// DataLoss, beginning with `what`, where the body is not an object.
absl::StatusOr<nlohmann::json> ParseBody(std::string_view body, std::string_view what);

// A page of a list: calls `on_object` for every object in it, parsed one by one. Errors: DataLoss,
// beginning with `what`: before any object where the items are not a list (client.h), else where
// the body breaks off or is no JSON.
absl::StatusOr<PageEnd> ReadPageBody(std::string_view body, std::string_view what,
                                     const OnObject& on_object);

// One line of a watch. An ERROR event comes back as the status it carries. The object is valid
// until the parser's next call.
absl::StatusOr<WatchEvent> ParseEvent(JsonParser& parser, std::string_view line,
                                      const ErrorContext& context);

// `actual` has all that `wanted` says. Lists must agree element by element.
bool HasAllOf(const nlohmann::json& actual, const nlohmann::json& wanted);

}  // namespace yardmaster::kube
