// A broken invariant of the parser must cost one connection, not the process: its assertions throw
// here. (The fuzz target has met one; see HoldBack.)
#define BOOST_ENABLE_ASSERT_HANDLER

#include "pkg/http/request_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "pkg/base/strings.h"

namespace boost {

void assertion_failed(const char* expression, const char*, const char*, long) {
  throw std::logic_error(expression);
}
void assertion_failed_msg(const char* expression, const char*, const char*, const char*, long) {
  throw std::logic_error(expression);
}

}  // namespace boost

namespace yardmaster::http {
namespace {

namespace beast = boost::beast;
namespace bh = boost::beast::http;

// A body larger than this grows as it arrives: a client that only announces 8 MB gets no 8 MB.
constexpr std::uint64_t kReserveBytes = 1024 * 1024;

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

bool AllDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Empty lines before a request line, which some clients send after a body.
std::size_t LeadingBlankLines(std::string_view data) {
  std::size_t at = 0;
  while (data.substr(at, 2) == "\r\n") at += 2;
  return at;
}

// "GET / HTTP/9.9" speaks a version of HTTP we do not; "GET / XXXX/1.1" speaks no HTTP at all.
bool NamesSomeHttpVersion(std::string_view data) {
  const std::string_view line = data.substr(0, data.find("\r\n"));
  const std::size_t at = line.rfind(' ');
  if (at == std::string_view::npos) return false;
  const std::string_view version = line.substr(at + 1);
  return version.size() == 8 && version.substr(0, 5) == "HTTP/" &&
         AllDigits(version.substr(5, 1)) && version[6] == '.' && AllDigits(version.substr(7, 1));
}

// The path of an absolute-form target, "" if it cannot be read.
std::string OriginForm(std::string_view target) {
  if (!target.empty() && target[0] == '/') return std::string(target);
  const std::size_t scheme = target.find("://");
  if (scheme == std::string_view::npos) return "";
  const std::string_view name = target.substr(0, scheme);
  if (!EqualsIgnoreCase(name, "http") && !EqualsIgnoreCase(name, "https")) return "";
  const std::string_view rest = target.substr(scheme + 3);
  const std::size_t end = rest.find_first_of("/?");
  if (end == std::string_view::npos) return "/";
  return (rest[end] == '?' ? "/" : "") + std::string(rest.substr(end));
}

Response AnswerTo(const beast::error_code& error, const Limits& limits, std::string_view data) {
  if (error == bh::error::header_limit) {
    return ErrorResponse(431, StrCat("headers are limited to ", limits.header_bytes, " bytes"));
  }
  if (error == bh::error::body_limit) {
    return ErrorResponse(413, StrCat("bodies are limited to ", limits.body_bytes, " bytes"));
  }
  if (error == bh::error::bad_version && NamesSomeHttpVersion(data)) {
    return ErrorResponse(505, "unsupported HTTP version; use 1.0 or 1.1");
  }
  return ErrorResponse(400, error.message());
}

}  // namespace

// Beast's parser, filling our Request. Only what stands before the body becomes a header.
class RequestReader::Parser final : public bh::basic_parser<true> {
 public:
  explicit Parser(const Limits& limits) : limits_(limits) {
    header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    body_limit(limits.body_bytes);
    eager(false);  // stop after the headers, so that they are checked before any of the body
  }

  // The checks Beast does not make. Nothing when all is well.
  std::optional<Response> CheckHeader();

  Request request;
  int http_version = 11;
  bool expects_continue = false;

 private:
  void on_request_impl(bh::verb verb, beast::string_view method, beast::string_view target,
                       int version, beast::error_code&) override {
    known_method_ = verb != bh::verb::unknown;
    request.method = View(method);
    request.target = View(target);
    http_version = version;
  }
  void on_response_impl(int, beast::string_view, int, beast::error_code&) override {}
  void on_field_impl(bh::field, beast::string_view name, beast::string_view value,
                     beast::error_code&) override {
    if (!header_done_) request.headers.Add(View(name), View(value));
  }
  void on_header_impl(beast::error_code&) override { header_done_ = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length,
                         beast::error_code&) override {
    if (length) request.body.reserve(std::min(*length, kReserveBytes));
  }
  std::size_t on_body_impl(beast::string_view body, beast::error_code&) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, beast::error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body,
                                 beast::error_code&) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_finish_impl(beast::error_code&) override {}

  std::optional<Response> CheckMethod() const;
  std::optional<Response> CheckFraming() const;
  int CountOf(std::string_view name) const;

  const Limits& limits_;
  bool known_method_ = false;
  bool header_done_ = false;
};

int RequestReader::Parser::CountOf(std::string_view name) const {
  const auto& fields = request.headers.fields();
  return static_cast<int>(std::count_if(fields.begin(), fields.end(), [&](const auto& field) {
    return EqualsIgnoreCase(field.first, name);
  }));
}

std::optional<Response> RequestReader::Parser::CheckMethod() const {
  if (!known_method_) return ErrorResponse(501, "this method is not known");
  const auto& allowed = limits_.methods;
  if (std::find(allowed.begin(), allowed.end(), request.method) != allowed.end()) {
    return std::nullopt;
  }
  Response response = ErrorResponse(405, request.method + " is not served");
  response.headers.Add("Allow", Join(allowed, ", "));
  return response;
}

std::optional<Response> RequestReader::Parser::CheckFraming() const {
  const int hosts = CountOf("Host");
  if (hosts > 1 || (hosts == 0 && http_version == 11)) {
    return ErrorResponse(400, "a request needs exactly one Host header");
  }
  const int codings = CountOf("Transfer-Encoding");
  const int lengths = CountOf("Content-Length");
  if (codings > 0 && (lengths > 0 || http_version == 10)) {
    return ErrorResponse(400, "Transfer-Encoding goes with HTTP/1.1 and without Content-Length");
  }
  if (codings > 1 ||
      (codings == 1 && !EqualsIgnoreCase(*request.headers.Find("Transfer-Encoding"), "chunked"))) {
    return ErrorResponse(501, "the only transfer coding is chunked");
  }
  if (lengths > 1 || (lengths == 1 && !AllDigits(*request.headers.Find("Content-Length")))) {
    return ErrorResponse(400, "Content-Length must be one decimal number");
  }
  return std::nullopt;
}

std::optional<Response> RequestReader::Parser::CheckHeader() {
  if (auto error = CheckMethod()) return error;
  if (auto error = CheckFraming()) return error;
  if (auto expect = request.headers.Find("Expect"); expect && http_version == 11) {
    if (!EqualsIgnoreCase(*expect, "100-continue")) {
      return ErrorResponse(417, "the only expectation is 100-continue");
    }
    expects_continue = true;
  }
  request.target = OriginForm(request.target);
  if (request.target.empty()) {
    return ErrorResponse(400, "the request target must be a path that starts with '/'");
  }
  return std::nullopt;
}

// Beast 1.74 asserts that the first chunk header, when its size is 0, has five bytes at its second
// look, but not at its first: "0\r\n" followed by a single byte stops the program. The shortest
// valid rest, "0\r\n\r\n", has five, so nothing is delayed by waiting for them.
bool RequestReader::HoldBack(std::string_view rest) const {
  return state_ == State::kBody && parser_->chunked() && parser_->request.body.empty() &&
         rest.size() < 5 && rest[0] == '0';
}

// Parses some of `rest`; how much it took. Sets kFailed when it is wrong.
std::size_t RequestReader::Put(std::string_view rest) {
  beast::error_code error;
  std::size_t taken = 0;
  try {
    taken = parser_->put(boost::asio::const_buffer(rest.data(), rest.size()), error);
  } catch (const std::logic_error&) {
    error = bh::error::bad_chunk;
  }
  if (error && error != bh::error::need_more) Fail(AnswerTo(error, limits_, rest));
  return taken;
}

RequestReader::RequestReader(const Limits& limits)
    : limits_(limits), parser_(std::make_unique<Parser>(limits)) {}

RequestReader::~RequestReader() = default;

std::size_t RequestReader::Feed(std::string_view data) {
  std::size_t used = started_ ? 0 : LeadingBlankLines(data);
  if (used == data.size() || (!started_ && data.substr(used) == "\r")) return used;
  started_ = true;
  while (used < data.size() && (state_ == State::kHeader || state_ == State::kBody)) {
    // A window, so that a chunk header too long to wait for is also too long when it is all there.
    const std::string_view rest = data.substr(used, limits_.header_bytes);
    if (HoldBack(rest)) break;
    const std::size_t taken = Put(rest);
    used += taken;
    if (state_ == State::kHeader) header_bytes_ += taken;
    if (state_ == State::kHeader && parser_->is_header_done()) FinishHeader();
    if (state_ == State::kBody && parser_->is_done()) state_ = State::kComplete;
    if (taken == 0) break;
  }
  const std::size_t held = (state_ == State::kHeader ? header_bytes_ : 0) + data.size() - used;
  if ((state_ == State::kHeader || state_ == State::kBody) && held >= limits_.header_bytes) {
    Fail(AnswerTo(bh::make_error_code(bh::error::header_limit), limits_, data));
  }
  return used;
}

void RequestReader::FinishHeader() {
  if (header_bytes_ > limits_.header_bytes) {
    return Fail(AnswerTo(bh::make_error_code(bh::error::header_limit), limits_, {}));
  }
  if (auto error = parser_->CheckHeader()) return Fail(std::move(*error));
  parser_->eager(true);
  state_ = parser_->is_done() ? State::kComplete : State::kBody;
}

void RequestReader::Fail(Response error) {
  state_ = State::kFailed;
  error_ = std::move(error);
}

bool RequestReader::expects_continue() const { return parser_->expects_continue; }
bool RequestReader::keep_alive() const { return parser_->keep_alive(); }
bool RequestReader::http10() const { return parser_->http_version == 10; }
bool RequestReader::head() const { return parser_->request.method == "HEAD"; }
std::size_t RequestReader::body_bytes() const { return parser_->request.body.size(); }
Request RequestReader::Take() { return std::move(parser_->request); }

}  // namespace yardmaster::http
