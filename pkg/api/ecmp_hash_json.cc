#include "pkg/api/ecmp_hash_json.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/escaping.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using fabric::HashField;
using fabric::HashKind;
using fabric::HashSpec;
using nlohmann::json;

// All in the order of their enumerations.
constexpr std::string_view kModels[] = {"crc",      "rtag7", "sai",   "xor16",
                                        "toeplitz", "bmv2",  "linux", "unpredictable"};
constexpr std::string_view kFields[] = {"sip",         "dip",  "protocol",     "sport", "dport",
                                        "ingressPort", "vlan", "sourceModule", "destQp"};
constexpr std::string_view kRtag7Functions[] = {
    "crc16-bisync", "crc16-ccitt",      "crc32c-lo",        "crc32c-hi", "crc32-lo",
    "crc32-hi",     "crc32-koopman-lo", "crc32-koopman-hi", "xor16",     "crc16-xor1",
    "crc16-xor2",   "crc16-xor4",       "crc16-xor8"};
constexpr std::string_view kFolds[] = {"xor", "lowWord"};
constexpr std::string_view kSaiAlgorithms[] = {"crc",         "xor",        "random",    "crc-32lo",
                                               "crc-32hi",    "crc-ccitt",  "crc-xor",   "none",
                                               "round-robin", "jenkins-lo", "jenkins-hi"};
constexpr std::string_view kBmv2Calculations[] = {"crc16",
                                                  "crcCCITT",
                                                  "crc32",
                                                  "xor16",
                                                  "xor32",
                                                  "toeplitz",
                                                  "identity",
                                                  "csum16",
                                                  "xxh64",
                                                  "round_robin",
                                                  "round_robin_consistent"};

template <typename E, std::size_t N>
std::string Name(const std::string_view (&names)[N], E value) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

std::uint64_t LowBits(int width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << std::max(width, 0)) - 1;
}

// A number from 0 to max, or a string of one in decimal or 0x form.
std::uint64_t ReadUnsigned(FieldReader& in, std::string_view key, std::uint64_t fallback,
                           std::uint64_t max) {
  const json value = in.Raw(key).ToJson();
  if (value.is_null()) return fallback;
  std::optional<std::uint64_t> number;
  if (value.is_number_unsigned()) number = value.get<std::uint64_t>();
  if (value.is_number_integer() && !value.is_number_unsigned() && value.get<std::int64_t>() >= 0) {
    number = static_cast<std::uint64_t>(value.get<std::int64_t>());
  }
  if (value.is_string()) {
    std::string_view text = value.get_ref<const std::string&>();
    const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (hex) text.remove_prefix(2);
    std::uint64_t parsed = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, parsed, hex ? 16 : 10);
    if (!text.empty() && error == std::errc() && at == end) number = parsed;
  }
  if (number && *number <= max) return *number;
  in.errors().Add(in.PathOf(key),
                  StrCat("expected a number from 0 to ", max, ", got ", Shown(value)),
                  "write it in decimal or as 0x...");
  return fallback;
}

std::string Hex(std::uint64_t value) {
  char buffer[20];
  return "0x" + std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, 16).ptr);
}

// As a number where every JSON reader keeps it exact.
json Wide(std::uint64_t value) {
  if (value < std::uint64_t{1} << 53) return value;
  return Hex(value);
}

std::vector<HashField> ReadFields(FieldReader& in, std::string_view key,
                                  std::vector<HashField> fallback) {
  if (!in.has(key)) return fallback;
  std::vector<HashField> fields;
  for (const std::string& text : in.Strings(key)) {
    const auto* found = std::find(std::begin(kFields), std::end(kFields), text);
    if (found != std::end(kFields)) {
      fields.push_back(static_cast<HashField>(found - std::begin(kFields)));
      continue;
    }
    const std::string meant = Nearest(text, {std::begin(kFields), std::end(kFields)});
    in.errors().Add(in.PathOf(key), StrCat("\"", text, "\" is not a field"),
                    meant.empty() ? "use sip, dip, protocol, sport, dport, ingressPort, vlan, "
                                    "sourceModule or destQp"
                                  : StrCat("did you mean ", meant, "?"));
  }
  return fields;
}

json EncodeHashFields(const std::vector<HashField>& fields) {
  json out = json::array();
  for (HashField field : fields) out.push_back(Name(kFields, field));
  return out;
}

// What the width implies when only some of the parameters are given: CRC-32's for 32 bits, else
// those of a plain CRC from 0 to 0.
fabric::CrcParameters ReadCrc(FieldReader in) {
  fabric::CrcParameters crc;
  if (!in.present()) return crc;
  crc.width = in.Int("width", 32, 1, 64);
  const std::uint64_t mask = LowBits(crc.width);
  if (crc.width != 32) crc = {crc.width, 0, 0, false, false, 0};
  if (crc.width != 32 && !in.has("polynomial")) {
    in.errors().Add(in.PathOf("polynomial"), "is missing", "give it a value");
  }
  crc.polynomial = ReadUnsigned(in, "polynomial", crc.polynomial, mask);
  crc.init = ReadUnsigned(in, "init", crc.init, mask);
  crc.reflect_in = in.Bool("reflectIn", crc.reflect_in);
  crc.reflect_out = in.Bool("reflectOut", crc.reflect_out);
  crc.xor_out = ReadUnsigned(in, "xorOut", crc.xor_out, mask);
  in.Close();
  return crc;
}

fabric::Rtag7Parameters ReadRtag7(FieldReader in) {
  fabric::Rtag7Parameters rtag7;
  if (!in.has("function")) {
    in.errors().Add(in.PathOf("function"), "is missing", "name one, for example crc32c-lo");
  }
  rtag7.function = in.Enum("function", kRtag7Functions, rtag7.function);
  rtag7.pre_mix = in.Bool("preMix", false);
  rtag7.ipv6_fold = in.Enum("ipv6Fold", kFolds, rtag7.ipv6_fold);
  rtag7.other_fields = ReadFields(in, "otherFields", {});
  rtag7.equal_port_fields = ReadFields(in, "equalPortFields", {});
  rtag7.flow_select = in.Bool("flowSelect", false);
  in.Close();
  return rtag7;
}

// SAI_HASH_ALGORITHM_CRC_32LO, CRC_32LO and crc-32lo are the same.
fabric::SaiAlgorithm ReadSai(FieldReader in) {
  auto algorithm = fabric::SaiAlgorithm::kCrc;
  std::string text = in.RequiredString("algorithm");
  in.Close();
  for (char& c : text)
    c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view kPrefix = "sai-hash-algorithm-";
  if (text.compare(0, kPrefix.size(), kPrefix) == 0) text.erase(0, kPrefix.size());
  const auto* found = std::find(std::begin(kSaiAlgorithms), std::end(kSaiAlgorithms), text);
  if (found != std::end(kSaiAlgorithms)) {
    return static_cast<fabric::SaiAlgorithm>(found - std::begin(kSaiAlgorithms));
  }
  if (!text.empty()) {
    in.errors().Add(in.PathOf("algorithm"), StrCat("there is no algorithm \"", text, "\""),
                    "use one of SAI's, for example crc-32lo");
  }
  return algorithm;
}

std::vector<std::uint8_t> ReadToeplitzKey(FieldReader in) {
  const std::string text = in.String("key");
  in.Close();
  std::vector<std::uint8_t> key;
  bool good = text.size() % 2 == 0;
  for (std::size_t i = 0; i + 1 < text.size() && good; i += 2) {
    std::uint8_t byte = 0;
    const char* end = text.data() + i + 2;
    const auto [at, error] = std::from_chars(text.data() + i, end, byte, 16);
    good = error == std::errc() && at == end;
    key.push_back(byte);
  }
  if (!good) {
    in.errors().Add(in.PathOf("key"), "is not a row of bytes",
                    "write two hexadecimal digits per byte");
    return {};
  }
  return key;
}

std::vector<fabric::IngressPortHash> ReadIngressPorts(FieldReader& in) {
  std::vector<fabric::IngressPortHash> out;
  for (FieldReader& entry : in.Objects("ingressPorts")) {
    fabric::IngressPortHash hash;
    hash.first = entry.Int("first", 0, 0, 65535);
    hash.last = entry.Int("last", hash.first, 0, 65535);
    if (entry.has("function")) {
      hash.function = entry.Enum("function", kRtag7Functions, fabric::Rtag7Function::kCrc32cLo);
    }
    if (entry.has("preMix")) hash.pre_mix = entry.Bool("preMix", false);
    if (entry.has("seed")) {
      hash.seed = static_cast<std::uint32_t>(ReadUnsigned(entry, "seed", 0, 0xFFFFFFFF));
    }
    if (entry.has("rotateRight")) hash.rotate_right = entry.Int("rotateRight", 0, 0, 15);
    hash.fields = ReadFields(entry, "fields", {});
    entry.Close();
    out.push_back(std::move(hash));
  }
  return out;
}

fabric::GroupRule ReadGroup(FieldReader in) {
  fabric::GroupRule group;
  group.ordered = in.Bool("ordered", true);
  group.adaptive_routing = in.Bool("adaptiveRouting", false);
  group.weights = in.Ints("weights", 1, 65535);
  group.resilient_buckets = in.Int("resilientBuckets", 0, 0, 1 << 16);
  group.resilient_table = in.Ints("resilientTable", 0, 65535);
  group.preset_by_ingress_port = in.Bool("presetByIngressPort", false);
  in.Close();
  return group;
}

void ReadModelBlock(FieldReader& in, HashSpec& spec) {
  switch (spec.kind) {
    case HashKind::kCrc:
      spec.crc = ReadCrc(in.Object("crc"));
      return;
    case HashKind::kRtag7:
      spec.rtag7 = ReadRtag7(in.Object("rtag7"));
      spec.ingress_ports = ReadIngressPorts(in);
      return;
    case HashKind::kSai:
      spec.sai = ReadSai(in.Object("sai"));
      return;
    case HashKind::kToeplitz:
      spec.toeplitz_key = ReadToeplitzKey(in.Object("toeplitz"));
      return;
    case HashKind::kBmv2: {
      FieldReader block = in.Object("bmv2");
      if (!block.has("calculation")) {
        in.errors().Add(block.PathOf("calculation"), "is missing", "name one, for example crc16");
      }
      spec.bmv2 = block.Enum("calculation", kBmv2Calculations, spec.bmv2);
      block.Close();
      if (spec.bmv2 == fabric::Bmv2Calculation::kToeplitz) {
        spec.toeplitz_key = ReadToeplitzKey(in.Object("toeplitz"));
      }
      return;
    }
    case HashKind::kXor16:
    case HashKind::kLinux:
      return;
    case HashKind::kUnpredictable: {
      // Beside the model, or in a block like the other models' parameters.
      FieldReader block = in.Object("unpredictable");
      spec.reason = in.String("reason", block.String("reason", "declared unpredictable"));
      block.Close();
      return;
    }
  }
}

json EncodeGroup(const fabric::GroupRule& group) {
  json out = json::object();
  if (!group.ordered) out["ordered"] = false;
  if (group.adaptive_routing) out["adaptiveRouting"] = true;
  if (!group.weights.empty()) out["weights"] = group.weights;
  if (group.resilient_buckets != 0) out["resilientBuckets"] = group.resilient_buckets;
  if (!group.resilient_table.empty()) out["resilientTable"] = group.resilient_table;
  if (group.preset_by_ingress_port) out["presetByIngressPort"] = true;
  return out;
}

json EncodeIngressPorts(const std::vector<fabric::IngressPortHash>& ports) {
  json out = json::array();
  for (const fabric::IngressPortHash& entry : ports) {
    json item = {{"first", entry.first}, {"last", entry.last}};
    if (entry.function) item["function"] = Name(kRtag7Functions, *entry.function);
    if (entry.pre_mix) item["preMix"] = *entry.pre_mix;
    if (entry.seed) item["seed"] = *entry.seed;
    if (entry.rotate_right) item["rotateRight"] = *entry.rotate_right;
    if (!entry.fields.empty()) item["fields"] = EncodeHashFields(entry.fields);
    out.push_back(std::move(item));
  }
  return out;
}

json EncodeRtag7(const fabric::Rtag7Parameters& rtag7) {
  json out = {{"function", Name(kRtag7Functions, rtag7.function)}, {"preMix", rtag7.pre_mix}};
  if (rtag7.ipv6_fold != fabric::Ipv6Fold::kXor) out["ipv6Fold"] = Name(kFolds, rtag7.ipv6_fold);
  if (!rtag7.other_fields.empty()) out["otherFields"] = EncodeHashFields(rtag7.other_fields);
  if (!rtag7.equal_port_fields.empty()) {
    out["equalPortFields"] = EncodeHashFields(rtag7.equal_port_fields);
  }
  if (rtag7.flow_select) out["flowSelect"] = true;
  return out;
}

std::string EncodeKey(const std::vector<std::uint8_t>& key) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(key.data()), key.size()));
}

void EncodeModelBlock(const HashSpec& spec, json& out) {
  if (spec.kind == HashKind::kCrc) {
    out["crc"] = {{"width", spec.crc.width},
                  {"polynomial", Wide(spec.crc.polynomial)},
                  {"init", Wide(spec.crc.init)},
                  {"reflectIn", spec.crc.reflect_in},
                  {"reflectOut", spec.crc.reflect_out},
                  {"xorOut", Wide(spec.crc.xor_out)}};
  }
  if (spec.kind == HashKind::kRtag7) {
    out["rtag7"] = EncodeRtag7(spec.rtag7);
    if (!spec.ingress_ports.empty()) out["ingressPorts"] = EncodeIngressPorts(spec.ingress_ports);
  }
  if (spec.kind == HashKind::kSai) out["sai"] = {{"algorithm", Name(kSaiAlgorithms, spec.sai)}};
  if (spec.kind == HashKind::kBmv2) {
    out["bmv2"] = {{"calculation", Name(kBmv2Calculations, spec.bmv2)}};
  }
  if (!spec.toeplitz_key.empty()) out["toeplitz"] = {{"key", EncodeKey(spec.toeplitz_key)}};
}

HashSpec ReadBlock(FieldReader in, bool inside_lag);

std::shared_ptr<const HashSpec> ReadLag(FieldReader& in, bool inside_lag) {
  if (!in.has("lag")) return nullptr;
  if (inside_lag) {
    in.errors().Add(in.PathOf("lag"), "a LAG has no LAG inside it", "remove it");
    return nullptr;
  }
  return std::make_shared<const HashSpec>(ReadBlock(in.Object("lag"), true));
}

HashSpec ReadBlock(FieldReader in, bool inside_lag) {
  HashSpec spec;
  if (!in.has("model")) {
    in.errors().Add(in.PathOf("model"), "is missing",
                    "use crc, rtag7, sai, xor16, toeplitz, bmv2, linux or unpredictable");
    return spec;
  }
  const std::int64_t before = in.errors().added();
  spec.kind = in.Enum("model", kModels, spec.kind);
  if (in.errors().added() != before) return spec;  // what may stand beside it is not known
  ReadModelBlock(in, spec);
  if (spec.kind != HashKind::kUnpredictable) {
    spec.fields = ReadFields(in, "fields", spec.fields);
    spec.seed = static_cast<std::uint32_t>(ReadUnsigned(in, "seed", 0, 0xFFFFFFFF));
    spec.rotate_right = in.Int("rotateRight", 0, 0, 63);
    if (in.has("keepBits")) spec.keep_bits = in.Int("keepBits", 16, 1, 64);
    spec.vlan = static_cast<std::uint16_t>(in.Int("vlan", 0, 0, 4095));
    spec.source_module = static_cast<std::uint8_t>(in.Int("sourceModule", 0, 0, 255));
    spec.group = ReadGroup(in.Object("group"));
    spec.lag = ReadLag(in, inside_lag);
  }
  in.Close();
  if (in.errors().added() == before) {
    for (std::string& problem : fabric::Problems(spec, in.path())) {
      // A block on its own has no path before its fields.
      if (!problem.empty() && problem[0] == '.') problem.erase(0, 1);
      in.errors().AddLine(std::move(problem));
    }
  }
  return spec;
}

}  // namespace

HashSpec ReadHashSpec(FieldReader in) { return ReadBlock(std::move(in), false); }

absl::StatusOr<HashSpec> DecodeHashSpec(const json& block) {
  FieldErrors errors;
  HashSpec spec = ReadHashSpec(FieldReader(&block, "", UnknownFields::kReject, &errors));
  if (!errors.empty()) return errors.status();
  return spec;
}

json EncodeHashSpec(const HashSpec& spec) {
  json out = {{"model", Name(kModels, spec.kind)}};
  if (spec.kind == HashKind::kUnpredictable) {
    out["reason"] = spec.reason;
    return out;
  }
  out["fields"] = EncodeHashFields(spec.fields);
  EncodeModelBlock(spec, out);
  out["seed"] = spec.seed;
  out["rotateRight"] = spec.rotate_right;
  if (spec.keep_bits) out["keepBits"] = *spec.keep_bits;
  if (spec.vlan != 0) out["vlan"] = spec.vlan;
  if (spec.source_module != 0) out["sourceModule"] = spec.source_module;
  if (json group = EncodeGroup(spec.group); !group.empty()) out["group"] = std::move(group);
  if (spec.lag != nullptr) out["lag"] = EncodeHashSpec(*spec.lag);
  return out;
}

json HashSchema() {
  return {{"type", "object"},
          {"description", "How switches choose among equal paths; the fields depend on the model."},
          {"x-kubernetes-preserve-unknown-fields", true},
          {"required", json::array({"model"})},
          {"properties",
           {{"model", {{"type", "string"}, {"enum", kModels}, {"description", "Which hash."}}}}}};
}

}  // namespace yardmaster::api
