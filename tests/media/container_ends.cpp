// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "libmedia/src/container_end.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {
namespace {

using namespace std::string_literals;

struct Container {
    std::string name;
    std::string bytes;
    std::optional<std::uint64_t> end;
};
void PrintTo(const Container& container, std::ostream* stream) { *stream << container.name; }

class ContainerEnd : public testing::TestWithParam<Container> {};

const std::string riff = "RIFF\x10\0\0\0AVI "s;
const std::string ftyp =
    "\0\0\0\x10"
    "ftypisom\0\0\0\0"s;
const std::string ebml =
    "\x1a\x45\xdf\xa3\x83"
    "abc"s;
const std::string segment = "\x18\x53\x80\x67"s;

INSTANTIATE_TEST_SUITE_P(
    All, ContainerEnd,
    testing::Values(
        Container{"avi", riff + std::string(12, 'x'), 24}, Container{"avi_cut_off", riff, 24},
        Container{"avi_odd", "RIFF\x11\0\0\0AVI "s, 26},
        Container{"avi_in_two", riff + std::string(12, 'x') + "RIFF\x20\0\0\0AVIX"s, 64},
        Container{"avi_before_something", riff + std::string(12, 'x') + "RIFF\x20\0\0\0WAVE"s, 24},
        Container{"avi_left_open", "RIFF\0\0\0\0AVI "s, std::nullopt},
        Container{"wave", "RIFF\x10\0\0\0WAVE"s, std::nullopt},
        Container{"mp4",
                  ftyp + "\0\0\0\x09"
                         "mdatx"s,
                  25},
        Container{"mp4_cut_off",
                  ftyp + "\0\0\1\0"
                         "mdatx"s,
                  272},
        Container{"mp4_cut_off_in_a_header", ftyp + "\0\0"s, 24},
        Container{"mp4_large",
                  ftyp + "\0\0\0\1"
                         "mdat\0\0\0\1\0\0\0\0"s,
                  16 + 0x100000000},
        Container{"mp4_to_the_end",
                  ftyp + "\0\0\0\0"
                         "mdatabcd"s,
                  28},
        Container{"mp4_before_zeros", ftyp + std::string(16, '\0'), 16},
        Container{"mp4_absurd",
                  ftyp + "\0\0\0\1"
                         "mdat\xff\xff\xff\xff\xff\xff\xff\xff"s,
                  16},
        Container{"matroska", ebml + segment + "\x82xy"s, 15},
        Container{"matroska_cut_off", ebml + segment + "\x40\x80xy"s, 142},
        Container{"matroska_left_open", ebml + segment + "\x01\xff\xff\xff\xff\xff\xff\xff"s,
                  std::nullopt},
        Container{"matroska_without_segment", ebml, std::nullopt},
        Container{"text", "a text that is no video at all\n", std::nullopt},
        Container{"short_text", "text\n", std::nullopt}, Container{"empty", "", std::nullopt}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(ContainerEnd, IsWhereThePartsEnd) {
    const TemporaryFolder folder;
    write_bytes(folder / "a", GetParam().bytes);
    EXPECT_EQ(container_end(folder / "a"), GetParam().end);
}

TEST(ContainerEnd, IsNotKnownOfWhatCannotBeRead) {
    const TemporaryFolder folder;
    EXPECT_EQ(container_end(folder / "none"), std::nullopt);
    EXPECT_EQ(container_end(folder / ""), std::nullopt);
}

}  // namespace
}  // namespace aperture::media::tests
