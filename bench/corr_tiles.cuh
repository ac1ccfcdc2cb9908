// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of the direct method on a GPU that are slower than those of the library: other tiles of
// displacements, and four planes interleaved pixel by pixel (Bordawekar, Bondhugula & Rao 2010).
// docs/notes/correlation.md has their times.

#include "libcorr/gpu/direct_correlation.cuh"

namespace aperture::bench {

using core::index_t;

/// Four planes' values.
struct PackedForm {
    using Cell = float4;
    using Number = float;
    APERTURE_HD static constexpr int planes(int of_image) { return of_image / 4; }
    __device__ __forceinline__ static float4 cell(const corr::gpu::Planes<const float>& from,
                                                  const corr::gpu::PlaneGround* grounds, int group,
                                                  int y, int x) {
        const auto value = [&](int i) {
            return from(4 * group + i, y, x) - grounds[4 * group + i].ground;
        };
        return make_float4(value(0), value(1), value(2), value(3));
    }
};

/// The same as DirectWalk, for cells of four planes.
template <class Tile>
struct PackedWalk : corr::gpu::DirectSteps<Tile, PackedForm, 1> {
    using Steps = corr::gpu::DirectSteps<Tile, PackedForm, 1>;
    using Steps::step;
    static constexpr int max_columns = corr::gpu::fitting_columns<Steps>();

    template <int Rows>
    __device__ __forceinline__ static void add_columns(
        const float4* a, const float4* b, int columns,
        float (&sum)[Tile::thread_rows][Tile::thread_columns]) {
        constexpr int width = Tile::thread_columns;
        constexpr int row_stride = Tile::lanes_down * corr::gpu::RowRing<PackedWalk>::pitch_of_b;
        static_assert(step * Rows % 2 == 0);
        float4 window[width + step];
        float4 factor[2];
        factor[0] = b[0];
        APERTURE_NO_UNROLL
        for (int x = 0; x < columns; x += step) {
            APERTURE_UNROLL
            for (int k = 0; k < width; ++k) window[k] = a[x + k];
            APERTURE_UNROLL
            for (int i = 0; i < step; ++i) {
                window[i + width] = a[x + i + width];
                APERTURE_UNROLL
                for (int j = 0; j < Rows; ++j) {
                    const int next = (j + 1) % Rows;
                    const int number = (i * Rows + j) % 2;
                    factor[1 - number] = b[x + i + (next == 0 ? 1 : 0) - next * row_stride];
                    const float4& now = factor[number];
                    APERTURE_UNROLL
                    for (int k = 0; k < width; ++k) {
                        const float4& other = window[i + k];
                        sum[j][k] += now.x * other.x + now.y * other.y;
                        sum[j][k] += now.z * other.z + now.w * other.w;
                    }
                }
            }
        }
    }
};

/// The same as direct_kernel, for cells of four planes. Grid: groups of four planes, warps.
template <class Walk>
__global__ void __launch_bounds__(core::warp_size, 8)
    packed_kernel(corr::gpu::SumTask<float4> task, const corr::gpu::PlaneGround* grounds_a,
                  const corr::gpu::PlaneGround* grounds_b, float* sums) {
    core::wait_for_previous_kernel();
    const int group = static_cast<int>(blockIdx.x);
    float product = 0;
    for (int p = 4 * group; p < 4 * group + 4; ++p) {
        product += grounds_a[p].contrast * grounds_b[p].contrast;
    }
    // Chains of as many products as those of one plane.
    task.chain_rows = max(task.chain_rows / 4, 1);
    corr::gpu::sum_parts<Walk>(task, group, product, sums);
}

/// Correlates one image by a kernel; its planes form one surface. For packed_kernel their number is
/// a multiple of four.
template <class Executor, class Walk>
class KernelCorrelator {
    using Space = typename Executor::Space;
    using Direct = corr::gpu::DirectSumsBy<Executor, Walk>;

  public:
    KernelCorrelator(Executor& executor, const corr::Problem& problem,
                     typename Direct::Kernel kernel)
        : ground_sums_(executor, problem),
          direct_(executor, problem, kernel),
          grounds_a_({problem.planes}),
          grounds_b_({problem.planes}) {}

    void run(corr::PlanesView<Space> a, corr::PlanesView<Space> b,
             core::View<double, 3, Space> sums) {
        const corr::gpu::GroundedPlanes of_a{signal::gpu::planes_of(a), grounds_a_.data()};
        const corr::gpu::GroundedPlanes of_b{signal::gpu::planes_of(b),
                                             a.data == b.data ? of_a.grounds : grounds_b_.data()};
        ground_sums_.find(of_a.planes, grounds_a_.data());
        ground_sums_.find(of_b.planes, grounds_b_.data());
        direct_.run(of_a, of_b, sums.data);
        ground_sums_.add(of_a, of_b, sums.data);
    }

  private:
    corr::gpu::GroundSums<Executor> ground_sums_;
    Direct direct_;
    core::Array<corr::gpu::PlaneGround, 1, Space> grounds_a_;
    core::Array<corr::gpu::PlaneGround, 1, Space> grounds_b_;
};

/// Calls visit.operator()<Walk>(name, precision, kernel) for each kernel.
template <class Visit>
void for_slower_kernels(const Visit& visit) {
    using namespace corr::gpu;
    const auto direct = [&]<class Walk>(const char* name) {
        visit.template operator()<Walk>(name, corr::Precision::fp32, &direct_kernel<Walk>);
    };
    const auto packed = [&]<class Tile>(const char* name) {
        using Walk = PackedWalk<Tile>;
        visit.template operator()<Walk>(name, corr::Precision::fp32, &packed_kernel<Walk>);
    };
    direct.template operator()<DirectWalk<DirectTile<4>, float>>("separate/64x32");
    direct.template operator()<DirectWalk<DirectTile<8, 4, 16>, float>>("separate/16x128");
    packed.template operator()<DirectTile<4>>("packed/64x32");
    packed.template operator()<DirectTile<8>>("packed/32x64");
    packed.template operator()<DirectTile<16>>("packed/16x128");
    using Tensor = TensorWalk<TensorTile<1>>;
    visit.template operator()<Tensor>("tf32x3/16x64", corr::Precision::tf32x3,
                                      &tensor_kernel<Tensor>);
}

}  // namespace aperture::bench
