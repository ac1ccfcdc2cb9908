// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <string>

#include "aperture/core/timing.hpp"
#include "bench/rpca_stages.hpp"
#include "librpca/gpu/cusolver_eigenvectors.hpp"
#include "librpca/gpu/robust_pca.cuh"

namespace aperture::bench {

using core::Device;
using core::index_t;

StageTimes time_stages(core::Gpu& gpu, const core::Array<float, 2>& frames, int iterations,
                       bool by_cusolver) {
    using namespace rpca::gpu;
    const auto [count, values] = frames.extent();
    core::Array<float, 2, Device> m(frames.extent());
    core::copy<float, 2, core::Strided>(gpu, frames.view(), m.view());
    SweptMatrix<float, core::Gpu> matrix(gpu, count, values, rpca::Svd::gram, false);
    using Rotated = Spectrum<float, core::Gpu, CusolverEigenvectors>;
    Rotated spectrum(gpu, count,
                     !by_cusolver && Rotated::in_one_block(gpu, static_cast<int>(count)));
    const rpca::MatrixNorms norms = matrix.load(std::as_const(m).view());
    core::Array<rpca::RunState, 1> begun({1});
    begun.data()[0] = rpca::RunState{};
    core::Array<rpca::RunState, 1, Device> state({1});
    core::copy<rpca::RunState, 1, core::Strided>(gpu, std::as_const(begun).view(), state.view());

    matrix.set_factor(nullptr, nullptr, state.data());
    rpca::MultiplierPass<float, Device> pass;
    pass.threshold = std::numeric_limits<float>::infinity();
    matrix.pass(pass, state.data());
    spectrum.begin();
    const double norm = std::sqrt(spectrum.largest_eigenvalue(matrix.gram(), state.data()));
    rpca::Parameters parameters;
    const double lambda = lambda_of(parameters, count, values);
    const rpca::Penalty penalty = penalty_of(parameters.solver, norms, norm, count, values, lambda);
    double mu = penalty.mu;
    pass.y_scale = static_cast<float>(penalty.y_over_m / mu);
    pass.threshold = static_cast<float>(lambda / mu);
    matrix.pass(pass, state.data());

    core::Timeline timeline;
    timeline.begin_run();
    const auto timed = [&](const char* name, const auto& work) {
        const auto scope = core::Timeline::stage(&timeline, gpu, name, 0, 0);
        work();
    };
    for (int i = 0; i < iterations; ++i) {
        timed("spectrum", [&] { spectrum.find(matrix.gram(), mu * mu, state.data()); });
        timed("factor", [&] {
            matrix.set_factor(spectrum.function(), spectrum.transposed_basis(), state.data());
        });
        const double next = penalty.next(mu);
        pass.y_scale = static_cast<float>(mu / next);
        pass.threshold = static_cast<float>(lambda / next);
        timed("pass", [&] { matrix.pass(pass, state.data()); });
        mu = next;
    }
    gpu.synchronize();
    StageTimes times;
    for (const core::Stage& stage : timeline.stages()) {
        const double seconds = stage.ms * 1e-3 / iterations;
        const std::string name = stage.name;
        (name == "spectrum" ? times.spectrum
         : name == "factor" ? times.factor
                            : times.pass) += seconds;
    }
    return times;
}

}  // namespace aperture::bench
