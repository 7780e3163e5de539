#include "plugins/vgpu/preload/loaded_library.hpp"

#include <cstdint>
#include <cstring>

namespace rigel::vgpu {
namespace {

uint32_t gnu_hash(const char* name) noexcept {
  uint32_t hash = 5381;
  for (; *name != 0; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// Calls `body` with each library, in the dynamic linker's search order, until it returns true.
template <class Body>
void for_each_library(Body body) noexcept {
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) { return (*static_cast<Body*>(context))(*info) ? 1 : 0; },
      &body);
}

}  // namespace

LoadedLibrary::LoadedLibrary(const dl_phdr_info& info) noexcept
    : base_(info.dlpi_addr), segments_(info.dlpi_phdr), segment_count_(info.dlpi_phnum) {
  for (uint16_t i = 0; i < segment_count_; ++i) {
    if (segments_[i].p_type == PT_DYNAMIC)
      dynamic_ = reinterpret_cast<const ElfW(Dyn)*>(base_ + segments_[i].p_vaddr);
  }
}

bool LoadedLibrary::contains(uint64_t address) const noexcept {
  for (uint16_t i = 0; i < segment_count_; ++i) {
    const ElfW(Phdr)& segment = segments_[i];
    if (segment.p_type == PT_LOAD && address - base_ - segment.p_vaddr < segment.p_memsz) return true;
  }
  return false;
}

LoadedLibrary LoadedLibrary::of(const void* address) noexcept {
  LoadedLibrary found;
  for_each_library([&](const dl_phdr_info& info) {
    const LoadedLibrary library(info);
    if (!library.contains(reinterpret_cast<uint64_t>(address))) return false;
    found = library;
    return true;
  });
  return found;
}

LoadedLibrary LoadedLibrary::next_with(const char* name) const noexcept {
  LoadedLibrary found;
  bool is_after_this = false;
  for_each_library([&](const dl_phdr_info& info) {
    const LoadedLibrary library(info);
    const bool is_next = is_after_this && library.find(name) != nullptr;
    if (is_next) found = library;
    is_after_this = is_after_this || library == *this;
    return is_next;
  });
  return found;
}

void* LoadedLibrary::find(const char* name) const noexcept {
  if (dynamic_ == nullptr) return nullptr;
  // The dynamic linker has relocated these addresses, except in the vDSO.
  const auto at = [&](uint64_t value) { return value < base_ ? value + base_ : value; };
  const Elf64_Sym* symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* table = nullptr;
  const uint16_t* versions = nullptr;
  for (const Elf64_Dyn* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
    const uint64_t address = at(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const Elf64_Sym*>(address);
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_GNU_HASH) table = reinterpret_cast<const uint32_t*>(address);
    if (entry->d_tag == DT_VERSYM) versions = reinterpret_cast<const uint16_t*>(address);
  }
  if (symbols == nullptr || strings == nullptr || table == nullptr) return nullptr;
  // The table: header, filter, first symbol of each bucket, hashes of the chains, whose last one has bit 0
  // set.
  const uint32_t bucket_count = table[0], first_symbol = table[1], filter_words = table[2];
  const uint32_t* const buckets = table + 4 + filter_words * 2;
  const uint32_t* const hashes = buckets + bucket_count;
  if (bucket_count == 0) return nullptr;
  const uint32_t hash = gnu_hash(name);
  uint32_t symbol = buckets[hash % bucket_count];
  if (symbol < first_symbol) return nullptr;
  for (;; ++symbol) {
    const uint32_t stored_hash = hashes[symbol - first_symbol];
    const Elf64_Sym& entry_symbol = symbols[symbol];
    constexpr uint16_t kHidden = 0x8000;  // not the default version
    const bool is_default = versions == nullptr || (versions[symbol] & kHidden) == 0;
    if ((stored_hash | 1) == (hash | 1) && is_default && entry_symbol.st_shndx != SHN_UNDEF &&
        std::strcmp(strings + entry_symbol.st_name, name) == 0) {
      return reinterpret_cast<void*>(base_ + entry_symbol.st_value);
    }
    if ((stored_hash & 1) != 0) return nullptr;
  }
}

}  // namespace rigel::vgpu
