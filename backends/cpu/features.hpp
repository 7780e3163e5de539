// Features of this CPU as bits of <hsa_cpu/features.h>, the resulting ISA names, and its caches. Queried from
// the CPU once, without files. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <hsa_backend/hsa_backend.hpp>

namespace rigel::cpu {

/// Returns the features that code for this machine may use.
uint64_t host_features() noexcept;

/// Returns the ELF machine (e_machine) of this process.
uint16_t host_elf_machine() noexcept;

/// Returns ISA names, best first: `<triple>--<processor>`, with the processor as in -march. Static.
std::span<const hsabe_str_t> isa_names(uint64_t features) noexcept;

bool half_is_fast(uint64_t features) noexcept;

/// Returns the names of `features`, comma separated.
std::string describe_features(uint64_t features);

/// Returns the caches of one core by level, from the CPU; empty if it does not report them. Static.
std::span<const hsabe_cache_t> host_caches() noexcept;

}  // namespace rigel::cpu
