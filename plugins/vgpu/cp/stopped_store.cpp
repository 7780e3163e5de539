#include "plugins/vgpu/cp/stopped_store.hpp"

#include <ucontext.h>

#include <algorithm>
#include <iterator>

#include "api/support/page_size.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"

namespace rigel::vgpu {
namespace {

constexpr size_t kLongestInstruction = 15;

// Reads the bytes of an instruction. A read past the end returns zeros, and complete() is false from then on.
class Code {
 public:
  explicit Code(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint8_t next() noexcept { return at_ < bytes_.size() ? bytes_[at_++] : (complete_ = false, uint8_t{0}); }
  int32_t next_32() noexcept {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value |= uint32_t{next()} << 8 * i;
    return static_cast<int32_t>(value);
  }
  void skip(uint32_t bytes) noexcept {
    while (bytes-- != 0) next();
  }
  bool complete() const noexcept { return complete_; }
  uint32_t length() const noexcept { return static_cast<uint32_t>(at_); }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool complete_ = true;
};

// Whether a prefix changes only how the address is computed. Such prefixes need no decoding, because the
// fault reports the address.
bool is_address_prefix(uint8_t byte) noexcept {
  constexpr uint8_t kSegments[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65};
  return byte == 0x67 || std::find(std::begin(kSegments), std::end(kSegments), byte) != std::end(kSegments);
}

// Skips the SIB byte and the displacement of a memory operand.
void skip_address(Code& code, uint8_t modrm) noexcept {
  const uint32_t mod = modrm >> 6, rm = modrm & 7;
  bool has_base = rm != 5;
  if (rm == 4) has_base = (code.next() & 7) != 5;  // SIB
  if (mod == 1) code.skip(1);
  if (mod == 2 || (mod == 0 && !has_base)) code.skip(4);
}

}  // namespace

std::optional<StoreInstruction> decode_store(std::span<const uint8_t> bytes) noexcept {
  Code code(bytes.first(std::min(bytes.size(), kLongestInstruction)));
  StoreInstruction store;
  uint8_t byte = code.next();
  bool locked = false;
  for (; is_address_prefix(byte) || byte == 0xf0; byte = code.next()) locked |= byte == 0xf0;
  uint8_t rex = 0;
  if ((byte & 0xf0) == 0x40) {
    rex = byte;
    byte = code.next();
  }
  store.bytes = (rex & 8) != 0 ? 8 : 4;
  switch (byte) {
    case 0x87:
      store.exchanges = true;
      break;
    case 0x89:
      break;
    case 0xc7:
      store.constant = true;
      break;
    case 0x0f:
      if (code.next() != 0xc3) return std::nullopt;
      break;
    default:
      return std::nullopt;
  }
  if (locked && !store.exchanges) return std::nullopt;
  const uint8_t modrm = code.next();
  const uint32_t reg = modrm >> 3 & 7;
  if (modrm >> 6 == 3 || (store.constant && reg != 0)) return std::nullopt;
  skip_address(code, modrm);
  store.source = store.constant ? 0 : reg | static_cast<uint32_t>(rex & 4) << 1;
  if (store.constant) store.value = static_cast<uint64_t>(int64_t{code.next_32()});
  if (!code.complete()) return std::nullopt;
  store.length = code.length();
  return store;
}

#if defined(__x86_64__)

namespace {

constexpr int kRegisters[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

// Returns the readable bytes at `pc`, at most those of the longest instruction. There are fewer if the
// mapping ends, and none if code is executable but not readable.
std::span<const uint8_t> readable_code(uint64_t pc) noexcept {
  const auto* const code = reinterpret_cast<const uint8_t*>(pc);
  const uint64_t in_page = kPageBytes - pc % kPageBytes;
  if (!guarded_touch(code, false)) return {};
  const bool all = in_page >= kLongestInstruction || guarded_touch(code + in_page, false);
  return {code, all ? kLongestInstruction : in_page};
}

// Stores `value` with one access. If `exchanges`, sets `value` to the previous value. Returns false if `at`
// faults.
template <class T>
bool store_value(std::byte* at, uint64_t& value, bool exchanges) noexcept {
  T* const place = reinterpret_cast<T*>(at);
  if (!exchanges) return guarded_store(place, static_cast<T>(value));
  T seen = 0;
  for (bool done = false; !done;) {
    if (!guarded_compare_exchange(place, seen, static_cast<T>(value), done)) return false;
  }
  value = seen;
  return true;
}

}  // namespace

bool StoppedStore::make_at(std::byte* at, uint64_t room) noexcept {
  greg_t* const registers = static_cast<ucontext_t*>(context_)->uc_mcontext.gregs;
  const auto store = decode_store(readable_code(static_cast<uint64_t>(registers[REG_RIP])));
  if (!store || store->bytes > room || reinterpret_cast<uint64_t>(at) % store->bytes != 0) return false;
  greg_t& source = registers[kRegisters[store->source]];
  uint64_t value = store->constant ? store->value : static_cast<uint64_t>(source);
  if (!(store->bytes == 8 ? store_value<uint64_t>(at, value, store->exchanges)
                          : store_value<uint32_t>(at, value, store->exchanges))) {
    return false;
  }
  if (store->exchanges) source = static_cast<greg_t>(value);
  registers[REG_RIP] += store->length;
  return true;
}

#else

bool StoppedStore::make_at(std::byte*, uint64_t) noexcept {
  return false;
}

#endif

}  // namespace rigel::vgpu
