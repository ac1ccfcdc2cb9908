// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// M and W in device memory and the passes over them. Host code, a template on the executor.

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "librpca/gpu/basis_change.cuh"
#include "librpca/gpu/load_frames.cuh"
#include "librpca/gpu/tuning.hpp"
#include "librpca/multipliers.hpp"
#include "librpca/workspace.hpp"

namespace aperture::rpca::gpu {

template <class T>
struct TriangleArguments {
    const T* r;  ///< [frame][frame]
    int frames;
    double* gram;  ///< [frame][frame]
    const RunState* state;
};

inline constexpr int triangle_threads = 128;

/// R^T R in fp64. Grid: frames.
template <class T>
__global__ void __launch_bounds__(triangle_threads)
    gram_of_triangle_kernel(TriangleArguments<T> a) {
    if (a.state->done != 0) return;
    const int i = static_cast<int>(blockIdx.x);
    const index_t order = a.frames;
    for (int j = core::thread_rank(); j < a.frames; j += triangle_threads) {
        double sum = 0;
        for (int k = 0; k <= i && k <= j; ++k) {
            sum +=
                static_cast<double>(a.r[k * order + i]) * static_cast<double>(a.r[k * order + j]);
        }
        a.gram[i * order + j] = sum;
    }
}

/// The kernels for a number of frames and values, and the sizes of what they process.
template <class T>
class SweptShape {
    /// With their launch parameters.
    struct Kernels {
        void (*pass)(PassArguments<T>);
        void (*factor)(FactorArguments<T>);
        int block_frames;
        int factor_columns;
        int pass_shared;

        void (*gram)(GramArguments<T>);
        void (*gather)(GatherArguments);
        int (*gather_blocks)(int tile_pairs);
        int gram_frames;
        int gram_shared;
        int gram_shared_pairs;
        index_t gram_part;
        int flush;
    };

  public:
    /// With what is the same for all shapes.
    using AnyPass = PassShape<T, 1>;
    using AnyGram = GramShape<T, 1>;

    int frames;
    index_t values;
    index_t pitch;  ///< of a frame: values padded with zeros
    Kernels kernels;
    int frame_blocks;
    int factor_rows;
    int tile_pairs;
    index_t range;  ///< of one block of gram_kernel

    template <class Executor>
    SweptShape(const Executor& executor, index_t frame_count, index_t value_count)
        : frames(static_cast<int>(frame_count)),
          values(value_count),
          pitch(core::round_up(values, load_threads)),
          kernels(kernels_for(frames, executor.shared_memory_per_block())),
          frame_blocks(static_cast<int>(core::blocks_for(frames, kernels.block_frames))),
          factor_rows(static_cast<int>(core::round_up(frames, AnyPass::depth))) {
        const auto tiles = static_cast<int>(core::blocks_for(frames, kernels.gram_frames));
        tile_pairs = tiles * (tiles + 1) / 2;
        const index_t steps = pitch / AnyGram::values;
        const index_t wanted = std::max(1, executor.multiprocessors() / tile_pairs);
        range = core::blocks_for(steps, std::min(steps, wanted)) * AnyGram::values;
    }

    index_t size() const { return frames * pitch; }
    index_t square() const { return index_t{frames} * frames; }
    index_t load_blocks() const { return pitch / load_threads; }
    index_t value_blocks() const { return pitch / AnyPass::values; }
    index_t ranges() const { return core::blocks_for(pitch, range); }
    index_t factor_size() const {
        return index_t{frame_blocks} * factor_rows * kernels.factor_columns;
    }
    index_t gram_parts_size() const { return tile_pairs * ranges() * kernels.gram_part; }
    /// A block that covers only some of the frames must not overwrite what others still read.
    int copies_of_w() const { return frame_blocks > 1 ? 2 : 1; }

  private:
    template <int OwnFrames>
    static void set_pass(Kernels& kernels) {
        using Shape = PassShape<T, OwnFrames>;
        kernels.pass = &multiplier_pass_kernel<T, OwnFrames>;
        kernels.factor = &factor_kernel<T, Shape>;
        kernels.block_frames = Shape::frames;
        kernels.factor_columns = Shape::factor_columns;
        kernels.pass_shared = Shape::shared_bytes;
    }

    template <int Sides>
    static void set_gram(Kernels& kernels) {
        using Shape = GramShape<T, Sides>;
        kernels.gram = &gram_kernel<T, Sides>;
        kernels.gather = &gather_sums_kernel<Sides>;
        kernels.gather_blocks = [](int pairs) { return GatherGrid<Sides>(pairs).blocks(); };
        kernels.gram_frames = Shape::frames;
        kernels.gram_shared = Shape::shared_bytes(true);
        kernels.gram_shared_pairs = std::max(Shape::shared_bytes(true), Shape::shared_bytes(false));
        kernels.gram_part = index_t{Shape::products} * Shape::most_tiles;
        constexpr int own_values = Shape::values / Shape::groups_of(Shape::diagonal_tiles);
        kernels.flush = sizeof(T) == 4 ? std::max(1, tuning::values_in_fp32 / own_values)
                                       : std::numeric_limits<int>::max();
    }

    static Kernels kernels_for(int frames, int shared_bytes) {
        using namespace tuning;
        Kernels kernels{};
        const auto takes = [&](int own) { return frames <= own * AnyPass::warps; };
        if (takes(pass_frames[0])) {
            set_pass<pass_frames[0]>(kernels);
        } else if (takes(pass_frames[1])) {
            set_pass<pass_frames[1]>(kernels);
        } else if (takes(pass_frames[2])) {
            set_pass<pass_frames[2]>(kernels);
        } else {
            set_pass<pass_frames[3]>(kernels);
        }
        const auto sides_take = [&](int sides, int bytes) {
            return bytes > shared_bytes || frames <= sides * AnyGram::own;
        };
        if (sides_take(gram_sides[0], GramShape<T, gram_sides[1]>::shared_bytes(false))) {
            set_gram<gram_sides[0]>(kernels);
        } else if (sides_take(gram_sides[1], GramShape<T, gram_sides[2]>::shared_bytes(false))) {
            set_gram<gram_sides[1]>(kernels);
        } else {
            set_gram<gram_sides[2]>(kernels);
        }
        return kernels;
    }
};

template <class T, class Executor>
class SweptMatrix {
    using Qr = dense::TallQr<T, Executor>;
    using Space = typename Executor::Space;
    template <class U>
    using Buffer = core::Array<U, 1, Space>;

  public:
    SweptMatrix(Executor& executor, index_t frames, index_t values, Svd svd, bool watches_mask)
        : executor_(executor),
          shape_(executor, frames, values),
          m_({shape_.size()}),
          ground_({shape_.pitch}),
          load_parts_({shape_.load_blocks()}),
          load_parts_on_host_(load_parts_.extent()),
          mask_({watches_mask ? shape_.size() / 4 : 0}),
          factor_({shape_.factor_size()}),
          gram_({shape_.square()}),
          sum_parts_({shape_.value_blocks() * shape_.frame_blocks}) {
        for (int i = 0; i < shape_.copies_of_w(); ++i) w_[i] = Buffer<T>({shape_.size()});
        if (svd == Svd::gram) {
            gram_parts_ = Buffer<double>({shape_.gram_parts_size()});
        } else {
            triangle_ = Buffer<T>({shape_.square()});
            qr_.emplace(executor, qr_method(svd), shape_.pitch, frames);
        }
        // The factor's padding rows and columns enter the products, so they must be zero.
        core::Array<T, 1> zeros(factor_.extent());
        std::fill(zeros.begin(), zeros.end(), T(0));
        core::copy(executor, std::as_const(zeros).view(), factor_.view());
        executor.synchronize();
    }

    static WorkspaceBytes bytes(Executor& executor, index_t frames, index_t values, Svd svd,
                                bool watches_mask) {
        const SweptShape<T> shape(executor, frames, values);
        const index_t reals = (1 + shape.copies_of_w()) * shape.size() + shape.pitch +
                              shape.factor_size() + (svd == Svd::gram ? 0 : shape.square());
        const index_t doubles = shape.square() + (svd == Svd::gram ? shape.gram_parts_size() : 0);
        const index_t loaded = bytes_of<LoadedPart>(shape.load_blocks());
        return {loaded + bytes_of<T>(shape.factor_size()),
                bytes_of<T>(reals) + bytes_of<double>(doubles) + loaded +
                    (watches_mask ? shape.size() : 0) +
                    bytes_of<PassSums>(shape.value_blocks() * shape.frame_blocks) +
                    (svd == Svd::gram
                         ? 0
                         : Qr::find_r_bytes(executor, qr_method(svd), shape.pitch, frames))};
    }

    /// Copies M into M and W. Synchronises. Throws core::InvalidArgument for a NaN or an infinity.
    MatrixNorms load(FramesView<const T, Space> m) {
        LoadArguments<T> arguments{};
        arguments.from = core::kernel_view(m);
        arguments.pitch = shape_.pitch;
        arguments.m = m_.data();
        arguments.w = w_[0].data();
        arguments.ground = ground_.data();
        if (mask_.size() > 0) arguments.mask = mask_.data();
        arguments.parts = load_parts_.data();
        now_ = 0;
        constexpr int warps = load_threads / core::warp_size;
        core::launch(executor_, &load_frames_kernel<T>,
                     core::LaunchConfig(dim3(static_cast<unsigned>(shape_.load_blocks())),
                                        dim3(load_threads), warps * sizeof(core::Sums<3>)),
                     arguments);
        core::copy(executor_, std::as_const(load_parts_).view(), load_parts_on_host_.view());
        executor_.synchronize();
        return total_of(load_parts_on_host_, shape_.values);
    }

    /// Computes P, with L = W P, from f in a basis; without f, L is the temporal mean.
    void set_factor(const double* function, const double* transposed_basis, const RunState* state) {
        const FactorArguments<T> arguments{
            function,       transposed_basis,   shape_.frames, function == nullptr,
            factor_.data(), shape_.factor_rows, state};
        core::launch(
            executor_, shape_.kernels.factor,
            core::LaunchConfig(dim3(static_cast<unsigned>(shape_.frames)), dim3(product_threads),
                               static_cast<std::size_t>(basis_shared_bytes(shape_.frames))),
            arguments);
    }

    /// Runs a pass, sums the Gram matrix of the new W and tests for convergence.
    void pass(const MultiplierPass<T, Space>& pass, RunState* state) {
        T* const w = w_[now_].data();
        T* const next = shape_.frame_blocks == 1 ? w : w_[1 - now_].data();
        PassArguments<T> arguments{};
        arguments.m = m_.data();
        arguments.w = w;
        arguments.next_w = next;
        arguments.ground = ground_.data();
        arguments.factor = factor_.data();
        arguments.factor_rows = shape_.factor_rows;
        arguments.frames = shape_.frames;
        arguments.values = shape_.values;
        arguments.pitch = shape_.pitch;
        arguments.y_scale = pass.y_scale;
        arguments.threshold = pass.threshold;
        arguments.mask_threshold = pass.mask_threshold;
        arguments.mask = mask_.size() > 0 ? mask_.data() : nullptr;
        arguments.low_rank = pass.low_rank.empty() ? nullptr : pass.low_rank.data;
        arguments.low_rank_stride = pass.low_rank.stride[0];
        arguments.sparse = pass.sparse.empty() ? nullptr : pass.sparse.data;
        arguments.sparse_stride = pass.sparse.stride[0];
        arguments.sum_parts = sum_parts_.data();
        arguments.state = state;
        arguments.last = pass.last;
        core::launch(executor_, shape_.kernels.pass,
                     core::LaunchConfig(dim3(static_cast<unsigned>(shape_.value_blocks()),
                                             static_cast<unsigned>(shape_.frame_blocks)),
                                        dim3(SweptShape<T>::AnyPass::threads),
                                        static_cast<std::size_t>(shape_.kernels.pass_shared)),
                     arguments);
        if (shape_.frame_blocks > 1) now_ = 1 - now_;
        if (!qr_) sum_gram(next, pass.last, state);
        gather_sums(pass, state);
        if (qr_) find_triangle(next, state);
    }

    /// Gram matrix of the W of the last pass, minus the ground.
    const double* gram() const { return gram_.data(); }

  private:
    void sum_gram(const T* w, bool last, RunState* state) {
        core::launch(executor_, shape_.kernels.gram,
                     core::LaunchConfig(dim3(static_cast<unsigned>(shape_.ranges()),
                                             static_cast<unsigned>(shape_.tile_pairs)),
                                        dim3(SweptShape<T>::AnyGram::threads),
                                        static_cast<std::size_t>(
                                            shape_.tile_pairs > 1 ? shape_.kernels.gram_shared_pairs
                                                                  : shape_.kernels.gram_shared)),
                     GramArguments<T>{w, shape_.frames, shape_.pitch, shape_.range,
                                      shape_.kernels.flush, gram_parts_.data(), state, last});
    }
    /// With a QR there are no Gram parts to sum.
    void gather_sums(const MultiplierPass<T, Space>& pass, RunState* state) {
        const int tile_pairs = qr_ ? 0 : shape_.tile_pairs;
        core::launch(
            executor_, shape_.kernels.gather,
            core::LaunchConfig(
                dim3(static_cast<unsigned>(shape_.kernels.gather_blocks(tile_pairs))),
                dim3(column_lanes, column_shares), column_lanes * column_shares * sizeof(double)),
            GatherArguments{gram_parts_.data(), static_cast<int>(shape_.ranges()), tile_pairs,
                            sum_parts_.data(), shape_.value_blocks(), shape_.frame_blocks,
                            shape_.frames, gram_.data(), pass.rules, state, pass.last,
                            pass.iteration > 0});
    }
    void find_triangle(const T* w, const RunState* state) {
        const index_t order = shape_.frames;
        qr_->find_r({w, {shape_.pitch, order}, {1, shape_.pitch}},
                    {triangle_.data(), {order, order}, {order, 1}});
        core::launch(
            executor_, &gram_of_triangle_kernel<T>,
            core::LaunchConfig(dim3(static_cast<unsigned>(shape_.frames)), dim3(triangle_threads)),
            TriangleArguments<T>{triangle_.data(), shape_.frames, gram_.data(), state});
    }

    Executor& executor_;
    SweptShape<T> shape_;
    Buffer<T> m_;
    Buffer<T> ground_;
    Buffer<T> w_[2];
    int now_ = 0;
    Buffer<LoadedPart> load_parts_;
    core::Array<LoadedPart, 1> load_parts_on_host_;
    Buffer<unsigned> mask_;
    Buffer<T> factor_;
    Buffer<double> gram_;
    Buffer<PassSums> sum_parts_;
    Buffer<double> gram_parts_;
    std::optional<Qr> qr_;  ///< if it replaces the Gram matrix
    Buffer<T> triangle_;
};

}  // namespace aperture::rpca::gpu
