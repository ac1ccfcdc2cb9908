// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/gpu/mask.cuh"
#include "tests/rpca/light_suite.hpp"
#include "tests/rpca/masks_like_cpu_suite.hpp"

namespace aperture::rpca {
namespace {

/// The kernels on the SIMT host executor, a few frames at once.
template <core::LaneOrder order>
struct SimtMasks {
    core::Simt simt{order, 7};

    static std::string why_not() { return {}; }

    void subtract_backgrounds(FramesView<const float, Host> frames,
                              FramesView<const float, Host> backgrounds,
                              FramesView<float, Host> differences) {
        gpu::subtract(simt, frames, backgrounds, differences);
    }
    double noise_deviation(DifferencesView<Host> differences) {
        return gpu::deviation_of_noise(simt, differences);
    }
    void pixel_scales(DifferencesView<Host> differences, ScalesView<Host> scales) {
        gpu::find_scales(simt, differences, scales);
    }
    void follow_scales(DifferencesView<Host> differences, MasksView<Host> masks,
                       ScalesView<Host> scales) {
        gpu::update_scales(simt, differences, masks, scales);
    }
    double find_masks(const MaskInputs<Host>& inputs, const MaskParameters& parameters,
                      MasksView<Host> masks) {
        constexpr index_t most_bytes = 100000;
        return gpu::masks_of(simt, inputs, parameters, masks, most_bytes);
    }
};

using Forward = SimtMasks<core::LaneOrder::forward>;
using Random = SimtMasks<core::LaneOrder::random>;
INSTANTIATE_TYPED_TEST_SUITE_P(SimtForward, MaskSuite, Forward);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtForward, LightSuite, Forward);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtRandom, MasksLikeCpuSuite, Random);

}  // namespace
}  // namespace aperture::rpca
