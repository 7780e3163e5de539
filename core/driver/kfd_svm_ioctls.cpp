// Attributes of shared virtual memory.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/driver/kfd.hpp"

namespace rigel {

Status Kfd::svm(uint32_t operation, uint64_t address, uint64_t size,
                std::span<kfd_svm_attribute> attributes) const {
  // The attributes follow the header, and the request contains the total size.
  const size_t bytes = sizeof(kfd_svm) + attributes.size_bytes();
  std::vector<uint64_t> words((bytes + 7) / 8);
  auto* const place = reinterpret_cast<std::byte*>(words.data());
  const kfd_svm header{address, size, operation, static_cast<uint32_t>(attributes.size())};
  std::memcpy(place, &header, sizeof header);
  std::memcpy(place + sizeof header, attributes.data(), attributes.size_bytes());
  const int problem = call(KFD_NR_SVM, place, bytes);
  if (problem != 0) {
    return fail(HSA_STATUS_ERROR, "AMDKFD_IOC_SVM: {} bytes at {:#x} failed: {}", size, address,
                std::strerror(-problem));
  }
  std::memcpy(attributes.data(), place + sizeof header, attributes.size_bytes());
  return HSA_STATUS_SUCCESS;
}

Status Kfd::svm_set(uint64_t address, uint64_t size, std::span<const kfd_svm_attribute> attributes) const {
  std::vector<kfd_svm_attribute> copy(attributes.begin(), attributes.end());
  return svm(KFD_SVM_SET_ATTR, address, size, copy);
}

Status Kfd::svm_get(uint64_t address, uint64_t size, std::span<kfd_svm_attribute> attributes) const {
  return svm(KFD_SVM_GET_ATTR, address, size, attributes);
}

}  // namespace rigel
