// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "aperture/core/shape.hpp"
#include "libstap/cpu/stages.hpp"

namespace aperture::stap {

namespace cpu {

namespace {

template <class Real>
core::Array<std::complex<Real>, 4> snapshot_chunk(const Problem& problem) {
    check_block_training(problem);
    const index_t sets = problem.training_sets;
    const index_t block = problem.parameters.training_block;
    const index_t bytes = sets * problem.order * block * index_t(sizeof(std::complex<Real>));
    return core::Array<std::complex<Real>, 4>(
        {bins_per_chunk(problem, bytes), sets, problem.order, block});
}

template <class Real>
void load_diagonal(
    const DiagonalLoading& loading,
    const dense::MatrixBatch<std::complex<Real>, core::Host, core::Concatenated>& r) {
    if (loading.value == 0) return;
    for (index_t b = 0; b < r.extent[0]; ++b) {
        double added = loading.value;
        if (loading.relative) {
            double trace = 0;
            for (index_t i = 0; i < r.extent[1]; ++i) trace += r(b, i, i).real();
            added *= trace / static_cast<double>(r.extent[1]);
        }
        for (index_t i = 0; i < r.extent[1]; ++i) r(b, i, i) += static_cast<Real>(added);
    }
}

}  // namespace

void check_block_training(const Problem& problem) {
    core::expects(problem.parameters.training == Training::block,
                  "the stages support only block training; use Pipeline");
}

index_t bins_per_chunk(const Problem& problem, index_t bytes_per_bin) {
    constexpr index_t chunk_bytes = index_t(4) << 20;
    return std::clamp<index_t>(chunk_bytes / bytes_per_bin, 1, problem.doppler_bins);
}

template <class Real>
CovarianceEstimator<Real>::CovarianceEstimator(core::Cpu& cpu, const Problem& problem)
    : cpu_(cpu), problem_(problem), snapshots_(snapshot_chunk<Real>(problem)) {}

template <class Real>
void CovarianceEstimator<Real>::run(const CubeView<core::Host>& cube,
                                    core::View<Complex, 4, core::Host> covariance) {
    const index_t bins = problem_.doppler_bins;
    const Real mean = Real(1) / static_cast<Real>(problem_.parameters.training_block);
    for (index_t first = 0; first < bins; first += snapshots_.extent()[0]) {
        const index_t last = std::min(first + snapshots_.extent()[0], bins);
        const core::View<Complex, 4, core::Host> snapshots =
            snapshots_.view().slice(0, 0, last - first);
        const auto chunk = as_batch(covariance.slice(0, first, last));
        extract_snapshots<Real>(cpu_, problem_, cube, first, snapshots);
        dense::hermitian_rank_k<Complex, core::Concatenated>(
            cpu_, mean, as_batch<const Complex>(snapshots), Real(0), chunk);
        load_diagonal<Real>(problem_.parameters.loading, chunk);
    }
}

template class CovarianceEstimator<float>;
template class CovarianceEstimator<double>;

}  // namespace cpu

template <class Real>
void estimate_covariance(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                         core::View<std::complex<Real>, 4, core::Host> covariance) {
    cpu::check_cube(problem, cube);
    core::expects_shape("covariance", covariance,
                        {problem.doppler_bins, problem.training_sets, problem.order, problem.order},
                        core::Strides::dense);
    cpu::CovarianceEstimator<Real>(cpu, problem).run(cube, covariance);
}

template void estimate_covariance(core::Cpu&, const Problem&, CubeView<core::Host>,
                                  core::View<std::complex<float>, 4, core::Host>);
template void estimate_covariance(core::Cpu&, const Problem&, CubeView<core::Host>,
                                  core::View<std::complex<double>, 4, core::Host>);

}  // namespace aperture::stap
