// Draws a kernel, statement by statement: generator.cpp has what it begins and ends with and what lies in registers,
// generate_numbers.cpp what becomes of work-items' numbers, generate_memory.cpp and generate_images.cpp accesses,
// generate_pipelines.cpp loads that are under way, generate_control.cpp branches, loops, calls and what is done to EXEC,
// generate_masks.cpp masks of which halves are changed, generate_indexed.cpp registers by an index, generate_wrapping.cpp sums that
// wrap.
//
// Threads: one generator belongs to one thread.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "plugins/vgpu/exec/whole_kernels/contents.hpp"
#include "plugins/vgpu/exec/whole_kernels/instruction_writer.hpp"
#include "plugins/vgpu/exec/whole_kernels/random_alu.hpp"
#include "plugins/vgpu/exec/whole_kernels/random_image.hpp"

namespace rigel::vgpu::exec::whole {

/// What a work-item has of the output: `bytes` bytes at base + stride * (its number).
struct Field {
  int32_t base = 0, stride = 4;
  uint32_t bytes = 4;
};

/// An address in registers, good for accesses of [offset, offset + bytes).
struct Place {
  enum class Form : uint8_t { kFlat, kGlobal, kGlobalBase, kBuffer };
  Form form = Form::kFlat;
  bool out = false;       ///< Else in the input.
  uint32_t vgpr = 0;      ///< Of the address, or of the offset (kGlobalBase, kBuffer).
  uint32_t bytes = 0;     ///< That may be accessed from there on.
  uint32_t constant = 0;  ///< To be added to each access's own offset.
  uint32_t base = 0;      ///< SGPRs (kGlobalBase).

  bool operator==(const Place&) const = default;
  uint32_t vgprs() const { return form == Form::kFlat || form == Form::kGlobal ? 2 : 1; }
};

/// A function that is called. Those of level 1 call those of level 2, which call nothing.
struct Function {
  uint32_t label = 0, level = 1;
  bool whole_group = false;  ///< All waves of a work-group call it: it has barriers.

  /// SGPRs: where it returns to.
  uint32_t return_sgprs() const { return level == 1 ? sgpr::kReturn : sgpr::kReturnInner; }
  /// Of its statements: EXEC and counters of loops are saved by depth.
  uint32_t depth() const { return level + 1; }
};

class Generator : InstructionWriter {
 public:
  Generator(Kernel& kernel, Draw& draw)
      : InstructionWriter(kernel, draw), alu_(kernel.target), image_(kernel.target) {}
  void run();

 private:
  enum class Flavour : uint8_t {
    kMoves,       ///< Loads, elements moved about, stores; little else.
    kArithmetic,  ///< Without branches.
    kEverything,
  };

  /// What a kernel does again and again, so that what belongs together meets.
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
  void arithmetic(uint32_t most);
  void exchange();
  uint32_t close_scalar();
  uint32_t aligned_scalar();
  void wide_number(uint32_t to, uint32_t from);
  void carries();
  void numbers();
  void indexed_moves();
  void indexed_arithmetic();
  uint32_t move_indexed();
  uint32_t write_index(uint32_t bits);
  void call_indexed(uint32_t bits);
  void indexing();
  uint32_t relative_number(uint32_t is, uint32_t behind_last);
  void relative_registers();
  void wake_or_put_to_sleep(uint32_t half, bool wake);
  void common_carry();
  void loads_where_lanes_wrap();

  Place new_place(bool out);
  Place new_stream(bool out, int32_t bytes, int32_t base);
  Place place(bool out);
  uint32_t widest(uint32_t at_most);
  void access(const Place& place, bool store, std::optional<uint32_t> wanted = {});
  void load() { access(place(draw_.one_in(8)), false); }
  void store() { access(place(true), true); }
  void store_of(uint32_t vgpr) {
    const Place to = place(true);
    access(to, true, vgpr);
  }
  void scalar_load();
  void scalar_store();
  uint32_t records(bool out, const Field& field, uint32_t count);
  void record();
  void range_of_bytes();
  void sum();
  void keep(uint32_t vgpr);
  void own_atomic();
  uint32_t image_words(const ImageWords& words);
  void read_image();
  void write_image();
  void sum_image();
  void lds();
  void lds_load(uint32_t address, uint32_t width);
  void barrier();
  void end_a_wave();
  void products();
  uint32_t scratch_wave();
  void scratch();
  Function function_to_call();
  void address_of(const Function& function, uint32_t to);
  void call(uint32_t depth);

  template <class F>
  void narrowed(F draws);
  void meanwhile(uint32_t most);
  void uses_of_loads();
  void pipeline();
  uint32_t lds_address(uint32_t width);
  void lds_loads(uint32_t address, uint32_t width, uint32_t count, std::optional<uint32_t> wanted = {});
  void tile();

  void change_half(uint32_t mask);
  void changed_mask();
  void read_state();
  void upper_halves();

  void region(uint32_t depth, bool with_else);
  void uniform_branch(uint32_t depth);
  void uniform_loop(uint32_t depth);
  void lane_loop(uint32_t depth);
  void mode_game(uint32_t depth);
  void exec_game();
  void leave();
  void leaving();
  void rarity();
  template <class F>
  void with_places_of_before(F draws);
  void inside(uint32_t count, uint32_t depth, bool same_for_group = false);

  Registers registers() const {
    return {kernel_.vgprs, first_data_, sgpr::kData, sgpr::kDataEnd, false, true, layout_of(kernel_).sgprs};
  }
  uint32_t condition();
  void forget_written();
  uint32_t saved_exec(uint32_t depth) const { return sgpr::kSavedExec + 2 * depth; }

  RandomAlu alu_;
  RandomImage image_;
  Flavour flavour_ = Flavour::kEverything;
  Topic topic_ = Topic::kNone;
  bool streams_ =
      false;  // elements of vectors, one behind the other: such work-groups are compiled as a whole
  std::vector<Field> fields_;
  uint32_t scalar_field_ = 0;  // 16 bytes of each work-item, for the first lanes of waves
  uint32_t atomic_field_ = 0;  // likewise, for atomics of any order
  uint32_t image_field_ = 0;   // likewise, a texel in a plane
  // Of such texels: rows of others would overlap those of other waves.
  std::optional<uint32_t> image_dwords_;
  std::vector<Place> places_;
  // The pointer to the output or to the input is kept that many bytes lower as well, in kOddBase; not if none.
  uint32_t odd_ = 0;
  bool odd_out_ = false;
  uint32_t total_ = 1;  // work-items, with those that are not there
  uint32_t index_ = 3;  // VGPR: the work-item's number in the grid …
  uint32_t item_ = 4;   // … and in its work-group
  uint32_t slot_ = 5;   // its place in LDS
  uint32_t loop_ = 6;   // counters of loops that lanes leave, by depth
  uint32_t lds_stride_ = 0, lds_own_ = 0;
  bool same_for_group_ = true;        // All waves of a work-group come here, but for those that have ended
  bool lds_shared_ = false;           // LDS may be read anywhere, and not be written
  bool scratch_in_resource_ = false;  // the wave's offset is
  std::optional<Function> function_;  // in which statements are drawn
  uint32_t budget_ = 0;
  uint32_t mode_ = 0;  // MODE at present
  std::vector<Function> functions_;
  uint32_t end_ = 0;
};

// Addresses that are worked out meanwhile are good for some lanes, or for one time round.
template <class F>
void Generator::with_places_of_before(F draws) {
  forget_written();
  const std::vector<Place> before = places_;
  draws();
  forget_written();
  std::erase_if(places_, [&](const Place& place) {
    return std::find(before.begin(), before.end(), place) == before.end();
  });
}

}  // namespace rigel::vgpu::exec::whole
