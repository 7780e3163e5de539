// From ELF header and notes to what a code object was made for.
#pragma once

#include <libelf.h>

#include <span>

#include "loader/code_object/code_object.hpp"
#include "loader/code_object/rejection.hpp"

namespace rigel {

/// Which machine, which version, which processor with which features. An error if it is not one that this
/// loader knows how to load; a processor without a name is not an error.
Result<CodeIdentity> identify_code(const Elf64_Ehdr& header, std::span<const CodeNote> notes,
                                   const Rejection& reject);

}  // namespace rigel
