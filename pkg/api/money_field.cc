#include "pkg/api/money_field.h"

#include <string>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

std::optional<capacity::Money> ReadMoney(FieldReader& object, std::string_view key) {
  if (!object.has(key)) return std::nullopt;
  const std::string text = object.String(key);
  auto money = capacity::ParseMoney(text);
  if (money.ok()) return *std::move(money);
  const std::string problem = MessageOf(money.status());
  const std::size_t fix = problem.find("; ");
  object.errors().Add(object.PathOf(key), StrCat("\"", text, "\" ", problem.substr(0, fix)),
                      problem.substr(fix + 2));
  return std::nullopt;
}

}  // namespace yardmaster::api
