// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// corr on planes from a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/apps/corr_program.hpp"

namespace aperture::apps::tests {
namespace {

using media::tests::write_planes;
using testing::ElementsAre;
using testing::HasSubstr;

using Values = std::vector<double>;

Values whole_numbers(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    Values values;
    while (values.size() < count) values.push_back(static_cast<double>(generator() % 100));
    return values;
}

/// sum A(y + dy, x + dx) B(y, x) over all planes, for displacements of both signs.
Values oracle(const Values& a, const Values& b, int planes, int rows, int columns) {
    Values sums;
    for (int dy = 1 - rows; dy < rows; ++dy) {
        for (int dx = 1 - columns; dx < columns; ++dx) {
            double sum = 0;
            for (int p = 0; p < planes; ++p) {
                for (int y = std::max(0, -dy); y < std::min(rows, rows - dy); ++y) {
                    for (int x = std::max(0, -dx); x < std::min(columns, columns - dx); ++x) {
                        const auto of_a = (p * rows + y + dy) * columns + x + dx;
                        const auto of_b = (p * rows + y) * columns + x;
                        sum +=
                            a[static_cast<std::size_t>(of_a)] * b[static_cast<std::size_t>(of_b)];
                    }
                }
            }
            sums.push_back(sum);
        }
    }
    return sums;
}

using CorrPlanes = Corr;

TEST_F(CorrPlanes, AreTakenAsTheyAre) {
    // More planes than any PlaneKind has.
    const Values a = whole_numbers(5 * 7 * 11, 1);
    const Values b = whole_numbers(5 * 7 * 11, 2);
    for (const std::string number : {"float64", "int16"}) {
        write_planes(folder_ / "a.h5", {5, 7, 11}, a, number);
        write_planes(folder_ / "b.h5", {5, 7, 11}, b, number);
        const std::vector<std::string> flags{"--signed", "--offsets", "7x11"};
        const auto with = [&](const std::vector<std::string>& inputs) {
            return surface(joined(joined({"--planes"}, inputs), flags));
        };
        const auto compare = [&](const Values& found, const Values& expected) {
            ASSERT_EQ(found.size(), expected.size());
            for (std::size_t i = 0; i < found.size(); ++i) {
                ASSERT_NEAR(found[i], expected[i], 1e-6 * 5 * 7 * 11 * 1e4) << number;
            }
        };
        compare(with({folder_ / "a.h5"}), oracle(a, a, 5, 7, 11));
        compare(with({folder_ / "a.h5", folder_ / "b.h5"}), oracle(a, b, 5, 7, 11));
        EXPECT_THAT(read_dataset<double>(folder_ / "surface.h5", "/planes").extent,
                    ElementsAre(5, 13, 21));
    }
}

TEST_F(CorrPlanes, HaveOutputsBesideThemAndASummary) {
    write_planes(folder_ / "a.h5", {2, 6, 8}, whole_numbers(96, 3));
    const Outcome outcome =
        run_well({"--planes", folder_ / "a.h5", "--no-picture", "--report", folder_ / "r.json"});
    EXPECT_THAT(folder_.entries(), ElementsAre("a.corr.h5", "a.h5", "r.json"));
    EXPECT_THAT(lines(outcome.out)[0], HasSubstr("a.h5: 8x6 pixels"));
    EXPECT_THAT(lines(outcome.out)[2], HasSubstr("2 planes from file, not normalized"));
    const auto parameters = read_json(folder_ / "r.json")["parameters"];
    EXPECT_EQ(parameters["planes_from"], "file");
    EXPECT_EQ(parameters["planes"], 2);
    EXPECT_EQ(parameters["normalize"], "none");
}

TEST_F(CorrPlanes, AreNormalizedOnlyOnRequestAndCountWhereTheMaskSays) {
    const Values a = whole_numbers(2 * 4 * 5, 4);
    write_planes(folder_ / "a.h5", {2, 4, 5}, a);
    const auto normalized =
        surface({"--planes", folder_ / "a.h5", "--normalize", "plane", "--offsets", "4x5"});
    EXPECT_NEAR(normalized[0], 2, 1e-6);
    // The mask keeps the first two rows only.
    write_bytes(folder_ / "m.pgm", "P2 5 4 1 1 1 1 1 1  1 1 1 1 1  0 0 0 0 0  0 0 0 0 0");
    const auto masked =
        surface({"--planes", folder_ / "a.h5", "--mask", folder_ / "m.pgm", "--offsets", "1x1"});
    double energy = 0;
    for (std::size_t i = 0; i < 40; ++i) energy += i % 20 < 10 ? a[i] * a[i] : 0;
    EXPECT_NEAR(masked[0], energy, 1e-6 * energy);
    EXPECT_EQ(read_dataset<int>(folder_ / "surface.h5", "/counts").values[0], 10);
    write_bytes(folder_ / "m.pgm", "P2 4 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1");
    expect_refusal({"--planes", folder_ / "a.h5", "--mask", folder_ / "m.pgm"},
                   "m.pgm: 4x4 pixels, but ");
}

TEST_F(CorrPlanes, OfOtherShapesAndImagesAreRefused) {
    const path a = folder_ / "a.h5";
    const path b = folder_ / "b.h5";
    write_planes(a, {2, 4, 5}, whole_numbers(40, 5));
    write_planes(b, {1, 8, 5}, whole_numbers(40, 5));
    expect_refusal({"--planes", a, b},
                   "b.h5: /planes is 1 x 8 x 5, but that of " + a.string() + " is 2 x 4 x 5");
    expect_refusal({"--planes", a, "--planes-from", "grey"}, "--planes-from");
    expect_refusal({image("a.pgm"), "--planes", a}, "cannot be combined with an image: ");
    expect_refusal({"--planes", a, b, a}, "--planes: At Most 2 required but received 3");
    expect_refusal({"--planes", folder_ / "none.h5"}, "none.h5: no such file");
    expect_refusal({"--planes", a, folder_ / "a.pgm"}, "a.pgm: not an HDF5 file");
    expect_refusal({"--planes", a, "--out", a}, "a.h5: cannot write: it is the input");
    expect_refusal({}, "no input: expected an image or --planes");
}

}  // namespace
}  // namespace aperture::apps::tests
