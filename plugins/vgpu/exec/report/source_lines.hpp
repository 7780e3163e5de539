// Source lines of instructions, and the inlined calls that led there, from the DWARF information of code
// objects that were compiled with -g.
//
// elfutils' libdw reads it, if the build found its headers and the system has the library. The library is
// loaded for the first report.
//
// Threads: one per object.
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
  std::string function;  ///< Demangled; empty: unnamed.
  std::string file;      ///< Empty: unknown.
  int line = 0;          ///< 0: unknown.
  int column = 0;        ///< 0: unknown.
};

class DebugInformation {
 public:
  virtual ~DebugInformation() = default;
  /// Returns the source position of `address` in the file: the innermost function first, then the positions
  /// into which it was inlined. Empty if unknown.
  virtual std::vector<SourceFrame> frames(uint64_t address) = 0;
};

/// Opens the ELF file `contents`, which must outlive the result. Returns null without libdw or without
/// debugging information.
std::unique_ptr<DebugInformation> open_debug_information(std::span<char> contents);

/// Source positions of loaded addresses, for one report. Each code object is read once.
class SourceLines {
 public:
  /// For `list` see find_code_object().
  explicit SourceLines(const void* list);
  ~SourceLines();
  std::vector<SourceFrame> frames(uint64_t pc);
  /// Returns the function that contains `pc`; its start is the loaded address.
  std::optional<Function> function(uint64_t pc);

 private:
  struct OpenedObject;
  OpenedObject* object_at(uint64_t pc);
  const void* const list_;
  std::vector<std::unique_ptr<OpenedObject>> objects_;
};

/// Returns the demangled name: "void f<int>(int*)" for "_Z1fIiEvPi". Other names are returned unchanged.
std::string demangled(const std::string& name);

/// "f(int) at a.cpp:3:7".
std::string text_of(const SourceFrame& frame);

}  // namespace rigel::vgpu::exec
