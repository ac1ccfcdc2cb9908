// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "aperture/core/view.hpp"
#include "aperture/media/atomic_file.hpp"

namespace aperture::media {

template <class T>
concept NpyElement = std::same_as<T, float> || std::same_as<T, std::uint8_t>;

/// Writes one array in NumPy's format (.npy, version 1.0, little-endian, C order), which appears
/// completely or not at all (see AtomicFile). It grows along its first axis; the final extent need
/// not be known in advance.
template <NpyElement T>
class NpyWriter {
  public:
    /// `item` is the extents of all axes except the first. Throws core::InvalidArgument.
    NpyWriter(const std::filesystem::path& target, std::vector<core::index_t> item);

    /// Appends one item, as many elements as the product of its extents.
    void append(const T* item);
    /// Completes and returns the uncommitted file. Nothing can be written afterwards.
    AtomicFile finish();

  private:
    std::string header() const;

    AtomicFile file_;
    std::vector<core::index_t> item_;
    core::index_t elements_ = 1;  ///< of an item
    core::index_t items_ = 0;
};

}  // namespace aperture::media
