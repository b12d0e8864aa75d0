// How a ReportStream behaves with an operator that answers out of turn.
#include <atomic>
#include <chrono>
#include <functional>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <memory>
#include <thread>

#include "pkg/base/strings.h"
#include "pkg/rpc/report_stream.h"
#include "pkg/rpc/reports.pb.h"

namespace yardmaster::rpc {
namespace {

grpc::ByteBuffer Buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

// A stream that gets `receipt` at once and is never read.
class OutOfTurn final : public grpc::ServerGenericBidiReactor {
 public:
  explicit OutOfTurn(const std::string& receipt) : receipt_(Buffer(receipt)) {
    StartWrite(&receipt_);
  }
  bool wrote() const { return wrote_; }

  void OnWriteDone(bool /*ok*/) override { wrote_ = true; }
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override {}

 private:
  grpc::ByteBuffer receipt_;
  std::atomic<bool> wrote_ = false;
};

class OutOfTurnOperator final : public grpc::CallbackGenericService {
 public:
  explicit OutOfTurnOperator(const std::string& receipt) : call_(receipt) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  ~OutOfTurnOperator() override { server_->Shutdown(std::chrono::system_clock::now()); }
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return &call_;
  }
  OutOfTurn& call() { return call_; }
  ReportStreamOptions ForAgent() const {
    ReportStreamOptions options;
    options.target = StrCat("127.0.0.1:", port_);
    options.node = "n1";
    options.first_retry_ms = 1'000'000;  // one call
    return options;
  }

 private:
  OutOfTurn call_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

void WaitFor(const std::function<bool()>& holds) {
  for (int i = 0; i < 30'000 && !holds(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(holds()) << "it never came";
}

TEST(ReportStreamFaultsTest, StopsAfterAReceiptThatIsNone) {
  const RealClock clock;
  OutOfTurnOperator remote("\xff\xff");
  ReportStream stream(remote.ForAgent(), clock);
  stream.Report({});
  stream.Step();
  WaitFor([&] { return remote.call().wrote(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until the agent has read it
  stream.Stop();
  EXPECT_EQ(stream.stats().confirmed, 0);
  EXPECT_EQ(stream.stats().broken, 1);
}

}  // namespace
}  // namespace yardmaster::rpc
