// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// corr on many images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/common/file_names.hpp"
#include "tests/apps/corr_program.hpp"

namespace aperture::apps::tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class CorrEnsemble : public Corr {
  protected:
    void SetUp() override {
        std::filesystem::create_directory(folder_ / "photos");
        for (int i = 0; i < 4; ++i) image("photos/p" + std::to_string(i + 8) + ".pgm", {}, 50 * i);
    }
    path photo(int i) const { return folder_ / ("photos/p" + std::to_string(i + 8) + ".pgm"); }
};

TEST_F(CorrEnsemble, HasMeanAndDeviationOfItsImages) {
    std::vector<std::vector<double>> each;
    for (int i = 0; i < 4; ++i) each.push_back(surface({photo(i), "--method", "direct"}));
    const Outcome outcome =
        run_well({folder_ / "photos", "--report", folder_ / "r.json", "--method", "direct"});
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_THAT(lines(outcome.out),
                Contains(AllOf(StartsWith("ensemble"), HasSubstr("4 images of 96x72 pixels;"),
                               HasSubstr("images/s"))));
    const path result = folder_ / "photos.corr.h5";
    EXPECT_EQ(std::filesystem::exists(folder_ / "photos.corr.png"), have_figures);
    const auto mean = read_dataset<double>(result, "/surface");
    const auto deviation = read_dataset<double>(result, "/deviation").values;
    EXPECT_THAT(mean.extent, ElementsAre(36, 48));
    for (std::size_t i = 0; i < mean.values.size(); ++i) {
        double sum = 0;
        for (const auto& surface : each) sum += surface[i];
        double squares = 0;
        for (const auto& surface : each) squares += std::pow(surface[i] - sum / 4, 2);
        ASSERT_NEAR(mean.values[i], sum / 4, 1e-12);
        ASSERT_NEAR(deviation[i], std::sqrt(squares / 3), 1e-12);
    }
    EXPECT_GT(deviation[100], 1e-3);
    EXPECT_FALSE(has_dataset(result, "/planes"));
    const auto by_transforms = surface({folder_ / "photos", "--method", "fft"});
    for (std::size_t i = 0; i < mean.values.size(); ++i) {
        ASSERT_NEAR(by_transforms[i], mean.values[i], 4 * 5e-7);
    }
    EXPECT_EQ(number_attribute(result, "/surface", "images"), 4);
    EXPECT_EQ(read_dataset<int>(result, "/counts").values[0], 96 * 72);
    EXPECT_TRUE(has_dataset(result, "/images"));
    const auto report = read_json(folder_ / "r.json");
    EXPECT_EQ(report["results"]["images"], 4);
    EXPECT_EQ(report["results"]["skipped"], 0);
}

TEST_F(CorrEnsemble, IsTheSameAsFolderPatternAndListOnAnyNumberOfThreads) {
    const auto expected = surface({folder_ / "photos"});
    EXPECT_EQ(surface({folder_ / "photos/p*.pgm", "--threads", "1"}), expected);
    EXPECT_EQ(surface({photo(0), photo(1), photo(2), photo(3), "--threads", "3"}), expected);
    EXPECT_NE(surface({folder_ / "photos/p?.pgm"}), expected);
}

TEST_F(CorrEnsemble, NamesBadImagesAndLeavesThemOut) {
    const auto expected = surface({folder_ / "photos"});
    write_bytes(folder_ / "photos/a.png", "no image");
    write_bytes(folder_ / "photos/p9x.pgm", read_bytes(photo(1)).substr(0, 3000));
    image("photos/p10x.pgm", {.width = 97, .height = 70});
    const Outcome outcome = run_well({folder_ / "photos", "--quiet"});
    const auto first = photo(0).string();
    EXPECT_THAT(
        lines(outcome.error),
        ElementsAre(AllOf(StartsWith("corr: warning: skipped: "), HasSubstr("a.png: ")),
                    AllOf(StartsWith("corr: warning: skipped: "), HasSubstr("p9x.pgm: ")),
                    AllOf(StartsWith("corr: warning: skipped: "),
                          HasSubstr("p10x.pgm: 97x70 pixels, but " + first + " has 96x72"))));
    const path result = folder_ / "photos.corr.h5";
    EXPECT_EQ(read_dataset<double>(result, "/surface").values, expected);
    EXPECT_EQ(number_attribute(result, "/surface", "images"), 4);
    std::filesystem::remove(result);
    std::filesystem::remove(folder_ / "photos.corr.png");
    const Outcome strict = run({folder_ / "photos", "--strict"});
    EXPECT_EQ(strict.status, 3);
    EXPECT_EQ(read_dataset<double>(result, "/surface").values, expected);
    EXPECT_EQ(run({folder_ / "photos/p?.pgm", "--strict", "--out", result}).status, 0);
}

TEST_F(CorrEnsemble, OfNoImagesIsAnError) {
    std::filesystem::create_directory(folder_ / "empty");
    expect_refusal({folder_ / "empty"}, "empty: the folder contains no image");
    write_bytes(folder_ / "empty/notes.txt", "no image");
    expect_refusal({folder_ / "empty"}, "empty: the folder contains no image");
    expect_refusal({folder_ / "photos/*.jpg"}, "photos/*.jpg: no file matches");
    expect_refusal({folder_ / "photos", "--offsets", "80x5"}, "offsets are 80 x 5");
    expect_refusal({folder_ / "photos", "--out", photo(0).replace_extension(".h5"), "--radial",
                    photo(0) / "r.csv"},
                   "r.csv: cannot write");
    write_bytes(folder_ / "empty/a.png", "no image");
    const Outcome outcome = run({folder_ / "empty"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(lines(outcome.error),
                ElementsAre(HasSubstr("skipped: "), HasSubstr("no image could be used")));
}

TEST_F(CorrEnsemble, SaysHowLikeOneAnotherItsImagesAre) {
    const std::vector<std::string> flags{"--planes-from", "grey", "--offsets", "40x60"};
    const auto with = [&](const std::vector<std::string>& more) {
        const std::vector<std::string> arguments{folder_ / "photos", "--all-pairs", "--no-picture",
                                                 "--report", folder_ / "r.json"};
        return run_well(joined(joined(arguments, flags), more));
    };
    // The other images show the texture 50 pixels further on, shifted by one and two pixels.
    const Outcome outcome = with({"--signed"});
    EXPECT_THAT(lines(outcome.out),
                Contains(AllOf(StartsWith("pairs       6, "), HasSubstr("pairs/s; most similar "),
                               HasSubstr(" at dy 0, dx "))));
    const path result = folder_ / "photos.corr.h5";
    const auto peaks = read_dataset<double>(result, "/pairs");
    const auto displacements = read_dataset<int>(result, "/pairs_displacement");
    EXPECT_THAT(peaks.extent, ElementsAre(4, 4));
    EXPECT_THAT(displacements.extent, ElementsAre(4, 4, 2));
    // Compared with corr's result for the same two images alone. Images are normalized to energy 1.
    for (std::size_t a = 0; a < 4; ++a) {
        EXPECT_EQ(peaks.values[5 * a], 1);
        for (std::size_t b = 0; b < a; ++b) {
            EXPECT_EQ(peaks.values[4 * a + b], peaks.values[4 * b + a]);
            const auto sums = surface(joined(
                {photo(static_cast<int>(a)), photo(static_cast<int>(b)), "--signed"}, flags));
            const auto at = std::max_element(sums.begin(), sums.end()) - sums.begin();
            EXPECT_NEAR(peaks.values[4 * a + b], sums[static_cast<std::size_t>(at)], 1e-6);
            const std::size_t entry = 2 * (4 * a + b);
            const std::size_t mirror = 2 * (4 * b + a);
            EXPECT_EQ(displacements.values[entry], at / 119 - 39);
            EXPECT_EQ(displacements.values[entry + 1], at % 119 - 59);
            EXPECT_EQ(displacements.values[mirror], 39 - at / 119);
            EXPECT_EQ(displacements.values[mirror + 1], 59 - at % 119);
        }
    }
    const auto report = read_json(folder_ / "r.json");
    EXPECT_EQ(report["results"]["pairs"], 6);
    EXPECT_GT(report["results"]["pairs_per_second"], 0);
    EXPECT_EQ(report["parameters"]["all_pairs"], true);

    // Without negative displacements the order of a pair matters. A bad image has no row.
    write_bytes(folder_ / "photos/a.png", "no image");
    const auto both = peaks.values;
    EXPECT_THAT(with({"--threads", "1"}).out, HasSubstr("pairs       12, "));
    const auto forward = read_dataset<double>(result, "/pairs").values;
    for (std::size_t a = 0; a < 4; ++a) {
        for (std::size_t b = 0; b < 4; ++b) {
            EXPECT_LE(forward[4 * a + b], both[4 * a + b] + 1e-6);
            const double either = std::max(forward[4 * a + b], forward[4 * b + a]);
            // The two orders cover only two of the four quadrants of displacements.
            EXPECT_LE(either, both[4 * a + b] + 1e-6);
        }
    }
}

TEST_F(CorrEnsemble, HasTheMeanOfItsPowerSpectra) {
    const auto power_of = [&](const path& input) {
        surface({input, "--radial", folder_ / "r.csv"});
        return read_column(folder_ / "surface.h5", "/spectrum", "power");
    };
    std::vector<double> mean(power_of(photo(0)).size());
    for (int i = 0; i < 4; ++i) {
        const auto power = power_of(photo(i));
        for (std::size_t ring = 0; ring < mean.size(); ++ring) mean[ring] += power[ring] / 4;
    }
    const auto found = power_of(folder_ / "photos");
    ASSERT_EQ(found.size(), mean.size());
    for (std::size_t ring = 0; ring < mean.size(); ++ring) {
        EXPECT_NEAR(found[ring], mean[ring], 1e-12 * mean[ring]);
    }
}

TEST_F(CorrEnsemble, CorrelatesNoPairsOfOneImageOrUnderAMask) {
    std::filesystem::create_directory(folder_ / "one");
    image("one/p.pgm");
    const Outcome outcome = run_well({folder_ / "one", "--all-pairs", "--no-picture"});
    EXPECT_THAT(lines(outcome.out), Contains("pairs       0"));
    EXPECT_THAT(read_dataset<double>(folder_ / "one.corr.h5", "/pairs").values, ElementsAre(1.0));
    EXPECT_FALSE(has_dataset(folder_ / "one.corr.h5", "/planes"));
    expect_refusal({photo(0), photo(1), "--all-pairs"}, "--all-pairs requires an ensemble");
    expect_refusal({folder_ / "photos", "--all-pairs", "--mask", photo(0)},
                   "cannot be combined with --mask");
}

}  // namespace
}  // namespace aperture::apps::tests
