// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <vector>

#include "aperture/signal/fft.hpp"
#include "libsignal/cpu/lane_fft.hpp"

namespace aperture::signal {

/// Complex forward transforms of any length, one in each lane: by LaneFft, or for a length that it
/// does not support as a convolution with a chirp (Bluestein 1970), by transforms of a length that
/// it does.
class AnyLengthFft {
  public:
    using index_t = core::index_t;

    /// The length is at least 1.
    explicit AnyLengthFft(index_t length);

    /// Packs of scratch memory that `run` needs, aligned to a pack.
    index_t scratch_packs() const {
        return fft_.scratch_packs() + (chirp_.empty() ? 0 : fft_.length());
    }

    /// Calls load(i) for all samples, then store(k, X[k]) in unspecified order.
    template <class Load, class Store>
    void run(ComplexPack* scratch, const Load& load, const Store& store) const {
        if (chirp_.empty()) {
            fft_.run(scratch, length_, load, store);
            return;
        }
        ComplexPack* const product = scratch;
        ComplexPack* const rest = scratch + fft_.length();
        const auto chirp = [&](index_t i) { return chirp_[static_cast<std::size_t>(i)]; };
        fft_.run(
            rest, length_, [&](index_t i) { return load(i) * chirp(i); },
            [&](index_t k, const ComplexPack& value) {
                product[k] = swapped(value * filter_[static_cast<std::size_t>(k)]);
            });
        fft_.run(
            rest, fft_.length(), [&](index_t k) { return product[k]; },
            [&](index_t k, const ComplexPack& value) {
                if (k < length_) store(k, swapped(value) * chirp(k));
            });
    }

  private:
    index_t length_;
    LaneFft fft_;                  ///< of the length, or for the convolution
    std::vector<Twiddle> chirp_;   ///< exp(-j pi i^2 / n); empty if there is no convolution
    std::vector<Twiddle> filter_;  ///< transform of the conjugate chirp over the length of fft_
};

/// The transforms of a batch in place, as many at a time as a pack has lanes.
class LaneFftBatch {
  public:
    /// Throws core::InvalidArgument as ForwardFft.
    explicit LaneFftBatch(const FftBatch& batch);

    /// Allocates the calling thread's scratch memory. Without it, the thread's first run does.
    void prepare_thread() const noexcept;

    /// Several threads may use one batch concurrently.
    void run(std::complex<float>* first) const;

  private:
    FftBatch batch_;
    AnyLengthFft fft_;
};

}  // namespace aperture::signal
