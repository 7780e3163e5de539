// Runs a whole kernel in every way that there is, and says whether all leave the same memory and registers
// behind.
//
// The ways: by handlers, of each SIMD level; and compiled, for each level above the first, as small kernels are and as large ones.
//
// The judge is the baseline's handlers, which reference/ compares with the manuals, instruction by instruction. Small
// kernels are run on the reference model as a whole, too: it must leave the same memory, unless some result on the way
// was one of several that the manuals allow.
//
// One thread. A Runner has memory that is used again for each kernel.
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

struct Way {
  SimdLevel level = SimdLevel::kBaseline;
  bool compiled = false;  ///< The kernel is compiled, where it can be.
  bool as_large = false;  ///< … as kernels are that have many instructions.

  bool operator==(const Way&) const = default;
};
std::string name(const Way& way);
/// All that this machine has; the baseline's handlers first.
std::vector<Way> ways_to_run();

struct Verdict {
  enum class Kind : uint8_t {
    kSame,
    kDiffers,
    kInvalid,  ///< It does not end, or not well, in the first way already: nothing is to be compared.
  };
  Kind kind = Kind::kSame;
  std::string what;           ///< Differs or is invalid.
  Way way;                    ///< The first that differs.
  bool judged = false;        ///< The reference model has the same memory, or may have another.
  std::string not_judged;     ///< Why the model was of no use, if it was asked.
  bool was_compiled = false;  ///< It has been compiled …
  std::string not_compiled;   ///< … or why it has not, if that was to be.
  uint64_t instructions = 0;  ///< That waves have executed, in one dispatch.
};

struct RunOptions {
  /// Of compiled code. In the first one the interpreter begins, with turns so short that waves come in at the heads of loops; from
  /// the third on code knows where memory is.
  uint32_t dispatches = 3;
  std::vector<Way> ways = ways_to_run();
  bool by_turns =
      true;  ///< Each kernel is compiled in one of the ways, which its data_seed says; if not, in all.
  /// Kernels of no more instructions of waves run on the reference model as well.
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
  std::string run_in(const Kernel& kernel, const Way& way, const RunOptions& options, Verdict& verdict);

  std::unique_ptr<Memories> memories_;
};

}  // namespace rigel::vgpu::exec::whole
