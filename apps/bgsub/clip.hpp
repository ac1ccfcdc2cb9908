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

/// Frames in memory, in the size and colours in which they are processed.
struct Clip {
    FrameShape shape;
    std::vector<float> values;             ///< [frame][channel][row][column], 0 to 255
    std::vector<media::Picture> pictures;  ///< the frames in colour, for the overlay
    std::vector<index_t> numbers;          ///< in the sequence, from 0
    std::vector<index_t> truth_numbers;    ///< numbers of the frames' true masks

    index_t frames() const { return static_cast<index_t>(numbers.size()); }
    /// Removes the first `count` frames.
    void drop(index_t count);
};

/// Reads the frames of a sequence into clips.
class ClipReader {
  public:
    /// Reads the first frame. Throws core::InvalidArgument as FrameReader does and if there is no
    /// frame.
    ClipReader(core::Cpu& cpu, const BgsubOptions& options);

    const FrameShape& shape() const { return shape_; }
    const FrameReader& source() const { return reader_; }
    bool at_end() const { return !next_.has_value(); }
    /// Appends up to `most` frames and returns their number. Throws core::InvalidArgument for a
    /// frame that cannot be read or whose size differs from the first frame's.
    index_t read(index_t most, Clip& clip);

  private:
    void prepare(const Frame& frame, Clip& clip) const;

    core::Cpu& cpu_;
    FrameColour colour_;
    FrameReader reader_;
    std::optional<Frame> next_;
    std::string first_name_;
    core::Extents<2> source_size_{};
    FrameShape shape_;
};

}  // namespace aperture::apps
