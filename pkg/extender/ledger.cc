#include "pkg/extender/ledger.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"

namespace yardmaster::extender {

absl::Status Ledger::ReadAll() {
  YM_ASSIGN_OR_RETURN(const kube::ListPage list,
                      kube::ListAll(client_, {kube::Gangs(), "", "", ""}));
  for (const kube::ObjectPtr& gang : list.items) cache_.Assume(state::Kind::kGang, *gang);
  return absl::OkStatus();
}

bool Ledger::Write(PassState& pass, const api::Gang& gang, const api::GangStatus& status) {
  if (!may_write_()) return false;
  api::Gang next = gang;
  next.status = status;
  auto written =
      client_.Replace({kube::Gangs(), gang.metadata.namespace_name, gang.metadata.name, "status"},
                      api::EncodeGang(next), {kFieldManager, false, false});
  if (!written.ok()) {
    pass.report.errors.push_back(MessageOf(written.status()));
    return false;
  }
  cache_.Assume(state::Kind::kGang, *written);
  auto decoded = api::DecodeGang(*written);
  if (decoded.ok()) {
    pass.gangs[KeyOf(gang.metadata)] = std::make_shared<const api::Gang>(*std::move(decoded));
  }
  return true;
}

}  // namespace yardmaster::extender
