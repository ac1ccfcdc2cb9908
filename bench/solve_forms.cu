// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "bench/solve_forms.cuh"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"

namespace aperture::bench {
namespace {

using Value = std::complex<float>;
using Shape = SolveShape<form_order, form_sides>;
using E = core::DeviceType<Value>;

}  // namespace

FormProblems::FormProblems(core::Gpu& gpu, index_t problems)
    : a({problems, form_order, form_order}),
      b({problems, form_sides, form_order}),
      x(b.extent()),
      work({problems, 1, Shape::entries}) {
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto fill = [&](auto& array, bool matrix) {
        core::Array<Value, 3> host(array.extent());
        for (Value& entry : host) entry = {uniform(generator), uniform(generator)};
        for (index_t p = 0; matrix && p < problems; ++p) {
            for (index_t i = 0; i < form_order; ++i) host(p, i, i) += 3.0f * form_order;
        }
        core::copy(gpu, std::as_const(host).view(), array.view());
        gpu.synchronize();
    };
    fill(a, true);
    fill(b, false);
}

void FormProblems::restore(core::Gpu& gpu) {
    cudaMemcpyAsync(x.data(), b.data(), static_cast<std::size_t>(b.size()) * sizeof(Value),
                    cudaMemcpyDeviceToDevice, gpu.stream());
}

void FormProblems::solve(core::Gpu& gpu, SolveForm form) {
    restore(gpu);
    const auto kernel = form == SolveForm::global  ? solve_in_form<E, Shape, SolveForm::global>
                        : form == SolveForm::local ? solve_in_form<E, Shape, SolveForm::local>
                                                   : solve_in_form<E, Shape, SolveForm::unrolled>;
    core::launch(gpu, kernel,
                 core::LaunchConfig(static_cast<unsigned>(a.extent()[0]), Shape::threads,
                                    Shape::shared_bytes<E>),
                 core::device_cast(std::as_const(a).data()), core::device_cast(x.data()),
                 core::device_cast(work.data()));
}

double FormProblems::error(core::Gpu& gpu) const {
    core::Array<Value, 3> host_a(a.extent()), host_b(b.extent()), host_x(x.extent());
    core::copy(gpu, a.view(), host_a.view());
    core::copy(gpu, b.view(), host_b.view());
    core::copy(gpu, x.view(), host_x.view());
    gpu.synchronize();
    double worst = 0;
    const index_t problems = a.extent()[0];
    for (index_t p = 0; p < problems; p += std::max<index_t>(problems / 37, 1)) {
        for (index_t r = 0; r < form_sides; ++r) {
            for (index_t i = 0; i < form_order; ++i) {
                std::complex<double> rest = host_b(p, r, i);
                double size = 0;
                for (index_t j = 0; j < form_order; ++j) {
                    const std::complex<double> entry = host_a(p, i, j);
                    const std::complex<double> solution = host_x(p, r, j);
                    rest -= entry * solution;
                    size += std::abs(entry) * std::abs(solution);
                }
                const double here = std::abs(rest) / size;
                if (!(here <= worst)) worst = here;
            }
        }
    }
    return worst;
}

}  // namespace aperture::bench
