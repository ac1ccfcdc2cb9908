// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace aperture::media {

/// Reads columns of a table of an HDF5 file: a dataset of rank 1 whose elements are records, as
/// ResultFile::table writes it. Returns the columns in the order of `names`, as double, or nothing
/// if the file has no such dataset.
///
/// Throws core::InvalidArgument with one line "NAME: REASON" if the file is missing or no HDF5
/// file, if the dataset is no table, has more than 2^20 rows or cannot be read, and if a column is
/// missing or holds no numbers.
std::optional<std::vector<std::vector<double>>> read_table(const std::filesystem::path& path,
                                                           const std::string& dataset,
                                                           const std::vector<std::string>& names);

}  // namespace aperture::media
