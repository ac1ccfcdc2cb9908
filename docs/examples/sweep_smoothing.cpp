// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Removes noise from an image, x - alpha * (Laplacian of x) = noisy, for 16 values of alpha at
// once, and prints which one brings it nearest to the truth.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <random>
#include <vector>

#include "aperture/compose/build.hpp"
#include "aperture/compose/sweep.hpp"

namespace core = aperture::core;
namespace compose = aperture::compose;

namespace {

constexpr core::index_t rows = 120, columns = 160, values = 16;

compose::Program smoothing() {
    compose::Builder smooth("smooth");
    auto noisy = smooth.input<float>("noisy", {rows, columns});
    auto truth = smooth.input<float>("truth", {rows, columns});
    auto alpha = smooth.input<float>("alpha");
    auto neighbours = smooth.stencil<float>("neighbours", compose::Border::replicate,
                                            {{{-1, 0}, 1}, {{0, -1}, 1}, {{0, 1}, 1}, {{1, 0}, 1}});
    auto x = smooth.local("x", copy(noisy));
    auto scale = 1 / (1 + 4 * alpha);
    smooth.loop(1000, [&] {
        auto next = scale * (noisy + alpha * (neighbours * x));
        auto step = next - x;
        x = next;
        smooth.stop_if(dot(step, step) < 1e-3);
    });
    auto difference = x - truth;
    return smooth.returns(dot(difference, difference));
}

void sweep() {
    std::vector<float> truth(rows * columns), noisy, alphas(values), errors(values);
    for (std::size_t i = 0; i < truth.size(); ++i) {
        const std::size_t row = i / columns, column = i % columns;
        truth[i] = std::sin(0.1F * float(row)) + std::cos(0.07F * float(column));
    }
    std::mt19937 generator(1);
    std::normal_distribution<float> noise(0, 0.3F);
    for (const float entry : truth) noisy.push_back(entry + noise(generator));
    for (std::size_t i = 0; i < alphas.size(); ++i) alphas[i] = 0.05F * std::pow(1.5F, float(i));

    core::Cpu cpu;
    compose::Sweep<core::Cpu> smooth(cpu, smoothing(), compose::Registry(), {"alpha"});
    std::printf("%s\n", smooth.explain(cpu, values).c_str());
    const std::array results{compose::argument(errors.data(), {})};
    const compose::Swept swept =
        smooth.run(cpu,
                   {{"noisy", compose::argument(noisy.data(), {rows, columns})},
                    {"truth", compose::argument(truth.data(), {rows, columns})},
                    {"alpha", compose::argument(alphas.data(), {values})}},
                   results);
    const auto best = std::min_element(errors.begin(), errors.end());
    for (std::size_t i = 0; i < errors.size(); ++i) {
        std::printf("alpha %6.3f: error %.4f%s\n", alphas[i],
                    std::sqrt(errors[i] / float(truth.size())),
                    i == std::size_t(best - errors.begin()) ? ", the best" : "");
    }
    std::printf("%zu values failed\n", swept.failed.size());
}

}  // namespace

int main() {
    try {
        sweep();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
