// What the virtual GPU and the process that compiles its kernels say to each other. Both are of one build, which a request
// begins with, on one machine; an answer is checked all the same before it is believed.
//
// A message is its length in bytes (64 bits), and so many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/vgpu/compiler/plan.hpp"

namespace rigel::vgpu::exec::compiler {

/// A piece of a kernel's code.
struct Image {
  uint64_t va = 0;
  std::vector<std::byte> bytes;
};

/// Longer messages are refused.
constexpr uint64_t kMostMessageBytes = 64 << 20;

/// A kernel to be compiled: the request, whose `read` and `shape` are made anew on the other side, and the code.
std::vector<std::byte> to_message(const Request& request, std::span<const Image> images);

struct ReceivedRequest {
  Request request;
  std::shared_ptr<const std::vector<Image>> images;  ///< What request.read reads.
};
/// Why a request is refused whose build is not this one's: a package was replaced, and the program runs on.
constexpr const char* kOfAnotherBuild =
    "vgpu-compiler is of another build than the library that this program has loaded; start the program "
    "again";
/// An error says why the message is refused.
tl::expected<ReceivedRequest, std::string> request_from(std::span<const std::byte> message);

struct Answer {
  uint64_t digest = 0;  ///< Of the plan that the code was made from.
  uint64_t entry = 0;   ///< Where in the code a run begins.
  std::vector<std::byte> code;
  std::string error;  ///< Why there is none.
};
std::vector<std::byte> to_message(const Answer& answer);
/// Nothing: it is no such message, or the entry does not lie in the code.
std::optional<Answer> answer_from(std::span<const std::byte> message);

}  // namespace rigel::vgpu::exec::compiler
