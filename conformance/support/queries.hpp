// Attribute queries with the checks that apply to all of them: they write exactly the bytes of the
// attribute's type, and reject a null buffer.
#pragma once

#include <gtest/gtest.h>
#include <hsa/hsa.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "support/status.hpp"

namespace conformance {

/// A query such as hsa_agent_get_info, of which only attribute and buffer are variable.
template <class Get>
class Query {
 public:
  explicit Query(Get get) : get_(get) {}

  hsa_status_t operator()(int attribute, void* value) const { return get_(attribute, value); }

  /// Returns the value. Fails the test if the query fails, writes past the type, or accepts a null buffer.
  template <class T>
  T get(int attribute, const char* name) const {
    struct {
      alignas(16) std::byte value[sizeof(T)];
      std::byte guard[16];
    } buffer;
    std::memset(&buffer, 0xA5, sizeof buffer);
    const hsa_status_t status = get_(attribute, &buffer);
    EXPECT_EQ(status, HSA_STATUS_SUCCESS) << name << ": " << status_name(status);
    for (const std::byte guard : buffer.guard)
      EXPECT_EQ(guard, std::byte{0xA5}) << name << " writes past its type";
    const hsa_status_t null_status = get_(attribute, nullptr);
    EXPECT_EQ(null_status, HSA_STATUS_ERROR_INVALID_ARGUMENT)
        << name << " with a null buffer: " << status_name(null_status);
    T value{};
    if (status == HSA_STATUS_SUCCESS) std::memcpy(&value, buffer.value, sizeof(T));
    return value;
  }

 private:
  Get get_;
};

/// Text in a field of fixed size.
template <size_t kSize>
struct TextField {
  char characters[kSize];

  std::string str() const { return std::string(characters, strnlen(characters, kSize)); }
  bool terminated() const { return strnlen(characters, kSize) < kSize; }
};

}  // namespace conformance

/// `GET(query, uint32_t, HSA_X)`: a checked value. Messages contain the attribute's name.
#define GET(query, type, attribute) (query).template get<type>(static_cast<int>(attribute), #attribute)
