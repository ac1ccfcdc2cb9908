// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/tall_qr.cuh"
#include "tests/dense/tall_qr_suite.hpp"

namespace aperture::dense::oracle {
namespace {

template <core::LaneOrder order, int groups>
struct SimtRunner {
    core::Simt simt{order, 5};

    static std::string why_not() { return ""; }
    static std::vector<std::pair<int, int>> sizes() {
        // Of few groups trees are deep, and leaves absorb several blocks.
        if (groups < tuning::tall_groups) {
            return {{1, 1},   {2, 1},   {8, 8},    {31, 17}, {32, 32},   {33, 33},  {96, 16},
                    {97, 16}, {65, 64}, {129, 17}, {290, 5}, {1500, 33}, {3100, 65}};
        }
        return {{7, 3}, {352, 16}, {353, 33}, {4100, 40}, {230, 200}};
    }
    static std::vector<QrMethod> methods() {
        // The others have no trees, but to fall back on.
        if (groups < tuning::tall_groups) return {QrMethod::tsqr, QrMethod::cholesky2};
        return {QrMethod::caqr, QrMethod::blas2, QrMethod::cholesky2, QrMethod::shifted_cholesky3};
    }
    static constexpr index_t tall = 530;
    static std::uint64_t allocations() { return core::host_allocations(); }

    template <class T>
    class Qr {
      public:
        Qr(SimtRunner& runner, QrMethod method, index_t rows, index_t columns)
            : qr_(runner.simt, method, rows, columns) {}

        std::uint64_t factor(View<const T, 2, Host> a, View<T, 2, Host> r) {
            return counted([&] { qr_.factor(a, r, true); });
        }
        std::uint64_t find_r(View<const T, 2, Host> a, View<T, 2, Host> r) {
            return counted([&] { qr_.factor(a, r, false); });
        }
        std::uint64_t form_q(View<T, 2, Host> q) {
            return counted([&] { qr_.form_q(q); });
        }
        void apply_q_transposed(View<const T, 2, Host> c, View<T, 2, Host> x) {
            qr_.apply_q_transposed(c, x);
        }
        void apply_q(View<const T, 2, Host> x, View<T, 2, Host> c) { qr_.apply_q(x, c); }
        bool fell_back() const { return qr_.fell_back(); }

      private:
        template <class Work>
        static std::uint64_t counted(const Work& work) {
            const auto before = allocations();
            work();
            return allocations() - before;
        }

        gpu::DeviceTallQr<T, core::Simt, groups> qr_;
    };
};

using SmallBlocks = SimtRunner<core::LaneOrder::random, 3>;
using Blocks = SimtRunner<core::LaneOrder::reverse, tuning::tall_groups>;
INSTANTIATE_TYPED_TEST_SUITE_P(SimtSmallBlocks, TallQrSuite, SmallBlocks);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtBlocks, TallQrSuite, Blocks);

}  // namespace
}  // namespace aperture::dense::oracle
