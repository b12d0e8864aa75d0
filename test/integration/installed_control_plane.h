// A control plane with our objects and rights, and the Fabric of the preset hpn-small.
#pragma once

#include <memory>

#include "absl/status/statusor.h"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "test/integration/control_plane.h"

namespace yardmaster::testing {

inline absl::StatusOr<std::unique_ptr<ControlPlane>> StartInstalledControlPlane() {
  YM_ASSIGN_OR_RETURN(std::unique_ptr<ControlPlane> plane, ControlPlane::Start({}));
  const auto installed = RunProgram(
      {YARDMASTER_SOURCE_DIR "/test/cluster/install", plane->folder(), plane->kubeconfig()}, "",
      {{"PATH", StrCat(plane->bin(), ":/usr/local/bin:/usr/bin:/bin")}});
  YM_RETURN_IF_ERROR(installed.status());
  const auto applied =
      plane->Kubectl({"apply", "-f", YARDMASTER_SOURCE_DIR "/crds/presets/hpn-small.yaml"});
  YM_RETURN_IF_ERROR(applied.status());
  return plane;
}

}  // namespace yardmaster::testing
