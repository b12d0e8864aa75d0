#include "pkg/http/connection.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/http/testing/connection_fixture.h"

namespace yardmaster::http {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using ConnectionTest = ConnectionFixture;

TEST_F(ConnectionTest, AnswersRequestAfterRequestOnOneConnection) {
  Start();
  for (int i = 0; i < 3; ++i) {
    transport_->ClientSends(kGet);
    Answer(TextResponse(200, StrCat("n", i)));
    EXPECT_THAT(transport_->TakeWritten(), HasSubstr(StrCat("\r\n\r\nn", i)));
  }
  EXPECT_EQ(calls_[0].request.remote, "192.0.2.1:40000");
  EXPECT_FALSE(transport_->write_closed());
  transport_->ClientCloses();
  EXPECT_EQ(closed_, 1);
}

TEST_F(ConnectionTest, AnswersPipelinedRequestsOneByOneInOrder) {
  Start();
  transport_->ClientSends("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_EQ(calls_.size(), 1U) << "the second waits for the first";
  Answer(TextResponse(200, "first"));
  ASSERT_EQ(calls_.size(), 2U);
  EXPECT_EQ(calls_[1].request.target, "/2");
  Answer(TextResponse(200, "second"));
  const std::string written = transport_->TakeWritten();
  EXPECT_LT(written.find("first"), written.find("second"));
  EXPECT_NE(written.find("second"), std::string::npos);
}

TEST_F(ConnectionTest, ASlowHeaderEndsAtItsDeadlineWhateverDribblesIn) {
  Start();
  transport_->ClientSends("G");
  for (int second = 0; second < 9; ++second) {
    transport_->Advance(1000);
    transport_->ClientSends(second == 0 ? "ET / HTTP/1.1\r\nX: " : "x");
  }
  transport_->Advance(999);
  EXPECT_EQ(transport_->TakeWritten(), "");
  transport_->Advance(1);
  EXPECT_THAT(transport_->TakeWritten(), StartsWith("HTTP/1.1 408 "));
  EXPECT_TRUE(transport_->write_closed());
  EXPECT_EQ(rejected(Rejection::kHeaderTimeout), 1);
}

TEST_F(ConnectionTest, ASilentClientIsClosedWithoutAnAnswer) {
  Start();
  transport_->Advance(9'999);
  EXPECT_EQ(closed_, 0);
  transport_->Advance(1);
  EXPECT_EQ(closed_, 1);
  EXPECT_EQ(transport_->TakeWritten(), "");
}

TEST_F(ConnectionTest, ASlowBodyEndsAtItsDeadline) {
  Start();
  transport_->ClientSends("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n");
  for (int second = 0; second < 9; ++second) {
    transport_->Advance(1000);
    transport_->ClientSends("b");
  }
  transport_->Advance(999);
  EXPECT_EQ(transport_->TakeWritten(), "");
  transport_->Advance(1);
  EXPECT_THAT(transport_->TakeWritten(), StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(rejected(Rejection::kBodyTimeout), 1);
  EXPECT_TRUE(calls_.empty());
}

TEST_F(ConnectionTest, AnIdleConnectionIsClosedAfterTheIdleTime) {
  Start();
  transport_->ClientSends(kGet);
  Answer();
  transport_->TakeWritten();
  transport_->Advance(119'999);
  EXPECT_FALSE(transport_->write_closed());
  transport_->Advance(1);
  EXPECT_TRUE(transport_->write_closed());
  EXPECT_EQ(transport_->TakeWritten(), "") << "nothing was asked, so nothing is answered";
  transport_->ClientCloses();
  EXPECT_EQ(closed_, 1);
}

TEST_F(ConnectionTest, AHandlerThatIsTooSlowIsAnsweredForAndItsAnswerDropped) {
  Start();
  transport_->ClientSends(kGet);
  transport_->Advance(30'000);
  EXPECT_THAT(transport_->TakeWritten(), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(rejected(Rejection::kHandlerTimeout), 1);
  Answer();
  EXPECT_EQ(transport_->TakeWritten(), "");
  transport_->Advance(2'000);
  EXPECT_EQ(closed_, 1) << "a held Done keeps nothing open";
}

TEST_F(ConnectionTest, ADroppedDoneClosesTheConnection) {
  Start();
  transport_->ClientSends(kGet);
  calls_.clear();
  transport_->Run();
  EXPECT_TRUE(transport_->write_closed());
  EXPECT_EQ(transport_->TakeWritten(), "");
  EXPECT_EQ(rejected(Rejection::kHandlerDropped), 1);
}

TEST_F(ConnectionTest, OnlyTheFirstAnswerCounts) {
  Start();
  transport_->ClientSends(kGet);
  const Done done = calls_[0].done;
  done(TextResponse(200, "one"));
  done(TextResponse(200, "two"));
  transport_->Run();
  const std::string written = transport_->TakeWritten();
  EXPECT_THAT(written, HasSubstr("one"));
  EXPECT_THAT(written, testing::Not(HasSubstr("two")));
}

TEST_F(ConnectionTest, AThrowingHandlerGivesA500AndTheConnectionGoesOn) {
  context_->handler = [](const Request&, const Done&) { throw 7; };
  Start();
  transport_->ClientSends(kGet);
  EXPECT_THAT(transport_->TakeWritten(), StartsWith("HTTP/1.1 500 "));
  EXPECT_EQ(rejected(Rejection::kHandlerThrew), 1);
  transport_->ClientSends(kGet);
  EXPECT_THAT(transport_->TakeWritten(), StartsWith("HTTP/1.1 500 "));
}

TEST_F(ConnectionTest, AClientThatDoesNotTakeItsAnswerIsCutOff) {
  Start();
  transport_->ClientSends(kGet);
  transport_->HoldWrites(true);
  Answer();
  transport_->Advance(19'999);
  EXPECT_EQ(closed_, 0);
  transport_->Advance(1);
  EXPECT_EQ(closed_, 1);
  EXPECT_EQ(rejected(Rejection::kWriteTimeout), 1);
}

TEST_F(ConnectionTest, ARefusalIsFollowedByTwoSecondsOfListening) {
  Start();
  transport_->ClientSends("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_THAT(transport_->TakeWritten(), StartsWith("HTTP/1.1 413 "));
  EXPECT_TRUE(transport_->write_closed());
  transport_->ClientSends(std::string(1000, 'b'));
  transport_->Advance(1'999);
  EXPECT_EQ(closed_, 0);
  transport_->Advance(1);
  EXPECT_EQ(closed_, 1);
}

TEST_F(ConnectionTest, TellsAWaitingClientToContinueOnce) {
  Start();
  transport_->ClientSends(
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(transport_->TakeWritten(), "HTTP/1.1 100 Continue\r\n\r\n");
  transport_->ClientSends("bo");
  transport_->ClientSends("dy");
  EXPECT_EQ(transport_->TakeWritten(), "");
  ASSERT_EQ(calls_.size(), 1U);
  EXPECT_EQ(calls_[0].request.body, "body");
}

TEST_F(ConnectionTest, DoesNotTellAClientToContinueWhoseBodyIsTooLargeOrHere) {
  Start();
  transport_->ClientSends(
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody");
  EXPECT_EQ(transport_->TakeWritten(), "");
  Answer();
  transport_->TakeWritten();
  transport_->ClientSends(
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(transport_->TakeWritten(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(ConnectionTest, HeadGetsTheHeadersOfTheAnswerOnly) {
  Start();
  transport_->ClientSends("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  Answer(TextResponse(200, "12345"));
  const std::string written = transport_->TakeWritten();
  EXPECT_THAT(written, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(written, testing::EndsWith("\r\n\r\n"));
}

TEST_F(ConnectionTest, ClosesAfterTheAnswerWhenClientOrHandlerAsks) {
  Start();
  transport_->ClientSends("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  Answer();
  EXPECT_THAT(transport_->TakeWritten(), HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(transport_->write_closed());

  NewTransport();
  Start();
  transport_->ClientSends(kGet);
  Response response = TextResponse(200, "ok");
  response.headers.Add("connection", "Close");
  Answer(std::move(response));
  EXPECT_TRUE(transport_->write_closed());
}

TEST_F(ConnectionTest, BodiesOfAllConnectionsShareOnePurse) {
  context_->limits.body_bytes = 1000;
  context_->limits.total_body_bytes = 1500;
  const std::string post =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'b');
  Start();
  transport_->ClientSends(post);
  const auto first_transport = transport_;
  const auto first = std::exchange(connection_, nullptr);
  NewTransport();
  Start();
  transport_->ClientSends(post);
  EXPECT_THAT(transport_->TakeWritten(), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(rejected(Rejection::kBodyMemory), 1);
  transport_->ClientCloses();

  calls_[0].done(TextResponse(200, "ok"));
  first_transport->Run();
  EXPECT_EQ(context_->held_body_bytes, 0);
}

// A client cannot send a POST again whose connection ended without an answer.
TEST_F(ConnectionTest, AbortClosesInTheMiddleOfAnything) {
  Start();
  transport_->ClientSends(kGet);
  connection_->Abort();
  transport_->Run();
  EXPECT_EQ(closed_, 1);
  Answer();
  EXPECT_EQ(transport_->TakeWritten(), "");
}

TEST_F(ConnectionTest, AHandshakeHasADeadlineAndAFailedOneIsCounted) {
  transport_->HoldHandshake();
  Start();
  transport_->Advance(4'999);
  EXPECT_EQ(closed_, 0);
  transport_->Advance(1);
  EXPECT_EQ(closed_, 1);
  EXPECT_EQ(rejected(Rejection::kHandshakeTimeout), 1);

  NewTransport();
  transport_->FailHandshake();
  Start();
  EXPECT_EQ(rejected(Rejection::kHandshakeFailed), 1);
  transport_->Advance(2'000);
  EXPECT_EQ(closed_, 2);
}

}  // namespace
}  // namespace yardmaster::http
