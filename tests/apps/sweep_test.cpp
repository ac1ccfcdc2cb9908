// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Lists and ranges on a command line, and the table of the runs that they ask for.
#include "apps/common/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "apps/common/table.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::apps {
namespace {

using media::tests::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<SweptOption> options{{"--alpha", SweptValues::numbers},
                                       {"--warps", SweptValues::whole_numbers},
                                       {"--solver", SweptValues::words},
                                       {"--loading", SweptValues::numbers, "rel:"},
                                       {"--pfa", SweptValues::numbers, "", true}};

std::vector<SweepAxis> axes_of(std::vector<const char*> words) {
    words.insert(words.begin(), "program");
    return find_sweep_axes(options, static_cast<int>(words.size()), words.data());
}

SweepAxis axis_of(const char* option, const char* text) {
    const auto axes = axes_of({option, text});
    EXPECT_THAT(axes, SizeIs(1)) << option << ' ' << text;
    return axes.empty() ? SweepAxis() : axes[0];
}

TEST(SweepAxes, AreListsAndRanges) {
    EXPECT_THAT(axis_of("--alpha", "1,2.5").texts, ElementsAre("1", "2.5"));
    EXPECT_THAT(axis_of("--alpha", "0:1:5").texts, ElementsAre("0", "0.25", "0.5", "0.75", "1"));
    EXPECT_FALSE(axis_of("--alpha", "0:1:5").logarithmic);
    const SweepAxis ratio = axis_of("--alpha", "0.1:1000:log:5");
    EXPECT_TRUE(ratio.logarithmic);
    EXPECT_THAT(ratio.numbers, ElementsAre(0.1, 1, 10, 100, 1000));
    EXPECT_THAT(
        axis_of("--alpha", "0:1:11").texts,
        ElementsAre("0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"));
    EXPECT_THAT(axis_of("--alpha", "3:3:1").texts, ElementsAre("3"));
    EXPECT_THAT(axis_of("--solver", "cg,jacobi").texts, ElementsAre("cg", "jacobi"));
    EXPECT_THAT(axis_of("--solver", "cg,jacobi").numbers, IsEmpty());
    EXPECT_THAT(axis_of("--warps", "1000000,2").texts, ElementsAre("1000000", "2"));
}

TEST(SweepAxes, HaveTextsThatAreReadAsTheirNumbers) {
    const SweepAxis axis = axis_of("--alpha", "0.1:7:log:100");
    for (std::size_t i = 0; i < axis.texts.size(); ++i) {
        EXPECT_EQ(std::stod(axis.texts[i]), axis.numbers[i]);
    }
}

TEST(SweepAxes, RoundRangesOfWholeNumbersAndDropWhatRepeats) {
    EXPECT_THAT(axis_of("--warps", "1:64:log:7").texts,
                ElementsAre("1", "2", "4", "8", "16", "32", "64"));
    EXPECT_THAT(axis_of("--warps", "1:3:7").texts, ElementsAre("1", "2", "3"));
    // A list is left to the option, which refuses it.
    EXPECT_THAT(axis_of("--warps", "1,2.5").texts, ElementsAre("1", "2.5"));
}

TEST(SweepAxes, RepeatAPrefix) {
    const SweepAxis axis = axis_of("--loading", "rel:0.001:0.1:log:3");
    EXPECT_THAT(axis.texts, ElementsAre("rel:0.001", "rel:0.01", "rel:0.1"));
    EXPECT_THAT(axis.numbers, ElementsAre(0.001, 0.01, 0.1));
    EXPECT_EQ(axis.name(), "loading_rel");
    EXPECT_EQ(axis_of("--loading", "1,2").name(), "loading");
}

TEST(SweepAxes, AreNotMadeOfSingleValues) {
    EXPECT_THAT(axes_of({"--alpha", "3", "--solver", "cg", "--loading", "rel:0.1", "--alpha"}),
                IsEmpty());
    EXPECT_THAT(axes_of({"--alpha", ""}), IsEmpty());
    EXPECT_THAT(axes_of({"--other", "1,2"}), IsEmpty());
    EXPECT_EQ(count_runs({}), 0U);
}

TEST(SweepAxes, RefuseWhatIsNoListInOneLineThatNamesTheOption) {
    for (const char* const text :
         {"1,",      ",1",          ",",           ":",         "1:2",        "1:2:0",
          "1:2:-1",  "1:2:2.5",     "1:2:1000001", "0:1:log:3", "-1:1:log:3", "1:2:lin:3",
          "1:2:log", "1:2:log:3:4", "a,b",         "1,b",       "1:nan:3",    "nan:1:3",
          "1:2:1e9", "1,2:3:4",     "rel:1:2:3"}) {
        const std::string error = error_of([&] { axis_of("--alpha", text); });
        EXPECT_THAT(error, HasSubstr("--alpha")) << text;
        EXPECT_THAT(error, testing::Not(HasSubstr("\n"))) << text;
    }
    EXPECT_EQ(error_of([] { axis_of("--solver", "cg,"); }), "--solver cg,: a value is empty");
    EXPECT_EQ(error_of([] { axis_of("--alpha", ",2"); }), "--alpha ,2: a value is empty");
    EXPECT_THAT(error_of([] { axis_of("--loading", "rel:1,rel:2"); }), HasSubstr("rel:2"));
}

TEST(SweepAxes, RefuseTooManyRuns) {
    EXPECT_EQ(error_of([] { axis_of("--alpha", "1:2:1000000"); }),
              "--alpha 1:2:1000000: 1000000 runs, expected at most 10000");
    EXPECT_THAT(error_of([] {
                    axes_of({"--alpha", "1:2:101", "--warps=1:100:100"});
                }),
                HasSubstr("--warps 1:100:100: 10100 runs"));
    EXPECT_EQ(count_runs(axes_of({"--alpha", "1:2:100", "--warps=1:100:100"})), 10'000U);
}

TEST(SweepAxes, GiveEveryRunOneValueOfEach) {
    const std::vector<const char*> words{"program", "--pfa", "0.1,0.2", "a.png",
                                         "--alpha", "1,2,3", "b.png",   "--solver=cg,jacobi",
                                         "--warps", "5"};
    const int count = static_cast<int>(words.size());
    const auto axes = find_sweep_axes(options, count, words.data());
    EXPECT_EQ(count_runs(axes), 12U);
    // The axis of scores is last, and runs that differ in it alone follow each other.
    EXPECT_EQ(axes.back().name(), "pfa");
    EXPECT_EQ(runs_scored_together(axes), 2U);
    RunArguments run(count, words.data(), axes, 9);
    const std::vector<std::string> given(run.words(), run.words() + run.count());
    EXPECT_THAT(given, ElementsAre("program", "--pfa", "0.2", "a.png", "--alpha", "3", "b.png",
                                   "--solver=cg", "--warps", "5"));
}

Report report_of(double epe, double ms = 1) {
    Report report;
    report.accuracy["epe"] = epe;
    report.results["iterations"] = 7LL;
    report.times.compute_ms = ms;
    return report;
}

const SweepScore smallest{"epe", false};
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(SweepTable, MarksTheFirstOfTheBestRuns) {
    SweepTable table(axes_of({"--alpha", "1:6:6"}), smallest);
    EXPECT_FALSE(table.add(report_of(nan), 1));
    EXPECT_TRUE(table.add(report_of(0.5), 1));
    EXPECT_FALSE(table.add(report_of(0.75), 1));
    EXPECT_TRUE(table.add(report_of(0.25), 1));
    EXPECT_FALSE(table.add(report_of(0.25), 1));
    table.add_failure("too large");
    EXPECT_EQ(table.best(), 3U);
    EXPECT_EQ(table.best_text(), "alpha 4: epe 0.25");
    EXPECT_EQ(table.failures_text(), "1 of 6 runs failed, the first at alpha 6: too large");
    SweepTable largest(axes_of({"--alpha", "1,2"}), SweepScore{"epe", true});
    EXPECT_TRUE(largest.add(report_of(1), 1));
    EXPECT_TRUE(largest.add(report_of(2), 1));
    SweepTable without(axes_of({"--alpha", "1,2"}), std::nullopt);
    EXPECT_FALSE(without.add(report_of(1), 1));
}

TEST(SweepTable, HasARowForEachRun) {
    SweepTable table(axes_of({"--solver", "cg,jacobi", "--warps", "2,3"}), smallest);
    table.add(report_of(0.5, 10), 11);
    table.add(report_of(0.1, 20), 21);
    table.add_failure("no, \"really\"");
    table.add(report_of(nan, 30), 31);
    EXPECT_EQ(csv_text(table.columns()),
              "solver,warps,epe,iterations,compute_ms,total_ms,best,failure\n"
              "cg,2,0.5,7,10,11,0,\n"
              "cg,3,0.1,7,20,21,1,\n"
              "jacobi,2,nan,nan,nan,nan,0,\"no, \"\"really\"\"\"\n"
              "jacobi,3,nan,7,30,31,0,\n");
    const auto rows = table.rows();
    ASSERT_THAT(rows, SizeIs(4));
    EXPECT_EQ(std::get<bool>(rows[1].at("best")), true);
    EXPECT_EQ(std::get<std::string>(rows[2].at("solver")), "jacobi");
    EXPECT_EQ(rows[2].count("epe"), 0U);
}

TEST(SweepTable, PlotsTheScoreOverTheLongestAxis) {
    SweepTable table(axes_of({"--solver", "cg,jacobi", "--alpha", "4,1,2", "--warps", "2,3"}),
                     smallest);
    for (int run = 0; run < 12; ++run) table.add(report_of(run == 3 ? -1 : run), 1);
    const media::CurvePlot plot = table.plot();
    ASSERT_THAT(plot.curves, SizeIs(4));
    EXPECT_EQ(plot.curves[1].label, "solver cg, warps 3");
    EXPECT_THAT(plot.curves[1].x, ElementsAre(1, 2, 4));
    EXPECT_THAT(plot.curves[1].y, ElementsAre(-1, 5, 1));
    EXPECT_EQ(plot.curves[2].label, "solver jacobi, warps 2");
    EXPECT_THAT(plot.curves[2].y, ElementsAre(8, 10, 6));
    EXPECT_THAT(plot.marked_x, ElementsAre(1));
    EXPECT_EQ(plot.x_label, "alpha");
    EXPECT_EQ(plot.y_label, "epe");
    EXPECT_FALSE(plot.logarithmic_x);
    EXPECT_FALSE(plotted_axis(axes_of({"--solver", "cg,jacobi"})).has_value());
    EXPECT_FALSE(plotted_axis(axes_of({"--alpha", "1:15:15", "--warps=1:15:15"})).has_value());
}

TEST(SweepNames, HaveTheNumberOfTheRun) {
    EXPECT_EQ(name_of_run("x/a.flo", 3, 32), "x/a.03.flo");
    EXPECT_EQ(name_of_run("a.flow.png", 0, 10), "a.flow.0.png");
    EXPECT_EQ(name_of_run("a.flo", 12, 101), "a.012.flo");
}

}  // namespace
}  // namespace aperture::apps
