// What threads leave in their rings for the writer: words, of which the first says what the others are.
//
//   call begins   head, time, call, the arguments as the function's struct has them, texts
//   call ends     head, time, call, result, outputs
//   enqueued      head, time, queue, index, the packet's 8 words
//   activity      head, time, kind, begin, end, call, agent, queue, index, completion, source, destination,
//                 bytes, the packet's 8 words
//   marker        head, time, number of the range, text
//
// A text is its length in bytes and its bytes, in whole words. `function` of the head is the function's index,
// or the marker's operation.
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
  uint8_t words;  // of the whole record
  uint16_t function;
  uint32_t count;  // of outputs
};
static_assert(sizeof(RecordHead) == 8);

constexpr size_t kMaxArgumentWords = 24;
constexpr size_t kMaxOutputs = 8;
constexpr size_t kMaxTextBytes = 96;  // of a call's; longer ones are cut
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

/// Words of a text of that many bytes.
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
