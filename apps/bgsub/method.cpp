// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/method.hpp"

#include <algorithm>
#include <utility>

#include "aperture/core/memory.hpp"
#include "apps/bgsub/clip.hpp"
#include "libcore/rounding.hpp"

namespace aperture::apps {
namespace {

/// As many frames as robust PCA solves together, where the user has not said how many.
constexpr index_t usual_window = 100;

/// Number of frames of the selection; 0 if unknown.
index_t expected_frames(const BgsubOptions& options) {
    return FrameReader(options.frame_inputs(), options.frames).expected();
}

/// Of frames, their pictures and results, and of the solver.
double bytes_of_robust_pca(core::Cpu& cpu, const BgsubOptions& options, index_t frames) {
    BgsubOptions one = options;
    one.saved = {};
    const index_t values = ClipReader(one).shape().values();
    const index_t solver =
        rpca::RobustPca<float, core::Cpu>::workspace_bytes(cpu, frames, values, options.parameters)
            .host;
    return static_cast<double>(solver) + 32.0 * static_cast<double>(frames * values);
}

}  // namespace

void warn_of_few_frames(index_t frames, Console& console) {
    if (frames >= enough_frames) return;
    console.warn(core::text(frames, " frames are solved together; with fewer than ", enough_frames,
                            ", much of the motion is assigned to the background"));
}

Samples sample_frames(const BgsubOptions& options) {
    try {
        const index_t expected = expected_frames(options);
        const bool in_parts = options.online() || options.window > 0 ||
                              (options.method == BackgroundMethod::automatic &&
                               (expected == 0 || expected > usual_window));
        if (!in_parts || expected < enough_frames) return {};
        BgsubOptions sparse = options;
        sparse.saved = {};
        sparse.frames.step *= core::ceil_div(expected, most_samples);
        ClipReader reader(sparse);
        Clip clip;
        clip.shape = reader.shape();
        // Read twice, as a clip and as samples, and then as differences.
        const double bytes = 12.0 * static_cast<double>(most_samples * clip.shape.values());
        const auto free = core::available_memory();
        if (free && bytes > static_cast<double>(*free)) return {};
        try {
            while (reader.read(clip)) {
            }
        } catch (const core::InvalidArgument&) {
            // The run reports it.
        }
        const auto [channels, rows, columns] = clip.shape;
        Samples samples({clip.frames(), channels, rows, columns});
        std::copy_n(clip.values.data(), samples.size(), samples.begin());
        return samples;
    } catch (const core::InvalidArgument&) {
        return {};
    }
}

BgsubOptions choose_method(BgsubOptions options, const Samples& samples, core::Cpu& cpu) {
    const auto choose = [&](BackgroundMethod method, const std::string& reason) {
        options.method = method;
        options.method_reason = reason;
    };
    if (options.method == BackgroundMethod::automatic) {
        const index_t frames = expected_frames(options);
        const auto shakes = [&] {
            return samples.size() > 0 && options.stabilise != rpca::Stabilise::off &&
                   rpca::CameraMotion(cpu, samples.view(), options.stabilise).moves();
        };
        const auto fits = [&] {
            const auto free = core::available_memory();
            return !free || bytes_of_robust_pca(cpu, options, frames) < static_cast<double>(*free);
        };
        if (frames > 0 && frames < enough_frames) {
            choose(BackgroundMethod::median,
                   core::text(frames, " frames are too few for robust PCA"));
        } else if (shakes()) {
            choose(BackgroundMethod::rpca, "the camera shakes, which only robust PCA takes out");
            if (frames > 2 * usual_window || !fits()) options.window = usual_window;
        } else if (frames > 0 && frames <= usual_window && fits()) {
            choose(BackgroundMethod::rpca,
                   core::text(frames, " frames, which can be solved together"));
        } else if (frames > 0 && frames <= usual_window) {
            choose(BackgroundMethod::online,
                   core::text("robust PCA of ", frames, " frames needs more memory than is free"));
        } else {
            choose(BackgroundMethod::online,
                   frames == 0 ? "the number of frames is unknown"
                               : core::text(frames, " frames, in which objects may stop"));
        }
    }
    if (options.online()) options.stabilise = rpca::Stabilise::off;
    // At night a low-rank background has traces of the objects, which then look like lit ground.
    if (options.method == BackgroundMethod::rpca) options.mask.remove_light = false;
    return options;
}

}  // namespace aperture::apps
