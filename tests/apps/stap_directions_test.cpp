// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Positions, elevations, many directions and several CPIs; tests/scripts/results_test compares
// what they give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "aperture/media/result_file.hpp"
#include "apps/stap/positions.hpp"
#include "tests/apps/stap_program.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {
namespace {

using media::tests::error_of;
using media::tests::write_bytes;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class Positions : public testing::Test {
  protected:
    std::vector<stap::ElementPosition> read(const std::string& text) {
        write_bytes(folder_ / "p.txt", text);
        return read_positions(folder_ / "p.txt");
    }
    std::string refusal(const std::string& text) {
        return error_of([&] { read(text); });
    }
    aperture::tests::TemporaryFolder folder_;
};

TEST_F(Positions, AreOneLineEach) {
    const auto line = read("0\n0.5\r\n 1e0 # the last\n\n");
    ASSERT_EQ(line.size(), 3U);
    EXPECT_EQ(line[1].x, 0.5);
    EXPECT_EQ(line[2].x, 1);
    EXPECT_EQ(line[2].y, 0);
    const auto space = read("# x, y, z\n0,1,2\n-0.5\t1.5, 2.5");
    ASSERT_EQ(space.size(), 2U);
    EXPECT_EQ(space[1].x, -0.5);
    EXPECT_EQ(space[1].y, 1.5);
    EXPECT_EQ(space[1].z, 2.5);
}

TEST_F(Positions, AreRefusedWithTheirLine) {
    EXPECT_THAT(refusal("0\n1 x\n"), EndsWith("p.txt:2: 'x' is no number from -1e+06 to 1e+06"));
    EXPECT_THAT(refusal("nan"), HasSubstr("p.txt:1: 'nan' is no number"));
    EXPECT_THAT(refusal("1e9"), HasSubstr("p.txt:1: '1e9' is no number"));
    EXPECT_THAT(refusal("0 1 2 3"), HasSubstr("p.txt:1: 4 numbers, expected x, y, z"));
    EXPECT_THAT(refusal("0 1\n2"), HasSubstr("p.txt:2: 1 numbers, but the lines before have 2"));
    EXPECT_THAT(refusal("# nothing\n"), HasSubstr("p.txt: contains no position"));
    EXPECT_THAT(error_of([&] { read_positions(folder_ / "none"); }), HasSubstr("no such file"));
    EXPECT_THAT(error_of([] { read_positions("/dev/null"); }), HasSubstr("not a regular file"));
    EXPECT_THAT(error_of([&] { read_positions(folder_ / "."); }), HasSubstr("not a regular file"));
}

class StapDirections : public Stap {
  protected:
    std::string refusal(const std::vector<std::string>& flags) {
        const Outcome outcome = run_program("stap", joined({cube()}, flags));
        EXPECT_EQ(outcome.status, 1);
        return outcome.error;
    }
};

TEST_F(StapDirections, OfPositionsAreNamed) {
    make_small_cube();
    const std::string file = folder_ / "p.txt";
    write_bytes(file, "0 0\n0.5 0\n0 0.5\n0.5 0.5\n");
    const auto report = report_of(
        {"--device", "cpu", "--positions", file, "--azimuth", "-10,10", "--elevation", "30"});
    EXPECT_EQ(report["parameters"]["elevation_degrees"], 30);
    EXPECT_FALSE(report["parameters"].contains("element_spacing_wavelengths"));
    EXPECT_THAT(lines(run({"--device", "cpu", "--positions", file}).out),
                testing::Contains(StartsWith("array       positions of " + file)));
    EXPECT_THAT(refusal({"--positions", file, "--spacing", "0.4"}), HasSubstr("--spacing"));
    write_bytes(file, "0\n0.5\n");
    EXPECT_THAT(refusal({"--positions", file}),
                AllOf(HasSubstr("the cube has 4 channels"), HasSubstr("p.txt has 2 positions")));
    EXPECT_THAT(refusal({"--azimuth", "0:90:33", "--elevation", "0:90:32"}),
                HasSubstr("1056 directions exceed the maximum of 1024"));
}

TEST_F(StapDirections, MoreThanARunTakesAreTheSameAsFew) {
    make_small_cube();
    const std::vector<std::string> flags{"--device", "cpu", "--threads", "1"};
    const Samples all = output_of(joined(flags, {"--azimuth", "-65:65:131"}));
    const Samples few = output_of(joined(flags, {"--azimuth", "-1,0,1"}));
    ASSERT_EQ(all.size() / 131, few.size() / 3);
    const std::size_t map = few.size() / 3;
    float scale = 0;
    for (const auto& value : few) scale = std::max(scale, std::abs(value));
    for (std::size_t i = 0; i < few.size(); ++i) {
        ASSERT_LT(std::abs(all[64 * map + i] - few[i]), 1e-4F * scale) << i;
    }
}

TEST_F(StapDirections, SeveralCpisAreFoundOneByOne) {
    core::Array<std::complex<float>, 4> cpis({2, 3, 8, 100});
    std::uint32_t state = 1;
    for (auto& sample : cpis) {
        state = state * 1664525U + 1013904223U;
        sample = {static_cast<float>(state >> 20), static_cast<float>(state >> 8 & 0xfffU)};
    }
    cpis(1, 2, 3, 4) = {NAN, 0};
    {
        media::ResultFile file(cube());
        file.write("/cube", std::as_const(cpis).view(), {"cpi", "channel", "pulse", "range"});
        file.commit();
    }
    EXPECT_THAT(refusal({"--device", "cpu"}),
                HasSubstr("the first at CPI 1, channel 2, pulse 3, range cell 4"));
    const Outcome outcome =
        run({"--device", "cpu", "--allow-nan", "--training", "all", "--azimuth", "0"});
    EXPECT_THAT(lines(outcome.out)[0], HasSubstr(": 2 CPIs x 3 channels x 8 pulses x 100 range"));
    EXPECT_THAT(outcome.out, HasSubstr("2 CPIs x 1 vectors x 8 Doppler bins"));
    EXPECT_THAT(read_dataset<std::complex<float>>(result(), "/output").extent,
                ElementsAre(2, 1, 8, 100));
    EXPECT_THAT(refusal({"--allow-nan", "--detector", "amf", "--truth", cube()}),
                HasSubstr("the cube has 2 CPIs; --truth requires one"));
}

}  // namespace
}  // namespace aperture::apps::tests
