#include "test/kinds/kind_controller.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "test/e2e/cluster.h"

namespace yardmaster::testing {
namespace {

constexpr int kStartSeconds = 180;  // it takes three where nothing else runs

std::string Source(const std::string& path) { return StrCat(YARDMASTER_SOURCE_DIR, "/", path); }

// Any answer over HTTP will do; "--fail" says that it has to be a good one.
bool Answers(const std::string& url, bool good) {
  Command command = {"curl", "--silent", "--insecure", "--max-time", "5", "--output", "/dev/null"};
  if (good) command.push_back("--fail");
  command.push_back(url);
  return RunProgram(command).ok();
}

}  // namespace

absl::StatusOr<std::unique_ptr<KindController>> KindController::Start(const ControlPlane& plane,
                                                                      const std::string& name,
                                                                      const std::string& config) {
  const char* controllers = std::getenv("YARDMASTER_CONTROLLERS");
  if (controllers == nullptr || !std::filesystem::is_directory(StrCat(controllers, "/", name))) {
    return absl::FailedPreconditionError(
        StrCat("YARDMASTER_CONTROLLERS names no folder with ", name,
               "; `make test` and `make kinds` set it, by hand it is export "
               "YARDMASTER_CONTROLLERS=$(test/controlplane/build controllers all)"));
  }
  std::string folder =
      (std::filesystem::temp_directory_path() / "yardmaster-controller-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return absl::InternalError("mkdtemp");
  YM_RETURN_IF_ERROR(RunProgram({Source("test/cluster/prepare"), folder}).status());
  const std::string path = StrCat(plane.bin(), ":", getenv("PATH"));
  YM_ASSIGN_OR_RETURN(const std::string told,
                      RunProgram({Source("test/kinds/install"), StrCat(controllers, "/", name),
                                  folder, plane.kubeconfig(), config},
                                 "", {{"PATH", path}}));
  std::unique_ptr<KindController> controller(
      new KindController(name, StrCat(plane.folder(), "/logs/", name, ".log")));
  try {
    const nlohmann::json how = nlohmann::json::parse(told);
    controller->command_ = how.at("command").get<Command>();
    controller->health_ = how.at("health");
    controller->webhooks_ = how.at("webhooks");
  } catch (const nlohmann::json::exception& e) {
    return absl::InternalError(StrCat("test/kinds/install printed ", told, ": ", e.what()));
  }
  YM_RETURN_IF_ERROR(controller->Run());
  return controller;
}

absl::Status KindController::Restart() {
  process_.reset();
  return Run();
}

absl::Status KindController::Run() {
  YM_ASSIGN_OR_RETURN(process_, Process::Start({.command = command_, .log_file = log_}));
  if (WaitFor(kStartSeconds, [&] { return IsReady() || !IsRunning(process_->pid()); }) &&
      IsReady()) {
    return absl::OkStatus();
  }
  const auto end = RunProgram({"tail", "-n", "20", log_});
  return absl::UnavailableError(
      StrCat(name_, " does not run; ", log_, " ends with\n", end.value_or("nothing")));
}

bool KindController::IsReady() const {
  return Answers(health_, true) && (webhooks_.empty() || Answers(webhooks_, false));
}

}  // namespace yardmaster::testing
