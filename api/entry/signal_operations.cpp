// Operations on a signal's value, in all named orders. Implemented inline in core/signal/signal.hpp.
#include "api/entry/functions.hpp"
#include "core/signal/signal.hpp"

namespace rigel::api {

using enum std::memory_order;

hsa_signal_value_t hsa_signal_load_relaxed(hsa_signal_t signal) noexcept {
  return Signal::of_live(signal).load();
}
hsa_signal_value_t hsa_signal_load_scacquire(hsa_signal_t signal) noexcept {
  return Signal::of_live(signal).load<acquire>();
}

void hsa_signal_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) noexcept {
  Signal::of_live(signal).store(value);
}
void hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value) noexcept {
  Signal::of_live(signal).store<release>(value);
}
void hsa_signal_silent_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) noexcept {
  Signal::of_live(signal).silent_store(value);
}
void hsa_signal_silent_store_screlease(hsa_signal_t signal, hsa_signal_value_t value) noexcept {
  Signal::of_live(signal).silent_store<release>(value);
}

// The read-modify-write operations differ in name and order only.
#define RIGEL_SIGNAL_UPDATE(name, operation)                                                     \
  void hsa_signal_##name##_relaxed(hsa_signal_t signal, hsa_signal_value_t value) noexcept {     \
    Signal::of_live(signal).operation<relaxed>(value);                                           \
  }                                                                                              \
  void hsa_signal_##name##_scacquire(hsa_signal_t signal, hsa_signal_value_t value) noexcept {   \
    Signal::of_live(signal).operation<acquire>(value);                                           \
  }                                                                                              \
  void hsa_signal_##name##_screlease(hsa_signal_t signal, hsa_signal_value_t value) noexcept {   \
    Signal::of_live(signal).operation<release>(value);                                           \
  }                                                                                              \
  void hsa_signal_##name##_scacq_screl(hsa_signal_t signal, hsa_signal_value_t value) noexcept { \
    Signal::of_live(signal).operation<acq_rel>(value);                                           \
  }

RIGEL_SIGNAL_UPDATE(add, add)
RIGEL_SIGNAL_UPDATE(subtract, subtract)
RIGEL_SIGNAL_UPDATE(and, bit_and)
RIGEL_SIGNAL_UPDATE(or, bit_or)
RIGEL_SIGNAL_UPDATE(xor, bit_xor)

#define RIGEL_SIGNAL_EXCHANGE(suffix, order)                                                                \
  hsa_signal_value_t hsa_signal_exchange_##suffix(hsa_signal_t signal, hsa_signal_value_t value) noexcept { \
    return Signal::of_live(signal).exchange<order>(value);                                                  \
  }                                                                                                         \
  hsa_signal_value_t hsa_signal_cas_##suffix(hsa_signal_t signal, hsa_signal_value_t expected,              \
                                             hsa_signal_value_t value) noexcept {                           \
    return Signal::of_live(signal).compare_exchange<order>(expected, value);                                \
  }

RIGEL_SIGNAL_EXCHANGE(relaxed, relaxed)
RIGEL_SIGNAL_EXCHANGE(scacquire, acquire)
RIGEL_SIGNAL_EXCHANGE(screlease, release)
RIGEL_SIGNAL_EXCHANGE(scacq_screl, acq_rel)

}  // namespace rigel::api
