// The format of records in rings: 64-bit words, of which the first is the head.
//
//   - call begins: head, time, call, the function's argument struct, texts
//   - call ends: head, time, call, result, outputs
//   - enqueued: head, time, queue, index, the packet's 8 words
//   - activity: head, time, kind, begin, end, call, agent, queue, index, completion, source, destination,
//     bytes, the packet's 8 words
//   - marker: head, time, range id, text
//
// A text is its length in bytes, then its bytes, padded to whole words. `function` in the head is the
// function's index or the marker's operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace trace {

enum class RecordType : uint8_t { kCallBegins, kCallEnds, kEnqueued, kActivity, kMarker };

enum class MarkerOperation : uint16_t { kMark, kPush, kPop, kStart, kStop };

struct RecordHead {
  RecordType type;
  uint8_t words;  // size of the whole record
  uint16_t function;
  uint32_t count;  // number of outputs
};
static_assert(sizeof(RecordHead) == 8);

constexpr size_t kMaxArgumentWords = 24;
constexpr size_t kMaxOutputs = 8;
constexpr size_t kMaxTextBytes = 96;  // longer texts of calls are truncated
constexpr size_t kMaxMarkerBytes = 240;
constexpr size_t kCallEndWords = 4 + kMaxOutputs;
constexpr size_t kEnqueuedWords = 12;
constexpr size_t kActivityWords = 21;

inline void store_head(uint64_t* to, RecordHead head) noexcept {
  std::memcpy(to, &head, sizeof head);
}
inline RecordHead load_head(const uint64_t* from) noexcept {
  RecordHead head;
  std::memcpy(&head, from, sizeof head);
  return head;
}

/// Number of words of a text of `bytes` bytes.
constexpr size_t text_words(size_t bytes) {
  return 1 + (bytes + 7) / 8;
}
inline void store_text(uint64_t* to, const char* text, size_t bytes) noexcept {
  to[0] = bytes;
  std::memcpy(to + 1, text, bytes);
}
inline std::string_view load_text(const uint64_t* from) noexcept {
  return {reinterpret_cast<const char*>(from + 1), static_cast<size_t>(from[0])};
}

}  // namespace trace
