// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// corr with lists and ranges of values, and the width that it averages orientations over.
#include <nlohmann/json.hpp>

#include "tests/apps/corr_program.hpp"

namespace aperture::apps::tests {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(Corr, AveragesOrientationsOverAGivenWidth) {
    const std::string file = image("a.ppm", {.colour = true});
    const auto usual = surface({file});
    EXPECT_EQ(surface({file, "--sigma", "2"}), usual);
    EXPECT_NE(surface({file, "--sigma", "2.5"}), usual);
    EXPECT_NE(surface({file, "--sigma", "0.5"}), usual);
    // Planes of other kinds have no orientation.
    expect_refusal({file, "--planes-from", "grey", "--sigma", "3"},
                   "--sigma requires --planes-from lab-orientation");
    expect_refusal({file, "--sigma", "0"}, "--sigma 0: expected a number above 0, at most 100");
}

TEST_F(Corr, SweepsAPairAndKeepsTheHighestPeak) {
    const std::string a = image("a.ppm", {.colour = true});
    const std::string b = image("b.ppm", {.colour = true}, 3, -2);
    const std::vector<std::string> common{a, b, "--no-picture", "--report", folder_ / "r.json"};
    run_well(joined(common, {"--sigma", "0.5:8:log:5"}));
    const auto report = read_json(folder_ / "r.json");
    const auto best = read_dataset<double>(folder_ / "a.corr.h5", "/surface").values;
    EXPECT_THAT(folder_.entries(), Contains("a.corr.scores.csv"));
    ASSERT_THAT(report["sweep"], SizeIs(5));
    double highest = -1;
    std::vector<double> expected;
    for (const auto& row : report["sweep"]) {
        run_well(joined(common, {"--sigma", std::to_string(row["sigma"].get<double>())}));
        const auto alone = read_json(folder_ / "r.json");
        EXPECT_NEAR(row["peak_value"], alone["results"]["peak_value"], 1e-6);
        EXPECT_EQ(row["peak_dx"], alone["results"]["peak_dx"]);
        if (row["peak_value"] <= highest) continue;
        highest = row["peak_value"];
        expected = read_dataset<double>(folder_ / "a.corr.h5", "/surface").values;
    }
    EXPECT_EQ(report["results"]["peak_value"], highest);
    ASSERT_EQ(best.size(), expected.size());
    for (std::size_t i = 0; i < best.size(); ++i) ASSERT_NEAR(best[i], expected[i], 1e-6);
}

TEST_F(Corr, SweepsAnImageAndKeepsAllSurfaces) {
    const std::string file = image("a.ppm", {.colour = true});
    const Outcome outcome =
        run_well({file, "--no-picture", "--offsets", "9x9,20x30", "--planes-from", "grey,rgb"});
    EXPECT_THAT(folder_.entries(), ElementsAre("a.corr.0.h5", "a.corr.1.h5", "a.corr.2.h5",
                                               "a.corr.3.h5", "a.corr.scores.csv", "a.ppm"));
    EXPECT_THAT(read_dataset<double>(folder_ / "a.corr.3.h5", "/surface").extent,
                ElementsAre(20, 30));
    EXPECT_EQ(text_attribute(folder_ / "a.corr.3.h5", "planes_from"), "rgb");
    EXPECT_THAT(lines(outcome.out), Contains("sweep       4 runs over offsets, planes_from"));
    EXPECT_THAT(read_bytes(folder_ / "a.corr.scores.csv"),
                StartsWith("offsets,planes_from,correlation_length_x"));
}

TEST_F(Corr, KeepsOtherRunsOfASweepIfOneFails) {
    const std::string file = image("a.ppm", {.colour = true});
    const Outcome outcome = run_well({file, "--no-picture", "--offsets", "9x9,200x300"});
    EXPECT_THAT(outcome.error,
                HasSubstr("corr: warning: 1 of 2 runs failed, the first at offsets 200x300: "));
    EXPECT_THAT(folder_.entries(), Contains("a.corr.0.h5"));
    EXPECT_THAT(folder_.entries(), Not(Contains("a.corr.1.h5")));
    expect_refusal({file, file, file, "--sigma", "1,2"},
                   "a list or a range of values requires a single image or a pair");
    expect_refusal({file, "--sigma", "1,2", "--keep", "best"}, "--keep best requires a pair");
    expect_refusal({file, "--keep", "all"}, "--keep requires a list or a range of values");
    expect_refusal({file, "--sigma", "1:2:1000000"}, "1000000 runs, expected at most 10000");
    expect_refusal({file, "--sigma", "1:2"}, "--sigma 1:2");
    expect_refusal({file, "--sigma", ","}, "--sigma ,: a value is empty");
    expect_refusal({file, "--sigma", "1,0"}, "--sigma 0: expected a number above 0, at most 100");
}

}  // namespace
}  // namespace aperture::apps::tests
