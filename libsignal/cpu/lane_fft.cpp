// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libsignal/cpu/lane_fft.hpp"

#include <cmath>
#include <numbers>

#include "libsignal/butterflies.hpp"
#include "libsignal/fft_lengths.hpp"

namespace aperture::signal {
namespace {

using core::index_t;

/// exp(-2 pi j part / whole)
Twiddle root(index_t part, index_t whole) {
    const double angle =
        -2 * std::numbers::pi * static_cast<double>(part % whole) / static_cast<double>(whole);
    return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

/// y[q + stride (radix p + k)] = w_p^k sum_j x[q + stride (p + j transforms)] exp(-2 pi i j k /
/// radix).
template <int radix>
void run_pass(index_t transforms, index_t stride, const Twiddle* twiddles, const ComplexPack* x,
              ComplexPack* y) {
    for (index_t p = 0; p < transforms; ++p) {
        const Twiddle* w = twiddles + p * (radix - 1);
        for (index_t q = 0; q < stride; ++q) {
            ComplexPack values[radix];
            for (int j = 0; j < radix; ++j) values[j] = x[q + stride * (p + j * transforms)];
            butterfly(values);
            ComplexPack* const to = y + q + stride * radix * p;
            to[0] = values[0];
            for (int k = 1; k < radix; ++k) to[k * stride] = values[k] * w[k - 1];
        }
    }
}

}  // namespace

index_t good_lane_fft_length(index_t min) {
    return good_length(std::max<index_t>(min, 1), {2, 3, 5});
}

LaneFft::Plan LaneFft::plan(index_t length) {
    Plan plan;
    plan.length = length;
    index_t left = length;
    index_t stride = 1;
    while (left > 1) {
        for (const auto& [radix, run] : {std::pair{4, &run_pass<4>},
                                         {5, &run_pass<5>},
                                         {3, &run_pass<3>},
                                         {2, &run_pass<2>}}) {
            if (left % radix != 0) continue;
            Pass pass{run, left / radix, stride, {}};
            for (index_t p = 0; p < pass.transforms; ++p) {
                for (int k = 1; k < radix; ++k) pass.twiddles.push_back(root(p * k, left));
            }
            left = pass.transforms;
            stride *= radix;
            plan.passes.push_back(std::move(pass));
            break;
        }
    }
    return plan;
}

LaneFft::LaneFft(index_t length) : length_(length) {
    core::expects(length >= 1 && good_lane_fft_length(length) == length, "FFT of length ", length,
                  ", expected no prime factor above 5");
    auto outer = static_cast<index_t>(std::sqrt(static_cast<double>(length)));
    while (length % outer != 0) --outer;
    outer_ = plan(outer);
    inner_ = plan(length / outer);
    for (index_t i2 = 0; i2 < inner_.length; ++i2) {
        for (index_t k1 = 0; k1 < outer; ++k1) {
            turns_.push_back(root(i2 * k1, length));
        }
    }
}

const ComplexPack* LaneFft::transform(const Plan& plan, ComplexPack* from, ComplexPack* other) {
    for (const Pass& pass : plan.passes) {
        pass.run(pass.transforms, pass.stride, pass.twiddles.data(), from, other);
        std::swap(from, other);
    }
    return from;
}

}  // namespace aperture::signal
