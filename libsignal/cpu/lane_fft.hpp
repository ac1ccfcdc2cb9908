// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "aperture/core/view.hpp"
#include "libcore/cpu/simd.hpp"

namespace aperture::signal {

/// Real and imaginary parts of one complex number for each lane.
struct ComplexPack {
    core::Pack<float> re;
    core::Pack<float> im;
};

inline ComplexPack operator+(const ComplexPack& a, const ComplexPack& b) {
    return {a.re + b.re, a.im + b.im};
}
inline ComplexPack operator-(const ComplexPack& a, const ComplexPack& b) {
    return {a.re - b.re, a.im - b.im};
}
inline ComplexPack operator*(float factor, const ComplexPack& a) {
    return {factor * a.re, factor * a.im};
}
/// One number for all lanes.
struct Twiddle {
    float re;
    float im;
};
inline ComplexPack operator*(const ComplexPack& a, const Twiddle& w) {
    return {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
}
inline ComplexPack multiply_add(const ComplexPack& sum, float factor, const ComplexPack& a) {
    return sum + factor * a;
}
/// i conj(a): applied before and after a forward transform, it makes the inverse one.
inline ComplexPack swapped(const ComplexPack& a) { return {a.im, a.re}; }

/// Complex transforms X[k] = sum_i x[i] exp(-2 pi j i k / n) of one length, one in each lane. With
/// n = n1 n2, transforms of length n1 on every n2-th element and of length n2 on n1 runs of them
/// (Cooley & Tukey 1965), each by Stockham passes of radix 2 to 5 in cache.
class LaneFft {
  public:
    using index_t = core::index_t;

    LaneFft() = default;
    /// The length must have no prime factor above 5.
    explicit LaneFft(index_t length);

    index_t length() const { return length_; }
    /// Packs of scratch memory that `run` needs, aligned to a pack.
    index_t scratch_packs() const { return length_ + 2 * std::max(outer_.length, inner_.length); }

    /// Calls load(i) for i below `count`; later samples are zero. Calls store(k, X[k]) in
    /// unspecified order, after all loads.
    template <class Load, class Store>
    void run(ComplexPack* scratch, index_t count, const Load& load, const Store& store) const {
        ComplexPack* const all = scratch;
        ComplexPack* const first = scratch + length_;
        ComplexPack* const second = first + std::max(outer_.length, inner_.length);
        const index_t n1 = outer_.length;
        const index_t n2 = inner_.length;
        for (index_t i2 = 0; i2 < n2; ++i2) {
            for (index_t i1 = 0; i1 < n1; ++i1) {
                const index_t i = i1 * n2 + i2;
                first[i1] = i < count ? load(i) : ComplexPack{};
            }
            const ComplexPack* found = transform(outer_, first, second);
            const Twiddle* turn = turns_.data() + i2 * n1;
            for (index_t k1 = 0; k1 < n1; ++k1) all[k1 * n2 + i2] = found[k1] * turn[k1];
        }
        for (index_t k1 = 0; k1 < n1; ++k1) {
            std::copy_n(all + k1 * n2, n2, first);
            const ComplexPack* found = transform(inner_, first, second);
            for (index_t k2 = 0; k2 < n2; ++k2) store(k1 + n1 * k2, found[k2]);
        }
    }

  private:
    /// A Stockham pass.
    struct Pass {
        void (*run)(index_t transforms, index_t stride, const Twiddle* twiddles,
                    const ComplexPack* from, ComplexPack* to);
        index_t transforms;  ///< of the remaining length
        index_t stride;
        std::vector<Twiddle> twiddles;  ///< [transform][1 .. radix-1]
    };
    struct Plan {
        index_t length = 1;
        std::vector<Pass> passes;
    };
    static Plan plan(index_t length);
    /// Returns the result, `from` or `other`; both are overwritten.
    static const ComplexPack* transform(const Plan& plan, ComplexPack* from, ComplexPack* other);

    index_t length_ = 1;
    Plan outer_;
    Plan inner_;
    std::vector<Twiddle> turns_;  ///< [i2][k1]
};

/// The smallest length from `min` on that LaneFft supports.
core::index_t good_lane_fft_length(core::index_t min);

}  // namespace aperture::signal
