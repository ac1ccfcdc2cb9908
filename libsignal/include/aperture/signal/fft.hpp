// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <memory>

#include "aperture/core/executor.hpp"

namespace aperture::signal {

/// A batch of one-dimensional complex transforms of one length.
struct FftBatch {
    int length = 0;
    core::index_t count = 0;     ///< transforms in the batch
    core::index_t stride = 1;    ///< elements between successive samples of one transform
    core::index_t distance = 0;  ///< elements between first samples of successive transforms
};

/// Forward transforms X[k] = sum_p x[p] exp(-j 2 pi k p / length), in place, on one executor (by
/// cuFFT on core::Gpu). A plan is created once and used many times; running it allocates nothing on
/// the executor's threads. Copies share the plan. The executor must outlive it.
template <class Executor>
class ForwardFft {
  public:
    /// Throws core::InvalidArgument for a length or stride below 1, and for other numbers that are
    /// negative or exceed INT_MAX.
    ForwardFft(Executor& executor, const FftBatch& batch);

    /// `first` is the first sample of the batch, in the executor's memory, aligned to 64 bytes on a
    /// Cpu. On a Cpu the calling thread does all the work, and several threads may use one plan
    /// concurrently. Asynchronous on a Gpu.
    void run(std::complex<float>* first) const;

  private:
    std::shared_ptr<void> plan_;  ///< none for an empty batch on a Gpu
};

}  // namespace aperture::signal
