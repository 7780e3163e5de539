#include "core/runtime/sampling_driver.hpp"

namespace rigel {
namespace {

class TransportSampling final : public SamplingDriver {
 public:
  explicit TransportSampling(Gpus* gpus) : gpus_(gpus) {}

  std::optional<uint32_t> find_gpu(const Agent& agent) const override {
    if (gpus_ == nullptr || agent.node().bus != HSABE_BUS_KFD) return std::nullopt;
    if (!gpus_->kfd().transport().has_sampling()) return std::nullopt;
    const KfdNode* const node = gpus_->find_node(agent.node().node_id);
    return gpus_->kfd().gpu_of_node(node->number)->gpu_id;
  }
  int start(uint32_t gpu_id, const hsadrv_sampler_t& sampler) override {
    return gpus_->kfd().transport().start_sampling(gpu_id, sampler);
  }
  int stop(uint32_t gpu_id) override { return gpus_->kfd().transport().stop_sampling(gpu_id); }

 private:
  Gpus* const gpus_;
};

}  // namespace

std::unique_ptr<SamplingDriver> make_sampling_driver(Gpus* gpus) {
  return std::make_unique<TransportSampling>(gpus);
}

}  // namespace rigel
