// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/summed_area.hpp"

#include <algorithm>

#include "libcore/cpu/worker_tasks.hpp"

namespace aperture::signal {

template <class Value>
void SummedAreas::sum_values(core::Cpu& cpu, core::View<const float, 2, core::Host> plane,
                             const Value& value) {
    const index_t rows = plane.extent[0];
    const index_t columns = plane.extent[1];
    above_.reshape({rows + 1, columns + 1});
    std::fill_n(&above_(0, 0), columns + 1, 0.0);
    core::for_each_task(cpu, rows, 0, [&](index_t y, std::byte*) {
        const float* from = &plane(y, 0);
        double* const to = &above_(y + 1, 0);
        double sum = 0;
        to[0] = 0;
        for (index_t x = 0; x < columns; ++x) {
            sum += value(static_cast<double>(from[x]));
            to[x + 1] = sum;
        }
    });
    constexpr index_t columns_at_once = 64;
    const index_t tasks = columns / columns_at_once + 1;
    core::for_each_task(cpu, tasks, 0, [&](index_t task, std::byte*) {
        const index_t first = task * columns_at_once;
        const index_t count = std::min(columns_at_once, columns + 1 - first);
        for (index_t y = 1; y <= rows; ++y) {
            const double* before = &above_(y - 1, first);
            double* const to = &above_(y, first);
            for (index_t x = 0; x < count; ++x) to[x] += before[x];
        }
    });
}

void SummedAreas::compute(core::Cpu& cpu, core::View<const float, 2, core::Host> plane,
                          double ground) {
    sum_values(cpu, plane, [=](double value) { return value - ground; });
}

void SummedAreas::compute_squares(core::Cpu& cpu, core::View<const float, 2, core::Host> plane) {
    sum_values(cpu, plane, [](double value) { return value * value; });
}

}  // namespace aperture::signal
