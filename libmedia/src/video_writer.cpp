// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/video_writer.hpp"

#include "aperture/core/error.hpp"

#if APERTURE_OPENCV
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <string>
#include <vector>

#include "libmedia/src/silent_opencv.hpp"
#endif

namespace aperture::media {

namespace fs = std::filesystem;

#if APERTURE_OPENCV

namespace {

constexpr double usual_rate = 25;

/// A temporary name with an extension for an unnamed file: FFmpeg selects the container by it.
class NamedLink {
  public:
    NamedLink(const AtomicFile& file, const char* name) {
        std::string folder = (fs::temp_directory_path() / "aperture-XXXXXX").string();
        if (::mkdtemp(folder.data()) == nullptr) file.fail(errno);
        folder_ = folder;
        std::error_code error;
        fs::create_symlink(fs::absolute(file.partial()), path(name), error);
        path_ = path(name);
        if (error) {
            remove();
            file.fail(error.value());
        }
    }
    ~NamedLink() { remove(); }
    NamedLink(const NamedLink&) = delete;
    NamedLink& operator=(const NamedLink&) = delete;
    const fs::path& path() const { return path_; }

  private:
    fs::path path(const char* name) const { return folder_ / name; }
    void remove() const noexcept {
        std::error_code error;
        fs::remove_all(folder_, error);
    }

    fs::path folder_;
    fs::path path_;
};

}  // namespace

struct VideoWriter::State {
    std::string shown;
    AtomicFile file;
    cv::Size size;  ///< of incoming frames
    bool grey;
    cv::VideoWriter writer{};
    cv::Mat frame{};
    cv::Mat even{};
    double written = 0;

    void expects_all_there() const;
};

VideoWriter::VideoWriter(const fs::path& target, int width, int height, double frames_per_second,
                         VideoCoding coding)
    : state_(core::owned(std::unique_ptr<State>(new State{target.string(),
                                                          AtomicFile(target),
                                                          {width, height},
                                                          coding == VideoCoding::lossless_grey}))) {
    core::expects(width > 0 && height > 0, state_->shown, ": cannot write: a video of ", width, 'x',
                  height, " pixels");
    core::expects(frames_per_second >= 0, state_->shown, ": cannot write: ", frames_per_second,
                  " frames/s");
    const double rate = frames_per_second > 0 ? frames_per_second : usual_rate;
    const cv::Size even(width + width % 2, height + height % 2);
    const SilentOpenCv silent;
    const NamedLink link(state_->file, state_->grey ? "video.mkv" : "video.mp4");
    const std::vector<std::string> codecs =
        state_->grey ? std::vector<std::string>{"FFV1"} : std::vector<std::string>{"avc1", "mp4v"};
    const bool open = std::any_of(codecs.begin(), codecs.end(), [&](const std::string& c) {
        return state_->writer.open(link.path().string(), cv::CAP_FFMPEG,
                                   cv::VideoWriter::fourcc(c[0], c[1], c[2], c[3]), rate, even,
                                   !state_->grey);
    });
    core::expects(open, state_->shown, ": cannot write: no encoder for a video of ", width, 'x',
                  height, " pixels");
}

void VideoWriter::write(const Picture& frame) {
    const cv::Size size = state_->size;
    core::expects(state_->writer.isOpened(), state_->shown, ": the video is already finished");
    core::expects(frame.width == size.width && frame.height == size.height, state_->shown,
                  ": cannot write: a frame of ", frame.width, 'x', frame.height,
                  " pixels in a video of ", size.width, 'x', size.height);
    const cv::Mat rgb(size, CV_8UC3, const_cast<Colour*>(frame.pixels.data()));
    cv::cvtColor(rgb, state_->frame, state_->grey ? cv::COLOR_RGB2GRAY : cv::COLOR_RGB2BGR);
    cv::copyMakeBorder(state_->frame, state_->even, 0, size.height % 2, 0, size.width % 2,
                       cv::BORDER_REPLICATE);
    state_->writer.write(state_->even);
    ++state_->written;
}

/// OpenCV does not report whether frames, or the index at the end, could be written.
void VideoWriter::State::expects_all_there() const {
    const SilentOpenCv silent;
    cv::VideoCapture reader(file.partial().string(), cv::CAP_FFMPEG);
    core::expects(reader.isOpened() && reader.get(cv::CAP_PROP_FRAME_COUNT) == written, shown,
                  ": cannot write: the video is incomplete; is the disk full?");
}

AtomicFile VideoWriter::finish() {
    core::expects(state_->writer.isOpened(), state_->shown, ": the video is already finished");
    core::expects(state_->written > 0, state_->shown, ": cannot write: a video without frames");
    state_->writer.release();
    state_->expects_all_there();
    return std::move(state_->file);
}

#else

struct VideoWriter::State {
    AtomicFile file;
};

VideoWriter::VideoWriter(const fs::path& target, int, int, double, VideoCoding) {
    throw core::InvalidArgument(target.string() +
                                ": cannot write: a video requires a build with OpenCV");
}
void VideoWriter::write(const Picture&) {}
AtomicFile VideoWriter::finish() { return std::move(state_->file); }

#endif

}  // namespace aperture::media
