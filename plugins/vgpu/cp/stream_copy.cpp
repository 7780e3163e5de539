#include "plugins/vgpu/cp/stream_copy.hpp"

#include <hsa_backend/sanitizer.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "plugins/vgpu/cp/host_fault.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace rigel::vgpu {
namespace {

constexpr uint64_t kPage = 4096;

// AMD's Zen 3 and 4 take ten times as long for the microcode's block move, which is what memmove uses for
// most sizes, where the destination's place in its page is up to 31 bytes past the source's. From the end on,
// in pieces that are loaded before any of them is stored, no load seems to be of a line that is being stored.
bool copies_backwards(const std::byte* to, const std::byte* from, uint64_t bytes) {
  const uint64_t past = (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from)) % kPage;
  return bytes >= kPage && past != 0 && past < 32;
}

void copy_backwards(std::byte* to, const std::byte* from, uint64_t bytes) {
  constexpr uint64_t kPiece = 256;
  for (; bytes >= kPiece; bytes -= kPiece) std::memcpy(to + bytes - kPiece, from + bytes - kPiece, kPiece);
  std::memcpy(to, from, bytes);
}

// Sanitizers do not see streaming stores, and their builds are not about speed.
#if defined(__SSE2__) && HSABE_SANITIZER == HSABE_SANITIZER_NONE
#define RIGEL_VGPU_STREAMS 1
constexpr uint64_t kStreamBytes = uint64_t{64} << 10;  // less is not worth the way there and back
constexpr uint64_t kLine = 64;

// Two pages, line by line in turns: reading along two streams keeps more misses under way than one does. The
// next two are fetched meanwhile, into all caches: what is fetched past them (prefetchnta) has gone again
// before its turn, and the copy takes half as long again.
void fetch_ahead(const std::byte* from) {
  _mm_prefetch(reinterpret_cast<const char*>(from + 2 * kPage), _MM_HINT_T0);
  _mm_prefetch(reinterpret_cast<const char*>(from + 3 * kPage), _MM_HINT_T0);
}

void stream_two_pages(std::byte* to, const std::byte* from) {
  for (uint64_t at = 0; at < kPage; at += kLine) {
    fetch_ahead(from + at);
    for (uint64_t line = at; line < 2 * kPage; line += kPage) {
      const auto* in = reinterpret_cast<const __m128i*>(from + line);
      auto* out = reinterpret_cast<__m128i*>(to + line);
      const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
      const __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
      _mm_stream_si128(out, a), _mm_stream_si128(out + 1, b);
      _mm_stream_si128(out + 2, c), _mm_stream_si128(out + 3, d);
    }
  }
}

// A line by one store is never written to memory in parts.
__attribute__((target("avx512f"))) void stream_two_pages_avx512(std::byte* to, const std::byte* from) {
  for (uint64_t at = 0; at < kPage; at += kLine) {
    fetch_ahead(from + at);
    for (uint64_t line = at; line < 2 * kPage; line += kPage) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + line), _mm512_loadu_si512(from + line));
    }
  }
}

// On AMD's Zen 3 one stream is the fastest, and its own prefetcher knows better: 16 GB/s where the above
// makes 13 and the C library's memcpy of all at once 15.
__attribute__((target("avx2"))) void stream_two_pages_in_order(std::byte* to, const std::byte* from) {
  for (uint64_t at = 0; at < 2 * kPage; at += kLine) {
    const auto* in = reinterpret_cast<const __m256i*>(from + at);
    auto* out = reinterpret_cast<__m256i*>(to + at);
    const __m256i a = _mm256_loadu_si256(in), b = _mm256_loadu_si256(in + 1);
    _mm256_stream_si256(out, a), _mm256_stream_si256(out + 1, b);
  }
}

auto best_way_for_two_pages() {
  if (__builtin_cpu_supports("avx512f")) return stream_two_pages_avx512;
  const bool in_order = __builtin_cpu_is("amd") && __builtin_cpu_supports("avx2");
  return in_order ? stream_two_pages_in_order : stream_two_pages;
}
#endif

}  // namespace

// Both sides are in the caches of the last level, which others use as well.
uint64_t cached_copy_bytes() noexcept {
  // Not made once by some thread: after a fork that one may be gone.
  static constinit std::atomic<uint64_t> known{0};
  uint64_t bytes = known.load(std::memory_order_relaxed);
  if (bytes == 0) {
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    bytes = std::clamp<uint64_t>(cache > 0 ? static_cast<uint64_t>(cache) / 8 : 0, 512 << 10, 4 << 20);
    known.store(bytes, std::memory_order_relaxed);
  }
  return bytes;
}

void stream_copy(std::byte* to, const std::byte* from, uint64_t bytes,
                 [[maybe_unused]] uint64_t before) noexcept {
  const bool apart = are_apart(to, from, bytes);
#ifdef RIGEL_VGPU_STREAMS
  if (bytes >= kStreamBytes && before + bytes > cached_copy_bytes() && apart) {
    const uint64_t head = (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine;
    std::memcpy(to, from, head);
    to += head, from += head, bytes -= head;
    const auto two_pages = best_way_for_two_pages();
    for (; bytes >= 2 * kPage; to += 2 * kPage, from += 2 * kPage, bytes -= 2 * kPage) two_pages(to, from);
    _mm_sfence();  // streaming stores are weakly ordered; what announces this copy comes after it
  }
#endif
  if (apart && copies_backwards(to, from, bytes)) return copy_backwards(to, from, bytes);
  std::memmove(to, from, bytes);
}

bool guarded_stream_copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t before) noexcept {
  const auto within = [bytes](const std::byte* at, const std::byte* begin) {
    return at >= begin && at < begin + bytes;
  };
  return guarded([&] { stream_copy(to, from, bytes, before); },
                 [&](const std::byte* at) { return within(at, to) || within(at, from); });
}

void stream_fill(std::byte* to, uint32_t pattern, uint64_t bytes) noexcept {
  const auto low = static_cast<unsigned char>(pattern);
  if (pattern == low * 0x01010101u) {
    std::memset(to, low, bytes);
    return;
  }
  // Doubling what is there already: memcpy runs at its own speed from the second kilobyte on.
  uint64_t done = bytes < sizeof pattern ? bytes : sizeof pattern;
  std::memcpy(to, &pattern, done);
  while (done < bytes) {
    constexpr uint64_t kBlock = 16 << 10;
    uint64_t piece = done < kBlock ? done : kBlock;
    if (piece > bytes - done) piece = bytes - done;
    std::memcpy(to + done, to, piece);
    done += piece;
  }
}

}  // namespace rigel::vgpu
