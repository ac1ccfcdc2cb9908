// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/method_choice.hpp"

#include <algorithm>
#include <cmath>

#include "libcore/cpu/simd.hpp"
#include "libsignal/cpu/lane_fft.hpp"

namespace aperture::corr {
namespace {

constexpr double lanes = core::lanes<float>;

// Of a CPU thread, with vectors of any width. Measured on a Xeon and an EPYC with AVX-512
// (bench/corr.cpp); another clock changes both methods by the same factor.

/// Packs of products a nanosecond and thread; and the minimum nanoseconds of a block of
/// displacements for a column. Each sum depends on the one before; this is that latency.
constexpr double packs_a_ns = 5;
constexpr double min_ns = 1;
/// FFT operations, counted as 5 n log2 n, a nanosecond, lane and thread.
constexpr double transforms_a_ns = 2.1;
/// Start-up in milliseconds, and nanoseconds to load and store a pixel of a plane.
constexpr double start_ms = 0.02;
constexpr double direct_ns_a_pixel = 1;
constexpr double fft_ns_a_pixel = 0.8;

/// What a multiprocessor of GPUs from a compute capability on has: fp32 multiply-adds a cycle (CUDA
/// C++ Programming Guide, throughput of arithmetic instructions), and GB/s of memory (data sheets).
struct GpuClass {
    int capability;
    double multiply_adds;
    double gbs;
};
constexpr GpuClass gpu_classes[] = {
    {80, 64, 19},    // A100
    {86, 128, 10},   // GeForce RTX 30 and 40, laptops, A10, L4
    {90, 128, 36},   // H200; an H100 has 25
    {100, 128, 54},  // B200
    {120, 128, 11},  // GeForce RTX 50
};

// Rates in proportion to these, by the times of an H200 with 132 multiprocessors
// (bench/corr_gpu.cpp).

/// Multiply-adds of the direct method a picosecond, and displacements of a warp.
constexpr double products_a_multiply_add = 22.0 / 132 / 128;
constexpr double tile_rows = 32;
constexpr double tile_columns = 64;
constexpr double direct_start_ms = 0.05;
/// Pixels of zero-padded planes, or of surfaces, a nanosecond.
constexpr double pixels_a_gbs = 92.0 / 132 / 36;
constexpr double fft_start_ms = 0.034;

double transform_flops(double length) { return 5 * length * std::log2(std::max(length, 2.0)); }

double fft_length(index_t extent, index_t lags) {
    return static_cast<double>(signal::good_lane_fft_length(extent + lags - 1));
}

/// Products of a displacement on average.
double mean_products(const Problem& problem) {
    const auto [rows, columns] = problem.lags.extent();
    return direct_flops(problem.planes, problem.image, problem.lags) /
           static_cast<double>(2 * rows * columns);
}

MethodChoice choice_of(double direct_ms, double fft_ms) {
    return {direct_ms < fft_ms ? Method::direct : Method::fft, direct_ms, fft_ms};
}

}  // namespace

MethodChoice choose_method(const Problem& problem, int threads, bool same) {
    const auto planes = static_cast<double>(problem.planes);
    const double images = same ? 1 : 2;
    const auto columns = static_cast<double>(problem.image.columns);
    const double pixels = static_cast<double>(problem.image.rows) * columns * planes * images;
    const auto lag_rows = static_cast<double>(problem.lags.extent().rows);
    const auto lag_columns = static_cast<double>(problem.lags.extent().columns);

    // Blocks of 8 rows and 3 packs of displacements, as in DirectCorrelation.
    const double packs = std::ceil(lag_columns / lanes);
    const double blocks = std::ceil(lag_rows / 8) * std::ceil(packs / 3);
    const double block_ns = std::max(lag_rows * packs / blocks / packs_a_ns, min_ns);
    const double direct_ns =
        mean_products(problem) * blocks * block_ns + direct_ns_a_pixel * pixels;

    const double column = fft_length(problem.image.rows, problem.lags.rows);
    const double row = fft_length(problem.image.columns, problem.lags.columns);
    const auto surfaces = static_cast<double>(problem.surfaces());
    const double forward = columns * transform_flops(column) + column * transform_flops(row);
    const double backward = column * transform_flops(row) + lag_columns * transform_flops(column);
    const double fft_flops = (images * planes * forward + surfaces * backward) / 2;
    const double fft_ns = fft_flops / (transforms_a_ns * lanes) + fft_ns_a_pixel * pixels;

    return choice_of(start_ms + 1e-6 * direct_ns / threads, start_ms + 1e-6 * fft_ns / threads);
}

MethodChoice choose_gpu_method(const Problem& problem, int capability, int multiprocessors,
                               bool same) {
    GpuClass of_gpu = gpu_classes[0];
    for (const GpuClass& next : gpu_classes) {
        if (next.capability <= capability) of_gpu = next;
    }
    const Shape extent = problem.lags.extent();
    const auto tiles = std::ceil(static_cast<double>(extent.rows) / tile_rows) *
                       std::ceil(static_cast<double>(extent.columns) / tile_columns);
    const double products = mean_products(problem) * tiles * tile_rows * tile_columns;
    const double products_a_ps = products_a_multiply_add * of_gpu.multiply_adds * multiprocessors;

    const double planes = (same ? 1.0 : 2.0) * static_cast<double>(problem.planes) +
                          static_cast<double>(problem.surfaces());
    const auto pixels = static_cast<double>(problem.image.rows + problem.lags.rows) *
                        static_cast<double>(problem.image.columns + problem.lags.columns);
    const double pixels_a_ns = pixels_a_gbs * of_gpu.gbs * multiprocessors;

    return choice_of(direct_start_ms + 1e-9 * products / products_a_ps,
                     fft_start_ms + 1e-6 * pixels * planes / pixels_a_ns);
}

}  // namespace aperture::corr
