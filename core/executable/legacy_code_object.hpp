// hsa_code_object_t: a code object as version 1.0 of the API had it, bytes that can be asked for their
// symbols without being loaded. Deprecated, and kept for programs that know no readers.
//
// A handle is the address of the bytes, which the program may write: LLVM 14's OpenMP plugin sets variables
// of the ELF file there before it loads it, as ROCr lets it. What is asked of a code object is what it was
// when it was made; loading reads the bytes as they are then. Otherwise immutable once made; any thread.
#pragma once

#include <hsa/hsa.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/base/handle_table.hpp"
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
  /// A copy of any bytes: the API has deserialising succeed whatever they are, and whatever is asked of them
  /// fail.
  explicit LegacyCodeObject(std::span<const std::byte> bytes);
  LegacyCodeObject(const LegacyCodeObject&) = delete;
  LegacyCodeObject& operator=(const LegacyCodeObject&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  uint64_t handle() const { return reinterpret_cast<uint64_t>(bytes_.data()); }
  bool is_valid() const { return object_.has_value(); }

  /// The members from here on are for valid ones.
  Status get_info(hsa_code_object_info_t attribute, CodeTargets& targets, void* value) const;
  std::span<const LegacyCodeSymbol> symbols() const { return symbols_; }
  /// By full name. Null if there is none.
  const LegacyCodeSymbol* find_symbol(std::string_view name) const;

  /// Gives each symbol a handle that keeps `self` alive, or takes it.
  static void publish_symbols(const std::shared_ptr<LegacyCodeObject>& self,
                              HandleTable<LegacyCodeSymbol>& table);
  void retire_symbols(HandleTable<LegacyCodeSymbol>& table);

 private:
  std::vector<std::byte> bytes_;  // never resized: its address is the handle
  std::optional<CodeObject> object_;
  std::vector<LegacyCodeSymbol> symbols_;
};

/// The live code objects by their handles. A handle is looked up and never followed: one that is not here may
/// be any number. The address of a code object that has ended may become the handle of a later one. Any
/// thread.
class LegacyCodeObjects {
 public:
  void insert(std::shared_ptr<LegacyCodeObject> object);
  /// Null: no live code object has this handle.
  std::shared_ptr<LegacyCodeObject> find(uint64_t handle) const;
  /// Takes it out; null as above.
  std::shared_ptr<LegacyCodeObject> remove(uint64_t handle) noexcept;
  /// Takes any one out; null: there are none.
  std::shared_ptr<LegacyCodeObject> remove_any() noexcept;

 private:
  mutable Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<LegacyCodeObject>> objects_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
