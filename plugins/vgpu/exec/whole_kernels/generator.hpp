// Generator of random kernels. generator.cpp has the frame and the choice of statements;
// generate_numbers.cpp arithmetic on ids; generate_memory.cpp and generate_images.cpp accesses;
// generate_pipelines.cpp loads in flight; generate_control.cpp branches, loops, calls and EXEC;
// generate_masks.cpp masks whose halves are changed; generate_indexed.cpp register indexing;
// generate_wrapping.cpp additions that wrap.
//
// Threads: one per generator.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "plugins/vgpu/exec/whole_kernels/contents.hpp"
#include "plugins/vgpu/exec/whole_kernels/instruction_writer.hpp"
#include "plugins/vgpu/exec/whole_kernels/random_alu.hpp"
#include "plugins/vgpu/exec/whole_kernels/random_image.hpp"

namespace rigel::vgpu::exec::whole {

/// Part of the output that belongs to a work-item: `bytes` bytes at base + stride * index.
struct Field {
  int32_t base = 0, stride = 4;
  uint32_t bytes = 4;
};

/// An address in registers for accesses of [offset, offset + bytes).
struct Place {
  enum class Form : uint8_t { kFlat, kGlobal, kGlobalBase, kBuffer };
  Form form = Form::kFlat;
  bool out = false;       ///< In the output; otherwise in the input.
  uint32_t vgpr = 0;      ///< Register of the address, or of the offset (kGlobalBase, kBuffer).
  uint32_t bytes = 0;     ///< Size of the accessible memory.
  uint32_t constant = 0;  ///< Added to each access's offset.
  uint32_t base = 0;      ///< SGPRs of the base (kGlobalBase).

  bool operator==(const Place&) const = default;
  uint32_t vgprs() const { return form == Form::kFlat || form == Form::kGlobal ? 2 : 1; }
};

/// A function of the kernel. Functions of level 1 call those of level 2, which are leaf functions.
struct Function {
  uint32_t label = 0, level = 1;
  bool whole_group = false;  ///< All waves of a work-group call it, so it may have barriers.

  uint32_t return_sgprs() const { return level == 1 ? sgpr::kReturn : sgpr::kReturnInner; }
  /// Nesting depth of its statements, which selects registers for EXEC and loop counters.
  uint32_t depth() const { return level + 1; }
};

class Generator : InstructionWriter {
 public:
  Generator(Kernel& kernel, Draw& draw)
      : InstructionWriter(kernel, draw), alu_(kernel.target), image_(kernel.target) {}
  void run();

 private:
  enum class Flavour : uint8_t {
    kMoves,       ///< Loads, moves of elements, and stores; few other statements.
    kArithmetic,  ///< Without branches.
    kEverything,
  };

  /// A kind of statement that a kernel repeats, so that related statements are combined.
  enum class Topic : uint8_t { kNone, kPipelines, kTiles, kMasks, kAtomics, kCarries, kCalls, kScratch };
  static constexpr uint32_t kTopics = 8;

  void draw_shape();
  void draw_fields();
  void begin();
  void finish();

  void statements(uint32_t count, uint32_t depth);
  void statement(uint32_t depth);
  void statement_of_topic(uint32_t depth);
  void moves();
  void arithmetic(uint32_t max_count);
  void matrices();
  void exchange();
  uint32_t scalar_near_overflow();
  uint32_t aligned_scalar();
  void wide_arithmetic(uint32_t to, uint32_t from);
  void carries();
  void id_arithmetic();
  void indexed_moves();
  void indexed_arithmetic();
  uint32_t move_indexed();
  uint32_t write_index(uint32_t bits);
  void call_indexed(uint32_t bits);
  void indexing();
  uint32_t relative_register(uint32_t number, uint32_t end);
  void relative_registers();
  void set_half_of_exec(uint32_t half, bool activate);
  void common_carry();
  void loads_where_lanes_wrap();

  Place new_place(bool out);
  Place new_stream(bool out, int32_t bytes, int32_t base);
  Place place(bool out);
  uint32_t random_width(uint32_t at_most);
  void access(const Place& place, bool store, std::optional<uint32_t> wanted = {});
  void load() { access(place(draw_.one_in(8)), false); }
  void store() { access(place(true), true); }
  void store_of(uint32_t vgpr) {
    const Place to = place(true);
    access(to, true, vgpr);
  }
  void scalar_load();
  void scalar_store();
  uint32_t unified_format();
  uint32_t record_descriptor(bool out, const Field& field, uint32_t count);
  void record_access();
  void byte_range_load();
  void sum();
  void store_or_accumulate(uint32_t vgpr);
  void atomic_on_own_field();
  uint32_t image_words(const ImageWords& words);
  void read_image();
  void write_image();
  void sum_image();
  void lds();
  void lds_load(uint32_t address, uint32_t width);
  void barrier();
  void end_a_wave();
  void multiply_add_chain();
  uint32_t scratch_wave();
  void scratch();
  Function function_to_call();
  void address_of(const Function& function, uint32_t to);
  void call(uint32_t depth);

  template <class F>
  void in_fewer_lanes(F statements);
  void work_during_loads(uint32_t max_count);
  void uses_of_loads();
  void pipeline();
  uint32_t lds_address(uint32_t width);
  void lds_loads(uint32_t address, uint32_t width, uint32_t count, std::optional<uint32_t> wanted = {});
  void tile();

  void change_half(uint32_t mask);
  void changed_mask();
  void read_state();
  void high_halves_as_registers();

  void region(uint32_t depth, bool with_else);
  void uniform_branch(uint32_t depth);
  void uniform_loop(uint32_t depth);
  void lane_loop(uint32_t depth);
  void temporary_mode(uint32_t depth);
  void temporary_exec();
  void exit_compiled_code();
  void branch_with_exit();
  void rare_statement();
  template <class F>
  void with_restored_places(F statements);
  void nested_statements(uint32_t count, uint32_t depth, bool same_for_group = false);

  Registers registers() const {
    const RegisterLayout layout = layout_of(kernel_);
    return {kernel_.vgprs, first_data_, sgpr::kData, sgpr::kDataEnd, false, true, layout.sgprs, layout.agprs};
  }
  uint32_t condition();
  void forget_written();
  uint32_t saved_exec(uint32_t depth) const { return sgpr::kSavedExec + 2 * depth; }

  RandomAlu alu_;
  RandomImage image_;
  Flavour flavour_ = Flavour::kEverything;
  Topic topic_ = Topic::kNone;
  bool streams_ = false;  // consecutive vector elements, so that whole work-groups are compiled
  std::vector<Field> fields_;
  uint32_t scalar_field_ = 0;  // 16 bytes per work-item, for the first lanes of waves
  uint32_t atomic_field_ = 0;  // 16 bytes per work-item, for atomics of any order
  uint32_t image_field_ = 0;   // 16 bytes per work-item: a texel of a plane
  // Size of these texels. It is fixed, because rows of other sizes would overlap those of other waves.
  std::optional<uint32_t> image_dwords_;
  std::vector<Place> places_;
  // kOddBase has the pointer to the output or input minus this number of bytes. 0: not used.
  uint32_t odd_ = 0;
  bool odd_out_ = false;
  uint32_t total_ = 1;  // work-items, including those past the grid
  uint32_t index_ = 3;  // VGPR: index of the work-item in the grid
  uint32_t item_ = 4;   // VGPR: index of the work-item in its work-group
  uint32_t slot_ = 5;   // VGPR: offset of the work-item's slot in LDS
  uint32_t loop_ = 6;   // VGPRs: counters of divergent loops, by depth
  uint32_t lds_stride_ = 0, lds_own_ = 0;
  bool same_for_group_ = true;        // all waves that have not ended execute this code
  bool lds_shared_ = false;           // LDS may be read anywhere, and must not be written
  bool scratch_in_resource_ = false;  // the descriptor includes the wave's offset
  std::optional<Function> function_;  // the function in which statements are drawn
  uint32_t budget_ = 0;
  uint32_t mode_ = 0;  // current MODE
  std::vector<Function> functions_;
  uint32_t end_ = 0;
};

// Addresses that the drawn statements compute are valid for some lanes or one iteration only.
template <class F>
void Generator::with_restored_places(F draw) {
  forget_written();
  const std::vector<Place> previous_places = places_;
  draw();
  forget_written();
  std::erase_if(places_, [&](const Place& place) {
    return std::find(previous_places.begin(), previous_places.end(), place) == previous_places.end();
  });
}

}  // namespace rigel::vgpu::exec::whole
