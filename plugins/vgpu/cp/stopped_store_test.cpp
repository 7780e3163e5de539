#include "plugins/vgpu/cp/stopped_store.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "plugins/vgpu/cp/host_fault.hpp"

namespace rigel::vgpu {
namespace {

// `bytes` is GNU as's encoding of `text`.
struct Encoding {
  const char* text;
  std::vector<uint8_t> bytes;
  StoreInstruction store;
};

StoreInstruction register_store(uint32_t length, uint32_t bytes, uint32_t source, bool exchanges = false) {
  return {length, bytes, false, exchanges, source, 0};
}
StoreInstruction constant_store(uint32_t length, uint32_t bytes, uint64_t value) {
  return {length, bytes, true, false, 0, value};
}

const std::vector<Encoding>& encodings() {
  static const std::vector<Encoding> all = {
      {"mov %rax, (%rdi)", {0x48, 0x89, 0x07}, register_store(3, 8, 0)},
      {"mov %ecx, (%rdx)", {0x89, 0x0a}, register_store(2, 4, 1)},
      {"mov %r15, 8(%r12)", {0x4d, 0x89, 0x7c, 0x24, 0x08}, register_store(5, 8, 15)},
      {"mov %r8d, 0x12345(,%rbp,4)", {0x44, 0x89, 0x04, 0xad, 0x45, 0x23, 0x01, 0}, register_store(8, 4, 8)},
      {"mov %rsp, (%r13)", {0x49, 0x89, 0x65, 0}, register_store(4, 8, 4)},
      {"mov %rbx, 0x1000(%rip)", {0x48, 0x89, 0x1d, 0, 0x10, 0, 0}, register_store(7, 8, 3)},
      {"mov %rax, 0x100(%rbp,%rcx,8)", {0x48, 0x89, 0x84, 0xcd, 0, 1, 0, 0}, register_store(8, 8, 0)},
      {"mov %rax, (%rsp)", {0x48, 0x89, 0x04, 0x24}, register_store(4, 8, 0)},
      {"mov %rax, %fs:16", {0x64, 0x48, 0x89, 0x04, 0x25, 0x10, 0, 0, 0}, register_store(9, 8, 0)},
      {"mov %eax, (%edi)", {0x67, 0x89, 0x07}, register_store(3, 4, 0)},
      {"movq $-2, (%rax)", {0x48, 0xc7, 0, 0xfe, 0xff, 0xff, 0xff}, constant_store(7, 8, ~uint64_t{1})},
      {"movl $7, 4(%rax)", {0xc7, 0x40, 0x04, 0x07, 0, 0, 0}, constant_store(7, 4, 7)},
      {"movnti %rdx, (%rsi)", {0x48, 0x0f, 0xc3, 0x16}, register_store(4, 8, 2)},
      {"movnti %r9d, 1(%r9)", {0x45, 0x0f, 0xc3, 0x49, 0x01}, register_store(5, 4, 9)},
      {"xchg %rax, (%rdx)", {0x48, 0x87, 0x02}, register_store(3, 8, 0, true)},
      {"lock xchg %r10d, (%rdx)", {0xf0, 0x44, 0x87, 0x12}, register_store(4, 4, 10, true)},
  };
  return all;
}

TEST(DecodeStore, DecodesSupportedInstructions) {
  for (const Encoding& encoding : encodings()) {
    SCOPED_TRACE(encoding.text);
    std::vector<uint8_t> code = encoding.bytes;
    code.resize(code.size() + 4, 0xcc);
    const auto store = decode_store(code);
    ASSERT_TRUE(store);
    EXPECT_EQ(store->length, encoding.store.length);
    EXPECT_EQ(store->bytes, encoding.store.bytes);
    EXPECT_EQ(store->constant, encoding.store.constant);
    EXPECT_EQ(store->exchanges, encoding.store.exchanges);
    EXPECT_EQ(store->source, encoding.store.source);
    EXPECT_EQ(store->value, encoding.store.value);
  }
}

TEST(DecodeStore, RejectsIncompleteInstruction) {
  for (const Encoding& encoding : encodings()) {
    for (size_t bytes = 0; bytes < encoding.bytes.size(); ++bytes) {
      EXPECT_FALSE(decode_store(std::span(encoding.bytes).first(bytes))) << encoding.text << " of " << bytes;
    }
  }
}

TEST(DecodeStore, RejectsOtherInstructions) {
  const std::vector<std::vector<uint8_t>> others = {
      {0x66, 0x89, 0x07},              // mov %ax, (%rdi)
      {0x88, 0x07},                    // mov %al, (%rdi)
      {0x48, 0x89, 0xc7},              // mov %rax, %rdi
      {0x48, 0x8b, 0x07},              // mov (%rdi), %rax
      {0xf0, 0x48, 0x89, 0x07},        // invalid
      {0xf3, 0x48, 0xab},              // rep stos
      {0x48, 0xc7, 0x08, 1, 0, 0, 0},  // C7 /1, not a store
      {0x48, 0x87, 0xc2},              // xchg %rax, %rdx
      {0x48, 0x01, 0x07},              // add %rax, (%rdi)
      {0x0f, 0x11, 0x07},              // movups %xmm0, (%rdi)
      {0x48, 0x40, 0x89, 0x07},        // two REX prefixes
      {0xf2, 0x48, 0x87, 0x07},        // xacquire xchg
  };
  for (std::vector<uint8_t> code : others) {
    code.resize(16, 0x90);
    EXPECT_FALSE(decode_store(code)) << std::hex << int{code[0]} << ' ' << int{code[1]};
  }
  EXPECT_FALSE(decode_store(std::vector<uint8_t>(20, 0x67))) << "longer than any instruction";
}

#if defined(__x86_64__)

// A write-protected page and its mirror, which receives the stores.
class StoppedStoreTest : public ::testing::Test {
 protected:
  static constexpr size_t kPage = 4096;

  void SetUp() override {
    if (HSABE_SANITIZER == HSABE_SANITIZER_THREAD || !catch_host_faults())
      GTEST_SKIP() << "faults cannot be caught here";
    page_ = static_cast<std::byte*>(mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(page_, MAP_FAILED);
    const auto stored = [](void* self, std::byte* address, StoppedStore store) {
      return static_cast<StoppedStoreTest*>(self)->stored(address, store);
    };
    ASSERT_TRUE(watch_stores(page_, kPage, {stored, this}));
  }
  void TearDown() override {
    if (page_ == nullptr) return;
    unwatch_stores(page_);
    await_store_watchers();
    munmap(page_, kPage);
  }

  bool stored(std::byte* address, StoppedStore store) {
    const auto offset = static_cast<size_t>(address - page_);
    ++(store.make_at(elsewhere_ + offset, kPage - offset) ? made_ : repeated_);
    return made_ != 0 || mprotect(page_, kPage, PROT_READ | PROT_WRITE) == 0;
  }
  template <class T>
  T mirrored(size_t offset) const {
    T value;
    std::memcpy(&value, mirror_.data() + offset, sizeof value);
    return value;
  }

  std::byte* page_ = nullptr;
  alignas(64) std::array<std::byte, kPage> mirror_{};
  std::byte* elsewhere_ = mirror_.data();
  int made_ = 0, repeated_ = 0;
};

TEST_F(StoppedStoreTest, StoresToMirrorAndContinues) {
  uint64_t before = 0x1111, wide = 0x0123456789abcdef, after = 0x2222;
  asm volatile(
      "mov %[wide], 8(%[page])\n\t"
      "movl $-3, 16(%[page])\n\t"
      "movq $-5, 24(%[page])\n\t"
      "movnti %k[wide], 32(%[page])\n\t"
      "inc %[after]"
      : [after] "+r"(after)
      : [page] "r"(page_), [wide] "r"(wide), "r"(before)
      : "memory");
  EXPECT_EQ(made_, 4);
  EXPECT_EQ(after, 0x2223u);
  EXPECT_EQ(mirrored<uint64_t>(8), wide);
  EXPECT_EQ(mirrored<uint32_t>(16), ~uint32_t{2});
  EXPECT_EQ(mirrored<uint32_t>(20), 0u);
  EXPECT_EQ(mirrored<uint64_t>(24), ~uint64_t{4});
  EXPECT_EQ(mirrored<uint64_t>(32), wide & 0xffffffff);
  for (size_t i = 0; i < kPage; ++i) ASSERT_EQ(page_[i], std::byte{0}) << i;
}

TEST_F(StoppedStoreTest, ExchangeReturnsPreviousValue) {
  mirror_.fill(std::byte{0x99});
  uint64_t wide = 5, narrow = 0x5555555500000007;
  asm volatile(
      "xchg %[wide], 64(%[page])\n\t"
      "xchg %k[narrow], 72(%[page])"
      : [wide] "+r"(wide), [narrow] "+r"(narrow)
      : [page] "r"(page_)
      : "memory");
  EXPECT_EQ(wide, 0x9999999999999999u);
  EXPECT_EQ(narrow, 0x99999999u) << "the upper half is cleared";
  EXPECT_EQ(mirrored<uint64_t>(64), 5u);
  EXPECT_EQ(mirrored<uint64_t>(72), 0x9999999900000007u);
}

TEST_F(StoppedStoreTest, UnsupportedOrUnalignedStoreIsRepeated) {
  asm volatile("mov %[value], 4(%[page])" : : [page] "r"(page_), [value] "r"(uint64_t{7}) : "memory");
  EXPECT_EQ(repeated_, 1);
  EXPECT_EQ(std::to_integer<int>(page_[4]), 7);
  ASSERT_EQ(mprotect(page_, kPage, PROT_READ), 0);
  asm volatile("lock addq $1, 8(%[page])" : : [page] "r"(page_) : "memory", "cc");
  EXPECT_EQ(repeated_, 2);
  EXPECT_EQ(std::to_integer<int>(page_[8]), 1);
  EXPECT_EQ(made_, 0);
}

// The program has mapped over the device's memory, as is possible in a child of fork.
TEST_F(StoppedStoreTest, StoreThatFaultsInMirrorIsRepeated) {
  elsewhere_ = page_;
  std::atomic_ref<uint64_t> word(*reinterpret_cast<uint64_t*>(page_ + 8));
  word.store(7, std::memory_order_relaxed);
  EXPECT_EQ(repeated_, 1);
  EXPECT_EQ(word.load(), 7u);
  ASSERT_EQ(mprotect(page_, kPage, PROT_READ), 0);
  EXPECT_EQ(word.exchange(8), 7u);
  EXPECT_EQ(repeated_, 2);
  EXPECT_EQ(word.load(), 8u);
  EXPECT_EQ(made_, 0);
}

// Code at the end of a mapping is read as far as possible.
TEST_F(StoppedStoreTest, DecodesInstructionAtEndOfMapping) {
  auto* const code = static_cast<uint8_t*>(
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(code, MAP_FAILED);
  constexpr uint8_t kFunction[] = {0x48, 0x89, 0x37, 0xc3};  // mov %rsi, (%rdi); ret
  std::memcpy(code + kPage - sizeof kFunction, kFunction, sizeof kFunction);
  ASSERT_EQ(mprotect(code, kPage, PROT_READ | PROT_EXEC), 0);
  ASSERT_EQ(munmap(code + kPage, kPage), 0);
  reinterpret_cast<void (*)(std::byte*, uint64_t)>(code + kPage - sizeof kFunction)(page_ + 128, 77);
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(mirrored<uint64_t>(128), 77u);
  munmap(code, kPage);
}

#endif

}  // namespace
}  // namespace rigel::vgpu
