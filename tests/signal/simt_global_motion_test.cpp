// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libsignal/gpu/global_motion.cuh"
#include "tests/signal/global_motion_suite.hpp"

namespace aperture::signal {
namespace {

struct SimtMotionFit {
    core::Simt simt{core::LaneOrder::random, 7};

    static std::string why_not() { return {}; }
    std::vector<GlobalMotion> fit(MotionModel model, const Image& reference,
                                  const core::Array<float, 3>& frames,
                                  const std::vector<PixelMap>& starts) {
        MotionFit<core::Simt> motions(simt, reference.extent(), model);
        motions.set_reference(reference);
        return motions.run(frames, starts);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Simt, MotionFitSuite, SimtMotionFit);

}  // namespace
}  // namespace aperture::signal
