// Contents of the 32 bytes that name memory or a signal across processes (hsa_amd_ipc_memory_t,
// hsa_amd_ipc_signal_t). Programs pass them on by any means, so every name is validated before use.
//
// There are three kinds. A ticket identifies a descriptor that another process offers
// (descriptor_server.hpp); memory and signals have separate kinds. A driver's name identifies a buffer of the
// driver.
#pragma once

#include <hsa/hsa_ext_amd.h>

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

namespace rigel {

/// A buffer's name in the driver.
using DriverName = std::array<uint32_t, 4>;

/// Ticket for a descriptor: the server's number and the key. Both are random, and the key is only in the
/// name.
struct Ticket {
  uint64_t server = 0;
  uint64_t key = 0;
};

namespace ipc_name {

enum class Kind : uint32_t { kMemoryTicket = 1, kMemoryOfDriver = 2, kSignalTicket = 3 };

constexpr uint32_t kMagic = 0x52470100;  // includes the layout's version; the kind is in the low byte

/// Memory or a signal, by ticket. `length` is in bytes, for memory.
struct ByTicket {
  uint32_t magic = 0;
  uint32_t reserved = 0;
  Ticket ticket;
  uint64_t length = 0;
};
static_assert(sizeof(ByTicket) == sizeof(hsa_amd_ipc_memory_t));

/// Memory, by the driver's name of its buffer.
struct OfDriver {
  uint32_t magic = 0;
  DriverName name{};
  uint32_t device = 0;  ///< the driver's number of the owning device
  uint64_t place = 0;   ///< see set_place

  static constexpr uint64_t kLengthBits = 40, kPageBits = 12;
  /// Stores an allocation of `length` bytes at `offset` (in a slab) of its buffer. Returns false if it does
  /// not fit.
  bool set_place(uint64_t length, uint64_t offset, bool in_slab) {
    constexpr uint64_t kPages = 1u << kPageBits;
    if (length >> kLengthBits != 0 || offset % 4096 != 0 || offset / 4096 >= kPages) return false;
    place = length | offset / 4096 << kLengthBits | uint64_t{in_slab} << 63;
    return true;
  }
  uint64_t length() const { return place & ((uint64_t{1} << kLengthBits) - 1); }
  uint64_t offset() const { return (place >> kLengthBits & ((1u << kPageBits) - 1)) * 4096; }
  bool in_slab() const { return place >> 63 != 0; }
};
static_assert(sizeof(OfDriver) == sizeof(hsa_amd_ipc_memory_t));

template <class Layout>
hsa_amd_ipc_memory_t encode(Kind kind, Layout layout) {
  layout.magic = kMagic | static_cast<uint32_t>(kind);
  return std::bit_cast<hsa_amd_ipc_memory_t>(layout);
}

/// Returns the name if it has this kind.
template <class Layout>
std::optional<Layout> decode(Kind kind, const hsa_amd_ipc_memory_t& name) {
  const auto layout = std::bit_cast<Layout>(name);
  if (layout.magic != (kMagic | static_cast<uint32_t>(kind))) return std::nullopt;
  return layout;
}

}  // namespace ipc_name
}  // namespace rigel
