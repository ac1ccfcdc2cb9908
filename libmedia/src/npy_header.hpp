// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "aperture/core/portable.hpp"

namespace aperture::media {

/// One number of an element: f, i, u or c (complex) of NumPy's kinds.
struct NpyNumber {
    char kind;
    std::size_t bytes;
    bool big_endian;
};

/// A number of a record and its place there.
struct NpyMember {
    std::string name;
    std::size_t offset;
    NpyNumber number;
};

/// What the header of a .npy file says (NumPy Enhancement Proposal 1 and numpy.lib.format).
struct NpyHeader {
    bool is_record = false;
    std::vector<NpyMember> members{};  ///< one without a name unless the elements are records
    std::size_t element_bytes = 0;
    bool fortran_order = false;
    std::vector<core::index_t> shape{};
    std::size_t data_at = 0;       ///< where the data begin in the file
    core::index_t data_bytes = 0;  ///< all that follow
};

/// Whether a file begins as a .npy file does. Throws InvalidArgument as expects_readable.
bool is_npy(const std::filesystem::path& path);

/// Throws InvalidArgument "NAME: ..." unless the header is whole, of a version from 1.0 to 3.0 and
/// of numbers, and exactly the data that it declares follow.
NpyHeader read_npy_header(const std::filesystem::path& path);

}  // namespace aperture::media
