// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// oflow with lists and ranges of values.
#include <gmock/gmock.h>

#include "apps/common/file_names.hpp"
#include "tests/apps/oflow_program.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::apps::tests {
namespace {

using media::tests::read_bytes;
using media::tests::write_bytes;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

std::vector<std::string> fields(const std::string& line) {
    std::vector<std::string> fields;
    std::string_view rest = line;
    for (;;) {
        const auto end = rest.find(',');
        fields.emplace_back(rest.substr(0, end));
        if (end == std::string_view::npos) return fields;
        rest.remove_prefix(end + 1);
    }
}

class OflowSweep : public Oflow {
  protected:
    void SetUp() override {
        write_pair();
        write_constant_flo(truth(), 96, 72, float(shift_u), float(shift_v));
    }
    std::string truth() const { return folder_ / "truth.flo"; }
    std::vector<std::string> with_truth(const std::vector<std::string>& flags) const {
        return joined({"--truth", truth(), "--no-picture"}, flags);
    }
    std::string refusal(const std::vector<std::string>& flags) {
        const Outcome outcome = run_program("oflow", joined({image0(), image1()}, flags));
        EXPECT_EQ(outcome.status, 1);
        EXPECT_THAT(lines(outcome.error), SizeIs(1));
        return outcome.error;
    }
};

TEST_F(OflowSweep, FindsWhatRunsOneByOneFind) {
    const std::vector<std::string> alphas{"0.5", "2", "8"};
    const auto report = report_of(with_truth({"--alpha", "0.5:8:log:3", "--warps", "1,4"}));
    ASSERT_THAT(report["sweep"], SizeIs(6));
    const std::string best_flow = read_bytes(folder_ / "a.flo");
    double smallest = 1e9;
    std::size_t best = 0;
    std::string expected_flow;
    for (std::size_t run = 0; run < 6; ++run) {
        const auto& row = report["sweep"][run];
        const std::string warps = run % 2 == 0 ? "1" : "4";
        const auto alone = report_of(with_truth({"--alpha", alphas[run / 2], "--warps", warps}));
        EXPECT_NEAR(row["alpha"], std::stod(alphas[run / 2]), 1e-12);
        EXPECT_EQ(row["warps"], std::stod(warps));
        for (const char* const name : {"epe", "aae", "rmse", "r1", "known"}) {
            EXPECT_EQ(row[name], alone["accuracy"][name]) << name << ", run " << run;
        }
        EXPECT_EQ(row["largest_motion"], alone["results"]["largest_motion"]);
        if (row["epe"] >= smallest) continue;
        smallest = row["epe"];
        best = run;
        expected_flow = read_bytes(folder_ / "a.flo");
    }
    for (std::size_t run = 0; run < 6; ++run) {
        EXPECT_EQ(report["sweep"][run]["best"], run == best) << run;
    }
    EXPECT_EQ(best_flow, expected_flow);
    EXPECT_EQ(report["accuracy"]["epe"], smallest);
}

TEST_F(OflowSweep, WritesATableAPlotAndTheBestResult) {
    const Outcome outcome = run({"--truth", truth(), "--alpha", "1,2,4"});
    std::vector<std::string> files{"a.flo", "a.pgm", "a.scores.csv", "b.pgm", "truth.flo"};
    if (have_figures)
        files = {"a.flo",        "a.flow.png", "a.pgm",    "a.scores.csv",
                 "a.scores.png", "b.pgm",      "truth.flo"};
    EXPECT_EQ(folder_.entries(), files);
    const auto table = lines(read_bytes(folder_ / "a.scores.csv"));
    ASSERT_THAT(table, SizeIs(4));
    const auto names = fields(table[0]);
    EXPECT_THAT(names, Contains("aae"));
    EXPECT_THAT(names, ElementsAre("alpha", "epe", "aae", "known", "largest_motion", "r05", "r1",
                                   "r2", "rmse", "compute_ms", "total_ms", "best"));
    int marked = 0;
    for (std::size_t row = 1; row < table.size(); ++row) {
        const auto values = fields(table[row]);
        ASSERT_EQ(values.size(), names.size());
        EXPECT_GT(std::stod(values[9]), 0);
        marked += std::stoi(values.back());
    }
    EXPECT_EQ(marked, 1);
    EXPECT_THAT(lines(outcome.out),
                Contains(StartsWith("sweep       3 runs over alpha; best at ")));
    EXPECT_THAT(lines(outcome.out), Contains(StartsWith("accuracy")));
    EXPECT_THAT(outcome.out, HasSubstr("a.scores.csv"));
}

TEST_F(OflowSweep, WritesTablesOfOtherNamesAndForms) {
    run(with_truth(
        {"--alpha", "1:4:4", "--scores", folder_ / "scores.h5", "--scores", folder_ / "s.csv"}));
    EXPECT_THAT(folder_.entries(),
                ElementsAre("a.flo", "a.pgm", "b.pgm", "s.csv", "scores.h5", "truth.flo"));
    EXPECT_THAT(read_column(folder_ / "scores.h5", "/scores", "alpha"), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(read_column(folder_ / "scores.h5", "/scores", "epe"), SizeIs(4));
    EXPECT_EQ(text_attribute(folder_ / "scores.h5", "program"), "oflow");
}

TEST_F(OflowSweep, KeepsAllResultsOnDemandAndWithoutATruth) {
    for (const auto& flags : {with_truth({"--keep", "all"}), {std::string("--no-picture")}}) {
        run(joined(flags, {"--alpha", "1,8", "--consistency", picture("c")}));
        for (const std::string& name :
             {std::string("a.0.flo"), std::string("a.1.flo"),
              std::string("c.0") + picture_extension, std::string("c.1") + picture_extension}) {
            EXPECT_THAT(folder_.entries(), Contains(name));
        }
        EXPECT_THAT(folder_.entries(), Not(Contains("a.flo")));
        const std::string second = read_bytes(folder_ / "a.1.flo");
        std::filesystem::remove(folder_ / "a.1.flo");
        flow_of({"--alpha", "8"});
        EXPECT_EQ(read_bytes(folder_ / "a.flo"), second);
        std::filesystem::remove(folder_ / "a.flo");
    }
    EXPECT_THAT(lines(run({"--alpha", "1,8", "--no-picture"}).out),
                Contains(std::string("sweep       2 runs over alpha")));
}

TEST_F(OflowSweep, TakesListsOfWords) {
    const auto report = report_of(with_truth({"--solver", "cg,multigrid,redblack"}));
    ASSERT_THAT(report["sweep"], SizeIs(3));
    EXPECT_EQ(report["sweep"][1]["solver"], "multigrid");
    const auto alone = report_of(with_truth({"--solver", "multigrid"}));
    EXPECT_EQ(report["sweep"][1]["epe"], alone["accuracy"]["epe"]);
    EXPECT_THAT(alone, Not(Contains("sweep")));
}

TEST_F(OflowSweep, KeepsTheOtherRunsIfOneFails) {
    for (const std::string& image : {image0(), image1()}) {
        write_bytes(image, "P5 96 1 255\n" + std::string(96, '\7'));
    }
    const Outcome outcome = run({"--no-picture", "--method", "hs,lk"});
    EXPECT_THAT(
        lines(outcome.error),
        ElementsAre("oflow: warning: 1 of 2 runs failed, the first at method lk: --method lk "
                    "requires at least 2 x 2 pixels; the images are 96 x 1"));
    EXPECT_THAT(folder_.entries(), Contains("a.0.flo"));
    EXPECT_THAT(folder_.entries(), Not(Contains("a.1.flo")));
    const auto table = lines(read_bytes(folder_ / "a.scores.csv"));
    ASSERT_THAT(table, SizeIs(3));
    EXPECT_THAT(table[2], StartsWith("lk,nan,"));
}

TEST_F(OflowSweep, RefusesWhatIsNoSensibleList) {
    const std::vector<std::string> flags = with_truth({});
    const auto refused = [&](const std::vector<std::string>& more) {
        return refusal(joined(flags, more));
    };
    EXPECT_THAT(refused({"--alpha", "1,"}), HasSubstr("--alpha"));
    EXPECT_THAT(refused({"--alpha", "4,-1"}), HasSubstr("--alpha -1: expected a number above 0"));
    EXPECT_THAT(refused({"--warps", "1,2.5"}), HasSubstr("--warps 2.5: expected a whole number"));
    EXPECT_THAT(refused({"--median", "3,4"}), HasSubstr("median is 4"));
    EXPECT_THAT(refused({"--solver", "cg,sor"}), HasSubstr("--solver sor: expected jacobi"));
    EXPECT_THAT(refused({"--solver", "redblack,cg", "--omega", "1.5"}),
                HasSubstr("--omega requires --solver redblack"));
    EXPECT_THAT(refused({"--alpha", "1:9:1000000"}), HasSubstr("expected at most 10000"));
    EXPECT_THAT(refused({"--scores", "s.csv"}), HasSubstr("--scores requires a list or a range"));
    EXPECT_THAT(refused({"--alpha", "1,2", "--scores", "s.txt"}), HasSubstr("expected FILE.csv"));
    EXPECT_THAT(refused({"--solver", "cg,cacg", "--scores", "s.pdf"}), HasSubstr("--scores s.pdf"));
    EXPECT_THAT(refused({"--alpha", "1,2", "--scores", truth()}), HasSubstr("--scores"));
    EXPECT_THAT(refusal({"--alpha", "1,2", "--keep", "best"}),
                HasSubstr("--keep best requires --truth"));
    EXPECT_THAT(refusal({image0(), "--alpha", "1,2"}),
                HasSubstr("a list or a range of values requires a single pair of images"));
    EXPECT_EQ(folder_.entries(), (std::vector<std::string>{"a.pgm", "b.pgm", "truth.flo"}));
}

}  // namespace
}  // namespace aperture::apps::tests
