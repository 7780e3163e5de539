#include "backends/cpu/notes.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <hsa_cpu/kernel.h>

#include <cstring>

#include "backends/cpu/testing/rig.hpp"

namespace rigel::cpu {
namespace {

// An ELF file with a header and program headers, to which bytes can be added.
class FakeElf {
 public:
  FakeElf() : bytes_(sizeof(Elf64_Ehdr)) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    put(0, header);
  }

  FakeElf& part(uint32_t type, uint32_t flags, uint64_t address, uint64_t size) {
    Elf64_Phdr part{};
    part.p_type = type;
    part.p_flags = flags;
    part.p_offset = part.p_vaddr = address;
    part.p_filesz = part.p_memsz = size;
    part.p_align = 4;
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof part);
    put(at, part);
    auto header = get<Elf64_Ehdr>(0);
    ++header.e_phnum;
    put(0, header);
    return *this;
  }

  // Makes it `size` bytes long.
  FakeElf& resize(size_t size) {
    bytes_.resize(size);
    return *this;
  }

  FakeElf& note(uint64_t at, const char* name, uint32_t type, const std::vector<uint32_t>& words) {
    const Elf64_Nhdr header{static_cast<uint32_t>(strlen(name) + 1), static_cast<uint32_t>(words.size() * 4),
                            type};
    put(at, header);
    std::memcpy(bytes_.data() + at + sizeof header, name, strlen(name) + 1);
    const uint64_t text = at + sizeof header + (strlen(name) + 4) / 4 * 4;
    std::memcpy(bytes_.data() + text, words.data(), words.size() * 4);
    return *this;
  }

  template <class T>
  void put(size_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  template <class T>
  T get(size_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  Notes notes() const { return read_notes(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

TEST(CpuNotes, ContainTargetOfCompiledCodeObject) {
  const Notes notes = read_notes(testing::read_file(TEST_KERNELS));
  EXPECT_EQ(notes.problem, nullptr);
  EXPECT_TRUE(notes.found);
  EXPECT_EQ(notes.abi_major, uint32_t{HSA_CPU_ABI_MAJOR});
  EXPECT_NE(notes.features, 0u);
}

TEST(CpuNotes, AreMergedFromSeveralParts) {
  FakeElf elf;
  elf.part(PT_NOTE, PF_R, 256, 72).resize(328);
  elf.note(256, HSA_CPU_NOTE_NAME, HSA_CPU_NOTE_TYPE, {1, 0, 0x1, 0x0});
  elf.note(292, HSA_CPU_NOTE_NAME, HSA_CPU_NOTE_TYPE, {1, 0, 0x4, 0x80});
  const Notes notes = elf.notes();
  EXPECT_EQ(notes.problem, nullptr);
  EXPECT_EQ(notes.features, 0x80'0000'0005u);
}

TEST(CpuNotes, IgnoreOtherNotes) {
  FakeElf elf;
  elf.part(PT_NOTE, PF_R, 256, 64).resize(320);
  elf.note(256, "GNU", 3, {7, 7});
  elf.note(280, HSA_CPU_NOTE_NAME, 2, {1, 0, 0, 0});
  EXPECT_EQ(elf.notes().problem, nullptr);
  EXPECT_FALSE(elf.notes().found);
}

TEST(CpuNotes, RejectInvalidNotes) {
  EXPECT_STREQ(read_notes({}).problem, "not a little-endian 64-bit ELF file");

  FakeElf outside;
  outside.part(PT_NOTE, PF_R, 256, 100).resize(300);
  EXPECT_STREQ(outside.notes().problem, "a note segment is outside the file");

  FakeElf overflow;
  overflow.part(PT_NOTE, PF_R, UINT64_MAX - 8, 100).resize(300);
  EXPECT_STREQ(overflow.notes().problem, "a note segment is outside the file");

  FakeElf longer;
  longer.part(PT_NOTE, PF_R, 256, 36).resize(292);
  longer.note(256, HSA_CPU_NOTE_NAME, HSA_CPU_NOTE_TYPE, {1, 0, 0, 0});
  longer.put(260, uint32_t{4000});
  EXPECT_STREQ(longer.notes().problem, "a note exceeds its segment");

  FakeElf shorter;
  shorter.part(PT_NOTE, PF_R, 256, 36).resize(292);
  shorter.note(256, HSA_CPU_NOTE_NAME, HSA_CPU_NOTE_TYPE, {1, 0});
  EXPECT_STREQ(shorter.notes().problem, "an HSA-CPU note is too short");

  FakeElf mixed;
  mixed.part(PT_NOTE, PF_R, 256, 72).resize(328);
  mixed.note(256, HSA_CPU_NOTE_NAME, HSA_CPU_NOTE_TYPE, {1, 0, 0, 0});
  mixed.note(292, HSA_CPU_NOTE_NAME, HSA_CPU_NOTE_TYPE, {2, 0, 0, 0});
  EXPECT_STREQ(mixed.notes().problem, "its parts are for different versions of the kernel ABI");

  FakeElf headers;
  headers.part(PT_NOTE, PF_R, 0, 0);
  auto header = headers.get<Elf64_Ehdr>(0);
  header.e_phnum = 60000;
  headers.put(0, header);
  EXPECT_STREQ(headers.notes().problem, "the program headers are outside the file");
}

}  // namespace
}  // namespace rigel::cpu
