#include "core/copy/block_copy.hpp"

#include <hsa_backend/sanitizer.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>

#include "api/support/page_size.hpp"
#endif

namespace rigel {
namespace {

// Sanitizers check memmove, but not a string instruction.
#if defined(__x86_64__) && HSABE_SANITIZER == HSABE_SANITIZER_NONE

// From this size on, the microcode's block move is faster than the C library's loop: it writes whole lines
// without reading them first. Smaller copies are slightly faster, and the data is then better off in the
// cache.
constexpr size_t kBlockMoveBytes = 4 << 20;
// The instruction takes about 30 cycles to start; from this size on it is as fast as the C library's fill of
// bytes.
constexpr size_t kBlockFillBytes = 1024;
constexpr size_t kLine = 64;

bool has_fast_block_move() noexcept {
  static constinit std::atomic<int> known{-1};
  int answer = known.load(std::memory_order_relaxed);
  if (answer < 0) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    answer = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 ? static_cast<int>(b >> 9 & 1) : 0;  // ERMS
    known.store(answer, std::memory_order_relaxed);
  }
  return answer == 1;
}

bool move_block(void* destination, const void* source, size_t size) noexcept {
  if (size < kBlockMoveBytes || !has_fast_block_move()) return false;
  // The instruction is fastest with a destination that is aligned to a cache line.
  auto* to = static_cast<unsigned char*>(destination);
  auto* from = static_cast<const unsigned char*>(source);
  const size_t head = (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine;
  std::memcpy(to, from, head);
  to += head;
  from += head;
  size -= head;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
  return true;
}

bool fill_block(void* destination, uint32_t value, size_t count) noexcept {
  if (count < kBlockFillBytes / sizeof value || !has_fast_block_move()) return false;
  asm volatile("rep stosl" : "+D"(destination), "+c"(count) : "a"(value) : "memory");
  return true;
}

#else

bool move_block(void*, const void*, size_t) noexcept {
  return false;
}

bool fill_block(void*, uint32_t, size_t) noexcept {
  return false;
}

#endif

// On AMD's Zen 3 and 4, the microcode's block move (`rep movs`) takes more than ten times as long if the
// destination's offset in its page is 1 to 31 bytes past the source's: 2.9 instead of 50 GB/s. The C library
// uses it from a few kilobytes on. A block that malloc has mapped starts 16 bytes past a page boundary.
bool is_just_past(uintptr_t to, uintptr_t from, size_t size) noexcept {
  const uintptr_t past = (to - from) % kPageBytes;
  return size >= kPageBytes && past != 0 && past < 32;
}

// Copies from the end, in pieces that memcpy loads completely before it stores: no load then appears to alias
// an outstanding store by its offset in the page.
void copy_backwards(unsigned char* to, const unsigned char* from, size_t size) noexcept {
  constexpr size_t kPiece = 256;
  for (; size >= kPiece; size -= kPiece) std::memcpy(to + size - kPiece, from + size - kPiece, kPiece);
  std::memcpy(to, from, size);
}

}  // namespace

void copy_bytes(void* destination, const void* source, size_t size) noexcept {
  const auto to = reinterpret_cast<uintptr_t>(destination);
  const auto from = reinterpret_cast<uintptr_t>(source);
  const bool apart = to - from >= size && from - to >= size;
  if (apart && is_just_past(to, from, size)) [[unlikely]] {
    return copy_backwards(static_cast<unsigned char*>(destination), static_cast<const unsigned char*>(source),
                          size);
  }
  if (apart && move_block(destination, source, size)) return;
  std::memmove(destination, source, size);
}

void fill_words(void* destination, uint32_t value, size_t count) noexcept {
  const uint32_t byte = value & 0xff;
  if (value == byte * 0x01010101u) {
    std::memset(destination, static_cast<int>(byte), count * sizeof value);
  } else if (!fill_block(destination, value, count)) {
    std::fill_n(static_cast<uint32_t*>(destination), count, value);
  }
}

}  // namespace rigel
