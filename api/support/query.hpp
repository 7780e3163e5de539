// Answers to the API's *_get_info queries. The caller's buffer may be unaligned.
#pragma once

#include <hsa/hsa.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace rigel {

/// Writes `answer` to the caller's buffer, with exactly the type in the attribute's documentation.
template <class T>
hsa_status_t answer(void* value, const T& result) {
  std::memcpy(value, &result, sizeof result);
  return HSA_STATUS_SUCCESS;
}

/// Writes a NUL-padded string into a character array of `capacity` bytes, which ends with a NUL.
inline hsa_status_t answer_string(void* value, std::string_view text, size_t capacity) {
  const size_t size = std::min(text.size(), capacity - 1);
  std::memset(value, 0, capacity);
  std::memcpy(value, text.data(), size);
  return HSA_STATUS_SUCCESS;
}

/// Writes a string and its NUL; the caller has queried the length before.
inline hsa_status_t answer_name(void* value, std::string_view text) {
  return answer_string(value, text, text.size() + 1);
}

}  // namespace rigel
