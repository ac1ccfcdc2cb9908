// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/image_planes.hpp"

#include <algorithm>
#include <array>

#include "libcore/cpu/worker_tasks.hpp"
#include "libcorr/cpu/orientation.hpp"
#include "libcorr/plane_formulas.hpp"

namespace aperture::corr {
namespace {

using core::Host;
using core::View;
using Image = View<const float, 3, Host>;
using Planes = View<float, 3, Host>;
using Mask = View<const float, 2, Host>;

/// A row of a colour image, or of a grey one three times.
struct Pixels {
    const float* red;
    const float* green;
    const float* blue;

    Pixels(const Image& image, index_t y)
        : red(&image(0, y, 0)),
          green(image.extent[0] == 3 ? &image(1, y, 0) : red),
          blue(image.extent[0] == 3 ? &image(2, y, 0) : red) {}
};

void write_luma(const Image& image, index_t y, float* to) {
    const Pixels from(image, y);
    const index_t columns = image.extent[2];
#pragma omp simd
    for (index_t x = 0; x < columns; ++x) to[x] = luma(from.red[x], from.green[x], from.blue[x]);
}

/// Moments of the pixels with nonzero `mask`, if there are any.
template <bool masked>
Moments moments_of(const float* row, [[maybe_unused]] const float* mask, index_t columns) {
    // Relative to the first pixel, so that rows that hardly vary lose little precision.
    const double ground = row[0];
    double pixels = 0;
    double sum = 0;
    double squares = 0;
#pragma omp simd reduction(+ : pixels, sum, squares)
    for (index_t x = 0; x < columns; ++x) {
        double value = static_cast<double>(row[x]) - ground;
        if constexpr (masked) {
            const double weight = mask[x] != 0 ? 1 : 0;
            value *= weight;
            pixels += weight;
        }
        sum += value;
        squares += value * value;
    }
    if (!masked) pixels = static_cast<double>(columns);
    if (pixels == 0) return {};
    return {pixels, sum + pixels * ground, squares - sum * sum / pixels};
}

Normalizer normalizer_of_rows(const View<const Moments, 1, Host>& parts) {
    double pixels = 0;
    double sum = 0;
    double deviation = 0;
    for (index_t y = 0; y < parts.extent[0]; ++y) {
        pixels += parts(y).pixels;
        sum += parts(y).sum;
    }
    const double mean = pixels > 0 ? sum / pixels : 0;
    for (index_t y = 0; y < parts.extent[0]; ++y) deviation += deviation_from(parts(y), mean);
    return normalizer_of(pixels, mean, deviation);
}

}  // namespace

index_t plane_count(PlaneKind kind) {
    if (kind == PlaneKind::lab_orientation) return 4;
    if (kind == PlaneKind::rgb) return 3;
    return kind == PlaneKind::gradient ? 2 : 1;
}

template <>
struct PlaneOperations<core::Cpu> {
    core::Cpu& cpu;
    PlaneKind kind;
    Normalization normalization;
    double orientation_sigma;
    BorderedPlane scalar;             ///< L* or luma, the input of derivatives
    core::Array<Moments, 2> moments;  ///< [plane][row]
    core::Array<float, 4> tensor;     ///< workspace

    PlaneOperations(core::Cpu& executor, PlaneKind plane_kind, Normalization to_plane, double sigma)
        : cpu(executor), kind(plane_kind), normalization(to_plane), orientation_sigma(sigma) {}

    void derive(const Image& image, const Mask& mask, const Planes& planes) {
        const auto [count, rows, columns] = planes.extent;
        moments.reshape({count, rows});
        switch (kind) {
            case PlaneKind::lab_orientation:
                derive_colour(image, mask, planes);
                compute_orientations(cpu, scalar, orientation_sigma, tensor, planes.slice(0, 2, 4),
                                     [&](index_t y) { measure(mask, planes, 2, 4, y); });
                break;
            case PlaneKind::grey:
                for_rows(mask, planes, [&](index_t y) { write_luma(image, y, &planes(0, y, 0)); });
                break;
            case PlaneKind::rgb:
                for_rows(mask, planes, [&, width = columns](index_t y) {
                    const Pixels from(image, y);
                    std::copy_n(from.red, width, &planes(0, y, 0));
                    std::copy_n(from.green, width, &planes(1, y, 0));
                    std::copy_n(from.blue, width, &planes(2, y, 0));
                });
                break;
            case PlaneKind::gradient:
                derive_gradient(image, mask, planes);
                break;
        }
        if (normalization == Normalization::plane) normalize(planes);
    }

    /// Calls write_row(y) for every row, and computes its moments while it is in cache.
    template <class WriteRow>
    void for_rows(const Mask& mask, const Planes& planes, const WriteRow& write_row) {
        core::for_each_task(cpu, planes.extent[1], 0, [&](index_t y, std::byte*) {
            write_row(y);
            measure(mask, planes, 0, planes.extent[0], y);
        });
    }

    void measure(const Mask& mask, const Planes& planes, index_t first, index_t end, index_t y) {
        if (normalization == Normalization::none) return;
        const index_t columns = planes.extent[2];
        for (index_t p = first; p < end; ++p) {
            const float* const row = &planes(p, y, 0);
            moments(p, y) = mask.data == nullptr ? moments_of<false>(row, nullptr, columns)
                                                 : moments_of<true>(row, &mask(y, 0), columns);
        }
    }

    void derive_colour(const Image& image, const Mask& mask, const Planes& planes) {
        const index_t columns = image.extent[2];
        scalar.reshape({image.extent[1], columns});
        core::for_each_task(cpu, image.extent[1], 0, [&](index_t y, std::byte*) {
            const Pixels from(image, y);
            float* const lightness = scalar.row(y);
            float* const a = &planes(0, y, 0);
            float* const b = &planes(1, y, 0);
#pragma omp simd
            for (index_t x = 0; x < columns; ++x) {
                const Lab lab = lab_of(from.red[x], from.green[x], from.blue[x]);
                lightness[x] = lab.lightness;
                a[x] = lab.a;
                b[x] = lab.b;
            }
            scalar.replicate_border(y);
            measure(mask, planes, 0, 2, y);
        });
    }

    void derive_gradient(const Image& image, const Mask& mask, const Planes& planes) {
        const index_t columns = image.extent[2];
        scalar.reshape({image.extent[1], columns});
        core::for_each_task(cpu, image.extent[1], 0, [&](index_t y, std::byte*) {
            write_luma(image, y, scalar.row(y));
            scalar.replicate_border(y);
        });
        for_rows(mask, planes, [&](index_t y) {
            const DerivativeRows rows(scalar, y);
            float* const by_x = &planes(0, y, 0);
            float* const by_y = &planes(1, y, 0);
#pragma omp simd
            for (index_t x = 0; x < columns; ++x) {
                by_x[x] = rows.by_x(x);
                by_y[x] = rows.by_y(x);
            }
        });
    }

    void normalize(const Planes& planes) {
        const auto [count, rows, columns] = planes.extent;
        std::array<Normalizer, 4> normalizers{};
        for (index_t p = 0; p < count; ++p) {
            normalizers[static_cast<std::size_t>(p)] =
                normalizer_of_rows(View<const Moments, 1, Host>(&moments(p, 0), {rows}));
        }
        core::for_each_task(cpu, rows, 0, [&, all = count, width = columns](index_t y, std::byte*) {
            for (index_t p = 0; p < all; ++p) {
                const Normalizer normalized = normalizers[static_cast<std::size_t>(p)];
                float* const row = &planes(p, y, 0);
#pragma omp simd
                for (index_t x = 0; x < width; ++x) row[x] = normalized(row[x]);
            }
        });
    }
};

template class ImagePlanes<core::Cpu>;

}  // namespace aperture::corr
