// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// The figures of oflow as a user asks for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aperture/flow/picture.hpp"
#include "aperture/media/figure.hpp"
#include "aperture/media/flow_figure.hpp"
#include "aperture/media/image_file.hpp"
#include "apps/common/file_names.hpp"
#include "tests/apps/oflow_program.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::apps::tests {
namespace {

using media::Picture;
using media::tests::read_bytes;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class OflowFigures : public Oflow {
  protected:
    void SetUp() override {
        if (!have_figures) GTEST_SKIP() << "built without Cairo";
    }
    Outcome run_alone(const std::vector<std::string>& arguments) {
        return run_program("oflow", arguments);
    }
    /// The pixels of a written figure.
    Picture drawn(const std::string& name) {
        return media::to_picture(media::read_image(folder_ / name).planes);
    }
};

#if APERTURE_OPENCV

TEST_F(OflowFigures, OfTheFlowHaveAScale) {
    write_pair();
    run({});
    const auto flow = media::read_flow(folder_ / "a.flo");
    const auto expected = media::flow_figure(flow, flow::largest_motion(flow)).pixels();
    EXPECT_EQ(drawn("a.flow.png").pixels, expected.pixels);
}

TEST_F(OflowFigures, OfIdenticalImagesAreWhite) {
    write_pair({}, 0, 0);
    const Outcome outcome = run({"--max-motion", "2", "--arrows", folder_ / "arrows.png"});
    EXPECT_THAT(outcome.out, HasSubstr("largest 0 pixels; full saturation at 2"));
    const Picture flow = drawn("a.flow.png");
    EXPECT_EQ(flow.width, 96 + media::flow_key_columns);
    for (int y = 0; y < 72; ++y) {
        for (int x = 0; x < 96; ++x) ASSERT_EQ(flow.at(x, y), media::paper) << y << ' ' << x;
    }
    run({});
    EXPECT_EQ(drawn("a.flow.png").at(50, 50), media::paper);
}

TEST_F(OflowFigures, OfErrorsAndArrowsAreDrawn) {
    write_pair();
    write_constant_flo(folder_ / "truth.flo", 96, 72, shift_u, shift_v);
    run({"--truth", folder_ / "truth.flo", "--error-map", folder_ / "error.png", "--max-error", "1",
         "--arrows", folder_ / "arrows.png"});
    EXPECT_EQ(drawn("error.png").width, 96 + media::flow_key_columns);
    EXPECT_EQ(drawn("arrows.png").width, 96 + media::flow_key_columns);
}

TEST_F(OflowFigures, OfOneRowOrColumnOrPixelAreDrawn) {
    for (const auto& [width, height] : {std::pair(40, 1), std::pair(1, 40), std::pair(1, 1)}) {
        write_pair({.width = width, .height = height});
        run({"--arrows", folder_ / "arrows.png"});
        EXPECT_EQ(drawn("arrows.png").width, width + media::flow_key_columns);
    }
}

#endif

TEST_F(OflowFigures, OfTheConvergenceAreDrawn) {
    write_pair();
    run({"--solver", "cg", "--iterations", "30", "--convergence", folder_ / "c.csv",
         "--convergence", folder_ / "c.svg"});
    EXPECT_THAT(lines(read_bytes(folder_ / "c.csv")), testing::SizeIs(32));
    EXPECT_THAT(read_bytes(folder_ / "c.svg"), HasSubstr("<svg"));
}

TEST_F(OflowFigures, OfAGivenFlow) {
    write_constant_flo(folder_ / "given.flo", 96, 72, 3, 4);
    const Outcome outcome = run_alone({folder_ / "given.flo"});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(folder_.entries(), ElementsAre("given.flo", "given.flow.png"));
    EXPECT_THAT(lines(outcome.out),
                ElementsAre(AllOf(StartsWith("flow"), HasSubstr("given.flo: 96x72 pixels")),
                            AllOf(StartsWith("stages"), HasSubstr("read"), HasSubstr("write")),
                            "motion      largest 5 pixels; full saturation at 5",
                            AllOf(StartsWith("result"), HasSubstr("given.flow.png"))));
    const Outcome compared =
        run_alone({folder_ / "given.flo", "--max-motion", "10", "--out", folder_ / "drawn.pdf",
                   "--truth", folder_ / "given.flo", "--error-map", folder_ / "error.svg",
                   "--report", folder_ / "r.json"});
    EXPECT_EQ(compared.status, 0) << compared.error;
    EXPECT_THAT(read_bytes(folder_ / "drawn.pdf"), StartsWith("%PDF"));
    EXPECT_THAT(read_bytes(folder_ / "error.svg"), HasSubstr("<svg"));
    const auto report = read_json(folder_ / "r.json");
    EXPECT_EQ(report["accuracy"]["epe"], 0);
    EXPECT_EQ(report["parameters"]["max_motion"], 10);
    EXPECT_EQ(report["results"]["largest_motion"], 5);
    EXPECT_EQ(report["inputs"][0]["content"], "flow");
}

TEST_F(OflowFigures, OfAGivenFlowAreRefusedWithAReason) {
    write_constant_flo(folder_ / "given.flo", 96, 72, 3, 4);
    write_constant_flo(folder_ / "other.flo", 96, 70, 3, 4);
    const std::string flow = folder_ / "given.flo";
    const auto refusal = [&](const std::vector<std::string>& flags) {
        const Outcome outcome = run_alone(joined({flow}, flags));
        EXPECT_EQ(outcome.status, 1);
        return outcome.error;
    };
    EXPECT_THAT(refusal({"--alpha", "3"}), HasSubstr("--alpha requires images"));
    EXPECT_THAT(refusal({"--arrows", "a.png"}), HasSubstr("--arrows requires images"));
    EXPECT_THAT(refusal({"--no-picture"}), HasSubstr("--no-picture requires images"));
    EXPECT_THAT(refusal({"--out", flow}), HasSubstr("expected a name that ends in .png"));
    EXPECT_THAT(refusal({"--truth", folder_ / "other.flo"}),
                HasSubstr("other.flo: 96x70 pixels, but"));
    EXPECT_THAT(run_alone({folder_ / "none.flo"}).error, HasSubstr("none.flo: no such file"));
    EXPECT_THAT(folder_.entries(), ElementsAre("given.flo", "other.flo"));
}

TEST_F(OflowFigures, ThatAreTooLargeAreRefusedBeforeTheWork) {
    write_pair({.width = 32700, .height = 2});
    const Outcome outcome = run_alone({image0(), image1(), "--device", "cpu"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, AllOf(HasSubstr("a.pgm: 32700x2 pixels are too many for a figure"),
                                     HasSubstr("--no-picture")));
    run({"--no-picture", "--levels", "1", "--warps", "1"});
}

}  // namespace
}  // namespace aperture::apps::tests
