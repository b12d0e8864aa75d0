// One client connection: a state machine over a ConnectionTransport. It reads a request, gives it
// to the handler, writes the answer, and starts over, with a deadline in every state:
//
//   handshake -> idle -> header -> body -> handler -> writing -> idle ...
//                                                            \-> closing -> closed
//
// A connection's first request has no idle state: a client that connects and says nothing has the
// header deadline. Requests are answered one at a time in the order they came (pipelining). A
// request that breaks a rule is answered and the connection closed: the answer, close_notify, FIN,
// and then what the client still sends is read and thrown away, so that it sees the answer.
// Thread safety: PostStart, BeginDrain, Abort, WaitingSinceMs, used and Done from any thread; the
// rest in the transport's sequence. Lifetime: owned by the context's `on_closed` side
// (ConnectionTable) until closed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "pkg/http/connection_transport.h"
#include "pkg/http/message.h"
#include "pkg/http/options.h"
#include "pkg/http/read_buffer.h"
#include "pkg/http/request_reader.h"
#include "pkg/http/response_writer.h"
#include "pkg/http/stats.h"

namespace yardmaster::http {

class Connection;

// What all connections of a server share.
struct ConnectionContext {
  Limits limits;
  Deadlines deadlines;
  Handler handler;
  // Called once per connection, in its sequence, when it is closed.
  std::function<void(Connection&)> on_closed;
  // Empty: every client may come in. See ServerOptions.
  std::function<bool(const tls::CertificateNames&)> trusts;
  // Called in its sequence when a client has proved to be one that may come in.
  std::function<void(Connection&)> on_trusted;
  StatsCounters stats;
  std::atomic<std::int64_t> held_body_bytes{0};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<ConnectionTransport> transport,
             std::shared_ptr<ConnectionContext> context);

  // In the transport's sequence.
  void Start();
  // The same from any thread.
  void PostStart();
  // The answer to the next request, be it under way or still to come, is the last one and says so.
  // Closes after Deadlines::drain_idle_ms without a request.
  void BeginDrain();
  // Closes now.
  void Abort();

  // Steady time since when it waits for its client, be it for a handshake or for a request; nothing
  // while a request is worked on or answered. From any thread; a moment old.
  std::optional<std::int64_t> WaitingSinceMs() const;
  // It has answered a request. From any thread.
  bool used() const { return used_; }

 private:
  static constexpr std::int64_t kBusy = INT64_MAX;
  enum class State { kHandshake, kIdle, kHeader, kBody, kHandler, kWriting, kClosing, kClosed };
  class ReplySlot;

  void Enter(State state, std::int64_t deadline_ms);
  void Identify();
  void OnDeadline();

  void NextRequest();
  std::int64_t WaitForRequestMs(std::int64_t deadline_ms) const;
  void Read();
  void OnRead(std::size_t bytes);
  void Parse();
  bool ChargeBody();
  void SendContinue();
  void Refuse(Response error);

  void Dispatch();
  void OnReply(Response response);
  void OnDropped();

  void Send(Response response, bool keep_alive);
  void Linger();
  void Close();

  const std::shared_ptr<ConnectionTransport> transport_;
  const std::shared_ptr<ConnectionContext> context_;
  State state_ = State::kHandshake;
  std::atomic<bool> used_ = false;              // a request has been answered here
  std::atomic<std::int64_t> waiting_since_ms_;  // kBusy: it does not wait
  bool refused_ = false;                        // the client may not come in
  bool draining_ = false;
  bool writing_continue_ = false;
  bool continue_sent_ = false;
  ReadBuffer buffer_;
  std::optional<RequestReader> reader_;
  // What is left of the request while its handler works.
  bool head_ = false;
  bool keep_alive_ = false;
  bool http10_ = false;
  std::int64_t charged_bytes_ = 0;
  WireResponse out_;
  std::weak_ptr<ReplySlot> slot_;
};

}  // namespace yardmaster::http
