#include "pkg/http/response_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/time/time.h"

#include "pkg/base/strings.h"

namespace yardmaster::http {
namespace {

bool IsTokenChar(unsigned char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         kOthers.find(static_cast<char>(c)) != std::string_view::npos;
}

bool IsValueChar(unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7F); }

bool ValidField(std::string_view name, std::string_view value) {
  return !name.empty() && std::all_of(name.begin(), name.end(), IsTokenChar) &&
         std::all_of(value.begin(), value.end(), IsValueChar);
}

bool WrittenByServer(std::string_view name) {
  constexpr std::array<std::string_view, 6> kOwn = {
      "Connection", "Content-Length", "Content-Type", "Date", "Keep-Alive", "Transfer-Encoding"};
  return std::any_of(kOwn.begin(), kOwn.end(),
                     [&](std::string_view own) { return EqualsIgnoreCase(own, name); });
}

bool Valid(const Response& response) {
  if (response.status < 200 || response.status > 599) return false;
  if (!ValidField("Content-Type", response.content_type)) return false;
  return std::all_of(
      response.headers.fields().begin(), response.headers.fields().end(),
      [](const Headers::Field& field) { return ValidField(field.first, field.second); });
}

void AppendField(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::string HttpDate(std::int64_t now_s) {
  return absl::FormatTime("%a, %d %b %E4Y %H:%M:%S GMT", absl::FromUnixSeconds(now_s),
                          absl::UTCTimeZone());
}

WireResponse WriteResponse(Response response, const ResponseOptions& options) {
  if (!Valid(response)) {
    return WriteResponse(ErrorResponse(500, "the handler gave a response that cannot be sent"),
                         options);
  }
  const bool bodiless = response.status == 204 || response.status == 304;
  WireResponse wire;
  std::string& out = wire.head;
  out.reserve(256);
  out.append("HTTP/1.1 ").append(StrCat(response.status, " ", ReasonPhrase(response.status)));
  out.append("\r\n");
  AppendField(out, "Date", HttpDate(options.now_s));
  if (!bodiless) {
    AppendField(out, "Content-Type", response.content_type);
    AppendField(out, "Content-Length", StrCat(response.body.size()));
  }
  for (const auto& [name, value] : response.headers.fields()) {
    if (!WrittenByServer(name)) AppendField(out, name, value);
  }
  if (!options.keep_alive) {
    AppendField(out, "Connection", "close");
  } else if (options.http10) {
    AppendField(out, "Connection", "keep-alive");
  }
  out.append("\r\n");
  if (!options.head && !bodiless) wire.body = std::move(response.body);
  return wire;
}

}  // namespace yardmaster::http
