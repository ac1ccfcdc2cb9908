// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/gpu/cuda_check.hpp"
#include "libstap/gpu/cublas_baseline.hpp"
#include "libstap/gpu/gpu_instances.cuh"

namespace aperture::core {

inline void check_status(cublasStatus_t status, const char* call,
                         const std::source_location& where = std::source_location::current()) {
    if (status == CUBLAS_STATUS_ALLOC_FAILED || status == CUBLAS_STATUS_ARCH_MISMATCH) {
        throw_unfit(call, cublasGetStatusString(status), where);
    }
    if (status != CUBLAS_STATUS_SUCCESS) {
        throw_device_error(call, cublasGetStatusString(status), where);
    }
}

}  // namespace aperture::core

namespace aperture::stap::gpu {

namespace {

constexpr int threads = 128;

unsigned blocks_for(index_t items) { return core::blocks_for(items, threads); }

/// Adds the loading to the diagonals. Thread: one matrix [n][n]. Bytes: 8 n.
__global__ void load_diagonals_kernel(Complex<float>* matrices, index_t count, int order,
                                      Loading loading) {
    const index_t m = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (m >= count) return;
    Complex<float>* matrix = matrices + m * order * order;
    float trace = 0.0f;
    for (int i = 0; i < order; ++i) trace += matrix[i * (order + 1)].re;
    const float added = static_cast<float>(loading.absolute) +
                        static_cast<float>(loading.relative) * trace / static_cast<float>(order);
    for (int i = 0; i < order; ++i) {
        const float diagonal = matrix[i * (order + 1)].re;
        matrix[i * (order + 1)] = Complex<float>(diagonal + added);
    }
}

/// info and pivot ratio of the diagonal of U, by magnitude. Unlike the library's info, this one
/// also reports an entry that is not finite. Thread: one matrix. Bytes: 8 n read.
__global__ void check_factors_kernel(const Complex<float>* factors, int* info, index_t count,
                                     index_t sets, int order, core::KernelView<int, 2> to_info,
                                     core::KernelView<float, 2> to_ratio) {
    const index_t m = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (m >= count) return;
    dense::Pivots<float> pivots;
    for (int i = 0; i < order; ++i) {
        const Complex<float> u = factors[m * order * order + i * (order + 1)];
        pivots.add(i, hypotf(u.re, u.im));
    }
    info[m] = pivots.info;
    to_info(m / sets, m % sets) = pivots.info;
    to_ratio(m / sets, m % sets) = pivots.ratio();
}

/// Reads conj(w) [matrix][vector][n], writes w to the results and gamma conj(w) in place; zeros if
/// the factorisation failed. Thread: one vector. Bytes: 8 n read, 8 n or 16 n written.
__global__ void scale_weights_kernel(Complex<float>* weights, SteeringVectors steering,
                                     const int* info, index_t count, index_t sets, int order,
                                     core::KernelView<Complex<float>, 4> results) {
    const index_t i = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count * steering.count) return;
    const int d = static_cast<int>(i % steering.count);
    const index_t m = i / steering.count;
    Complex<float>* w = weights + i * order;
    const bool failed = info[m] != 0;
    Complex<float> gain(0.0f);
    for (int row = 0; row < order; ++row) {
        if (failed) w[row] = Complex<float>(0.0f);
        gain = core::multiply_add(gain, w[row], steering(row, d));
    }
    const float magnitude = hypotf(gain.re, gain.im);
    const float gamma = magnitude > 0.0f ? 1.0f / magnitude : 1.0f;
    for (int row = 0; row < order; ++row) {
        if (results.data != nullptr) results(m / sets, m % sets, d, row) = core::conj(w[row]);
        w[row] *= gamma;
    }
}

/// Writes zeros if the factorisation failed, as the snapshots there may not be finite. Block: one
/// matrix; its outputs begin at cell `set` times `block`. Bytes: 4 read.
__global__ void zero_failed_outputs_kernel(const int* info, index_t sets, int block,
                                           index_t range_cells, int vectors,
                                           core::KernelView<Complex<float>, 3> output) {
    if (info[blockIdx.x] == 0) return;
    const index_t first = blockIdx.x % sets * block;
    const index_t left = range_cells - first;
    const int columns = static_cast<int>(left < block ? left : block);
    for (int i = static_cast<int>(threadIdx.x); i < vectors * columns; i += threads) {
        output(i / columns, blockIdx.x / sets, first + i % columns) = Complex<float>(0.0f);
    }
}

core::Array<cfloat*, 1, core::Device> upload_pointers(core::Gpu& gpu,
                                                      const core::Array<cfloat*, 1>& host) {
    core::Array<cfloat*, 1, core::Device> device(host.extent());
    core::copy<cfloat*, 1, core::Strided>(gpu, host.view().slice(0, 0, host.size()), device.view());
    gpu.synchronize();
    return device;
}

/// first + m * stride for all matrices.
core::Array<cfloat*, 1, core::Device> pointers(core::Gpu& gpu, cfloat* first, index_t count,
                                               index_t stride) {
    core::Array<cfloat*, 1> host({count});
    for (index_t m = 0; m < count; ++m) host(m) = first + m * stride;
    return upload_pointers(gpu, host);
}

cuComplex** as_batch(core::Array<cfloat*, 1, core::Device>& pointers) {
    return reinterpret_cast<cuComplex**>(pointers.data());
}

}  // namespace

void CublasBaseline::DestroyCublas::operator()(cublasContext* handle) const {
    cublasDestroy(handle);
}

CublasBaseline::CublasBaseline(core::Gpu& gpu, const Problem& problem,
                               core::View<const cfloat, 2, core::Host> steering)
    : gpu_(gpu), problem_(problem), matrices_(problem.doppler_bins * problem.training_sets) {
    const Parameters& p = problem.parameters;
    core::expects(p.training == Training::block && p.precision != Precision::mixed,
                  "implementation cublas requires block training in fp32; use fused or staged");
    cublasContext* handle = nullptr;
    APERTURE_CUDA_TRY(cublasCreate(&handle));
    cublas_.reset(handle);
    const index_t n = problem.order;
    const index_t bins = problem.doppler_bins;
    const index_t sets = problem.training_sets;
    const index_t vectors = problem.steering_vectors;
    AdaptiveWorkspace<core::Gpu> workspace;
    set_steering(gpu, workspace, steering);
    steering_ = std::move(workspace.steering);
    core::Array<cfloat, 2> right_hand_sides({vectors, n});
    for (index_t d = 0; d < vectors; ++d) {
        for (index_t i = 0; i < n; ++i) right_hand_sides(d, i) = std::conj(steering(d, i));
    }
    right_hand_sides_ = core::Array<cfloat, 2, core::Device>(right_hand_sides.extent());
    core::copy<cfloat, 2, core::Strided>(gpu, right_hand_sides.view(), right_hand_sides_.view());
    snapshots_ = core::Array<cfloat, 4, core::Device>({bins, sets, n, p.training_block});
    covariance_ = core::Array<cfloat, 4, core::Device>({bins, sets, n, n});
    inverse_ = core::Array<cfloat, 4, core::Device>({bins, sets, n, n});
    weights_ = core::Array<cfloat, 4, core::Device>({bins, sets, vectors, n});
    pivots_ = core::Array<int, 2, core::Device>({matrices_, n});
    info_ = core::Array<int, 2, core::Device>({bins, sets});
    right_hand_side_pointers_ = pointers(gpu, right_hand_sides_.data(), matrices_, 0);
    snapshot_pointers_ = pointers(gpu, snapshots_.data(), matrices_, n * p.training_block);
    covariance_pointers_ = pointers(gpu, covariance_.data(), matrices_, n * n);
    inverse_pointers_ = pointers(gpu, inverse_.data(), matrices_, n * n);
    weight_pointers_ = pointers(gpu, weights_.data(), matrices_, vectors * n);
}

// Batches for the outputs: all full blocks of a Doppler bin, then the last ones, which may be short
// and share their first snapshots with the block before.
void CublasBaseline::set_pointers(const core::View<cfloat, 3, core::Device>& output) {
    if (output_.data == output.data && output_.stride[1] == output.stride[1]) return;
    const index_t block = problem_.parameters.training_block;
    const index_t sets = problem_.training_sets;
    const index_t columns = problem_.shape.range_cells - (sets - 1) * block;
    core::Array<cfloat*, 1> last({3 * problem_.doppler_bins});
    core::Array<cfloat*, 1> host({matrices_});
    for (index_t k = 0; k < problem_.doppler_bins; ++k) {
        for (index_t b = 0; b < sets; ++b) {
            host(k * sets + b) = output.data + k * output.stride[1] + b * block;
        }
        const index_t m = k * sets + sets - 1;
        last(k) = snapshots_.data() + m * problem_.order * block + (block - columns);
        last(problem_.doppler_bins + k) =
            weights_.data() + m * problem_.steering_vectors * problem_.order;
        last(2 * problem_.doppler_bins + k) = host(m);
    }
    output_pointers_ = upload_pointers(gpu_, host);
    last_snapshot_pointers_ = upload_pointers(gpu_, last);
    output_ = output;
}

void CublasBaseline::run(CubeView<core::Device> cube, const Results<core::Device>& results,
                         core::Timeline* timeline) {
    const int n = problem_.order;
    const int vectors = problem_.steering_vectors;
    const int block = problem_.parameters.training_block;
    const index_t sets = problem_.training_sets;
    const int count = static_cast<int>(matrices_);
    cublasContext* const cublas = cublas_.get();
    APERTURE_CUDA_TRY(cublasSetStream(cublas, gpu_.stream()));
    const SteeringVectors steering = detail::steering_vectors(steering_);
    const auto stage = [&](const char* name, const Work& work) {
        return core::Timeline::stage(timeline, gpu_, name, work.gflop, work.mb);
    };
    set_pointers(results.output);
    {
        // Column-major, a snapshot matrix is its transpose A of N_R x n; A^H A is R row-major.
        const auto scope = stage("covariance", covariance_work(problem_));
        detail::extract(gpu_, problem_, detail::doppler_cube(cube),
                        detail::training_plan(problem_, whole_cube(problem_)), sets,
                        snapshots_.view());
        multiply(CUBLAS_OP_C, n, n, block, 1.0f / static_cast<float>(block),
                 as_batch(snapshot_pointers_), block, as_batch(snapshot_pointers_), block,
                 as_batch(covariance_pointers_), n, matrices_);
        core::launch(gpu_, &load_diagonals_kernel,
                     core::LaunchConfig(blocks_for(matrices_), threads),
                     core::device_cast(covariance_.data()), matrices_, n, loading_of(problem_, 0));
        detail::round_matrices<float>(gpu_, core::kernel_view(covariance_.view()),
                                      results.covariance);
    }
    {
        // Column-major, the stored matrix is conj(R); its inverse times conj(v) is conj(w). info
        // comes from the diagonal of U, not from the library's inversion.
        const auto scope = stage("weights", weights_work(problem_));
        APERTURE_CUDA_TRY(cublasCgetrfBatched(cublas, n, as_batch(covariance_pointers_), n,
                                              pivots_.data(), info_.data(), count));
        APERTURE_CUDA_TRY(cublasCgetriBatched(cublas, n, as_batch(covariance_pointers_), n,
                                              pivots_.data(), as_batch(inverse_pointers_), n,
                                              info_.data(), count));
        multiply(CUBLAS_OP_N, n, vectors, n, 1, as_batch(inverse_pointers_), n,
                 as_batch(right_hand_side_pointers_), n, as_batch(weight_pointers_), n, matrices_);
        core::launch(gpu_, &check_factors_kernel,
                     core::LaunchConfig(blocks_for(matrices_), threads),
                     core::device_cast(covariance_.data()), info_.data(), matrices_, sets, n,
                     core::kernel_view(results.info), core::kernel_view(results.pivot_ratio));
        core::KernelView<Complex<float>, 4> to{};
        if (!results.weights.empty()) to = core::kernel_view(results.weights);
        core::launch(gpu_, &scale_weights_kernel,
                     core::LaunchConfig(blocks_for(matrices_ * vectors), threads),
                     core::device_cast(weights_.data()), steering, info_.data(), matrices_, sets, n,
                     to);
    }
    const auto scope = stage("weighting", weighting_work(problem_));
    apply_weights(results.output);
    core::launch(gpu_, &zero_failed_outputs_kernel,
                 core::LaunchConfig(core::blocks_for(matrices_, 1), threads), info_.data(), sets,
                 block, problem_.shape.range_cells, vectors, detail::range_rows(results.output));
}

void CublasBaseline::apply_weights(const core::View<cfloat, 3, core::Device>& output) {
    const int n = problem_.order;
    const int vectors = problem_.steering_vectors;
    const int block = problem_.parameters.training_block;
    const index_t sets = problem_.training_sets;
    const int stride = static_cast<int>(output.stride[0]);
    const int bins = problem_.doppler_bins;
    const int last = static_cast<int>(problem_.shape.range_cells - (sets - 1) * block);
    const auto weight_blocks = [&](index_t first, index_t count) {
        multiply(CUBLAS_OP_N, block, vectors, n, 1, as_batch(snapshot_pointers_) + first, block,
                 as_batch(weight_pointers_) + first, n, as_batch(output_pointers_) + first, stride,
                 count);
    };
    if (last == block) return weight_blocks(0, matrices_);
    for (int k = 0; k < bins && sets > 1; ++k) weight_blocks(k * sets, sets - 1);
    cuComplex** const short_blocks = as_batch(last_snapshot_pointers_);
    multiply(CUBLAS_OP_N, last, vectors, n, 1, short_blocks, block, short_blocks + bins, n,
             short_blocks + 2 * bins, stride, bins);
}

/// C = scale A B or scale A^H B, of `count` matrices.
void CublasBaseline::multiply(cublasOperation_t of_a, int m, int n, int k, float scale,
                              cuComplex** a, int a_stride, cuComplex** b, int b_stride,
                              cuComplex** c, int c_stride, index_t count) {
    const cuComplex alpha{scale, 0.0f};
    const cuComplex beta{0.0f, 0.0f};
    APERTURE_CUDA_TRY(cublasCgemmBatched(cublas_.get(), of_a, CUBLAS_OP_N, m, n, k, &alpha, a,
                                         a_stride, b, b_stride, &beta, c, c_stride,
                                         static_cast<int>(count)));
}

}  // namespace aperture::stap::gpu
