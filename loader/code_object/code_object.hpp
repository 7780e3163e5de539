// Parser of code objects: ELF files with code for a GPU or the host. Every offset, size, count and alignment
// is checked, so callers can use the results without further checks.
//
// *Lifetime:* a CodeObject is immutable and refers to the caller's bytes, which must stay unchanged while it
// lives.
// *Threads:* any thread may call `parse` and all members.
//
// Addresses are link-time addresses unless code_image.hpp states otherwise. Supported files are the output of
// a linker with -shared: AMD GPU code objects of versions 2 to 6, and x86-64 and AArch64 shared objects.
//
// *Errors:* a file is rejected, with the reason, if it is damaged or if this loader cannot load it correctly.
// Not supported are relocations for thread-local storage and indirect functions, copy relocations, and
// relocations of read-only host code. An unsupported part that kernels may not need does not reject the file;
// its use fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/support/status.hpp"

namespace rigel {

/// e_machine of supported files.
enum class CodeMachine : uint16_t { kX86_64 = 62, kAarch64 = 183, kAmdGpu = 224 };

/// Target of a code object; agents use it to decide if they can run it.
struct CodeIdentity {
  CodeMachine machine{};
  uint8_t os_abi = 0;
  uint8_t abi_version = 0;
  uint32_t flags = 0;
  /// Version of the code object format: 2 to 6. 0 for host code.
  uint32_t version = 0;
  /// Minimum revision of a generic processor. 0 for other processors.
  uint32_t generic_version = 0;
  /// Name of the ISA, `amdgcn-amd-amdhsa--gfx90a:xnack+` or `x86_64-unknown-linux-gnu--x86-64`. Empty for an
  /// AMD GPU that is newer than the table of names: its backend uses `flags`.
  std::string isa_name;
  /// Known only for code from HSAIL.
  std::optional<hsa_profile_t> profile;
  std::optional<hsa_machine_model_t> machine_model;
  std::optional<hsa_default_float_rounding_mode_t> rounding_mode;
};

/// A PT_LOAD: file bytes [file_offset, +file_size) are copied to [address, +file_size), followed by zeros up
/// to memory_size.
struct CodeSegment {
  uint64_t address;
  uint64_t memory_size;
  uint64_t file_offset;
  uint64_t file_size;
  uint64_t alignment;  ///< a power of two
  bool readable;
  bool writable;
  bool executable;
  /// In a writable segment: size of the start that only relocations write (PT_GNU_RELRO).
  uint64_t constant_size = 0;

  bool contains(uint64_t at, uint64_t size) const;
};

/// Memory for all segments, in one block.
struct CodeLayout {
  uint64_t address;    ///< lowest link-time address, a multiple of alignment
  uint64_t size;       ///< bytes up to the end of the highest segment
  uint64_t alignment;  ///< a power of two
};

/// An entry of the dynamic symbol table, or of .symtab if the former defines none.
struct CodeSymbol {
  enum class Kind : uint8_t {
    kNone,  ///< untyped, as are undefined symbols
    kVariable,
    kFunction,
    kKernelObject,      ///< kernel of a code object of version 2: an amd_kernel_code_t
    kIndirectFunction,  ///< in a code object of version 2
    kOther,             ///< not used by a loader: section, file
  };
  enum class Binding : uint8_t { kLocal, kGlobal, kWeak };
  enum class Place : uint8_t {
    kUndefined,
    kSegment,    ///< `value` is an address in segments()[segment]
    kOutside,    ///< an address outside all segments, as linkers assign to _end and to empty sections
    kAbsolute,   ///< `value` is a number instead of an address
    kNoAddress,  ///< `value` is an offset in group memory or thread-local storage, or a resolver's address
  };

  std::string_view name;
  uint64_t value;
  uint64_t size;  ///< bytes; limited by the end of its segment
  Kind kind;
  Binding binding;
  Place place;
  bool exported;     ///< defined, not local, and visible to other objects
  bool preemptible;  ///< another definition may replace it: default visibility
  uint32_t segment;
};

struct CodeNote {
  std::string_view name;  ///< without terminating zeros
  uint32_t type;
  std::span<const std::byte> description;
};

/// A dynamic relocation, with a type that code_image.cpp supports and a field in a segment.
struct CodeRelocation {
  uint64_t address;
  int64_t addend;
  uint32_t type;
  uint32_t symbol;  ///< index into symbols(); 0: none
};

/// A kernel, as described by its descriptor and the metadata.
struct CodeKernel {
  uint32_t symbol;           ///< index into symbols()
  uint64_t entry;            ///< link-time address of the first instruction
  uint32_t descriptor_size;  ///< 64, or 256 in a code object of version 2
  uint32_t kernarg_size;
  uint32_t kernarg_alignment;
  uint32_t group_size;
  uint32_t private_size;
  uint32_t wavefront_size;  ///< 32 or 64 according to the descriptor; undefined for host code
  bool dynamic_callstack;
};

class CodeObject {
 public:
  /// Parses `bytes`, a whole file. Fails with INVALID_CODE_OBJECT if it cannot be loaded; logs the reason
  /// and, if `reason` is not null, stores it.
  static Result<CodeObject> parse(std::span<const std::byte> bytes, std::string* reason = nullptr);

  std::span<const std::byte> bytes() const { return bytes_; }
  const CodeIdentity& identity() const { return identity_; }
  const CodeLayout& layout() const { return layout_; }

  /// In ascending order of address, not overlapping.
  std::span<const CodeSegment> segments() const { return segments_; }
  /// If not empty, entry 0 is the null symbol.
  std::span<const CodeSymbol> symbols() const { return symbols_; }
  std::span<const CodeRelocation> relocations() const { return relocations_; }
  std::span<const CodeNote> notes() const { return notes_; }
  std::span<const CodeKernel> kernels() const { return kernels_; }

  /// DT_NEEDED: libraries that the file was linked against. The loader does not open them.
  std::span<const std::string_view> needed() const { return needed_; }
  /// Whether the file has initialisers or finalisers. The loader does not run them.
  bool has_initializers() const { return has_initializers_; }

  /// Returns the file bytes of [address, +size), or an empty span if the file does not contain them all.
  std::span<const std::byte> file_bytes(uint64_t address, uint64_t size) const;

 private:
  friend class CodeObjectParser;
  CodeObject() = default;

  std::span<const std::byte> bytes_;
  CodeIdentity identity_;
  CodeLayout layout_{};
  std::vector<CodeSegment> segments_;
  std::vector<CodeSymbol> symbols_;
  std::vector<CodeRelocation> relocations_;
  std::vector<CodeNote> notes_;
  std::vector<CodeKernel> kernels_;
  std::vector<std::string_view> needed_;
  bool has_initializers_ = false;
};

}  // namespace rigel
