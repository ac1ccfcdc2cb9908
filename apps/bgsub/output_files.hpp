// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/bgsub/clip.hpp"
#include "apps/common/result_parameters.hpp"

namespace aperture::apps {

/// What was found for one frame.
struct FrameResult {
    index_t number = 0;                                  ///< in the sequence, from 0
    core::View<const float, 3, core::Host> background;   ///< [channel][row][column], dense
    core::View<const float, 3, core::Host> difference;   ///< |frame - background|, likewise
    core::View<const std::uint8_t, 2, core::Host> mask;  ///< [row][column], dense
    const media::Picture& picture;                       ///< the frame
};

/// The results of a sequence, frame after frame, in one format. The pictures of a frame are there
/// as soon as it has been written; of other formats nothing is there before it is committed.
class ResultOutput {
  public:
    virtual ~ResultOutput() = default;
    virtual void write(const FrameResult& result) = 0;
    /// Completes the files and adds them to `outputs`.
    virtual void finish(media::OutputSet& outputs) = 0;
};

/// What a file of results says about itself.
struct OutputDescription {
    FrameShape shape;
    index_t frames = 0;            ///< 0: not known yet
    double frames_per_second = 0;  ///< 0: not known
    std::string command_line;
    ResultParameters parameters;
};

/// The files, or folders of pictures, that results go to.
std::vector<std::filesystem::path> output_names(const BgsubOptions& options);

/// Throws core::InvalidArgument where an output would replace an input or another output, or cannot
/// be written where it is to be: before the long work, not after it.
void check_outputs(const BgsubOptions& options, const FrameReader& frames);

std::unique_ptr<ResultOutput> open_output(const BgsubOptions& options,
                                          const OutputDescription& description);

}  // namespace aperture::apps
