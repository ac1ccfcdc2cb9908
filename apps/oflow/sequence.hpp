// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/oflow/run.hpp"

namespace aperture::apps {

/// The results of `oflow` for a sequence.
struct SequenceResults {
    flow::Shape shape;
    ImageForm form;                      ///< of the first frame
    std::vector<core::index_t> numbers;  ///< of each pair's first frame
    RunTimes times;                      ///< medians per pair; including read, backward and write
    double seconds = 0;                  ///< from the first frame to the last file
    core::index_t warm_starts = 0;
    double largest_motion = 0;         ///< pixels, over all pairs
    double max_motion = 0;             ///< pixels; motion of full saturation in the pictures
    std::optional<double> consistent;  ///< percent of the pixels, mean over the pairs

    core::index_t pairs() const { return static_cast<core::index_t>(numbers.size()); }
    double pairs_per_second() const { return static_cast<double>(pairs()) / seconds; }
};

/// Estimates the flow between consecutive frames and writes the requested outputs. Each pair's
/// files have the number of its first frame. The next frame is read during a pair's estimation.
///
/// A pair starts from the previous flow if that flow explains it: image 1 warped by the flow must
/// differ from image 0 by less than 0.9 times the difference of the unwarped image 1. The
/// difference is the mean absolute difference over every fourth pixel of every fourth row. After a
/// cut and for a repeated frame, the flow does not explain the pair.
///
/// The pictures of a sequence share one scale. Without --max-motion they are drawn after the last
/// pair, scaled by the largest motion of a pair that at most one pair in twenty exceeds.
///
/// Throws core::InvalidArgument with the name of a frame that cannot be read or has another size.
/// The files of earlier pairs remain, complete for each pair, which the message reports.
template <class Executor>
SequenceResults run_sequence(Executor& executor, core::Cpu& cpu, const OflowOptions& options,
                             Console& console);

}  // namespace aperture::apps
