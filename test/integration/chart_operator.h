// The operator's program as the installed chart runs it: with the arguments of its Deployment and
// the rights of its ServiceAccount. TESTONLY. Thread safety: one thread.
#pragma once

#include <fstream>
#include <memory>
#include <regex>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "test/integration/control_plane.h"
#include "test/integration/process.h"

namespace yardmaster::testing {

// `program` is the path of yardmaster-operator. Left out is what needs the pod; addresses become
// free ports of this machine. The log is operator.log in the control plane's folder.
inline std::unique_ptr<Process> StartChartOperator(const ControlPlane& plane,
                                                   const std::string& program,
                                                   const std::string& ns) {
  constexpr char kOperator[] = "yardmaster-operator";
  const auto file = [&](const char* name) { return StrCat(plane.folder(), "/", name); };
  const auto token = plane.Kubectl({"create", "token", kOperator, "-n", ns});
  const auto deployment = plane.Kubectl({"get", "deployment", kOperator, "-n", ns, "-o", "json"});
  EXPECT_TRUE(token.ok() && deployment.ok()) << token.status() << deployment.status();
  if (!token.ok() || !deployment.ok()) return nullptr;
  std::ofstream(file("operator.token")) << *token;
  std::ofstream(file("operator.kubeconfig")) << plane.KubeconfigWithToken(file("operator.token"));
  Command command = {program, "--kubeconfig", file("operator.kubeconfig")};
  const nlohmann::json parsed = nlohmann::json::parse(*deployment);
  for (const std::string argument :
       parsed.at("/spec/template/spec/containers/0/args"_json_pointer)) {
    if (argument.find("--reports-") == 0) continue;
    command.push_back(
        std::regex_replace(argument, std::regex("address=.*"), "address=127.0.0.1:0"));
  }
  command.push_back("--certificate-check-ms=500");
  auto started = Process::Start({command, {}, file("operator.log")});
  EXPECT_TRUE(started.ok()) << started.status();
  return started.ok() ? *std::move(started) : nullptr;
}

}  // namespace yardmaster::testing
