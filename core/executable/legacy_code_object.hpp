// hsa_code_object_t: a code object as version 1.0 of the API had it, bytes that can be asked for their
// symbols without being loaded. Deprecated, and kept for programs that know no readers.
//
// Immutable once made; any thread.
#pragma once

#include <hsa/hsa.h>

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

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
  const std::vector<std::byte> bytes_;
  std::optional<CodeObject> object_;
  std::vector<LegacyCodeSymbol> symbols_;
};

}  // namespace rigel
