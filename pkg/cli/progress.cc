#include "pkg/cli/progress.h"

#include <ostream>
#include <thread>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/cli/output/terminal.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

constexpr std::int64_t kQuietMs = 1'000;
constexpr std::int64_t kTickMs = 250;

class ProgressClient final : public kube::Client {
 public:
  ProgressClient(std::unique_ptr<kube::Client> client, std::ostream& out, const Clock& clock,
                 kube::Sleeper& sleeper)
      : client_(std::move(client)),
        clock_(clock),
        line_(out),
        thread_([this, &sleeper](const std::stop_token& stop) {
          while (sleeper.Sleep(kTickMs, stop)) line_.Show(clock_.SteadyMs());
        }) {}

  absl::StatusOr<json> Get(const kube::Target& target) override {
    const Call call(*this, "reading", target);
    return client_->Get(target);
  }
  absl::StatusOr<kube::PageEnd> ReadPage(const kube::Target& target,
                                         const kube::ListOptions& options,
                                         const kube::OnObject& on_object) override {
    const Call call(*this, "reading", target);
    return client_->ReadPage(target, options, on_object);
  }
  absl::StatusOr<json> Create(const kube::Target& target, const json& object,
                              const kube::WriteOptions& options) override {
    const Call call(*this, "writing", target);
    return client_->Create(target, object, options);
  }
  absl::StatusOr<json> Replace(const kube::Target& target, const json& object,
                               const kube::WriteOptions& options) override {
    const Call call(*this, "writing", target);
    return client_->Replace(target, object, options);
  }
  absl::StatusOr<json> Patch(const kube::Target& target, const kube::PatchBody& patch,
                             const kube::WriteOptions& options) override {
    const Call call(*this, "writing", target);
    return client_->Patch(target, patch, options);
  }
  absl::Status Delete(const kube::Target& target, const kube::DeleteOptions& options) override {
    const Call call(*this, "removing", target);
    return client_->Delete(target, options);
  }
  absl::Status Watch(const kube::Target& target, const kube::WatchOptions& options,
                     std::stop_token stop,
                     const std::function<void(const kube::WatchEvent&)>& on_event) override {
    return client_->Watch(target, options, std::move(stop), on_event);
  }

 private:
  class Call {
   public:
    Call(ProgressClient& client, const char* verb, const kube::Target& target) : client_(client) {
      client.line_.Begin(StrCat(verb, " ", kube::Describe(target)), client.clock_.SteadyMs());
    }
    ~Call() { client_.line_.End(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    ProgressClient& client_;
  };

  const std::unique_ptr<kube::Client> client_;
  const Clock& clock_;
  ProgressLine line_;
  std::jthread thread_;  // ends before the line that it writes
};

}  // namespace

void ProgressLine::Begin(const std::string& what, std::int64_t now_ms) {
  MutexLock lock(mutex_);
  ++calls_;
  what_ = what;
  if (began_ms_ < 0) began_ms_ = now_ms;
}

void ProgressLine::End() {
  MutexLock lock(mutex_);
  if (--calls_ > 0 || !shown_) return;
  WriteControl(out_, "\r\033[K");
  out_ << std::flush;
  shown_ = false;
}

void ProgressLine::Show(std::int64_t now_ms) {
  MutexLock lock(mutex_);
  if (calls_ == 0 || now_ms - began_ms_ < kQuietMs) return;
  WriteControl(out_, "\r");
  out_ << what_ << ", " << (now_ms - began_ms_) / 1'000 << " s";
  WriteControl(out_, "\033[K");
  out_ << std::flush;
  shown_ = true;
}

std::unique_ptr<kube::Client> WithProgress(std::unique_ptr<kube::Client> client, std::ostream& out,
                                           const Clock& clock, kube::Sleeper& sleeper) {
  return std::make_unique<ProgressClient>(std::move(client), out, clock, sleeper);
}

}  // namespace yardmaster::cli
