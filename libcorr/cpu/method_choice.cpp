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

// Of a CPU thread, with vectors of any width. Measured on two cores of a Xeon with AVX-512
// (bench/corr.cpp); another clock changes both methods by the same factor.

/// Packs of products a nanosecond and thread; and the least nanoseconds of a block of displacements
/// for a column. Each sum depends on the one before; this is that latency.
constexpr double packs_a_ns = 5;
constexpr double least_ns = 1.6;
/// FFT operations, counted as 5 n log2 n, a nanosecond, lane and thread.
constexpr double transforms_a_ns = 2.1;
/// Start-up in milliseconds, and nanoseconds to load and store a pixel of a plane.
constexpr double start_ms = 0.02;
constexpr double direct_ns_a_pixel = 2;
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
/// That of the H200 whose rates were measured (bench/corr_gpu.cpp). Others have its direct rate in
/// proportion to their multiply-adds, and its FFT rate in proportion to their memory.
constexpr GpuClass measured_class = gpu_classes[2];
constexpr double measured_multiprocessors = 132;

/// Displacements of a warp, and multiply-adds a picosecond and multiprocessor.
constexpr double tile_rows = 32;
constexpr double tile_columns = 64;
constexpr double products_a_ps = 22 / measured_multiprocessors;
constexpr double direct_start_ms = 0.05;
/// Pixels of zero-padded planes, or of surfaces, a nanosecond and multiprocessor.
constexpr double pixels_a_ns = 92 / measured_multiprocessors;
constexpr double fft_start_ms = 0.034;

GpuClass gpu_class(int capability) {
    GpuClass found = gpu_classes[0];
    for (const GpuClass& next : gpu_classes) {
        if (next.capability <= capability) found = next;
    }
    return found;
}

double transform_flops(double length) { return 5 * length * std::log2(std::max(length, 2.0)); }

double fft_length(index_t extent, index_t lags) {
    return static_cast<double>(signal::good_lane_fft_length(extent + lags - 1));
}

}  // namespace

MethodChoice choose_method(const Problem& problem, int threads, bool same) {
    const auto planes = static_cast<double>(problem.planes);
    const double images = same ? 1 : 2;
    const auto columns = static_cast<double>(problem.image.columns);
    const double pixels = static_cast<double>(problem.image.rows) * columns * planes * images;
    const auto lag_rows = static_cast<double>(problem.lags.extent().rows);
    const auto lag_columns = static_cast<double>(problem.lags.extent().columns);
    MethodChoice choice;

    // Blocks of 8 rows and 3 packs of displacements, as in DirectCorrelation.
    const double packs = std::ceil(lag_columns / lanes);
    const double blocks = std::ceil(lag_rows / 8) * std::ceil(packs / 3);
    const double block_ns = std::max(lag_rows * packs / blocks / packs_a_ns, least_ns);
    const double products =
        direct_flops(problem.planes, problem.image, problem.lags) / (2 * lag_rows * lag_columns);
    const double direct_ns = products * blocks * block_ns + direct_ns_a_pixel * pixels;
    choice.direct_ms = start_ms + 1e-6 * direct_ns / threads;

    const double column = fft_length(problem.image.rows, problem.lags.rows);
    const double row = fft_length(problem.image.columns, problem.lags.columns);
    const auto surfaces = static_cast<double>(problem.surfaces());
    const double forward = columns * transform_flops(column) + column * transform_flops(row);
    const double backward = column * transform_flops(row) + lag_columns * transform_flops(column);
    const double fft_flops = (images * planes * forward + surfaces * backward) / 2;
    const double fft_ns = fft_flops / (transforms_a_ns * lanes) + fft_ns_a_pixel * pixels;
    choice.fft_ms = start_ms + 1e-6 * fft_ns / threads;

    choice.method = choice.direct_ms < choice.fft_ms ? Method::direct : Method::fft;
    return choice;
}

MethodChoice choose_gpu_method(const Problem& problem, int capability, int multiprocessors,
                               bool same) {
    const GpuClass of_gpu = gpu_class(capability);
    const double direct_share =
        multiprocessors * of_gpu.multiply_adds / measured_class.multiply_adds;
    const double fft_share = multiprocessors * of_gpu.gbs / measured_class.gbs;
    const double images = same ? 1 : 2;
    const auto planes = static_cast<double>(problem.planes);
    const auto& [image_rows, image_columns] = problem.image;
    const Shape extent = problem.lags.extent();
    MethodChoice choice;
    const auto tiles = std::ceil(static_cast<double>(extent.rows) / tile_rows) *
                       std::ceil(static_cast<double>(extent.columns) / tile_columns);
    const double products = direct_flops(problem.planes, problem.image, problem.lags) /
                            static_cast<double>(2 * extent.rows * extent.columns);
    choice.direct_ms = direct_start_ms + 1e-9 * products * tiles * tile_rows * tile_columns /
                                             (products_a_ps * direct_share);

    const auto pixels = static_cast<double>(image_rows + problem.lags.rows) *
                        static_cast<double>(image_columns + problem.lags.columns);
    const auto surfaces = static_cast<double>(problem.surfaces());
    choice.fft_ms =
        fft_start_ms + 1e-6 * pixels * (images * planes + surfaces) / (pixels_a_ns * fft_share);
    choice.method = choice.direct_ms < choice.fft_ms ? Method::direct : Method::fft;
    return choice;
}

}  // namespace aperture::corr
