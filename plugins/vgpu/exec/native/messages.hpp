// Messages between the virtual GPU and vgpu-compiler. Both run on one machine and must be of the same build,
// whose identity starts each request. Answers are validated nevertheless.
//
// A message on the socket is its length in bytes (64 bits), followed by its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/vgpu/exec/native/plan.hpp"

namespace rigel::vgpu::exec::compiler {

/// A contiguous part of a kernel's code.
struct Image {
  uint64_t va = 0;
  std::vector<std::byte> bytes;
};

/// Longer messages are rejected.
constexpr uint64_t kMostMessageBytes = 64 << 20;

/// Encodes the request and the code. The receiver reconstructs `read` and `shape`.
std::vector<std::byte> to_message(const Request& request, std::span<const Image> images);

struct ReceivedRequest {
  Request request;
  std::shared_ptr<const std::vector<Image>> images;  ///< The code that request.read reads.
};
/// Error for a request of another build, for example after a package was replaced under a running program.
constexpr const char* kOfAnotherBuild =
    "vgpu-compiler and the loaded library are from different builds; restart the program";
/// On failure, returns the reason why the message is rejected.
tl::expected<ReceivedRequest, std::string> request_from(std::span<const std::byte> message);

struct Answer {
  uint64_t digest = 0;  ///< Digest of the plan that the code was generated from.
  uint64_t entry = 0;   ///< Offset of the entry point in `code`.
  std::vector<std::byte> code;
  std::string error;  ///< The reason if there is no code.
};
std::vector<std::byte> to_message(const Answer& answer);
/// Nothing if the message is malformed or the entry is outside of the code.
std::optional<Answer> answer_from(std::span<const std::byte> message);

}  // namespace rigel::vgpu::exec::compiler
