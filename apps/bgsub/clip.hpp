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

/// Values one after the other, to which more are added at both ends.
class ClipValues {
  public:
    /// Removes all, and provides memory for so many values that will come in front, and others.
    void clear(index_t in_front, index_t others);

    float* data() { return memory_.data() + begin_; }
    const float* data() const { return memory_.data() + begin_; }
    index_t size() const { return end_ - begin_; }
    /// Adds values, which are not initialised, and returns the first of them.
    float* append(index_t count);
    void prepend(const float* from, index_t count);

  private:
    /// Moves the values to memory with room for so many more.
    void grow(index_t in_front, index_t behind);

    core::Array<float, 1> memory_;
    index_t begin_ = 0;
    index_t end_ = 0;
};

/// Consecutive frames in memory, in the size and colours in which they are processed.
struct Clip {
    FrameShape shape;
    ClipValues values;                     ///< [frame][channel][row][column], 0 to 255
    std::vector<media::Picture> pictures;  ///< in colour, for the overlay; empty if there is none
    std::vector<media::Picture> unused;    ///< whose memory those that are read take over
    std::vector<index_t> numbers;          ///< in the sequence, from 0
    std::vector<index_t> truth_numbers;    ///< of their true masks

    index_t frames() const { return static_cast<index_t>(numbers.size()); }
    /// Adds the last `count` frames of the clip before this one in front.
    void prepend(Clip& before, index_t count);
};

/// Reads and scales the frames of a sequence in the calling thread alone: others compute meanwhile.
class ClipReader {
  public:
    /// Reads the first frame. Throws core::InvalidArgument as FrameReader does and if there is no
    /// frame.
    explicit ClipReader(const BgsubOptions& options);

    const FrameShape& shape() const { return shape_; }
    const FrameReader& source() const { return reader_; }
    /// Appends the next frame to the clip; returns false at the end. Throws core::InvalidArgument,
    /// with the clip unchanged, for a frame that cannot be read or whose size differs from the
    /// first frame's.
    bool read(Clip& clip);
    /// Whether no frame is left. Reads the next one; throws as `read` does.
    bool at_end();

  private:
    void draw(media::Picture& picture);
    void store_values(core::View<float, 3, core::Host> values);

    core::Cpu cpu_{1};
    FrameColour colour_;
    bool pictures_;
    FrameReader reader_;
    Frame frame_;         ///< the last that was read
    bool is_read_;        ///< whether it is the next one
    media::Image image_;  ///< its values, where they are needed
    core::Array<float, 2> grey_;
    std::string first_name_;
    core::Extents<2> source_size_{};
    FrameShape shape_;
};

/// Throws core::InvalidArgument for fewer than 2 frames of a sequence.
void expects_several_frames(const FrameReader& source, index_t frames);

}  // namespace aperture::apps
