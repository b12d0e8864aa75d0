#include "pkg/fabric/ecmp_hash.h"

#include <algorithm>
#include <numeric>

#include "pkg/base/strings.h"

namespace yardmaster::fabric {

namespace {

class Checker {
 public:
  Checker(std::string field, std::vector<std::string>& out) : field_(std::move(field)), out_(out) {}
  void Need(bool good, const std::string& name, const std::string& problem,
            const std::string& fix) {
    if (!good) out_.push_back(StrCat(field_, ".", name, ": ", problem, "; ", fix));
  }

 private:
  std::string field_;
  std::vector<std::string>& out_;
};

bool Repeats(std::vector<HashField> fields) {
  std::sort(fields.begin(), fields.end());
  return std::adjacent_find(fields.begin(), fields.end()) != fields.end();
}

void CheckCrc(const CrcParameters& crc, Checker& check) {
  check.Need(crc.width >= 1 && crc.width <= 64, "crc.width", StrCat(crc.width, " is out of range"),
             "use 1 to 64");
  if (crc.width < 1 || crc.width > 63) return;
  const std::uint64_t limit = std::uint64_t{1} << crc.width;
  const std::string fix = StrCat("it must fit into crc.width, ", crc.width, " bits");
  check.Need(crc.polynomial < limit, "crc.polynomial", "is too wide", fix);
  check.Need(crc.init < limit, "crc.init", "is too wide", fix);
  check.Need(crc.xor_out < limit, "crc.xorOut", "is too wide", fix);
}

void CheckIngressPorts(const HashSpec& spec, Checker& check) {
  check.Need(spec.ingress_ports.empty() || spec.kind == HashKind::kRtag7, "ingressPorts",
             "is only for model rtag7", "remove it");
  constexpr std::size_t kMaxEntries = 64;
  check.Need(spec.ingress_ports.size() <= kMaxEntries, "ingressPorts",
             StrCat("has ", spec.ingress_ports.size(), " entries"),
             StrCat("describe ranges of ports, at most ", kMaxEntries));
  int previous_last = -1;
  for (std::size_t i = 0; i < spec.ingress_ports.size(); ++i) {
    const IngressPortHash& entry = spec.ingress_ports[i];
    const std::string name = StrCat("ingressPorts[", i, "]");
    check.Need(entry.first >= 0 && entry.last >= entry.first && entry.last <= 65535, name,
               StrCat("ports ", entry.first, " to ", entry.last, " are no range"),
               "give 0 <= first <= last <= 65535");
    check.Need(i == 0 || entry.first > previous_last, name, "overlaps the entry before it",
               "list disjoint ranges in rising order");
    check.Need(!entry.rotate_right || (*entry.rotate_right >= 0 && *entry.rotate_right < 16),
               StrCat(name, ".rotateRight"), "is out of range", "use 0 to 15");
    check.Need(!Repeats(entry.fields), StrCat(name, ".fields"), "names a field twice",
               "name each once");
    previous_last = std::max(previous_last, entry.last);
  }
}

void CheckGroup(const GroupRule& group, Checker& check) {
  constexpr int kMaxBuckets = 1 << 16;
  const bool weights_good = std::all_of(group.weights.begin(), group.weights.end(),
                                        [](int w) { return w >= 1 && w <= 65535; });
  check.Need(weights_good, "group.weights", "has an entry below 1 or above 65535",
             "give every member a weight of at least 1");
  const std::int64_t copies =
      std::accumulate(group.weights.begin(), group.weights.end(), std::int64_t{0});
  check.Need(copies <= kMaxBuckets, "group.weights", StrCat("sum to ", copies),
             StrCat("divide them by a common factor; at most ", kMaxBuckets));
  check.Need(group.resilient_buckets >= 0 && group.resilient_buckets <= kMaxBuckets,
             "group.resilientBuckets", StrCat(group.resilient_buckets, " is out of range"),
             StrCat("use 0 (off) to ", kMaxBuckets));
  check.Need(group.resilient_table.empty() ||
                 static_cast<int>(group.resilient_table.size()) == group.resilient_buckets,
             "group.resilientTable",
             StrCat("has ", group.resilient_table.size(), " entries for ", group.resilient_buckets,
                    " buckets"),
             "give one member per bucket");
  const bool members_good = std::all_of(group.resilient_table.begin(), group.resilient_table.end(),
                                        [](int m) { return m >= 0; });
  check.Need(members_good, "group.resilientTable", "has a negative member", "count members from 0");
  check.Need(group.resilient_buckets == 0 || group.weights.empty(), "group",
             "has both weights and resilient buckets", "express weights in resilientTable");
}

// The kernel has neither offset nor mask, and its key is fixed.
void CheckLinux(const HashSpec& spec, Checker& check) {
  check.Need(spec.seed != 0, "seed", "is 0, and the kernel then draws a random one",
             "set net.ipv4.fib_multipath_hash_seed on the switches and name its value");
  check.Need(spec.fields == HashSpec().fields, "fields", "differ from the kernel's",
             "remove them, or write [sip, dip, protocol, sport, dport]");
  check.Need(spec.rotate_right == 0, "rotateRight", "is not part of model linux", "remove it");
  check.Need(!spec.keep_bits, "keepBits", "is not part of model linux", "remove it");
}

}  // namespace

int ValueWidth(const HashSpec& spec) {
  switch (spec.kind) {
    case HashKind::kCrc:
      return spec.crc.width;
    case HashKind::kToeplitz:
      return 32;
    case HashKind::kLinux:
      return 31;
    case HashKind::kBmv2:
      switch (spec.bmv2) {
        case Bmv2Calculation::kCrc32:
        case Bmv2Calculation::kXor32:
        case Bmv2Calculation::kToeplitz:
          return 32;
        case Bmv2Calculation::kIdentity:
        case Bmv2Calculation::kXxh64:
          return 64;
        default:
          return 16;
      }
    default:
      return 16;
  }
}

std::vector<std::string> Problems(const HashSpec& spec, const std::string& field) {
  std::vector<std::string> out;
  Checker check(field, out);
  if (spec.kind == HashKind::kUnpredictable) return out;
  if (spec.kind == HashKind::kCrc) CheckCrc(spec.crc, check);
  if (spec.kind == HashKind::kLinux) CheckLinux(spec, check);
  const int width = ValueWidth(spec);
  check.Need(!spec.fields.empty(), "fields", "is empty", "name at least one field");
  check.Need(!Repeats(spec.fields), "fields", "names a field twice", "name each once");
  check.Need(spec.rotate_right >= 0 && spec.rotate_right < std::max(width, 1), "rotateRight",
             StrCat(spec.rotate_right, " is out of range"), StrCat("use 0 to ", width - 1));
  check.Need(!spec.keep_bits || (*spec.keep_bits >= 1 && *spec.keep_bits <= 64), "keepBits",
             StrCat(spec.keep_bits.value_or(0), " is out of range"), "use 1 to 64");
  const std::size_t key = spec.toeplitz_key.size();
  check.Need(key == 0 || (key >= 4 && key % 4 == 0 && key <= 1024), "toeplitz.key",
             StrCat("has ", key, " bytes"), "give a multiple of 4 bytes, at most 1024");
  check.Need(spec.vlan <= 4095, "vlan", StrCat(spec.vlan, " is out of range"), "use 0 to 4095");
  check.Need(!Repeats(spec.rtag7.other_fields), "rtag7.otherFields", "names a field twice",
             "name each once");
  check.Need(!Repeats(spec.rtag7.equal_port_fields), "rtag7.equalPortFields", "names a field twice",
             "name each once");
  CheckIngressPorts(spec, check);
  CheckGroup(spec.group, check);
  if (spec.lag != nullptr) {
    check.Need(spec.lag->lag == nullptr, "lag.lag", "a LAG has no LAG inside it", "remove it");
    check.Need(spec.lag->kind != HashKind::kLinux, "lag.model", "linux describes routes, not bonds",
               "describe the bond's own hash, or use unpredictable");
    if (spec.lag->lag == nullptr) {
      for (std::string& problem : Problems(*spec.lag, field + ".lag")) out.push_back(problem);
    }
  }
  return out;
}

}  // namespace yardmaster::fabric
