// What a handler sees of HTTP: a request that is complete and has passed every check, and the
// response it gives back. Thread safety: values.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/tls/certificate_names.h"

namespace yardmaster::http {

// ASCII letters compare without case, as header names do.
bool EqualsIgnoreCase(std::string_view a, std::string_view b);

// Header fields in the order they came. Names compare without case.
class Headers {
 public:
  using Field = std::pair<std::string, std::string>;

  void Add(std::string_view name, std::string_view value) { fields_.emplace_back(name, value); }
  // The first value with that name.
  std::optional<std::string_view> Find(std::string_view name) const;
  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

struct Request {
  std::string method;
  // Origin form ("/filter?x=1"); an absolute form has been cut down to it.
  std::string target;
  Headers headers;
  std::string body;
  // Address and port of the other end: "10.0.0.7:40312", "[fd00::7]:40312".
  std::string remote;
  // Names in the client certificate that the handshake verified; null when it gave none.
  std::shared_ptr<const tls::CertificateNames> peer_identity;

  // The target before and after its first '?'.
  std::string_view path() const;
  std::string_view query() const;
};

// The server writes Connection, Content-Length, Content-Type, Date, Keep-Alive and
// Transfer-Encoding; a handler's own are left out, except that "Connection: close" closes the
// connection after the response.
struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  Headers headers;
};

// "Not Found" for 404; "<unknown-status>" for a status without a usual phrase.
std::string_view ReasonPhrase(int status);

Response TextResponse(int status, std::string_view text);
Response JsonResponse(int status, std::string json);
// "404 Not Found: <message>" as text.
Response ErrorResponse(int status, std::string_view message);

// Gives the answer to one request. May be called from any thread, now or later; the second and
// later calls do nothing. When the last copy goes without a call, the connection is closed. An
// answer after the handler deadline is dropped (the client has been told 503).
using Done = std::function<void(Response)>;
using Handler = std::function<void(Request, Done)>;

}  // namespace yardmaster::http
