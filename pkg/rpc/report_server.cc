#include "pkg/rpc/report_server.h"

#include <chrono>
#include <deque>
#include <grpcpp/grpcpp.h>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "pkg/base/mutex.h"
#include "pkg/base/run_once.h"
#include "pkg/base/strings.h"
#include "pkg/base/token_bucket.h"
#include "pkg/rpc/conversion.h"
#include "pkg/rpc/credentials.h"
#include "pkg/rpc/reports.grpc.pb.h"

namespace yardmaster::rpc {

using reports::v1::NodeReport;
using reports::v1::Receipt;

namespace {

constexpr int kMaxReportBytes = 64 * 1024;
constexpr std::string_view kBearer = "Bearer ";

absl::Status CheckOptions(const ReportServerOptions& options) {
  constexpr char kFlag[] = "--reports-bind-address";
  if (options.address.rfind(':') == std::string::npos) {
    return FieldError(kFlag, StrCat("\"", options.address, "\" has no port"), "write host:port");
  }
  if (!options.tls.empty() && !options.tls.complete()) {
    return FieldError("reports TLS", "certificate, key and authority belong together",
                      "give all three files");
  }
  if (options.tls.empty() && !IsLoopback(options.address)) {
    return FieldError(kFlag, StrCat(options.address, " would serve every client"),
                      "give certificates, or bind to loopback");
  }
  return absl::OkStatus();
}

}  // namespace

// Streams have one operation under way at a time (authentication, a read, or a write), so Finish is
// called once, at the end of the last one; to end a stream from outside is to cancel it.
class ReportServer::Impl final : public reports::v1::Reports::CallbackService {
 public:
  Impl(const ReportServerOptions& options, const Clock& clock, Authenticate authenticate, Sink sink)
      : options_(options),
        clock_(clock),
        authenticate_(std::move(authenticate)),
        sink_(std::move(sink)) {}

  absl::Status Start();
  void SetServing(bool serving);
  int port() const { return port_; }
  Stats stats() const;
  void Stop();

  grpc::ServerBidiReactor<NodeReport, Receipt>* Connect(
      grpc::CallbackServerContext* context) override;

 private:
  class Stream;

  grpc::Status Admit(Stream& stream);
  void AuthenticateWaiting(const std::stop_token& stop);
  grpc::Status Take(Stream& stream, const NodeReport& report);
  void End(Stream& stream);
  void Cancel(const std::vector<Stream*>& pinned);

  const ReportServerOptions options_;
  const Clock& clock_;
  const Authenticate authenticate_;
  const Sink sink_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::jthread> authenticators_;

  mutable Mutex mutex_;
  CondVar waiting_changed_;
  CondVar unpinned_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<Stream*> streams_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Stream*> by_node_ ABSL_GUARDED_BY(mutex_);
  std::deque<Stream*> waiting_ ABSL_GUARDED_BY(mutex_);  // for authentication
  Stats stats_ ABSL_GUARDED_BY(mutex_);
};

class ReportServer::Impl::Stream final : public grpc::ServerBidiReactor<NodeReport, Receipt> {
 public:
  Stream(Impl& server, grpc::CallbackServerContext& context) : server_(server), context_(context) {}

  std::string Token() const {
    const auto& metadata = context_.client_metadata();
    const auto at = metadata.find("authorization");
    if (at == metadata.end()) return "";
    const std::string_view text(at->second.data(), at->second.size());
    if (text.substr(0, kBearer.size()) != kBearer) return "";
    return std::string(text.substr(kBearer.size()));
  }
  void Read() { StartRead(&report_); }
  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    grpc::Status status;
    const absl::Status contained = Contain([&] { status = server_.Take(*this, report_); });
    if (!contained.ok()) status = {grpc::StatusCode::INTERNAL, MessageOf(contained)};
    if (!status.ok()) return Finish(status);
    receipt_.set_sequence(report_.sequence());
    StartWrite(&receipt_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    Read();
  }
  void OnDone() override {
    server_.End(*this);
    delete this;
  }

  // Whether one more report keeps within the limit.
  bool MayReport() { return limit_.Take(1, server_.clock_.SteadyMs()) == 1; }

  // Guarded by server_.mutex_.
  std::string node;
  bool reported = false;    // the sink was called for it
  bool superseded = false;  // by a newer stream of its node
  int pins = 0;             // who uses it outside of its reactions

 private:
  Impl& server_;
  grpc::CallbackServerContext& context_;
  NodeReport report_;
  Receipt receipt_;
  TokenBucket limit_{kReportsPerSecond, kReportBurst};
};

absl::Status ReportServer::Impl::Start() {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxReportBytes);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, options_.keepalive_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, options_.keepalive_timeout_ms);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             options_.keepalive_ms / 2);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, options_.max_connection_age_ms);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 1'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1);
  builder.RegisterService(this);
  builder.AddListeningPort(ListeningAddress(options_.address),
                           ServerCredentialsOf(options_.tls, options_.tls_reload_seconds), &port_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port_ == 0) {
    server_ = nullptr;
    return absl::UnavailableError(
        StrCat("cannot take reports on ", options_.address,
               ": is the address in use, or a certificate file unreadable?"));
  }
  if (authenticate_) {
    for (int i = 0; i < options_.authenticator_threads; ++i) {
      authenticators_.emplace_back(
          [this](const std::stop_token& stop) { AuthenticateWaiting(stop); });
    }
  }
  return absl::OkStatus();
}

grpc::ServerBidiReactor<NodeReport, Receipt>* ReportServer::Impl::Connect(
    grpc::CallbackServerContext* context) {
  auto* stream = new Stream(*this, *context);
  grpc::Status refused;
  bool wait = false;
  {
    const MutexLock lock(mutex_);
    streams_.insert(stream);
    if (!serving_) {
      refused = {grpc::StatusCode::UNAVAILABLE, "another replica leads"};
    } else if (static_cast<int>(streams_.size()) > options_.max_streams) {
      refused = {grpc::StatusCode::RESOURCE_EXHAUSTED, "there are too many streams"};
    } else if (authenticate_) {
      wait = true;
      waiting_.push_back(stream);
      waiting_changed_.notify_one();
    }
  }
  if (!refused.ok()) {
    stream->Finish(refused);
  } else if (!wait) {
    stream->Read();
  }
  return stream;
}

void ReportServer::Impl::AuthenticateWaiting(const std::stop_token& stop) {
  while (true) {
    Stream* stream = nullptr;
    {
      MutexLock lock(mutex_);
      if (!waiting_changed_.wait(lock, stop, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
            return !waiting_.empty();
          })) {
        return;
      }
      stream = waiting_.front();
      waiting_.pop_front();
    }
    grpc::Status status;
    const absl::Status contained = Contain([&] { status = Admit(*stream); });
    if (!contained.ok()) status = {grpc::StatusCode::INTERNAL, MessageOf(contained)};
    if (status.ok()) {
      stream->Read();
    } else {
      stream->Finish(status);
    }
  }
}

grpc::Status ReportServer::Impl::Admit(Stream& stream) {
  const std::string token = stream.Token();
  {
    const MutexLock lock(mutex_);
    if (!serving_) return {grpc::StatusCode::UNAVAILABLE, "another replica leads"};
  }
  auto node =
      token.empty() ? absl::UnauthenticatedError("the call has no token") : authenticate_(token);
  const MutexLock lock(mutex_);
  if (!serving_) return {grpc::StatusCode::UNAVAILABLE, "another replica leads"};
  if (!node.ok()) {
    ++stats_.refused;
    return {grpc::StatusCode::UNAUTHENTICATED, MessageOf(node.status())};
  }
  stream.node = *std::move(node);
  return grpc::Status::OK;
}

grpc::Status ReportServer::Impl::Take(Stream& stream, const NodeReport& report) {
  auto down = FromProto(report);
  std::vector<Stream*> older;
  {
    MutexLock lock(mutex_);
    if (stream.node.empty() && !authenticate_) stream.node = report.node();
    grpc::Status refused;
    if (report.node().empty() || report.node() != stream.node) {
      refused = {grpc::StatusCode::INVALID_ARGUMENT, StrCat("the stream is of node \"", stream.node,
                                                            "\", not \"", report.node(), "\"")};
    } else if (!down.ok()) {
      refused = {grpc::StatusCode::INVALID_ARGUMENT, MessageOf(down.status())};
    } else if (!stream.MayReport()) {
      refused = {grpc::StatusCode::RESOURCE_EXHAUSTED, "reports come too fast"};
    }
    if (!refused.ok()) {
      ++stats_.refused;
      return refused;
    }
    if (!serving_) return {grpc::StatusCode::UNAVAILABLE, "another replica leads"};
    if (stream.superseded) return {grpc::StatusCode::ABORTED, "a newer stream speaks for the node"};
    ++stats_.reports;
    if (!stream.reported) {
      const auto [at, first] = by_node_.try_emplace(stream.node, &stream);
      if (!first) {
        older.push_back(at->second);
        ++at->second->pins;
        at->second->superseded = true;
        at->second = &stream;
      }
      stream.reported = true;
    }
    // Under the lock: calls for one node are in order, and the older stream says nothing more.
    sink_.reported(stream.node, *down);
  }
  Cancel(older);
  return grpc::Status::OK;
}

void ReportServer::Impl::Cancel(const std::vector<Stream*>& pinned) {
  for (Stream* stream : pinned) stream->Cancel();
  const MutexLock lock(mutex_);
  for (Stream* stream : pinned) --stream->pins;
  unpinned_.notify_all();
}

void ReportServer::Impl::End(Stream& stream) {
  MutexLock lock(mutex_);
  streams_.erase(&stream);
  if (stream.reported && !stream.superseded) {
    by_node_.erase(stream.node);
    Contain([&] { sink_.ended(stream.node); }).IgnoreError();
  }
  unpinned_.wait(lock, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stream.pins == 0; });
}

void ReportServer::Impl::SetServing(bool serving) {
  std::vector<Stream*> open;
  {
    const MutexLock lock(mutex_);
    if (serving_ == serving) return;
    serving_ = serving;
    if (serving) return;
    for (Stream* stream : streams_) {
      ++stream->pins;
      open.push_back(stream);
    }
  }
  Cancel(open);
}

ReportServer::Stats ReportServer::Impl::stats() const {
  const MutexLock lock(mutex_);
  Stats stats = stats_;
  stats.streams = static_cast<std::int64_t>(by_node_.size());
  return stats;
}

void ReportServer::Impl::Stop() {
  if (server_ == nullptr) return;
  SetServing(false);
  // Authenticators go on while streams wait for them; they need no longer than their last call.
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  authenticators_.clear();
  server_ = nullptr;
}

absl::StatusOr<std::unique_ptr<ReportServer>> ReportServer::Start(
    const ReportServerOptions& options, const Clock& clock, Authenticate authenticate, Sink sink) {
  YM_RETURN_IF_ERROR(CheckOptions(options));
  auto impl = std::make_unique<Impl>(options, clock, std::move(authenticate), std::move(sink));
  YM_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<ReportServer>(new ReportServer(std::move(impl)));
}

ReportServer::ReportServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ReportServer::~ReportServer() { impl_->Stop(); }
void ReportServer::SetServing(bool serving) { impl_->SetServing(serving); }
int ReportServer::port() const { return impl_->port(); }
ReportServer::Stats ReportServer::stats() const { return impl_->stats(); }
void ReportServer::Stop() { impl_->Stop(); }

}  // namespace yardmaster::rpc
