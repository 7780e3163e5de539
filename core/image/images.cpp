#include "core/image/images.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "api/support/backend_report.hpp"
#include "api/support/mutex.hpp"
#include "core/image/texel.hpp"

namespace rigel {
namespace {

// Maximum size of the pattern of a cleared block before it is copied.
constexpr size_t kClearBytes = 1 << 20;

constexpr hsa_dim3_t kOrigin{0, 0, 0};

bool is_geometry(hsa_ext_image_geometry_t geometry) {
  return static_cast<uint32_t>(geometry) < HSABE_IMAGE_GEOMETRIES;
}

bool is_permission(hsa_access_permission_t permission) {
  return permission == HSA_ACCESS_PERMISSION_RO || permission == HSA_ACCESS_PERMISSION_WO ||
         permission == HSA_ACCESS_PERMISSION_RW;
}

Status no_images(Status status) {
  return fail(status, "agent: does not support images");
}

// Returns the layout of an image whose descriptor has not been checked. Accepts a permission that the format
// does not have, as ROCr does: HIP creates read-only sRGB views with the permission of their array.
Status lay_out(const Agent& agent, const hsa_ext_image_descriptor_t& image,
               const std::optional<ExplicitLayout>& wanted, hsabe_image_layout_t& layout) {
  if (!agent.backend().has_image()) return no_images(Status(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED));
  if (!is_geometry(image.geometry))
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "invalid image geometry {}",
                static_cast<uint32_t>(image.geometry));
  layout = {};
  layout.struct_size = sizeof layout;
  const auto [kind, row_pitch, slice_pitch] =
      wanted.value_or(ExplicitLayout{HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE});
  const auto status = static_cast<Status>(
      agent.backend().image.lay_out(agent.device(), &image, kind, row_pitch, slice_pitch, &layout));
  if (status == HSA_STATUS_SUCCESS) return status;
  return fail(status,
              "image of geometry {}, {} x {} x {} elements, {} layers, order {}, type {}, pitches {} and {}: "
              "not supported: {}",
              static_cast<uint32_t>(image.geometry), image.width, image.height, image.depth, image.array_size,
              image.format.channel_order, image.format.channel_type, row_pitch, slice_pitch,
              backend_report::take());
}

// Whether formats are the same except for linear or sRGB order.
bool same_but_for_standard(const hsa_ext_image_format_t& a, const hsa_ext_image_format_t& b) {
  const auto linear = [](uint32_t order) -> uint32_t {
    switch (order) {
      case HSA_EXT_IMAGE_CHANNEL_ORDER_SRGB:
        return HSA_EXT_IMAGE_CHANNEL_ORDER_RGB;
      case HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBX:
        return HSA_EXT_IMAGE_CHANNEL_ORDER_RGBX;
      case HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA:
        return HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA;
      case HSA_EXT_IMAGE_CHANNEL_ORDER_SBGRA:
        return HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA;
      default:
        return order;
    }
  };
  return a.channel_type == b.channel_type && linear(a.channel_order) == linear(b.channel_order);
}

Status check_layout(const std::optional<ExplicitLayout>& layout) {
  if (!layout || layout->kind == HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR) return HSA_STATUS_SUCCESS;
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "invalid explicit image layout {}",
              static_cast<uint32_t>(layout->kind));
}

// Returns the descriptor of an image with one level. Agents do not support more.
Result<hsa_ext_image_descriptor_t> one_level(const hsa_ext_image_descriptor_v2_t* image) {
  if (image == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "image descriptor: is NULL");
  if (image->mipmap_levels > 1) {
    const size_t largest = std::max({image->width, image->height, image->depth});
    if (image->mipmap_levels > static_cast<size_t>(std::bit_width(largest))) {
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                  "image: at most {} elements along an axis do not allow {} mipmap levels", largest,
                  image->mipmap_levels);
    }
    return fail(static_cast<Status>(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED),
                "image: mipmaps are not supported");
  }
  return hsa_ext_image_descriptor_t{image->geometry, image->width,      image->height,
                                    image->depth,    image->array_size, image->format};
}

}  // namespace

Images::Images(const Machine& machine, CopyEngine& copies, HandleMemory::Source memory)
    : machine_(machine), copies_(copies), source_(memory), memory_(std::move(memory)) {}

Status Images::get_capability(hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
                              const hsa_ext_image_format_t* format, uint32_t* mask,
                              std::optional<ExplicitLayout> layout) const {
  const Agent* const of = machine_.find_agent(agent);
  if (of == nullptr) return no_such_agent(agent);
  if (const Status status = check_layout(layout); status != HSA_STATUS_SUCCESS) return status;
  if (format == nullptr || mask == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *mask = HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED;
  if (!is_geometry(geometry))
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "invalid image geometry {}",
                static_cast<uint32_t>(geometry));
  if (!of->backend().has_image()) return HSA_STATUS_SUCCESS;
  hsabe_image_format_t found{};
  found.struct_size = sizeof found;
  of->backend().image.format(of->device(), geometry, format, &found);
  *mask = found.capability;
  return HSA_STATUS_SUCCESS;
}

Status Images::data_get_info(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image,
                             hsa_access_permission_t permission, hsa_ext_image_data_info_t* info,
                             std::optional<ExplicitLayout> wanted) const {
  const Agent* const of = machine_.find_agent(agent);
  if (of == nullptr) return no_such_agent(agent);
  if (const Status status = check_layout(wanted); status != HSA_STATUS_SUCCESS) return status;
  if (image == nullptr || info == nullptr || !is_permission(permission))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  hsabe_image_layout_t layout;
  const Status status = lay_out(*of, *image, wanted, layout);
  if (status == HSA_STATUS_SUCCESS) *info = {layout.size, layout.alignment};
  return status;
}

Status Images::create(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image, const void* data,
                      hsa_access_permission_t permission, hsa_ext_image_t* handle,
                      std::optional<ExplicitLayout> wanted) {
  const Agent* const of = machine_.find_agent(agent);
  if (of == nullptr) return no_such_agent(agent);
  if (const Status unknown = check_layout(wanted); unknown != HSA_STATUS_SUCCESS) return unknown;
  if (image == nullptr || data == nullptr || handle == nullptr || !is_permission(permission))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  Image made;
  const Status status = lay_out(*of, *image, wanted, made.layout);
  if (status != HSA_STATUS_SUCCESS) return status;
  const auto address = reinterpret_cast<uint64_t>(data);
  if (address % made.layout.alignment != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "image data {}: not aligned to {} bytes", data,
                made.layout.alignment);
  }
  made.descriptor = *image;
  made.data = const_cast<void*>(data);
  uint32_t words[HSABE_IMAGE_WORDS] = {};
  const hsabe_status_t described =
      of->backend().image.describe(of->device(), image, &made.layout, address, words);
  if (described != HSA_STATUS_SUCCESS) return backend_report::refused("image", described);
  return publish(made, words, handle);
}

Status Images::create_foreign(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image,
                              const hsa_amd_image_descriptor_t* layout, const void* data,
                              hsa_access_permission_t permission, hsa_ext_image_t* handle) {
  const Agent* const of = machine_.find_agent(agent);
  if (of == nullptr) return no_such_agent(agent);
  if (image == nullptr || layout == nullptr || data == nullptr || handle == nullptr ||
      !is_permission(permission) || !is_geometry(image->geometry)) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  if (!of->backend().has_image() || of->backend().image.describe_foreign == nullptr)
    return no_images(HSA_STATUS_ERROR_INVALID_AGENT);
  Image made;
  made.descriptor = *image;
  made.layout.struct_size = sizeof made.layout;
  made.data = const_cast<void*>(data);
  uint32_t words[HSABE_IMAGE_WORDS] = {};
  const auto address = reinterpret_cast<uint64_t>(data);
  const auto status = static_cast<Status>(
      of->backend().image.describe_foreign(of->device(), image, layout, address, &made.layout, words));
  if (status != HSA_STATUS_SUCCESS)
    return fail(status, "image layout: version {} for device {:#x} is rejected: {}", layout->version,
                layout->deviceID, backend_report::take());
  if (address % made.layout.alignment != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return publish(made, words, handle);
}

Status Images::data_get_info_v2(hsa_agent_t agent, const hsa_ext_image_descriptor_v2_t* image,
                                hsa_access_permission_t permission, hsa_ext_image_data_info_t* info) const {
  const auto plain = one_level(image);
  return plain ? data_get_info(agent, &*plain, permission, info) : plain.error();
}

Status Images::create_v2(hsa_agent_t agent, const hsa_ext_image_descriptor_v2_t* image, const void* data,
                         hsa_access_permission_t permission, hsa_ext_image_t* handle) {
  const auto plain = one_level(image);
  return plain ? create(agent, &*plain, data, permission, handle) : plain.error();
}

Status Images::create_foreign_v2(hsa_agent_t agent, const hsa_ext_image_descriptor_v2_t* image,
                                 const hsa_amd_image_descriptor_t* layout, const void* data,
                                 hsa_access_permission_t permission, hsa_ext_image_t* handle) {
  const auto plain = one_level(image);
  return plain ? create_foreign(agent, &*plain, layout, data, permission, handle) : plain.error();
}

Status Images::publish(const Image& image, const uint32_t* words, hsa_ext_image_t* handle) {
  auto slot = take(words, HSABE_IMAGE_WORDS);
  if (!slot) return slot.error();
  const MutexLock lock(mutex_);
  images_.emplace(reinterpret_cast<uint64_t>(slot->get()), image);
  handle->handle = reinterpret_cast<uint64_t>(slot->release());
  return HSA_STATUS_SUCCESS;
}

Result<Images::Slot> Images::take(const uint32_t* words, size_t count) {
  static_assert(HSABE_IMAGE_WORDS <= HandleMemory::kMaxWords &&
                HSABE_SAMPLER_WORDS <= HandleMemory::kMaxWords);
  const auto slot = memory_.take();
  if (!slot) return error(slot.error());
  std::copy_n(words, count, *slot);
  return Slot(*slot, GiveBack{memory_});
}

Result<Images::Image> Images::find(hsa_ext_image_t handle) const {
  const MutexLock lock(mutex_);
  const auto found = images_.find(handle.handle);
  if (found == images_.end())
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "image {:#x}: invalid handle", handle.handle);
  if (found->second.layout.linear == 0)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "image {:#x}: has no linear layout, so the host cannot access it", handle.handle);
  return found->second;
}

Status Images::destroy(hsa_agent_t agent, hsa_ext_image_t handle) {
  if (machine_.find_agent(agent) == nullptr) return no_such_agent(agent);
  const MutexLock lock(mutex_);
  if (images_.erase(handle.handle) == 0)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "image {:#x}: invalid handle", handle.handle);
  memory_.give(reinterpret_cast<uint32_t*>(handle.handle));
  return HSA_STATUS_SUCCESS;
}

Box Images::box_between(const ImageSteps& destination, void* destination_data,
                        const hsa_dim3_t& destination_offset, const ImageSteps& source, void* source_data,
                        const hsa_dim3_t& source_offset, const hsa_dim3_t& range) {
  return {image_side(destination, destination_data, destination_offset, range),
          image_side(source, source_data, source_offset, range), range.x * source.element, range.y, range.z};
}

Status Images::import(hsa_agent_t agent, const void* memory, size_t row_pitch, size_t slice_pitch,
                      hsa_ext_image_t handle, const hsa_ext_image_region_t* region) {
  if (machine_.find_agent(agent) == nullptr) return no_such_agent(agent);
  if (memory == nullptr || region == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto image = find(handle);
  if (!image) return image.error();
  const ImageSteps to = image_steps(image->descriptor, image->layout);
  const auto range = check_region(to, region->offset, region->range);
  if (!range) return range.error();
  const auto from = memory_steps(image->descriptor, to.element, *range, row_pitch, slice_pitch);
  if (!from) return from.error();
  return copies_.memory_copy_box(
      box_between(to, image->data, region->offset, *from, const_cast<void*>(memory), kOrigin, *range));
}

Status Images::export_to(hsa_agent_t agent, hsa_ext_image_t handle, void* memory, size_t row_pitch,
                         size_t slice_pitch, const hsa_ext_image_region_t* region) {
  if (machine_.find_agent(agent) == nullptr) return no_such_agent(agent);
  if (memory == nullptr || region == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto image = find(handle);
  if (!image) return image.error();
  const ImageSteps from = image_steps(image->descriptor, image->layout);
  const auto range = check_region(from, region->offset, region->range);
  if (!range) return range.error();
  const auto to = memory_steps(image->descriptor, from.element, *range, row_pitch, slice_pitch);
  if (!to) return to.error();
  return copies_.memory_copy_box(
      box_between(*to, memory, kOrigin, from, image->data, region->offset, *range));
}

Status Images::copy(hsa_agent_t agent, hsa_ext_image_t source, const hsa_dim3_t* source_offset,
                    hsa_ext_image_t destination, const hsa_dim3_t* destination_offset,
                    const hsa_dim3_t* range) {
  if (machine_.find_agent(agent) == nullptr) return no_such_agent(agent);
  if (source_offset == nullptr || destination_offset == nullptr || range == nullptr)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto from = find(source);
  if (!from) return from.error();
  const auto to = find(destination);
  if (!to) return to.error();
  if (!same_but_for_standard(from->descriptor.format, to->descriptor.format))
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "images: the formats differ");
  const ImageSteps from_steps = image_steps(from->descriptor, from->layout);
  const ImageSteps to_steps = image_steps(to->descriptor, to->layout);
  const auto from_range = check_region(from_steps, *source_offset, *range);
  if (!from_range) return from_range.error();
  const auto to_range = check_region(to_steps, *destination_offset, *from_range);
  if (!to_range) return to_range.error();
  // A range of 0 in dimensions that the destination does not have was changed to 1.
  const auto both = check_region(from_steps, *source_offset, *to_range);
  if (!both) return both.error();
  return copies_.memory_copy_box(
      box_between(to_steps, to->data, *destination_offset, from_steps, from->data, *source_offset, *both));
}

Status Images::clear(hsa_agent_t agent, hsa_ext_image_t handle, const void* value,
                     const hsa_ext_image_region_t* region) {
  if (machine_.find_agent(agent) == nullptr) return no_such_agent(agent);
  if (value == nullptr || region == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto image = find(handle);
  if (!image) return image.error();
  const ImageSteps to = image_steps(image->descriptor, image->layout);
  const auto range = check_region(to, region->offset, region->range);
  if (!range) return range.error();
  if (range->x == 0 || range->y == 0 || range->z == 0) return HSA_STATUS_SUCCESS;
  const auto texel = encode_texel(image->descriptor.format, value);
  if (!texel || texel->size != to.element)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "image: the host cannot encode elements of this format");

  // Fills a band of rows once and copies it repeatedly. All agents can access it. Longer rows are copied in
  // parts.
  hsa_dim3_t band = *range;
  band.x = std::min<uint32_t>(range->x, static_cast<uint32_t>(kClearBytes / to.element));
  band.y = std::min<uint32_t>(
      range->y, std::max<uint32_t>(1, static_cast<uint32_t>(kClearBytes / (band.x * to.element))));
  band.z = 1;
  const size_t elements = size_t{band.x} * band.y;
  const auto block = source_.allocate(elements * to.element);
  if (!block) return block.error();
  const std::unique_ptr<void, const std::function<void(void*)>&> stage(*block, source_.release);
  for (size_t i = 0; i < elements; ++i)
    std::memcpy(static_cast<std::byte*>(stage.get()) + i * to.element, texel->bytes.data(), to.element);
  Status status = HSA_STATUS_SUCCESS;
  for (uint32_t z = 0; z < range->z; ++z) {
    for (uint32_t y = 0; y < range->y; y += band.y) {
      for (uint64_t x = 0; x < range->x; x += band.x) {
        const hsa_dim3_t part{std::min(band.x, range->x - static_cast<uint32_t>(x)),
                              std::min(band.y, range->y - y), 1};
        const hsa_dim3_t at{region->offset.x + static_cast<uint32_t>(x), region->offset.y + y,
                            region->offset.z + z};
        const auto from = memory_steps(image->descriptor, to.element, part, 0, 0);
        if (!from) status = from.error();
        if (status == HSA_STATUS_SUCCESS)
          status =
              copies_.memory_copy_box(box_between(to, image->data, at, *from, stage.get(), kOrigin, part));
      }
    }
  }
  return status;
}

Status Images::sampler_create(hsa_agent_t agent, const hsa_ext_sampler_descriptor_t* sampler,
                              hsa_ext_sampler_t* handle) {
  const Agent* const of = machine_.find_agent(agent);
  if (of == nullptr) return no_such_agent(agent);
  if (sampler == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return make_sampler(*of,
                      {sampler->coordinate_mode,
                       sampler->filter_mode,
                       HSA_EXT_SAMPLER_FILTER_MODE_NONE,
                       {sampler->address_mode, sampler->address_mode, sampler->address_mode}},
                      handle);
}

Status Images::sampler_create_v2(hsa_agent_t agent, const hsa_ext_sampler_descriptor_v2_t* sampler,
                                 hsa_ext_sampler_t* handle) {
  if (sampler == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Agent* const of = machine_.find_agent(agent);
  if (of == nullptr) return no_such_agent(agent);
  // Until 2025 there was no third word, and the address modes started there. Modes that are not filters
  // identify the old layout.
  const uint32_t third = sampler->mipmap_filter_mode;
  if (third <= HSA_EXT_SAMPLER_FILTER_MODE_NONE) return make_sampler(*of, *sampler, handle);
  return make_sampler(*of,
                      {sampler->coordinate_mode,
                       sampler->filter_mode,
                       HSA_EXT_SAMPLER_FILTER_MODE_NONE,
                       {third, sampler->address_modes[0], sampler->address_modes[1]}},
                      handle);
}

Status Images::make_sampler(const Agent& agent, const hsa_ext_sampler_descriptor_v2_t& sampler,
                            hsa_ext_sampler_t* handle) {
  if (handle == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (!agent.backend().has_image())
    return no_images(Status(HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED));
  uint32_t words[HSABE_SAMPLER_WORDS] = {};
  const hsabe_status_t status = agent.backend().image.describe_sampler(agent.device(), &sampler, words);
  if (status != HSA_STATUS_SUCCESS) return backend_report::refused("sampler", status);
  auto slot = take(words, HSABE_SAMPLER_WORDS);
  if (!slot) return slot.error();
  const MutexLock lock(mutex_);
  samplers_.insert(reinterpret_cast<uint64_t>(slot->get()));
  handle->handle = reinterpret_cast<uint64_t>(slot->release());
  return HSA_STATUS_SUCCESS;
}

Status Images::sampler_destroy(hsa_agent_t agent, hsa_ext_sampler_t handle) {
  if (machine_.find_agent(agent) == nullptr) return no_such_agent(agent);
  const MutexLock lock(mutex_);
  if (samplers_.erase(handle.handle) == 0)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "sampler {:#x}: invalid handle", handle.handle);
  memory_.give(reinterpret_cast<uint32_t*>(handle.handle));
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
