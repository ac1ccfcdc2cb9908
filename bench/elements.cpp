// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Functors over batches: the measurement update of a million Kalman filters of docs/examples,
// beside Eigen with a filter in each iteration of a parallel loop; and changes of layout with a
// functor on the way. "%copy" counts one reading and one writing of what must be.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "aperture/core/array.hpp"
#include "aperture/dense/batch.hpp"
#include "aperture/dense/batch_elements.hpp"
#include "bench/ceilings.hpp"
#include "bench/elements_gpu.hpp"
#if APERTURE_CUDA
#include "bench/gpu_ceilings.hpp"
#endif
#include "bench/program.hpp"
#include "docs/examples/kalman_update.hpp"

namespace aperture::bench {
namespace {

using core::index_t;

index_t filters() { return smoke ? 1000 : 1'000'000; }

constexpr KalmanUpdate model{{{1, 0, 0.5f, 0, 0}, {0, 1, 0, 0.25f, 0.125f}},
                             {{0.5f, 0.125f}, {0.125f, 0.25f}}};

/// Filters in their first state; every update makes the covariances smaller, and never negative.
template <class Layout>
struct Filters {
    core::Array<float, 2, core::Host, Layout> x{{filters(), 5}};
    core::Array<float, 3, core::Host, Layout> p{{filters(), 5, 5}};
    core::Array<float, 2, core::Host, Layout> z{{filters(), 2}};

    Filters() {
        std::mt19937 generator(3);
        std::uniform_real_distribution<float> uniform(-1, 1);
        for (index_t f = 0; f < filters(); ++f) {
            for (int i = 0; i < 5; ++i) {
                x(f, i) = uniform(generator);
                for (int j = 0; j < 5; ++j) p(f, i, j) = i == j ? 2.0f : 0.25f;
            }
            for (int m = 0; m < 2; ++m) z(f, m) = uniform(generator);
        }
    }
};

/// Of a state and a covariance read and written and a measurement read.
double gigabytes() { return double(filters()) * (2 * 5 + 2 * 25 + 2) * sizeof(float) * 1e-9; }

void report(benchmark::State& state, int threads, double seconds) {
    state.counters["Mfilters/s"] = double(filters()) * 1e-6 / seconds;
    state.counters["%copy"] = 100 * gigabytes() / seconds / copy_bandwidth_gbs(threads);
}

template <class Layout>
void kalman(benchmark::State& state, const std::string& name) {
    core::Cpu cpu;
    Filters<Layout> now;
    const double best = measure(state, name, [&] {
        const double begin = omp_get_wtime();
        dense::for_each_element(cpu, model, dense::in_out<5>(now.x.view()),
                                dense::in_out<5, 5>(now.p.view()), dense::in<2>(now.z.view()));
        return omp_get_wtime() - begin;
    });
    report(state, cpu.threads(), best);
}

#if APERTURE_CUDA
/// Filters in device memory; the first ones are compared with the CPU's.
template <class Layout>
void gpu_kalman(benchmark::State& state, const std::string& name) {
    core::Cpu cpu;
    core::Gpu gpu;
    core::Timeline timeline;
    Filters<Layout> now;
    core::Array<float, 2, core::Device, Layout> x(now.x.extent()), z(now.z.extent());
    core::Array<float, 3, core::Device, Layout> p(now.p.extent());
    core::copy(gpu, std::as_const(now.x).view(), x.view());
    core::copy(gpu, std::as_const(now.p).view(), p.view());
    core::copy(gpu, std::as_const(now.z).view(), z.view());
    update_filters(gpu, model, x.view(), p.view(), z.view());
    dense::for_each_element(cpu, model, dense::in_out<5>(now.x.view()),
                            dense::in_out<5, 5>(now.p.view()), dense::in<2>(now.z.view()));
    Filters<Layout> there;
    core::copy(gpu, std::as_const(p).view(), there.p.view());
    gpu.synchronize();
    float worst = 0;
    for (index_t i = 0; i < there.p.size(); ++i) {
        worst = std::max(worst, std::abs(there.p.data()[i] - now.p.data()[i]));
    }
    if (!(worst < 1e-5f)) fail(state, "the result is wrong");
    const double best = measure(state, name, [&] {
        return seconds_on(gpu, timeline, calls_in_a_row, [&](std::size_t) {
            update_filters(gpu, model, x.view(), p.view(), z.view());
        });
    });
    state.counters["Mfilters/s"] = double(filters()) * 1e-6 / best;
    state.counters["%copy"] = 100 * gigabytes() / best / gpu_copy_gbs(gpu);
}

template <class T, class From, class To>
void gpu_layout(benchmark::State& state, const std::string& name, int n) {
    core::Gpu gpu;
    core::Timeline timeline;
    const index_t problems = smoke ? 37 : (index_t{256} << 20) / (n * n * index_t{sizeof(T)});
    core::Array<T, 3, core::Device, From> from({problems, n, n});
    core::Array<T, 3, core::Device, To> to({problems, n, n});
    core::Array<T, 3, core::Host, From> before(from.extent());
    core::Array<T, 3, core::Host, To> after(from.extent());
    for (index_t i = 0; i < from.size(); ++i) before.data()[i] = static_cast<T>(i % 1001);
    core::copy(gpu, std::as_const(before).view(), from.view());
    const double best = measure(state, name, [&] {
        return seconds_on(gpu, timeline, calls_in_a_row, [&](std::size_t) {
            dense::change_layout<T>(gpu, std::as_const(from).view(), to.view());
        });
    });
    core::copy(gpu, std::as_const(to).view(), after.view());
    gpu.synchronize();
    const double copied = 2e-9 * double(from.size()) * sizeof(T);
    state.counters["GB/s"] = copied / best;
    state.counters["%copy"] = 100 * copied / best / gpu_copy_gbs(gpu);
    for (index_t p = 0; p < problems; p += 97) {
        for (int i = 0; i < n; ++i) {
            if (after(p, i, n - 1) != before(p, i, n - 1)) fail(state, "the result is wrong");
        }
    }
}
#endif

void eigen_update(float* at_x, float* at_p, const float* at_z) {
    using Covariance = Eigen::Matrix<float, 5, 5, Eigen::RowMajor>;
    using Gain = Eigen::Matrix<float, 5, 2>;
    const Eigen::Map<const Eigen::Matrix<float, 2, 5, Eigen::RowMajor>> h(&model.h[0][0]);
    const Eigen::Map<const Eigen::Matrix<float, 2, 2, Eigen::RowMajor>> r(&model.r[0][0]);
    Eigen::Map<Eigen::Vector<float, 5>> x(at_x);
    Eigen::Map<Covariance> p(at_p);
    const Eigen::Map<const Eigen::Vector2f> z(at_z);
    const Gain cross = p * h.transpose();
    const Eigen::Matrix2f s = h * cross + r;
    const Gain gain = cross * s.inverse();
    x += gain * (z - h * x);
    const Covariance rest = Covariance::Identity() - gain * h;
    p = (rest * p * rest.transpose() + gain * r * gain.transpose()).eval();
}

void eigen_kalman(benchmark::State& state, const std::string& name) {
    const int threads = core::Cpu().threads();
    Filters<core::Concatenated> now;
    const double best = measure(state, name, [&] {
        const double begin = omp_get_wtime();
#pragma omp parallel for num_threads(threads) schedule(static)
        for (index_t f = 0; f < filters(); ++f) {
            eigen_update(now.x.data() + 5 * f, now.p.data() + 25 * f, now.z.data() + 2 * f);
        }
        return omp_get_wtime() - begin;
    });
    report(state, threads, best);
}

/// With gaps between the arrays of an interleaved batch, if `gaps`.
template <class T, class From, class To, bool gaps = false>
void layout(benchmark::State& state, const std::string& name, int n) {
    core::Cpu cpu;
    const index_t problems = smoke ? 37 : (index_t{128} << 20) / (n * n * index_t{sizeof(T)});
    core::Array<T, 3, core::Host, From> from({problems, n, n});
    using ToView = core::View<T, 3, core::Host, To>;
    const core::Extents<3> extent{problems, n, n};
    const dense::Padding padding =
        gaps ? dense::padded<T, To>(extent)
             : dense::Padding{ToView::dense_strides(extent), problems * n * n};
    core::Array<T, 1> memory({padding.size});
    const ToView to(memory.data(), extent, padding.stride);
    std::fill(memory.begin(), memory.end(), T(0));
    for (index_t i = 0; i < from.size(); ++i) from.data()[i] = static_cast<T>(i % 1001);
    const double best = measure(state, name, [&] {
        const double begin = omp_get_wtime();
        dense::change_layout<T>(cpu, std::as_const(from).view(), to);
        return omp_get_wtime() - begin;
    });
    const double copied = 2e-9 * double(from.size()) * sizeof(T);
    state.counters["GB/s"] = copied / best;
    state.counters["%copy"] = 100 * copied / best / copy_bandwidth_gbs(cpu.threads());
    for (index_t p = 0; p < problems; p += 97) {
        for (int i = 0; i < n; ++i) {
            if (to(p, i, n - 1) != from(p, i, n - 1)) fail(state, "the result is wrong");
        }
    }
}

template <class T>
void add_layouts(const std::string& type) {
    using core::Concatenated, core::Interleaved;
    for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 31, 32, 33, 63, 64}) {
        const std::string size = type + "/" + std::to_string(n);
        const auto add = [&](const std::string& name, auto function) {
            add_measured(name + size, [n, function](benchmark::State& state, const auto& full) {
                function(state, full, n);
            });
        };
        add("change_layout/to_interleaved/", layout<T, Concatenated, Interleaved>);
        add("change_layout/to_padded/", layout<T, Concatenated, Interleaved, true>);
        add("change_layout/to_concatenated/", layout<T, Interleaved, Concatenated>);
#if APERTURE_CUDA
        if (!core::gpu_status().usable) continue;
        add("gpu/change_layout/to_interleaved/", gpu_layout<T, Concatenated, Interleaved>);
        add("gpu/change_layout/to_concatenated/", gpu_layout<T, Interleaved, Concatenated>);
#endif
    }
}

void register_all() {
    add_measured("kalman/concatenated", kalman<core::Concatenated>);
    add_measured("kalman/interleaved", kalman<core::Interleaved>);
    add_measured("kalman/eigen", eigen_kalman);
#if APERTURE_CUDA
    if (core::gpu_status().usable) {
        add_measured("gpu/kalman/concatenated", gpu_kalman<core::Concatenated>);
        add_measured("gpu/kalman/interleaved", gpu_kalman<core::Interleaved>);
    }
#endif
    add_layouts<float>("f32");
    add_layouts<double>("f64");
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    return aperture::bench::run_program(argc, argv, aperture::bench::register_all);
}
