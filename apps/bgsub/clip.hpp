// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aperture/core/executor.hpp"
#include "aperture/media/picture.hpp"
#include "apps/bgsub/options.hpp"

namespace aperture::apps {

/// The shape of every processed frame.
struct FrameShape {
    index_t channels = 1;
    index_t rows = 0;
    index_t columns = 0;

    core::Extents<2> size() const { return {rows, columns}; }
    index_t pixels() const { return rows * columns; }
    index_t values() const { return channels * pixels(); }
    bool operator==(const FrameShape&) const = default;
};

/// A frame in the size and colours in which it is processed.
struct ClipFrame {
    index_t number = 0;            ///< in the sequence, from 0
    index_t truth_number = 0;      ///< of its true mask
    core::Array<float, 3> values;  ///< [channel][row][column], 0 to 255
    media::Picture picture;        ///< in colour, for the overlay; empty if there is none
};

/// Consecutive frames in memory.
struct Clip {
    FrameShape shape;
    std::vector<float> values;             ///< [frame][channel][row][column]
    std::vector<media::Picture> pictures;  ///< of ClipFrame
    std::vector<index_t> numbers;
    std::vector<index_t> truth_numbers;

    index_t frames() const { return static_cast<index_t>(numbers.size()); }
    void append(ClipFrame frame);
    /// Removes the first `count` frames.
    void drop(index_t count);
};

/// Reads and scales the frames of a sequence in the calling thread alone: others compute meanwhile.
class ClipReader {
  public:
    /// Reads the first frame. Throws core::InvalidArgument as FrameReader does and if there is no
    /// frame.
    explicit ClipReader(const BgsubOptions& options);

    const FrameShape& shape() const { return shape_; }
    const FrameReader& source() const { return reader_; }
    /// Returns the next frame, or nothing at the end. Throws core::InvalidArgument for a frame that
    /// cannot be read or whose size differs from the first frame's.
    std::optional<ClipFrame> next();

  private:
    ClipFrame prepare(const Frame& frame);

    core::Cpu cpu_{1};
    FrameColour colour_;
    bool pictures_;
    FrameReader reader_;
    std::optional<Frame> first_;  ///< until it is returned
    std::string first_name_;
    core::Extents<2> source_size_{};
    FrameShape shape_;
};

/// Throws core::InvalidArgument for fewer than 2 frames of a sequence.
void expects_several_frames(const FrameReader& source, index_t frames);

}  // namespace aperture::apps
