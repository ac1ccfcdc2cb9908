// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The panel [U Y] of alternating projections in device memory, and the passes over it and M. Host
// code, a template on the executor.

#include <algorithm>
#include <utility>

#include "libcore/gpu/locked_pages.hpp"
#include "libdense/gpu/column_products.cuh"
#include "librpca/alternating_projections.hpp"
#include "librpca/gpu/project_frames.cuh"

namespace aperture::rpca::gpu {

/// A small row-major matrix that the host writes and a device reads.
template <class T, class Space>
class UploadedFactor {
  public:
    index_t rows = 0;
    index_t columns = 0;

    void reserve(index_t most_rows, index_t most_columns) {
        on_host_ = core::Array<T, 1>({most_rows * most_columns}, core::locked_pages<Space>());
        on_device_ = core::Array<T, 1, Space>({most_rows * most_columns});
    }
    /// The device must have finished reading the previous contents.
    template <class Element>
    void set(index_t row_count, index_t column_count, const Element& element) {
        rows = row_count;
        columns = column_count;
        T* to = on_host_.data();
        for (index_t i = 0; i < rows; ++i) {
            for (index_t j = 0; j < columns; ++j) *to++ = static_cast<T>(element(i, j));
        }
    }
    template <class Executor>
    core::KernelView<const T, 2> upload(Executor& executor) {
        const core::View<const T, 1, core::Host> from(on_host_.data(), {rows * columns});
        const core::View<T, 1, Space> to(on_device_.data(), {rows * columns});
        core::copy(executor, from, to);
        return {on_device_.data(), {rows, columns}};
    }

  private:
    core::Array<T, 1> on_host_;
    core::Array<T, 1, Space> on_device_;
};

/// The device counterpart of cpu::ProjectedMatrix. A pass is a sequence of tall-times-small and
/// tall-times-tall products with R in memory in between. Each pass waits for its sums, as the host
/// needs them.
template <class T, class ItsExecutor>
class ProjectedMatrix {
  public:
    using Executor = ItsExecutor;
    using Space = typename Executor::Space;
    using Pass = Projection<T, UploadedFactor<T, Space>>;

    ProjectedMatrix(Executor& executor, index_t frames, index_t values, index_t rank,
                    bool watches_mask)
        : executor_(executor),
          frames_(frames),
          values_(values),
          width_(width_of(rank)),
          pitch_(pitch_of(values)),
          products_(executor),
          columns_({(2 * width_ + frames) * pitch_}),
          next_basis_({width_ * pitch_}),
          mask_({watches_mask ? frames * pitch_ : 0}),
          measured_({blocks()}),
          measured_on_host_(measured_.extent()),
          sums_({blocks()}),
          sums_on_host_(sums_.extent()),
          sizes_({samples()}),
          sizes_on_host_(sizes_.extent()),
          panel_products_({2 * width_ * (2 * width_ + frames)}),
          panel_products_on_host_(panel_products_.extent()),
          rest_products_({frames, frames}),
          panel_gram_({2 * width_, 2 * width_}),
          cross_({width_, frames}),
          rest_gram_({frames, frames}) {
        products_.reserve(bytes_of_products(products_, frames, values, width_));
        median_factor_.reserve(2 * width_, frames);
    }

    /// With the factors of a Projection.
    static WorkspaceBytes bytes(Executor& executor, index_t frames, index_t values, index_t rank,
                                bool watches_mask) {
        const index_t pitch = pitch_of(values);
        const index_t all = 2 * rank + frames;
        const index_t sampled = sample_count(frames * values, most_residuals);
        const index_t factors = 2 * rank * (rank + 2 * frames) + frames * rank;
        const index_t both = bytes_of<T>(sampled + factors) +
                             core::blocks_for(values, project_threads) *
                                 (bytes_of<LoadedPart>(1) + bytes_of<PassSums>(1)) +
                             bytes_of<double>(2 * rank * all + frames * frames);
        return {both + bytes_of<double>(4 * rank * rank + rank * frames),
                both + bytes_of<T>((all + rank) * pitch) + (watches_mask ? frames * pitch : 0) +
                    bytes_of_products(Products(executor), frames, values, rank)};
    }

    index_t width() const { return width_; }
    static index_t width_of(index_t rank) { return rank; }

    double load(FramesView<const T, Space> m) {
        m_ = {m.data, m.stride[0], static_cast<int>(frames_), values_};
        core::launch(executor_, &measure_frames_kernel<T>, of_values(), m_, mask(),
                     measured_.data());
        core::copy(executor_, std::as_const(measured_).view(), measured_on_host_.view());
        executor_.synchronize();
        return total_of(measured_on_host_, values_).square;
    }
    void start_with_medians() {
        core::launch(executor_, &find_medians_kernel<T>, of_values(), m_, columns_.data(), pitch_,
                     static_cast<int>(2 * width_), static_cast<int>(width_));
    }
    double median_of_rest(core::View<const double, 2, core::Host> coefficients) {
        median_factor_.set(2 * width_, frames_,
                           [&](index_t i, index_t f) { return coefficients(i, f); });
        const auto factor = median_factor_.upload(executor_);
        core::launch(executor_, &sample_rest_kernel<T>,
                     core::LaunchConfig(dim3(core::blocks_for(samples(), project_threads)),
                                        dim3(project_threads)),
                     SampleArguments<T>{m_, columns_.data(), pitch_, static_cast<int>(2 * width_),
                                        factor.data, sample_step(frames_ * values_, most_residuals),
                                        samples(), sizes_.data()});
        core::copy(executor_, std::as_const(sizes_).view(), sizes_on_host_.view());
        executor_.synchronize();
        return upper_median(sizes_on_host_.begin(), sizes_on_host_.end());
    }

    PassSums pass(Pass& projection) {
        split_rest(projection, {}, {});
        if (projection.directions.columns > 0) {
            dense::gpu::multiply_columns<T>(
                executor_, rest(), projection.directions.upload(executor_),
                part_of(projection.replaces_basis ? 0 : width_, width_));
        }
        if (projection.sums_rest) {
            products_.find_gram(rest(), core::kernel_view(rest_products_.view()));
            core::copy(executor_, std::as_const(rest_products_).view(), rest_gram_.view());
            executor_.synchronize();
        } else {
            const index_t all = 2 * width_ + frames_;
            products_.find(columns(0, 2 * width_), columns(0, all),
                           core::KernelView<double, 2>(panel_products_.data(), {2 * width_, all}));
            core::copy(executor_, std::as_const(panel_products_).view(),
                       panel_products_on_host_.view());
            executor_.synchronize();
            copy_panel_products();
        }
        return sums();
    }
    PassSums finish(Pass& projection, FramesView<T, Space> low_rank, FramesView<T, Space> sparse) {
        split_rest(projection, low_rank, sparse);
        executor_.synchronize();
        return sums();
    }

    core::View<const double, 2, core::Host> panel_gram() const { return panel_gram_.view(); }
    core::View<const double, 2, core::Host> cross() const { return cross_.view(); }
    core::View<const double, 2, core::Host> rest_gram() const { return rest_gram_.view(); }

  private:
    template <class U>
    using Buffer = core::Array<U, 1, Space>;
    using Products = dense::gpu::ColumnProducts<T, Executor>;

    static index_t bytes_of_products(const Products& products, index_t frames, index_t values,
                                     index_t rank) {
        return std::max(products.bytes(values, 2 * rank, 2 * rank + frames),
                        products.gram_bytes(values, frames));
    }

    static index_t pitch_of(index_t values) { return core::round_up(values, 32); }
    index_t samples() const { return sample_count(frames_ * values_, most_residuals); }
    unsigned blocks() const { return core::blocks_for(values_, project_threads); }
    core::LaunchConfig of_values() const {
        return core::LaunchConfig(dim3(blocks()), dim3(project_threads), project_shared_bytes);
    }

    /// Columns of [U Y R].
    core::KernelView<const T, 2> columns(index_t first, index_t count) const {
        return {columns_.data() + first * pitch_, {values_, count}, {1, pitch_}};
    }
    core::KernelView<const T, 2> rest() const { return columns(2 * width_, frames_); }
    core::KernelView<T, 2> part_of(index_t first, index_t count) {
        return {columns_.data() + first * pitch_, {values_, count}, {1, pitch_}};
    }
    Frames<T> frames_of(const FramesView<T, Space>& view) const {
        return {view.empty() ? nullptr : view.data, view.stride[0], static_cast<int>(frames_),
                values_};
    }
    Frames<unsigned char> mask() {
        return {mask_.data(), pitch_, static_cast<int>(frames_), values_};
    }

    /// Updates U, writes L to R's buffer and replaces it by R.
    void split_rest(Pass& projection, FramesView<T, Space> low_rank, FramesView<T, Space> sparse) {
        if (projection.basis.columns > 0) {
            const core::KernelView<T, 2> next(next_basis_.data(), {values_, width_}, {1, pitch_});
            dense::gpu::multiply_columns<T>(executor_, columns(0, 2 * width_),
                                            projection.basis.upload(executor_), next);
            dense::gpu::copy_matrix<T>(executor_, next, part_of(0, width_),
                                       dense::gpu::CopyPart::all);
        }
        dense::gpu::multiply_columns<T>(executor_, columns(0, projection.coefficients.rows),
                                        projection.coefficients.upload(executor_),
                                        part_of(2 * width_, frames_));
        RestArguments<T> arguments{};
        arguments.m = m_;
        arguments.rest = {columns_.data() + 2 * width_ * pitch_, pitch_, m_.frames, values_};
        arguments.threshold = projection.threshold;
        arguments.mask_threshold = projection.mask_threshold;
        arguments.mask = mask();
        arguments.low_rank = frames_of(low_rank);
        arguments.sparse = frames_of(sparse);
        arguments.parts = sums_.data();
        core::launch(executor_, &split_rest_kernel<T>, of_values(), arguments);
        core::copy(executor_, std::as_const(sums_).view(), sums_on_host_.view());
    }
    PassSums sums() const {
        PassSums total;
        for (const PassSums& part : sums_on_host_) total += part;
        return total;
    }
    void copy_panel_products() {
        const index_t all = 2 * width_ + frames_;
        for (index_t i = 0; i < 2 * width_; ++i) {
            const double* const row = panel_products_on_host_.data() + i * all;
            for (index_t j = 0; j < 2 * width_; ++j) panel_gram_(i, j) = row[j];
            for (index_t f = 0; i < width_ && f < frames_; ++f) cross_(i, f) = row[2 * width_ + f];
        }
    }

    Executor& executor_;
    index_t frames_;
    index_t values_;
    index_t width_;
    index_t pitch_;
    Frames<const T> m_ = {};  ///< M of the current run
    Products products_;
    Buffer<T> columns_;  ///< [U Y R]
    Buffer<T> next_basis_;
    Buffer<unsigned char> mask_;
    Buffer<LoadedPart> measured_;
    core::Array<LoadedPart, 1> measured_on_host_;
    Buffer<PassSums> sums_;
    core::Array<PassSums, 1> sums_on_host_;
    Buffer<T> sizes_;  ///< |residual| of a sample
    core::Array<T, 1> sizes_on_host_;
    UploadedFactor<T, Space> median_factor_;
    Buffer<double> panel_products_;  ///< [U Y]^T [U Y R]
    core::Array<double, 1> panel_products_on_host_;
    core::Array<double, 2, Space> rest_products_;
    core::Array<double, 2> panel_gram_;
    core::Array<double, 2> cross_;
    core::Array<double, 2> rest_gram_;
};

}  // namespace aperture::rpca::gpu
