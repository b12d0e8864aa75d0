#include "pkg/rpc/report_stream.h"

#include "gmock/gmock.h"

#include "pkg/base/testing/free_port.h"
#include "pkg/rpc/testing/report_fixture.h"

namespace yardmaster::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ReportTest, TellsTheStateAndEveryChange) {
  StartServer();
  ReportStream& stream = Stream("n1");
  stream.Report({});
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {}); }));
  stream.Report({{0, 1}});
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {{0, 1}}); }));
  stream.Report({{0, 1}, {3, 0}});
  EXPECT_TRUE(Eventually([&] { return stream.stats().confirmed == 3; }));
  EXPECT_THAT(History(), ElementsAre("n1 ", "n1 r0p1", "n1 r0p1,r3p0"));
  EXPECT_TRUE(stream.stats().connected);
  EXPECT_EQ(server_->stats().streams, 1);
  EXPECT_EQ(server_->stats().reports, 3);
}

TEST_F(ReportTest, TheSameStateIsToldOnce) {
  StartServer();
  ReportStream& stream = Stream("n1");
  for (int i = 0; i < 10; ++i) stream.Report({{0, 1}});
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {{0, 1}}); }));
  for (int i = 0; i < 10; ++i) stream.Report({{0, 1}});
  stream.Report({});
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {}); }));
  EXPECT_THAT(History(), ElementsAre("n1 r0p1", "n1 "));
}

TEST_F(ReportTest, LatestWinsWhenTheOperatorIsSlow) {
  StartServer();
  SetSlow(true);
  ReportStream& stream = Stream("n1");
  stream.Report({{0, 0}});
  EXPECT_TRUE(Eventually([&] { return History().size() == 1; }));
  for (int i = 1; i <= 100; ++i) stream.Report({{i, 0}});
  SetSlow(false);
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {{100, 0}}); }));
  EXPECT_THAT(History(), ElementsAre("n1 r0p0", "n1 r100p0"));
}

TEST_F(ReportTest, AfterABreakTheNewestStateIsToldAgain) {
  const ReportServerOptions same{.address = StrCat("127.0.0.1:", FreePort()), .tls = {}};
  StartServer(same);
  ReportStream& stream = Stream("n1");
  stream.Report({{0, 1}});
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {{0, 1}}); }));
  server_.reset();
  EXPECT_FALSE(Knows("n1", {{0, 1}}));
  EXPECT_TRUE(Eventually([&] { return stream.stats().broken >= 3; }));
  EXPECT_FALSE(stream.stats().connected);
  stream.Report({{2, 0}});
  StartServer(same);
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {{2, 0}}); }));
  EXPECT_THAT(History(), ElementsAre("n1 r0p1", "n1 ended", "n1 r2p0"));
}

TEST_F(ReportTest, OnlyTheReplicaThatLeadsTakesStreams) {
  StartServer();
  server_->SetServing(false);
  ReportStream& stream = Stream("n1");
  stream.Report({{0, 1}});
  EXPECT_TRUE(Eventually([&] { return stream.stats().broken >= 2; }));
  EXPECT_THAT(stream.stats().last_error, HasSubstr("another replica leads"));
  server_->SetServing(true);
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {{0, 1}}); }));
  server_->SetServing(false);
  EXPECT_TRUE(Eventually([&] { return !Knows("n1", {{0, 1}}); }));
  EXPECT_THAT(History(), ElementsAre("n1 r0p1", "n1 ended"));
}

TEST_F(ReportTest, ANewerStreamOfANodeEndsTheOlder) {
  StartServer();
  ReportStream& first = Stream("n1");
  first.Report({{0, 1}});
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {{0, 1}}); }));
  ReportStream& second = Stream("n1");
  second.Report({{1, 1}});
  while (!Knows("n1", {{1, 1}})) second.Step();
  EXPECT_EQ(server_->stats().streams, 1);
  while (first.stats().connected) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  // The end of the older one is not the end of the node.
  EXPECT_THAT(History(), ElementsAre("n1 r0p1", "n1 r1p1"));
}

TEST_F(ReportTest, ReplacedCertificatesCountForTheNextStreams) {
  ReportServerOptions options;
  options.tls = Issue("server", authority_);
  options.tls_reload_seconds = 1;
  const TlsFiles client = Issue("client", authority_);
  StartServer(options);
  Stream("n1", client).Report({{0, 1}});
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {{0, 1}}); }));
  // Another authority for both sides; the stream that stands goes on.
  authority_ = *tls::MakeAuthority({.common_name = "second", .now_ms = clock_.WallMs()});
  Issue("server", authority_);
  Issue("client", authority_);
  Stream("n2", client).Report({{1, 1}});
  EXPECT_TRUE(Eventually([&] { return Knows("n2", {{1, 1}}); }));
  streams_.front()->Report({{0, 0}});
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {{0, 0}}); }));
  EXPECT_EQ(streams_.front()->stats().broken, 0);
}

// The operator makes the certificate that its own pod mounts.
TEST_F(ReportTest, TheServersCertificateMayComeAfterItsStart) {
  ReportServerOptions options;
  options.tls = Issue("server", authority_);
  options.tls_reload_seconds = 1;
  for (const std::string& file :
       {options.tls.certificate, options.tls.key, options.tls.authority}) {
    ASSERT_TRUE(std::filesystem::remove(file));
  }
  StartServer(options);
  ReportStream& stream = Stream("n1", Issue("client", authority_));
  stream.Report({{0, 1}});
  EXPECT_TRUE(Eventually([&] { return stream.stats().broken > 0; }));
  EXPECT_FALSE(Knows("n1", {{0, 1}}));
  Issue("server", authority_);
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {{0, 1}}); }));
}

TEST_F(ReportTest, AConnectionsAgeBringsTheAgentBackWithItsNewCertificate) {
  ReportServerOptions options;
  options.tls = Issue("server", authority_);
  options.max_connection_age_ms = 300;
  const TlsFiles client = Issue("client", authority_);
  StartServer(options);
  ReportStream& stream = Stream("n1", client);
  stream.Report({{0, 1}});
  EXPECT_TRUE(Eventually([&] { return stream.stats().confirmed >= 3; }));
  EXPECT_GE(stream.stats().broken, 2);
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {{0, 1}}); }));
}

TEST_F(ReportTest, AHundredNodesAreToldApart) {
  StartServer();
  for (int i = 0; i < 100; ++i) Stream(StrCat("n", i)).Report({{i, 0}});
  EXPECT_TRUE(Eventually([&] {
    for (int i = 0; i < 100; ++i) {
      if (!Knows(StrCat("n", i), {{i, 0}})) return false;
    }
    return true;
  }));
  EXPECT_EQ(server_->stats().streams, 100);
  streams_.clear();
  EXPECT_TRUE(Eventually([&] { return server_->stats().streams == 0; }));
}

// The receipt of a report may be read before gRPC has said that the report is written, and two
// writes at once end the process.
TEST_F(ReportTest, AReportWaitsUntilTheOneBeforeItIsWritten) {
  StartServer();
  // gRPC's threads lose the processor between the two.
  std::vector<std::jthread> busy(8);
  for (std::jthread& thread : busy) {
    thread = std::jthread([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
      }
    });
  }
  for (int i = 0; i < 25; ++i) {
    ReportStream& stream = Stream(StrCat("n", i));
    for (int report = 1; report <= 20; ++report) {
      stream.Report({{report, 0}});
      ASSERT_TRUE(Eventually([&] { return stream.stats().confirmed == report; }));
    }
    stream.Stop();
  }
  EXPECT_EQ(server_->stats().refused, 0);
}

}  // namespace
}  // namespace yardmaster::rpc
