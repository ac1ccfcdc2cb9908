// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/bgsub/clip.hpp"
#include "apps/common/report.hpp"

namespace aperture::apps {

/// Consecutive frames and their results, of those that are saved.
struct ResultFrames {
    index_t first = 0;                     ///< frames before it are not written
    index_t last = 0;                      ///< nor are this one and later ones
    std::vector<index_t> numbers;          ///< of all frames, in the sequence
    std::vector<index_t> truth_numbers;    ///< as ClipFrame
    core::Array<float, 4> background;      ///< [frame][channel][row][column], empty unless saved
    core::Array<float, 4> difference;      ///< |frame - background|, likewise
    core::Array<std::uint8_t, 3> masks;    ///< [frame][row][column]
    std::vector<media::Picture> pictures;  ///< of the frames; empty unless the overlay is saved

    index_t number(index_t frame) const { return numbers[static_cast<std::size_t>(frame)]; }
};

/// One file or folder with results of a sequence. It may be written by another thread than the
/// other outputs. A file exists only after it is committed.
class ResultOutput {
  public:
    virtual ~ResultOutput() = default;
    virtual void write(const ResultFrames& results) = 0;
    /// Completes the output after the last frame. Returns the file, nothing of a folder of
    /// pictures.
    virtual std::optional<media::AtomicFile> finish() = 0;
    /// The number of frames whose pictures exist.
    virtual index_t frames_there() const { return 0; }
};

/// Metadata of a result file.
struct OutputDescription {
    FrameShape shape;
    index_t frames = 0;            ///< 0: not known yet
    double frames_per_second = 0;  ///< 0: not known
    ResultParameters parameters;

    /// A text that differs if results may differ, for pictures: program, parameters and inputs.
    std::string run(const BgsubOptions& options) const;
};

/// Throws core::InvalidArgument before the computation if an output would replace an input or
/// another output or cannot be written.
void check_outputs(const BgsubOptions& options, const FrameReader& frames);

/// The same of a run of a sweep, whose outputs are not where the frames are.
void check_run_outputs(const BgsubOptions& run);

/// Bytes of memory that the outputs keep, without ResultFrames.
index_t output_bytes(const BgsubOptions& options, const FrameShape& shape);

/// Whether the pictures of the frames to be written are there, as the run of the description writes
/// them. If so, `results` gets the masks.
bool read_pictures(const BgsubOptions& options, const OutputDescription& description,
                   ResultFrames& results);

/// The outputs of the options.
std::vector<std::unique_ptr<ResultOutput>> open_outputs(const BgsubOptions& options,
                                                        const OutputDescription& description);

}  // namespace aperture::apps
