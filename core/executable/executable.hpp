// An executable: code objects loaded for agents, variables of the application, and the symbols of both. It is
// filled until it is frozen, and constant afterwards.
//
// *Threads:* any thread may call all members. One lock guards an executable: loading, defining, freezing and
// destruction take it exclusively, queries share it. Different executables share no lock while they load. No
// lock is held during callbacks of the application.
//
// External symbols of a code object are bound when it is loaded, in this order: definitions for the agent,
// definitions for the program, symbols of the agent's target. Later definitions have no effect.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <atomic>
#include <deque>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/support/handle_table.hpp"
#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/executable/code_object_reader.hpp"
#include "core/executable/code_target.hpp"
#include "core/executable/loaded_code_object.hpp"
#include "core/executable/loaded_ranges.hpp"
#include "core/executable/symbol_facts.hpp"

namespace rigel {

class Executable;

/// A symbol of an executable, with the executable's lifetime.
struct ExecutableSymbol {
  SymbolFacts facts;
  hsa_agent_t agent;    ///< handle 0: the program
  uint64_t address;     ///< address on the device of the variable, kernel descriptor or function
  bool weak;            ///< another definition of its name replaces it
  uint64_t handle = 0;  ///< created at the first request; guarded by Executable::handles_mutex_

  /// Returns INVALID_ARGUMENT for attributes that it does not have.
  Status get_info(uint32_t attribute, void* value) const;
};

/// Tables of all executables of a runtime.
struct ExecutableTables {
  HandleTable<Executable> executables{HandleKind::kExecutable};
  HandleTable<ExecutableSymbol> symbols{HandleKind::kExecutableSymbol};
  HandleTable<LoadedCodeObject> loaded{HandleKind::kLoadedCodeObject};
  LoadedRanges ranges;
};

class Executable : public std::enable_shared_from_this<Executable> {
 public:
  Executable(ExecutableTables& tables, hsa_profile_t profile, hsa_default_float_rounding_mode_t rounding_mode)
      : tables_(tables), profile_(profile), rounding_mode_(rounding_mode) {}
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  /// Adds it to the table of executables. Call once, before all other members.
  hsa_executable_t publish();

  hsa_executable_t handle() const { return handle_; }
  bool is_frozen() const { return frozen_.load(std::memory_order_acquire); }

  /// Loads a code object for the agent of `target`, or for the program if the target has no agent.
  Result<hsa_loaded_code_object_t> load(CodeTarget& target, std::shared_ptr<const CodeObjectReader> reader);

  /// Defines a variable of the application; agent handle 0: the program.
  Status define_variable(hsa_agent_t agent, hsa_variable_segment_t segment, std::string_view name,
                         void* address);

  Status freeze();
  Status get_info(hsa_executable_info_t attribute, void* value) const;
  /// Stores 0 if profile, machine model and rounding mode of all parts agree.
  Status validate(uint32_t* result) const;

  /// Returns the symbol with a name, `module::name` or `name`, for an agent; handle 0: the program. A kernel
  /// is also found by the name of its function. Fails with INVALID_SYMBOL_NAME if there is none.
  Result<hsa_executable_symbol_t> find_symbol(std::string_view name, hsa_agent_t agent);
  bool has_program_symbol(std::string_view name) const;

  enum class Which { kAll, kOfProgram, kOfAgent };
  /// Returns handles of symbols in loading order. Fails with INVALID_EXECUTABLE if it has been retired.
  Result<std::vector<hsa_executable_symbol_t>> symbols(Which which, hsa_agent_t agent = {});

  std::vector<std::shared_ptr<LoadedCodeObject>> loaded_code_objects() const;
  /// Prevents changes, for callers that need a consistent state of several executables.
  std::shared_lock<SharedMutex> hold() const { return std::shared_lock(mutex_); }
  /// Requires `hold`. (Clang cannot analyse locks in a list.)
  void append_segments(std::vector<hsa_ven_amd_loader_segment_descriptor_t>& segments) const
      RIGEL_UNCHECKED_LOCKS;

  /// Frees code and memory and invalidates all handles. Later calls return INVALID_EXECUTABLE.
  void retire();

 private:
  struct Key {
    uint64_t agent;
    std::string_view name;  // name of the referenced symbol
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return std::hash<std::string_view>()(key.name) ^ std::hash<uint64_t>()(key.agent);
    }
  };
  struct Entry {
    std::string full_name;
    ExecutableSymbol symbol;
  };

  Entry* find(std::string_view name, hsa_agent_t agent) const RIGEL_REQUIRES_SHARED(mutex_);
  Status check_changeable() const RIGEL_REQUIRES_SHARED(mutex_);
  Status check_fits(const CodeTarget& target, const CodeObject& object) const RIGEL_REQUIRES_SHARED(mutex_);
  /// Adds a definition. An existing name keeps its definition, unless that one is weak and the new one is
  /// not. A handle of a replaced definition stays valid and continues to describe it.
  void add(std::string full_name, ExecutableSymbol symbol) RIGEL_REQUIRES(mutex_);
  Status check_new_names(const std::vector<DescribedSymbol>& described, const CodeObject& object,
                         hsa_agent_t agent) const RIGEL_REQUIRES_SHARED(mutex_);

  hsa_executable_symbol_t handle_of(ExecutableSymbol& symbol);

  ExecutableTables& tables_;
  const hsa_profile_t profile_;
  const hsa_default_float_rounding_mode_t rounding_mode_;
  hsa_executable_t handle_{};

  mutable SharedMutex mutex_;
  // Written under mutex_; read without it if an older value is acceptable.
  std::atomic<bool> frozen_{false};
  bool retired_ RIGEL_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<LoadedCodeObject>> loaded_ RIGEL_GUARDED_BY(mutex_);
  std::deque<Entry> entries_ RIGEL_GUARDED_BY(mutex_);  // has stable addresses; includes replaced definitions
  std::unordered_map<Key, Entry*, Hash> by_name_ RIGEL_GUARDED_BY(mutex_);

  Mutex handles_mutex_;
};

}  // namespace rigel
