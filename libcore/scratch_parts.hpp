// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "aperture/core/portable.hpp"
#include "libcore/rounding.hpp"

namespace aperture::core {

/// Allocates consecutive parts of one scratch block, each aligned to 64 bytes. Without a block it
/// only counts, so that the same code also computes the bytes needed.
class ScratchParts {
  public:
    explicit ScratchParts(std::byte* block = nullptr) : block_(block) {}

    template <class T>
    T* allocate(index_t elements) {
        T* part = block_ == nullptr ? nullptr : reinterpret_cast<T*>(block_ + bytes_);
        bytes_ += round_up(static_cast<std::size_t>(elements) * sizeof(T), 64);
        return part;
    }
    /// Bytes of all parts so far.
    std::size_t bytes() const { return bytes_; }

  private:
    std::byte* block_;
    std::size_t bytes_ = 0;
};

/// Bytes of scratch memory for `Parts`, constructed from ScratchParts and `arguments`.
template <class Parts, class... Arguments>
std::size_t scratch_bytes_of(const Arguments&... arguments) {
    ScratchParts parts;
    [[maybe_unused]] const Parts counted(parts, arguments...);
    return parts.bytes();
}

}  // namespace aperture::core
