#include "plugins/vgpu/exec/native/messages.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "plugins/vgpu/exec/native/build_identity.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

Request some_request() {
  Request request;
  request.target = *isa::target_of("gfx1030");
  request.target.wave32 = true;
  request.layout = {32, 40};
  request.level = SimdLevel::kAvx2;
  request.variant = 0xf0;
  request.entry_va = 0x7000'0000'1000;
  request.shape = std::make_shared<const GroupShape>(GroupShape::Key{{16, 4, 2}, 32, 3, false});
  return request;
}

TEST(CompilerMessages, RoundTripRequest) {
  const Request sent = some_request();
  const std::vector<Image> images{{0x1000, bytes_of("abcdefgh")}, {0x2000, bytes_of("ij")}};
  const auto received = request_from(to_message(sent, images));
  ASSERT_TRUE(received);
  const Request& request = received->request;
  EXPECT_EQ(request.target, sent.target);
  EXPECT_EQ(request.layout, sent.layout);
  EXPECT_EQ(request.level, sent.level);
  EXPECT_EQ(request.variant, sent.variant);
  EXPECT_EQ(request.entry_va, sent.entry_va);
  ASSERT_NE(request.shape, nullptr);
  EXPECT_EQ(request.shape->key, sent.shape->key);
  EXPECT_FALSE(request.is_function);
  EXPECT_FALSE(request.checked);
  EXPECT_FALSE(request.reports_accesses);
  Request function = sent;
  function.shape = nullptr;
  function.is_function = true;
  function.checked = function.reports_accesses = true;
  const auto other = request_from(to_message(function, images));
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->request.is_function);
  EXPECT_TRUE(other->request.checked);
  EXPECT_TRUE(other->request.reports_accesses);
  EXPECT_EQ(other->request.shape, nullptr);
  char read[8] = {};
  EXPECT_EQ(request.read(0x1002, std::as_writable_bytes(std::span(read, 4))), 4u);
  EXPECT_EQ(std::string(read, 4), "cdef");
  EXPECT_EQ(request.read(0x2001, std::as_writable_bytes(std::span(read, 4))), 1u)
      << "as far as the code goes";
  EXPECT_EQ(request.read(0x2002, std::as_writable_bytes(std::span(read, 4))), 0u);
  EXPECT_EQ(request.read(0xfff, std::as_writable_bytes(std::span(read, 4))), 0u);
}

TEST(CompilerMessages, RejectRequestOfAnotherBuild) {
  std::vector<std::byte> message = to_message(some_request(), {});
  const std::string_view text(reinterpret_cast<const char*>(message.data()), message.size());
  const size_t digits = text.find(kBuildIdentity);
  ASSERT_NE(digits, text.npos);
  message[digits + 7] = std::byte{'x'};
  const auto received = request_from(message);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error(), kOfAnotherBuild);
}

TEST(CompilerMessages, RoundTripAnswer) {
  const Answer sent{0x1234, 2, bytes_of("code"), {}};
  const auto received = answer_from(to_message(sent));
  ASSERT_TRUE(received);
  EXPECT_EQ(received->digest, sent.digest);
  EXPECT_EQ(received->entry, sent.entry);
  EXPECT_EQ(received->code, sent.code);
  const auto refused = answer_from(to_message(Answer{0, 0, {}, "no"}));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->error, "no");
  EXPECT_FALSE(answer_from(to_message(Answer{0, 4, bytes_of("code"), {}}))) << "it begins behind its end";
}

// Arbitrary bytes are decoded or rejected.
TEST(CompilerMessages, RejectMalformedMessages) {
  const std::vector<Image> images{{0x1000, bytes_of("abcdefgh")}};
  const std::vector<std::byte> request = to_message(some_request(), images);
  const std::vector<std::byte> answer = to_message(Answer{1, 0, bytes_of("code"), {}});
  for (size_t length = 0; length < request.size(); ++length) {
    EXPECT_FALSE(request_from(std::span(request).first(length))) << length;
  }
  for (size_t length = 0; length < answer.size(); ++length) {
    EXPECT_FALSE(answer_from(std::span(answer).first(length))) << length;
  }
  for (size_t at = 0; at < request.size(); ++at) {
    for (const auto value : {std::byte{0}, std::byte{0xff}}) {
      std::vector<std::byte> other = request;
      other[at] = value;
      request_from(other);
      if (at < answer.size()) {
        std::vector<std::byte> wrong = answer;
        wrong[at] = value;
        answer_from(wrong);
      }
    }
  }
  std::vector<std::byte> longer = request;
  longer.push_back({});
  EXPECT_FALSE(request_from(longer));
}

}  // namespace
}  // namespace rigel::vgpu::exec::compiler
