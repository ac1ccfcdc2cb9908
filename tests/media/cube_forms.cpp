// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Every form of complex numbers, axis orders and storage layouts in a file.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "aperture/media/cube_file.hpp"
#include "libmedia/src/sample_form.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {
namespace {

using Samples = core::Array<std::complex<float>, 3>;

const std::vector<std::string> numbers = {"float16", "float32", "float64", "int8",
                                          "uint8",   "int16",   "uint16",  "int32",
                                          "uint32",  "int64",   "uint64"};
const std::vector<std::vector<std::string>> member_pairs = {
    {"r", "i"}, {"real", "imag"}, {"re", "im"}, {"Re", "Im"}, {"I", "Q"}, {"i", "q"}};
const std::array<std::array<int, 3>, 6> orders = {
    {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};

std::string axes_of(const std::array<int, 3>& canonical) {
    const std::array<std::string, 3> names = {"channel", "pulse", "range"};
    std::string list;
    for (const int axis : canonical)
        list += (list.empty() ? "" : ",") + names[static_cast<std::size_t>(axis)];
    return list;
}

Samples read_whole(const std::filesystem::path& path, const StoredCube& cube) {
    CubeReader reader({path, {}, axes_of(cube.canonical), {}});
    EXPECT_EQ(reader.info().shape(), cube.shape);
    Samples samples(cube.shape);
    reader.read(samples);
    return samples;
}

class NumberForm : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(NumberForm, IsReadExactlyUnderEveryNameAndOrder) {
    const TemporaryFolder folder;
    const auto& [number, big_endian] = GetParam();
    for (const auto& order : orders) {
        StoredCube cube{
            .number = number, .big_endian = big_endian, .members = {}, .canonical = order};
        write_cube(folder / "trailing.h5", cube);
        expect_samples(cube, read_whole(folder / "trailing.h5", cube));
        for (const auto& pair : member_pairs) {
            for (const bool imag_first : {false, true}) {
                cube.members = imag_first ? std::vector{pair[1], pair[0]} : pair;
                cube.imag_first = imag_first;
                write_cube(folder / "compound.h5", cube);
                expect_samples(cube, read_whole(folder / "compound.h5", cube));
                ASSERT_FALSE(HasFatalFailure())
                    << pair[0] << ", imaginary part first: " << imag_first;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, NumberForm,
                         testing::Combine(testing::ValuesIn(numbers), testing::Bool()),
                         [](const auto& instance) {
                             return std::get<0>(instance.param) +
                                    (std::get<1>(instance.param) ? "_big" : "_little");
                         });

TEST(ComplexForm, NamesWhatIsStored) {
    const TemporaryFolder folder;
    const auto element = [&](const StoredCube& cube) {
        write_cube(folder / "cube.h5", cube);
        return CubeReader({folder / "cube.h5"}).info().element;
    };
    EXPECT_EQ(element({}), "complex64 {r,i}");
    EXPECT_EQ(element({.number = "float64", .members = {"real", "imag"}}),
              "complex128 {real,imag}");
    EXPECT_EQ(element({.number = "int16", .big_endian = true}), "int16 big-endian {r,i}");
    EXPECT_EQ(element({.members = {"Q", "I"}, .imag_first = true}), "complex64 {Q,I}");
    EXPECT_EQ(element({.members = {}}), "float32 [...,2]");
    EXPECT_EQ(element({.number = "uint8", .members = {}}), "uint8 [...,2]");
}

TEST(ComplexForm, PaddedMembersAreFoundAtTheirOffsets) {
    const TemporaryFolder folder;
    for (const std::string number : {"int16", "float32", "float64"}) {
        const StoredCube cube{
            .number = number, .members = {"i", "r"}, .imag_first = true, .padding = 3};
        write_cube(folder / "cube.h5", cube);
        expect_samples(cube, read_whole(folder / "cube.h5", cube));
    }
}

// Every binary16 number against the definition: (-1)^s 2^(e-15) (1 + m/1024), subnormals,
// infinities.
TEST(ComplexForm, EveryHalfIsExact) {
    std::vector<std::uint16_t> halves;
    for (int bits = 0; bits < 65536; ++bits) halves.push_back(static_cast<std::uint16_t>(bits));
    std::vector<std::complex<float>> read(halves.size() / 2);
    const SampleForm form{{Number::Kind::floating, 2, false}, 4, 0, 2, ""};
    form.convert(reinterpret_cast<const std::byte*>(halves.data()), 32768, read.data());
    for (std::size_t bits = 0; bits < 65536; ++bits) {
        const auto value = bits % 2 == 0 ? read[bits / 2].real() : read[bits / 2].imag();
        const int exponent = static_cast<int>(bits >> 10 & 31);
        const double mantissa = static_cast<double>(bits & 1023) / 1024;
        double expected =
            exponent == 0 ? std::ldexp(mantissa, -14) : std::ldexp(1 + mantissa, exponent - 15);
        if (exponent == 31)
            expected = mantissa == 0 ? std::numeric_limits<double>::infinity() : NAN;
        if (bits >> 15 != 0) expected = -expected;
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(value)) << bits;
        } else {
            ASSERT_EQ(static_cast<double>(value), expected) << bits;
        }
    }
}

TEST(ComplexForm, ExtremeIntegersKeepTheirValue) {
    const std::array<std::int64_t, 2> wide = {INT64_MIN, INT64_MAX};
    std::complex<float> read;
    const SampleForm form{{Number::Kind::signed_integer, 8, false}, 16, 0, 8, ""};
    form.convert(reinterpret_cast<const std::byte*>(wide.data()), 1, &read);
    EXPECT_EQ(read, std::complex<float>(-0x1p63F, 0x1p63F));
    const std::array<std::uint64_t, 2> wider = {UINT64_MAX, 1};
    const SampleForm unsigned_form{{Number::Kind::unsigned_integer, 8, false}, 16, 0, 8, ""};
    unsigned_form.convert(reinterpret_cast<const std::byte*>(wider.data()), 1, &read);
    EXPECT_EQ(read, std::complex<float>(0x1p64F, 1.0F));
}

struct Layout {
    std::string name;
    StoredCube cube;
};
void PrintTo(const Layout& layout, std::ostream* stream) { *stream << layout.name; }

class StoredLayout : public testing::TestWithParam<Layout> {};

// Shapes span several of the conversion's runs (4096), tiles (16 x 64) and blocks (4 MiB).
INSTANTIATE_TEST_SUITE_P(
    All, StoredLayout,
    testing::Values(
        Layout{"one_sample", {.shape = {1, 1, 1}}},
        Layout{"int16_runs", {.number = "int16", .shape = {2, 3, 4099}}},
        Layout{"int16_tiles", {.number = "int16", .canonical = {2, 1, 0}, .shape = {63, 2, 17}}},
        Layout{"int16_tiles_more",
               {.number = "int16", .canonical = {1, 2, 0}, .shape = {65, 16, 33}}},
        Layout{"double_blocks", {.number = "float64", .shape = {7, 31, 1999}}},
        Layout{"float_transposed_blocks", {.canonical = {2, 0, 1}, .shape = {19, 37, 1201}}},
        Layout{"chunked", {.number = "int16", .shape = {5, 33, 301}, .chunk = {2, 8, 64}}},
        Layout{"chunked_float", {.shape = {5, 33, 301}, .chunk = {5, 33, 10}}},
        Layout{"chunked_transposed",
               {.number = "int8",
                .canonical = {1, 0, 2},
                .shape = {5, 33, 301},
                .chunk = {4, 5, 301}}},
        Layout{"chunked_trailing", {.members = {}, .shape = {3, 17, 100}, .chunk = {1, 17, 33}}},
        Layout{"one_chunk_beyond_the_extent", {.shape = {3, 4, 5}, .chunk = {3, 4, 5}}}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(StoredLayout, ReadsWholeAndIntoStrides) {
    const TemporaryFolder folder;
    const StoredCube& cube = GetParam().cube;
    write_cube(folder / "cube.h5", cube);
    const auto [channels, pulses, ranges] = cube.shape;
    CubeReader reader({folder / "cube.h5", {}, axes_of(cube.canonical), {}});
    Samples whole(cube.shape);
    reader.read(whole);
    expect_samples(cube, whole);

    // The target has guard values as padding in every dimension, and range is its slowest axis.
    const std::complex<float> guard(-1000, 1000);
    std::vector<std::complex<float>> storage(
        static_cast<std::size_t>((channels + 2) * (pulses + 1) * (ranges + 3)), guard);
    const core::View<std::complex<float>, 3, core::Host> padded(
        storage.data() + 1, cube.shape, {(pulses + 1) * (ranges + 3), ranges + 3, 1});
    reader.read(padded);
    expect_samples(cube, padded);
    EXPECT_EQ(storage.front(), guard);
    EXPECT_EQ(padded.data[ranges], guard);
    const core::View<std::complex<float>, 3, core::Host> range_slowest(
        storage.data(), cube.shape, {1, channels, channels * pulses});
    reader.read(range_slowest);
    expect_samples(cube, range_slowest);
    if (channels == 1 && pulses == 1) {
        std::vector<std::complex<float>> with_gaps(static_cast<std::size_t>(2 * ranges));
        const core::View<std::complex<float>, 3, core::Host> no_unit_stride(
            with_gaps.data(), cube.shape, {1000, 1000, 2});
        reader.read(no_unit_stride);
        expect_samples(cube, no_unit_stride);
    }
}

TEST(CubeReader, GivesTheSameForAnyNumberOfThreads) {
    const TemporaryFolder folder;
    const StoredCube cube{.number = "int16", .canonical = {1, 0, 2}, .shape = {9, 20, 1000}};
    write_cube(folder / "cube.h5", cube);
    for (const int threads : {1, 2, 5}) {
        CubeReader reader({folder / "cube.h5", {}, "pulse,channel,range", {}}, threads);
        Samples samples(cube.shape);
        reader.read(samples);
        expect_samples(cube, samples);
    }
}

TEST(CubeReader, RefusesAViewOfAnotherShape) {
    const TemporaryFolder folder;
    write_cube(folder / "cube.h5", {});
    CubeReader reader({folder / "cube.h5"});
    Samples samples({3, 5, 6});
    EXPECT_EQ(error_of([&] { reader.read(samples); }),
              "cube of [3,5,7] does not match the view of [3,5,6]");
}

}  // namespace
}  // namespace aperture::media::tests
