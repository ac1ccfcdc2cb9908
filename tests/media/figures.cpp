// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "aperture/core/error.hpp"
#include "aperture/media/figure.hpp"
#include "aperture/media/image_file.hpp"
#include "aperture/media/output_mark.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr Colour black = {0, 0, 0};

/// The darkness of all pixels; 1 for a black one.
double darkness(const Picture& picture) {
    double sum = 0;
    for (const Colour& pixel : picture.pixels) sum += 1 - pixel[0] / 255.0;
    return sum;
}

TEST(Figure, LinesAreAsLongAndAsWideAsAsked) {
    const auto covered = [](Point from, Point to) {
        Figure figure(60, 60);
        figure.line(std::array{from, to}, {black, 3});
        return darkness(figure.pixels());
    };
    // In every direction: length times width, plus a disc for the two round ends.
    const double disc = 1.5 * 1.5 * 3.14159;
    const double area = 40 * 3 + disc;
    EXPECT_NEAR(covered({10, 30}, {50, 30}), area, 0.02 * area);
    EXPECT_NEAR(covered({30, 50}, {30, 10}), area, 0.02 * area);
    EXPECT_NEAR(covered({15, 15}, {43.28, 43.28}), area, 0.02 * area);
    EXPECT_NEAR(covered({30, 30}, {30, 30}), disc, 0.3);
    EXPECT_NEAR(covered({-1e5, 30}, {20, 30}), 20 * 3 + disc / 2, 2);
    EXPECT_EQ(covered({-30, -30}, {-20, 90}), 0);
}

TEST(Figure, DashesAreAsLongAsTheirGaps) {
    Figure figure(200, 20);
    figure.line(std::array{Point{0, 10}, Point{200, 10}}, {black, 2, 5});
    EXPECT_NEAR(darkness(figure.pixels()), 200, 10);
}

TEST(Figure, ALineDoesNotStartAtTheTextBefore) {
    Figure with(100, 100);
    with.text("here", {10, 90}, 9, black);
    const double words = darkness(with.pixels());
    with.line(std::array{Point{50, 10}, Point{90, 10}}, {black, 2});
    with.ring({70, 40}, 10, {black, 2});
    EXPECT_NEAR(darkness(with.pixels()) - words, 2 * 40 + 3.14 + 2 * 62.8, 3);
}

TEST(Figure, PixelsOfAPictureStayAsTheyAre) {
    Picture picture(3, 2, {10, 20, 30});
    picture.at(2, 1) = {255, 128, 0};
    Figure figure(8, 6);
    figure.picture(picture, 4, 3);
    const Picture drawn = figure.pixels();
    EXPECT_EQ(drawn.width, 8);
    EXPECT_EQ(drawn.height, 6);
    for (int y = 0; y < 2; ++y) {
        for (int x = 0; x < 3; ++x) EXPECT_EQ(drawn.at(4 + x, 3 + y), picture.at(x, y));
    }
    EXPECT_EQ(drawn.at(3, 3), paper);
    EXPECT_EQ(drawn.at(7, 4), paper);
    figure.picture(picture, -2, -1);
    EXPECT_EQ(figure.pixels().at(0, 0), (Colour{255, 128, 0}));
}

TEST(Figure, ClipsUntilToldOtherwise) {
    Figure figure(20, 20);
    figure.clip({0, 0, 5, 5});
    figure.fill({0, 0, 20, 20}, black);
    EXPECT_EQ(darkness(figure.pixels()), 25);
    figure.unclip();
    figure.fill({10, 10, 1, 1}, black);
    EXPECT_EQ(darkness(figure.pixels()), 26);
}

TEST(Figure, TextIsDrawnWhereItIsAnchored) {
    const auto extent = [](Anchor anchor, bool upward) {
        Figure figure(200, 200);
        figure.text("Range", {100, 100}, 12, black, anchor, upward);
        const Picture picture = figure.pixels();
        std::set<int> columns;
        std::set<int> rows;
        for (int y = 0; y < 200; ++y) {
            for (int x = 0; x < 200; ++x) {
                if (picture.at(x, y)[0] > 128) continue;
                columns.insert(x);
                rows.insert(y);
            }
        }
        return std::array<int, 4>{*columns.begin(), *columns.rbegin(), *rows.begin(),
                                  *rows.rbegin()};
    };
    EXPECT_GE(extent(Anchor::left, false)[0], 100);
    EXPECT_LT(extent(Anchor::right, false)[1], 100);
    EXPECT_NEAR(extent(Anchor::centre, false)[0] + extent(Anchor::centre, false)[1], 200, 6);
    // A capital letter is 12 pixels high, its middle at the point.
    EXPECT_NEAR(extent(Anchor::left, false)[2], 94, 1);
    const auto upward = extent(Anchor::centre, true);
    EXPECT_LT(upward[1] - upward[0], 20);
    EXPECT_GT(upward[3] - upward[2], 25);
}

TEST(Figure, IsWrittenInEveryFormat) {
    const TemporaryFolder folder;
    Figure figure(40, 30);
    figure.fill({10, 5, 20, 10}, {200, 100, 50});
    figure.text("motion", {20, 25}, 9, black, Anchor::centre);
    write_figure(folder / "a.png", figure);
    write_figure(folder / "a.pdf", figure);
    write_figure(folder / "a.svg", figure);
    EXPECT_THAT(folder.entries(), ElementsAre("a.pdf", "a.png", "a.svg"));
    EXPECT_TRUE(is_output(folder / "a.png"));
    EXPECT_THAT(read_bytes(folder / "a.pdf"), StartsWith("%PDF"));
    EXPECT_THAT(read_bytes(folder / "a.svg"), HasSubstr("<svg"));
    EXPECT_THAT(read_bytes(folder / "a.svg"), HasSubstr("width=\"30"));  // points: 40 x 0.75
#if APERTURE_OPENCV
    EXPECT_EQ(to_picture(read_image(folder / "a.png").planes).pixels, figure.pixels().pixels);
#endif
}

TEST(Figure, RefusesOtherFormatsAndSizes) {
    const TemporaryFolder folder;
    EXPECT_THAT(error_of([&] { write_figure(folder / "a.jpg", Figure(5, 5)); }),
                HasSubstr("a.jpg: cannot write: figure format .jpg, expected .png, .pdf or .svg"));
    const auto missing = error_of([&] { write_figure("/dev/null/a.png", Figure(5, 5)); });
    EXPECT_THAT(missing, StartsWith("/dev/null/a.png: "));
    EXPECT_THAT(folder.entries(), testing::IsEmpty());
    EXPECT_THROW(Figure(0, 5), core::InvalidArgument);
    EXPECT_THROW(Figure(5, largest_figure + 1), core::InvalidArgument);
    EXPECT_THAT(Figure(largest_figure, 1).encoded(".png"), Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace aperture::media::tests
