// A connection's state machine over a transport that a test plays by hand.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/http/connection.h"
#include "pkg/http/testing/fake_connection_transport.h"

namespace yardmaster::http {

inline constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

// One connection over a played transport. The handler keeps its calls until the test answers them.
class ConnectionFixture : public ::testing::Test {
 protected:
  struct Call {
    Request request;
    Done done;
  };

  ConnectionFixture() {
    NewTransport();
    context_->handler = [this](Request request, Done done) {
      calls_.push_back({std::move(request), std::move(done)});
    };
    context_->on_closed = [this](Connection&) {
      ++closed_;
      connection_.reset();
    };
  }

  ~ConnectionFixture() override {
    // A callback under way owns the connection, which owns the transport.
    for (const auto& transport : transports_) transport->Close();
  }

  void NewTransport() {
    transport_ = std::make_shared<FakeConnectionTransport>();
    transports_.push_back(transport_);
  }
  void Start() {
    connection_ = std::make_shared<Connection>(transport_, context_);
    connection_->Start();
    transport_->Run();
  }
  void Answer(Response response = TextResponse(200, "ok")) {
    Done done = std::move(calls_.at(answered_++).done);
    done(std::move(response));
    transport_->Run();
  }
  std::int64_t rejected(Rejection reason) const {
    return context_->stats.Read().rejections(reason);
  }

  std::shared_ptr<ConnectionContext> context_ = std::make_shared<ConnectionContext>();
  std::vector<std::shared_ptr<FakeConnectionTransport>> transports_;
  std::shared_ptr<FakeConnectionTransport> transport_;
  std::shared_ptr<Connection> connection_;
  std::vector<Call> calls_;
  std::size_t answered_ = 0;
  int closed_ = 0;
};

}  // namespace yardmaster::http
