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

/// Writes one array in NumPy's format (.npy, version 1.0, little-endian, C order) that appears
/// whole or not at all (see AtomicFile). It grows along its first axis; how far need not be known
/// before.
template <NpyElement T>
class NpyWriter {
  public:
    /// `item` has the extents of all axes but the first. Throws core::InvalidArgument.
    NpyWriter(const std::filesystem::path& target, std::vector<core::index_t> item);

    /// Appends one item, as many elements as the product of its extents.
    void append(const T* item);
    /// Completes the file, which is to be committed. Nothing can be written afterwards.
    AtomicFile finish();

  private:
    std::string header() const;

    AtomicFile file_;
    std::vector<core::index_t> item_;
    core::index_t elements_ = 1;  ///< of an item
    core::index_t items_ = 0;
};

}  // namespace aperture::media
