// The reader in docs/wire.md finds what the shim finds.
#include <filesystem>
#include <memory>
#include <string>

#include "gtest/gtest.h"

#include "pkg/shim/plan.h"
#include "pkg/shim/testing/child.h"

namespace yardmaster::shim {
namespace {

std::string Example() {
  const std::string page = ReadFile(YARDMASTER_SOURCE_DIR "/docs/wire.md");
  const std::size_t begin = page.find("```python\n", page.find("<!-- reader.py -->"));
  if (begin == std::string::npos) return "";
  return page.substr(begin + 10, page.find("\n```", begin) - begin - 9);
}

// As Python prints a list of tuples.
std::string Found(const std::string& text, const char* local, const char* remote) {
  const auto plan = std::make_unique<PlanFile>();
  ReadPlan(text.data(), text.size(), plan.get());
  Endpoint endpoint;
  ParseAddress(local, &endpoint.local);
  ParseAddress(remote, &endpoint.remote);
  const Match match =
      plan->expires_s == 0 || plan->expires_s > 1'700'000'000 ? FindPeer(*plan, endpoint) : Match();
  std::string out;
  for (int i = 0; i < match.connections; ++i) {
    const PathPorts path = PathAt(*plan, match, i);
    out += (i == 0 ? "(" : ", (") + std::to_string(path.port) + ", " +
           std::to_string(path.alternate) + ", " + std::to_string(path.plane) + ")";
  }
  return "[" + out + "]\n";
}

TEST(DocumentedReaderTest, FindsTheSamePortsInTheSameOrder) {
  const std::string folder = MakeFolder();
  ASSERT_NE(Example(), "");
  WriteFile(folder + "/reader.py", Example());
  const char* plans[] = {
      R"({"version":1,"expires":"2099-01-02T03:04:05Z","trafficClass":104,"rails":[
        {"rail":0,"address":"10.0.0.1","peers":[
          {"address":"10.0.0.9","plane":0,"sourcePorts":[50001,50002],"alternatePorts":[60001,0]},
          {"address":"10.0.0.9","plane":1,"sourcePorts":[50003]},
          {"address":"10.0.0.8","plane":1,"sourcePorts":[50009]}]},
        {"rail":1,"address":"10.0.0.2","peers":[
          {"address":"10.0.0.9","plane":0,"sourcePorts":[50007]}]}]})",
      R"({"version":1,"rails":[{"peers":[{"address":"10.0.0.9","sourcePorts":[50001]}]},
                               {"peers":[{"address":"10.0.0.9","sourcePorts":[50002]}]}]})",
      R"({"version":2,"rails":[{"peers":[{"address":"10.0.0.9","sourcePorts":[50001]}]}]})",
      R"({"version":1,"ordinals":"x","rails":[]})",
      R"({"version":1,"expires":"2020-01-02T03:04:05Z","rails":[
          {"peers":[{"address":"10.0.0.9","sourcePorts":[50001]}]}]})"};
  for (const char* plan : plans) {
    WriteFile(folder + "/plan", plan);
    for (const char* local : {"10.0.0.1", "10.0.0.2", "10.0.0.3"}) {
      const std::string got = RunProgram(
          {}, "python3 " + folder + "/reader.py " + folder + "/plan " + local + " 10.0.0.9");
      EXPECT_EQ(got, Found(plan, local, "10.0.0.9")) << local << " " << plan;
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace yardmaster::shim
