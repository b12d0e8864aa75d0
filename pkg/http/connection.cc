#include "pkg/http/connection.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "pkg/base/clock.h"

namespace yardmaster::http {
namespace {

// An idle connection holds this much; reading a body uses more for fewer system calls.
constexpr std::size_t kIdleBufferBytes = 4 * 1024;
constexpr std::size_t kBodyBufferBytes = 64 * 1024;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

Rejection RejectionFor(int status) {
  switch (status) {
    case 405:
    case 501:
      return Rejection::kMethod;
    case 403:
      return Rejection::kNotTrusted;
    case 413:
    case 431:
      return Rejection::kTooLarge;
    case 503:
      return Rejection::kBodyMemory;
    default:
      return Rejection::kMalformed;
  }
}

std::int64_t SteadyMs() { return RealClock().SteadyMs(); }

}  // namespace

// What a Done holds: the way back to the connection, good for one answer. It does not keep the
// connection alive, so a handler that keeps its Done for ever keeps nothing open.
class Connection::ReplySlot {
 public:
  ReplySlot(std::weak_ptr<Connection> connection,
            const std::shared_ptr<ConnectionTransport>& transport)
      : connection_(std::move(connection)), transport_(transport) {}
  ReplySlot(const ReplySlot&) = delete;
  ReplySlot& operator=(const ReplySlot&) = delete;
  ~ReplySlot() {
    if (answered_.exchange(true)) return;
    Notify([](Connection& connection) { connection.OnDropped(); });
  }

  void Answer(Response response) {
    if (answered_.exchange(true)) return;
    Notify([answer = std::move(response)](Connection& connection) mutable {
      connection.OnReply(std::move(answer));
    });
  }
  // The client has gone, or has been told 503.
  void Abandon() { answered_ = true; }

 private:
  void Notify(std::function<void(Connection&)> what) {
    const std::shared_ptr<ConnectionTransport> transport = transport_.lock();
    if (transport == nullptr) return;
    transport->Post([connection = connection_, tell = std::move(what)] {
      if (auto alive = connection.lock()) tell(*alive);
    });
  }

  const std::weak_ptr<Connection> connection_;
  const std::weak_ptr<ConnectionTransport> transport_;
  std::atomic<bool> answered_{false};
};

Connection::Connection(std::shared_ptr<ConnectionTransport> transport,
                       std::shared_ptr<ConnectionContext> context)
    : transport_(std::move(transport)),
      context_(std::move(context)),
      waiting_since_ms_(SteadyMs()) {}

void Connection::Start() {
  if (state_ == State::kClosed) return;
  transport_->OnDeadline([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->OnDeadline();
  });
  Enter(State::kHandshake, context_->deadlines.handshake_ms);
  transport_->Handshake([self = shared_from_this()](bool ok) {
    if (self->state_ != State::kHandshake) return;
    if (ok) {
      self->Identify();
      return self->NextRequest();
    }
    self->context_->stats.Count(Rejection::kHandshakeFailed);
    self->Linger();  // so that the client can read the TLS alert
  });
}

void Connection::PostStart() {
  transport_->Post([self = shared_from_this()] { self->Start(); });
}

void Connection::BeginDrain() {
  transport_->Post([weak = weak_from_this()] {
    auto self = weak.lock();
    if (self == nullptr) return;
    self->draining_ = true;
    const bool waiting = self->state_ == State::kIdle || self->state_ == State::kHeader;
    if (waiting && !self->reader_->started()) {
      self->Enter(self->state_, self->context_->deadlines.drain_idle_ms);
    }
  });
}

void Connection::Abort() {
  transport_->Post([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Close();
  });
}

void Connection::Enter(State state, std::int64_t deadline_ms) {
  const bool waited = waiting_since_ms_ != kBusy;
  const bool waits = state == State::kHandshake || state == State::kIdle ||
                     state == State::kHeader || state == State::kBody;
  if (waits != waited) waiting_since_ms_ = waits ? SteadyMs() : kBusy;
  state_ = state;
  transport_->SetDeadline(deadline_ms);
}

std::optional<std::int64_t> Connection::WaitingSinceMs() const {
  const std::int64_t since = waiting_since_ms_;
  return since == kBusy ? std::nullopt : std::optional<std::int64_t>(since);
}

// A client that is not trusted is answered 403 at its request, because a TLS alert does not say
// why.
void Connection::Identify() {
  if (!context_->trusts) return;
  const auto identity = transport_->peer_identity();
  refused_ = identity == nullptr || !context_->trusts(*identity);
  if (!refused_ && context_->on_trusted) context_->on_trusted(*this);
}

void Connection::OnDeadline() {
  StatsCounters& stats = context_->stats;
  switch (state_) {
    case State::kHandshake:
      stats.Count(Rejection::kHandshakeTimeout);
      return Close();
    case State::kIdle:
      return Linger();
    case State::kHeader:
    case State::kBody:
      if (draining_ && !reader_->started()) return Linger();
      stats.Count(state_ == State::kHeader ? Rejection::kHeaderTimeout : Rejection::kBodyTimeout);
      if (writing_continue_ || !reader_->started()) return Close();
      transport_->CancelRead();
      return Send(ErrorResponse(408, "the request did not arrive in time"), false);
    case State::kHandler:
      stats.Count(Rejection::kHandlerTimeout);
      if (auto slot = slot_.lock()) slot->Abandon();
      return Send(ErrorResponse(503, "no answer was ready in time"), false);
    case State::kWriting:
      stats.Count(Rejection::kWriteTimeout);
      return Close();
    case State::kClosing:
      return Close();
    case State::kClosed:
      return;
  }
}

// A client that may be about to send a request is not closed on when the server drains: it would
// not know whether the request was worked on, and HTTP clients do not send a POST twice.
std::int64_t Connection::WaitForRequestMs(std::int64_t deadline_ms) const {
  return draining_ ? std::min(deadline_ms, context_->deadlines.drain_idle_ms) : deadline_ms;
}

void Connection::NextRequest() {
  reader_.emplace(context_->limits);
  continue_sent_ = false;
  head_ = false;
  context_->held_body_bytes.fetch_sub(std::exchange(charged_bytes_, 0));
  buffer_.Shrink(kIdleBufferBytes);
  const bool idle = used_ && buffer_.empty();
  Enter(idle ? State::kIdle : State::kHeader,
        WaitForRequestMs(idle ? context_->deadlines.idle_ms : context_->deadlines.header_ms));
  if (buffer_.empty()) return Read();
  Parse();
}

void Connection::Read() {
  const std::size_t most = context_->limits.header_bytes;
  const std::size_t held = buffer_.data().size();
  std::size_t capacity = std::clamp(2 * held, std::min(kIdleBufferBytes, most), most);
  if (state_ == State::kBody) capacity = std::max(most, kBodyBufferBytes);
  char* out = buffer_.Prepare(capacity);
  transport_->Read(out, buffer_.space(),
                   [self = shared_from_this()](std::size_t bytes) { self->OnRead(bytes); });
}

void Connection::OnRead(std::size_t bytes) {
  const bool reading = state_ == State::kIdle || state_ == State::kHeader || state_ == State::kBody;
  if (!reading) return;
  if (bytes == 0) return Close();
  buffer_.Commit(bytes);
  if (state_ == State::kIdle) Enter(State::kHeader, context_->deadlines.header_ms);
  Parse();
}

void Connection::Parse() {
  buffer_.Consume(reader_->Feed(buffer_.data()));
  head_ = reader_->head();
  const bool asked_for = reader_->state() == RequestReader::State::kBody ||
                         reader_->state() == RequestReader::State::kComplete;
  if (refused_ && asked_for) {
    return Refuse(ErrorResponse(403, "this server serves clients with another certificate"));
  }
  if (!ChargeBody()) {
    return Refuse(ErrorResponse(503, "too many request bodies are held already; try again"));
  }
  switch (reader_->state()) {
    case RequestReader::State::kFailed:
      return Refuse(reader_->error());
    case RequestReader::State::kComplete:
      return Dispatch();
    case RequestReader::State::kHeader:
      return Read();
    case RequestReader::State::kBody:
      break;
  }
  if (state_ != State::kBody) Enter(State::kBody, context_->deadlines.body_ms);
  const bool asked = reader_->expects_continue() && !continue_sent_;
  if (asked && reader_->body_bytes() == 0 && buffer_.empty()) return SendContinue();
  Read();
}

// All bodies share one budget of bytes, so that many large ones together cannot exhaust memory.
bool Connection::ChargeBody() {
  const auto held = static_cast<std::int64_t>(reader_->body_bytes());
  const std::int64_t more = held - charged_bytes_;
  if (more == 0) return true;
  charged_bytes_ = held;
  const std::int64_t total = context_->held_body_bytes.fetch_add(more) + more;
  return total <= static_cast<std::int64_t>(context_->limits.total_body_bytes);
}

void Connection::SendContinue() {
  continue_sent_ = true;
  writing_continue_ = true;
  transport_->Write(kContinue, {}, [self = shared_from_this()](bool ok) {
    self->writing_continue_ = false;
    if (self->state_ != State::kBody) return;
    if (!ok) return self->Close();
    self->Read();
  });
}

void Connection::Refuse(Response error) {
  context_->stats.Count(RejectionFor(error.status));
  Send(std::move(error), false);
}

void Connection::Dispatch() {
  Enter(State::kHandler, context_->deadlines.handler_ms);
  context_->stats.CountRequest();
  keep_alive_ = reader_->keep_alive();
  http10_ = reader_->http10();
  Request request = reader_->Take();
  request.remote = transport_->remote();
  request.peer_identity = transport_->peer_identity();

  auto slot = std::make_shared<ReplySlot>(weak_from_this(), transport_);
  slot_ = slot;
  try {
    context_->handler(std::move(request),
                      [slot](Response response) { slot->Answer(std::move(response)); });
  } catch (...) {
    context_->stats.Count(Rejection::kHandlerThrew);
    slot->Answer(ErrorResponse(500, "the handler failed"));
  }
}

void Connection::OnReply(Response response) {
  if (state_ != State::kHandler) return;
  const auto connection_header = response.headers.Find("Connection");
  const bool close = connection_header && EqualsIgnoreCase(*connection_header, "close");
  const bool keep_alive = keep_alive_ && !close && !draining_;
  Send(std::move(response), keep_alive);
}

void Connection::OnDropped() {
  if (state_ != State::kHandler) return;
  context_->stats.Count(Rejection::kHandlerDropped);
  Linger();
}

void Connection::Send(Response response, bool keep_alive) {
  Enter(State::kWriting, context_->deadlines.write_ms);
  out_ = WriteResponse(
      std::move(response),
      {.head = head_, .keep_alive = keep_alive, .http10 = http10_, .now_s = std::time(nullptr)});
  transport_->Write(out_.head, out_.body, [self = shared_from_this(), keep_alive](bool ok) {
    if (self->state_ != State::kWriting) return;
    self->out_ = WireResponse();
    self->used_ = true;
    if (!ok) return self->Close();
    if (!keep_alive) return self->Linger();
    self->NextRequest();
  });
}

void Connection::Linger() {
  Enter(State::kClosing, context_->deadlines.linger_ms);
  transport_->CancelRead();
  transport_->CloseWrite([self = shared_from_this()] {
    if (self->state_ != State::kClosing) return;
    self->transport_->Discard([self] { self->Close(); });
  });
}

void Connection::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  if (auto slot = slot_.lock()) slot->Abandon();
  context_->held_body_bytes.fetch_sub(std::exchange(charged_bytes_, 0));
  transport_->Close();
  context_->on_closed(*this);
}

}  // namespace yardmaster::http
