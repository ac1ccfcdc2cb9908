// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <span>
#include <utility>

#include "aperture/core/array.hpp"
#include "aperture/core/error.hpp"
#include "bench/factor_layouts.hpp"
#include "bench/layout_shape.hpp"
#include "libcore/gpu/occupancy.hpp"
#include "libcore/gpu/specialise.hpp"

namespace aperture::bench {

std::span<const core::KernelText> kernel_texts();

namespace {

using Signature = void(const float*, float*, float*, long long*);

/// A kernel, compiled when it is first used: there are many, and each takes seconds.
struct LayoutKernel {
    core::SpecialisedKernel<Signature> kernel;
    LayoutShape shape;

    LayoutKernel(core::Gpu& gpu, bool qr, LayoutShape its, bool timed = false)
        : kernel(core::specialise<Signature>(
              gpu, {"bench/factor_layouts.cuh", {core::kernel_texts(), kernel_texts()}},
              core::text("aperture::bench::factor_in_layout<aperture::bench::FactorLayout<",
                         its.order, ", ", its.rows, ", ", its.columns, ">, ", qr ? "true" : "false",
                         ", ", timed ? "true" : "false", ">"))),
          shape(its) {
        core::expects(static_cast<bool>(kernel), "no run-time compiler");
    }

    void operator()(core::Gpu& gpu, index_t problems, const float* from, float* to, float* tau,
                    long long* cycles) const {
        core::launch(gpu, kernel,
                     core::LaunchConfig(static_cast<unsigned>(problems),
                                        static_cast<unsigned>(shape.threads()),
                                        static_cast<std::size_t>(shape.shared_bytes())),
                     from, to, tau, cycles);
    }
};

LayoutShape shape_of(MatrixLayout layout, int order) {
    const int side = order <= 64 ? 8 : 16;
    const auto lines = static_cast<int>(std::bit_ceil(static_cast<unsigned>(order)));
    const int parts = side * side / lines;
    switch (layout) {
        case MatrixLayout::rows:
            return {order, lines, parts};
        case MatrixLayout::columns:
            return {order, parts, lines};
        case MatrixLayout::cyclic:
            break;
    }
    return {order, side, side};
}

constexpr LayoutShape timed_shape{timed_order, 8, 8};
static_assert(timed_shape.threads() == timed_threads);

}  // namespace

void factor_in_layout(core::Gpu& gpu, bool qr, MatrixLayout layout, int order, index_t problems,
                      const float* from, float* to, float* tau) {
    LayoutKernel(gpu, qr, shape_of(layout, order))(gpu, problems, from, to, tau, nullptr);
}

StepCycles measure_step_cycles(core::Gpu& gpu, bool qr, index_t problems, const float* from,
                               float* to, float* tau) {
    constexpr index_t of_problem = 2 + timed_shape.panels() * timed_operations;
    core::Array<long long, 2, core::Device> on_device({problems, of_problem});
    core::Array<long long, 2, core::Host> cycles(on_device.extent());
    LayoutKernel(gpu, qr, timed_shape, true)(gpu, problems, from, to, tau, on_device.data());
    core::copy(gpu, std::as_const(on_device).view(), cycles.view());
    gpu.synchronize();
    const auto mean = [&](index_t i) {
        double sum = 0;
        for (index_t p = 0; p < problems; ++p) sum += static_cast<double>(cycles(p, i));
        return sum / static_cast<double>(problems);
    };
    StepCycles result{mean(0), mean(1), {}};
    for (index_t panel = 0; panel < timed_shape.panels(); ++panel) {
        auto& its = result.panels.emplace_back();
        for (index_t i = 0; i < timed_operations; ++i) {
            its[static_cast<std::size_t>(i)] = mean(2 + panel * timed_operations + i);
        }
    }
    return result;
}

int timed_blocks(core::Gpu& gpu, bool qr) {
    const LayoutKernel timed(gpu, qr, timed_shape, true);
    return core::occupancy(core::multiprocessor_limits(gpu),
                           core::kernel_needs(gpu, timed.kernel.kernel,
                                              static_cast<std::size_t>(timed_shape.shared_bytes())),
                           timed_threads)
        .blocks;
}

}  // namespace aperture::bench
