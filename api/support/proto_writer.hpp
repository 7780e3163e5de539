// Writes protocol buffers (protobuf.dev/programming-guides/encoding): appends fields to a string. The length
// of a nested message is filled in at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rigel {

class ProtoWriter {
 public:
  explicit ProtoWriter(std::string& out) : out_(out) {}

  void varint(uint32_t field, uint64_t value) {
    tag(field, 0);
    raw(value);
  }
  void fixed64(uint32_t field, uint64_t value) {
    tag(field, 1);
    char bytes[8];
    for (char& byte : bytes) {
      byte = static_cast<char>(value);
      value >>= 8;
    }
    out_.append(bytes, sizeof bytes);
  }
  void text(uint32_t field, std::string_view value) {
    tag(field, 2);
    raw(value.size());
    out_ += value;
  }
  /// Writes a nested message, shorter than 256 MiB. `fill` writes its fields.
  template <class Fill>
  void message(uint32_t field, Fill&& fill) {
    tag(field, 2);
    const size_t length_offset = out_.size();
    out_.append(kLengthBytes, '\0');
    fill();
    // The length always has four bytes: leading zeros are allowed.
    size_t length = out_.size() - length_offset - kLengthBytes;
    for (size_t i = 0; i < kLengthBytes; ++i) {
      out_[length_offset + i] = static_cast<char>((length & 0x7f) | (i + 1 < kLengthBytes ? 0x80 : 0));
      length >>= 7;
    }
  }

 private:
  static constexpr size_t kLengthBytes = 4;

  void tag(uint32_t field, uint32_t wire_type) { raw(uint64_t{field} << 3 | wire_type); }
  void raw(uint64_t value) {
    while (value >= 0x80) {
      out_ += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    out_ += static_cast<char>(value);
  }

  std::string& out_;
};

}  // namespace rigel
