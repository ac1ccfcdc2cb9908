// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/element_text.hpp"
#include "tests/dense/elements_on_gpu.hpp"
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
        run_on_gpu<threads>(gpu, functor, there.operand()...);
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

// Sums x += gain K z, and the norms before, of a body that is text.
TEST_F(ElementsOnGpu, TakeABodyAsText) {
    for (const bool interleaved : {false, true}) {
        for (const int threads : {1, 4, 64}) {
            constexpr index_t problems = 133;
            Placed<float, 2> x({problems, 3}, interleaved, 1);
            Placed<float, 3> k({problems, 3, 2}, interleaved, 2);
            Placed<double, 2> z({problems, 2}, !interleaved);
            Placed<double, 1> norm({problems}, true);
            for (index_t p = 0; p < problems; ++p) {
                for (int i = 0; i < 3; ++i) {
                    x.view(p, i) = static_cast<float>(p % 17 + i);
                    for (int j = 0; j < 2; ++j) k.view(p, i, j) = static_cast<float>(p % 5 + i - j);
                }
                for (int j = 0; j < 2; ++j) z.view(p, j) = static_cast<double>(p % 3 + j);
            }
            const Placed<float, 2> start = x.copy();
            core::Gpu gpu;
            tests::DeviceMirror x_there(gpu, x.view);
            tests::DeviceMirror k_there(gpu, k.view);
            tests::DeviceMirror z_there(gpu, z.view);
            tests::DeviceMirror norm_there(gpu, norm.view);
            const auto strides = [](const auto& view) {
                return std::vector<index_t>(view.stride.begin(), view.stride.end());
            };
            ElementText text;
            text.body = R"(
                T squares = 0;
                for (int i = team.rank; i < 3; i += team.threads) squares += x(i) * x(i);
                squares = team.sum(squares);
                if (team.rank == 0) norm() = sqrt(squares);
                for (int i = team.rank; i < 3; i += team.threads) {
                    for (int j = 0; j < 2; ++j) x(i) += gain * k(i, j) * z(j);
                })";
            text.batches = {{"x",
                             Access::in_out,
                             NumberType::fp32,
                             x_there.view().data,
                             problems,
                             {3},
                             strides(x.view)},
                            {"k",
                             Access::in,
                             NumberType::fp32,
                             k_there.view().data,
                             problems,
                             {3, 2},
                             strides(k.view)},
                            {"z",
                             Access::in,
                             NumberType::fp64,
                             z_there.view().data,
                             problems,
                             {2},
                             strides(z.view)},
                            {"norm",
                             Access::out,
                             NumberType::fp64,
                             norm_there.view().data,
                             problems,
                             {},
                             strides(norm.view)}};
            text.parameters = {{"gain", 0.5}};
            text.threads = threads;
            for_each_element(gpu, text);
            x_there.fetch();
            norm_there.fetch();
            for (index_t p = 0; p < problems; ++p) {
                double squares = 0;
                for (int i = 0; i < 3; ++i) {
                    double sum = start.view(p, i);
                    squares += sum * sum;
                    for (int j = 0; j < 2; ++j) sum += 0.5 * k.view(p, i, j) * z.view(p, j);
                    ASSERT_EQ(x.view(p, i), sum) << "problem " << p << ", " << threads;
                }
                ASSERT_NEAR(norm.view(p), std::sqrt(squares), 1e-14 * squares) << "problem " << p;
            }
        }
    }
}

TEST_F(ElementsOnGpu, TellWhatIsWrongWithAText) {
    core::Gpu gpu;
    ElementText text;
    text.body = "x() = 1;\nx() = wrong;";
    text.batches = {{"x", Access::out, NumberType::fp32, nullptr, 10, {}, {1}}};
    EXPECT_THAT([&] { for_each_element(gpu, text); },
                ::testing::ThrowsMessage<core::InvalidArgument>(
                    ::testing::HasSubstr("body(2): error: identifier \"wrong\" is undefined")));
}

}  // namespace
}  // namespace aperture::dense::elements
