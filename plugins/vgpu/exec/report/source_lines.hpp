// Which line of which source an instruction came from, and through which inlined calls: by the debugging
// information (DWARF) of its code object, which programs that are compiled with -g have.
//
// elfutils' libdw reads it, if the build knew its headers and the machine has it. It is opened with the first
// report and not before.
//
// Threads: an object is its owner's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/vgpu/exec/report/loaded_code_objects.hpp"

namespace rigel::vgpu::exec {

struct SourceFrame {
  std::string function;  ///< As it was written, without the mangling; empty: it has no name.
  std::string file;      ///< Empty: unknown.
  int line = 0;          ///< 0: unknown.
  int column = 0;        ///< 0: unknown.
};

/// The debugging information of one code object.
class DebugInformation {
 public:
  virtual ~DebugInformation() = default;
  /// The place that `address`, one of the file, came from: the innermost function first, then where each was
  /// inlined. Empty: nothing is known.
  virtual std::vector<SourceFrame> frames(uint64_t address) = 0;
};

/// `contents` is an ELF file, which the caller keeps. Null: there is no libdw, or no debugging information in the file.
std::unique_ptr<DebugInformation> open_debug_information(std::span<char> contents);

/// Frames of addresses where they were loaded, for one report: a code object is read once.
class SourceLines {
 public:
  /// `list`: see find_code_object().
  explicit SourceLines(const void* list);
  ~SourceLines();
  std::vector<SourceFrame> frames(uint64_t pc);
  /// The function that has `pc`, its beginning where it was loaded.
  std::optional<Function> function(uint64_t pc);

 private:
  struct Known;
  Known* known_at(uint64_t pc);
  const void* const list_;
  std::vector<std::unique_ptr<Known>> known_;
};

/// A name as it was written: "void f<int>(int*)" for "_Z1fIiEvPi"; what is not mangled stays.
std::string demangled(const std::string& name);

/// "f(int) at a.cpp:3:7".
std::string text_of(const SourceFrame& frame);

}  // namespace rigel::vgpu::exec
