#include "pkg/api/annotation.h"

#include "pkg/base/strings.h"

namespace yardmaster::api {

absl::StatusOr<nlohmann::json> ParseAnnotation(std::string_view text, int version) {
  if (text.size() > kMaxAnnotationBytes) {
    return absl::InvalidArgumentError(
        StrCat("annotation of ", text.size(), " bytes is longer than ", kMaxAnnotationBytes));
  }
  JsonParser parser;
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
  return object.ToJson();
}

}  // namespace yardmaster::api
