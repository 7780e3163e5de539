// hsa_code_object_t: a code object of version 1.0 of the API, whose symbols can be queried without loading
// it. Deprecated; for programs without readers.
//
// A handle is the address of the bytes, which the program may write, as in ROCr: LLVM 14's OpenMP plugin sets
// variables in the ELF file before it loads it. Queries return the state at creation; loading reads the
// current bytes.
//
// *Threads:* otherwise immutable; any thread.
#pragma once

#include <hsa/hsa.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "api/support/handle_table.hpp"
#include "api/support/mutex.hpp"
#include "core/executable/code_object_reader.hpp"
#include "core/executable/code_target.hpp"
#include "core/executable/symbol_facts.hpp"

namespace rigel {

struct LegacyCodeSymbol {
  SymbolFacts facts;
  uint64_t handle = 0;
};

class LegacyCodeObject {
 public:
  /// Copies any bytes: the API's deserialisation always succeeds, and queries of invalid bytes fail.
  explicit LegacyCodeObject(std::span<const std::byte> bytes);
  LegacyCodeObject(const LegacyCodeObject&) = delete;
  LegacyCodeObject& operator=(const LegacyCodeObject&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  uint64_t handle() const { return reinterpret_cast<uint64_t>(bytes_.data()); }
  bool is_valid() const { return object_.has_value(); }

  /// The following members require valid bytes.
  Status get_info(hsa_code_object_info_t attribute, CodeTargets& targets, void* value) const;
  std::span<const LegacyCodeSymbol> symbols() const { return symbols_; }
  /// Returns the symbol with a full name, or null.
  const LegacyCodeSymbol* find_symbol(std::string_view name) const;

  /// Gives each symbol a handle that keeps `self` alive, or adopts it.
  static void publish_symbols(const std::shared_ptr<LegacyCodeObject>& self,
                              HandleTable<LegacyCodeSymbol>& table);
  void retire_symbols(HandleTable<LegacyCodeSymbol>& table);

 private:
  std::vector<std::byte> bytes_;  // never resized: its address is the handle
  std::optional<CodeObject> object_;
  std::vector<LegacyCodeSymbol> symbols_;
};

/// The live code objects by handle. A handle is looked up and never dereferenced: an unknown handle may be
/// any number. The address of a destroyed code object may become the handle of a later one.
///
/// *Threads:* any thread.
class LegacyCodeObjects {
 public:
  void insert(std::shared_ptr<LegacyCodeObject> object);
  /// Returns null for an unknown handle.
  std::shared_ptr<LegacyCodeObject> find(uint64_t handle) const;
  /// Removes and returns it, or null.
  std::shared_ptr<LegacyCodeObject> remove(uint64_t handle) noexcept;
  /// Removes and returns any code object; null if there are none.
  std::shared_ptr<LegacyCodeObject> remove_any() noexcept;

 private:
  mutable Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<LegacyCodeObject>> objects_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
