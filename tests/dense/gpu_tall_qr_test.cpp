// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/tall_qr_suite.hpp"
#include "tests/device_mirror.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::dense::oracle {
namespace {

using tests::DeviceMirror;

struct GpuFactorizer : tests::UsableGpu {
    static std::vector<std::pair<int, int>> sizes() {
        return {{1, 1},     {2, 1},     {8, 8},     {127, 16},    {128, 16},   {129, 17},
                {351, 31},  {352, 32},  {353, 33},  {384, 64},    {2047, 24},  {9001, 129},
                {3520, 96}, {3521, 97}, {700, 700}, {110592, 10}, {50000, 192}};
    }
    static std::vector<QrMethod> methods() { return {QrMethod::tsqr, QrMethod::cholesky2}; }
    static index_t tall() { return tests::small_shapes() ? 500 : 6200; }
    static std::uint64_t allocations() { return core::device_allocations(); }

    template <class T>
    class Qr {
      public:
        Qr(GpuFactorizer& runner, QrMethod method, index_t rows, index_t columns)
            : gpu_(*runner.gpu), qr_(gpu_, method, rows, columns) {}

        std::uint64_t factor(View<const T, 2, Host> a, View<T, 2, Host> r) {
            return run(a, r, [&](auto from, auto to) { qr_.factor(from, to); });
        }
        std::uint64_t find_r(View<const T, 2, Host> a, View<T, 2, Host> r) {
            return run(a, r, [&](auto from, auto to) { qr_.find_r(from, to); });
        }
        std::uint64_t form_q(View<T, 2, Host> q) {
            DeviceMirror sink(gpu_, q);
            const auto before = allocations();
            qr_.form_q(sink.view());
            const auto made = allocations() - before;
            sink.fetch();
            return made;
        }
        void apply_q_transposed(View<const T, 2, Host> c, View<T, 2, Host> x) {
            run(c, x, [&](auto from, auto to) { qr_.apply_q_transposed(from, to); });
        }
        void apply_q(View<const T, 2, Host> x, View<T, 2, Host> c) {
            run(x, c, [&](auto from, auto to) { qr_.apply_q(from, to); });
        }
        bool fell_back() const { return qr_.fell_back(); }

      private:
        template <class Work>
        std::uint64_t run(View<const T, 2, Host> from, View<T, 2, Host> to, const Work& work) {
            DeviceMirror source(gpu_, from);
            DeviceMirror sink(gpu_, to);
            const auto before = allocations();
            work(source.view(), sink.view());
            const auto made = allocations() - before;
            sink.fetch();
            return made;
        }

        core::Gpu& gpu_;
        TallQr<T, core::Gpu> qr_;
    };
};

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, TallQrSuite, GpuFactorizer);

class GpuTallScale : public tests::GpuTest {};
TEST_F(GpuTallScale, AMillionRowsAreFactoredBackwardStably) {
    constexpr index_t m = 1000000;
    constexpr index_t n = 192;
    const Array<float, 2> a = matrix_of<float>({m, n, Content::random});
    GpuFactorizer runner;
    for (const QrMethod method : {QrMethod::tsqr, QrMethod::cholesky2}) {
        GpuFactorizer::Qr<float> qr(runner, method, m, n);
        Array<float, 2> r({n, n});
        Array<float, 2> q({m, n});
        qr.factor(a.view(), r);
        qr.form_q(q);
        EXPECT_LE(residual_ratio<float>(a.view(), q.view(), std::as_const(r).view()), ratio_limit);
        EXPECT_LE(orthogonality_ratio<float>(q.view()), ratio_limit);
    }
}

}  // namespace
}  // namespace aperture::dense::oracle
