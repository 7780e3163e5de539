// Texture and surface functions of HIP other than the plain sample: gathers of each component, layered 1D
// textures, levels of detail by number and by gradients (of arrays, which have one level), surfaces of 1D
// arrays and volumes (for layers, HIP 5.2.3 passes the layer as a level), and arrays that HIP does not
// support. Results are compared with the selected texels.
#include "check.hpp"
#include "one_row_images.hpp"

namespace {

constexpr int kWidth = 13, kHeight = 7, kDepth = 5;

__global__ void gather(hipTextureObject_t texture, const float2* at, float4* out, int count, int component) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  // The component must be a compile-time constant.
  if (component == 0) out[i] = tex2Dgather<float4>(texture, at[i].x, at[i].y, 1);
  if (component == 1) out[i] = tex2Dgather<float4>(texture, at[i].x, at[i].y, 2);
  if (component == 2) out[i] = tex2Dgather<float4>(texture, at[i].x, at[i].y, 3);
  if (component == 3) out[i] = tex2Dgather<float4>(texture, at[i].x, at[i].y, 0);
}
__global__ void rows_of_layers(hipTextureObject_t texture, const float2* at, float4* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = tex1DLayered<float4>(texture, at[i].x, static_cast<int>(at[i].y));
}
__global__ void by_level(hipTextureObject_t texture, const float2* at, float4* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = tex2DLod<float4>(texture, at[i].x, at[i].y, static_cast<float>(i % 5));
}
__global__ void by_gradients(hipTextureObject_t texture, const float2* at, float4* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const float slope = static_cast<float>(i % 7) / 8;
  if (i < count)
    out[i] = tex2DGrad<float4>(texture, at[i].x, at[i].y, make_float2(slope, 0), make_float2(0, slope));
}
__global__ void turn_rows(hipSurfaceObject_t from, hipSurfaceObject_t to) {
  const int x = static_cast<int>(threadIdx.x), size = static_cast<int>(sizeof(float4));
  float4 texel;
  surf1Dread(&texel, from, x * size);
  surf1Dwrite(texel, to, (kWidth - 1 - x) * size);
}
__global__ void turn_volumes(hipSurfaceObject_t from, hipSurfaceObject_t to) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y),
            z = static_cast<int>(threadIdx.z), size = static_cast<int>(sizeof(float4));
  float4 texel;
  surf3Dread(&texel, from, x * size, y, z);
  surf3Dwrite(texel, to, (kWidth - 1 - x) * size, kHeight - 1 - y, kDepth - 1 - z);
}
/// An array of float4 in which all texels differ.
class Array {
 public:
  Array(int height, int depth, unsigned flags)
      : extent_(make_hipExtent(kWidth, height, depth)),
        // Before HIP 6, copies treat the layers of a 1D array as rows.
        boxes_(height == 0 && HIP_VERSION_MAJOR < 6
                   ? make_hipExtent(kWidth, depth == 0 ? 1 : depth, 1)
                   : make_hipExtent(kWidth, height == 0 ? 1 : height, depth == 0 ? 1 : depth)),
        texels_(boxes_.width * boxes_.height * boxes_.depth) {
    const hipChannelFormatDesc format = hipCreateChannelDesc<float4>();
    HIP_OK(hipMalloc3DArray(&array_, &format, extent_, flags));
    for (size_t i = 0; i < texels_.size(); ++i) {
      const auto n = static_cast<float>(i);
      texels_[i] = make_float4(n, -n, n * 0.5f, 1000 - n);
    }
    copy(hipMemcpyHostToDevice);
  }
  ~Array() { (void)hipFreeArray(array_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  hipArray_t get() const { return array_; }
  float4 texel(int x, int y, int z = 0) const {
    const size_t row = extent_.height == 0 ? y : static_cast<size_t>(z) * boxes_.height + y;
    return texels_[row * kWidth + x];
  }
  std::vector<float4>& texels() { return texels_; }
  /// Copies to the device or back.
  void copy(hipMemcpyKind kind) {
    hipMemcpy3DParms parts{};
    const hipPitchedPtr memory =
        make_hipPitchedPtr(texels_.data(), kWidth * sizeof(float4), kWidth, boxes_.height);
    if (kind == hipMemcpyHostToDevice) {
      parts.srcPtr = memory;
      parts.dstArray = array_;
    } else {
      parts.srcArray = array_;
      parts.dstPtr = memory;
    }
    parts.extent = boxes_;
    parts.kind = kind;
    HIP_OK(hipMemcpy3D(&parts));
  }

 private:
  const hipExtent extent_, boxes_;
  std::vector<float4> texels_;
  hipArray_t array_ = nullptr;
};

hipResourceDesc resource_of(const Array& array) {
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array.get();
  return resource;
}

hipTextureObject_t texture_of(const Array& array, bool normalized,
                              hipTextureFilterMode filter = hipFilterModePoint) {
  const hipResourceDesc resource = resource_of(array);
  hipTextureDesc how{};
  for (hipTextureAddressMode& mode : how.addressMode) mode = hipAddressModeClamp;
  how.normalizedCoords = normalized;
  how.filterMode = filter;
  hipTextureObject_t texture{};
  HIP_OK(hipCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

int clamped(int at, int size) {
  return at < 0 ? 0 : at >= size ? size - 1 : at;
}

/// Coordinates in odd quarters of a texel, where rounding does not matter, from below to beyond the image.
std::vector<float2> places(bool normalized) {
  std::vector<float2> all;
  for (int y = -8; y < 4 * (kHeight + 2); ++y) {
    for (int x = -8; x < 4 * (kWidth + 2); ++x) {
      if (x % 2 == 0 || y % 2 == 0) continue;
      const float at_x = static_cast<float>(x) / 4, at_y = static_cast<float>(y) / 4;
      all.push_back(normalized ? make_float2(at_x / kWidth, at_y / kHeight) : make_float2(at_x, at_y));
    }
  }
  return all;
}

float4 in_texels(float2 at, bool normalized) {
  return normalized ? make_float4(at.x * kWidth, at.y * kHeight, 0, 0) : make_float4(at.x, at.y, 0, 0);
}

template <typename Expected>
void compare(const std::string& what, const std::vector<float2>& at, const std::vector<float4>& seen,
             Expected expected) {
  for (size_t i = 0; i < at.size(); ++i) {
    const float4 wanted = expected(at[i]);
    if (seen[i].x == wanted.x && seen[i].y == wanted.y && seen[i].z == wanted.z && seen[i].w == wanted.w)
      continue;
    fail(what + ": at " + text_of(at[i].x) + " " + text_of(at[i].y) + " there is " + text_of(seen[i].x) +
         " " + text_of(seen[i].y) + " " + text_of(seen[i].z) + " " + text_of(seen[i].w) + ", expected " +
         text_of(wanted.x) + " " + text_of(wanted.y) + " " + text_of(wanted.z) + " " + text_of(wanted.w));
    return;
  }
}

float component_of(float4 texel, int component) {
  const float components[] = {texel.x, texel.y, texel.z, texel.w};
  return components[component];
}

void check_planes() {
  const Array array(kHeight, 0, hipArrayDefault);
  for (const bool normalized : {false, true}) {
    const hipTextureObject_t texture = texture_of(array, normalized);
    const std::vector<float2> at = places(normalized);
    const DeviceArray<float2> on_device(at);
    const DeviceArray<float4> out(at.size());
    const unsigned blocks = blocks_for(at.size(), 64);
    const auto count = static_cast<int>(at.size());
    // With a linear filter: otherwise HIP's functions move the coordinate to the texel's edge.
    const hipTextureObject_t blended = texture_of(array, normalized, hipFilterModeLinear);
    for (int component = 0; component < 4; ++component) {
      gather<<<blocks, 64>>>(blended, on_device.data(), out.data(), count, component);
      HIP_FINISH();
      compare("component " + std::to_string(component) + " gathered", at, out.read(), [&](float2 place) {
        const float4 texels = in_texels(place, normalized);
        const int x = static_cast<int>(std::floor(texels.x - 0.5f)),
                  y = static_cast<int>(std::floor(texels.y - 0.5f));
        const auto texel = [&](int dx, int dy) {
          return component_of(array.texel(clamped(x + dx, kWidth), clamped(y + dy, kHeight)), component);
        };
        return make_float4(texel(0, 1), texel(1, 1), texel(1, 0), texel(0, 0));
      });
    }
    const auto nearest = [&](float2 place) {
      const float4 texels = in_texels(place, normalized);
      return array.texel(clamped(static_cast<int>(std::floor(texels.x)), kWidth),
                         clamped(static_cast<int>(std::floor(texels.y)), kHeight));
    };
    by_level<<<blocks, 64>>>(texture, on_device.data(), out.data(), count);
    HIP_FINISH();
    compare("by level", at, out.read(), nearest);
    by_gradients<<<blocks, 64>>>(texture, on_device.data(), out.data(), count);
    HIP_FINISH();
    compare("by gradients", at, out.read(), nearest);
    HIP_OK(hipDestroyTextureObject(texture));
    HIP_OK(hipDestroyTextureObject(blended));
  }
}

void check_rows_of_layers() {
  const Array array(0, kDepth, hipArrayLayered);
  const hipTextureObject_t texture = texture_of(array, false);
  std::vector<float2> at;
  for (int layer = 0; layer < kDepth; ++layer) {
    for (int x = -2; x < kWidth + 2; ++x)
      at.push_back(make_float2(static_cast<float>(x) + 0.25f, static_cast<float>(layer)));
  }
  const DeviceArray<float2> on_device(at);
  const DeviceArray<float4> out(at.size());
  rows_of_layers<<<blocks_for(at.size(), 64), 64>>>(texture, on_device.data(), out.data(),
                                                    static_cast<int>(at.size()));
  HIP_FINISH();
  compare("1D layers", at, out.read(), [&](float2 place) {
    const int x = clamped(static_cast<int>(std::floor(place.x)), kWidth);
    return array.texel(x, static_cast<int>(place.y));
  });
  HIP_OK(hipDestroyTextureObject(texture));
}

void check_surfaces(const std::string& what, int height, int depth, unsigned flags,
                    void (*turn)(hipSurfaceObject_t, hipSurfaceObject_t)) {
  const Array from(height, depth, flags);
  Array to(height, depth, flags);
  const hipResourceDesc source = resource_of(from), target = resource_of(to);
  hipSurfaceObject_t read{}, written{};
  HIP_OK(hipCreateSurfaceObject(&read, &source));
  HIP_OK(hipCreateSurfaceObject(&written, &target));
  turn<<<1, dim3(kWidth, height == 0 ? 1 : height, depth == 0 ? 1 : depth)>>>(read, written);
  HIP_FINISH();
  std::vector<float4> wanted = to.texels();
  to.copy(hipMemcpyDeviceToHost);
  std::vector<float> seen, expected;
  for (size_t i = 0; i < wanted.size(); ++i) {
    seen.push_back(to.texels()[i].x);
    expected.push_back(wanted[wanted.size() - 1 - i].x);
  }
  expect_equal(what, expected, seen);
  HIP_OK(hipDestroySurfaceObject(read));
  HIP_OK(hipDestroySurfaceObject(written));
}

/// Arrays that HIP 5.2.3 and 6.4 cannot create on any runtime, although they have functions that read them.
void check_what_is_not_made() {
  const hipChannelFormatDesc format = hipCreateChannelDesc<float4>();
  hipMipmappedArray_t levels{};
  expect(hipMallocMipmappedArray(&levels, &format, make_hipExtent(16, 16, 0), 3, 0) == hipErrorNotSupported,
         "an array with mip levels can be made now: test it");
  hipArray_t cube{};
  const hipError_t made = hipMalloc3DArray(&cube, &format, make_hipExtent(16, 16, 6), hipArrayCubemap);
  expect(made == hipErrorNotSupported || (HIP_VERSION_MAJOR >= 6 && made == hipErrorInvalidValue),
         "a cube can be made now: test it");
  (void)hipGetLastError();
}

}  // namespace

int main() {
  check_planes();
  check_surfaces("3D surface", kHeight, kDepth, hipArrayDefault, turn_volumes);
  if (has_rows()) {
    check_surfaces("1D surface", 0, 0, hipArrayDefault, turn_rows);
    check_rows_of_layers();
  }
  check_what_is_not_made();
  return verdict("texture_functions");
}
