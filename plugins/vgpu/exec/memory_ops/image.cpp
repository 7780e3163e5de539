// MIMG: image loads, stores, atomics, samples, gathers and queries.
//
// An access decodes its resource and sampler once per wave. Each lane's coordinates are then converted to
// texel addresses. Texels are loaded and stored in their memory format, through temporary rows, and
// converted per lane. A sample loads each texel of its filter for all lanes and adds them in double
// precision. An anisotropic sample is the mean of several such samples.
#include <algorithm>
#include <bit>

#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/memory_ops/atomics.hpp"
#include "plugins/vgpu/exec/memory_ops/formats.hpp"
#include "plugins/vgpu/exec/memory_ops/image_plane.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"
#include "plugins/vgpu/images/halves.hpp"
#include "plugins/vgpu/images/sampling.hpp"
#include "plugins/vgpu/isa/image_shape.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using images::Lookup;
using images::Resource;
using images::Sampler;
using isa::ImageVerb;
using isa::LodSource;

constexpr unsigned kMaxAddresses = 16;

/// Coordinates of an instruction: `space` spatial ones and an optional layer or face.
struct Dimension {
  uint8_t space = 2;
  bool layer = false;

  constexpr unsigned count() const { return space + (layer ? 1u : 0u); }
};

// DIM of gfx10, without the multisampled dimensions.
constexpr Dimension kDimensions[] = {{1, false}, {2, false}, {3, false}, {2, true}, {1, true}, {2, true}};
constexpr uint8_t kFirstMultisampled = 6;

struct ImageAccess {
  isa::ImageShape shape;
  images::Generation generation{};
  FormatAccess registers;  // the format is the resource's
  Shape atomic;
  DataRows rows;
  uint32_t resource = 0, sampler = 0;
  uint32_t addresses[kMaxAddresses] = {};  // rows
  uint8_t dmask = 1;
  Dimension dimension;
  bool has_dimension = false;  // false: the dimension is the resource's, with a layer if `array`
  bool array = false;          // DA
  bool unnormalized = false, half_addresses = false, half_gradients = false;
  bool status = false;  // TFE, LWE: one more register, which becomes 0: everything is resident
};

// Address operands of a wave's lanes: the position of each part.
class Addresses {
 public:
  Addresses(const ImageAccess& access, const Wave& wave, Dimension dimension)
      : access_(access), registers_(wave.registers), dimension_(dimension) {
    unsigned next = 0;
    if (access.shape.offset) offset_ = next++;
    if (access.shape.bias) bias_ = next++;
    if (access.shape.compare) compare_ = next++;
    gradients_ = next;
    if (access.shape.lod == LodSource::kGradients) next += 2 * gradient_words();
    body_ = next;
  }

  const Dimension& dimension() const { return dimension_; }

  /// Returns the row of coordinate i, if each coordinate has a register.
  const uint32_t* coordinate(unsigned i) const { return row(registers_, access_.addresses[body_ + i]); }
  /// Returns coordinate i, or the operand after the last coordinate.
  float number(unsigned i, unsigned lane) const {
    return read_number(body_, i, lane, access_.half_addresses);
  }
  uint32_t integer(unsigned i, unsigned lane) const {
    return access_.half_addresses ? half(body_, i, lane) : word(body_ + i, lane);
  }
  float last_number(unsigned lane) const { return number(dimension_.count(), lane); }
  uint32_t last_integer(unsigned lane) const {
    return integer(access_.shape.verb == ImageVerb::kSizes ? 0 : dimension_.count(), lane);
  }

  void offsets(unsigned lane, int32_t (&texels)[3]) const {
    const uint32_t packed = word(offset_, lane);
    for (unsigned i = 0; i < 3; ++i) texels[i] = static_cast<int32_t>(packed << (26 - 8 * i)) >> 26;
  }
  float bias(unsigned lane) const { return read_number(bias_, 0, lane, access_.half_addresses); }
  float reference(unsigned lane) const { return std::bit_cast<float>(word(compare_, lane)); }
  float gradient(unsigned direction, unsigned i, unsigned lane) const {
    return read_number(gradients_ + direction * gradient_words(), i, lane, access_.half_gradients);
  }

 private:
  unsigned gradient_words() const {
    return access_.half_gradients ? (dimension_.space + 1u) / 2 : dimension_.space;
  }
  uint32_t word(unsigned i, unsigned lane) const { return row(registers_, access_.addresses[i])[lane]; }
  uint32_t half(unsigned first, unsigned i, unsigned lane) const {
    return word(first + i / 2, lane) >> (i % 2 * 16) & 0xffff;
  }
  float read_number(unsigned first, unsigned i, unsigned lane, bool halves) const {
    return halves ? images::float_from_half(half(first, i, lane))
                  : std::bit_cast<float>(word(first + i, lane));
  }

  const ImageAccess& access_;
  std::byte* const registers_;
  const Dimension dimension_;
  unsigned offset_ = 0, bias_ = 0, compare_ = 0, gradients_ = 0, body_ = 0;
};

bool stop_at_illegal(Wave* wave, std::string_view reason) {
  wave->stop = Stop::kIllegal;
  wave->illegal_reason = reason.data();  // a string literal
  return false;
}

Dimension dimension_of(const ImageAccess& access, const Resource& resource) {
  if (access.has_dimension) return access.dimension;
  if (resource.is_volume()) return {3, false};
  if (resource.is_cube()) return {2, true};
  return {static_cast<uint8_t>(resource.has_height() ? 2 : 1), access.array};
}

// Writes results: the components that DMASK selects, converted from the resource's format.
class Results {
 public:
  Results(const ImageAccess& access, const Wave& wave, images::TexelFormat format)
      : access_(access),
        format_(access.registers),
        width_(wave.layout.wave_size),
        rows_(row(wave.registers, access.rows.result)) {
    format_.format = format;
  }

  void put(unsigned lane, const uint32_t (&components)[4]) const {
    uint32_t selected[4] = {};
    unsigned count = 0;
    for (unsigned i = 0; i < 4; ++i) {
      if ((access_.dmask >> i & 1) != 0) selected[count++] = components[i];
    }
    put_all(lane, selected);
  }
  void put_all(unsigned lane, const uint32_t (&components)[4]) const {
    uint32_t values[4] = {};
    const unsigned registers = registers_of(format_);
    for (unsigned i = 0; i < registers; ++i) values[i] = rows_[i * width_ + lane];
    to_registers(format_, components, values);
    for (unsigned i = 0; i < registers; ++i) rows_[i * width_ + lane] = values[i];
    if (access_.status) rows_[registers * width_ + lane] = 0;
  }

 private:
  const ImageAccess& access_;
  FormatAccess format_;
  const unsigned width_;
  uint32_t* const rows_;
};

struct Sums {
  unsigned count[64] = {};  // texels added
  double value[64][4];
  uint32_t single[64][4];  // a single texel, which is copied exactly
};

void add(images::Reduction reduction, bool is_first, double weight, const uint32_t (&texel)[4],
         double (&sum)[4]) {
  for (unsigned i = 0; i < 4; ++i) {
    const auto value = static_cast<double>(std::bit_cast<float>(texel[i]));
    if (reduction == images::Reduction::kBlend) {
      sum[i] = (is_first ? 0 : sum[i]) + weight * value;
    } else if (is_first) {
      sum[i] = value;
    } else {
      sum[i] = reduction == images::Reduction::kMin ? std::min(sum[i], value) : std::max(sum[i], value);
    }
  }
}

// Texels that the filters of a wave's lanes read.
struct Filter {
  unsigned count[64] = {};
  unsigned max_count = 0;
  uint64_t va[images::kMaxTaps][64];
  uint64_t border[images::kMaxTaps] = {};  // masks of lanes
  double weight[images::kMaxTaps][64];
};

struct ImageRun {
  const MicroOp* const op;
  Wave* const wave;
  const ImageAccess& access;
  const Addresses& addresses;
  const Resource& resource;
  const Sampler& sampler;
  const uint64_t exec;

  // Access of texels in their memory format, which are in temporary rows.
  Shape raw_shape(Verb verb) const {
    Shape shape;
    shape.bytes = static_cast<uint8_t>(resource.surface.element_bytes);
    shape.verb = verb;
    return shape;
  }
  uint32_t* raw_rows() const { return row(wave->registers, wave->layout.temporary_offset(0)); }
  bool access_raw(const Shape& raw, const Span& span) const {
    const uint32_t temporary = wave->layout.temporary_offset(0);
    return access_span(op, wave, raw, span, {temporary, temporary, false});
  }
  void element_of(const Shape& raw, unsigned lane, uint32_t (&element)[4]) const {
    const uint32_t* const memory = raw_rows();
    for (unsigned d = 0; d < 4; ++d)
      element[d] = d < raw.dwords() ? memory[d * wave->layout.wave_size + lane] : 0;
  }

  void select(const uint32_t (&memory)[4], uint32_t (&result)[4]) const {
    for (unsigned i = 0; i < 4; ++i) {
      const uint8_t source = resource.select[i];
      result[i] = source >= 4 ? memory[source - 4] : source == 1 ? images::one(resource.format) : 0;
    }
  }

  // Loads, stores, atomics: texels by integer coordinates
  // -------------------------------------------------------------------------------------------------

  // Returns the addresses of lanes whose texels are in range.
  Span find_texels() const {
    Span span;
    if (resource.is_null) return span;
    const Dimension& dimension = addresses.dimension();
    uint64_t inside = 0;
    for (const unsigned lane : lanes_of(exec)) {
      uint32_t position[3] = {};
      for (unsigned i = 0; i < dimension.space; ++i) position[i] = addresses.integer(i, lane);
      if (dimension.layer) position[2] = addresses.integer(dimension.space, lane);
      const uint32_t level = access.shape.lod == LodSource::kAddress ? addresses.last_integer(lane) : 0;
      if (level >= resource.levels() || position[0] >= resource.width(level) ||
          position[1] >= resource.height(level) || position[2] >= resource.depth(level)) {
        continue;
      }
      span.va[lane] = resource.address(
          {resource.first_level + level, position[0], position[1], resource.first_layer + position[2], 0});
      inside |= uint64_t{1} << lane;
    }
    span.all_dwords(inside);
    return span;
  }

  bool load() const {
    const Span span = find_texels();
    const Shape raw = raw_shape(Verb::kLoad);
    if (!access_raw(raw, span)) return false;
    const Results results(access, *wave, resource.format);
    for (const unsigned lane : lanes_of(exec)) {
      uint32_t element[4], memory[4] = {}, result[4];
      if ((span.active[0] >> lane & 1) != 0) {
        element_of(raw, lane, element);
        images::unpack(resource.format, element, memory);
      }
      select(memory, result);
      if (resource.is_null) std::fill_n(result, 4, 0u);
      results.put(lane, result);
    }
    return true;
  }

  bool store() const {
    const Span span = find_texels();
    const Shape raw = raw_shape(Verb::kStore);
    const unsigned width = wave->layout.wave_size;
    FormatAccess format = access.registers;
    format.format = resource.format;
    const uint32_t* const data = row(wave->registers, access.rows.data);
    uint32_t* const texels = raw_rows();
    for (const unsigned lane : lanes_of(span.active[0])) {
      uint32_t values[4] = {}, stored[4] = {}, components[4] = {}, memory[4] = {}, element[4];
      for (unsigned i = 0; i < registers_of(format); ++i) values[i] = data[i * width + lane];
      from_registers(format, values, stored);
      // Components that DMASK does not select are stored as zero.
      unsigned next = 0;
      for (unsigned i = 0; i < 4; ++i) {
        if ((access.dmask >> i & 1) != 0) components[i] = stored[next++];
      }
      to_memory(resource.select, components, 4, memory);
      images::pack(resource.format, memory, element);
      for (unsigned d = 0; d < raw.dwords(); ++d) texels[d * width + lane] = element[d];
    }
    return access_raw(raw, span);
  }

  bool change() const {
    if (!resource.is_null && resource.surface.element_bytes != access.atomic.bytes) {
      return stop_at_illegal(wave, "image atomic: texel size is not supported");
    }
    const Span span = find_texels();
    if (access.rows.returns) zero_results(wave, access.atomic, access.rows.result, span.active, exec);
    return access_span(op, wave, access.atomic, span, access.rows);
  }

  // Samples and gathers
  // -------------------------------------------------------------------------------------------------

  bool gathers() const { return access.shape.verb == ImageVerb::kGather; }

  // Returns the footprint of coordinate gradients. `gradient(direction, coordinate)` returns one component.
  template <class Gradient>
  images::Footprint footprint_by(Gradient gradient) const {
    float gradients[2][3] = {};
    for (unsigned direction = 0; direction < 2; ++direction) {
      for (unsigned i = 0; i < addresses.dimension().space; ++i)
        gradients[direction][i] = gradient(direction, i);
    }
    return images::footprint_of(resource, sampler, gradients);
  }

  images::Footprint footprint_of(unsigned lane) const {
    images::Footprint footprint;
    switch (access.shape.lod) {
      case LodSource::kZero:
        return footprint;
      case LodSource::kAddress:
        footprint.lod = images::fixed_lod(static_cast<double>(addresses.last_number(lane)));
        return footprint;
      case LodSource::kGradients:
        footprint = footprint_by(
            [&](unsigned direction, unsigned i) { return addresses.gradient(direction, i, lane); });
        break;
      case LodSource::kNeighbours: {
        // Four lanes share a level: gradients are from the first to the lanes beside and below it.
        const unsigned first = lane & ~3u;
        footprint = footprint_by([&](unsigned direction, unsigned i) {
          return addresses.number(i, first + 1 + direction) - addresses.number(i, first);
        });
        break;
      }
    }
    if (access.shape.bias) footprint.lod += images::fixed_lod(static_cast<double>(addresses.bias(lane)));
    if (access.shape.clamp) {
      footprint.lod =
          std::max(footprint.lod, images::fixed_lod(static_cast<double>(addresses.last_number(lane))));
    }
    return footprint;
  }

  Lookup lookup_of(unsigned lane) const {
    Lookup lookup;
    const Dimension& dimension = addresses.dimension();
    for (unsigned i = 0; i < dimension.space; ++i)
      lookup.coordinates[i] = static_cast<double>(addresses.number(i, lane));
    if (dimension.layer) lookup.layer = addresses.number(dimension.space, lane);
    if (access.shape.offset) addresses.offsets(lane, lookup.offset);
    lookup.footprint = footprint_of(lane);
    if (gathers()) lookup.footprint.probes = 1;
    return lookup;
  }

  void find_filter(const Lookup (&lookups)[64], unsigned probe, uint64_t lanes, Filter& filter) const {
    for (const unsigned lane : lanes_of(lanes)) {
      const Lookup lookup = images::probe_of(lookups[lane], probe);
      images::Taps taps;
      gathers() ? images::find_gathered(resource, sampler, lookup, taps)
                : images::find_taps(resource, sampler, lookup, taps);
      filter.count[lane] = taps.count;
      filter.max_count = std::max(filter.max_count, taps.count);
      for (unsigned t = 0; t < taps.count; ++t) {
        const images::Tap& tap = taps.taps[t];
        filter.weight[t][lane] = tap.weight;
        if (tap.is_border) {
          filter.border[t] |= uint64_t{1} << lane;
        } else {
          filter.va[t][lane] = resource.address(tap.place);
        }
      }
    }
  }

  // Returns a texel in the order of the result. A comparison replaces the first component by 0 or 1.
  void texel_of(unsigned lane, bool is_border, const uint32_t (&element)[4], uint32_t (&result)[4]) const {
    uint32_t memory[4];
    if (is_border) {
      images::border_texel(resource, sampler.border, memory);
    } else {
      images::unpack(resource.format, element, memory);
    }
    if (access.shape.compare) {
      float reference = addresses.reference(lane);
      if (resource.format.number == images::Number::kUnorm) reference = std::clamp(reference, 0.0f, 1.0f);
      const bool passes = images::compares(sampler.compare, reference, std::bit_cast<float>(memory[0]));
      memory[0] = passes ? 0x3f800000 : 0;
    }
    select(memory, result);
    if (!is_border || !resource.border_in_result_order) return;
    for (unsigned i = 0; i < 4; ++i) {
      if (resource.select[i] >= 4 && !access.shape.compare) result[i] = memory[i];
    }
  }

  // Samples a plane if no level of detail is needed. False: use the general path.
  bool try_plane() const {
    const Dimension& dimension = addresses.dimension();
    if (access.shape.verb != ImageVerb::kSample || access.shape.compare || access.shape.offset ||
        access.half_addresses || access.registers.half || access.status || dimension.space != 2 ||
        dimension.layer || !is_plane_sample(resource, sampler)) {
      return false;
    }
    PlaneSample plane{resource, sampler, addresses.coordinate(0), addresses.coordinate(1), {}};
    uint32_t* next = row(wave->registers, access.rows.result);
    for (unsigned i = 0; i < 4; ++i) {
      if ((access.dmask >> i & 1) == 0) continue;
      plane.results[i] = next;
      next += wave->layout.wave_size;
    }
    return sample_plane(op, wave, plane, exec);
  }

  // Adds the texels of a filter to the lanes' sums. Texels of a gather are stored separately.
  bool add_filter(const Filter& filter, uint64_t probed, Sums& sums) const {
    const unsigned component = static_cast<unsigned>(std::countr_zero(access.dmask));
    const Shape raw = raw_shape(Verb::kLoad);
    for (unsigned t = 0; t < filter.max_count; ++t) {
      uint64_t lanes = 0;
      for (const unsigned lane : lanes_of(probed)) lanes |= uint64_t{t < filter.count[lane]} << lane;
      Span span;
      std::copy_n(filter.va[t], 64, span.va);
      span.all_dwords(lanes & ~filter.border[t]);
      if (!access_raw(raw, span)) return false;
      for (const unsigned lane : lanes_of(lanes)) {
        uint32_t element[4], texel[4];
        element_of(raw, lane, element);
        texel_of(lane, (filter.border[t] >> lane & 1) != 0, element, texel);
        if (gathers()) {
          sums.single[lane][t] = texel[component];
          continue;
        }
        const bool is_first = sums.count[lane]++ == 0;
        if (is_first) std::copy_n(texel, 4, sums.single[lane]);
        add(sampler.reduction, is_first, filter.weight[t][lane], texel, sums.value[lane]);
      }
    }
    return true;
  }

  bool sample() const {
    if (try_plane()) return true;
    const Results results(access, *wave, resource.format);
    if (resource.is_null) {
      for (const unsigned lane : lanes_of(exec)) results.put_all(lane, {});
      return true;
    }
    Lookup lookups[64];
    unsigned probes = 1;
    for (const unsigned lane : lanes_of(exec)) {
      lookups[lane] = lookup_of(lane);
      probes = std::max(probes, lookups[lane].footprint.probes);
    }
    Sums sums;
    for (unsigned probe = 0; probe < probes; ++probe) {
      uint64_t lanes = 0;
      for (const unsigned lane : lanes_of(exec))
        lanes |= uint64_t{probe < lookups[lane].footprint.probes} << lane;
      Filter filter;
      find_filter(lookups, probe, lanes, filter);
      if (!add_filter(filter, lanes, sums)) return false;
    }
    for (const unsigned lane : lanes_of(exec)) {
      if (gathers()) {
        results.put_all(lane, sums.single[lane]);
        continue;
      }
      const bool blends = sampler.reduction == images::Reduction::kBlend;
      const double divisor = blends ? lookups[lane].footprint.probes : 1;
      for (unsigned i = 0; i < 4 && sums.count[lane] != 1; ++i)
        sums.single[lane][i] = std::bit_cast<uint32_t>(static_cast<float>(sums.value[lane][i] / divisor));
      results.put(lane, sums.single[lane]);
    }
    return true;
  }

  // Queries
  // -------------------------------------------------------------------------------------------------

  void write_lod() const {
    const Results results(access, *wave, {4, images::Number::kFloat});
    uint32_t results_of_lanes[64][4] = {};  // written after all lanes' coordinates are read
    for (const unsigned lane : lanes_of(resource.is_null ? 0 : exec)) {
      const int32_t lod = footprint_of(lane).lod + sampler.lod_bias;
      const auto last_level = static_cast<int32_t>((resource.levels() - 1) * 256);
      const int32_t clamped_lod = std::clamp(images::limited_lod(resource, sampler, lod), 0, last_level);
      results_of_lanes[lane][0] = std::bit_cast<uint32_t>(static_cast<float>(clamped_lod) / 256);
      results_of_lanes[lane][1] = std::bit_cast<uint32_t>(static_cast<float>(lod) / 256);
    }
    for (const unsigned lane : lanes_of(exec)) results.put(lane, results_of_lanes[lane]);
  }

  void write_sizes() const {
    const Results results(access, *wave, {4, images::Number::kUint});
    for (const unsigned lane : lanes_of(exec)) {
      uint32_t answer[4] = {};
      if (!resource.is_null) {
        const uint32_t level = addresses.last_integer(lane);
        if (level < resource.levels()) {
          answer[0] = resource.width(level);
          // 1D arrays have the number of layers where other images have the height.
          answer[1] = resource.type == images::ResourceType::k1DArray ? resource.depth(level)
                                                                      : resource.height(level);
          answer[2] = resource.type == images::ResourceType::k1DArray ? 1 : resource.depth(level);
        }
        answer[3] = resource.levels();
      }
      results.put(lane, answer);
    }
  }
};

[[gnu::noinline]] bool image_general(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<ImageAccess>(op);
  uint32_t words[8];
  std::memcpy(words, wave->registers + access.resource, sizeof words);
  const images::DecodedResources::Entry& decoded =
      wave->memory->decoded_resources().find(words, access.generation, wave->core->tiling());
  if (!decoded.rejection.empty()) return stop_at_illegal(wave, decoded.rejection);
  const Resource& resource = decoded.resource;
  Sampler sampler;
  if (access.shape.has_sampler()) {
    uint32_t sampler_words[4];
    std::memcpy(sampler_words, wave->registers + access.sampler, sizeof sampler_words);
    if (const std::string_view rejection = images::decode_sampler(sampler_words, access.generation, sampler);
        !rejection.empty()) {
      return stop_at_illegal(wave, rejection);
    }
    sampler.unnormalized |= access.unnormalized;
  }
  const MxcsrScope environment(kDefaultMxcsr);
  const Addresses addresses(access, *wave, dimension_of(access, resource));
  const ImageRun run{op, wave, access, addresses, resource, sampler, exec};
  switch (access.shape.verb) {
    case ImageVerb::kLoad:
      return run.load();
    case ImageVerb::kStore:
      return run.store();
    case ImageVerb::kAtomic:
      return run.change();
    case ImageVerb::kSample:
    case ImageVerb::kGather:
      return run.sample();
    case ImageVerb::kLod:
      run.write_lod();
      return true;
    case ImageVerb::kSizes:
      break;
  }
  run.write_sizes();
  return true;
}

}  // namespace

Refusal lower_image(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const isa::ImageShape* const shape = isa::image_shape(instruction.op);
  if (shape == nullptr)
    return "image instructions on raw data, multisampled images and rays are not supported";
  const isa::Traits& traits = context.traits();
  const RegisterLayout& layout = context.layout;
  if (traits.image_has_dimension && instruction.dim >= kFirstMultisampled)
    return "multisampled images are not supported";
  if (instruction.r128) return "image resources of 4 dwords are not supported";

  ImageAccess access;
  access.shape = *shape;
  access.generation = traits.image;
  access.has_dimension = traits.image_has_dimension;
  if (access.has_dimension) access.dimension = kDimensions[instruction.dim];
  access.array = instruction.da;
  access.unnormalized = instruction.unorm;
  access.half_addresses = instruction.a16;
  // gfx9 has no instructions with 16-bit gradients: A16 implies them. gfx10 has separate instructions.
  access.half_gradients =
      shape->half_gradients || (instruction.a16 && traits.image == isa::ImageGeneration::kGfx9);
  access.status = instruction.tfe || instruction.lwe;
  access.dmask = instruction.dmask == 0 ? 1 : instruction.dmask;
  const bool stores = shape->verb == ImageVerb::kStore;
  const bool gathers = shape->verb == ImageVerb::kGather;
  access.registers.store = stores;
  access.registers.half = instruction.d16;
  access.registers.packed = traits.packs_d16;
  access.registers.clears_half = traits.d16_loads_clear_half;
  access.registers.components = static_cast<uint8_t>(gathers ? 4 : std::popcount(access.dmask));
  unsigned registers = registers_of(access.registers);
  if (shape->verb == ImageVerb::kAtomic) {
    const bool two = has_two_operands(shape->atomic);
    access.atomic.verb = Verb::kAtomic;
    access.atomic.atomic = shape->atomic;
    access.atomic.bytes = std::popcount(access.dmask) > (two ? 2 : 1) ? 8 : 4;
    access.rows.returns = instruction.vdst.is_vgpr();
    access.status = false;
    registers = access.atomic.dwords() * (two ? 2 : 1);
  }
  if (stores) access.status = false;
  const isa::Operand& data = instruction.vdst.exists() ? instruction.vdst : instruction.vdata;
  if (!data.is_vgpr() || !in_file(data, registers + access.status, layout) ||
      !instruction.saddr.is_scalar_register() || !instruction.vaddr.is_vgpr() ||
      (shape->has_sampler() && !instruction.extra[0].is_scalar_register())) {
    return kRefuseRegister;
  }
  access.rows.data = access.rows.result = layout.vgpr_offset(data.vgpr());
  access.resource = scalar_offset(instruction.saddr.code);
  if (shape->has_sampler()) access.sampler = scalar_offset(instruction.extra[0].code);
  for (unsigned i = 0; i < kMaxAddresses; ++i) {
    uint32_t number = instruction.vaddr.vgpr() + i;
    if (instruction.nsa_count != 0 && i != 0)
      number = i <= instruction.nsa_count ? instruction.nsa[i - 1] : 0;
    // Hardware reads v0 in place of registers that the wave does not have.
    access.addresses[i] = layout.vgpr_offset(number < layout.vgprs ? number : 0);
  }
  if (instruction.glc && shape->verb == ImageVerb::kLoad) out.emit(fence);
  MicroOp& op = out.emit(general_handler<image_general>);
  op.imm = reinterpret_cast<uint64_t>(&allocate(out, access));
  return {};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
