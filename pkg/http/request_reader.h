// Parses one request from a stream of bytes, with rules that prevent request smuggling (two parties
// that parse the same bytes differently) and that limit how much memory a client can use.
//
// Refused with a status, and always as the last request of the connection:
//   400 syntax errors; Host twice, or missing in HTTP/1.1; Content-Length twice, as a list, signed
//       or not a number; Content-Length together with Transfer-Encoding; Transfer-Encoding in
//       HTTP/1.0; a bad chunk size; a target that is neither a path nor an http(s) URL
//   405 a method that is not allowed   413 body too large   417 an unknown Expect
//   431 headers, a chunk header or trailers too large   501 unknown method or transfer coding
//   505 HTTP other than 1.0 and 1.1
//
// Trailers are checked and discarded: they never reach the headers.
//
// Invariant: however the same bytes are split, they give the same requests, or a refusal (whose
// status may differ if several rules are broken).
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "pkg/http/message.h"
#include "pkg/http/options.h"

namespace yardmaster::http {

class RequestReader {
 public:
  enum class State { kHeader, kBody, kComplete, kFailed };

  // `limits` must outlive the reader.
  explicit RequestReader(const Limits& limits);
  ~RequestReader();

  // Consumes as many bytes of `data` as possible and returns how many. The caller keeps the rest
  // and passes it again, followed by more. While the request is not complete the rest is always
  // shorter than Limits::header_bytes.
  std::size_t Feed(std::string_view data);

  State state() const { return state_; }
  // A byte of the request has come (empty lines before it do not count).
  bool started() const { return started_; }
  // The client waits for "100 Continue" before it sends the body.
  bool expects_continue() const;
  // What the client allows for this connection. Known once the headers are complete.
  bool keep_alive() const;
  bool http10() const;
  bool head() const;
  // Body bytes held so far.
  std::size_t body_bytes() const;

  // REQUIRES: state() == kComplete. Once.
  Request Take();
  // REQUIRES: state() == kFailed.
  const Response& error() const { return error_; }

 private:
  class Parser;

  bool HoldBack(std::string_view rest) const;
  std::size_t Put(std::string_view rest);
  void FinishHeader();
  void Fail(Response error);

  const Limits& limits_;
  std::unique_ptr<Parser> parser_;
  State state_ = State::kHeader;
  bool started_ = false;
  std::size_t header_bytes_ = 0;
  Response error_;
};

}  // namespace yardmaster::http
