// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/signal/fft.hpp"
#include "libcore/gpu/block.cuh"
#include "libcore/gpu/launch.cuh"
#include "libcore/gpu/mirrored_array.hpp"
#include "libsignal/fft_lengths.hpp"
#include "libsignal/gpu/resample.cuh"
#include "libsignal/gpu/warp.cuh"
#include "libsignal/registration.hpp"

namespace aperture::signal::gpu {

// In all kernels a block has a row, and its threads every registration_threads-th column.
inline constexpr int registration_threads = 256;

/// An image as kernels load it: columns contiguous.
using RegisteredImage = core::View<const float, 2, core::Kernel, core::Concatenated>;

using RegisteredPlane = core::View<float, 2, core::Kernel, core::Concatenated>;

/// The windows of both images: of rows, then of columns.
struct TaperPointers {
    const float *rows_a, *rows_b, *columns_a, *columns_b;
};

/// A spectrum of [rows][columns].
struct Spectrum {
    Complex<float>* data;
    int rows, columns;

    APERTURE_HD Complex<float>* row(int y) const { return data + index_t{y} * columns; }
};

/// The column with the largest value of a row: the value's bits above the column's, which order
/// positive numbers as the numbers are.
__device__ __forceinline__ unsigned long long peak_key(float value, int column) {
    if (!(value > 0.0F)) return 0;
    unsigned bits;
    memcpy(&bits, &value, sizeof(bits));
    return (static_cast<unsigned long long>(bits) << 32) |
           (0xffffffffU - static_cast<unsigned>(column));
}

/// sums[row][2] of both images times their windows. 8 bytes a pixel.
inline __global__ void __launch_bounds__(registration_threads)
    taper_sums_kernel(RegisteredImage a, RegisteredImage b, TaperPointers tapers, double* sums) {
    const int row = static_cast<int>(blockIdx.x);
    core::Sums<2> sum{};
    for (index_t x = core::thread_rank(); x < a.extent[1]; x += registration_threads) {
        sum.value[0] += static_cast<double>(tapers.columns_a[x] * a(row, x));
        sum.value[1] += static_cast<double>(tapers.columns_b[x] * b(row, x));
    }
    sum = core::block_reduce(sum, core::shared<core::Sums<2>>());
    if (core::thread_rank() == 0) {
        sums[2 * row] = static_cast<double>(tapers.rows_a[row]) * sum.value[0];
        sums[2 * row + 1] = static_cast<double>(tapers.rows_b[row]) * sum.value[1];
    }
}

/// z = a + i b times windows, less their means, zero beside. 16 bytes a pixel.
inline __global__ void __launch_bounds__(registration_threads)
    taper_kernel(RegisteredImage a, RegisteredImage b, TaperPointers tapers, float mean_a,
                 float mean_b, Spectrum z) {
    const int row = static_cast<int>(blockIdx.x);
    const bool inside = row < a.extent[0];
    const float row_a = inside ? tapers.rows_a[row] : 0.0F;
    const float row_b = inside ? tapers.rows_b[row] : 0.0F;
    for (int x = core::thread_rank(); x < z.columns; x += registration_threads) {
        Complex<float> value(0.0F);
        if (inside && x < a.extent[1]) {
            value = {row_a * tapers.columns_a[x] * (a(row, x) - mean_a),
                     row_b * tapers.columns_b[x] * (b(row, x) - mean_b)};
        }
        z.row(row)[x] = value;
    }
}

/// The half spectrum C of the transform of z, and powers[row][2]. 20 bytes a frequency of C.
inline __global__ void __launch_bounds__(registration_threads)
    cross_kernel(Spectrum z, Complex<float>* cross, double* powers) {
    const int row = static_cast<int>(blockIdx.x);
    const Complex<float>* const mirror = z.row(row == 0 ? 0 : z.rows - row);
    core::Sums<2> sum{};
    for (int x = core::thread_rank(); x < z.columns; x += registration_threads) {
        CrossTerm term{{0.0F, 0.0F}, 0.0F, 0.0F};
        if (!is_highest(row, z.rows) && !is_highest(x, z.columns)) {
            term = cross_term(z.row(row)[x], mirror[x == 0 ? 0 : z.columns - x]);
        }
        cross[index_t{row} * z.columns + x] = term.cross;
        sum.value[0] += static_cast<double>(term.power_a);
        sum.value[1] += static_cast<double>(term.power_b);
    }
    sum = core::block_reduce(sum, core::shared<core::Sums<2>>());
    if (core::thread_rank() < 2)
        powers[2 * row + core::thread_rank()] = sum.value[core::thread_rank()];
}

/// sums[row][row_sums] of C with waves of rows, then of columns. 8 bytes and 25 flops a frequency.
inline __global__ void __launch_bounds__(registration_threads)
    score_kernel(const Complex<float>* cross, const Complex<float>* waves, int columns,
                 double* sums) {
    const int row = static_cast<int>(blockIdx.x);
    const Complex<float> of_row = waves[row];
    const Complex<float>* const of_columns = waves + gridDim.x;
    const float step = 2.0F * 3.14159265358979323846F / static_cast<float>(columns);
    float terms[row_sums] = {};
    for (int x = core::thread_rank(); x < columns; x += registration_threads) {
        const Complex<float> c = cross[index_t{row} * columns + x] * of_row;
        const Complex<float> wave = of_columns[x];
        const float kx = step * static_cast<float>(2 * x > columns ? x - columns : x);
        add_row_terms(c.re, c.im, wave.re, wave.im, kx, terms);
    }
    core::Sums<row_sums> sum;
    for (int i = 0; i < row_sums; ++i) sum.value[i] = static_cast<double>(terms[i]);
    sum = core::block_reduce(sum, core::shared<core::Sums<row_sums>>());
    if (core::thread_rank() < row_sums) {
        sums[row * row_sums + core::thread_rank()] = sum.value[core::thread_rank()];
    }
}

/// The whole spectrum of the phase correlation, with the real parts of waves as weights. 24 bytes a
/// frequency of C.
inline __global__ void __launch_bounds__(registration_threads)
    phase_kernel(const Complex<float>* cross, const Complex<float>* waves, Spectrum z) {
    const int row = static_cast<int>(blockIdx.x);
    const int mirrored = row == 0 ? 0 : z.rows - row;
    for (int x = core::thread_rank(); x < z.columns; x += registration_threads) {
        const Complex<float> term = phase_term(cross[index_t{row} * z.columns + x],
                                               waves[row].re * waves[gridDim.x + x].re);
        z.row(row)[x] = term;
        if (mirrored != row) z.row(mirrored)[x == 0 ? 0 : z.columns - x] = {term.re, -term.im};
    }
}

/// The peak_key of each row's real parts. 8 bytes a pixel.
inline __global__ void __launch_bounds__(registration_threads)
    peak_kernel(Spectrum z, unsigned long long* peaks) {
    const int row = static_cast<int>(blockIdx.x);
    unsigned long long peak = 0;
    for (int x = core::thread_rank(); x < z.columns; x += registration_threads) {
        peak = max(peak, peak_key(z.row(row)[x].re, x));
    }
    peak = core::block_reduce(peak, core::shared<unsigned long long>(), core::Maximum());
    if (core::thread_rank() == 0) peaks[row] = peak;
}

/// Block: an angle. 64 bytes, of which neighbours share most, and 2 sizes a thread.
inline __global__ void __launch_bounds__(registration_threads)
    polar_kernel(Spectrum z, RegisteredPlane of_a, RegisteredPlane of_b) {
    const int angle = static_cast<int>(blockIdx.x);
    for (int radius = core::thread_rank(); radius < polar_radii; radius += registration_threads) {
        polar_size([&](int row, int column) { return z.row(row)[column]; }, z.rows, z.columns,
                   angle, radius, of_a(angle, radius), of_b(angle, radius));
    }
}

}  // namespace aperture::signal::gpu

namespace aperture::signal {

/// By kernels, on a GPU or on the SIMT host executor.
template <class Executor>
class SpectrumPasses {
  public:
    using Space = typename Executor::Space;
    using Image = core::View<const float, 2, Space>;
    using Rows = core::View<const double, 2, core::Host>;

    SpectrumPasses(Executor& executor, const core::Extents<2>& image)
        : executor_(executor),
          padded_{good_length(image[0], {2, 3, 5, 7}), good_length(image[1], {2, 3, 5, 7})},
          z_(padded_),
          cross_({half_rows(padded_[0]), padded_[1]}),
          tapers_(executor),
          waves_(executor),
          values_(executor),
          peaks_(executor),
          rows_(executor, {static_cast<int>(padded_[1]), padded_[0], 1, padded_[1]}),
          columns_(executor, {static_cast<int>(padded_[0]), padded_[1], padded_[1], 1}) {}

    core::Extents<2> padded() const { return padded_; }

    Rows taper_sums(Image a, Image b, const OverlapTapers& tapers) {
        upload(tapers_, tapers.weights());
        values_.reshape({a.extent[0], 2});
        core::launch(executor_, &gpu::taper_sums_kernel, config(a.extent[0], 2), kernel_view(a),
                     kernel_view(b), pointers(a.extent), values_.device().data);
        return values();
    }

    /// After `taper_sums` with the same tapers.
    void transform(Image a, Image b, const OverlapTapers& /*tapers*/, double mean_a,
                   double mean_b) {
        core::launch(executor_, &gpu::taper_kernel, config(padded_[0], 0), kernel_view(a),
                     kernel_view(b), pointers(a.extent), static_cast<float>(mean_a),
                     static_cast<float>(mean_b), spectrum());
        transform();
    }

    Rows cross() {
        values_.reshape({half_rows(padded_[0]), 2});
        core::launch(executor_, &gpu::cross_kernel, config(half_rows(padded_[0]), 2), spectrum(),
                     cross_.data(), values_.device().data);
        return values();
    }

    Rows score(const std::vector<Complex<float>>& waves) {
        upload(waves_, waves);
        values_.reshape({half_rows(padded_[0]), row_sums});
        core::launch(executor_, &gpu::score_kernel, config(half_rows(padded_[0]), row_sums),
                     cross_.data(), waves_.device().data, static_cast<int>(padded_[1]),
                     values_.device().data);
        return values();
    }

    core::Extents<2> phase_peak(const std::vector<Complex<float>>& weights) {
        upload(waves_, weights);
        core::launch(executor_, &gpu::phase_kernel, config(half_rows(padded_[0]), 0), cross_.data(),
                     waves_.device().data, spectrum());
        transform();
        peaks_.reshape({padded_[0]});
        core::launch(executor_, &gpu::peak_kernel, config(padded_[0], 1), spectrum(),
                     peaks_.device().data);
        peaks_.to_host();
        executor_.synchronize();
        const auto* const first = peaks_.host().data;
        const auto* const peak = std::max_element(
            first, first + padded_[0],
            [](unsigned long long a, unsigned long long b) { return a >> 32 < b >> 32; });
        if (*peak == 0) return {0, 0};
        return {peak - first, 0xffffffffU - static_cast<unsigned>(*peak)};
    }

    void polar_sizes(core::View<float, 2, Space> of_a, core::View<float, 2, Space> of_b) {
        const auto plane = [](const core::View<float, 2, Space>& view) {
            return gpu::RegisteredPlane(view.data, view.extent, view.stride);
        };
        core::launch(executor_, &gpu::polar_kernel, config(polar_angles, 0), spectrum(),
                     plane(of_a), plane(of_b));
    }

  private:
    /// A block a row, with room for `values` values of each warp.
    static core::LaunchConfig config(index_t rows, int values,
                                     std::source_location call = std::source_location::current()) {
        constexpr int warps = gpu::registration_threads / core::warp_size;
        return {dim3(core::blocks_for(rows, 1)), dim3(gpu::registration_threads),
                static_cast<std::size_t>(warps * values) * sizeof(double), call};
    }
    static gpu::RegisteredImage kernel_view(const Image& image) {
        return {image.data, image.extent, image.stride};
    }
    gpu::Spectrum spectrum() {
        return {z_.data(), static_cast<int>(padded_[0]), static_cast<int>(padded_[1])};
    }
    gpu::TaperPointers pointers(const core::Extents<2>& image) {
        const float* const first = tapers_.device().data;
        const float* const columns = first + OverlapTapers::first_column(image);
        return {first, first + image[0], columns, columns + image[1]};
    }
    template <class T>
    void upload(core::MirroredArray<T, 1, Executor>& to, const std::vector<T>& from) {
        // What was loaded before is read no more: each pass ends with a wait.
        to.reshape({static_cast<index_t>(from.size())});
        std::copy(from.begin(), from.end(), to.host().data);
        to.to_device();
    }
    void transform() {
        auto* const numbers = reinterpret_cast<std::complex<float>*>(z_.data());
        rows_.run(numbers);
        columns_.run(numbers);
    }
    Rows values() {
        values_.to_host();
        executor_.synchronize();
        const auto host = values_.host();
        return {host.data, host.extent, host.stride};
    }

    Executor& executor_;
    core::Extents<2> padded_;
    core::Array<Complex<float>, 2, Space> z_;
    core::Array<Complex<float>, 2, Space> cross_;
    core::MirroredArray<float, 1, Executor> tapers_;
    core::MirroredArray<Complex<float>, 1, Executor> waves_;
    core::MirroredArray<double, 2, Executor> values_;
    core::MirroredArray<unsigned long long, 1, Executor> peaks_;
    ForwardFft<Executor> rows_;
    ForwardFft<Executor> columns_;
};

template <class Executor, class Image, class Half>
void halve(Executor& executor, const Image& from, const Half& to) {
    gpu::downsample_image(executor, from, to);
}

template <class Executor, class Image, class Moved>
void move(Executor& executor, const Image& from, const PixelMap& map, float outside,
          const Moved& to) {
    gpu::warp_image(executor, from, map, outside, to);
}

}  // namespace aperture::signal
