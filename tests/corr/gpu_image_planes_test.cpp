// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "tests/corr/image_planes_suite.hpp"
#include "tests/device_mirror.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::corr {
namespace {

using tests::DeviceMirror;

struct GpuPlanes : tests::UsableGpu {
    using Executor = core::Gpu;
    core::Gpu& executor() { return *gpu; }
    static std::vector<Shape> shapes() {
        if (tests::small_shapes()) return {{1, 9}, {33, 31}};
        return {{1, 1},   {1, 9},   {9, 1},     {2, 2},      {31, 33},
                {32, 32}, {33, 31}, {500, 500}, {509, 1021}, {1080, 1920}};
    }
    static void change() {}
    std::uint64_t derive(ImagePlanes<core::Gpu>& planes_of,
                         core::View<const float, 3, core::Host> image,
                         const core::View<const float, 2, core::Host>* mask,
                         core::View<float, 3, core::Host> planes) {
        DeviceMirror source(*gpu, image);
        DeviceMirror sink(*gpu, planes);
        std::optional<DeviceMirror<const float, 2, core::Strided>> chosen;
        if (mask != nullptr) chosen.emplace(*gpu, *mask);
        const auto allocations = core::device_allocations();
        if (mask == nullptr) {
            planes_of.derive(source.view(), sink.view());
        } else {
            planes_of.derive(source.view(), chosen->view(), sink.view());
        }
        const auto made = core::device_allocations() - allocations;
        sink.fetch();
        return made;
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, ImagePlanesSuite, GpuPlanes);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, ImagePlanesLikeCpuSuite, GpuPlanes);

}  // namespace
}  // namespace aperture::corr
