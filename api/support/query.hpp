// Answers to the API's *_get_info queries. The caller's buffer may be unaligned.
#pragma once

#include <hsa/hsa.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace rigel {

/// Writes `result` to the caller's buffer. T must be the type that the attribute's documentation names.
template <class T>
hsa_status_t answer(void* value, const T& result) {
  std::memcpy(value, &result, sizeof result);
  return HSA_STATUS_SUCCESS;
}

/// Writes a string into a character array of `capacity` bytes, which is more than 0. Truncates the string if
/// necessary, and fills the rest of the array with at least one NUL.
inline hsa_status_t answer_string(void* value, std::string_view text, size_t capacity) {
  const size_t size = std::min(text.size(), capacity - 1);
  std::memset(value, 0, capacity);
  std::memcpy(value, text.data(), size);
  return HSA_STATUS_SUCCESS;
}

/// Writes a string and its NUL. The caller's buffer has the size that an earlier query has returned.
inline hsa_status_t answer_name(void* value, std::string_view text) {
  return answer_string(value, text, text.size() + 1);
}

}  // namespace rigel
