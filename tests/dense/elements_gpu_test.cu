// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/batch_elements.cuh"
#include "tests/dense/elements_suite.hpp"
#include "tests/device_mirror.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::dense::elements {
namespace {

/// An operand on the GPU, and back.
template <class Some>
struct OnGpu {
    tests::DeviceMirror<typename Some::Stored, 3, core::Strided> mirror;

    OnGpu(core::Gpu& gpu, const Some& operand) : mirror(gpu, operand.batch) {}
    auto operand() {
        return typename Some::template Rebound<typename Some::Number, core::Device>{mirror.view()};
    }
    void fetch() {
        if constexpr (Some::access != Access::in) mirror.fetch();
    }
};

struct Call {
    template <int threads, class Functor, class... Operands>
    static void run(const Functor& functor, const Operands&... operands) {
        core::Gpu gpu;
        run_there<threads>(gpu, functor, OnGpu<Operands>(gpu, operands)...);
    }

  private:
    template <int threads, class Functor, class... There>
    static void run_there(core::Gpu& gpu, const Functor& functor, There... there) {
        for_each_element<threads>(gpu, functor, there.operand()...);
        (there.fetch(), ...);
    }
};

class ElementsOnGpu : public tests::GpuTest {};

TEST_F(ElementsOnGpu, UpdateKalmanFilters) {
    check_kalman<Call, float>();
    check_kalman<Call, double>();
}

TEST_F(ElementsOnGpu, AreSharedByTheThreadsOfAGroupOrABlock) {
    check_team<Call, float, 1>();
    check_team<Call, float, 2>();
    check_team<Call, double, 8>();
    check_team<Call, float, 32>();
    check_team<Call, double, 64>();
}

TEST_F(ElementsOnGpu, MayBranch) { check_branches<Call>(); }

TEST_F(ElementsOnGpu, SelectWithoutBranches) { check_select<Call>(); }

TEST_F(ElementsOnGpu, RefuseWrongExtents) { check_refusals<Call>(); }

}  // namespace
}  // namespace aperture::dense::elements
