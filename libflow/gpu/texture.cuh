// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The same as libflow/cpu/texture.hpp: structure-texture decomposition.

#include "libflow/gpu/image_pair.cuh"
#include "libflow/model_constants.hpp"

namespace aperture::flow::gpu {

/// Iterations of a launch; each one invalidates a pixel on each side of a block's region.
inline constexpr int texture_steps = 8;
inline constexpr int texture_region = 64;
inline constexpr int texture_tile = texture_region - 2 * texture_steps;
inline constexpr int texture_warps = 16;
// The structure, computed after the last iteration, needs one more pixel.
static_assert(texture_iterations % texture_steps != 0);

/// Input and output of one launch. Planes 2 i and 2 i + 1 of the duals belong to image i.
struct TextureStep {
    bool first;      ///< the dual starts at zero
    int iterations;  ///< at most texture_steps
    Planes<const float> dual;
    Planes<float> next_dual;
    float share;            ///< fraction of the structure to subtract; for the last launch
    Planes<float> texture;  ///< [image]; null except in the last launch, which stores no dual
};

/// A block's region in shared memory: image, dual (across, down) and structure.
struct TextureRegion {
    static constexpr int values = texture_region * texture_region;
    float* image;
    float* across;
    float* down;
    float* structure;

    __device__ __forceinline__ explicit TextureRegion(float* memory)
        : image(memory),
          across(memory + values),
          down(memory + 2 * values),
          structure(memory + 3 * values) {}

    /// u = f + theta div p; p is zero left of and above the image, and in its last column and row.
    __device__ __forceinline__ float find_structure(int i) const {
        const float flux = (across[i] - across[i - 1]) + (down[i] - down[i - texture_region]);
        return image[i] + texture_theta * flux;
    }
    /// A projected gradient step; outside the image the structure repeats its border.
    __device__ __forceinline__ void update_dual(int i, bool last_column, bool last_row) const {
        constexpr float step = texture_dual_step / texture_theta;
        const float u = structure[i];
        const float right = last_column ? u : structure[i + 1];
        const float below = last_row ? u : structure[i + texture_region];
        const float a = across[i] + step * (right - u);
        const float d = down[i] + step * (below - u);
        const float scale = 1.0F / fmaxf(1.0F, sqrtf(a * a + d * d));
        across[i] = a * scale;
        down[i] = d * scale;
    }
};

/// Iterations of Chambolle's projected gradients, several per launch. A block's region is
/// texture_steps wider on each side than the tile it stores; the invalid border grows by one pixel
/// an iteration. Thread: pixels of a column, Warps rows apart. Grid: tile columns, tile rows,
/// images. Shared memory: four values a pixel of the region, 64 KB. 20 bytes moved a pixel and
/// launch; 1.8 times 20 flops an iteration.
/// Source: Chambolle 2004, with the step and projection of Wedel et al. 2009, section 3.3.
template <int Warps>
__global__ void __launch_bounds__(Warps* core::warp_size)
    texture_kernel(ImagePair images, TextureStep step) {
    const TextureRegion region(core::shared<float>());
    const int plane = static_cast<int>(blockIdx.z);
    const int rows = rows_of(images);
    const int columns = columns_of(images);
    const int top = static_cast<int>(blockIdx.y) * texture_tile - texture_steps;
    const int left = static_cast<int>(blockIdx.x) * texture_tile - texture_steps;
    // Calls visit(i, y, x) for the region's image pixels, without its first `before` and last
    // `after` rows and columns.
    const auto for_pixels = [&](int before, int after, const auto& visit) {
        for (int r = static_cast<int>(threadIdx.y) + before; r < texture_region - after;
             r += Warps) {
            for (int c = static_cast<int>(threadIdx.x) + before; c < texture_region - after;
                 c += core::warp_size) {
                const int y = top + r;
                const int x = left + c;
                if (y >= 0 && y < rows && x >= 0 && x < columns) {
                    visit(r * texture_region + c, y, x);
                }
            }
        }
    };
    for (int i = core::thread_rank(); i < TextureRegion::values; i += core::block_threads()) {
        const int y = top + i / texture_region;
        const int x = left + i % texture_region;
        const bool in_image = y >= 0 && y < rows && x >= 0 && x < columns;
        const bool zero = step.first || !in_image;
        region.image[i] = in_image ? images(plane, y, x) : 0.0F;
        region.across[i] = zero ? 0.0F : step.dual(2 * plane, y, x);
        region.down[i] = zero ? 0.0F : step.dual(2 * plane + 1, y, x);
    }
    __syncthreads();
    for (int iteration = 0; iteration < step.iterations; ++iteration) {
        for_pixels(1, 0, [&](int i, int, int) { region.structure[i] = region.find_structure(i); });
        __syncthreads();
        for_pixels(1, 1, [&](int i, int y, int x) {
            region.update_dual(i, x == columns - 1, y == rows - 1);
        });
        __syncthreads();
    }
    for_pixels(texture_steps, texture_steps, [&](int i, int y, int x) {
        if (step.texture.data != nullptr) {
            step.texture(plane, y, x) = region.image[i] - step.share * region.find_structure(i);
        } else {
            step.next_dual(2 * plane, y, x) = region.across[i];
            step.next_dual(2 * plane + 1, y, x) = region.down[i];
        }
    });
}

#if !defined(__CUDACC_RTC__)

/// Holds the duals of both images between launches.
template <class Executor>
class TextureFilter {
  public:
    using Space = typename Executor::Space;

    TextureFilter() = default;
    explicit TextureFilter(Shape shape)
        : dual_{PlaneArray<Space>(4, shape), PlaneArray<Space>(4, shape)} {}

    /// Subtracts `share` of the structure from both images; `textures` has a plane for each.
    /// Asynchronous.
    void run(Executor& executor, float share, const ImagePair& images,
             const Planes<float>& textures) {
        constexpr auto bytes = 4 * TextureRegion::values * sizeof(float);
        const core::LaunchConfig config(signal::gpu::tile_grid(rows_of(images), columns_of(images),
                                                               2, texture_tile, texture_tile),
                                        dim3(core::warp_size, texture_warps), bytes);
        int from = 0;
        for (int done = 0; done < texture_iterations; done += texture_steps) {
            const int left = texture_iterations - done;
            const TextureStep step{done == 0,
                                   std::min(left, texture_steps),
                                   std::as_const(dual_[from]).planes(),
                                   dual_[1 - from].planes(),
                                   share,
                                   left <= texture_steps ? textures : Planes<float>{}};
            core::launch(executor, &texture_kernel<texture_warps>, config, images, step);
            from = 1 - from;
        }
    }

  private:
    PlaneArray<Space> dual_[2];
};

#endif

}  // namespace aperture::flow::gpu
