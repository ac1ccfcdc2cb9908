// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "aperture/core/array.hpp"
#include "libmedia/src/hdf5.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::media::tests {

using aperture::tests::TemporaryFolder;

/// Storage of a test's cube in its file. The bytes are composed one by one, without the library
/// under test and without HDF5's conversions.
struct StoredCube {
    std::string number = "float32";  ///< float16/32/64, int8..64, uint8..64
    bool big_endian = false;
    /// Member names in file order; empty: a real array with a last extent of 2.
    std::vector<std::string> members = {"r", "i"};
    bool imag_first = false;
    std::size_t padding = 0;                   ///< unused bytes before each number
    std::array<int, 3> canonical = {0, 1, 2};  ///< canonical axis of each axis of the file
    core::Extents<3> shape = {3, 5, 7};        ///< channels, pulses, range cells
    std::vector<hsize_t> chunk{};              ///< in file order; compressed if not empty
    std::string path = "/cube";
};

/// The value at a canonical position of the cube: whole numbers that every stored type represents.
std::complex<float> sample_at(const StoredCube& cube, index_t channel, index_t pulse,
                              index_t range);

/// The extents and the bytes of a cube in the order of its file.
core::Extents<3> stored_extents(const StoredCube& cube);
std::string stored_bytes(const StoredCube& cube);

/// The HDF5 type "float16" ... "uint64".
Handle number_type(const std::string& number, bool big_endian);

/// Creates an empty file, or opens one to add to it.
Handle new_file(const std::filesystem::path& path);
Handle open_to_add(const std::filesystem::path& path);
void add_cube(hid_t file, const StoredCube& cube);
/// Writes a file with one cube.
void write_cube(const std::filesystem::path& path, const StoredCube& cube);

void add_number(hid_t object, const std::string& name, double value);
void add_string(hid_t object, const std::string& name, const std::string& value);
void add_strings(hid_t object, const std::string& name, const std::vector<std::string>& values);
/// Adds a dataset of any type and extents, without data if `data` is null.
void add_dataset(hid_t file, const std::string& path, hid_t type,
                 const std::vector<hsize_t>& extents, const void* data = nullptr);

/// Writes a file with dataset /planes, converted from double by HDF5.
void write_planes(const std::filesystem::path& path, const std::vector<hsize_t>& extents,
                  const std::vector<double>& values, const std::string& number = "float64",
                  bool big_endian = false);

std::string read_bytes(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, const std::string& bytes);

/// The text of the core::InvalidArgument that `call` must throw, "" if it throws nothing.
std::string error_of(const std::function<void()>& call);
std::string error_of_reading_cube(const std::filesystem::path& path);

/// Expects that `read` holds the range cells [begin, begin + extent) of `cube`.
void expect_samples(const StoredCube& cube,
                    core::View<const std::complex<float>, 3, core::Host> read, index_t begin = 0);

}  // namespace aperture::media::tests
