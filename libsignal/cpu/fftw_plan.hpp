// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fftw3.h>

#include <mutex>
#include <utility>

#include "aperture/core/error.hpp"

namespace aperture::signal {

/// An owned plan of FFTW, or none.
class FftwPlan {
  public:
    FftwPlan() = default;
    /// make() plans with FFTW_ESTIMATE: such plans look at the alignment of the data only, never at
    /// the data, and are the same every time.
    template <class Make>
    explicit FftwPlan(const Make& make) {
        const std::lock_guard lock(planner());
        plan_ = make();
        if (plan_ == nullptr) throw core::DeviceError("FFTW could not plan a transform");
    }
    FftwPlan(FftwPlan&& other) noexcept : plan_(std::exchange(other.plan_, nullptr)) {}
    FftwPlan& operator=(FftwPlan&& other) noexcept {
        std::swap(plan_, other.plan_);
        return *this;
    }
    ~FftwPlan() {
        if (plan_ == nullptr) return;
        const std::lock_guard lock(planner());
        fftwf_destroy_plan(plan_);
    }

    fftwf_plan get() const { return plan_; }

  private:
    /// FFTW makes and destroys plans in global tables.
    static std::mutex& planner() {
        static std::mutex mutex;
        return mutex;
    }

    fftwf_plan plan_ = nullptr;
};

}  // namespace aperture::signal
