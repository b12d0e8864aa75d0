#include "pkg/repac/affine_map.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace yardmaster::repac {

namespace {

constexpr std::size_t kMaxHeader = 39;
using Header = std::array<std::uint8_t, kMaxHeader>;

std::size_t HeaderSize(bool v6) { return v6 ? 39 : 15; }

std::uint8_t High(std::uint16_t value) { return static_cast<std::uint8_t>(value >> 8); }
std::uint8_t Low(std::uint16_t value) { return static_cast<std::uint8_t>(value & 0xFF); }

void Write(const Packet& packet, Header& out) {
  const std::size_t size = packet.sip.size();
  if (size == 4) {
    std::memcpy(out.data(), packet.sip.bytes.data(), 4);
    std::memcpy(out.data() + 4, packet.dip.bytes.data(), 4);
  } else {
    std::memcpy(out.data(), packet.sip.bytes.data(), 16);
    std::memcpy(out.data() + 16, packet.dip.bytes.data(), 16);
  }
  std::uint8_t* rest = out.data() + 2 * size;
  rest[0] = packet.protocol;
  rest[1] = High(packet.sport);
  rest[2] = Low(packet.sport);
  rest[3] = High(packet.dport);
  rest[4] = Low(packet.dport);
  rest[5] = High(packet.ingress_port);
  rest[6] = Low(packet.ingress_port);
}

Packet Read(const Header& header, bool v6) {
  Packet packet;
  packet.sip.v6 = packet.dip.v6 = v6;
  const std::size_t size = packet.sip.size();
  std::copy_n(header.begin(), size, packet.sip.bytes.begin());
  std::copy_n(header.begin() + static_cast<std::ptrdiff_t>(size), size, packet.dip.bytes.begin());
  const std::uint8_t* rest = header.data() + 2 * size;
  const auto word = [rest](int i) {
    return static_cast<std::uint16_t>(rest[i] << 8 | rest[i + 1]);
  };
  packet.protocol = rest[0];
  packet.sport = word(1);
  packet.dport = word(3);
  packet.ingress_port = word(5);
  return packet;
}

}  // namespace

AffineMap AffineMap::Build(bool v6, const std::function<std::uint64_t(const Packet&)>& function) {
  AffineMap map;
  Header header{};
  // One per header bit, most significant bit of the first byte first.
  std::vector<std::uint32_t> columns;
  const auto value = [&] { return static_cast<std::uint32_t>(function(Read(header, v6))); };
  map.constant_ = value();
  for (std::size_t byte = 0; byte < HeaderSize(v6); ++byte) {
    std::array<std::uint32_t, 8> column{};  // by significance
    for (std::size_t bit = 0; bit < 8; ++bit) {
      header[byte] = static_cast<std::uint8_t>(1u << bit);
      column[bit] = value() ^ map.constant_;
    }
    header[byte] = 0;
    columns.insert(columns.end(), column.rbegin(), column.rend());
    if (std::all_of(column.begin(), column.end(), [](std::uint32_t c) { return c == 0; })) continue;
    Table table{};
    for (unsigned i = 1; i < 256; ++i) {
      table[i] = table[i & (i - 1)] ^ column[static_cast<std::size_t>(std::countr_zero(i))];
    }
    map.active_.push_back(static_cast<std::uint8_t>(byte));
    map.tables_.push_back(table);
  }
  const std::size_t first = 8 * (v6 ? 33 : 9);  // the source port's most significant bit
  for (std::size_t bit = 0; bit < 16; ++bit) map.source_port_[bit] = columns[first + 15 - bit];
  return map;
}

std::uint32_t AffineMap::operator()(const Packet& packet) const {
  Header header;
  Write(packet, header);
  std::uint32_t value = constant_;
  for (std::size_t i = 0; i < active_.size(); ++i) value ^= tables_[i][header[active_[i]]];
  return value;
}

}  // namespace yardmaster::repac
