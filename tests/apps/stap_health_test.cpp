// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// stap as a user runs it on cubes whose covariances are hard or impossible to factor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "aperture/core/array.hpp"
#include "aperture/media/result_file.hpp"
#include "tests/apps/program_run.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {
namespace {

using aperture::tests::TemporaryFolder;
using core::index_t;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class StapHealth : public testing::Test {
  protected:
    static constexpr index_t channels = 3;
    static constexpr index_t pulses = 8;
    static constexpr index_t cells = 128;

    /// Writes a cube of white noise after `change` has modified it.
    template <class Change>
    void write_noise(Change change) {
        core::Array<std::complex<float>, 3> cube({channels, pulses, cells});
        std::mt19937 engine(5);
        std::normal_distribution<float> normal;
        for (auto& sample : cube) sample = {normal(engine), normal(engine)};
        change(cube);
        media::ResultFile file(cube_file());
        file.write("/cube", cube.view(), {"channel", "pulse", "range"});
        file.commit();
    }
    void silence_first_block() {
        write_noise([](auto& cube) {
            for (index_t c = 0; c < channels; ++c)
                for (index_t p = 0; p < pulses; ++p)
                    for (index_t r = 0; r < 64; ++r) cube(c, p, r) = 0;
        });
    }
    Outcome run(std::vector<std::string> flags) {
        flags.insert(flags.begin(), {"--cube", cube_file(), "--device", "cpu", "--azimuth", "0"});
        return run_program("stap", flags);
    }
    nlohmann::json report() { return read_json(folder_ / "r.json"); }
    std::string cube_file() const { return folder_ / "cube.h5"; }
    std::string result() const { return folder_ / "cube.stap.h5"; }

    TemporaryFolder folder_;
};

TEST_F(StapHealth, FailedCovariancesAreWarnedOfEvenWhenQuiet) {
    silence_first_block();
    const Outcome outcome = run({"--quiet", "--report", folder_ / "r.json"});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(lines(outcome.error),
                Contains(AllOf(StartsWith("stap: warning: 8 of 16 covariances failed"),
                               HasSubstr("Doppler bin 0, training set 0"))));
    const auto info = read_dataset<int>(result(), "/info");
    EXPECT_THAT(info.extent, ElementsAre(8, 2));
    for (std::size_t i = 0; i < info.values.size(); ++i)
        EXPECT_EQ(info.values[i] != 0, i % 2 == 0) << i;
    EXPECT_EQ(report()["results"]["failed_matrices"], 8);
}

TEST_F(StapHealth, FailedCovariancesEndAStrictRunWithStatusThree) {
    silence_first_block();
    EXPECT_EQ(run({"--strict"}).status, 3);
    EXPECT_TRUE(has_dataset(result(), "/output"));
    write_noise([](auto&) {});
    EXPECT_EQ(run({"--strict"}).status, 0);
}

TEST_F(StapHealth, NoCovarianceAtAllIsAnError) {
    write_noise([](auto& cube) { std::fill(cube.begin(), cube.end(), 0.0f); });
    const Outcome outcome = run({"--quiet"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(lines(outcome.error),
                ElementsAre(AllOf(StartsWith("stap: error: "), HasSubstr("cube.h5: all 16"))));
    EXPECT_FALSE(std::filesystem::exists(result()));
}

/// The square of 1e35 overflows fp32 but not fp64.
TEST_F(StapHealth, AnyScaleOfTheSamplesWillDo) {
    write_noise([](auto&) {});
    run({});
    const auto wanted = read_dataset<std::complex<float>>(result(), "/output");
    for (const float scale : {1e35f, 1e-30f}) {
        write_noise([&](auto& cube) {
            for (auto& sample : cube) sample *= scale;
        });
        EXPECT_EQ(run({"--strict"}).status, 0);
        const auto given = read_dataset<std::complex<float>>(result(), "/output");
        for (std::size_t i = 0; i < given.values.size(); ++i) {
            EXPECT_NEAR(std::abs(given.values[i]) / scale, std::abs(wanted.values[i]), 1e-4) << i;
        }
    }
}

TEST_F(StapHealth, StrongClutterIsRepeatedAndSaid) {
    const Outcome made =
        run_program("stap_sim", {"--clutter", "--channels", "8", "--pulses", "16", "--range-cells",
                                 "256", "--cnr", "60", "--out", cube_file(), "--quiet"});
    ASSERT_EQ(made.status, 0) << made.error;
    const Outcome outcome = run({"--detector", "amf", "--report", folder_ / "r.json"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.error, HasSubstr("64 of 64 covariances were repeated in fp64"));
    EXPECT_THAT(outcome.out, HasSubstr("all factored, 64 repeated in fp64"));
    EXPECT_THAT(read_dataset<int>(result(), "/attempt").values, Each(1));
    EXPECT_EQ(report()["results"]["repeated_matrices"], 64);
    EXPECT_EQ(report()["results"]["pfa_held"], true);

    const Outcome fp32 = run({"--detector", "amf", "--precision", "fp32"});
    EXPECT_THAT(fp32.error, HasSubstr("are unreliable in this precision"));
    EXPECT_FALSE(has_dataset(result(), "/attempt"));
    const Outcome mixed = run({"--detector", "amf", "--precision", "mixed"});
    EXPECT_THAT(mixed.error, IsEmpty());
}

TEST_F(StapHealth, EqualChannelsAreLoadedAndMarked) {
    write_noise([](auto& cube) {
        for (index_t p = 0; p < pulses; ++p)
            for (index_t r = 0; r < 64; ++r) cube(1, p, r) = cube(0, p, r);
        for (index_t c = 0; c < channels; ++c)
            for (index_t p = 0; p < pulses; ++p) cube(c, p, 30) += 30, cube(c, p, 100) += 30;
    });
    const Outcome outcome = run({"--detector", "amf", "--report", folder_ / "r.json"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.error, HasSubstr("8 of 16 covariances required loading"));
    EXPECT_EQ(report()["results"]["loaded_matrices"], 8);
    EXPECT_EQ(report()["results"]["pfa_held"], false);
    const auto cell = read_column(result(), "/detections", "range_cell");
    const auto loaded = read_column(result(), "/detections", "loaded");
    ASSERT_FALSE(cell.empty());
    for (std::size_t i = 0; i < cell.size(); ++i) EXPECT_EQ(loaded[i], cell[i] < 64) << cell[i];
}

TEST_F(StapHealth, LoadingDoesNotHoldTheFalseAlarmProbability) {
    write_noise([](auto&) {});
    const Outcome outcome =
        run({"--detector", "amf", "--loading", "rel:1e-3", "--report", folder_ / "r.json"});
    EXPECT_THAT(outcome.error, HasSubstr("with diagonal loading the false-alarm probability"));
    EXPECT_EQ(report()["results"]["pfa_held"], false);
    run({"--detector", "amf", "--report", folder_ / "r.json"});
    EXPECT_EQ(report()["results"]["pfa_held"], true);
}

TEST_F(StapHealth, ABlockIsTwiceTheOrderWhereTheCubeAllows) {
    const Outcome made =
        run_program("stap_sim", {"--clutter", "--channels", "14", "--pulses", "8", "--range-cells",
                                 "200", "--out", cube_file(), "--quiet"});
    ASSERT_EQ(made.status, 0) << made.error;
    run({"--report", folder_ / "r.json"});
    EXPECT_EQ(report()["parameters"]["training_block"], 84);
    run({"--report", folder_ / "r.json", "--training-block", "64"});
    EXPECT_EQ(report()["parameters"]["training_block"], 64);
}

}  // namespace
}  // namespace aperture::apps::tests
