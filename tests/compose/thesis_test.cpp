// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// The solvers of the thesis against plain loops in double precision.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "tests/compose/thesis_programs.hpp"

namespace aperture::compose {
namespace {

constexpr double lambda2 = 0.25;

struct Image {
    index_t rows, columns;
    std::vector<double> pixels;

    double& at(index_t row, index_t column) {
        return pixels[static_cast<std::size_t>(row * columns + column)];
    }
    /// Of the nearest pixel.
    double near(index_t row, index_t column) const {
        row = std::clamp<index_t>(row, 0, rows - 1);
        column = std::clamp<index_t>(column, 0, columns - 1);
        return pixels[static_cast<std::size_t>(row * columns + column)];
    }
    double neighbours(index_t row, index_t column) const {
        return near(row - 1, column) + near(row, column - 1) + near(row, column + 1) +
               near(row + 1, column);
    }
};

/// The equations of Horn and Schunck.
struct Flow {
    Image Ix, Iy, It, du, dv;

    template <class Action>
    void for_each_pixel(const Action& action) const {
        for (index_t row = 0; row < du.rows; ++row) {
            for (index_t column = 0; column < du.columns; ++column) action(row, column);
        }
    }
    double squared(const Image& a, const Image& b) const {
        double sum = 0;
        for_each_pixel([&](index_t r, index_t c) { sum += a.near(r, c) * b.near(r, c); });
        return sum;
    }
    /// Jacobi's step at a pixel, from du, dv.
    std::pair<double, double> step(index_t r, index_t c) const {
        const double ix = Ix.near(r, c), iy = Iy.near(r, c), it = It.near(r, c);
        return {(-ix * it + lambda2 * du.neighbours(r, c) - ix * iy * dv.near(r, c)) /
                    (4 * lambda2 + ix * ix),
                (-iy * it + lambda2 * dv.neighbours(r, c) - ix * iy * du.near(r, c)) /
                    (4 * lambda2 + iy * iy)};
    }
    /// Replaces du, dv where `takes` by what `at` makes of the old ones.
    template <class Takes, class At>
    void update(const Takes& takes, const At& at) {
        Flow next = *this;
        for_each_pixel([&](index_t r, index_t c) {
            if (takes(r, c)) std::tie(next.du.at(r, c), next.dv.at(r, c)) = at(r, c);
        });
        *this = next;
    }
    /// The matrix times an image of vectors.
    std::pair<Image, Image> product(const Image& u, const Image& v) const {
        std::pair<Image, Image> all{u, v};
        for_each_pixel([&](index_t r, index_t c) {
            const double ix = Ix.near(r, c), iy = Iy.near(r, c);
            all.first.at(r, c) = lambda2 * (4 * u.near(r, c) - u.neighbours(r, c)) +
                                 ix * (ix * u.near(r, c) + iy * v.near(r, c));
            all.second.at(r, c) = lambda2 * (4 * v.near(r, c) - v.neighbours(r, c)) +
                                  iy * (ix * u.near(r, c) + iy * v.near(r, c));
        });
        return all;
    }

    void jacobi(int sweeps) {
        for (int i = 0; i < sweeps; ++i) {
            update([](index_t, index_t) { return true; },
                   [&](index_t r, index_t c) { return step(r, c); });
        }
    }
    void red_black(int sweeps) {
        for (int i = 0; i < 2 * sweeps; ++i) {
            update([&](index_t r, index_t c) { return (r + c) % 2 == i % 2; },
                   [&](index_t r, index_t c) { return step(r, c); });
        }
    }
    void blockwise(int sweeps) {
        for (int i = 0; i < sweeps; ++i) {
            update([](index_t, index_t) { return true; },
                   [&](index_t r, index_t c) -> std::pair<double, double> {
                       const double ix = Ix.near(r, c), iy = Iy.near(r, c);
                       const double u = du.neighbours(r, c) / 4, v = dv.neighbours(r, c) / 4;
                       const double ratio =
                           (ix * u + iy * v + It.near(r, c)) / (ix * ix + iy * iy + 4 * lambda2);
                       return {u - ix * ratio, v - iy * ratio};
                   });
        }
    }
    /// Returns the number of steps.
    int conjugate_gradients(double eps, int iterations) {
        auto [r0, r1] = product(du, dv);
        for_each_pixel([&, &r0 = r0, &r1 = r1](index_t r, index_t c) {
            r0.at(r, c) = -Ix.near(r, c) * It.near(r, c) - r0.at(r, c);
            r1.at(r, c) = -Iy.near(r, c) * It.near(r, c) - r1.at(r, c);
        });
        Image p0 = r0, p1 = r1;
        double before = squared(r0, r0) + squared(r1, r1);
        for (int i = 0; i < iterations; ++i) {
            const std::pair<Image, Image> product_of_p = product(p0, p1);
            const double alpha =
                before / (squared(p0, product_of_p.first) + squared(p1, product_of_p.second));
            for (std::size_t k = 0; k < p0.pixels.size(); ++k) {
                du.pixels[k] += alpha * p0.pixels[k];
                dv.pixels[k] += alpha * p1.pixels[k];
                r0.pixels[k] -= alpha * product_of_p.first.pixels[k];
                r1.pixels[k] -= alpha * product_of_p.second.pixels[k];
            }
            const double now = squared(r0, r0) + squared(r1, r1);
            if (now < eps) return i + 1;
            for (std::size_t k = 0; k < p0.pixels.size(); ++k) {
                p0.pixels[k] = r0.pixels[k] + now / before * p0.pixels[k];
                p1.pixels[k] = r1.pixels[k] + now / before * p1.pixels[k];
            }
            before = now;
        }
        return iterations;
    }
};

/// Numbers that are floats.
Image random_image(index_t rows, index_t columns, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    Image image{rows, columns, std::vector<double>(static_cast<std::size_t>(rows * columns))};
    for (double& pixel : image.pixels) pixel = uniform(generator);
    return image;
}

Flow random_flow(index_t rows, index_t columns) {
    return {random_image(rows, columns, 1), random_image(rows, columns, 2),
            random_image(rows, columns, 3), random_image(rows, columns, 4),
            random_image(rows, columns, 5)};
}

using Floats = std::vector<float>;
Floats floats(const Image& image) { return {image.pixels.begin(), image.pixels.end()}; }

/// What a program makes of arrays of `extents`; of in place ones, whose names are `changed`.
std::vector<Floats> run(const Program& program, Fusion fusion, std::map<std::string, Floats> arrays,
                        const std::vector<index_t>& extents,
                        const std::vector<std::string>& changed) {
    Arguments arguments;
    for (auto& [name, array] : arrays) {
        arguments[name] =
            argument(array.data(), array.size() == 1 ? std::vector<index_t>{} : extents);
    }
    std::vector<Argument> results;
    for (const std::string& name : changed) results.push_back(arguments.at(name));
    core::Cpu cpu(2);
    Executable<core::Cpu>(cpu, plan(program, Registry(), fusion), Tier::interpreted)
        .run(cpu, arguments, results);
    std::vector<Floats> all;
    for (const std::string& name : changed) all.push_back(arrays.at(name));
    return all;
}

std::vector<Floats> run(const Program& program, Fusion fusion, const Flow& flow) {
    return run(program, fusion,
               {{"Ix", floats(flow.Ix)},
                {"Iy", floats(flow.Iy)},
                {"It", floats(flow.It)},
                {"du", floats(flow.du)},
                {"dv", floats(flow.dv)}},
               {flow.du.rows, flow.du.columns}, {"du", "dv"});
}

bool same_bits(const Floats& a, const Floats& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Solutions are bounded by 4, and a sweep rounds a number at most 12 times; earlier errors do not
/// grow, since the methods converge.
double tolerance(int sweeps) {
    return 12.0 * sweeps * 4 * std::numeric_limits<float>::epsilon() / 2;
}

void expect_near(const Floats& values, const Image& expected, double bound) {
    ASSERT_EQ(values.size(), expected.pixels.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_LE(std::abs(expected.pixels[i]), 4);
        ASSERT_NEAR(values[i], expected.pixels[i], bound) << "pixel " << i;
    }
}

constexpr int sweeps = 20;

struct Size {
    index_t rows, columns;
};
class ThesisPrograms : public testing::TestWithParam<Size> {};

TEST_P(ThesisPrograms, JacobiSolves) {
    const auto [rows, columns] = GetParam();
    Image x = random_image(rows, columns, 1), b = random_image(rows, columns, 2);
    const Program program = thesis::jacobi(rows, columns, sweeps);
    const std::map<std::string, Floats> arrays{{"b", floats(b)}, {"x", floats(x)}, {"D", {0.125f}}};
    const auto alone = run(program, Fusion::none, arrays, {rows, columns}, {"x"});
    for (int i = 0; i < sweeps; ++i) {
        const Image old = x;
        for (index_t r = 0; r < rows; ++r) {
            for (index_t c = 0; c < columns; ++c) {
                x.at(r, c) = 0.125 * (b.at(r, c) + old.neighbours(r, c));
            }
        }
    }
    expect_near(alone[0], x, tolerance(sweeps));
    const auto fused = run(program, Fusion::thesis, arrays, {rows, columns}, {"x"});
    EXPECT_TRUE(same_bits(alone[0], fused[0]));
}

/// Both modes against the oracle, which is left with its solution.
void expect_solved(const Program& program, const Flow& start, const Flow& solved) {
    const auto alone = run(program, Fusion::none, start);
    expect_near(alone[0], solved.du, tolerance(sweeps));
    expect_near(alone[1], solved.dv, tolerance(sweeps));
    const auto fused = run(program, Fusion::thesis, start);
    EXPECT_TRUE(same_bits(alone[0], fused[0]));
    EXPECT_TRUE(same_bits(alone[1], fused[1]));
}

TEST_P(ThesisPrograms, JacobiFlowSolves) {
    const auto [rows, columns] = GetParam();
    Flow flow = random_flow(rows, columns);
    const Flow start = flow;
    flow.jacobi(sweeps);
    expect_solved(thesis::jacobi_flow(rows, columns, lambda2, sweeps), start, flow);
}

TEST_P(ThesisPrograms, BlockwiseFlowSolves) {
    const auto [rows, columns] = GetParam();
    Flow flow = random_flow(rows, columns);
    const Flow start = flow;
    flow.blockwise(sweeps);
    expect_solved(thesis::blockwise_flow(rows, columns, lambda2, sweeps), start, flow);
}

TEST_P(ThesisPrograms, RedBlackFlowSolves) {
    const auto [rows, columns] = GetParam();
    Flow flow = random_flow(rows, columns);
    const Flow start = flow;
    flow.red_black(sweeps);
    expect_solved(thesis::red_black_flow(rows, columns, lambda2, sweeps), start, flow);
}

TEST_P(ThesisPrograms, ConjugateGradientsFlowStopsWhenSolved) {
    const auto [rows, columns] = GetParam();
    constexpr double eps = 1e-6;
    Flow flow = random_flow(rows, columns);
    const Flow start = flow;
    const int taken = flow.conjugate_gradients(eps, 1000);
    ASSERT_LT(taken, 1000);
    expect_solved(thesis::conjugate_gradients_flow(rows, columns, lambda2, eps, 1000), start, flow);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThesisPrograms,
                         testing::Values(Size{1, 2}, Size{37, 53}, Size{5, 300}, Size{70, 33}),
                         [](const auto& one) {
                             return std::to_string(one.param.rows) + "x" +
                                    std::to_string(one.param.columns);
                         });

}  // namespace
}  // namespace aperture::compose
