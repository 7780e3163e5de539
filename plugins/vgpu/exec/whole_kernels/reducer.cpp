#include "plugins/vgpu/exec/whole_kernels/reducer.hpp"

#include <algorithm>
#include <bitset>
#include <utility>

#include "plugins/vgpu/isa/decoder.hpp"

namespace rigel::vgpu::exec::whole {
namespace {

// Checks in program order, which is execution order except for loops and functions.
bool reads_unwritten_scalars(const Kernel& kernel) {
  std::bitset<128> written;
  for (uint32_t i = 0; i < 12; ++i) written.set(i);
  for (uint32_t i = isa::code::kVccLo; i < 128; ++i) written.set(i);
  for (const Item& item : kernel.items) {
    if (item.is_label()) continue;
    isa::Instruction in;
    if (isa::decode(kernel.target, item.words.data(), item.words.size(), in) != isa::DecodeStatus::kOk)
      continue;
    for (const isa::Operand* operand : {&in.src[0], &in.src[1], &in.src[2], &in.saddr, &in.soffset}) {
      if (!operand->is_scalar_register()) continue;
      const uint32_t dwords = operand->type == isa::Type::kMask ? kernel.wave_size() / 32 : operand->dwords;
      for (uint32_t i = operand->code; i < operand->code + dwords && i < 128; ++i) {
        if (!written[i]) return true;
      }
    }
    for (const isa::Operand* operand : {&in.dst[0], &in.dst[1], &in.vdst}) {
      if (!operand->is_scalar_register()) continue;
      const uint32_t dwords = operand->type == isa::Type::kMask ? kernel.wave_size() / 32 : operand->dwords;
      for (uint32_t i = operand->code; i < operand->code + dwords && i < 128; ++i) written.set(i);
    }
  }
  return false;
}

class Reducer {
 public:
  Reducer(Kernel kernel, const std::function<bool(const Kernel&)>& differs)
      : kernel_(std::move(kernel)), differs_(differs) {}

  Kernel run() {
    for (bool smaller = true; smaller;) {
      smaller = remove_items();
      smaller |= simplify_shape();
    }
    remove_unused_labels();
    return kernel_;
  }

 private:
  bool attempt(Kernel candidate) {
    if (reads_unwritten_scalars(candidate) || !differs_(candidate)) return false;
    kernel_ = std::move(candidate);
    return true;
  }

  bool remove_items() {
    bool changed = false;
    for (size_t length = std::max<size_t>(kernel_.items.size() / 2, 1); length > 0; length /= 2) {
      for (size_t start = kernel_.prefix_items; start + kernel_.suffix_items < kernel_.items.size();) {
        Kernel candidate = kernel_;
        auto& items = candidate.items;
        const size_t end = std::min(start + length, items.size() - kernel_.suffix_items);
        const auto new_end = std::remove_if(items.begin() + static_cast<ptrdiff_t>(start),
                                            items.begin() + static_cast<ptrdiff_t>(end),
                                            [](const Item& item) { return !item.is_label(); });
        const bool is_unchanged = new_end == items.begin() + static_cast<ptrdiff_t>(end);
        items.erase(new_end, items.begin() + static_cast<ptrdiff_t>(end));
        if (!is_unchanged && attempt(std::move(candidate))) {
          changed = true;
        } else {
          start += length;
        }
      }
    }
    return changed;
  }

  bool simplify_shape() {
    bool changed = false;
    const auto attempt_with = [&](auto change) {
      for (bool repeat = true; repeat;) {
        Kernel candidate = kernel_;
        repeat = change(candidate) && attempt(std::move(candidate));
        changed |= repeat;
      }
    };
    for (int i = 2; i >= 0; --i) {
      attempt_with([i](Kernel& k) {
        if (k.grid[i] <= k.group[i]) return false;
        k.grid[i] = std::max(k.grid[i] / 2 / k.group[i] * k.group[i], k.group[i]);
        return true;
      });
      attempt_with([i](Kernel& k) {
        if (k.grid[i] <= k.group[i]) return false;
        k.grid[i] -= k.group[i];
        return k.grid[i] != 0;
      });
      attempt_with([i](Kernel& k) {
        if (k.grid[i] % k.group[i] == 0) return false;
        k.grid[i] = (k.grid[i] + k.group[i] - 1) / k.group[i] * k.group[i];
        return true;
      });
    }
    attempt_with([](Kernel& k) {
      if (k.mode == 0x3f0) return false;
      k.mode = 0x3f0;
      return true;
    });
    attempt_with([](Kernel& k) {
      const auto items = static_cast<uint32_t>(k.work_items());
      if (k.limit == items) return false;
      k.limit = items;
      return true;
    });
    attempt_with([](Kernel& k) { return std::exchange(k.private_bytes, 0) != 0; });
    attempt_with([](Kernel& k) { return std::exchange(k.lds_bytes, 0) != 0; });
    return changed;
  }

  void remove_unused_labels() {
    std::erase_if(kernel_.items, [&](const Item& label) {
      return label.is_label() &&
             std::none_of(kernel_.items.begin(), kernel_.items.end(),
                          [&](const Item& item) { return !item.is_label() && item.label == label.label; });
    });
  }

  Kernel kernel_;
  const std::function<bool(const Kernel&)>& differs_;
};

}  // namespace

Kernel reduce(Kernel kernel, const std::function<bool(const Kernel&)>& differs) {
  return Reducer(std::move(kernel), differs).run();
}

}  // namespace rigel::vgpu::exec::whole
