// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/batch_elements.cuh"
#include "tests/dense/elements_suite.hpp"

namespace aperture::dense::elements {
namespace {

struct OnCpu {
    template <int threads>
    static void run(const auto& functor, const auto&... operands) {
        core::Cpu cpu(2);
        for_each_element<threads>(cpu, functor, operands...);
    }
};
struct OnSimt {
    template <int threads>
    static void run(const auto& functor, const auto&... operands) {
        core::Simt simt(core::LaneOrder::random);
        for_each_element<threads>(simt, functor, operands...);
    }
};

template <class Call>
class Elements : public ::testing::Test {};
using Calls = ::testing::Types<OnCpu, OnSimt>;
TYPED_TEST_SUITE(Elements, Calls);

TYPED_TEST(Elements, UpdateKalmanFilters) {
    check_kalman<TypeParam, float>();
    check_kalman<TypeParam, double>();
}

TYPED_TEST(Elements, AreSharedByTheThreadsOfAGroupOrABlock) {
    check_team<TypeParam, float, 1>();
    check_team<TypeParam, float, 2>();
    check_team<TypeParam, double, 8>();
    check_team<TypeParam, float, 32>();
    check_team<TypeParam, double, 64>();
}

TYPED_TEST(Elements, MayBranch) { check_branches<TypeParam>(); }

TYPED_TEST(Elements, SelectWithoutBranches) { check_select<TypeParam>(); }

TYPED_TEST(Elements, RefuseWrongExtents) { check_refusals<TypeParam>(); }

}  // namespace
}  // namespace aperture::dense::elements
