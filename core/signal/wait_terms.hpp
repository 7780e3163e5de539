// A list of terms for one call of wait_any or wait_all. Short lists need no heap memory.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "core/signal/wait.hpp"

namespace rigel {

class WaitTerms {
 public:
  /// Makes room for `count` terms. Returns false if out of memory.
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
