#include "core/executable/symbol_facts.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "api/support/query.hpp"

namespace rigel {
namespace {

constexpr std::string_view kModuleSeparator = "::";

uint32_t saturated(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, std::numeric_limits<uint32_t>::max()));
}

/// Writes characters without a terminating zero: the buffer has exactly the queried length.
Status answer_text(void* value, const std::string& text) {
  std::memcpy(value, text.data(), text.size());
  return HSA_STATUS_SUCCESS;
}

/// Returns the alignment of a variable in memory: that of its address, limited by its segment.
uint32_t alignment_of(const CodeSymbol& symbol, const CodeSegment& segment) {
  const uint64_t of_value = symbol.value & (~symbol.value + 1);
  return saturated(of_value == 0 ? segment.alignment : std::min(of_value, segment.alignment));
}

std::optional<hsa_symbol_kind_t> kind_of(const CodeSymbol& symbol) {
  switch (symbol.kind) {
    case CodeSymbol::Kind::kVariable:
      return HSA_SYMBOL_KIND_VARIABLE;
    case CodeSymbol::Kind::kKernelObject:
      return HSA_SYMBOL_KIND_KERNEL;
    case CodeSymbol::Kind::kIndirectFunction:
      return HSA_SYMBOL_KIND_INDIRECT_FUNCTION;
    default:
      return std::nullopt;
  }
}

SymbolFacts describe(const CodeObject& object, const CodeSymbol& symbol,
                     hsa_variable_allocation_t allocation) {
  SymbolFacts facts;
  facts.name = symbol.name;
  // HSAIL finalizers prefix the name with the module. Other compilers do not use colons.
  const size_t separator = facts.name.rfind(kModuleSeparator);
  if (separator != facts.name.npos) {
    facts.module_name = facts.name.substr(0, separator);
    facts.name.erase(0, separator + kModuleSeparator.size());
    facts.linkage = HSA_SYMBOL_LINKAGE_MODULE;
  }
  facts.allocation = allocation;
  facts.size = symbol.size;
  if (symbol.place == CodeSymbol::Place::kSegment) {
    const CodeSegment& segment = object.segments()[symbol.segment];
    facts.is_constant = !segment.writable;
    facts.segment = segment.writable ? HSA_VARIABLE_SEGMENT_GLOBAL : HSA_VARIABLE_SEGMENT_READONLY;
    facts.alignment = alignment_of(symbol, segment);
  }
  return facts;
}

}  // namespace

std::vector<DescribedSymbol> describe_symbols(const CodeObject& object, hsa_variable_allocation_t allocation,
                                              bool with_declarations) {
  const auto symbols = object.symbols();
  std::vector<const CodeKernel*> kernels(symbols.size());
  for (const CodeKernel& kernel : object.kernels()) kernels[kernel.symbol] = &kernel;

  std::vector<DescribedSymbol> described;
  described.reserve(object.kernels().size());
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    const CodeSymbol& symbol = symbols[i];
    const bool declared = symbol.place == CodeSymbol::Place::kUndefined && !symbol.name.empty();
    std::optional<hsa_symbol_kind_t> kind;
    if (kernels[i] != nullptr) {
      kind = HSA_SYMBOL_KIND_KERNEL;
    } else if (symbol.exported) {
      kind = kind_of(symbol);
    } else if (declared && with_declarations) {
      kind = HSA_SYMBOL_KIND_VARIABLE;  // linkers drop the type of undefined symbols
    }
    if (!kind) continue;
    DescribedSymbol added{describe(object, symbol, allocation), i};
    added.facts.kind = *kind;
    added.facts.is_definition = !declared;
    if (kernels[i] != nullptr) added.facts.kernel = *kernels[i];
    described.push_back(std::move(added));
  }
  return described;
}

Status SymbolFacts::get_info(uint32_t attribute, void* value) const {
  switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
      return answer(value, kind);
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
      return answer(value, saturated(name.size()));
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
      return answer_text(value, name);
    case HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH:
      return answer(value, saturated(module_name.size()));
    case HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME:
      return answer_text(value, module_name);
    case HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE:
      return answer(value, linkage);
    case HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION:
      return answer(value, is_definition);
    default:
      break;
  }
  if (kind == HSA_SYMBOL_KIND_VARIABLE) {
    switch (attribute) {
      case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION:
        return answer(value, allocation);
      case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT:
        return answer(value, segment);
      case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT:
        return answer(value, alignment);
      case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE:
        return answer(value, saturated(size));
      case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST:
        return answer(value, is_constant);
      default:
        break;
    }
  }
  if (kind == HSA_SYMBOL_KIND_KERNEL) {
    switch (attribute) {
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
        return answer(value, kernel.kernarg_size);
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT:
        return answer(value, kernel.kernarg_alignment);
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
        return answer(value, kernel.group_size);
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
        return answer(value, kernel.private_size);
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK:
        return answer(value, kernel.dynamic_callstack);
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION:
        return answer(value, uint32_t{0});  // the only one
      case HSA_CODE_SYMBOL_INFO_KERNEL_WAVEFRONT_SIZE:
        return answer(value, kernel.wavefront_size);
      default:
        break;
    }
  }
  if (kind == HSA_SYMBOL_KIND_INDIRECT_FUNCTION &&
      attribute == HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_CALL_CONVENTION) {
    return answer(value, uint32_t{0});
  }
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "symbol {}: has no attribute {}", full_name(), attribute);
}

// One switch serves both enumerations.
static_assert(+HSA_CODE_SYMBOL_INFO_TYPE == +HSA_EXECUTABLE_SYMBOL_INFO_TYPE);
static_assert(+HSA_CODE_SYMBOL_INFO_NAME_LENGTH == +HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH);
static_assert(+HSA_CODE_SYMBOL_INFO_NAME == +HSA_EXECUTABLE_SYMBOL_INFO_NAME);
static_assert(+HSA_CODE_SYMBOL_INFO_MODULE_NAME_LENGTH == +HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH);
static_assert(+HSA_CODE_SYMBOL_INFO_MODULE_NAME == +HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME);
static_assert(+HSA_CODE_SYMBOL_INFO_LINKAGE == +HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE);
static_assert(+HSA_CODE_SYMBOL_INFO_IS_DEFINITION == +HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION);
static_assert(+HSA_CODE_SYMBOL_INFO_VARIABLE_ALLOCATION == +HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION);
static_assert(+HSA_CODE_SYMBOL_INFO_VARIABLE_SEGMENT == +HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT);
static_assert(+HSA_CODE_SYMBOL_INFO_VARIABLE_ALIGNMENT == +HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT);
static_assert(+HSA_CODE_SYMBOL_INFO_VARIABLE_SIZE == +HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE);
static_assert(+HSA_CODE_SYMBOL_INFO_VARIABLE_IS_CONST == +HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST);
static_assert(+HSA_CODE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE ==
              +HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE);
static_assert(+HSA_CODE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT ==
              +HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT);
static_assert(+HSA_CODE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE ==
              +HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE);
static_assert(+HSA_CODE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE ==
              +HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);
static_assert(+HSA_CODE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK ==
              +HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK);
static_assert(+HSA_CODE_SYMBOL_INFO_KERNEL_CALL_CONVENTION ==
              +HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION);
static_assert(+HSA_CODE_SYMBOL_INFO_INDIRECT_FUNCTION_CALL_CONVENTION ==
              +HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_CALL_CONVENTION);

}  // namespace rigel
