#include "pkg/repac/hash_model.h"

#include <bit>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/repac/reference_hash.h"

namespace yardmaster::repac {

namespace {

// TCP and UDP, their packets with equal ports, everything else.
std::size_t ClassOf(const Packet& packet) {
  if (packet.protocol != kProtocolUdp && packet.protocol != kProtocolTcp) return 2;
  return packet.sport == packet.dport ? 1 : 0;
}

Packet ExampleOfClass(int packet_class, int ingress_port) {
  Packet packet;
  packet.sport = packet_class == 1 ? packet.dport : kFirstSourcePort;
  if (packet_class == 2) packet.protocol = 1;
  packet.ingress_port = static_cast<std::uint16_t>(ingress_port);
  return packet;
}

// A port no entry covers, or -1 when they cover all.
int UncoveredPort(const std::vector<fabric::IngressPortHash>& entries) {
  int port = 0;
  for (const fabric::IngressPortHash& entry : entries) {
    if (entry.first > port) return port;
    port = entry.last + 1;
  }
  return port <= 65535 ? port : -1;
}

}  // namespace

std::uint64_t PortFunction::operator()(std::uint16_t port) const {
  unsigned x = port & ((1u << kSourcePortBits) - 1);
  if (!linear) return evaluate(port);
  std::uint64_t value = base;
  for (; x != 0; x &= x - 1) value ^= columns[static_cast<std::size_t>(std::countr_zero(x))];
  return value;
}

absl::StatusOr<HashModel> HashModel::Compile(const fabric::HashSpec& spec) {
  const std::vector<std::string> problems = fabric::Problems(spec, "ecmpHash");
  if (!problems.empty()) return absl::InvalidArgumentError(Join(problems, "\n"));
  HashModel model;
  model.spec_ = spec;
  model.reason_ = WhyUnpredictable(spec).value_or("");
  if (!model.predictable()) return model;
  // Columns are 32 bits wide; wider values are evaluated one by one.
  model.bits_ = KeptBits(spec);
  model.linear_ = IsAffine(spec) && model.bits_ <= 32;
  if (!spec.rtag7.other_fields.empty() || !spec.rtag7.equal_port_fields.empty()) model.classes_ = 3;
  const int uncovered = UncoveredPort(spec.ingress_ports);
  for (int c = 0; c < model.classes_; ++c) model.AddVariant(ExampleOfClass(c, uncovered));
  for (const fabric::IngressPortHash& entry : spec.ingress_ports) {
    for (int c = 0; c < model.classes_; ++c) model.AddVariant(ExampleOfClass(c, entry.first));
  }
  return model;
}

void HashModel::AddVariant(const Packet& example) {
  Variant variant;
  variant.spec = std::make_shared<const fabric::HashSpec>(SpecFor(spec_, example));
  if (linear_) {
    const auto value = [&variant](const Packet& p) { return ReferenceHash(*variant.spec, p); };
    variant.v4 = AffineMap::Build(false, value);
    variant.v6 = AffineMap::Build(true, value);
  }
  variants_.push_back(std::move(variant));
}

const HashModel::Variant& HashModel::VariantOf(const Packet& packet) const {
  if (variants_.size() == 1) return variants_[0];
  std::size_t entry = 0;
  for (std::size_t i = 0; i < spec_.ingress_ports.size() && entry == 0; ++i) {
    const fabric::IngressPortHash& ports = spec_.ingress_ports[i];
    if (packet.ingress_port >= ports.first && packet.ingress_port <= ports.last) entry = i + 1;
  }
  const std::size_t packet_class = classes_ == 1 ? 0 : ClassOf(packet);
  return variants_[entry * static_cast<std::size_t>(classes_) + packet_class];
}

std::uint64_t HashModel::Hash(const Packet& packet) const {
  const Variant& variant = VariantOf(packet);
  if (linear_) return packet.sip.v6 ? variant.v6(packet) : variant.v4(packet);
  return ReferenceHash(*variant.spec, packet);
}

PortFunction HashModel::OverPorts(const Packet& packet) const {
  PortFunction function;
  // Where the destination port is usable as a source port, that one port is of another class.
  function.linear = linear_ && !(classes_ == 3 && packet.dport >= kSourcePortBase);
  Packet at = packet;
  at.sport = kSourcePortBase;
  if (function.linear) {
    const Variant& variant = VariantOf(at);
    const AffineMap& map = at.sip.v6 ? variant.v6 : variant.v4;
    function.base = map(at);
    for (int i = 0; i < kSourcePortBits; ++i) {
      function.columns[static_cast<std::size_t>(i)] = map.SourcePortColumn(i);
    }
    return function;
  }
  if (classes_ == 1) {
    function.evaluate = [spec = VariantOf(at).spec, at](std::uint16_t port) mutable {
      at.sport = port;
      return ReferenceHash(*spec, at);
    };
    return function;
  }
  std::vector<std::uint64_t> table;
  table.reserve(1u << kSourcePortBits);
  for (unsigned x = 0; x < 1u << kSourcePortBits; ++x) {
    at.sport = static_cast<std::uint16_t>(kSourcePortBase | x);
    table.push_back(Hash(at));
  }
  function.evaluate = [table = std::move(table)](std::uint16_t port) {
    return table[port & ((1u << kSourcePortBits) - 1)];
  };
  return function;
}

}  // namespace yardmaster::repac
