#include "pkg/state/device_kinds.h"

#include "pkg/api/compute_domain.h"
#include "pkg/api/names.h"
#include "pkg/api/short_hash.h"
#include "pkg/base/strings.h"

namespace yardmaster::state {

namespace {

constexpr std::size_t kMaxSelections = 64;

bool PlacesNothing(const std::string& device_class) {
  return device_class == api::kChannelClass || device_class == api::kChannelDaemonClass;
}

}  // namespace

std::string SelectionName(const devices::DeviceRequest& request) {
  if (request.selectors.empty()) return "";
  std::string text = request.device_class;
  for (const devices::DeviceSelector& selector : request.selectors) {
    text += StrCat("\n", selector.text());
  }
  return StrCat("yardmaster.dev/selected-devices-", api::ShortHash(text));
}

DeviceKinds::DeviceKinds(const ObjectTable<devices::DeviceClass>& classes,
                         const Selections& selections) {
  std::map<std::string, const devices::DeviceClass*> chosen;  // by extended resource
  for (const auto& device_class : classes) {
    if (PlacesNothing(device_class->metadata.name)) continue;
    extended_[device_class->metadata.name];
    kinds_[StrCat(api::kDeviceClassPrefix, device_class->metadata.name)] = {
        device_class->selectors};
    if (device_class->extended_resource.empty()) continue;
    const devices::DeviceClass*& at = chosen[device_class->extended_resource];
    if (at == nullptr || at->metadata.created_ms < device_class->metadata.created_ms) {
      at = device_class.get();
    }
  }
  for (const auto& [name, device_class] : chosen) {
    extended_[device_class->metadata.name] = name;
    kinds_[name] = {device_class->selectors};
  }
  std::size_t counted = 0;
  for (const auto& [name, selection] : selections) {
    const auto device_class = classes.Find({"", selection.request.device_class});
    if (device_class == nullptr || !HasClass(selection.request.device_class)) continue;
    if (counted == kMaxSelections) break;
    ++counted;
    devices::DeviceKind kind{device_class->selectors};
    kind.selectors.insert(kind.selectors.end(), selection.request.selectors.begin(),
                          selection.request.selectors.end());
    kinds_[name] = std::move(kind);
  }
}

const std::string& DeviceKinds::ExtendedNameOf(const std::string& device_class) const {
  static const std::string kNone;
  const auto at = extended_.find(device_class);
  return at == extended_.end() ? kNone : at->second;
}

std::vector<std::string> DeviceKinds::NamesOf(const devices::DeviceRequest& request) const {
  std::vector<std::string> out;
  if (!HasClass(request.device_class)) return out;
  out.push_back(StrCat(api::kDeviceClassPrefix, request.device_class));
  if (const std::string& extended = ExtendedNameOf(request.device_class); !extended.empty()) {
    out.push_back(extended);
  }
  std::string selection = SelectionName(request);
  if (kinds_.count(selection) != 0) out.push_back(std::move(selection));
  return out;
}

}  // namespace yardmaster::state
