// A connection of a server that shuts down.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/http/testing/connection_fixture.h"

namespace yardmaster::http {
namespace {

using testing::HasSubstr;
using testing::Not;

class ConnectionDrainTest : public ConnectionFixture {
 protected:
  // `used`: it has answered a request before.
  void DrainANewConnection(bool used) {
    NewTransport();
    Start();
    if (used) {
      transport_->ClientSends(kGet);
      Answer();
      EXPECT_THAT(transport_->TakeWritten(), Not(HasSubstr("Connection: close")));
    }
    connection_->BeginDrain();
  }
};

TEST_F(ConnectionDrainTest, DrainAnswersARequestThatWasSentBeforeTheClientKnew) {
  for (const bool used : {false, true}) {
    DrainANewConnection(used);
    transport_->Advance(2'999);
    EXPECT_FALSE(transport_->write_closed());
    transport_->ClientSends(kGet);
    Answer();
    EXPECT_THAT(transport_->TakeWritten(), HasSubstr("Connection: close\r\n"));
    EXPECT_TRUE(transport_->write_closed());
  }
}

TEST_F(ConnectionDrainTest, DrainClosesAConnectionThatStaysIdle) {
  for (const bool used : {false, true}) {
    DrainANewConnection(used);
    transport_->Advance(3'000);
    EXPECT_TRUE(transport_->write_closed());
    transport_->ClientCloses();
  }
  EXPECT_EQ(rejected(Rejection::kHeaderTimeout), 0);
}

TEST_F(ConnectionDrainTest, DrainAnswersAClientThatWasShakingHands) {
  transport_->HoldHandshake();
  Start();
  connection_->BeginDrain();
  transport_->ReleaseHandshake();
  transport_->Run();
  EXPECT_EQ(closed_, 0);
  transport_->ClientSends(kGet);
  Answer();
  EXPECT_THAT(transport_->TakeWritten(), HasSubstr("Connection: close\r\n"));
}

TEST_F(ConnectionDrainTest, AnAnswerUnderWayThatPromisesAnotherIsFollowedByThatWhenDraining) {
  Start();
  transport_->HoldWrites(true);
  transport_->ClientSends(kGet);
  Answer();
  connection_->BeginDrain();
  transport_->HoldWrites(false);
  transport_->Run();
  EXPECT_THAT(transport_->TakeWritten(), Not(HasSubstr("Connection: close")));
  EXPECT_FALSE(transport_->write_closed());
  transport_->ClientSends(kGet);
  Answer();
  EXPECT_THAT(transport_->TakeWritten(), HasSubstr("Connection: close\r\n"));
}

TEST_F(ConnectionDrainTest, DrainAnswersWhatHasBegun) {
  Start();
  transport_->ClientSends("GET /a HTTP/1.1\r\n");
  connection_->BeginDrain();
  transport_->Run();
  EXPECT_FALSE(transport_->write_closed());
  transport_->ClientSends("Host: h\r\n\r\n");
  Answer();
  EXPECT_THAT(transport_->TakeWritten(), HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(transport_->write_closed());
}

}  // namespace
}  // namespace yardmaster::http
