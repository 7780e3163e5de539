#include "plugins/vgpu/runner/load_kernel.hpp"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

namespace rigel::vgpu::runner {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<char> elf_file(uint16_t machine, uint16_t type = ET_DYN) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_machine = machine;
  header.e_type = type;
  const auto* const bytes = reinterpret_cast<const char*>(&header);
  return {bytes, bytes + sizeof header};
}
constexpr uint16_t kAmdGpu = 224;

void append(std::vector<char>& file, const std::vector<char>& part) {
  file.insert(file.end(), part.begin(), part.end());
}

TEST(CodeObjects, AreFoundInPrograms) {
  std::vector<char> program = elf_file(EM_X86_64);
  append(program, {'t', 'e', 'x', 't', ELFMAG0, 'E'});
  const size_t first = program.size();
  append(program, elf_file(kAmdGpu));
  append(program, elf_file(kAmdGpu, ET_REL));
  const size_t second = program.size();
  append(program, elf_file(kAmdGpu));
  append(program, {ELFMAG0, 'E', 'L', 'F'});
  const auto found = find_code_objects(program);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].data(), program.data() + first);
  EXPECT_EQ(found[1].data(), program.data() + second);
}

TEST(CodeObjects, AreFoundAtTheStart) {
  const std::vector<char> object = elf_file(kAmdGpu);
  ASSERT_EQ(find_code_objects(object).size(), 1u);
  EXPECT_EQ(find_code_objects(std::span(object).first(sizeof(Elf64_Ehdr) - 1)).size(), 0u);
  EXPECT_EQ(find_code_objects({}).size(), 0u);
}

TEST(CodeObjects, AreRejectedIfDamaged) {
  const auto load = [](const std::vector<char>& file) {
    MemoryBus memory(100'000);
    load_code_object(file, memory);
  };
  const auto throws = [](const char* text) { return ThrowsMessage<std::runtime_error>(HasSubstr(text)); };
  EXPECT_THAT([&] { load({}); }, throws("truncated"));
  EXPECT_THAT([&] { load(elf_file(EM_X86_64)); }, throws("not an ELF file for AMD GPUs"));
  EXPECT_THAT([&] { load(elf_file(kAmdGpu)); }, throws("no kernels in the metadata"));
  std::vector<char> segments = elf_file(kAmdGpu);
  const uint16_t count = 1000;
  std::memcpy(segments.data() + offsetof(Elf64_Ehdr, e_phnum), &count, sizeof count);
  EXPECT_THAT([&] { load(segments); }, throws("truncated"));
}

}  // namespace
}  // namespace rigel::vgpu::runner
