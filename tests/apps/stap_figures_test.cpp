// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// The figures of stap as a user asks for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/common/file_names.hpp"
#include "tests/apps/stap_program.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::apps::tests {
namespace {

using media::tests::read_bytes;
using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class StapFigures : public Stap {
  protected:
    void SetUp() override {
        if (!have_figures) GTEST_SKIP() << "built without Cairo";
        make_cube({"--channels", "4", "--pulses", "16", "--range-cells", "120", "--prf", "800",
                   "--target", "40:0.25:20:10"});
    }
    std::string figure(const std::string& name) const { return folder_ / name; }
    /// The figure that `flags` ask for.
    std::string drawn(const std::vector<std::string>& flags) {
        run(joined({"--device", "cpu", "--azimuth", "-60:60:13", "--plot-pattern", figure("p.svg")},
                   flags));
        return read_bytes(figure("p.svg"));
    }
    std::string refusal(const std::vector<std::string>& flags) {
        const Outcome outcome = run_program("stap", joined({cube()}, flags));
        EXPECT_EQ(outcome.status, 1);
        return outcome.error;
    }
};

TEST_F(StapFigures, AreListedInTheSummaryAndTheReport) {
    const auto report = report_of(
        {"--device", "cpu", "--detector", "amf", "--plot", figure("m.png"), "--plot-angle-doppler",
         figure("a.pdf"), "--plot-pattern", figure("p.svg"), "--plot-sinr", figure("s.png")});
    EXPECT_THAT(report["outputs"], testing::SizeIs(5));
    EXPECT_THAT(read_bytes(figure("m.png")), StartsWith("\x89PNG\r\n\x1a\n"));
    EXPECT_THAT(read_bytes(figure("a.pdf")), StartsWith("%PDF"));
    EXPECT_THAT(read_bytes(figure("p.svg")), HasSubstr("<svg"));
    const Outcome outcome = run({"--device", "cpu", "--plot", figure("m.png")});
    EXPECT_THAT(lines(outcome.out), Contains(AllOf(StartsWith("figure"), EndsWith("m.png"))));
}

TEST_F(StapFigures, LookAtTheStrongestTargetUnlessTold) {
    const std::vector<std::string> detecting{"--detector", "amf"};
    const std::string alone = drawn(detecting);
    // The target: range cell 40, 0.25 cycles per pulse, 20 degrees.
    EXPECT_EQ(alone, drawn(joined(detecting, {"--plot-azimuth", "20", "--plot-doppler", "200",
                                              "--plot-range", "40"})));
    EXPECT_NE(alone, drawn(joined(detecting, {"--plot-azimuth", "-20"})));
    EXPECT_NE(alone, drawn(joined(detecting, {"--plot-doppler", "-100"})));
    EXPECT_NE(alone, drawn(joined(detecting, {"--plot-range", "90"})));
    // Without a detector: boresight, Doppler 0, the middle.
    EXPECT_EQ(drawn({}),
              drawn({"--plot-azimuth", "0", "--plot-doppler", "0", "--plot-range", "60"}));
    // Doppler wraps: the PRF is 800 Hz.
    EXPECT_EQ(drawn({"--plot-doppler", "200"}), drawn({"--plot-doppler", "-600"}));
}

TEST_F(StapFigures, OfTheMapsShowTheStatisticOverItsThreshold) {
    const auto map = [&](const std::vector<std::string>& flags) {
        run(joined({"--device", "cpu", "--azimuth", "-60", "--plot", figure("m.svg")}, flags));
        return read_bytes(figure("m.svg"));
    };
    const std::string strict = map({"--detector", "amf", "--pfa", "1e-12"});
    EXPECT_NE(strict, map({"--detector", "amf", "--pfa", "1e-9"}));
    EXPECT_NE(strict, map({}));
    EXPECT_EQ(strict, map({"--detector", "amf", "--pfa", "1e-12", "--fftshift"}));
}

TEST_F(StapFigures, OfTheCubesOwnSteeringVectorsHaveNoAzimuth) {
    run({"--device", "cpu", "--azimuth", "5,25", "--save", "steering"});
    const auto steering = read_dataset<std::complex<float>>(result(), "/steering");
    {
        const media::Handle file = media::tests::open_to_add(cube());
        const media::Handle type{H5Tcreate(H5T_COMPOUND, 8), H5Tclose};
        H5Tinsert(type, "r", 0, H5T_IEEE_F32LE);
        H5Tinsert(type, "i", 4, H5T_IEEE_F32LE);
        media::tests::add_dataset(file, "/steering", type, {2, 12}, steering.values.data());
    }
    run({"--device", "cpu", "--plot-sinr", figure("s.svg"), "--plot", figure("m.svg")});
    EXPECT_THAT(read_bytes(figure("s.svg")), Not(IsEmpty()));
    for (const std::vector<std::string>& flags :
         {std::vector<std::string>{"--plot-pattern", figure("p.svg")},
          std::vector<std::string>{"--plot-angle-doppler", figure("p.svg")},
          std::vector<std::string>{"--plot", figure("p.svg"), "--plot-azimuth", "5"}}) {
        EXPECT_THAT(refusal(flags), HasSubstr("the directions of /steering are unknown"));
    }
}

TEST_F(StapFigures, WarnOfBinsThatTheyLack) {
    const Outcome outcome = run({"--device", "cpu", "--loading", "1e-30", "--training-block", "8",
                                 "--plot-sinr", figure("s.svg")});
    EXPECT_THAT(outcome.error, HasSubstr("the figures of range cell 60 lack 16 of 16"));
    EXPECT_THAT(run({"--device", "cpu", "--loading", "1e-30", "--training-block", "8",
                     "--plot-pattern", figure("p.svg")})
                    .error,
                HasSubstr("lacks the adapted curve"));
}

TEST_F(StapFigures, AreRefusedWithAReason) {
    EXPECT_THAT(refusal({"--plot", figure("m.jpg")}),
                HasSubstr("m.jpg: expected a name that ends in .png, .pdf or .svg"));
    EXPECT_THAT(refusal({"--plot-azimuth", "3"}), HasSubstr("--plot-azimuth requires a figure"));
    EXPECT_THAT(refusal({"--plot", figure("m.png"), "--plot-range", "3"}),
                HasSubstr("--plot-range requires --plot-angle-doppler"));
    EXPECT_THAT(refusal({"--plot-sinr", figure("s.png"), "--plot-range", "120"}),
                HasSubstr("--plot-range 120: the cube reaches from 0 to 119 cells"));
    EXPECT_THAT(refusal({"--plot-sinr", figure("s.png"), "--plot-azimuth", "91"}),
                HasSubstr("--plot-azimuth 91: expected"));
    EXPECT_FALSE(std::filesystem::exists(figure("s.png")));
}

}  // namespace
}  // namespace aperture::apps::tests
