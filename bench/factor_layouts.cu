// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <utility>

#include "aperture/core/array.hpp"
#include "aperture/core/error.hpp"
#include "bench/factor_layouts.cuh"
#include "bench/factor_layouts.hpp"
#include "libcore/gpu/launch.cuh"
#include "libcore/gpu/occupancy.hpp"

namespace aperture::bench {
namespace {

using Kernel = void (*)(const float*, float*, float*, long long*);

struct LayoutLaunch {
    Kernel kernel;
    unsigned threads;
    std::size_t shared;
};

template <class Layout, bool timed = false>
LayoutLaunch launch_of(bool qr) {
    return {qr ? factor_in_layout<Layout, true, timed> : factor_in_layout<Layout, false, timed>,
            Layout::threads, Layout::shared_bytes};
}

template <int order>
LayoutLaunch launch_of(bool qr, MatrixLayout layout) {
    constexpr int side = order <= 64 ? 8 : 16;
    constexpr auto lines = static_cast<int>(std::bit_ceil(unsigned{order}));
    constexpr int parts = side * side / lines;
    switch (layout) {
        case MatrixLayout::rows:
            return launch_of<FactorLayout<order, lines, parts>>(qr);
        case MatrixLayout::columns:
            return launch_of<FactorLayout<order, parts, lines>>(qr);
        case MatrixLayout::cyclic:
            break;
    }
    return launch_of<FactorLayout<order, side, side>>(qr);
}

template <int... indices>
LayoutLaunch launch_of(std::integer_sequence<int, indices...>, bool qr, MatrixLayout layout,
                       int order) {
    LayoutLaunch found{};
    (void)(... || (layout_orders[indices] == order &&
                   (found = launch_of<layout_orders[indices]>(qr, layout), true)));
    core::expects(found.kernel != nullptr, "no layout for order ", order);
    return found;
}

void launch(core::Gpu& gpu, const LayoutLaunch& which, index_t problems, const float* from,
            float* to, float* tau, long long* cycles) {
    core::launch(gpu, which.kernel,
                 core::LaunchConfig(static_cast<unsigned>(problems), which.threads, which.shared),
                 from, to, tau, cycles);
}

using Timed = FactorLayout<timed_order, 8, 8>;
static_assert(Timed::threads == timed_threads);

}  // namespace

void factor_in_layout(core::Gpu& gpu, bool qr, MatrixLayout layout, int order, index_t problems,
                      const float* from, float* to, float* tau) {
    const LayoutLaunch which =
        launch_of(std::make_integer_sequence<int, static_cast<int>(layout_orders.size())>(), qr,
                  layout, order);
    launch(gpu, which, problems, from, to, tau, nullptr);
}

StepCycles measure_step_cycles(core::Gpu& gpu, bool qr, index_t problems, const float* from,
                               float* to, float* tau) {
    constexpr index_t of_problem = 2 + Timed::panels * timed_operations;
    core::Array<long long, 2, core::Device> on_device({problems, of_problem});
    core::Array<long long, 2, core::Host> cycles(on_device.extent());
    launch(gpu, launch_of<Timed, true>(qr), problems, from, to, tau, on_device.data());
    core::copy(gpu, std::as_const(on_device).view(), cycles.view());
    gpu.synchronize();
    const auto mean = [&](index_t i) {
        double sum = 0;
        for (index_t p = 0; p < problems; ++p) sum += static_cast<double>(cycles(p, i));
        return sum / static_cast<double>(problems);
    };
    StepCycles result{mean(0), mean(1), {}};
    for (index_t panel = 0; panel < Timed::panels; ++panel) {
        auto& its = result.panels.emplace_back();
        for (index_t i = 0; i < timed_operations; ++i) {
            its[static_cast<std::size_t>(i)] = mean(2 + panel * timed_operations + i);
        }
    }
    return result;
}

int timed_blocks(const core::Gpu& gpu, bool qr) {
    const LayoutLaunch which = launch_of<Timed, true>(qr);
    return core::occupancy(
               core::multiprocessor_limits(gpu),
               core::kernel_needs(gpu, reinterpret_cast<const void*>(which.kernel), which.shared),
               static_cast<int>(which.threads))
        .blocks;
}

}  // namespace aperture::bench
