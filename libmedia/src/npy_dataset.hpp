// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "libmedia/src/hdf5.hpp"

namespace aperture::media {

/// An array of NumPy as HDF5 sees it.
struct NpyDataset {
    Handle file;  ///< has this dataset alone, and no attributes
    /// The dataset has the array's axes in reverse: it is stored in Fortran order.
    bool reversed;
};

/// Makes an HDF5 file in memory whose dataset `dataset` ("/name") has its data in a .npy file, so
/// that all rules for datasets hold for arrays. Complex numbers are compounds {r,i}. Throws
/// InvalidArgument.
NpyDataset open_npy(const std::filesystem::path& path, const std::string& dataset);

}  // namespace aperture::media
