// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/memory_need.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "aperture/rpca/mask.hpp"
#include "apps/bgsub/output_files.hpp"

namespace aperture::apps {
namespace {

index_t float_bytes(index_t values) { return values * static_cast<index_t>(sizeof(float)); }

index_t picture_bytes(const BgsubOptions& options, const FrameShape& shape) {
    if (!options.saves(Content::overlay)) return 0;
    return shape.pixels() * static_cast<index_t>(sizeof(media::Colour));
}

}  // namespace

std::string gigabytes(double bytes) {
    std::ostringstream text;
    text << std::setprecision(3) << bytes / 1e9 << " GB";
    return text.str();
}

MemoryNeed::MemoryNeed(const BgsubOptions& options, const FrameShape& shape,
                       const Separators& separators, const Samples& samples, int threads)
    : separators_(separators),
      values_(shape.values()),
      clip_bytes_(float_bytes(values_) + picture_bytes(options, shape)),
      // Background, difference, mask.
      work_bytes_(2 * float_bytes(values_) + shape.pixels()),
      // Samples and their differences; where the camera moves as many of the first frames.
      fixed_bytes_(output_bytes(options, shape) + 4 * float_bytes(samples.size()) +
                   threads * rpca::mask_scratch_bytes(options.mask, shape.rows, shape.columns)) {
    // Those of the best run are kept, and true masks.
    if (!options.sweep.runs.empty()) work_bytes_ += work_bytes_ + shape.pixels();
    for (const Content content : {Content::background, Content::foreground}) {
        if (options.saves(content)) saved_bytes_ += float_bytes(values_);
    }
    saved_bytes_ += shape.pixels() + picture_bytes(options, shape);
}

double MemoryNeed::of(index_t frames, index_t kept_frames, index_t written_frames) const {
    // Nearly as many as cuSOLVER's eigenvectors can have; planning for more would take long.
    constexpr index_t most_planned = 20000;
    const index_t planned = std::min(frames, most_planned);
    const double solver_bytes = static_cast<double>(separators_.host_bytes(planned, values_)) /
                                static_cast<double>(planned);
    return static_cast<double>(fixed_bytes_) +
           static_cast<double>(frames) * (static_cast<double>(work_bytes_) + solver_bytes) +
           static_cast<double>(kept_frames) * static_cast<double>(clip_bytes_) +
           static_cast<double>(written_frames) * static_cast<double>(saved_bytes_);
}

index_t MemoryNeed::fitting(double bytes) const {
    const auto frame_bytes = static_cast<double>(clip_bytes_ + work_bytes_);
    index_t fits = 0;
    auto most = static_cast<index_t>(std::min(bytes / frame_bytes, 1e9));
    while (fits < most) {
        const index_t frames = most - (most - fits) / 2;
        if (of(frames, frames) <= bytes) {
            fits = frames;
        } else {
            most = frames - 1;
        }
    }
    return fits;
}

}  // namespace aperture::apps
