// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Invalid files: each is refused with one line that gives the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <random>

#include "aperture/core/error.hpp"
#include "aperture/media/cube_file.hpp"
#include "tests/media/cube_files.hpp"

// A damaged header may make HDF5 allocate terabytes. HDF5 handles the failure, so AddressSanitizer
// must not abort.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace aperture::media::tests {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Handle compound(const std::vector<std::pair<std::string, hid_t>>& members) {
    std::size_t bytes = 0;
    for (const auto& member : members) bytes += H5Tget_size(member.second);
    Handle type{H5Tcreate(H5T_COMPOUND, bytes), H5Tclose};
    std::size_t at = 0;
    for (const auto& [name, member] : members) {
        H5Tinsert(type, name.c_str(), at, member);
        at += H5Tget_size(member);
    }
    return type;
}

Handle complex64() { return compound({{"r", H5T_IEEE_F32LE}, {"i", H5T_IEEE_F32LE}}); }

void cube_of_type(const std::filesystem::path& path, hid_t type,
                  const std::vector<hsize_t>& extents) {
    const Handle file = new_file(path);
    add_dataset(file, "/cube", type, extents);
}

void replace_all(const std::filesystem::path& path, const std::string& from,
                 const std::string& to) {
    std::string bytes = read_bytes(path);
    std::size_t found = 0;
    for (std::size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; at += to.size()) {
        bytes.replace(at, from.size(), to);
        ++found;
    }
    ASSERT_GT(found, 0U);
    write_bytes(path, bytes);
}

std::string little_endian(std::uint64_t value) {
    std::string bytes;
    for (int b = 0; b < 8; ++b) bytes += static_cast<char>(value >> 8 * b & 0xff);
    return bytes;
}

struct BadFile {
    std::string name;
    void (*write)(const std::filesystem::path&);
    std::string expected;  ///< after "PATH: "
};
void PrintTo(const BadFile& file, std::ostream* stream) { *stream << file.name; }

using Path = const std::filesystem::path&;

const std::vector<BadFile> bad_files = {
    {"missing", [](Path) {}, "no such file"},
    {"folder", [](Path path) { std::filesystem::create_directory(path); }, "is a directory"},
    {"empty", [](Path path) { write_bytes(path, ""); }, "not an HDF5 file"},
    {"words", [](Path path) { write_bytes(path, "these are words\n"); }, "not an HDF5 file"},
    {"signature_only", [](Path path) { write_bytes(path, "\x89HDF\r\n\x1a\n"); },
     "file is truncated"},
    {"rank_1", [](Path path) { cube_of_type(path, complex64(), {8}); },
     "dataset /cube has rank 1, expected 3 or 4"},
    {"rank_2",
     [](Path path) {
         cube_of_type(path, complex64(), {8, 4});
     },
     "dataset /cube has rank 2, expected 3 or 4"},
    {"rank_5",
     [](Path path) {
         cube_of_type(path, complex64(), {2, 2, 2, 2, 2});
     },
     "dataset /cube has rank 5, expected 3 or 4"},
    {"rank_0", [](Path path) { cube_of_type(path, complex64(), {}); },
     "dataset /cube has rank 0, expected 3 or 4"},
    {"real",
     [](Path path) {
         cube_of_type(path, H5T_IEEE_F32LE, {2, 3, 4});
     },
     "dataset /cube is real (float32 [2,3,4])"},
    {"real_rank_4",
     [](Path path) {
         cube_of_type(path, H5T_IEEE_F32LE, {3, 3, 4, 5});
     },
     "dataset /cube is real (float32 [3,3,4,5])"},
    {"parts_of_different_extents",
     [](Path path) {
         const std::vector<float> values(30);
         const Handle file = new_file(path);
         add_dataset(file, "/real", H5T_IEEE_F32LE, {2, 3, 4}, values.data());
         add_dataset(file, "/imag", H5T_IEEE_F32LE, {2, 3, 5}, values.data());
     },
     "dataset /imag is [2,3,5], but /real is [2,3,4]"},
    {"real_part_alone",
     [](Path path) {
         const std::vector<float> values(24);
         const Handle file = new_file(path);
         add_dataset(file, "/real", H5T_IEEE_F32LE, {2, 3, 4}, values.data());
     },
     "no 3-D or 4-D complex dataset among /real float32 [2,3,4]"},
    {"other_names",
     [](Path path) {
         cube_of_type(path, compound({{"x", H5T_IEEE_F32LE}, {"y", H5T_IEEE_F32LE}}), {2, 3, 4});
     },
     "dataset /cube has elements of type compound {x,y}"},
    {"mixed_names",
     [](Path path) {
         cube_of_type(path, compound({{"r", H5T_IEEE_F32LE}, {"imag", H5T_IEEE_F32LE}}), {2, 3, 4});
     },
     "dataset /cube has elements of type compound {r,imag}"},
    {"names_in_the_wrong_case",
     [](Path path) {
         cube_of_type(path, compound({{"R", H5T_IEEE_F32LE}, {"I", H5T_IEEE_F32LE}}), {2, 3, 4});
     },
     "dataset /cube has elements of type compound {R,I}"},
    {"three_members",
     [](Path path) {
         cube_of_type(path,
                      compound({{"r", H5T_STD_I16LE}, {"i", H5T_STD_I16LE}, {"q", H5T_STD_I16LE}}),
                      {2, 3, 4});
     },
     "dataset /cube has elements of type compound {r,i,q}"},
    {"unequal_members",
     [](Path path) {
         cube_of_type(path, compound({{"r", H5T_STD_I16LE}, {"i", H5T_IEEE_F32LE}}), {2, 3, 4});
     },
     "dataset /cube has elements of type compound {r,i}"},
    {"strings",
     [](Path path) {
         cube_of_type(path, H5T_C_S1, {2, 3, 4});
     },
     "dataset /cube has elements of type string"},
    {"zero_extent",
     [](Path path) {
         cube_of_type(path, complex64(), {2, 0, 4});
     },
     "dataset /cube is empty: its extents are [2,0,4]"},
    {"never_written",
     [](Path path) {
         cube_of_type(path, complex64(), {1000, 1000, 1000});
     },
     "dataset /cube declares 8000000000 bytes (extents [1000,1000,1000]) but the file holds 0"},
    {"group",
     [](Path path) {
         const Handle file = new_file(path);
         const Handle group{H5Gcreate2(file, "/cube", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                            H5Gclose};
     },
     "/cube is not a dataset"},
    {"dangling_link",
     [](Path path) {
         const Handle file = new_file(path);
         H5Lcreate_soft("/nowhere", file, "/cube", H5P_DEFAULT, H5P_DEFAULT);
     },
     "no dataset /cube"},
    {"external_storage",
     [](Path path) {
         const Handle file = new_file(path);
         const Handle creation{H5Pcreate(H5P_DATASET_CREATE), H5Pclose};
         H5Pset_external(creation, "/dev/zero", 0, H5F_UNLIMITED);
         const std::array<hsize_t, 3> extents = {2, 3, 4};
         const Handle space{H5Screate_simple(3, extents.data(), nullptr), H5Sclose};
         const Handle dataset{
             H5Dcreate2(file, "/cube", complex64(), space, H5P_DEFAULT, creation, H5P_DEFAULT),
             H5Dclose};
     },
     "dataset /cube stores its data in other files"},
    {"huge_extents",
     [](Path path) {
         write_cube(path, {.shape = {3, 0x1234, 7}});
         replace_all(path, little_endian(0x1234), little_endian(0x123456789abcd));
     },
     "dataset /cube "},
    {"overflowing_extents",
     [](Path path) {
         write_cube(path, {.shape = {3, 0x1234, 7}});
         replace_all(path, little_endian(0x1234), little_endian(0x7fffffffffffffff));
     },
     "dataset /cube "},
    {"negative_extents",
     [](Path path) {
         write_cube(path, {.shape = {3, 0x1234, 7}});
         replace_all(path, little_endian(0x1234), little_endian(0xfffffffffffffff0));
     },
     "dataset /cube "},
    // A message of version 5 and class 11, as HDF5 2.0 writes a native complex type.
    {"native_complex_of_hdf5_2",
     [](Path path) {
         write_cube(path, {});
         replace_all(path, std::string("\x16\x02\x00\x00\x08\x00\x00\x00", 8),
                     std::string("\x5b\x02\x00\x00\x08\x00\x00\x00", 8));
     },
     "dataset /cube has elements of a type unknown to this version of HDF5"},
    // Replaces the number of the deflate filter by an unassigned one.
    {"absent_filter",
     [](Path path) {
         write_cube(path, {.chunk = {1, 5, 7}});
         std::string bytes = read_bytes(path);
         const std::size_t name = bytes.find("deflate");
         ASSERT_NE(name, std::string::npos);
         bytes[name - 8] = '\x3c';
         bytes[name - 7] = '\x7f';
         write_bytes(path, bytes);
     },
     "dataset /cube is compressed by a filter that is not installed (number 32572, deflate)"},
    {"bfloat16",
     [](Path path) {
         const Handle number{H5Tcopy(H5T_IEEE_F32LE), H5Tclose};
         H5Tset_fields(number, 15, 7, 8, 0, 7);
         H5Tset_precision(number, 16);
         H5Tset_size(number, 2);
         cube_of_type(path, compound({{"r", number}, {"i", number}}), {2, 3, 4});
     },
     "dataset /cube has elements of type compound {r,i}"},
};

class BadCube : public testing::TestWithParam<BadFile> {};

INSTANTIATE_TEST_SUITE_P(All, BadCube, testing::ValuesIn(bad_files),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(BadCube, IsRefusedWithTheReason) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "cube.h5";
    GetParam().write(path);
    EXPECT_THAT(error_of_reading_cube(path),
                StartsWith(path.string() + ": " + GetParam().expected));
}

TEST(BadCube, DatasetAskedForIsNotThere) {
    const TemporaryFolder folder;
    write_cube(folder / "cube.h5", {});
    EXPECT_THAT(error_of([&] {
                    CubeReader({folder / "cube.h5", "a/b"});
                }),
                testing::EndsWith("cube.h5: no dataset /a/b"));
    EXPECT_THAT(error_of([&] { CubeReader({folder / "cube.h5", ""}); }), HasSubstr("empty"));
}

TEST(BadCube, UnreadableFile) {
    if (::geteuid() == 0) GTEST_SKIP() << "root may read every file";
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "cube.h5";
    write_cube(path, {});
    std::filesystem::permissions(path, std::filesystem::perms::none);
    EXPECT_EQ(error_of_reading_cube(path), path.string() + ": permission denied");
}

TEST(BadCube, TruncatedAnywhereIsRefused) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "cube.h5";
    for (const bool chunked : {false, true}) {
        StoredCube cube;
        if (chunked) cube.chunk = {1, 5, 7};
        write_cube(path, cube);
        const std::string whole = read_bytes(path);
        EXPECT_EQ(error_of_reading_cube(path), "");
        for (std::size_t length = 8; length < whole.size(); length += 97) {
            write_bytes(path, whole.substr(0, length));
            EXPECT_THAT(error_of_reading_cube(path), HasSubstr("file is truncated")) << length;
        }
        write_bytes(path, whole.substr(0, whole.size() - 1));
        EXPECT_EQ(error_of_reading_cube(path), path.string() + ": file is truncated");
    }
}

// A contiguous dataset without strings of variable length: if those or compressed chunks are
// damaged, HDF5 1.10 itself reads outside its buffers.
TEST(BadCube, DamagedBytesNeverCrash) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "cube.h5";
    write_cube(path, {.number = "int16"});
    {
        const Handle file = open_to_add(path);
        const Handle dataset{H5Oopen(file, "/cube", H5P_DEFAULT), H5Oclose};
        add_number(dataset, "prf_hz", 625);
        add_string(dataset, "axes", "channel,pulse,range");
    }
    const std::string whole = read_bytes(path);
    std::mt19937 random(20260101);
    int refused = 0;
    for (int trial = 0; trial < 300; ++trial) {
        std::string damaged = whole;
        for (int flips = 1 + trial % 4; flips > 0; --flips) {
            damaged[random() % damaged.size()] ^= static_cast<char>(1U << random() % 8);
        }
        write_bytes(path, damaged);
        refused += error_of_reading_cube(path).empty() ? 0 : 1;
    }
    EXPECT_GT(refused, 20);
    EXPECT_LT(refused, 300);
}

}  // namespace
}  // namespace aperture::media::tests
