// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/flow_system.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <random>

#include "libflow/cpu/data_term.hpp"
#include "libflow/cpu/row_loops.hpp"
#include "libflow/cpu/warped_image.hpp"

namespace aperture::bench {
namespace {

using core::index_t;

struct Wave {
    float strength, across, down, phase;
};

std::array<Wave, 12> waves() {
    std::mt19937 generator(7);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::array<Wave, 12> list{};
    for (Wave& wave : list) {
        const double length = 8 * std::pow(7.5, uniform(generator));
        const double direction = 2 * std::numbers::pi * uniform(generator);
        const double frequency = 2 * std::numbers::pi / length;
        wave = {static_cast<float>(4 * std::sqrt(length)),
                static_cast<float>(frequency * std::cos(direction)),
                static_cast<float>(frequency * std::sin(direction)),
                static_cast<float>(2 * std::numbers::pi * uniform(generator))};
    }
    return list;
}

float texture(const std::array<Wave, 12>& list, float x, float y) {
    float value = 128;
    for (const Wave& w : list) value += w.strength * std::sin(w.across * x + w.down * y + w.phase);
    // The value that an 8-bit camera stores.
    return std::round(std::fmin(std::fmax(value, 0.0F), 255.0F));
}

}  // namespace

FlowPair textured_pair(core::Cpu& cpu, flow::Shape shape) {
    const index_t rows = shape.rows;
    const index_t columns = shape.columns;
    FlowPair pair{core::Array<float, 2>({rows, columns}), core::Array<float, 2>({rows, columns}),
                  core::Array<float, 3>({2, rows, columns})};
    const std::array<Wave, 12> list = waves();
    const auto turn = [](index_t at, index_t whole) {
        return 2 * std::numbers::pi_v<float> * static_cast<float>(at) / static_cast<float>(whole);
    };
    flow::for_rows(cpu, shape, [&](index_t row) {
        for (index_t column = 0; column < columns; ++column) {
            const auto x = static_cast<float>(column);
            const auto y = static_cast<float>(row);
            const float u = 3 + 1.5F * std::sin(turn(row, rows));
            const float v = -1.5F + std::cos(turn(column, columns));
            pair.truth(0, row, column) = u;
            pair.truth(1, row, column) = v;
            pair.image0(row, column) = texture(list, x + u, y + v);
            pair.image1(row, column) = texture(list, x, y);
        }
    });
    return pair;
}

FlowSystem::FlowSystem(core::Cpu& cpu, const core::Array<float, 2>& image0,
                       const core::Array<float, 2>& image1, double alpha)
    : smoothness_(static_cast<float>(alpha * alpha)) {
    const auto [rows, columns] = image0.extent();
    const flow::Shape shape{rows, columns};
    flow::PaddedPlanes first(1, shape);
    flow::PaddedPlanes second(1, shape);
    flow::load_image(cpu, image0, first);
    flow::load_image(cpu, image1, second);
    const flow::PaddedPlanes rest(2, shape);
    flow::PaddedPlanes terms(5, shape);
    flow::linearise(cpu, first, second, rest, false, terms);
    terms_ = core::Array<float, 3>({5, rows, columns});
    flow::store_planes(cpu, terms, terms_);
}

}  // namespace aperture::bench
