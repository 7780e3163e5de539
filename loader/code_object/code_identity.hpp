// Determines the target of a code object from ELF header and notes.
#pragma once

#include <libelf.h>

#include <span>

#include "loader/code_object/code_object.hpp"
#include "loader/code_object/rejection.hpp"

namespace rigel {

/// Returns machine, version, processor and features. Fails for a target that this loader cannot load; an
/// unknown processor is not an error.
Result<CodeIdentity> identify_code(const Elf64_Ehdr& header, std::span<const CodeNote> notes,
                                   const Rejection& reject);

}  // namespace rigel
