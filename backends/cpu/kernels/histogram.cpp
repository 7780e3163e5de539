// Counts in group memory, then adds to the bins of all work-groups.
#include <hsa_cpu/kernel.hpp>

#include "backends/cpu/kernels/args.hpp"

namespace {

struct Counts {
  uint32_t bins[samples::kBins];
};

}  // namespace

HSA_CPU_KERNEL(histogram, samples::HistogramArgs, hsa_cpu::Shared<Counts>) {
  Counts& counts = group.shared();
  for (uint32_t& bin : counts.bins) bin = 0;
  group.for_each_below(args.count, [&](auto item) {
    hsa_cpu::group_atomic_add(counts.bins[args.values[item.global_id(0)]], 1);
  });
  for (uint32_t bin = 0; bin < samples::kBins; ++bin) {
    if (counts.bins[bin] != 0) hsa_cpu::atomic_add(args.bins[bin], counts.bins[bin]);
  }
}
