// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// corr as a user runs it: what it reads, writes, prints, reports and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "aperture/media/image_file.hpp"
#include "apps/common/file_names.hpp"
#include "tests/apps/corr_program.hpp"

namespace aperture::apps::tests {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(Corr, AloneWritesBesideTheImageAndPrintsASummary) {
    const std::string file = image("a.ppm", {.width = 61, .height = 46, .colour = true});
    const std::string before = read_bytes(file);
    const Outcome outcome = run_well({file});
    EXPECT_THAT(outcome.error, IsEmpty());
    std::vector<std::string> files{"a.corr.h5", "a.ppm"};
    if (have_figures) files.insert(files.begin() + 1, "a.corr.png");
    EXPECT_EQ(folder_.entries(), files);
    EXPECT_EQ(read_bytes(file), before);
    EXPECT_THAT(
        lines(outcome.out),
        ElementsAre(
            AllOf(StartsWith("image"), HasSubstr("a.ppm: 61x46 pixels, 8 bits colour")),
            AllOf(StartsWith("device"), HasSubstr("thread")),
            AllOf(StartsWith("method"), HasSubstr("raw; 4 planes from lab-orientation, normalized"),
                  HasSubstr("23x31 offsets")),
            AllOf(StartsWith("stages"), HasSubstr("read"), HasSubstr("planes"),
                  HasSubstr("correlate"), HasSubstr("write")),
            AllOf(StartsWith("compute"), HasSubstr("ms to correlate")),
            AllOf(StartsWith("correlation length in x"), HasSubstr("pixels, in y")),
            AllOf(StartsWith("peak"), HasSubstr("strongest off the centre at dy")),
            AllOf(StartsWith("result"), HasSubstr("a.corr.h5"))));

    const path result = folder_ / "a.corr.h5";
    const auto surface = read_dataset<double>(result, "/surface");
    const auto planes = read_dataset<double>(result, "/planes");
    const auto counts = read_dataset<int>(result, "/counts");
    EXPECT_THAT(surface.extent, ElementsAre(23, 31));
    EXPECT_THAT(planes.extent, ElementsAre(4, 23, 31));
    EXPECT_THAT(counts.extent, ElementsAre(23, 31));
    EXPECT_THAT(axes_of(result, "/surface"), ElementsAre("dy", "dx"));
    EXPECT_THAT(axes_of(result, "/planes"), ElementsAre("plane", "dy", "dx"));
    // Four planes, each of energy 1.
    EXPECT_NEAR(surface.values[0], 4, 1e-5);
    EXPECT_EQ(counts.values[0], 46 * 61);
    EXPECT_EQ(counts.values[31 * 2 + 5], (46 - 2) * (61 - 5));
    for (std::size_t i = 0; i < surface.values.size(); ++i) {
        const std::size_t n = surface.values.size();
        const double sum = planes.values[i] + planes.values[n + i] + planes.values[2 * n + i] +
                           planes.values[3 * n + i];
        ASSERT_NEAR(surface.values[i], sum, 1e-12);
    }
    EXPECT_EQ(number_attribute(result, "/surface", "first_dy"), 0);
    EXPECT_GT(number_attribute(result, "/surface", "correlation_length_x"), 1);
    EXPECT_EQ(text_attribute(result, "program"), "corr");
    EXPECT_EQ(text_attribute(result, "planes_from"), "lab-orientation");
    EXPECT_THAT(text_attribute(result, "command_line"), HasSubstr("a.ppm"));
    if (!have_figures || !APERTURE_OPENCV) return;
    // The cells of the map are square: 400 / 23 rounds to 17.
    const auto drawn = media::read_image(folder_ / "a.corr.png");
    EXPECT_GT(drawn.planes.extent()[1], 17 * 23);
    EXPECT_GT(drawn.planes.extent()[2], 17 * 31);
}

TEST_F(Corr, CountsTheWorkOfTheDirectMethodOnly) {
    const std::string file = image("a.ppm");
    for (const std::string method : {"direct", "fft"}) {
        const bool counted = method == "direct";
        const Outcome outcome =
            run_well({file, "--method", method, "--no-picture", "--report", folder_ / "r.json"});
        EXPECT_EQ(outcome.out.find("GFLOP/s") != std::string::npos, counted) << outcome.out;
        const auto report = read_json(folder_ / "r.json");
        for (const auto& stage : report["stages"]) {
            if (stage["name"] == "correlate") {
                EXPECT_EQ(stage["gflop"].is_null(), !counted);
            }
        }
    }
}

TEST_F(Corr, FindsAShiftedCopyAtItsShift) {
    const std::string a = image("a.pgm");
    const std::string b = image("b.pgm", {}, -7, 4);
    for (const std::string estimator : {"raw", "unbiased", "pearson"}) {
        for (const std::string method : {"direct", "fft"}) {
            const Outcome outcome =
                run_well({a, b, "--offsets", "12x14", "--planes-from", "grey", "--estimator",
                          estimator, "--method", method, "--no-picture"});
            EXPECT_THAT(outcome.error, IsEmpty());
            EXPECT_THAT(outcome.out, HasSubstr("strongest at dy "));
            const path result = folder_ / "a.corr.h5";
            EXPECT_EQ(number_attribute(result, "/surface", "first_dy"), -11);
            EXPECT_EQ(number_attribute(result, "/surface", "first_dx"), -13);
            EXPECT_NEAR(number_attribute(result, "/surface", "peak_dy"), 4, 0.3);
            EXPECT_NEAR(number_attribute(result, "/surface", "peak_dx"), -7, 0.3);
            const auto surface = read_dataset<double>(result, "/surface");
            EXPECT_THAT(surface.extent, ElementsAre(23, 27));
            const auto peak = std::max_element(surface.values.begin(), surface.values.end());
            EXPECT_EQ((peak - surface.values.begin()) / 27 - 11, 4);
            EXPECT_EQ((peak - surface.values.begin()) % 27 - 13, -7);
            if (estimator == "pearson") {
                EXPECT_NEAR(*peak, 1, 1e-5);
                EXPECT_LE(number_attribute(result, "/surface", "peak_value"), 1);
            }
        }
    }
}

TEST_F(Corr, WarnsOfAPeakOnTheBorderOfWhatIsSearched) {
    const std::string a = image("a.pgm");
    const std::string b = image("b.pgm", {}, -2, 4);
    const std::vector<std::string> flags{a, b, "--planes-from", "grey", "--quiet"};
    const auto with = [&](const std::vector<std::string>& more) { return joined(flags, more); };
    const std::string words = "is on the border of the searched displacements";
    const Outcome one_sign = run_well(with({"--unsigned"}));
    EXPECT_THAT(lines(one_sign.error),
                ElementsAre(AllOf(StartsWith("corr: warning: " + a + ", " + b), HasSubstr(words),
                                  HasSubstr("or omit --unsigned"))));
    EXPECT_EQ(number_attribute(folder_ / "a.corr.h5", "/surface", "first_dy"), 0);
    EXPECT_THAT(run_well(with({"--offsets", "12x3"})).error, HasSubstr("dx -2, " + words));
    EXPECT_EQ(run(with({"--offsets", "12x3", "--strict"})).status, 3);
    EXPECT_THAT(run_well(with({"--strict"})).error, IsEmpty());
    // An autocorrelation has its maximum at displacement 0.
    EXPECT_THAT(run_well({a, "--planes-from", "grey", "--strict"}).error, IsEmpty());
}

TEST_F(Corr, MeasuresCorrelationLengthsOfAPairAboutItsPeak) {
    const std::string a = image("a.pgm");
    const std::vector<std::string> flags{"--planes-from", "grey", "--estimator", "pearson"};
    const auto length = [&](const std::vector<std::string>& images) {
        run_well(joined(images, flags));
        return number_attribute(folder_ / "a.corr.h5", "/surface", "correlation_length_x");
    };
    const double alone = length({a});
    for (const auto& [x, y] : {std::pair{-7, 4}, {11, -9}, {3, 2}}) {
        EXPECT_NEAR(length({a, image("b.pgm", {}, x, y)}), alone, 0.1 * alone) << x;
    }
}

TEST_F(Corr, IsTheSameByBothMethodsAndOnAnyNumberOfThreads) {
    const std::string file = image("a.ppm", {.colour = true});
    const auto direct = surface({file, "--method", "direct"});
    const auto fft = surface({file, "--method", "fft"});
    for (std::size_t i = 0; i < direct.size(); ++i) {
        ASSERT_NEAR(direct[i], fft[i], 4 * (2e-7 + 5e-7));
    }
    for (const std::string method : {"direct", "fft"}) {
        EXPECT_EQ(surface({file, "--method", method, "--threads", "1"}),
                  surface({file, "--method", method, "--threads", "2"}));
    }
}

TEST_F(Corr, OfOneImageIsSymmetricWithBothSigns) {
    const std::string file = image("a.pgm");
    const auto values = surface({file, "--signed", "--offsets", "9x11"});
    ASSERT_EQ(values.size(), 17U * 21);
    for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(values[i], values[values.size() - 1 - i], 1e-5);
    }
    const auto quadrant = surface({file, "--offsets", "9x11"});
    EXPECT_NEAR(values[8 * 21 + 10 + 3 * 21 + 4], quadrant[3 * 11 + 4], 1e-5);
}

TEST_F(Corr, UnbiasedIsDividedByTheOverlap) {
    const std::string file = image("a.pgm");
    const auto raw = surface({file});
    const auto counts = read_dataset<int>(folder_ / "surface.h5", "/counts").values;
    const auto unbiased = surface({file, "--estimator", "unbiased"});
    for (std::size_t i = 0; i < raw.size(); ++i) {
        ASSERT_NEAR(unbiased[i], raw[i] / counts[i], 1e-15);
    }
}

TEST_F(Corr, CountsOnlyWhatTheMaskLeaves) {
    write_bytes(folder_ / "a.pgm", "P2 3 2 255 1 2 3 4 5 6");
    write_bytes(folder_ / "m.pgm", "P2 3 2 255 1 0 9 255 7 0");
    write_bytes(folder_ / "n.ppm", "P3 3 2 255 0 0 0 0 0 1 0 0 0 0 2 0 0 0 0 0 0 0");
    const std::vector<std::string> flags{"--planes-from", "grey", "--normalize", "none",
                                         "--offsets",     "2x3",  "--mask",      folder_ / "m.pgm"};
    const auto with = [&](const std::vector<std::string>& images,
                          const std::vector<std::string>& more) {
        const auto values = surface(joined(joined(images, flags), more));
        const auto counts = read_dataset<int>(folder_ / "surface.h5", "/counts").values;
        return std::pair(values, counts);
    };
    // 1 . 3 over 4 5 .: 1 + 9 + 16 + 25; 4*5; 1*3; 1*4; 5*. and .*.; none
    const auto [values, counts] = with({folder_ / "a.pgm"}, {});
    const std::vector<double> expected{51, 20, 3, 4, 5, 0};
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(values[i], expected[i], 1e-4) << i;
    EXPECT_THAT(counts, ElementsAre(4, 1, 1, 1, 1, 0));
    // The mask keeps only 2 of the first row and 4 of the second row of the second image.
    write_bytes(folder_ / "b.pgm", read_bytes(folder_ / "a.pgm"));
    const auto [pair_values, pair_counts] =
        with({folder_ / "a.pgm", folder_ / "b.pgm"}, {"--mask", folder_ / "n.ppm", "--unsigned"});
    // a at (y + dy, x + dx) times b at (y, x): 4*4; 2*3 + 4*5; none; 2*5; none; none
    const std::vector<double> pair_expected{16, 26, 0, 10, 0, 0};
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(pair_values[i], pair_expected[i], 1e-4) << i;
    EXPECT_THAT(pair_counts, ElementsAre(1, 2, 0, 1, 0, 0));
    write_bytes(folder_ / "small.pgm", "P2 2 2 255 1 1 1 1");
    expect_refusal({folder_ / "a.pgm", "--mask", folder_ / "small.pgm"}, "small.pgm: 2x2 pixels");
    expect_refusal({folder_ / "a.pgm", "--mask", folder_ / "none.pgm"}, "none.pgm: no such file");
}

TEST_F(Corr, TakesTheImageAsItIsOnRequest) {
    write_bytes(folder_ / "a.pgm", "P2 3 2 255 1 2 3 4 5 6");
    const auto values = surface(
        {folder_ / "a.pgm", "--planes-from", "gray", "--normalize", "none", "--offsets", "2x3"});
    // 1 + 4 + ... + 36; 1*2 + 2*3 + 4*5 + 5*6; 1*3 + 4*6; 1*4 + 2*5 + 3*6; 1*5 + 2*6; 1*6
    const std::vector<double> expected{91, 58, 27, 32, 17, 6};
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(values[i], expected[i], 1e-4);
}

TEST_F(Corr, TakesEverySizeAndKind) {
    for (const std::string kind : {"lab-orientation", "grey", "rgb", "gradient"}) {
        for (const StoredPicture& stored :
             {StoredPicture{1, 1}, StoredPicture{40, 1}, StoredPicture{1, 40, true},
              StoredPicture{33, 17, false, 16}, StoredPicture{20, 30, true, 16}}) {
            const std::string file = image("a.pnm", stored);
            run_well({file, "--planes-from", kind, "--signed"});
            for (const auto* dataset : {"/surface", "/planes"}) {
                const auto values = read_dataset<double>(folder_ / "a.corr.h5", dataset).values;
                EXPECT_FALSE(values.empty());
                EXPECT_TRUE(std::all_of(values.begin(), values.end(),
                                        [](double value) { return std::isfinite(value); }));
            }
        }
    }
}

TEST_F(Corr, OfAConstantImageFindsNothing) {
    write_bytes(folder_ / "a.pgm", "P5 20 10 255 " + std::string(200, 'x'));
    const Outcome outcome = run_well({folder_ / "a.pgm"});
    EXPECT_THAT(outcome.out, HasSubstr("strongest off the centre: none"));
    EXPECT_THAT(outcome.out, HasSubstr("in x beyond the offsets, in y beyond the offsets"));
    EXPECT_THAT(read_dataset<double>(folder_ / "a.corr.h5", "/surface").values, Each(0.0));
}

TEST_F(Corr, WritesTableAndReport) {
    const std::string file = image("a.pgm");
    run_well({file, "--radial", folder_ / "r.csv", "--report", folder_ / "r.json", "--repeat", "2",
              "--no-picture", "--offsets", "20x30"});
    EXPECT_THAT(folder_.entries(),
                ElementsAre("a.corr.h5", "a.pgm", "r.csv", "r.json", "r.spectrum.csv"));
    const auto table = lines(read_bytes(folder_ / "r.csv"));
    EXPECT_EQ(table[0], "radius,mean,count");
    EXPECT_THAT(table[1], AllOf(StartsWith("0,"), HasSubstr(",1")));
    EXPECT_THAT(table, SizeIs(1 + 1 + 35));  // the root of 19^2 + 29^2 is 34.7
    const auto report = read_json(folder_ / "r.json");
    EXPECT_EQ(report["program"], "corr");
    EXPECT_EQ(report["parameters"]["offset_rows"], 20);
    EXPECT_EQ(report["parameters"]["width"], 96);
    EXPECT_EQ(report["stages"].size(), 5U);
    EXPECT_EQ(report["stages"][3]["name"], "spectrum");
    EXPECT_EQ(report["stages"][2]["name"], "correlate");
    EXPECT_GT(report["compute_ms"], 0);
    EXPECT_TRUE(report["results"].contains("correlation_length_x"));
}

TEST_F(Corr, WritesThePowerSpectrumBesideTheRadialAverage) {
    // One image has constant columns and a period of 5 pixels along rows; the other is constant.
    std::string waves = "P2 30 20 255";
    std::string level = waves;
    for (int i = 0; i < 600; ++i) {
        waves += i % 5 == 0 ? " 150" : i % 5 < 3 ? " 115" : " 60";
        level += " 3";
    }
    write_bytes(folder_ / "a.pgm", waves);
    write_bytes(folder_ / "b.pgm", level);
    const auto with = [&](const std::vector<std::string>& images) {
        surface(
            joined({"--planes-from", "grey", "--normalize", "none", "--radial", folder_ / "r.csv"},
                   images));
        return lines(read_bytes(folder_ / "r.spectrum.csv"));
    };
    const auto one = with({folder_ / "a.pgm"});
    EXPECT_EQ(one[0], "frequency,power,count");
    EXPECT_THAT(one, SizeIs(1 + 16));
    const path result = folder_ / "surface.h5";
    const auto frequency = read_column(result, "/spectrum", "frequency");
    const auto power = read_column(result, "/spectrum", "power");
    EXPECT_NEAR(frequency[6], 0.2, 1e-12);
    EXPECT_EQ(std::max_element(power.begin() + 1, power.end()) - power.begin(), 6);
    EXPECT_EQ(read_column(result, "/radial", "mean").size(), 15 + 3U);

    const auto two = with({folder_ / "b.pgm", folder_ / "a.pgm"});
    EXPECT_EQ(two[0], "frequency,power_a,power_b,count");
    EXPECT_EQ(read_column(result, "/spectrum", "power_b"), power);
    const auto constant = read_column(result, "/spectrum", "power_a");
    EXPECT_NEAR(constant[0], 9 * 600, 1e-9);
    for (std::size_t ring = 1; ring < constant.size(); ++ring) EXPECT_EQ(constant[ring], 0);
}

}  // namespace
}  // namespace aperture::apps::tests
