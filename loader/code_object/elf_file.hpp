// Restricted use of libelf: it converts ranges of the file into aligned arrays in host byte order, and is
// called only for checked ranges. Counts, offsets and sections are not taken from it.
#pragma once

#include <libelf.h>

#include <cstddef>
#include <memory>
#include <span>

#include "loader/code_object/bounds.hpp"
#include "loader/code_object/rejection.hpp"

namespace rigel {

namespace detail {
template <class T>
constexpr Elf_Type kElfType = ELF_T_NUM;
template <>
inline constexpr Elf_Type kElfType<Elf64_Phdr> = ELF_T_PHDR;
template <>
inline constexpr Elf_Type kElfType<Elf64_Shdr> = ELF_T_SHDR;
template <>
inline constexpr Elf_Type kElfType<Elf64_Dyn> = ELF_T_DYN;
template <>
inline constexpr Elf_Type kElfType<Elf64_Sym> = ELF_T_SYM;
template <>
inline constexpr Elf_Type kElfType<Elf64_Rela> = ELF_T_RELA;
template <>
inline constexpr Elf_Type kElfType<Elf64_Word> = ELF_T_WORD;
}  // namespace detail

/// A 64-bit little-endian ELF file of the current version. Its arrays live as long as it does.
class ElfFile {
 public:
  static Result<ElfFile> open(std::span<const std::byte> bytes, const Rejection& reject);

  const Elf64_Ehdr& header() const { return header_; }
  uint64_t size() const { return size_; }

  /// Returns `count` elements from `offset`; fails if the file does not contain them. `what` names them in
  /// the reason.
  template <class T>
  Result<std::span<const T>> array(uint64_t offset, uint64_t count, std::string_view what,
                                   const Rejection& reject) const {
    if (count > size_ / sizeof(T) || !lies_within(offset, count * sizeof(T), size_)) {
      return reject("{}: {} entries at offset {:#x} exceed the file", what, count, offset);
    }
    if (count == 0) return std::span<const T>{};
    const Elf_Data* data = elf_getdata_rawchunk(elf_.get(), static_cast<int64_t>(offset), count * sizeof(T),
                                                detail::kElfType<T>);
    if (data == nullptr || data->d_size != count * sizeof(T)) {
      return reject("{}: {}", what, elf_errmsg(-1));
    }
    return std::span(static_cast<const T*>(data->d_buf), count);
  }

 private:
  struct Close {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  ElfFile(Elf* elf, const Elf64_Ehdr& header, uint64_t size) : elf_(elf), header_(header), size_(size) {}

  std::unique_ptr<Elf, Close> elf_;
  Elf64_Ehdr header_;
  uint64_t size_;
};

}  // namespace rigel
