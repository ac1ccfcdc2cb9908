// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Tracks a hundred thousand targets with a Kalman filter each: the functor of kalman_update.hpp
// over all filters in one call.
#include "kalman_update.hpp"

#include <cstdio>
#include <exception>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/dense/batch_elements.hpp"

namespace core = aperture::core;
namespace dense = aperture::dense;

namespace {

void update_filters() {
    core::Cpu cpu;
    constexpr core::index_t filters = 100'000;

    // States are x, y, their velocities and a bias of y; x and y + bias are measured.
    const KalmanUpdate update{{{1, 0, 0, 0, 0}, {0, 1, 0, 0, 1}}, {{0.25f, 0}, {0, 0.25f}}};
    core::Array<float, 2> x({filters, 5});
    core::Array<float, 3> p({filters, 5, 5});
    core::Array<float, 2> z({filters, 2});
    for (core::index_t f = 0; f < filters; ++f) {
        for (int i = 0; i < 5; ++i) {
            x(f, i) = 0;
            for (int j = 0; j < 5; ++j) p(f, i, j) = i == j ? 1.0f : 0.0f;
        }
        z(f, 0) = static_cast<float>(f) / filters;
        z(f, 1) = 1;
    }
    for (int step = 0; step < 10; ++step) {
        dense::for_each_element(cpu, update, dense::in_out<5>(x.view()),
                                dense::in_out<5, 5>(p.view()), dense::in<2>(z.view()));
    }
    std::printf("target 50000: x %.3f (variance %.3f), y %.3f, bias %.3f\n", x(50000, 0),
                static_cast<double>(p(50000, 0, 0)), x(50000, 1), x(50000, 4));
}

}  // namespace

int main() {
    try {
        update_filters();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
