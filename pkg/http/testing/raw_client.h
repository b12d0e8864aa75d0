// For tests: a client that sends exactly the bytes it is told, well formed or not, and reads what
// comes back. Blocking, with a timeout on every wait. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pkg/base/unique_fd.h"

namespace yardmaster::http {

struct RawResponse {
  int status = 0;
  std::string head;  // status line and headers
  std::string body;
  // The first header line with that name, "" without one.
  std::string Header(std::string_view name) const;
};

// The bytes under a RawClient: a socket, or TLS over one.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // All of it; false when the other end is gone.
  virtual bool Send(std::string_view bytes) = 0;
  // Appends what comes to `out`. False when no more will come or nothing came in time.
  virtual bool Receive(std::string& out) = 0;
  // The other end said that it sends no more (FIN; close_notify for TLS), rather than a reset or
  // silence.
  virtual bool ended_cleanly() const = 0;
};

class SocketStream final : public ByteStream {
 public:
  // Connects to 127.0.0.1 (or `address`, which may be IPv6). When it fails, so does
  // every Send. `source`: the IPv4 address to come from; empty: the kernel's choice.
  explicit SocketStream(int port, std::string_view address = "127.0.0.1",
                        std::int64_t timeout_ms = 10'000, const std::string& source = "");
  bool Send(std::string_view bytes) override;
  bool Receive(std::string& out) override;
  bool ended_cleanly() const override { return clean_; }
  // Sends FIN; reading goes on.
  void HalfClose();
  // Makes the close send RST.
  void ResetOnClose();
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  bool clean_ = false;
};

class RawClient {
 public:
  explicit RawClient(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}
  explicit RawClient(int port) : RawClient(std::make_unique<SocketStream>(port)) {}

  bool Send(std::string_view bytes) { return stream_->Send(bytes); }
  // The next response; nothing when the connection ends or stays silent first. `head`: it answers
  // a HEAD request and has no body.
  std::optional<RawResponse> ReadResponse(bool head = false);
  // Sends a whole request and reads the answer.
  std::optional<RawResponse> Call(std::string_view method, std::string_view target,
                                  std::string_view body = "", std::string_view headers = "");
  // Reads to the end; true when it was a clean end with nothing more before it.
  bool AtCleanEnd();

 private:
  bool ReadUntil(std::string_view mark);

  std::unique_ptr<ByteStream> stream_;
  std::string received_;
};

// Open file descriptors of this process.
int CountOpenFiles();

}  // namespace yardmaster::http
