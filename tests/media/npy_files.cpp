// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "aperture/media/npy_file.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// The header's text and the data after it, by the format's length fields.
struct Stored {
    std::string words;
    std::string data;
};

Stored stored(const std::filesystem::path& file) {
    const std::string bytes = read_bytes(file);
    EXPECT_THAT(bytes, StartsWith(std::string("\x93NUMPY\x01\x00", 8)));
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(bytes[8])) +
                        256 * static_cast<std::size_t>(static_cast<unsigned char>(bytes[9]));
    EXPECT_EQ((10 + length) % 64, 0U);
    EXPECT_EQ(bytes[9 + length], '\n');
    return {bytes.substr(10, length), bytes.substr(10 + length)};
}

TEST(NpyWriter, SaysHowFarItGrew) {
    const TemporaryFolder folder;
    NpyWriter<float> writer(folder / "a.npy", {2, 3});
    const std::vector<float> item{1, 2, 3, 4, 5, 6};
    writer.append(item.data());
    writer.append(item.data());
    EXPECT_THAT(folder.entries(), testing::Not(testing::Contains("a.npy")));
    writer.finish().commit();
    const Stored file = stored(folder / "a.npy");
    EXPECT_THAT(file.words,
                StartsWith("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 3,), }"));
    ASSERT_EQ(file.data.size(), 12 * sizeof(float));
    std::vector<float> values(12);
    std::memcpy(values.data(), file.data.data(), file.data.size());
    EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
}

TEST(NpyWriter, OfBytes) {
    const TemporaryFolder folder;
    NpyWriter<std::uint8_t> writer(folder / "a.npy", {2});
    const std::vector<std::uint8_t> item{0, 255};
    writer.append(item.data());
    writer.finish().commit();
    const Stored file = stored(folder / "a.npy");
    EXPECT_THAT(file.words, HasSubstr("'|u1', 'fortran_order': False, 'shape': (1, 2,), }"));
    EXPECT_EQ(file.data, std::string("\x00\xff", 2));
}

TEST(NpyWriter, LeavesNothingWithoutCommit) {
    const TemporaryFolder folder;
    {
        NpyWriter<float> writer(folder / "a.npy", {1});
        const float value = 1;
        writer.append(&value);
    }
    EXPECT_THAT(folder.entries(), IsEmpty());
    EXPECT_THAT(error_of([&] { const NpyWriter<float> writer("/dev/null/a.npy", {1}); }),
                HasSubstr("/dev/null/a.npy: cannot write: "));
}

}  // namespace
}  // namespace aperture::media::tests
