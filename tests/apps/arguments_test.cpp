// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// The forms in which a command line writes its values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/bgsub/options.hpp"
#include "apps/common/argument_fields.hpp"
#include "apps/stap/doppler_axis.hpp"
#include "apps/stap/options.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps {
namespace {

using media::tests::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Numbers, AreReadWhole) {
    EXPECT_EQ(parse_number("--x", "3"), 3);
    EXPECT_EQ(parse_number("--x", "-1.5e2"), -150);
    EXPECT_EQ(parse_number("--x", "+14"), 14);
    for (const auto* text : {"", "x", "3x", " 3", "3 ", "+-3", "+", "nan", "inf", "1e999", "1,2"}) {
        EXPECT_THAT(error_of([&] { parse_number("--x", text); }), HasSubstr("expected a number"))
            << text;
    }
}

TEST(Values, AreAListOrARange) {
    const auto values = [](const char* text) { return parse_values("--x", text, {-90, 90}); };
    EXPECT_THAT(values("14"), ElementsAre(14));
    EXPECT_THAT(values("-30,0,45.5"), ElementsAre(-30, 0, 45.5));
    EXPECT_THAT(values("-30:30:4"), ElementsAre(-30, -10, 10, 30));
    EXPECT_THAT(values("10:50:1"), ElementsAre(10));
    EXPECT_THAT(values("30:-30:3"), ElementsAre(30, 0, -30));
    EXPECT_THAT(values("0.5:32:log:4"),
                ElementsAre(0.5, testing::DoubleEq(2), testing::DoubleEq(8), 32));
    EXPECT_THAT(values("3:3:log:1"), ElementsAre(3));
}

TEST(Values, RefuseWhatIsNoRange) {
    for (const auto* text :
         {"", "a", "1,", "1:2", "1:2:3:4", "0:10:0", "0:10:2.5", "0:10:-1", "91", "-90.5", "0:95:3",
          "0:10:1e9", "0:10:log:3", "-1:10:log:3", "1:10:lin:3", "1:2:log", "1:2:log:3:4"}) {
        EXPECT_THAT(error_of([&] {
                        parse_values("--x", text, {-90, 90});
                    }),
                    HasSubstr("--x"))
            << text;
    }
}

TEST(Loading, IsAbsoluteOrRelative) {
    EXPECT_EQ(parse_loading("2.5"), (stap::DiagonalLoading{2.5, false}));
    EXPECT_EQ(parse_loading("rel:1e-3"), (stap::DiagonalLoading{1e-3, true}));
    EXPECT_EQ(to_string(parse_loading("rel:0.001")), "rel:0.001");
    EXPECT_EQ(to_string(parse_loading("2.5")), "2.5");
    for (const auto* text : {"", "rel:", "-1", "rel:-1", "abs:1", "nan"}) {
        EXPECT_THAT(error_of([&] { parse_loading(text); }), HasSubstr("--loading")) << text;
    }
}

TEST(CubeNames, MayHoldADataset) {
    EXPECT_EQ(parse_cube_name("a/b.h5").path, "a/b.h5");
    EXPECT_EQ(parse_cube_name("a/b.h5").dataset, "");
    EXPECT_EQ(parse_cube_name("a/b.h5:/x/y").path, "a/b.h5");
    EXPECT_EQ(parse_cube_name("a/b.h5:/x/y").dataset, "/x/y");
    const aperture::tests::TemporaryFolder folder;
    std::filesystem::create_directory(folder / "odd:");
    media::tests::write_bytes(folder / "odd:" / "cube.h5", "x");
    EXPECT_EQ(parse_cube_name(folder / "odd:" / "cube.h5").path, folder / "odd:" / "cube.h5");
}

TEST(SavedResultsList, NamesWhatThereIs) {
    const SavedResults saved = parse_saved_results("covariance,weights");
    EXPECT_TRUE(saved.covariance && saved.weights);
    EXPECT_FALSE(saved.info || saved.steering);
    EXPECT_THAT(error_of([] { parse_saved_results("snapshots"); }),
                HasSubstr("covariance, weights, info, steering"));
    EXPECT_THAT(error_of([] { parse_saved_results(""); }), HasSubstr("--save"));
}

TEST(ScaleOfFrames, IsAFactorOrASize) {
    EXPECT_EQ(parse_scale("0.25").factor, 0.25);
    EXPECT_EQ(parse_scale("384x288").width, 384);
    EXPECT_EQ(parse_scale("384x288").height, 288);
}

TEST(Choices, RefusalNamesThemAll) {
    EXPECT_EQ(parse_choice("--training", stap::training_choices, "sliding"),
              stap::Training::sliding);
    EXPECT_EQ(error_of([] { parse_choice("--training", stap::training_choices, "none"); }),
              "--training none: expected block|sliding|all");
}

TEST(DopplerAxis, IsSignedAndCentred) {
    EXPECT_EQ(stap::doppler_of_bin(0, 8), 0);
    EXPECT_EQ(stap::doppler_of_bin(2, 8), 0.25);
    EXPECT_EQ(stap::doppler_of_bin(4, 8), -0.5);
    EXPECT_EQ(stap::doppler_of_bin(7, 8), -0.125);
    for (const int bins : {1, 2, 5, 8}) {
        for (int row = 1; row < bins; ++row) {
            EXPECT_LT(stap::doppler_of_bin(bin_of_row(row - 1, bins), bins),
                      stap::doppler_of_bin(bin_of_row(row, bins), bins));
        }
    }
}

}  // namespace
}  // namespace aperture::apps
