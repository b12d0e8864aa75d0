// Computes the value of a configured hash for a packet, directly from its definition.
//
// Key. Every model but rtag7 hashes the bytes of its fields, in the order given, big-endian:
// addresses 4 bytes (IPv6 16), protocol and source module 1, ports, ingress port and VLAN 2. RTAG7
// puts fields into twelve 16-bit bins whose places are fixed (11,10 source address; 9,8
// destination address; 7 VLAN; 6 source port; 5 destination port; 4 protocol; 3 ingress port; 2
// source module), folds IPv6 addresses to 32 bits, mixes each bin if asked to (b ^ b>>3 ^ b<<2 in
// 16 bits), zeroes the bins that are not in `fields`, and hashes six little-endian words of two
// bins (low bin in the low half) and the seed as a seventh.
//
// Linux hashes the kernel's `struct flow_keys` as the host stores it (little-endian here): 36 bytes
// in which only the protocol (byte 2) and the ports (bytes 28 to 31) are not zero, then the two
// addresses, then zeros up to a multiple of 8 bytes: 48 for IPv4, 72 for IPv6. The smaller address
// stands first, and so does the smaller port (compared as little-endian numbers of their network
// bytes; IPv6 addresses byte by byte), so both directions hash alike. The SipHash key is the seed
// in all four 32-bit words. The value is the low 32 bits (1 in place of 0) without the lowest.
// Protocols without ports have ports 0.
//
// Value. Function, rotated right within its width, then the low `keep_bits` bits. The seed is XORed
// into a CRC's init and into the result of the others; in rtag7 it is part of the key, and XXH64
// takes it as its own. (Linux: as above; nothing is rotated or masked.)
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pkg/fabric/ecmp_hash.h"
#include "pkg/repac/packet.h"

namespace yardmaster::repac {

// Returns why a packet's value cannot be computed from its header; nullopt if it can.
std::optional<std::string> WhyUnpredictable(const fabric::HashSpec& spec);

// Whether the value is an affine function of the key over GF(2), for packets with the same table
// entry and class.
bool IsAffine(const fabric::HashSpec& spec);

// Returns how many low bits of the value are kept.
int KeptBits(const fabric::HashSpec& spec);

// Returns `spec` without tables, for packets with `packet`'s ingress port and class (TCP or UDP,
// equal ports, others). Only rtag7 has such tables.
fabric::HashSpec SpecFor(const fabric::HashSpec& spec, const Packet& packet);

// REQUIRES: fabric::Problems(spec) is empty and WhyUnpredictable(spec) is nullopt. Tables by
// ingress port and class are ignored: pass SpecFor(spec, packet).
std::uint64_t ReferenceHash(const fabric::HashSpec& spec, const Packet& packet);

}  // namespace yardmaster::repac
