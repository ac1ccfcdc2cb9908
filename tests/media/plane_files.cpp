// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Planes of every numeric type, and invalid files.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "aperture/media/plane_file.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

std::string error_of_reading(const std::filesystem::path& path) {
    return error_of([&] { read_planes(path); });
}

TEST(Planes, OfEveryNumberComeAsFloats) {
    const TemporaryFolder folder;
    // More than 32768 elements, from which on several threads convert.
    const std::vector<hsize_t> extents{3, 101, 110};
    std::vector<double> values;
    for (int i = 0; i < 3 * 101 * 110; ++i) values.push_back(i % 97);
    for (const std::string number : {"float16", "float32", "float64", "int8", "uint8", "int16",
                                     "uint16", "int32", "uint32", "int64", "uint64"}) {
        for (const bool big_endian : {false, true}) {
            write_planes(folder / "a.h5", extents, values, number, big_endian);
            const auto planes = read_planes(folder / "a.h5", 2);
            ASSERT_EQ(planes.extent(), (core::Extents<3>{3, 101, 110}));
            for (std::size_t i = 0; i < values.size(); ++i) {
                ASSERT_EQ(static_cast<double>(planes.data()[i]), values[i])
                    << number << (big_endian ? " big-endian" : "") << " at " << i;
            }
        }
    }
    write_planes(folder / "a.h5", {1, 1, 2}, {-2.5, 1.0 / 3});
    EXPECT_EQ(read_planes(folder / "a.h5")(0, 0, 0), -2.5F);
    EXPECT_EQ(read_planes(folder / "a.h5")(0, 0, 1), 1.0F / 3);
}

TEST(Planes, ThatAreNotFiniteAreRefusedWithTheirPlace) {
    const TemporaryFolder folder;
    const std::string path = folder / "a.h5";
    std::vector<double> values(2 * 3 * 4, 1.0);
    const auto error_with = [&](double value) {
        values[12 + 4 + 3] = value;
        write_planes(path, {2, 3, 4}, values);
        return error_of_reading(path);
    };
    const std::string place = " in plane 1, row 1, column 3; values must be finite as floats";
    EXPECT_EQ(error_with(nothing), path + ": dataset /planes has NaN" + place);
    EXPECT_EQ(error_with(-infinite), path + ": dataset /planes has infinity" + place);
    // Beyond the largest float.
    EXPECT_EQ(error_with(1e39), path + ": dataset /planes has infinity" + place);
    EXPECT_EQ(error_with(1e38), "");
}

TEST(Planes, ThatCannotBeRightAreRefused) {
    const TemporaryFolder folder;
    const std::string path = folder / "a.h5";
    const auto error_with = [&](hid_t type, const std::vector<hsize_t>& extents) {
        {
            const Handle file = new_file(path);
            add_dataset(file, "/planes", type, extents);
        }
        return error_of_reading(path);
    };
    EXPECT_EQ(error_of_reading(path), path + ": no such file");
    write_bytes(path, "these are words\n");
    EXPECT_EQ(error_of_reading(path), path + ": not an HDF5 file");
    write_cube(path, {});
    EXPECT_EQ(error_of_reading(path), path + ": no dataset /planes");
    const std::string dataset = path + ": dataset /planes";
    EXPECT_EQ(error_with(H5T_IEEE_F32LE, {3, 4}), dataset + " has rank 2, expected 3");
    EXPECT_EQ(error_with(H5T_IEEE_F32LE, {1, 3, 4, 2}), dataset + " has rank 4, expected 3");
    EXPECT_EQ(error_with(H5T_IEEE_F32LE, {}), dataset + " has rank 0, expected 3");
    EXPECT_EQ(error_with(H5T_IEEE_F32LE, {2, 0, 4}),
              dataset + " is empty: its extents are [2,0,4]");
    EXPECT_EQ(
        error_with(H5T_C_S1, {1, 3, 4}),
        dataset + " has elements of type string; expected integers or floating-point numbers");
    EXPECT_EQ(
        error_with(H5T_IEEE_F32LE, {1000, 1000, 1000}),
        dataset + " declares 4000000000 bytes (extents [1000,1000,1000]) but the file holds 0");
    write_planes(path, {1, 30, 40}, std::vector<double>(1200, 1.0));
    write_bytes(path, read_bytes(path).substr(0, 3000));
    EXPECT_EQ(error_of_reading(path), path + ": file is truncated");
}

}  // namespace
}  // namespace aperture::media::tests
