// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/media/cube_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "aperture/core/error.hpp"
#include "aperture/media/cube_file.hpp"

namespace aperture::media::tests {
namespace {

std::size_t bytes_of(const std::string& number) {
    return static_cast<std::size_t>(std::stoi(number.substr(number.find_first_of("0123456789")))) /
           8;
}

// Little-endian bit patterns of a small whole number.
std::uint64_t bits_of(const std::string& number, double value) {
    if (number == "float64") return std::bit_cast<std::uint64_t>(value);
    if (number == "float32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    if (number == "float16") {
        if (value == 0) return 0;
        int exponent = 0;
        const double fraction = std::frexp(std::abs(value), &exponent);
        const auto mantissa = static_cast<std::uint64_t>(std::lround((2 * fraction - 1) * 1024));
        return (value < 0 ? 0x8000U : 0U) | static_cast<std::uint64_t>(exponent + 14) << 10 |
               mantissa;
    }
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

void append(std::string& bytes, const StoredCube& cube, double value) {
    const std::uint64_t bits = bits_of(cube.number, value);
    const std::size_t size = bytes_of(cube.number);
    bytes.append(cube.padding, '\x7f');
    for (std::size_t b = 0; b < size; ++b) {
        const std::size_t shift = 8 * (cube.big_endian ? size - 1 - b : b);
        bytes += static_cast<char>(bits >> shift & 0xff);
    }
}

}  // namespace

std::complex<float> sample_at(const StoredCube& cube, index_t channel, index_t pulse,
                              index_t range) {
    const auto real = static_cast<float>((channel * 37 + pulse * 11 + range * 3) % 101);
    const auto imag = static_cast<float>((channel * 5 + pulse * 23 + range * 7 + 1) % 97);
    const bool is_unsigned = cube.number[0] == 'u';
    return {is_unsigned ? real : real - 50, is_unsigned ? imag : 40 - imag};
}

Handle number_type(const std::string& number, bool big_endian) {
    if (number == "float16") {
        Handle type{H5Tcopy(H5T_IEEE_F32LE), H5Tclose};
        H5Tset_fields(type, 15, 10, 5, 0, 10);
        H5Tset_precision(type, 16);
        H5Tset_size(type, 2);
        H5Tset_ebias(type, 15);
        if (big_endian) H5Tset_order(type, H5T_ORDER_BE);
        return type;
    }
    const std::size_t bytes = bytes_of(number);
    const bool is_float = number[0] == 'f';
    Handle type{H5Tcopy(!is_float    ? (number[0] == 'u' ? H5T_STD_U64LE : H5T_STD_I64LE)
                        : bytes == 4 ? H5T_IEEE_F32LE
                                     : H5T_IEEE_F64LE),
                H5Tclose};
    if (!is_float) H5Tset_size(type, bytes);
    H5Tset_order(type, big_endian ? H5T_ORDER_BE : H5T_ORDER_LE);
    return type;
}

Handle new_file(const std::filesystem::path& path) {
    return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose};
}

Handle open_to_add(const std::filesystem::path& path) {
    return {H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose};
}

core::Extents<3> stored_extents(const StoredCube& cube) {
    core::Extents<3> extent{};
    for (std::size_t d = 0; d < 3; ++d) {
        extent[d] = cube.shape[static_cast<std::size_t>(cube.canonical[d])];
    }
    return extent;
}

std::string stored_bytes(const StoredCube& cube) {
    const core::Extents<3> extent = stored_extents(cube);
    std::string bytes;
    for (index_t i = 0; i < extent[0]; ++i) {
        for (index_t j = 0; j < extent[1]; ++j) {
            for (index_t k = 0; k < extent[2]; ++k) {
                core::Extents<3> at{};
                at[static_cast<std::size_t>(cube.canonical[0])] = i;
                at[static_cast<std::size_t>(cube.canonical[1])] = j;
                at[static_cast<std::size_t>(cube.canonical[2])] = k;
                const std::complex<float> value = sample_at(cube, at[0], at[1], at[2]);
                append(bytes, cube, cube.imag_first ? value.imag() : value.real());
                append(bytes, cube, cube.imag_first ? value.real() : value.imag());
            }
        }
    }
    return bytes;
}

void add_cube(hid_t file, const StoredCube& cube) {
    const core::Extents<3> extent = stored_extents(cube);
    const std::string bytes = stored_bytes(cube);
    std::vector<hsize_t> extents(extent.begin(), extent.end());
    Handle type = number_type(cube.number, cube.big_endian);
    if (cube.members.empty()) {
        extents.push_back(2);
    } else {
        const std::size_t stride = H5Tget_size(type) + cube.padding;
        Handle compound{H5Tcreate(H5T_COMPOUND, 2 * stride), H5Tclose};
        H5Tinsert(compound, cube.members[0].c_str(), cube.padding, type);
        H5Tinsert(compound, cube.members[1].c_str(), stride + cube.padding, type);
        type = std::move(compound);
    }
    const Handle creation{H5Pcreate(H5P_DATASET_CREATE), H5Pclose};
    if (!cube.chunk.empty()) {
        std::vector<hsize_t> chunk = cube.chunk;
        if (cube.members.empty()) chunk.push_back(2);
        H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
        H5Pset_shuffle(creation);
        H5Pset_deflate(creation, 1);
    }
    const Handle links{H5Pcreate(H5P_LINK_CREATE), H5Pclose};
    H5Pset_create_intermediate_group(links, 1);
    const Handle space{H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                       H5Sclose};
    const Handle dataset{
        H5Dcreate2(file, cube.path.c_str(), type, space, links, creation, H5P_DEFAULT), H5Dclose};
    ASSERT_GE(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), 0);
}

void write_cube(const std::filesystem::path& path, const StoredCube& cube) {
    const Handle file = new_file(path);
    add_cube(file, cube);
}

void add_number(hid_t object, const std::string& name, double value) {
    const Handle space{H5Screate(H5S_SCALAR), H5Sclose};
    const Handle attribute{
        H5Acreate2(object, name.c_str(), H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose};
    ASSERT_GE(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value), 0);
}

void add_string(hid_t object, const std::string& name, const std::string& value) {
    const Handle type{H5Tcopy(H5T_C_S1), H5Tclose};
    H5Tset_size(type, value.size());
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    const Handle space{H5Screate(H5S_SCALAR), H5Sclose};
    const Handle attribute{H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose};
    ASSERT_GE(H5Awrite(attribute, type, value.data()), 0);
}

void add_strings(hid_t object, const std::string& name, const std::vector<std::string>& values) {
    const Handle type{H5Tcopy(H5T_C_S1), H5Tclose};
    H5Tset_size(type, H5T_VARIABLE);
    const hsize_t count = values.size();
    const Handle space{H5Screate_simple(1, &count, nullptr), H5Sclose};
    const Handle attribute{H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose};
    std::vector<const char*> words;
    for (const std::string& value : values) words.push_back(value.c_str());
    ASSERT_GE(H5Awrite(attribute, type, words.data()), 0);
}

void add_dataset(hid_t file, const std::string& path, hid_t type,
                 const std::vector<hsize_t>& extents, const void* data) {
    const Handle space{H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                       H5Sclose};
    const Handle dataset{
        H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose};
    ASSERT_TRUE(dataset.valid());
    if (data != nullptr) {
        ASSERT_GE(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), 0);
    }
}

void write_planes(const std::filesystem::path& path, const std::vector<hsize_t>& extents,
                  const std::vector<double>& values, const std::string& number, bool big_endian) {
    const Handle file = new_file(path);
    add_dataset(file, "/planes", number_type(number, big_endian), extents);
    const Handle dataset{H5Dopen2(file, "/planes", H5P_DEFAULT), H5Dclose};
    ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              0);
}

std::string read_bytes(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const core::InvalidArgument& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        return error.what();
    }
    return "";
}

std::string error_of_reading_cube(const std::filesystem::path& path) {
    return error_of([&] {
        CubeReader reader({path});
        core::Array<std::complex<float>, 3> samples(reader.info().shape());
        reader.read(samples);
    });
}

void expect_samples(const StoredCube& cube,
                    core::View<const std::complex<float>, 3, core::Host> read, index_t begin) {
    for (index_t c = 0; c < read.extent[0]; ++c) {
        for (index_t p = 0; p < read.extent[1]; ++p) {
            for (index_t r = 0; r < read.extent[2]; ++r) {
                ASSERT_EQ(read(c, p, r), sample_at(cube, c, p, begin + r))
                    << "channel " << c << ", pulse " << p << ", range cell " << begin + r;
            }
        }
    }
}

}  // namespace aperture::media::tests
