// Runs a kernel on every execution path, and compares the resulting memory and registers.
//
// Paths: the interpreter at each SIMD level; compiled code for each level above baseline, compiled as a
// small and as a large kernel.
//
// Half of the kernels, by their data_seed, count their instructions for a profile. The counts must be equal
// on all paths and on the reference model.
//
// The expected result is that of the baseline interpreter, which reference/ compares with the manuals per
// instruction. Small kernels also run completely on the reference model. It must have the same memory,
// unless the manuals allow several results for an executed instruction.
//
// Threads: one. A Runner reuses its memory for each kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/whole_kernels/whole_kernel.hpp"

namespace rigel::vgpu::exec::whole {

struct ExecutionPath {
  SimdLevel level = SimdLevel::kBaseline;
  bool compiled = false;  ///< The kernel is compiled if possible.
  bool as_large = false;  ///< Compiled like kernels with many instructions.

  bool operator==(const ExecutionPath&) const = default;
};
std::string name(const ExecutionPath& path);
/// Returns all paths of this host; the baseline interpreter is first.
std::vector<ExecutionPath> execution_paths();

struct Verdict {
  enum class Kind : uint8_t {
    kSame,
    kDiffers,
    kInvalid,  ///< The kernel does not complete successfully on the first path; there is nothing to compare.
  };
  Kind kind = Kind::kSame;
  std::string what;           ///< The difference, or why the kernel is invalid.
  ExecutionPath path;         ///< The first path that differs.
  bool judged = false;        ///< The reference model has the same memory.
  std::string not_judged;     ///< Why the reference model's result was not used.
  bool was_compiled = false;  ///< The kernel was compiled.
  std::string not_compiled;   ///< Why the kernel was not compiled, if the path requires it.
  uint64_t instructions = 0;  ///< Wave instructions of one dispatch.
};

struct RunOptions {
  /// Dispatches of compiled code. The first starts in the interpreter, with short time slices, so that
  /// waves enter at loop headers. From the third on, compiled code has the extents of memory accesses.
  uint32_t dispatches = 3;
  std::vector<ExecutionPath> paths = execution_paths();
  /// Compile each kernel on one path, which its data_seed selects; otherwise on all.
  bool alternate_paths = true;
  /// Maximum wave instructions of kernels that also run on the reference model.
  uint64_t judged_instructions = 1500;
};

class Runner {
 public:
  Runner();
  ~Runner();

  Verdict run(const Kernel& kernel, const RunOptions& options = {});

 private:
  struct Memories;
  struct State;

  void prepare(const Kernel& kernel, const std::vector<uint32_t>& code);
  void reset(const Kernel& kernel);
  void judge(const Kernel& kernel, const std::vector<uint32_t>& code, Verdict& verdict);
  std::string run_on_path(const Kernel& kernel, const ExecutionPath& path, const RunOptions& options,
                          Verdict& verdict);

  std::unique_ptr<Memories> memories_;
};

}  // namespace rigel::vgpu::exec::whole
