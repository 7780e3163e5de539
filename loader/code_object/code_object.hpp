// What a code object says: an ELF file with code for a GPU or for the host, read with every offset, size,
// count and alignment checked. What this class hands out can be used without another look at the file.
//
// A CodeObject is immutable and refers to the caller's bytes, which stay in place and unchanged for as long
// as it lives. `parse` and all members may be called from any thread.
//
// Addresses here are link-time addresses, the ones that the file was linked for, until code_image.hpp says
// otherwise. Files are the ones that a linker makes with -shared: AMD GPU code objects of versions 2 to 6,
// and x86-64 and AArch64 shared objects.
//
// A file is refused, with the reason, if it is damaged or if this loader would get it wrong: relocations for
// thread-local storage or indirect functions, copy relocations, relocations of read-only host code. A part that
// no kernel may need does not refuse the file. It fails where it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.hpp"

namespace rigel {

/// e_machine of the files that can be read.
enum class CodeMachine : uint16_t { kX86_64 = 62, kAarch64 = 183, kAmdGpu = 224 };

/// What a code object was made for, by which an agent decides whether it can run it.
struct CodeIdentity {
  CodeMachine machine{};
  uint8_t os_abi = 0;
  uint8_t abi_version = 0;
  uint32_t flags = 0;
  /// Version of the code object format: 2 to 6. 0 for host code.
  uint32_t version = 0;
  /// Revision of a generic processor that the code needs at least. 0 if the processor is not a generic one.
  uint32_t generic_version = 0;
  /// Name of the ISA, `amdgcn-amd-amdhsa--gfx90a:xnack+` or `x86_64-unknown-linux-gnu--x86-64`. Empty for an
  /// AMD GPU that is newer than the table of names: its backend goes by `flags`.
  std::string isa_name;
  /// Only known of code that came from HSAIL.
  std::optional<hsa_profile_t> profile;
  std::optional<hsa_machine_model_t> machine_model;
  std::optional<hsa_default_float_rounding_mode_t> rounding_mode;
};

/// A PT_LOAD: file bytes [file_offset, +file_size) go to [address, +file_size), zeros up to memory_size.
struct CodeSegment {
  uint64_t address;
  uint64_t memory_size;
  uint64_t file_offset;
  uint64_t file_size;
  uint64_t alignment;  ///< a power of two
  bool readable;
  bool writable;
  bool executable;
  /// Of a writable segment: so many bytes at its beginning are written by relocations only (PT_GNU_RELRO).
  uint64_t constant_size = 0;

  bool contains(uint64_t at, uint64_t size) const;
};

/// Memory that the segments need, in one piece.
struct CodeLayout {
  uint64_t address;    ///< lowest link-time address, a multiple of alignment
  uint64_t size;       ///< bytes up to the end of the highest segment
  uint64_t alignment;  ///< a power of two
};

/// An entry of the dynamic symbol table, or of .symtab if that defines none.
struct CodeSymbol {
  enum class Kind : uint8_t {
    kNone,  ///< untyped, as undefined symbols are
    kVariable,
    kFunction,
    kKernelObject,      ///< kernel of a code object of version 2: an amd_kernel_code_t
    kIndirectFunction,  ///< of a code object of version 2
    kOther,             ///< of no interest to a loader: section, file
  };
  enum class Binding : uint8_t { kLocal, kGlobal, kWeak };
  enum class Place : uint8_t {
    kUndefined,
    kSegment,    ///< `value` is an address in segments()[segment]
    kOutside,    ///< an address outside of all segments, as linkers give to _end and to empty sections
    kAbsolute,   ///< `value` is a number, not an address
    kNoAddress,  ///< `value` is an offset in group memory or thread-local storage, or a resolver's address
  };

  std::string_view name;
  uint64_t value;
  uint64_t size;  ///< bytes; a symbol in a segment ends with it at the latest
  Kind kind;
  Binding binding;
  Place place;
  bool exported;     ///< defined, not local, and visible to others
  bool preemptible;  ///< a definition elsewhere may take its place: default visibility
  uint32_t segment;
};

struct CodeNote {
  std::string_view name;  ///< without its closing zeros
  uint32_t type;
  std::span<const std::byte> description;
};

/// A dynamic relocation. Its type is one of those that code_image.cpp applies, its place lies in a segment.
struct CodeRelocation {
  uint64_t address;
  int64_t addend;
  uint32_t type;
  uint32_t symbol;  ///< index into symbols(); 0: none
};

/// A kernel, as far as its descriptor and the metadata tell.
struct CodeKernel {
  uint32_t symbol;           ///< index into symbols()
  uint64_t entry;            ///< link-time address of the first instruction
  uint32_t descriptor_size;  ///< 64, or 256 in a code object of version 2
  uint32_t kernarg_size;
  uint32_t kernarg_alignment;
  uint32_t group_size;
  uint32_t private_size;
  uint32_t wavefront_size;  ///< 32 or 64 as the descriptor says; without meaning for host code
  bool dynamic_callstack;
};

class CodeObject {
 public:
  /// Reads `bytes`, a whole file. INVALID_CODE_OBJECT if it is none that can be loaded; the reason goes to
  /// the log and, if wanted, to `*reason`.
  static Result<CodeObject> parse(std::span<const std::byte> bytes, std::string* reason = nullptr);

  std::span<const std::byte> bytes() const { return bytes_; }
  const CodeIdentity& identity() const { return identity_; }
  const CodeLayout& layout() const { return layout_; }

  /// In ascending order of address, not overlapping.
  std::span<const CodeSegment> segments() const { return segments_; }
  /// Entry 0 is the null symbol, if there are any.
  std::span<const CodeSymbol> symbols() const { return symbols_; }
  std::span<const CodeRelocation> relocations() const { return relocations_; }
  std::span<const CodeNote> notes() const { return notes_; }
  std::span<const CodeKernel> kernels() const { return kernels_; }

  /// DT_NEEDED: libraries that the file was linked against. Nothing here opens them.
  std::span<const std::string_view> needed() const { return needed_; }
  /// The file has initialisers or finalisers. Nothing here runs them.
  bool has_initializers() const { return has_initializers_; }

  /// File bytes of [address, +size), or an empty span if they are not all in the file.
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
