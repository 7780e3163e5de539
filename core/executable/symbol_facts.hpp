// What is known of a kernel, variable or indirect function, and how the API tells it: the part that symbols
// of executables (hsa_executable_symbol_t) and of code objects (hsa_code_symbol_t) have in common.
//
// Plain data; reading it from several threads needs no lock.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.hpp"
#include "loader/code_object/code_object.hpp"

namespace rigel {

struct SymbolFacts {
  std::string name;         ///< without the module
  std::string module_name;  ///< of a symbol with module linkage that came from HSAIL; else empty
  hsa_symbol_kind_t kind = HSA_SYMBOL_KIND_VARIABLE;
  hsa_symbol_linkage_t linkage = HSA_SYMBOL_LINKAGE_PROGRAM;
  bool is_definition = true;

  // Of a variable.
  hsa_variable_allocation_t allocation = HSA_VARIABLE_ALLOCATION_AGENT;
  hsa_variable_segment_t segment = HSA_VARIABLE_SEGMENT_GLOBAL;
  bool is_constant = false;
  uint32_t alignment = 0;  ///< bytes; 0: not known
  uint64_t size = 0;       ///< bytes; 0: not known

  // Of a kernel.
  CodeKernel kernel{};

  /// As names are looked up: module::name, or the name alone.
  std::string full_name() const { return module_name.empty() ? name : module_name + "::" + name; }

  /// Answers the attributes whose numbers hsa_executable_symbol_info_t and hsa_code_symbol_info_t share.
  /// INVALID_ARGUMENT for others, and for attributes of another kind of symbol.
  Status get_info(uint32_t attribute, void* value) const;
};

/// Facts of a symbol of a code object, and which it is.
struct DescribedSymbol {
  SymbolFacts facts;
  uint32_t index;  ///< into CodeObject::symbols()
};

/// The kernels, variables and indirect functions that `object` defines for others and, if wanted, those that
/// it only declares. Variables are said to be of `allocation`.
std::vector<DescribedSymbol> describe_symbols(const CodeObject& object, hsa_variable_allocation_t allocation,
                                              bool with_declarations);

}  // namespace rigel
