// How a ReportServer treats agents without an identity, or with another one than they claim.
#include <grpcpp/create_channel.h>
#include <grpcpp/grpcpp.h>

#include "gmock/gmock.h"

#include "pkg/rpc/reports.grpc.pb.h"
#include "pkg/rpc/testing/report_fixture.h"

namespace yardmaster::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReportFaultsTest : public ReportTest {
 protected:
  // What becomes of a stream that sends these reports and waits for each receipt.
  grpc::Status Send(const std::vector<reports::v1::NodeReport>& reports) const {
    const auto stub = reports::v1::Reports::NewStub(grpc::CreateChannel(
        StrCat("127.0.0.1:", server_->port()), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    const auto stream = stub->Connect(&context);
    reports::v1::Receipt receipt;
    for (const reports::v1::NodeReport& report : reports) {
      if (!stream->Write(report) || !stream->Read(&receipt)) break;
    }
    stream->WritesDone();
    return stream->Finish();
  }
  static reports::v1::NodeReport Report(const std::string& node, int rail = 0, int port = 0) {
    reports::v1::NodeReport report;
    report.set_node(node);
    reports::v1::NicPort* down = report.add_down_ports();
    down->set_rail(rail);
    down->set_port(port);
    return report;
  }
};

TEST_F(ReportFaultsTest, ACertificateOfAnotherAuthorityOpensNothing) {
  ReportServerOptions options;
  options.tls = Issue("server", authority_);
  StartServer(options);
  const auto other = *tls::MakeAuthority({.common_name = "other", .now_ms = clock_.WallMs()});
  ReportStream& stream = Stream("n1", Issue("client", other));
  stream.Report({{0, 1}});
  EXPECT_TRUE(Eventually([&] { return stream.stats().broken >= 2; }));
  EXPECT_THAT(History(), IsEmpty());
}

TEST_F(ReportFaultsTest, AClientWithoutTlsOpensNothing) {
  ReportServerOptions options;
  options.tls = Issue("server", authority_);
  StartServer(options);
  EXPECT_FALSE(Send({Report("n1")}).ok());
  EXPECT_THAT(History(), IsEmpty());
}

TEST_F(ReportFaultsTest, TheTokenSaysWhichNodeItIs) {
  StartServer({}, [](const std::string& token) -> absl::StatusOr<std::string> {
    if (token == "of-n1") return "n1";
    return absl::PermissionDeniedError("the API server does not know this token");
  });
  Write("token", "of-n1\n");
  ReportStream& stream = Stream("n1", {}, folder_ + "/token");
  stream.Report({{0, 1}});
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {{0, 1}}); }));

  ReportStream& liar = Stream("n2", {}, folder_ + "/token");
  liar.Report({{0, 1}});
  EXPECT_TRUE(Eventually([&] { return liar.stats().broken > 0; }));
  EXPECT_THAT(liar.stats().last_error, HasSubstr("of node \"n1\""));

  Write("wrong", "guess");
  ReportStream& stranger = Stream("n3", {}, folder_ + "/wrong");
  stranger.Report({{0, 1}});
  EXPECT_TRUE(Eventually([&] { return stranger.stats().broken > 0; }));
  EXPECT_THAT(stranger.stats().last_error, HasSubstr("does not know this token"));

  EXPECT_EQ(Send({Report("n1")}).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(History(), ElementsAre("n1 r0p1"));
}

TEST_F(ReportFaultsTest, ATokenFileThatComesLaterIsRead) {
  StartServer({}, [](const std::string& token) -> absl::StatusOr<std::string> { return token; });
  ReportStream& stream = Stream("n1", {}, folder_ + "/token");
  stream.Report({});
  EXPECT_TRUE(Eventually([&] { return stream.stats().broken > 0; }));
  EXPECT_THAT(stream.stats().last_error, HasSubstr("has no token"));
  // A container runtime makes a folder of a file that it cannot mount.
  std::filesystem::create_directory(folder_ + "/token");
  const std::int64_t broken = stream.stats().broken;
  EXPECT_TRUE(Eventually([&] { return stream.stats().broken > broken; }));
  std::filesystem::remove(folder_ + "/token");
  Write("token", "n1");
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {}); }));
}

TEST_F(ReportFaultsTest, ReportsThatCannotBeTrueEndTheStream) {
  StartServer();
  EXPECT_EQ(Send({Report("")}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Send({Report("n1", -1)}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Send({Report("n1", 0, 1'000'000)}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(History(), IsEmpty());
  EXPECT_EQ(Send({Report("n1"), Report("n2")}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(Eventually([&] { return server_->stats().streams == 0; }));
  EXPECT_THAT(History(), ElementsAre("n1 r0p0", "n1 ended"));
  EXPECT_EQ(server_->stats().refused, 4);
}

TEST_F(ReportFaultsTest, AMessageThatIsTooLongEndsTheStream) {
  StartServer();
  EXPECT_EQ(Send({Report(std::string(100'000, 'n'))}).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(History(), IsEmpty());
}

TEST_F(ReportFaultsTest, AFloodEndsTheStream) {
  StartServer();
  const std::vector<reports::v1::NodeReport> flood(100 * kReportBurst, Report("n1"));
  EXPECT_EQ(Send(flood).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_GE(server_->stats().reports, kReportBurst);
}

TEST_F(ReportFaultsTest, BeyondItsLimitTheServerTakesNoMoreStreams) {
  ReportServerOptions options;
  options.max_streams = 2;
  StartServer(options);
  Stream("n1").Report({});
  Stream("n2").Report({});
  EXPECT_TRUE(Eventually([&] { return Knows("n1", {}) && Knows("n2", {}); }));
  EXPECT_EQ(Send({Report("n3")}).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ReportFaultsTest, OptionsThatCannotWorkAreRefused) {
  const auto why = [this](ReportServerOptions options) {
    const auto server = ReportServer::Start(options, clock_, {}, Sink());
    EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
    return MessageOf(server.status());
  };
  EXPECT_THAT(why({.address = "nowhere", .tls = {}}), HasSubstr("no port"));
  EXPECT_THAT(why({.address = "0.0.0.0:0", .tls = {}}), HasSubstr("every client"));
  EXPECT_THAT(why({.address = "127.0.0.1:0", .tls = {"cert.pem", "", ""}}),
              HasSubstr("belong together"));
}

}  // namespace
}  // namespace yardmaster::rpc
