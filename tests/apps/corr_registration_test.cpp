// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// corr --register.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "aperture/media/image_file.hpp"
#include "tests/apps/corr_program.hpp"

namespace aperture::apps::tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class CorrRegistration : public Corr {};

TEST_F(CorrRegistration, FindsAShiftAndWritesNothingUnasked) {
    const std::string a = image("a.ppm");
    const std::string b = image("b.ppm", {}, -2.25, 1.5);
    const Outcome outcome = run_well({a, b, "--register", "shift", "--report", folder_ / "r.json"});
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_THAT(lines(outcome.out), Contains(AllOf(StartsWith("shift"), HasSubstr("pixels"))));
    EXPECT_THAT(folder_.entries(), testing::ElementsAre("a.ppm", "b.ppm", "r.json"));
    const auto results = read_json(folder_ / "r.json")["results"];
    EXPECT_TRUE(results["found"]);
    EXPECT_NEAR(results["dy"], -1.5, 0.05);
    EXPECT_NEAR(results["dx"], 2.25, 0.05);
    EXPECT_FALSE(results.contains("rotation"));
}

TEST_F(CorrRegistration, MovesTheSecondImageOntoTheFirst) {
    const std::string a = image("a.ppm", {.width = 160, .height = 120, .colour = true});
    const std::string b = image("b.ppm", {.width = 160, .height = 120, .colour = true}, 5, -3);
    const Outcome outcome =
        run_well({a, b, "--register", "similarity", "--out",
                  folder_ / ("m" + std::string(picture_extension)), "--difference",
                  folder_ / ("d" + std::string(picture_extension))});
    EXPECT_THAT(lines(outcome.out), Contains(StartsWith("rotation")));
    const media::Image first = media::read_image(a);
    const media::Image moved = media::read_image(folder_ / ("m" + std::string(picture_extension)));
    const media::Image difference =
        media::read_image(folder_ / ("d" + std::string(picture_extension)));
    for (int y = 10; y < 110; ++y) {
        for (int x = 10; x < 150; ++x) {
            for (int c = 0; c < 3; ++c) {
                ASSERT_NEAR(moved.planes(c, y, x), first.planes(c, y, x), 6) << y << ' ' << x;
            }
            ASSERT_NEAR(difference.planes(0, y, x), 127.5, 3) << y << ' ' << x;
        }
    }
    // b has no content for the last columns of a.
    EXPECT_EQ(moved.planes(0, 60, 0), 0);
}

TEST_F(CorrRegistration, WarnsWhereNothingIsFound) {
    const std::string a = image("a.ppm");
    write_bytes(folder_ / "grey.pgm", "P5\n96 72\n255\n" + std::string(96 * 72, 'x'));
    const std::vector<std::string> arguments{a,       folder_ / "grey.pgm", "--register", "shift",
                                             "--out", folder_ / "m.ppm"};
    const Outcome outcome = run_well(arguments);
    EXPECT_THAT(outcome.error, HasSubstr("do not tell how they lie on one another"));
    EXPECT_THAT(lines(outcome.out), Contains(HasSubstr("none found")));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "m.ppm"));
    EXPECT_EQ(run(joined(arguments, {"--strict"})).status, 3);
}

TEST_F(CorrRegistration, RefusesWhatItCannotDo) {
    const std::string a = image("a.ppm");
    const std::string b = image("b.ppm", {.width = 97});
    expect_refusal({a, "--register", "shift"}, "--register requires two images");
    expect_refusal({a, a, a, "--register", "shift"}, "--register requires two images");
    expect_refusal({a, b, "--register", "shift"}, "97x72 pixels");
    expect_refusal({a, a, "--register", "shift", "--offsets", "3x3"},
                   "--offsets requires a surface, which --register does not compute");
    expect_refusal({a, a, "--difference", "d.png"}, "--difference requires --register");
    expect_refusal({a, a, "--register", "shift", "--out", "d.h5"}, "--out d.h5: expected");
    expect_refusal({a, a, "--register", "affine"}, "expected shift|similarity");
    expect_refusal({a, a, "--register", "shift", "--out", a}, "it is the input");
}

}  // namespace
}  // namespace aperture::apps::tests
