// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Cubes in NumPy's format: each form as its HDF5 file, and damaged headers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

#include "aperture/core/error.hpp"
#include "aperture/media/cube_file.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

using Samples = core::Array<std::complex<float>, 3>;

std::string npy(const std::string& words, const std::string& data, int version = 1) {
    std::string bytes = "\x93NUMPY";
    bytes += static_cast<char>(version);
    bytes += '\0';
    for (int b = 0; b < (version == 1 ? 2 : 4); ++b) {
        bytes += static_cast<char>(words.size() >> 8 * b & 0xff);
    }
    return bytes + words + data;
}

std::string words_of(const std::string& type, const std::string& shape,
                     const std::string& fortran = "False") {
    return "{'descr': " + type + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

std::string shape_text(const std::vector<index_t>& extents) {
    std::string list = "(";
    for (const index_t extent : extents) list += std::to_string(extent) + ", ";
    return list + ")";
}

std::string number_text(const StoredCube& cube) {
    const std::size_t digits = cube.number.find_first_of("0123456789");
    const int bytes = std::stoi(cube.number.substr(digits)) / 8;
    const char order = bytes == 1 ? '|' : cube.big_endian ? '>' : '<';
    return order + std::string(1, cube.number[0]) + std::to_string(bytes);
}

std::string type_text(const StoredCube& cube) {
    const std::string number = number_text(cube);
    if (cube.members.empty()) return "'" + number + "'";
    std::string list;
    for (const std::string& member : cube.members) {
        if (cube.padding > 0) list += core::text("('', '|V", cube.padding, "'), ");
        list += core::text("('", member, "', '", number, "'), ");
    }
    return "[" + list.substr(0, list.size() - 2) + "]";
}

void write_npy(const std::filesystem::path& path, const StoredCube& cube,
               const std::string& type = "", int version = 1) {
    const core::Extents<3> extent = stored_extents(cube);
    std::vector<index_t> shape(extent.begin(), extent.end());
    if (cube.members.empty()) shape.push_back(2);
    write_bytes(path, npy(words_of(type.empty() ? type_text(cube) : type, shape_text(shape)),
                          stored_bytes(cube), version));
}

void expect_cube(const std::filesystem::path& path, const StoredCube& cube,
                 const CubeRequest& request = {}) {
    CubeRequest of_path = request;
    of_path.path = path;
    CubeReader reader(of_path);
    ASSERT_EQ(reader.info().shape(), cube.shape);
    Samples samples(cube.shape);
    reader.read(samples);
    expect_samples(cube, samples);
}

TEST(NpyCube, HasTheNumbersAndTheNameOfItsHdf5File) {
    const TemporaryFolder folder;
    for (const std::string number : {"float16", "float32", "float64", "int8", "uint8", "int16",
                                     "uint16", "int32", "uint32", "int64", "uint64"}) {
        for (const bool big_endian : {false, true}) {
            for (const std::vector<std::string>& members :
                 std::vector<std::vector<std::string>>{{}, {"r", "i"}, {"Q", "I"}}) {
                for (const std::size_t padding : {0, 3}) {
                    StoredCube cube{.number = number,
                                    .big_endian = big_endian,
                                    .members = members,
                                    .imag_first = !members.empty() && members[0] == "Q",
                                    .padding = members.empty() ? 0 : padding};
                    write_npy(folder / "cube.npy", cube);
                    expect_cube(folder / "cube.npy", cube);
                    write_cube(folder / "cube.h5", cube);
                    EXPECT_EQ(CubeReader({folder / "cube.npy"}).info().element,
                              CubeReader({folder / "cube.h5"}).info().element);
                }
            }
        }
    }
}

TEST(NpyCube, OfComplexNumbers) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "cube.npy";
    for (const bool big_endian : {false, true}) {
        for (const std::string number : {"float32", "float64"}) {
            const StoredCube cube{
                .number = number, .big_endian = big_endian, .shape = {3, 70, 900}};
            const std::string type =
                std::string(big_endian ? "'>c" : "'<c") + (number == "float32" ? "8'" : "16'");
            for (const int version : {1, 2, 3}) {
                write_npy(path, cube, type, version);
                expect_cube(path, cube);
            }
        }
    }
    write_npy(path, {.big_endian = true}, "'>c8'");
    const RadarCube info = CubeReader({path}).info();
    EXPECT_EQ(info.element, "complex64 big-endian {r,i}");
    EXPECT_EQ(info.axes, "channel,pulse,range");
    EXPECT_EQ(info.axis_rule, AxisRule::canonical);
    EXPECT_FALSE(info.prf_hz.has_value());
    EXPECT_FALSE(info.steering.has_value());
}

TEST(NpyCube, HasItsAxesAsAsked) {
    const TemporaryFolder folder;
    const StoredCube cube{.canonical = {2, 0, 1}, .shape = {4, 5, 1000}};
    write_npy(folder / "cube.npy", cube, "'<c8'");
    expect_cube(folder / "cube.npy", cube, {.path = {}, .axes = "range,channel,pulse"});
}

// NumPy's axes are in reverse order in the file.
TEST(NpyCube, InFortranOrderHasTheAxesOfTheArray) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "cube.npy";
    const StoredCube reverse{.canonical = {2, 1, 0}, .shape = {4, 5, 6}};
    for (const std::string type : {"'<c8'", "[('r', '<f4'), ('i', '<f4')]"}) {
        write_bytes(path, npy(words_of(type, "(4, 5, 6)", "True"), stored_bytes(reverse)));
        expect_cube(path, reverse);
        EXPECT_EQ(CubeReader({path}).info().axes, "channel,pulse,range");
    }
    const StoredCube rotated{.canonical = {1, 0, 2}, .shape = {4, 5, 6}};
    write_bytes(path, npy(words_of("'<c8'", "(6, 4, 5)", "True"), stored_bytes(rotated)));
    expect_cube(path, rotated, {.path = {}, .axes = "range,channel,pulse"});
    EXPECT_EQ(CubeReader({.path = path, .axes = "range,channel,pulse"}).info().axes,
              "range,channel,pulse");

    write_bytes(path, npy(words_of("'<f4'", "(4, 5, 6, 2)", "True"), std::string(960, '\0')));
    EXPECT_EQ(error_of_reading_cube(path),
              path.string() +
                  ": is an array of real numbers in Fortran order; save "
                  "numpy.ascontiguousarray(array) instead");
}

TEST(NpyCube, OfRealNumbersMayHaveItsPartsFirst) {
    const TemporaryFolder folder;
    const StoredCube parts{.members = {}, .shape = {1, 1, 60}};
    std::string reals;
    std::string imags;
    const std::string bytes = stored_bytes(parts);
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
        reals += bytes.substr(at, 4);
        imags += bytes.substr(at + 4, 4);
    }
    write_bytes(folder / "cube.npy", npy(words_of("'<f4'", "(2, 1, 1, 60)"), reals + imags));
    expect_cube(folder / "cube.npy", parts);
    EXPECT_EQ(CubeReader({folder / "cube.npy"}).info().element, "float32 [2,...]");
}

TEST(NpyCube, IsKnownByItsContentAndHasNoDatasets) {
    const TemporaryFolder folder;
    write_npy(folder / "cube.h5", {}, "'<c8'");
    expect_cube(folder / "cube.h5", {});
    EXPECT_EQ(error_of([&] {
                  CubeReader({folder / "cube.h5", "/cube"});
              }),
              (folder / "cube.h5").string() +
                  ": is a NumPy file, which has no datasets; it was asked for /cube");
}

TEST(NpyCube, IsReadTwiceAtOnceAndStaysAsItIs) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "cube.npy";
    write_npy(path, {}, "'<c8'");
    const std::string before = read_bytes(path);
    {
        const CubeReader first({path});
        expect_cube(path, {});
    }
    EXPECT_EQ(read_bytes(path), before);
}

TEST(NpyCube, IsNoPipeAndNoFolder) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo((folder / "pipe.npy").c_str(), 0600), 0);
    EXPECT_THAT(error_of_reading_cube(folder / "pipe.npy"),
                EndsWith("pipe.npy: not a regular file"));
    EXPECT_THAT(error_of_reading_cube(folder / "none.npy"), EndsWith("none.npy: no such file"));
}

TEST(NpyCube, WhoseFileShrinksIsRefused) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "cube.npy";
    write_npy(path, {}, "'<c8'");
    CubeReader reader({path});
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
    Samples samples(reader.info().shape());
    EXPECT_THAT(error_of([&] { reader.read(samples); }),
                StartsWith(path.string() + ": dataset /cube cannot be read"));
}

struct BadArray {
    std::string name;
    std::string bytes;
    std::string expected;  ///< after "PATH: "
};
void PrintTo(const BadArray& array, std::ostream* stream) { *stream << array.name; }

BadArray with_type(const std::string& name, const std::string& type, const std::string& expected) {
    return {name, npy(words_of(type, "(2, 3, 4)"), std::string(192, '\0')), expected};
}
BadArray with_shape(const std::string& name, const std::string& shape, std::size_t bytes,
                    const std::string& expected) {
    return {name, npy(words_of("'<c8'", shape), std::string(bytes, '\0')), expected};
}
BadArray with_words(const std::string& name, const std::string& words,
                    const std::string& expected) {
    return {name, npy(words, std::string(192, '\0')), "its NumPy header " + expected};
}

const std::string expected_numbers = "; expected real or complex numbers";
const std::string good = words_of("'<c8'", "(2, 3, 4)");

const std::vector<BadArray> bad_arrays = {
    {"magic_only", "\x93NUMPY", "file is truncated"},
    {"without_length", npy("", "").substr(0, 9), "file is truncated"},
    {"inside_the_header", npy(good, "").substr(0, 30), "file is truncated"},
    {"version_9", npy(good, "", 9), "NumPy's format 9.0 is unknown, expected 1.0, 2.0 or 3.0"},
    {"version_0", npy(good, "", 0), "NumPy's format 0.0 is unknown"},
    {"huge_header", npy(std::string(70000, ' '), "", 2),
     "its NumPy header has 70000 bytes, expected at most 65535"},
    {"truncated", npy(good, std::string(191, '\0')),
     "file is truncated: its array needs 192 bytes, but 191 follow the header"},
    {"without_data", npy(good, ""), "file is truncated"},
    {"with_more", npy(good, std::string(195, '\0')), "holds 3 bytes more than its array"},
    with_type("objects", "'|O'",
              "has elements of NumPy's type '|O' (Python objects)" + expected_numbers),
    with_type("strings", "'<U3'", "has elements of NumPy's type '<U3' (strings)"),
    with_type("bytes", "'|S5'", "has elements of NumPy's type '|S5' (strings)"),
    with_type("booleans", "'|b1'", "has elements of NumPy's type '|b1' (booleans)"),
    with_type("times", "'<M8[s]'", "has elements of NumPy's type '<M8[s]' (times)"),
    with_type("raw", "'|V8'", "has elements of NumPy's type '|V8' (raw bytes)"),
    with_type("extended", "'<f16'", "has elements of NumPy's type '<f16'; expected"),
    with_type("extended_complex", "'<c32'", "has elements of NumPy's type '<c32'; expected"),
    with_type("half_complex", "'<c4'", "has elements of NumPy's type '<c4'; expected"),
    with_type("odd_size", "'<i3'", "has elements of NumPy's type '<i3'; expected"),
    with_type("no_size", "'<i'", "has elements of NumPy's type '<i'; expected"),
    with_type("endless_size", "'<i99999999999999999999'", "has elements of NumPy's type"),
    with_type("no_order", "'i4'", "has elements of NumPy's type 'i4'; expected"),
    with_type("nothing", "''", "has elements of NumPy's type ''; expected"),
    with_type("no_members", "[]", "has records without numbers"),
    with_type("padding_only", "[('', '|V8')]", "has records without numbers"),
    with_type("same_member", "[('r', '<f4'), ('r', '<f4')]", "has two members 'r' in its records"),
    with_type("nested", "[('r', [('x', '<f4')]), ('i', '<f4')]",
              "member 'r' of its records is not a single number"),
    with_type("member_array", "[('r', '<f4', (2,))]",
              "member 'r' of its records is not a single number"),
    with_type("titles", "[(('title', 'r'), '<f4')]",
              "its NumPy header is damaged: expected a string at character 12"),
    with_type("other_names", "[('x', '<f4'), ('y', '<f4')]",
              "dataset /cube has elements of type compound {x,y}"),
    with_type("three_members", "[('r', '<i2'), ('i', '<i2'), ('q', '<f4')]",
              "dataset /cube has elements of type compound {r,i,q}"),
    with_type("unequal", "[('r', '<i2'), ('i', '<i4'), ('', '|V2')]",
              "dataset /cube has elements of type compound {r,i}"),
    with_type("complex_members", "[('r', '<c8')]", "dataset /cube has elements of type compound"),
    with_type("real", "'<f8'", "dataset /cube is real (float64 [2,3,4])"),
    with_shape("scalar", "()", 8, "dataset /cube has rank 0, expected 3 or 4"),
    with_shape("rank_1", "(24,)", 192, "dataset /cube has rank 1, expected 3 or 4"),
    with_shape("rank_5", "(1, 1, 2, 3, 4)", 192, "dataset /cube has rank 5, expected 3 or 4"),
    with_shape("many_axes", shape_text(std::vector<index_t>(33, 1)), 8,
               "its array has 33 axes, expected at most 32"),
    with_shape("empty", "(2, 0, 4)", 0, "dataset /cube is empty: its extents are [2,0,4]"),
    with_shape("empty_and_huge", "(4000000000, 4000000000, 0)", 0,
               "its array is too large: the extents are [4000000000,4000000000,0]"),
    with_shape("huge", "(4000000000, 4000000000, 4000000000)", 192,
               "its array is too large: the extents are [4000000000,4000000000,4000000000]"),
    with_shape("wraps", "(2305843009213693952, 1, 4)", 64, "its array is too large"),
    with_shape("endless", "(99999999999999999999999, 1, 1)", 192,
               "its NumPy header has an extent that is too large"),
    with_shape("negative", "(2, -3, 4)", 192,
               "its NumPy header is damaged: expected an extent at character"),
    with_shape("fraction", "(2.5, 3, 4)", 192, "its NumPy header is damaged: expected ')'"),
    with_shape("list", "[2, 3, 4]", 192, "its NumPy header is damaged: expected '('"),
    with_words("without_shape", "{'descr': '<c8', 'fortran_order': False}", "lacks 'shape'"),
    with_words("without_descr", "{'shape': (2, 3, 4), 'fortran_order': False}", "lacks 'descr'"),
    with_words("without_order", "{'shape': (2, 3, 4), 'descr': '<c8'}", "lacks 'fortran_order'"),
    with_words("nothing_said", "{}", "lacks 'descr'"),
    with_words("unknown_key", "{'descr': '<c8', 'more': 1}", "has the unknown key 'more'"),
    with_words("key_twice", "{'descr': '<c8', 'descr': '<c8'}", "has 'descr' twice"),
    with_words("more_after", good + "x", "is damaged: expected the end"),
    with_words("not_closed", "{'descr': '<c8', ", "is damaged: expected a string"),
    with_words("open_string", "{'descr", "is damaged: expected the end of a string"),
    with_words("escape", "{'de\\nscr': 1}", "is damaged: expected a string without escapes"),
    with_words("two_lines", "{'descr': '<c8\n'}", "is damaged: expected a string without escapes"),
    with_words("number_as_order", words_of("'<c8'", "(2, 3, 4)", "1"),
               "is damaged: expected True or False"),
    with_words("zeros", std::string(100, '\0'), "is damaged: expected '{'"),
};

class BadNpyCube : public testing::TestWithParam<BadArray> {};

INSTANTIATE_TEST_SUITE_P(All, BadNpyCube, testing::ValuesIn(bad_arrays),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(BadNpyCube, IsRefusedWithTheReason) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "cube.npy";
    write_bytes(path, GetParam().bytes);
    EXPECT_THAT(error_of_reading_cube(path),
                StartsWith(path.string() + ": " + GetParam().expected));
}

TEST(BadNpyCube, TruncatedAnywhereIsRefused) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "cube.npy";
    const std::string whole = npy(good, std::string(192, '\0'));
    for (std::size_t length = 6; length < whole.size(); ++length) {
        write_bytes(path, whole.substr(0, length));
        EXPECT_THAT(error_of_reading_cube(path), HasSubstr("file is truncated")) << length;
    }
}

TEST(BadNpyCube, DamagedHeadersNeverCrash) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "cube.npy";
    const std::string whole =
        npy(words_of("[('r', '<i2'), ('i', '<i2')]", "(2, 3, 4)"), std::string(96, '\0'));
    std::mt19937 random(20260101);
    int refused = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        std::string damaged = whole;
        for (int flips = 1 + trial % 4; flips > 0; --flips) {
            damaged[6 + random() % 100] ^= static_cast<char>(1U << random() % 8);
        }
        write_bytes(path, damaged);
        const std::string error = error_of_reading_cube(path);
        refused += error.empty() ? 0 : 1;
        EXPECT_THAT(error, testing::AnyOf("", StartsWith(path.string() + ": ")));
    }
    EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace aperture::media::tests
