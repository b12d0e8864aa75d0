#include "pkg/rpc/report_stream.h"

#include <algorithm>
#include <fstream>
#include <grpcpp/create_channel.h>
#include <grpcpp/grpcpp.h>
#include <optional>
#include <utility>

#include "pkg/base/mutex.h"
#include "pkg/base/random.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/rpc/credentials.h"
#include "pkg/rpc/reports.grpc.pb.h"

namespace yardmaster::rpc {

using reports::v1::NodeReport;
using reports::v1::Receipt;
using reports::v1::Reports;

// What outlives a try. gRPC calls a try's reactions on its own threads, those for reads and those
// for writes at the same time.
class ReportStream::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(ReportStreamOptions options, const Clock& clock);
  ~Core();

  void Report(std::vector<api::NicPortKey> down_ports);
  void Step();
  Stats stats() const;
  void Stop();

 private:
  class Try;

  bool IsTimeToTry() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !stopped_ && try_ == nullptr && state_ && clock_.SteadyMs() >= next_try_ms_;
  }
  void Failed(std::string why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<grpc::Channel> Connect(std::shared_ptr<grpc::ChannelCredentials> credentials);

  const ReportStreamOptions options_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar ended_;
  Random random_ ABSL_GUARDED_BY(mutex_);
  Try* try_ ABSL_GUARDED_BY(mutex_) = nullptr;  // gRPC's, until it is done
  std::unique_ptr<Try> done_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<std::vector<api::NicPortKey>> state_ ABSL_GUARDED_BY(mutex_);
  std::int64_t version_ ABSL_GUARDED_BY(mutex_) = 0;  // of state_
  std::int64_t next_try_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t retry_ms_ ABSL_GUARDED_BY(mutex_);
  Stats stats_ ABSL_GUARDED_BY(mutex_);
};

class ReportStream::Core::Try final : public grpc::ClientBidiReactor<NodeReport, Receipt> {
 public:
  Try(std::shared_ptr<Core> core, std::shared_ptr<grpc::Channel> channel, const std::string& token)
      : core_(std::move(core)), stub_(Reports::NewStub(std::move(channel))) {
    if (!token.empty()) context_.AddMetadata("authorization", StrCat("Bearer ", token));
    stub_->async()->Connect(&context_, this);
    AddHold();  // writes begin outside of reactions, too; given back when reading ends
  }

  void Start() {
    StartRead(&receipt_);
    StartCall();
    MaybeWrite();
  }

  void MaybeWrite() {
    {
      const MutexLock lock(core_->mutex_);
      if (!open_ || writing_ || unconfirmed_ || sent_version_ == core_->version_) return;
      sent_version_ = core_->version_;
      writing_ = true;
      unconfirmed_ = true;
      report_.Clear();
      report_.set_node(core_->options_.node);
      report_.set_sequence(sent_version_);
      for (const auto& [rail, port] : *core_->state_) {
        reports::v1::NicPort* down = report_.add_down_ports();
        down->set_rail(rail);
        down->set_port(port);
      }
      AddHold();  // the other one may be given back before StartWrite
    }
    StartWrite(&report_);
    RemoveHold();
  }

  // With core_->mutex_ held while the try is the core's: it is not deleted meanwhile.
  void Cancel() { context_.TryCancel(); }
  // With core_->mutex_ held. True: the caller has a hold and gives it back; false: the try is
  // ending, and another hold would make it end twice.
  bool Hold() {
    if (open_) AddHold();
    return open_;
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      {
        const MutexLock lock(core_->mutex_);
        open_ = false;
      }
      RemoveHold();
      return;
    }
    {
      const MutexLock lock(core_->mutex_);
      unconfirmed_ = false;
      core_->stats_.connected = true;
      ++core_->stats_.confirmed;
      core_->retry_ms_ = core_->options_.first_retry_ms;
    }
    StartRead(&receipt_);
    MaybeWrite();
  }

  // The receipt may have been read before.
  void OnWriteDone(bool ok) override {
    {
      const MutexLock lock(core_->mutex_);
      writing_ = false;
    }
    if (ok) MaybeWrite();
  }

  // Here on one of gRPC's own threads, which the end of the last channel would join: others delete
  // the try.
  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<Core> core = core_;
    const MutexLock lock(core->mutex_);
    core->done_.reset(std::exchange(core->try_, nullptr));
    core->Failed(status.ok() ? "the operator ended the stream" : status.error_message());
    core->ended_.notify_all();
  }

 private:
  // Members below without a guard are gRPC's between Start and the reaction.
  const std::shared_ptr<Core> core_;
  grpc::ClientContext context_;
  const std::unique_ptr<Reports::Stub> stub_;
  NodeReport report_;
  Receipt receipt_;
  // Guarded by core_->mutex_.
  bool open_ = true;
  bool writing_ = false;      // gRPC takes one write at a time
  bool unconfirmed_ = false;  // the receipt of what was sent is not read
  std::int64_t sent_version_ = 0;
};

ReportStream::Core::Core(ReportStreamOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      random_(options_.seed),
      retry_ms_(options_.first_retry_ms) {}
ReportStream::Core::~Core() = default;

void ReportStream::Core::Failed(std::string why) {
  stats_.connected = false;
  ++stats_.broken;
  stats_.last_error = std::move(why);
  const double share = 0.5 + random_.Unit() / 2;
  next_try_ms_ =
      clock_.SteadyMs() + static_cast<std::int64_t>(share * static_cast<double>(retry_ms_));
  retry_ms_ = std::min(options_.max_retry_ms, 2 * retry_ms_);
}

std::shared_ptr<grpc::Channel> ReportStream::Core::Connect(
    std::shared_ptr<grpc::ChannelCredentials> credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, options_.keepalive_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, options_.keepalive_timeout_ms);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(options_.target, std::move(credentials), arguments);
}

void ReportStream::Core::Report(std::vector<api::NicPortKey> down_ports) {
  Try* present = nullptr;
  {
    const MutexLock lock(mutex_);
    if (state_ == down_ports) return;
    state_ = std::move(down_ports);
    ++version_;
    if (try_ != nullptr && try_->Hold()) present = try_;
  }
  if (present == nullptr) return;
  present->MaybeWrite();
  present->RemoveHold();
}

void ReportStream::Core::Step() {
  std::unique_ptr<Try> done;  // ends without the lock
  {
    const MutexLock lock(mutex_);
    done = std::move(done_);
    if (!IsTimeToTry()) return;
  }
  auto credentials = ChannelCredentialsOf(options_.tls);
  std::string token;
  if (!options_.token_file.empty()) {
    std::ifstream file(options_.token_file, std::ios::binary);
    std::getline(file, token, '\0');  // of a folder the iterator of the stream's buffer would throw
    while (!token.empty() && (token.back() == '\n' || token.back() == ' ')) token.pop_back();
  }
  Try* made = nullptr;
  {
    const MutexLock lock(mutex_);
    if (done_ != nullptr || !IsTimeToTry()) return;  // another thread's try was faster
    if (!credentials.ok()) return Failed(MessageOf(credentials.status()));
    if (!options_.token_file.empty() && token.empty()) {
      return Failed(StrCat(options_.token_file, ": has no token"));
    }
    made = try_ = new Try(shared_from_this(), Connect(*std::move(credentials)), token);
    made->Hold();
  }
  made->Start();
  made->RemoveHold();
}

ReportStream::Stats ReportStream::Core::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

void ReportStream::Core::Stop() {
  std::unique_ptr<Try> done;  // ends without the lock
  MutexLock lock(mutex_);
  stopped_ = true;
  if (try_ != nullptr) try_->Cancel();
  ended_.wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return try_ == nullptr; });
  done = std::move(done_);
}

ReportStream::ReportStream(ReportStreamOptions options, const Clock& clock)
    : core_(std::make_shared<Core>(std::move(options), clock)) {}
ReportStream::~ReportStream() { core_->Stop(); }
void ReportStream::Report(std::vector<api::NicPortKey> down_ports) {
  core_->Report(std::move(down_ports));
}
void ReportStream::Step() { core_->Step(); }
ReportStream::Stats ReportStream::stats() const { return core_->stats(); }
void ReportStream::Stop() { core_->Stop(); }

}  // namespace yardmaster::rpc
