#include "plugins/vgpu/exec/opencl_bench/gpu.hpp"

#include <cstring>

namespace rigel::vgpu::bench {
namespace {

constexpr size_t kKernargBytes = 512;

}  // namespace

using compare::check;

Gpu::Gpu(const std::string& folder) {
  if (!machine_.gpu) fail("no GPU agent; run with vgpu-run --gpu gfx900");
  const std::string path = folder + "/kernels_" + target() + ".co";
  const std::vector<char> code = compare::read_file(path);
  if (code.empty()) fail(path + ": no kernels for this GPU");
  executable_ = machine_.load(code);
  queue_ = machine_.create_queue(1024);
  check(hsa_signal_create(0, 0, nullptr, &done_), "hsa_signal_create");
  kernarg_ = static_cast<std::byte*>(machine_.allocate(machine_.kernarg_pool, kKernargBytes));
}

Gpu::~Gpu() {
  destroy_images();
  if (sampler_.handle != 0) hsa_ext_sampler_destroy(machine_.agent, sampler_);
  hsa_queue_destroy(queue_);
  hsa_signal_destroy(done_);
  hsa_executable_destroy(executable_);
}

void* Gpu::allocate(size_t bytes) {
  void* const memory = machine_.allocate(machine_.host_pool, bytes);
  std::memset(memory, 0, bytes);
  return memory;
}

uint64_t Gpu::create_image(const Picture& picture) {
  hsa_ext_image_descriptor_t descriptor{};
  descriptor.geometry = HSA_EXT_IMAGE_GEOMETRY_2D;
  descriptor.width = picture.width;
  descriptor.height = picture.height;
  descriptor.format = {HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA};
  hsa_ext_image_data_info_t info{};
  check(hsa_ext_image_data_get_info(machine_.agent, &descriptor, HSA_ACCESS_PERMISSION_RW, &info),
        "hsa_ext_image_data_get_info");
  Image image;
  image.memory = machine_.allocate(machine_.device_pool, info.size);  // aligned to pages
  check(hsa_ext_image_create(machine_.agent, &descriptor, image.memory, HSA_ACCESS_PERMISSION_RW,
                             &image.handle),
        "hsa_ext_image_create");
  const hsa_ext_image_region_t all{{0, 0, 0}, {picture.width, picture.height, 1}};
  check(hsa_ext_image_import(machine_.agent, picture.pixels.memory, 0, 0, image.handle, &all),
        "hsa_ext_image_import");
  images_.push_back(image);
  return image.handle.handle;
}

uint64_t Gpu::linear_sampler() {
  if (sampler_.handle == 0) {
    const hsa_ext_sampler_descriptor_t descriptor{HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED,
                                                  HSA_EXT_SAMPLER_FILTER_MODE_LINEAR,
                                                  HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE};
    check(hsa_ext_sampler_create(machine_.agent, &descriptor, &sampler_), "hsa_ext_sampler_create");
  }
  return sampler_.handle;
}

void Gpu::destroy_images() {
  for (const Image& image : images_) {
    hsa_ext_image_destroy(machine_.agent, image.handle);
    hsa_amd_memory_pool_free(image.memory);
  }
  images_.clear();
}

void Gpu::prepare(const Case& work) {
  destroy_images();
  const hsa_executable_symbol_t symbol = machine_.find(executable_, (work.name + ".kd").c_str());
  packet_ = compare::dispatch_packet(0, done_);
  packet_.setup = 3 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  for (int i = 0; i < 3; ++i) {
    (&packet_.workgroup_size_x)[i] = static_cast<uint16_t>(work.group[i]);
    (&packet_.grid_size_x)[i] = static_cast<uint32_t>(work.grid[i]);
  }
  const auto get = [&](hsa_executable_symbol_info_t attribute, void* value) {
    check(hsa_executable_symbol_get_info(symbol, attribute, value), "hsa_executable_symbol_get_info");
  };
  uint32_t kernarg_bytes = 0;
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &packet_.kernel_object);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &packet_.private_segment_size);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &packet_.group_segment_size);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernarg_bytes);
  if (kernarg_bytes > kKernargBytes) fail("kernel: too many arguments");

  // Explicit arguments are at their natural alignment. The hidden arguments after them are offsets, all
  // zero.
  std::memset(kernarg_, 0, kKernargBytes);
  size_t offset = 0;
  const auto put = [&](const void* value, size_t bytes) {
    offset = (offset + bytes - 1) / bytes * bytes;
    std::memcpy(kernarg_ + offset, value, bytes);
    offset += bytes;
  };
  for (const Argument& argument : work.arguments) {
    if (const auto* buffer = std::get_if<Buffer>(&argument)) {
      put(&buffer->memory, sizeof buffer->memory);
    } else if (const auto* picture = std::get_if<Picture>(&argument)) {
      const uint64_t image = create_image(*picture);
      put(&image, sizeof image);
    } else if (std::holds_alternative<LinearSampler>(argument)) {
      const uint64_t sampler = linear_sampler();
      put(&sampler, sizeof sampler);
    } else {
      std::visit([&](const auto& value) { put(&value, 4); }, argument);
    }
  }
  packet_.kernarg_address = kernarg_;
}

void Gpu::run() {
  hsa_signal_store_relaxed(done_, 1);
  compare::submit(queue_, &packet_);
  if (hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) < 0) {
    fail("kernel: failed");
  }
}

}  // namespace rigel::vgpu::bench
