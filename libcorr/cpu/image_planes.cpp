// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/image_planes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "aperture/core/error.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/core/worker_tasks.hpp"
#include "aperture/signal/resample.hpp"

namespace aperture::corr {
namespace {

using core::Host;
using core::View;
using PlaneView = View<float, 2, Host>;

constexpr float tensor_sigma = 2;             // pixels
constexpr float least_slope_squared = 0.25F;  // (L* a pixel)^2
constexpr double no_contrast = 1e-6;
constexpr index_t filter_reach = 2;

PlaneView plane(const View<float, 3, Host>& planes, index_t p) {
    return {planes.data + p * planes.stride[0],
            {planes.extent[1], planes.extent[2]},
            {planes.stride[1], planes.stride[2]}};
}

/// IEC 61966-2-1, 0..255 to 0..1.
float linear(float value) {
    const double v = value / 255.0;
    return static_cast<float>(v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4));
}

/// The same, values of 8 bits without the power.
class LinearValues {
  public:
    LinearValues() {
        for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = linear(static_cast<float>(i));
    }
    float operator()(float value) const {
        const float inside = std::clamp(value, 0.0F, 255.0F);
        const auto whole = static_cast<int>(inside);
        return static_cast<float>(whole) == inside ? table_[static_cast<std::size_t>(whole)]
                                                   : linear(inside);
    }

  private:
    std::array<float, 256> table_;
};

/// Of a positive number: a third of its exponent, and two steps of Halley's method, each of which
/// triples the digits.
inline float cube_root(float value) {
    constexpr std::uint32_t bias = 709958130;
    auto root = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) / 3 + bias);
    for (int step = 0; step < 2; ++step) {
        const float cube = root * root * root;
        root *= (cube + 2 * value) / (2 * cube + value);
    }
    return root;
}

/// CIE 15, equation 8.6: of X / X_n, Y / Y_n and Z / Z_n.
inline float lab_root(float ratio) {
    constexpr float linear_end = 216.0F / 24389.0F;
    const float root = cube_root(ratio > linear_end ? ratio : linear_end);
    return ratio > linear_end ? root : (24389.0F / 27.0F * ratio + 16) / 116;
}

struct Lab {
    float lightness, a, b;
};

/// The white is red, green and blue of 1. Rows of IEC 61966-2-1's matrix over its X_n, Y_n and Z_n
/// sum to 1, so that all is measured from green, and equal values have no colour at all.
inline Lab lab_of(float red, float green, float blue) {
    const float from_red = red - green;
    const float from_blue = blue - green;
    const float x = green + 0.4124F / 0.9505F * from_red + 0.1805F / 0.9505F * from_blue;
    const float y = green + 0.2126F * from_red + 0.0722F * from_blue;
    const float z = green + 0.0193F / 1.0890F * from_red + 0.9505F / 1.0890F * from_blue;
    const float root_y = lab_root(y);
    return {116 * root_y - 16, 500 * (lab_root(x) - root_y), 200 * (root_y - lab_root(z))};
}

/// The rows around row y of `from`, and the middle one with its border replicated, for derivatives.
struct FilterRows {
    std::array<const float*, 5> row;

    FilterRows(const PlaneView& from, index_t y, std::byte* scratch) {
        const auto [rows, columns] = from.extent;
        for (index_t i = 0; i < 5; ++i) {
            row[static_cast<std::size_t>(i)] =
                &from(std::clamp<index_t>(y + i - filter_reach, 0, rows - 1), 0);
        }
        auto* const padded = reinterpret_cast<float*>(scratch);
        std::copy_n(row[2], columns, padded + filter_reach);
        std::fill_n(padded, filter_reach, row[2][0]);
        std::fill_n(padded + filter_reach + columns, filter_reach, row[2][columns - 1]);
        row[2] = padded + filter_reach;
    }
    static std::size_t scratch_bytes(index_t columns) {
        return static_cast<std::size_t>(columns + 2 * filter_reach) * sizeof(float);
    }
    float by_x(index_t x) const {
        return (8 * (row[2][x + 1] - row[2][x - 1]) - (row[2][x + 2] - row[2][x - 2])) / 12;
    }
    float by_y(index_t x) const {
        return (8 * (row[3][x] - row[1][x]) - (row[4][x] - row[0][x])) / 12;
    }
};

}  // namespace

index_t plane_count(PlaneKind kind) {
    switch (kind) {
        case PlaneKind::lab_orientation:
            return 4;
        case PlaneKind::grey:
            return 1;
        case PlaneKind::rgb:
            return 3;
        case PlaneKind::gradient:
            break;
    }
    return 2;
}

void ImagePlanes::derive(Image image, Planes planes) {
    derive_kind(image, planes);
    if (normalization_ == Normalization::plane) normalize(nullptr, planes);
}

void ImagePlanes::derive(Image image, Mask mask, Planes planes) {
    core::expects_shape("mask", mask, {image.extent[1], image.extent[2]}, core::Strides::unit_last);
    derive_kind(image, planes);
    if (normalization_ == Normalization::plane) normalize(&mask, planes);
}

void ImagePlanes::derive_kind(const Image& image, const Planes& planes) {
    const auto [channels, rows, columns] = image.extent;
    core::expects((channels == 1 || channels == 3) && rows >= 1 && columns >= 1, "image is ",
                  core::extents_text(image.extent), ", expected 1 or 3 channels with pixels");
    core::expects_shape("image", image, image.extent, core::Strides::unit_last);
    core::expects_shape("planes", planes, {plane_count(kind_), rows, columns},
                        core::Strides::unit_last);
    switch (kind_) {
        case PlaneKind::lab_orientation:
            derive_lab_orientation(image, planes);
            break;
        case PlaneKind::grey:
            derive_grey(image, plane(planes, 0));
            break;
        case PlaneKind::rgb:
            for (index_t p = 0; p < 3; ++p) {
                for (index_t y = 0; y < rows; ++y) {
                    std::copy_n(&image(channels == 3 ? p : 0, y, 0), columns, &planes(p, y, 0));
                }
            }
            break;
        case PlaneKind::gradient: {
            tensor_.reshape({1, rows, columns});
            const PlaneView grey = plane(tensor_, 0);
            derive_grey(image, grey);
            core::for_each_task(cpu_, rows, FilterRows::scratch_bytes(columns),
                                [&, width = columns](index_t y, std::byte* scratch) {
                                    const FilterRows filter(grey, y, scratch);
                                    float* const by_x = &planes(0, y, 0);
                                    float* const by_y = &planes(1, y, 0);
#pragma omp simd
                                    for (index_t x = 0; x < width; ++x) {
                                        by_x[x] = filter.by_x(x);
                                        by_y[x] = filter.by_y(x);
                                    }
                                });
            break;
        }
    }
}

void ImagePlanes::derive_grey(const Image& image, const PlaneView& grey) {
    const bool colour = image.extent[0] == 3;
    const index_t columns = image.extent[2];
    core::for_each_task(cpu_, image.extent[1], 0, [&](index_t y, std::byte*) {
        float* const to = &grey(y, 0);
        const float* const red = &image(0, y, 0);
        if (!colour) {
            std::copy_n(red, columns, to);
            return;
        }
        const float* const green = &image(1, y, 0);
        const float* const blue = &image(2, y, 0);
#pragma omp simd
        for (index_t x = 0; x < columns; ++x) {
            // Measured from green, so that grey pixels stay exactly what they are.
            to[x] = green[x] + 0.299F * (red[x] - green[x]) + 0.114F * (blue[x] - green[x]);
        }
    });
}

void ImagePlanes::derive_lab_orientation(const Image& image, const Planes& planes) {
    static const LinearValues linear_of;
    const auto [channels, rows, columns] = image.extent;
    const index_t green_plane = channels == 3 ? 1 : 0;
    const index_t blue_plane = channels == 3 ? 2 : 0;
    const index_t width = columns;
    tensor_.reshape({2, rows, columns});
    const PlaneView lightness = plane(tensor_, 0);
    core::for_each_task(cpu_, rows, 0, [&](index_t y, std::byte*) {
        // Linear red, green and blue take the places of what they become.
        float* const a = &planes(0, y, 0);
        float* const green = &lightness(y, 0);
        float* const b = &planes(1, y, 0);
        for (index_t x = 0; x < width; ++x) {
            a[x] = linear_of(image(0, y, x));
            green[x] = linear_of(image(green_plane, y, x));
            b[x] = linear_of(image(blue_plane, y, x));
        }
#pragma omp simd
        for (index_t x = 0; x < width; ++x) {
            const Lab lab = lab_of(a[x], green[x], b[x]);
            green[x] = lab.lightness;
            a[x] = lab.a;
            b[x] = lab.b;
        }
    });
    // The planes of the orientation hold the tensor until they are known.
    const PlaneView products_xx = plane(tensor_, 1);
    const PlaneView products_xy = plane(planes, 2);
    const PlaneView products_yy = plane(planes, 3);
    core::for_each_task(cpu_, rows, FilterRows::scratch_bytes(columns),
                        [&](index_t y, std::byte* scratch) {
                            const FilterRows filter(lightness, y, scratch);
                            float* const xx = &products_xx(y, 0);
                            float* const xy = &products_xy(y, 0);
                            float* const yy = &products_yy(y, 0);
#pragma omp simd
                            for (index_t x = 0; x < width; ++x) {
                                const float by_x = filter.by_x(x);
                                const float by_y = filter.by_y(x);
                                xx[x] = by_x * by_x;
                                xy[x] = by_x * by_y;
                                yy[x] = by_y * by_y;
                            }
                        });
    // Each goes where what was there is not needed any more.
    const PlaneView tensor_xx = lightness;
    const PlaneView tensor_xy = products_xx;
    const PlaneView tensor_yy = products_xy;
    signal::gaussian_blur(cpu_, products_xx, tensor_sigma, tensor_xx);
    signal::gaussian_blur(cpu_, products_xy, tensor_sigma, tensor_xy);
    signal::gaussian_blur(cpu_, products_yy, tensor_sigma, tensor_yy);
    core::for_each_task(cpu_, rows, 0, [&](index_t y, std::byte*) {
        const float* const xx = &tensor_xx(y, 0);
        const float* const xy = &tensor_xy(y, 0);
        const float* const yy = &tensor_yy(y, 0);
        float* const cosine = &planes(2, y, 0);
        float* const sine = &planes(3, y, 0);
#pragma omp simd
        for (index_t x = 0; x < width; ++x) {
            const float scale = 1 / (xx[x] + yy[x] + least_slope_squared);
            cosine[x] = scale * (xx[x] - yy[x]);
            sine[x] = scale * 2 * xy[x];
        }
    });
}

void ImagePlanes::normalize(const Mask* mask, const Planes& planes) {
    const auto [count, rows, columns] = planes.extent;
    const index_t width = columns;
    row_sums_.reshape({rows, 3});
    for (index_t p = 0; p < count; ++p) {
        const PlaneView values = plane(planes, p);
        // Sums of differences from `from`, of their squares, and of pixels.
        const auto sums = [&, height = rows](double from) {
            core::for_each_task(cpu_, height, 0, [&](index_t y, std::byte*) {
                const float* const row = &values(y, 0);
                const float* const chosen = mask == nullptr ? nullptr : &(*mask)(y, 0);
                double sum = 0;
                double squares = 0;
                double pixels = 0;
#pragma omp simd reduction(+ : sum, squares, pixels)
                for (index_t x = 0; x < width; ++x) {
                    const double weight = chosen == nullptr || chosen[x] != 0 ? 1 : 0;
                    const double value = weight * (static_cast<double>(row[x]) - from);
                    sum += value;
                    squares += value * value;
                    pixels += weight;
                }
                row_sums_(y, 0) = sum;
                row_sums_(y, 1) = squares;
                row_sums_(y, 2) = pixels;
            });
            std::array<double, 3> total{};
            for (index_t y = 0; y < height; ++y) {
                for (index_t i = 0; i < 3; ++i) {
                    total[static_cast<std::size_t>(i)] += row_sums_(y, i);
                }
            }
            return total;
        };
        const auto [sum, squares, pixels] = sums(0);
        const double mean = pixels > 0 ? sum / pixels : 0;
        const double energy = sums(mean)[1];
        const bool constant = !(energy > no_contrast * no_contrast * squares);
        const double scale = constant ? 0 : 1 / std::sqrt(energy);
        core::for_each_task(cpu_, rows, 0, [&](index_t y, std::byte*) {
            float* const row = &values(y, 0);
#pragma omp simd
            for (index_t x = 0; x < width; ++x) {
                row[x] = static_cast<float>(scale * (static_cast<double>(row[x]) - mean));
            }
        });
    }
}

}  // namespace aperture::corr
