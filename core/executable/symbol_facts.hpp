// Properties of a kernel, variable or indirect function, and their attributes in the API: the common part of
// symbols of executables (hsa_executable_symbol_t) and of code objects (hsa_code_symbol_t). Plain data.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <string>
#include <vector>

#include "api/support/status.hpp"
#include "loader/code_object/code_object.hpp"

namespace rigel {

struct SymbolFacts {
  std::string name;         ///< without the module
  std::string module_name;  ///< for a symbol with module linkage from HSAIL; otherwise empty
  hsa_symbol_kind_t kind = HSA_SYMBOL_KIND_VARIABLE;
  hsa_symbol_linkage_t linkage = HSA_SYMBOL_LINKAGE_PROGRAM;
  bool is_definition = true;

  // For variables:
  hsa_variable_allocation_t allocation = HSA_VARIABLE_ALLOCATION_AGENT;
  hsa_variable_segment_t segment = HSA_VARIABLE_SEGMENT_GLOBAL;
  bool is_constant = false;
  uint32_t alignment = 0;  ///< bytes; 0: unknown
  uint64_t size = 0;       ///< bytes; 0: unknown

  // For kernels:
  CodeKernel kernel{};

  /// The name for lookups: module::name, or the name.
  std::string full_name() const { return module_name.empty() ? name : module_name + "::" + name; }

  /// Answers attributes that hsa_executable_symbol_info_t and hsa_code_symbol_info_t share. Returns
  /// INVALID_ARGUMENT for others, and for attributes of another kind of symbol.
  Status get_info(uint32_t attribute, void* value) const;
};

/// Properties of a symbol of a code object, and its index.
struct DescribedSymbol {
  SymbolFacts facts;
  uint32_t index;  ///< index in CodeObject::symbols()
};

/// Returns the kernels, variables and indirect functions that `object` exports and, if requested, those that
/// it only declares. `allocation` applies to all variables.
std::vector<DescribedSymbol> describe_symbols(const CodeObject& object, hsa_variable_allocation_t allocation,
                                              bool with_declarations);

}  // namespace rigel
