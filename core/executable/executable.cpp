#include "core/executable/executable.hpp"

#include <algorithm>
#include <string>

#include "api/support/mutex.hpp"
#include "api/support/query.hpp"
#include "core/executable/failures.hpp"

namespace rigel {
namespace {

constexpr std::string_view kDescriptorSuffix = ".kd";

bool is_program(hsa_agent_t agent) {
  return agent.handle == 0;
}

bool is_weak(const CodeSymbol& symbol) {
  return symbol.binding == CodeSymbol::Binding::kWeak;
}

}  // namespace

Status ExecutableSymbol::get_info(uint32_t attribute, void* value) const {
  switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_AGENT:
      return answer(value, agent);
    // All kinds have one address. It is available after loading: rocprofiler of ROCm 5 requests it before the
    // executable is frozen.
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS:
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
    case HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_OBJECT:
      return answer(value, address);
    default:
      return facts.get_info(attribute, value);
  }
}

hsa_executable_t Executable::publish() {
  const WriterLock lock(mutex_);
  handle_.handle = tables_.executables.insert(shared_from_this());
  return handle_;
}

Status Executable::check_changeable() const {
  if (retired_) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  if (is_frozen()) return frozen_executable();
  return HSA_STATUS_SUCCESS;
}

Status Executable::check_fits(const CodeTarget& target, const CodeObject& object) const {
  const CodeIdentity& identity = object.identity();
  if (identity.profile && *identity.profile != profile_) {
    return fail(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                "code object: profile {} differs from profile {} of the executable",
                static_cast<int>(*identity.profile), static_cast<int>(profile_));
  }
  if (identity.machine_model.value_or(HSA_MACHINE_MODEL_LARGE) != HSA_MACHINE_MODEL_LARGE) {
    return fail(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                "code object: the small machine model is not supported");
  }
  constexpr auto kAny = HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT;
  const auto rounding_mode = identity.rounding_mode.value_or(kAny);
  if (rounding_mode != kAny && rounding_mode_ != kAny && rounding_mode != rounding_mode_) {
    return fail(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                "code object: rounding mode {} differs from rounding mode {} of the executable",
                static_cast<int>(rounding_mode), static_cast<int>(rounding_mode_));
  }
  if (!is_program(target.agent())) return HSA_STATUS_SUCCESS;
  if (!object.kernels().empty()) {
    return fail(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                "program code object: contains kernels; load it with hsa_executable_load_agent_code_object");
  }
  const bool has_one = std::any_of(loaded_.begin(), loaded_.end(),
                                   [](const auto& loaded) { return is_program(loaded->target().agent()); });
  if (has_one) {
    return fail(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, "executable: already has a program code object");
  }
  return HSA_STATUS_SUCCESS;
}

Status Executable::check_new_names(const std::vector<DescribedSymbol>& described, const CodeObject& object,
                                   hsa_agent_t agent) const {
  if (by_name_.empty()) return HSA_STATUS_SUCCESS;
  for (const auto& [facts, index] : described) {
    const std::string name = facts.full_name();
    const Entry* known = find(name, agent);
    if (known == nullptr || known->symbol.weak || is_weak(object.symbols()[index])) continue;
    return fail(HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED, "symbol {}: already defined", name);
  }
  return HSA_STATUS_SUCCESS;
}

Result<hsa_loaded_code_object_t> Executable::load(CodeTarget& target,
                                                  std::shared_ptr<const CodeObjectReader> reader) {
  const auto object = CodeObject::parse(reader->bytes());
  if (!object) return tl::unexpected(object.error());
  if (target.accepts(*object) == 0) {
    return fail(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, "code object: agent cannot run {} (e_flags {:#x})",
                object->identity().isa_name, object->identity().flags);
  }
  if (object->identity().machine != CodeMachine::kAmdGpu && object->has_initializers()) {
    log_message(LogLevel::kWarn, LogTopic::kApi, "{}: initializers (.init_array) are not run in code objects",
                reader->uri());
  }
  const hsa_agent_t agent = target.agent();
  auto described = describe_symbols(
      *object, is_program(agent) ? HSA_VARIABLE_ALLOCATION_PROGRAM : HSA_VARIABLE_ALLOCATION_AGENT, false);

  const WriterLock lock(mutex_);
  if (const Status status = check_changeable(); status != HSA_STATUS_SUCCESS) return error(status);
  if (const Status status = check_fits(target, *object); status != HSA_STATUS_SUCCESS) return error(status);
  if (const Status status = check_new_names(described, *object, agent); status != HSA_STATUS_SUCCESS) {
    return error(status);
  }

  const SymbolResolver resolve = [&](const CodeSymbol& symbol)
                                     RIGEL_REQUIRES_SHARED(mutex_) -> std::optional<uint64_t> {
    if (const Entry* known = find(symbol.name, agent)) return known->symbol.address;
    if (const Entry* known = find(symbol.name, {})) return known->symbol.address;
    if (symbol.place != CodeSymbol::Place::kUndefined) return std::nullopt;
    return target.resolve(symbol.name);
  };
  const auto loaded = LoadedCodeObject::load(handle_, target, std::move(reader), *object, resolve);
  if (!loaded) return tl::unexpected(loaded.error());

  std::vector<ExecutableSymbol> added;
  added.reserve(described.size());
  for (auto& [facts, index] : described) {
    const CodeSymbol& symbol = object->symbols()[index];
    added.push_back({.facts = std::move(facts),
                     .agent = agent,
                     .address = (*loaded)->device_address_of(symbol.value),
                     .weak = is_weak(symbol)});
    if (added.back().facts.kind != HSA_SYMBOL_KIND_KERNEL) continue;
    CodeKernel& kernel = added.back().facts.kernel;
    const auto descriptor = (*loaded)->contents_at(symbol.value, kernel.descriptor_size);
    const Status status = target.describe_kernel(descriptor, kernel);
    if (status != HSA_STATUS_SUCCESS) return error(status);
  }
  // The following steps fail only without memory. The object then remains incomplete until the executable is
  // destroyed.
  (*loaded)->handle = tables_.loaded.insert(*loaded);
  loaded_.push_back(*loaded);
  tables_.ranges.add(*loaded);
  if (by_name_.empty()) by_name_.reserve(added.size());
  for (ExecutableSymbol& symbol : added) {
    std::string name = symbol.facts.full_name();
    add(std::move(name), std::move(symbol));
  }
  return hsa_loaded_code_object_t{(*loaded)->handle};
}

Status Executable::define_variable(hsa_agent_t agent, hsa_variable_segment_t segment, std::string_view name,
                                   void* address) {
  if (name.empty()) return fail(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME, "variable: the name is empty");
  const WriterLock lock(mutex_);
  if (const Status status = check_changeable(); status != HSA_STATUS_SUCCESS) return status;
  if (const Entry* known = find(name, agent); known != nullptr && !known->symbol.weak) {
    return fail(HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED, "symbol {}: already defined", name);
  }
  ExecutableSymbol symbol{
      .facts = {}, .agent = agent, .address = reinterpret_cast<uintptr_t>(address), .weak = false};
  symbol.facts.name = name;
  symbol.facts.allocation =
      is_program(agent) ? HSA_VARIABLE_ALLOCATION_PROGRAM : HSA_VARIABLE_ALLOCATION_AGENT;
  symbol.facts.segment = segment;
  symbol.facts.is_constant = segment == HSA_VARIABLE_SEGMENT_READONLY;
  std::string full_name = symbol.facts.full_name();
  add(std::move(full_name), std::move(symbol));
  return HSA_STATUS_SUCCESS;
}

Status Executable::freeze() {
  const WriterLock lock(mutex_);
  if (const Status status = check_changeable(); status != HSA_STATUS_SUCCESS) return status;
  for (const auto& loaded : loaded_) {
    if (const Status status = loaded->finish(); status != HSA_STATUS_SUCCESS) return status;
  }
  for (const auto& loaded : loaded_) loaded->announce();
  frozen_.store(true, std::memory_order_release);
  return HSA_STATUS_SUCCESS;
}

Status Executable::get_info(hsa_executable_info_t attribute, void* value) const {
  switch (attribute) {
    case HSA_EXECUTABLE_INFO_PROFILE:
      return answer(value, profile_);
    case HSA_EXECUTABLE_INFO_STATE:
      return answer(value, is_frozen() ? HSA_EXECUTABLE_STATE_FROZEN : HSA_EXECUTABLE_STATE_UNFROZEN);
    case HSA_EXECUTABLE_INFO_DEFAULT_FLOAT_ROUNDING_MODE:
      return answer(value, rounding_mode_);
    default:
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "unknown executable attribute {}",
                  static_cast<int>(attribute));
  }
}

Status Executable::validate(uint32_t* result) const {
  const ReaderLock lock(mutex_);
  if (retired_) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  // Loading rejects parts that do not fit the executable, so only parts can contradict each other: an
  // executable without a specific rounding mode accepts code of both.
  std::optional<hsa_default_float_rounding_mode_t> rounding_mode;
  *result = 0;
  for (const auto& loaded : loaded_) {
    const auto of_part = loaded->identity().rounding_mode.value_or(HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT);
    if (of_part == HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT) continue;
    if (rounding_mode.value_or(of_part) != of_part) *result = 1;
    rounding_mode = of_part;
  }
  return HSA_STATUS_SUCCESS;
}

Executable::Entry* Executable::find(std::string_view name, hsa_agent_t agent) const {
  const auto found = by_name_.find({agent.handle, name});
  return found == by_name_.end() ? nullptr : found->second;
}

void Executable::add(std::string full_name, ExecutableSymbol symbol) {
  Entry* const known = find(full_name, symbol.agent);
  if (known != nullptr && (!known->symbol.weak || symbol.weak)) return;
  Entry& entry = entries_.emplace_back(Entry{std::move(full_name), std::move(symbol)});
  by_name_[Key{entry.symbol.agent.handle, entry.full_name}] = &entry;
}

hsa_executable_symbol_t Executable::handle_of(ExecutableSymbol& symbol) {
  const MutexLock lock(handles_mutex_);
  if (symbol.handle == 0) {
    symbol.handle = tables_.symbols.insert(std::shared_ptr<ExecutableSymbol>(shared_from_this(), &symbol));
  }
  return {symbol.handle};
}

Result<hsa_executable_symbol_t> Executable::find_symbol(std::string_view name, hsa_agent_t agent) {
  const ReaderLock lock(mutex_);
  if (retired_) return error(HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  Entry* found = find(name, agent);
  if (found == nullptr) found = find(std::string(name) + std::string(kDescriptorSuffix), agent);
  if (found == nullptr) {
    return fail(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME, "symbol {}: not defined for agent {:#x}", name,
                agent.handle);
  }
  return handle_of(found->symbol);
}

bool Executable::has_program_symbol(std::string_view name) const {
  const ReaderLock lock(mutex_);
  return find(name, {}) != nullptr;
}

Result<std::vector<hsa_executable_symbol_t>> Executable::symbols(Which which, hsa_agent_t agent) {
  const ReaderLock lock(mutex_);
  if (retired_) return error(HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  std::vector<hsa_executable_symbol_t> handles;
  for (Entry& entry : entries_) {
    const bool wanted =
        which == Which::kAll || (which == Which::kOfProgram ? is_program(entry.symbol.agent)
                                                            : entry.symbol.agent.handle == agent.handle);
    const bool has_yielded = find(entry.full_name, entry.symbol.agent) != &entry;
    if (wanted && !has_yielded) handles.push_back(handle_of(entry.symbol));
  }
  return handles;
}

std::vector<std::shared_ptr<LoadedCodeObject>> Executable::loaded_code_objects() const {
  const ReaderLock lock(mutex_);
  return loaded_;
}

void Executable::append_segments(std::vector<hsa_ven_amd_loader_segment_descriptor_t>& segments) const {
  for (const auto& loaded : loaded_) segments.push_back(loaded->describe_segment());
}

void Executable::retire() {
  const WriterLock lock(mutex_);
  retired_ = true;
  for (const auto& loaded : loaded_) {
    tables_.ranges.remove(*loaded);
    tables_.loaded.remove(loaded->handle);
    loaded->retire();
  }
  loaded_.clear();
  // Entries stay, because another thread may be reading one. The last reference to the executable frees them.
  for (Entry& entry : entries_) {
    if (entry.symbol.handle != 0) tables_.symbols.remove(entry.symbol.handle);
  }
}

}  // namespace rigel
