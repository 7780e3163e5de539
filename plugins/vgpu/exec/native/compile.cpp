#include <hsa_backend/sanitizer.h>

#include <cpuid.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "plugins/vgpu/exec/native/lanes.hpp"
#include "plugins/vgpu/exec/native/perf_map.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::native {
namespace {

// Whether handlers jump to each other; else they return, and run_wave() goes round: see micro_op.hpp.
#if HSABE_SANITIZER != HSABE_SANITIZER_NONE || !defined(__OPTIMIZE__)
constexpr bool kHandlersJump = false;
#else
constexpr bool kHandlersJump = true;
#endif
// Whether they do so where a block ends.
#if defined(__clang__)
constexpr bool kBlocksJump = kHandlersJump;
#else
constexpr bool kBlocksJump = false;
#endif

class Compiler {
 public:
  Compiler(const Request& request, std::span<uint8_t> buffer) : request_(request), a_(buffer, request) {}

  uint32_t run(const std::vector<Segment>& segments) {
    segments_ = &segments;
    entries_.resize(segments.size());
    uint32_t instructions = 0;
    for (size_t i = 0; i < segments.size(); ++i) {
      emit(i);
      instructions += segments[i].last_site - segments[i].first_site + 1;
    }
    for (Slow& slow : slow_) {
      a_.L(slow.label);
      emit_handler(slow.op);
    }
    a_.emit_pool();
    return instructions;
  }

  std::span<const std::byte> code() const {
    return {reinterpret_cast<const std::byte*>(a_.getCode()), a_.getSize()};
  }
  size_t entry(size_t segment) const { return entries_[segment].offset; }

 private:
  struct Entry {
    Xbyak::Label label;
    size_t offset = 0;
  };

  // Ways to handlers, apart from the code that is executed otherwise.
  struct Slow {
    Xbyak::Label label;
    uint32_t op = 0;
  };

  const Site& site(uint32_t index) const { return request_.sites[index]; }
  uint32_t op_of(const Segment& segment) const { return site(segment.first_site).op; }

  void emit(size_t index) {
    const Segment& segment = (*segments_)[index];
    a_.align(16);
    a_.L(entries_[index].label);
    entries_[index].offset = a_.getSize();
    if (segment.memory) emit_memory_segment(segment);
    const uint32_t wave_size = request_.layout.wave_size;
    ScalarCode before(a_, wave_size), after(a_, wave_size);
    before.emit(segment.before, segment.scc_mask == kNoMask && !makes_scc(segment.after));
    if (!segment.lanes.empty()) {
      Lanes lanes(a_, request_, segment.lanes);
      lanes.emit(segment.scc_mask);
      lanes.hand_on_masks(after);
    }
    if (segment.exec_mask != kNoMask) after.set_exec(segment.exec_mask);
    after.emit(segment.after, true);
    const Site& last = site(segment.last_site);
    const uint32_t next_op = last.op + last.op_count;
    if (segment.has_branch) {
      Xbyak::Label not_taken;
      const bool only_before = segment.lanes.empty() && segment.after.empty();
      emit_unless_taken(a_, last.instruction.op, wave_size, (only_before ? before : after).has_scc(),
                        not_taken);
      emit_jump(segment, last.op);
      if (last.instruction.op == isa::Op::s_branch) return;
      a_.L(not_taken);
    }
    // What follows may be native: then it is the next segment.
    if (index + 1 < segments_->size() && op_of((*segments_)[index + 1]) == next_op) return;
    if (is_barrier(segment.last_site + 1, next_op)) return emit_barrier(next_op);
    emit_exit(next_op, kHandlersJump);
  }

  // Whether they read nothing of the SCC before them.
  static bool makes_scc(const std::vector<Step>& steps) {
    const auto first = std::find_if(steps.begin(), steps.end(), [](const Step& step) {
      return step.reads[kSccSlot] || step.writes[kSccSlot];
    });
    return first != steps.end() && !first->reads[kSccSlot];
  }

  // Whether what is executed next is one, from site `index` on.
  bool is_barrier(uint32_t index, uint32_t op) const {
    while (index < request_.sites.size() && site(index).op_count == 0) ++index;
    return index < request_.sites.size() && site(index).instruction.op == isa::Op::s_barrier &&
           site(index).op == op && site(index).op_count == 1;
  }

  // What its handler does.
  void emit_barrier(uint32_t op) {
    a_.mov(a_.rdi, reinterpret_cast<uint64_t>(request_.ops.data() + op + 1));
    a_.mov(a_.byte[a_.rsi + static_cast<int>(offsetof(Wave, stop))], static_cast<uint32_t>(Stop::kBarrier));
    a_.mov(a_.qword[a_.rsi + static_cast<int>(offsetof(Wave, op))], a_.rdi);
    a_.ret();
  }

  void emit_memory_segment(const Segment& segment) {
    const uint32_t op = op_of(segment);
    Slow& slow = slow_.emplace_back();
    slow.op = op;
    emit_memory(a_, request_, *segment.memory, request_.ops[op], slow.label);
  }

  // Takes the branch that is micro-operation `op`.
  void emit_jump(const Segment& segment, uint32_t op) {
    const MicroOp& branch = request_.ops[op];
    const auto* const link = reinterpret_cast<const Link*>(branch.imm);
    const MicroOp* const target = link->target.load(std::memory_order_relaxed);
    if (target == nullptr) return emit_handler(op);  // which finds the way
    Xbyak::Label slowly;
    const auto budget = static_cast<int>(offsetof(Wave, budget));
    a_.mov(a_.rax, a_.qword[a_.rsi + budget]);
    a_.sub(a_.rax, static_cast<uint32_t>(link->cost));
    a_.js(slowly, Assembler::T_NEAR);
    a_.mov(a_.qword[a_.rsi + budget], a_.rax);
    const auto to = static_cast<uint32_t>(target - request_.ops.data());
    const size_t entry = segment_at(to);
    const bool forward = to > op;
    if (entry == segments_->size()) {
      emit_exit(to, kBlocksJump);
    } else if (kBlocksJump || forward || all_native(entry, segment)) {
      a_.jmp(entries_[entry].label, Assembler::T_NEAR);
    } else {
      if (kHandlersJump) emit_jump_if_shallow(entries_[entry].label);
      emit_exit(to, false);
    }
    a_.L(slowly);
    emit_handler(op);
  }

  // Some compilers' handlers leave frames on the stack. They go when control returns to run_wave(), which a
  // loop with handlers in it has to do now and then.
  void emit_jump_if_shallow(const Xbyak::Label& label) {
    constexpr uint32_t kDeep = 4096;
    a_.mov(a_.rax, a_.qword[a_.rsi + static_cast<int>(offsetof(Wave, stack))]);
    a_.sub(a_.rax, a_.rsp);
    a_.cmp(a_.rax, kDeep);
    a_.jb(label, Assembler::T_NEAR);
  }

  bool all_native(size_t first, const Segment& last) const {
    for (size_t i = first; &(*segments_)[i] != &last; ++i) {
      if ((*segments_)[i].memory) return false;  // perhaps
      const Site& end = site((*segments_)[i].last_site);
      if (op_of((*segments_)[i + 1]) != end.op + end.op_count) return false;
    }
    return true;
  }

  size_t segment_at(uint32_t op) const {
    const auto found =
        std::lower_bound(segments_->begin(), segments_->end(), op,
                         [this](const Segment& segment, uint32_t value) { return op_of(segment) < value; });
    if (found == segments_->end() || op_of(*found) != op) return segments_->size();
    return static_cast<size_t>(found - segments_->begin());
  }

  // Leaves a micro-operation to the handler that it has without native code.
  void emit_handler(uint32_t op) {
    a_.mov(a_.rdi, reinterpret_cast<uint64_t>(request_.ops.data() + op));
    a_.mov(a_.rax, reinterpret_cast<uint64_t>(request_.ops[op].handler));
    a_.jmp(a_.rax);
  }

  // Goes on with a micro-operation.
  void emit_exit(uint32_t op, bool jump) {
    a_.mov(a_.rdi, reinterpret_cast<uint64_t>(request_.ops.data() + op));
    if (jump) {
      a_.jmp(a_.qword[a_.rdi + static_cast<int>(offsetof(MicroOp, handler))]);
      return;
    }
    a_.mov(a_.qword[a_.rsi + static_cast<int>(offsetof(Wave, op))], a_.rdi);
    a_.mov(a_.qword[a_.rsi + static_cast<int>(offsetof(Wave, travelling_exec))], a_.rcx);
    a_.ret();
  }

  const Request& request_;
  Assembler a_;
  const std::vector<Segment>* segments_ = nullptr;
  std::deque<Entry> entries_;
  std::deque<Slow> slow_;
};

void note_for_perf(const Request& request, const std::vector<Segment>& segments, const std::byte* code,
                   size_t bytes, const Compiler& compiler) {
  std::vector<PerfPiece> pieces;
  for (size_t i = 0; i < segments.size(); ++i) {
    const size_t end = i + 1 < segments.size() ? compiler.entry(i + 1) : bytes;
    const MicroOp& op = request.ops[request.sites[segments[i].first_site].op];
    pieces.push_back({code + compiler.entry(i), end - compiler.entry(i), pc_of(&op)});
  }
  write_perf_map(pieces, *request.kernel, request.entry);
}

std::string_view asked_for() {
  static const char* const text = std::getenv("VGPU_NATIVE");
  return text == nullptr ? "" : text;
}

}  // namespace

const HostFeatures& host_features() {
  static const HostFeatures features = [] {
    HostFeatures found;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
      found.vbmi2 = (ecx >> 6 & 1) != 0;
      found.popcnt = (ecx >> 14 & 1) != 0;
    }
    return found;
  }();
  return features;
}

bool available() {
  static const bool possible = why_none(best_simd_level()).empty();
  return possible;
}

std::string_view why_none(SimdLevel level) {
  if (asked_for() == "0") return "VGPU_NATIVE forbids native code";
  if (level == SimdLevel::kBaseline) return "the first level has no native code";
  return exec::why_absent(level);
}

uint32_t compile(const Request& request, CodeMemory& memory) {
  const std::vector<Segment> segments = plan(request);
  if (segments.empty()) return 0;
  // Nearly all instructions take less; should they not, there is more.
  const size_t of_one = request.has_eight_lanes() ? 1024 : 512;
  for (size_t bytes = (request.sites.size() + 16) * of_one;; bytes *= 2) {
    const std::unique_ptr<uint8_t[]> buffer(new uint8_t[bytes]);
    try {
      Compiler compiler(request, {buffer.get(), bytes});
      const uint32_t instructions = compiler.run(segments);
      const std::byte* const code = memory.add(compiler.code());
      if (code == nullptr) return 0;
      if (perf_map_wanted() && request.kernel != nullptr)
        note_for_perf(request, segments, code, compiler.code().size(), compiler);
      for (size_t i = 0; i < segments.size(); ++i) {
        MicroOp& op = request.ops[request.sites[segments[i].first_site].op];
        op.handler = reinterpret_cast<Handler>(reinterpret_cast<uintptr_t>(code + compiler.entry(i)));
      }
      return instructions;
    } catch (const Xbyak::Error& error) {
      if (static_cast<int>(error) != Xbyak::ERR_CODE_IS_TOO_BIG || bytes > (size_t{64} << 20)) return 0;
    }
  }
}

}  // namespace rigel::vgpu::exec::native
