// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/cpu/fft_correlation.hpp"

#include <algorithm>

#include "aperture/core/worker_tasks.hpp"

namespace aperture::corr {
namespace {

using Complex = std::complex<float>;

/// Frequencies that are transformed along the columns at a time: a whole number of cache lines.
constexpr index_t columns_at_once = 16;
/// Rows of a task.
constexpr index_t rows_at_once = 8;

index_t rounded_up(index_t count, index_t unit) { return (count + unit - 1) / unit * unit; }

fftwf_complex* as_fftw(Complex* values) { return reinterpret_cast<fftwf_complex*>(values); }

/// In-place transforms of `columns_at_once` columns beside one another.
signal::FftwPlan plan_columns(index_t length, int direction) {
    constexpr auto count = static_cast<int>(columns_at_once);
    const auto n = static_cast<int>(length);
    alignas(64) fftwf_complex aligned[8];
    return signal::FftwPlan([&] {
        return fftwf_plan_many_dft(1, &n, count, aligned, nullptr, count, 1, aligned, nullptr,
                                   count, 1, direction, FFTW_ESTIMATE);
    });
}

}  // namespace

index_t good_fft_size(index_t least) {
    for (index_t size = std::max<index_t>(least, 1);; ++size) {
        index_t rest = size;
        for (const index_t prime : {2, 3, 5, 7}) {
            while (rest % prime == 0) rest /= prime;
        }
        if (rest == 1) return size;
    }
}

FftCorrelation::FftCorrelation(core::Cpu& cpu, const Problem& problem)
    : problem_(problem),
      size_{good_fft_size(problem.image.rows + problem.lags.rows - 1),
            good_fft_size(problem.image.columns + problem.lags.columns - 1)} {
    const index_t frequencies = rounded_up(size_.columns / 2 + 1, columns_at_once);
    spectra_a_ = core::Array<Complex, 3>({problem.planes, problem.image.rows, frequencies});
    products_ = core::Array<Complex, 3>({surfaces(), problem.lags.extent().rows, frequencies});
    // What lies behind the last frequency is transformed, too, and must be numbers.
    std::fill(spectra_a_.begin(), spectra_a_.end(), Complex{});
    alignas(64) float real[16];
    alignas(64) fftwf_complex complex[8];
    const auto columns = static_cast<int>(size_.columns);
    forward_rows_ = signal::FftwPlan(
        [&] { return fftwf_plan_dft_r2c_1d(columns, real, complex, FFTW_ESTIMATE); });
    backward_rows_ = signal::FftwPlan(
        [&] { return fftwf_plan_dft_c2r_1d(columns, complex, real, FFTW_ESTIMATE); });
    forward_columns_ = plan_columns(size_.rows, FFTW_FORWARD);
    backward_columns_ = plan_columns(size_.rows, FFTW_BACKWARD);
    static_cast<void>(cpu);
}

void FftCorrelation::transform_rows(core::Cpu& cpu, const GroundedPlanes& image,
                                    core::Array<Complex, 3>& spectra) const {
    const auto [rows, columns] = problem_.image;
    const index_t bands = (rows + rows_at_once - 1) / rows_at_once;
    const auto bytes = static_cast<std::size_t>(size_.columns) * sizeof(float);
    core::for_each_task(cpu, problem_.planes * bands, bytes, [&](index_t task, std::byte* scratch) {
        const index_t p = task / bands;
        auto* const row = reinterpret_cast<float*>(scratch);
        const auto ground = static_cast<float>(image.ground[p]);
        std::fill(row + columns, row + size_.columns, 0.0F);
        const index_t first = task % bands * rows_at_once;
        for (index_t y = first; y < std::min(first + rows_at_once, rows); ++y) {
            const float* from = &image.planes(p, y, 0);
            for (index_t x = 0; x < columns; ++x) row[x] = from[x] - ground;
            fftwf_execute_dft_r2c(forward_rows_.get(), row, as_fftw(&spectra(p, y, 0)));
        }
    });
}

void FftCorrelation::correlate_columns(core::Cpu& cpu, bool same) {
    const index_t rows = problem_.image.rows;
    const index_t blocks = products_.extent()[2] / columns_at_once;
    const index_t values = size_.rows * columns_at_once;
    const auto bytes = 3 * static_cast<std::size_t>(values) * sizeof(Complex);
    const index_t lag_rows = problem_.lags.extent().rows;
    core::for_each_task(cpu, blocks, bytes, [&](index_t block, std::byte* scratch) {
        auto* const of_a = reinterpret_cast<Complex*>(scratch);
        Complex* const of_b = of_a + values;
        Complex* const product = of_b + values;
        const index_t first = block * columns_at_once;
        const auto transform = [&](const core::Array<Complex, 3>& spectra, index_t p, Complex* to) {
            for (index_t y = 0; y < rows; ++y) {
                std::copy_n(&spectra(p, y, first), columns_at_once, to + y * columns_at_once);
            }
            std::fill(to + rows * columns_at_once, to + values, Complex{});
            fftwf_execute_dft(forward_columns_.get(), as_fftw(to), as_fftw(to));
        };
        const auto give = [&](index_t surface) {
            fftwf_execute_dft(backward_columns_.get(), as_fftw(product), as_fftw(product));
            for (index_t i = 0; i < lag_rows; ++i) {
                const index_t lag = problem_.lags.first_row() + i;
                const index_t at = lag < 0 ? lag + size_.rows : lag;
                std::copy_n(product + at * columns_at_once, columns_at_once,
                            &products_(surface, i, first));
            }
        };
        for (index_t p = 0; p < problem_.planes; ++p) {
            transform(spectra_a_, p, of_a);
            if (!same) transform(spectra_b_, p, of_b);
            const bool begins = p == 0 || problem_.each_plane;
            const auto* a = reinterpret_cast<const float*>(of_a);
            const auto* b = reinterpret_cast<const float*>(same ? of_a : of_b);
            auto* const sum = reinterpret_cast<float*>(product);
            if (begins) std::fill_n(product, values, Complex{});
#pragma omp simd
            for (index_t i = 0; i < values; ++i) {
                const float ar = a[2 * i], ai = a[2 * i + 1];
                const float br = b[2 * i], bi = b[2 * i + 1];
                sum[2 * i] += ar * br + ai * bi;
                sum[2 * i + 1] += ai * br - ar * bi;
            }
            if (problem_.each_plane) give(p);
        }
        if (!problem_.each_plane) give(0);
    });
}

void FftCorrelation::transform_back(core::Cpu& cpu, core::View<double, 3, core::Host> sums) const {
    const auto [lag_rows, lag_columns] = problem_.lags.extent();
    const index_t bands = (lag_rows + rows_at_once - 1) / rows_at_once;
    const auto frequencies = static_cast<std::size_t>(products_.extent()[2]);
    const auto bytes = frequencies * sizeof(Complex) + static_cast<std::size_t>(size_.columns) * sizeof(float);
    const double scale = 1.0 / (static_cast<double>(size_.rows) * static_cast<double>(size_.columns));
    core::for_each_task(cpu, surfaces() * bands, bytes, [&](index_t task, std::byte* scratch) {
        auto* const spectrum = reinterpret_cast<Complex*>(scratch);
        auto* const row = reinterpret_cast<float*>(spectrum + frequencies);
        const index_t s = task / bands;
        const index_t first = task % bands * rows_at_once;
        for (index_t i = first; i < std::min(first + rows_at_once, lag_rows); ++i) {
            // The transform destroys its input.
            std::copy_n(&products_(s, i, 0), frequencies, spectrum);
            fftwf_execute_dft_c2r(backward_rows_.get(), as_fftw(spectrum), row);
            for (index_t j = 0; j < lag_columns; ++j) {
                const index_t lag = problem_.lags.first_column() + j;
                sums(s, i, j) = scale * static_cast<double>(row[lag < 0 ? lag + size_.columns : lag]);
            }
        }
    });
}

void FftCorrelation::run(core::Cpu& cpu, const GroundedPlanes& a, const GroundedPlanes& b,
                         bool same, core::View<double, 3, core::Host> sums) {
    if (!same && spectra_b_.size() == 0) {
        spectra_b_ = core::Array<Complex, 3>(spectra_a_.extent());
        std::fill(spectra_b_.begin(), spectra_b_.end(), Complex{});
    }
    transform_rows(cpu, a, spectra_a_);
    if (!same) transform_rows(cpu, b, spectra_b_);
    correlate_columns(cpu, same);
    transform_back(cpu, sums);
}

}  // namespace aperture::corr
