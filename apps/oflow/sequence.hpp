// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/console.hpp"
#include "apps/common/timed_runs.hpp"
#include "apps/oflow/inputs.hpp"

namespace aperture::apps {

/// What `oflow` finds in a sequence.
struct SequenceResults {
    flow::Shape shape;
    ImageForm form;                      ///< of the first frame
    std::vector<core::index_t> numbers;  ///< of each pair's first frame
    RunTimes times;                      ///< of a pair, medians; with read, backward and write
    double seconds = 0;                  ///< from the first frame to the last file
    core::index_t warm_starts = 0;
    double largest_motion = 0;         ///< pixels, of all pairs
    double max_motion = 0;             ///< pixels, of full saturation in the pictures
    std::optional<double> consistent;  ///< percent of the pixels, mean over the pairs

    core::index_t pairs() const { return static_cast<core::index_t>(numbers.size()); }
    double pairs_per_second() const { return static_cast<double>(pairs()) / seconds; }
};

/// Estimates the flow of every two frames that follow one another and writes what was asked for,
/// each pair's files named by the number of its first frame. A frame is read while the pair before
/// is being worked on.
///
/// A pair starts from the flow of the pair before where that flow explains it: where image 1 taken
/// back by it differs from image 0 by less than 0.9 times what image 1 does as it is, in the mean
/// of the absolute difference over every fourth pixel of every fourth row. It does not after a cut,
/// and for a frame that is there twice.
///
/// Pictures have one scale for all of the sequence, and are drawn after the last pair where it is
/// not given by --max-motion: the largest motion of a pair, that of one pair in twenty at most
/// being larger.
///
/// Throws core::InvalidArgument that names the frame which cannot be read or has another size; what
/// was written for the pairs before stays, all files of a pair or none, and the error says so.
template <class Executor>
SequenceResults run_sequence(Executor& executor, core::Cpu& cpu, const OflowOptions& options,
                             Console& console);

}  // namespace aperture::apps
