#include "pkg/http/message.h"

#include <algorithm>
#include <boost/beast/http/status.hpp>

#include "pkg/base/strings.h"

namespace yardmaster::http {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::optional<std::string_view> Headers::Find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (EqualsIgnoreCase(field.first, name)) return field.second;
  }
  return std::nullopt;
}

std::string_view Request::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string_view Request::query() const {
  const std::size_t mark = target.find('?');
  if (mark == std::string::npos) return {};
  return std::string_view(target).substr(mark + 1);
}

std::string_view ReasonPhrase(int status) {
  const auto phrase =
      boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  return {phrase.data(), phrase.size()};
}

Response TextResponse(int status, std::string_view text) {
  Response response;
  response.status = status;
  response.body = text;
  return response;
}

Response JsonResponse(int status, std::string json) {
  Response response;
  response.status = status;
  response.content_type = "application/json";
  response.body = std::move(json);
  return response;
}

Response ErrorResponse(int status, std::string_view message) {
  return TextResponse(status, StrCat(status, " ", ReasonPhrase(status), ": ", message, "\n"));
}

}  // namespace yardmaster::http
