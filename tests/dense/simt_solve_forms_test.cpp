// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <complex>
#include <random>
#include <vector>

#include "bench/solve_forms.cuh"
#include "libcore/gpu/launch.cuh"

namespace aperture::bench {
namespace {

template <class Shape, SolveForm form>
void expect_solved() {
    using T = core::Complex<float>;
    constexpr int problems = 2;
    constexpr int n = Shape::order;
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<T> a(problems * n * n);
    std::vector<T> b(problems * Shape::sides * n);
    for (T& entry : a) entry = {uniform(random), uniform(random)};
    for (T& entry : b) entry = {uniform(random), uniform(random)};
    for (int i = 0; i < problems * n; ++i) a[i / n * n * n + i % n * (n + 1)].re += 3 * n;
    std::vector<T> x = b;
    std::vector<T> work(problems * Shape::entries);
    core::Simt simt(core::LaneOrder::random, 3);
    core::launch(
        simt, &solve_in_form<T, Shape, form>,
        core::LaunchConfig(dim3(problems), dim3(Shape::threads), Shape::template shared_bytes<T>),
        static_cast<const T*>(a.data()), x.data(), work.data());
    const auto wide = [](T value) { return std::complex<double>(value.re, value.im); };
    for (int p = 0; p < problems; ++p) {
        for (int r = 0; r < Shape::sides; ++r) {
            const std::size_t side = static_cast<std::size_t>(p * Shape::sides + r) * n;
            for (int i = 0; i < n; ++i) {
                std::complex<double> rest = wide(b[side + i]);
                for (int j = 0; j < n; ++j)
                    rest -= wide(a[(p * n + i) * n + j]) * wide(x[side + j]);
                ASSERT_LT(std::abs(rest), 1e-5) << p << ' ' << r << ' ' << i;
            }
        }
    }
}

TEST(SimtSolveForms, AllSolve) {
    using Shape = SolveShape<18, 16>;
    expect_solved<Shape, SolveForm::global>();
    expect_solved<Shape, SolveForm::local>();
    expect_solved<Shape, SolveForm::unrolled>();
    expect_solved<SolveShape<8, 3>, SolveForm::unrolled>();
}

}  // namespace
}  // namespace aperture::bench
