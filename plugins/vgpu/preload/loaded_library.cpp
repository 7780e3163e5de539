#include "plugins/vgpu/preload/loaded_library.hpp"

#include <dlfcn.h>
#include <elf.h>

#include <cstdint>
#include <cstring>

namespace rigel::vgpu {
namespace {

uint32_t gnu_hash(const char* name) noexcept {
  uint32_t hash = 5381;
  for (; *name != 0; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

}  // namespace

LoadedLibrary LoadedLibrary::of(const void* address) noexcept {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) map = nullptr;
  return LoadedLibrary(map);
}

LoadedLibrary LoadedLibrary::next_with(const char* name) const noexcept {
  for (const link_map* map = map_ == nullptr ? nullptr : map_->l_next; map != nullptr; map = map->l_next) {
    if (LoadedLibrary(map).find(name) != nullptr) return LoadedLibrary(map);
  }
  return LoadedLibrary(nullptr);
}

void* LoadedLibrary::find(const char* name) const noexcept {
  if (map_ == nullptr || map_->l_ld == nullptr) return nullptr;
  // The dynamic linker has made addresses of these, but for those of the vDSO.
  const auto at = [&](uint64_t value) { return value < map_->l_addr ? value + map_->l_addr : value; };
  const Elf64_Sym* symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* table = nullptr;
  const uint16_t* versions = nullptr;
  for (const Elf64_Dyn* entry = map_->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const uint64_t address = at(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const Elf64_Sym*>(address);
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_GNU_HASH) table = reinterpret_cast<const uint32_t*>(address);
    if (entry->d_tag == DT_VERSYM) versions = reinterpret_cast<const uint16_t*>(address);
  }
  if (symbols == nullptr || strings == nullptr || table == nullptr) return nullptr;
  // The header, a filter, where the chain of each bucket begins, and the hashes of chains, whose last has bit 0 set.
  const uint32_t bucket_count = table[0], first_symbol = table[1], filter_words = table[2];
  const uint32_t* const buckets = table + 4 + filter_words * 2;
  const uint32_t* const hashes = buckets + bucket_count;
  if (bucket_count == 0) return nullptr;
  const uint32_t hash = gnu_hash(name);
  uint32_t symbol = buckets[hash % bucket_count];
  if (symbol < first_symbol) return nullptr;
  for (;; ++symbol) {
    const uint32_t seen = hashes[symbol - first_symbol];
    const Elf64_Sym& is = symbols[symbol];
    constexpr uint16_t kHidden = 0x8000;  // not the default version
    const bool is_default = versions == nullptr || (versions[symbol] & kHidden) == 0;
    if ((seen | 1) == (hash | 1) && is_default && is.st_shndx != SHN_UNDEF &&
        std::strcmp(strings + is.st_name, name) == 0) {
      return reinterpret_cast<void*>(map_->l_addr + is.st_value);
    }
    if ((seen & 1) != 0) return nullptr;
  }
}

}  // namespace rigel::vgpu
