// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <ostream>
#include <random>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "libcore/cpu/simd.hpp"
#include "tests/same_bytes.hpp"

namespace aperture::signal {

using core::index_t;
using Image = core::Array<float, 2>;
using Input = core::View<const float, 2, core::Host>;
using Output = core::View<float, 2, core::Host>;

struct Size {
    index_t rows;
    index_t columns;
};
inline void PrintTo(const Size& size, std::ostream* stream) {
    *stream << size.rows << 'x' << size.columns;
}

/// Small sizes, sizes around a pack and a band, primes, and one of realistic size.
inline std::vector<Size> sizes() {
    constexpr int lanes = core::lanes<float>;
    return {{1, 1},         {1, 7},     {7, 1},         {2, 2},         {3, 3},
            {9, lanes - 1}, {9, lanes}, {9, lanes + 1}, {lanes - 1, 5}, {lanes + 1, 2 * lanes},
            {23, 6},        {24, 40},   {25, 37},       {61, 67},       {388, 584}};
}

/// Values in [-1, 1).
inline Image random_image(Size size, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    Image image({size.rows, size.columns});
    for (float& pixel : image) pixel = uniform(generator);
    return image;
}

inline Image constant_image(Size size, float value) {
    Image image({size.rows, size.columns});
    std::fill(image.begin(), image.end(), value);
    return image;
}

inline std::vector<float> pixels_of(const Image& image) { return {image.begin(), image.end()}; }

/// An image of doubles for oracles. Its border is replicated.
struct Plane {
    Size size;
    std::vector<double> pixels;

    explicit Plane(Size extents)
        : size(extents), pixels(static_cast<std::size_t>(extents.rows * extents.columns)) {}
    explicit Plane(const Image& image) : Plane(Size{image.extent()[0], image.extent()[1]}) {
        std::copy(image.begin(), image.end(), pixels.begin());
    }

    double& at(index_t row, index_t column) {
        return pixels[static_cast<std::size_t>(row * size.columns + column)];
    }
    double operator()(index_t row, index_t column) const {
        return pixels[static_cast<std::size_t>(std::clamp<index_t>(row, 0, size.rows - 1) *
                                                   size.columns +
                                               std::clamp<index_t>(column, 0, size.columns - 1))];
    }
};

/// An image inside a larger one of NaN. A read outside the image makes the result NaN, and a write
/// outside is detected.
class FramedImage {
  public:
    explicit FramedImage(Size size)
        : size_(size), whole_(constant_image({size.rows + 2, size.columns + 7}, nan)) {}
    explicit FramedImage(const Image& image)
        : FramedImage(Size{image.extent()[0], image.extent()[1]}) {
        for (index_t row = 0; row < size_.rows; ++row)
            for (index_t column = 0; column < size_.columns; ++column)
                view()(row, column) = image(row, column);
    }

    Output view() {
        return whole_.view().slice(0, 1, 1 + size_.rows).slice(1, 3, 3 + size_.columns);
    }
    Image inner() {
        Image image({size_.rows, size_.columns});
        for (index_t row = 0; row < size_.rows; ++row)
            for (index_t column = 0; column < size_.columns; ++column)
                image(row, column) = view()(row, column);
        return image;
    }
    bool frame_is_untouched() const {
        bool untouched = true;
        for (index_t row = 0; row < whole_.extent()[0]; ++row)
            for (index_t column = 0; column < whole_.extent()[1]; ++column) {
                const bool inside =
                    row >= 1 && row < 1 + size_.rows && column >= 3 && column < 3 + size_.columns;
                untouched = untouched && (inside || std::isnan(whole_(row, column)));
            }
        return untouched;
    }

  private:
    static constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    Size size_;
    Image whole_;
};

using Operation = std::function<void(core::Cpu&, Input, Output)>;

/// The result on two threads. Expects unchanged frames around both images, and the same bits from
/// dense images on one and three threads.
inline Image result_of(const Operation& operation, const Image& from, Size to_size) {
    FramedImage framed(from);
    FramedImage to(to_size);
    core::Cpu cpu(2);
    operation(cpu, framed.view(), to.view());
    EXPECT_TRUE(to.frame_is_untouched());
    const Image result = to.inner();
    for (int threads : {1, 3}) {
        core::Cpu other(threads);
        Image dense({to_size.rows, to_size.columns});
        operation(other, from, dense);
        EXPECT_TRUE(tests::same_bytes(dense, result)) << threads << " threads";
    }
    return to.inner();
}

/// Unit roundoff of float.
inline constexpr double unit_roundoff = 0x1p-24;

/// Maximum error of a separable filter of values up to `magnitude`. Along each axis every weight is
/// rounded and the largest weight compensates for the others (two roundings of the sum of
/// magnitudes); every term of the sum adds one rounding (Higham 2002, section 3.1). The absolute
/// weights sum to `gain` along either axis.
inline double separable_bound(index_t row_taps, index_t column_taps, double gain,
                              double magnitude) {
    return static_cast<double>(row_taps + column_taps + 4) * unit_roundoff * gain * gain *
           magnitude;
}

/// Maximum error of a sum in double that is rounded to float once.
inline double rounded_sum_bound(double sum_of_magnitudes) {
    return 1.01 * unit_roundoff * sum_of_magnitudes;
}

/// Compares all pixels and reports the first that differs by more than `bound`.
inline void expect_near(const Image& image, const Plane& expected, double bound) {
    ASSERT_EQ(image.extent()[0], expected.size.rows);
    ASSERT_EQ(image.extent()[1], expected.size.columns);
    for (index_t row = 0; row < expected.size.rows; ++row)
        for (index_t column = 0; column < expected.size.columns; ++column) {
            const double difference = std::abs(image(row, column) - expected(row, column));
            ASSERT_TRUE(difference <= bound)
                << "row " << row << ", column " << column << ": " << image(row, column)
                << ", expected " << expected(row, column) << " +- " << bound;
        }
}

}  // namespace aperture::signal
