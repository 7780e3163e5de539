// Textures of linear memory, whose elements kernels fetch by index: typed buffer instructions with a resource
// that HIP gets from an image.
#include "check.hpp"

namespace {

template <typename Result>
__global__ void fetch(hipTextureObject_t texture, Result* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = tex1Dfetch<Result>(texture, i);
}

class Texture {
 public:
  Texture(void* data, size_t bytes, const hipChannelFormatDesc& format, hipTextureReadMode mode) {
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeLinear;
    resource.res.linear.devPtr = data;
    resource.res.linear.desc = format;
    resource.res.linear.sizeInBytes = bytes;
    hipTextureDesc texture{};
    texture.readMode = mode;
    HIP_OK(hipCreateTextureObject(&object_, &resource, &texture, nullptr));
  }
  ~Texture() { (void)hipDestroyTextureObject(object_); }
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  hipTextureObject_t get() const { return object_; }

 private:
  hipTextureObject_t object_{};
};

constexpr int kCount = 1000;

/// Returns the values that a kernel fetches from each element.
template <typename Element, typename Result = Element>
std::vector<float> fetched(const std::vector<Element>& elements,
                           hipTextureReadMode mode = hipReadModeElementType) {
  const DeviceArray<Element> in(elements);
  const DeviceArray<Result> out(elements.size());
  const Texture texture(in.data(), in.bytes(), hipCreateChannelDesc<Element>(), mode);
  const auto count = static_cast<int>(elements.size());
  fetch<Result><<<blocks_for(elements.size(), 256), 256>>>(texture.get(), out.data(), count);
  HIP_FINISH();
  const std::vector<Result> results = out.read();
  std::vector<float> words(elements.size() * sizeof(Result) / sizeof(float));
  std::memcpy(words.data(), results.data(), words.size() * sizeof(float));
  return words;
}

template <typename Element>
std::vector<float> bytes_of(const std::vector<Element>& elements) {
  std::vector<float> words(elements.size() * sizeof(Element) / sizeof(float));
  std::memcpy(words.data(), elements.data(), words.size() * sizeof(float));
  return words;
}

}  // namespace

int main() {
  std::vector<float> reals(kCount);
  std::vector<float4> vectors(kCount);
  std::vector<int2> pairs(kCount);
  std::vector<unsigned char> bytes(kCount);
  std::vector<float> normalized(kCount);
  for (int i = 0; i < kCount; ++i) {
    const auto real = static_cast<float>(i);
    reals[i] = real * 0.25f + 1;
    vectors[i] = make_float4(real, -real, real / 3, 1e6f - real);
    pairs[i] = make_int2(i * 7, -i);
    bytes[i] = static_cast<unsigned char>(i * 13);
    normalized[i] = static_cast<float>(bytes[i]) / 255.0f;
  }
  expect_equal("floats", reals, fetched(reals));
  expect_equal("vectors of floats", bytes_of(vectors), fetched(vectors));
  expect_equal("pairs of integers", bytes_of(pairs), fetched(pairs));
  const std::vector<float> read = fetched<unsigned char, float>(bytes, hipReadModeNormalizedFloat);
  for (int i = 0; i < kCount; ++i) {
    if (std::fabs(read[i] - normalized[i]) > 1e-6f) {
      fail("normalised bytes: element " + std::to_string(i) + " is " + text_of(read[i]));
      break;
    }
  }
  return verdict("linear_textures");
}
