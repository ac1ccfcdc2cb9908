// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aperture/media/image_file.hpp"
#include "aperture/media/video_file.hpp"

namespace aperture::apps {

/// Which frames of a sequence are taken: `first`, first + step, ... below `last`, counted from 0.
struct FrameRange {
    core::index_t first = 0;
    std::optional<core::index_t> last;  ///< else to the end
    core::index_t step = 1;
};

/// "10:20", "0:100:2", "5:" (to the end), ":20"; throws core::InvalidArgument otherwise.
FrameRange parse_frames(const std::string& text);

struct Frame {
    core::index_t number = 0;  ///< in the sequence, from 0
    std::string name;          ///< the file's, or "video.avi, frame 3"
    media::Image image;
    core::Array<float, 2> grey;
    double read_ms = 0;  ///< for reading, decoding and the change to grey
};

/// Reads the chosen frames of a sequence one after the other.
class FrameReader {
  public:
    /// `inputs` is a video, a folder (its images, frame2 before frame10), a pattern with * ? [ ]
    /// (its files in the same order), or a list of images; a single file is taken for an image by
    /// its name. Throws core::InvalidArgument where there
    /// is nothing to read, and where the range goes beyond a list's end.
    FrameReader(const std::vector<std::filesystem::path>& inputs, const FrameRange& range);

    /// The next frame; nothing at the end. Throws core::InvalidArgument with the name of what
    /// cannot be read.
    std::optional<Frame> next();

    /// How many frames will come: exact for images, as the container claims for a video; 0 where
    /// it does not say.
    core::index_t expected() const { return expected_; }
    /// No less than the frames that will come, by what is in the file; 0 where it is not known.
    /// Reads all of a video's file.
    core::index_t at_most() const;
    /// What is lost of a video whose end the last call of `next` met: "read 14 of 30 frames; the
    /// file is cut off", or how many frames cannot be decoded. Empty where nothing is.
    std::string loss() const;
    /// As a video says; 0 where it does not, and for images.
    double frames_per_second() const { return video_ ? video_->frames_per_second() : 0; }
    /// A note on what was left out of a folder or a pattern; empty where nothing was.
    const std::string& left_out() const { return left_out_; }
    /// The video, or the images.
    const std::vector<std::filesystem::path>& files() const { return files_; }
    bool is_video() const { return video_.has_value(); }
    const std::string& name() const { return name_; }

  private:
    core::index_t frames_of(core::index_t count) const;
    std::optional<Frame> read_image();
    std::optional<Frame> read_video_frame();

    std::string name_;
    std::string left_out_;
    std::vector<std::filesystem::path> files_;
    std::optional<media::VideoReader> video_;
    FrameRange range_;
    core::index_t expected_ = 0;
    core::index_t claimed_ = 0;  ///< by the video's container
    bool ended_ = false;
    core::index_t next_ = 0;      ///< number of the frame to be taken next
    core::index_t position_ = 0;  ///< of the video
};

}  // namespace aperture::apps
