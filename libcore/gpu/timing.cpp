// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/timing.hpp"

#include <nvtx3/nvToolsExt.h>

#include "libcore/gpu/cuda_check.hpp"
#include "libcore/gpu/waits.hpp"
#include "libcore/timeline_state.hpp"

namespace aperture::core {

namespace {

class CudaStageEvents final : public StageEvents {
  public:
    CudaStageEvents() {
        APERTURE_CUDA_TRY(cudaEventCreate(&start_));
        APERTURE_CUDA_TRY(cudaEventCreate(&stop_));
    }
    ~CudaStageEvents() override {
        cudaEventDestroy(start_);
        cudaEventDestroy(stop_);
    }
    CudaStageEvents(const CudaStageEvents&) = delete;
    CudaStageEvents& operator=(const CudaStageEvents&) = delete;

    void start(Gpu& gpu, const char* name) {
        nvtxRangePushA(name);
        APERTURE_CUDA_TRY(cudaEventRecord(start_, gpu.stream()));
    }
    void stop(Gpu& gpu) noexcept override {
        // A failure here shows at the next checked call; a destructor must not throw.
        cudaEventRecord(stop_, gpu.stream());
        nvtxRangePop();
    }
    double milliseconds() override {
        float ms = 0;
        count_wait_for_gpu();
        APERTURE_CUDA_TRY(cudaEventSynchronize(stop_));
        APERTURE_CUDA_TRY(cudaEventElapsedTime(&ms, start_, stop_));
        return ms;
    }

  private:
    cudaEvent_t start_{};
    cudaEvent_t stop_{};
};

}  // namespace

Timeline::Scope Timeline::stage(Timeline* timeline, Gpu& gpu, const char* name, double gflop,
                                double mb) {
    if (timeline == nullptr) return Scope(nullptr, nullptr);
    StageRecord& record = timeline->state_->begin(name, gflop, mb);
    if (record.events == nullptr) record.events = std::make_unique<CudaStageEvents>();
    record.on_gpu = true;
    static_cast<CudaStageEvents&>(*record.events).start(gpu, name);
    return Scope(timeline, &gpu);
}

}  // namespace aperture::core
