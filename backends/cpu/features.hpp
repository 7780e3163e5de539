// What this processor can do: its features as bits of <hsa_cpu/features.h>, the ISA names that follow from
// them, and its caches. Asked of the processor itself, once; no file is read. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <hsa_backend/hsa_backend.hpp>

namespace rigel::cpu {

/// The features that code for this machine may use.
uint64_t host_features() noexcept;

/// The ELF machine (e_machine) of this process.
uint16_t host_elf_machine() noexcept;

/// ISA names, best first: `<triple>--<processor>`, the processor as compilers name it in -march. Static.
std::span<const hsabe_str_t> isa_names(uint64_t features) noexcept;

/// Whether arithmetic on half-precision numbers is native.
bool half_is_fast(uint64_t features) noexcept;

/// The names of `features`, comma separated.
std::string describe_features(uint64_t features);

/// The caches of one core, by level, as the processor reports them; empty where it does not. Static.
std::span<const hsabe_cache_t> host_caches() noexcept;

}  // namespace rigel::cpu
