// Read and write indices of queues, in all named orders.
#include "api/entry/functions.hpp"
#include "api/support/packet_ring.hpp"

namespace rigel::api {

using enum std::memory_order;

uint64_t hsa_queue_load_read_index_scacquire(const hsa_queue_t* queue) noexcept {
  return read_index(queue).load(acquire);
}
uint64_t hsa_queue_load_read_index_relaxed(const hsa_queue_t* queue) noexcept {
  return read_index(queue).load(relaxed);
}
uint64_t hsa_queue_load_write_index_scacquire(const hsa_queue_t* queue) noexcept {
  return write_index(queue).load(acquire);
}
uint64_t hsa_queue_load_write_index_relaxed(const hsa_queue_t* queue) noexcept {
  return write_index(queue).load(relaxed);
}
void hsa_queue_store_write_index_relaxed(const hsa_queue_t* queue, uint64_t value) noexcept {
  write_index(queue).store(value, relaxed);
}
void hsa_queue_store_write_index_screlease(const hsa_queue_t* queue, uint64_t value) noexcept {
  write_index(queue).store(value, release);
}
void hsa_queue_store_read_index_relaxed(const hsa_queue_t* queue, uint64_t value) noexcept {
  read_index(queue).store(value, relaxed);
}
void hsa_queue_store_read_index_screlease(const hsa_queue_t* queue, uint64_t value) noexcept {
  read_index(queue).store(value, release);
}

#define RIGEL_WRITE_INDEX_UPDATE(suffix, order, failure)                                           \
  uint64_t hsa_queue_add_write_index_##suffix(const hsa_queue_t* queue, uint64_t value) noexcept { \
    return write_index(queue).fetch_add(value, order);                                             \
  }                                                                                                \
  uint64_t hsa_queue_cas_write_index_##suffix(const hsa_queue_t* queue, uint64_t expected,         \
                                              uint64_t value) noexcept {                           \
    write_index(queue).compare_exchange_strong(expected, value, order, failure);                   \
    return expected;                                                                               \
  }

RIGEL_WRITE_INDEX_UPDATE(relaxed, relaxed, relaxed)
RIGEL_WRITE_INDEX_UPDATE(scacquire, acquire, acquire)
RIGEL_WRITE_INDEX_UPDATE(screlease, release, relaxed)
RIGEL_WRITE_INDEX_UPDATE(scacq_screl, acq_rel, acquire)

}  // namespace rigel::api
