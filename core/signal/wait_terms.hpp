// A list of terms for wait_any and wait_all that is made for one call: short ones need no memory.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "core/signal/wait.hpp"

namespace rigel {

class WaitTerms {
 public:
  /// Makes room. False without memory.
  bool resize(uint32_t count) noexcept {
    if (count <= kInline) return true;
    heap_.reset(new (std::nothrow) WaitTerm[count]);
    terms_ = heap_.get();
    return terms_ != nullptr;
  }

  WaitTerm& operator[](uint32_t i) noexcept { return terms_[i]; }
  const WaitTerm* data() const noexcept { return terms_; }

 private:
  static constexpr uint32_t kInline = 16;
  WaitTerm inline_[kInline]{};
  std::unique_ptr<WaitTerm[]> heap_;
  WaitTerm* terms_ = inline_;
};

}  // namespace rigel
