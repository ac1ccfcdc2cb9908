// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/bgsub/clip.hpp"
#include "apps/common/report.hpp"

namespace aperture::apps {

/// The results of one frame.
struct FrameResult {
    index_t number = 0;                                  ///< in the sequence, from 0
    core::View<const float, 3, core::Host> background;   ///< [channel][row][column], dense
    core::View<const float, 3, core::Host> difference;   ///< |frame - background|, likewise
    core::View<const std::uint8_t, 2, core::Host> mask;  ///< [row][column], dense
    const media::Picture& picture;                       ///< the frame
};

/// Writes the results of a sequence frame by frame in one format. A frame's pictures exist as soon
/// as it is written; files of other formats exist only after they are committed.
class ResultOutput {
  public:
    virtual ~ResultOutput() = default;
    virtual void write(const FrameResult& result) = 0;
    /// Completes the files and adds them to `outputs`.
    virtual void finish(media::OutputSet& outputs) = 0;
};

/// Metadata of a result file.
struct OutputDescription {
    FrameShape shape;
    index_t frames = 0;            ///< 0: not known yet
    double frames_per_second = 0;  ///< 0: not known
    ResultParameters parameters;
};

/// Throws core::InvalidArgument before the computation if an output would replace an input or
/// another output or cannot be written.
void check_outputs(const BgsubOptions& options, const FrameReader& frames);

std::unique_ptr<ResultOutput> open_output(const BgsubOptions& options,
                                          const OutputDescription& description);

}  // namespace aperture::apps
