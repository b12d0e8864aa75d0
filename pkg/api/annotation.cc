#include "pkg/api/annotation.h"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

absl::StatusOr<nlohmann::json> ParseAnnotation(std::string_view text, int version) {
  JsonParser parser;
  YM_ASSIGN_OR_RETURN(const JsonView object, ParseAnnotation(parser, text, version));
  return object.ToJson();
}

absl::StatusOr<JsonView> ParseAnnotation(JsonParser& parser, std::string_view text, int version) {
  if (text.size() > kMaxAnnotationBytes) {
    return absl::InvalidArgumentError(
        StrCat("annotation of ", text.size(), " bytes is longer than ", kMaxAnnotationBytes));
  }
  const JsonView object = parser.Parse(text).value_or(JsonView());
  if (!object.is_object()) return absl::InvalidArgumentError("annotation is not a JSON object");
  FieldErrors errors;
  FieldReader in(object, "", UnknownFields::kIgnore, &errors);
  const int found = in.Int("version", 0, 0, 1'000'000);
  if (!errors.empty()) return errors.status();
  if (found != version) {
    return FieldError("version", StrCat("is ", found, ", this program reads ", version),
                      "run equal versions of all parts");
  }
  return object;
}

}  // namespace yardmaster::api
