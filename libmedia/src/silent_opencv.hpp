// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <mutex>
#include <opencv2/core/utils/logger.hpp>

namespace aperture::media {

/// Silences OpenCV on stderr while there is such an object in any thread, and its FFmpeg
/// permanently: errors are reported once, by us. OpenCV reads FFmpeg's log level on first use; a
/// level set by the user is kept.
class SilentOpenCv {
  public:
    SilentOpenCv() {
        const std::lock_guard lock(mutex);
        if (objects++ > 0) return;
        // Once: other threads may read the environment later.
        constexpr auto quiet = "-8";  // AV_LOG_QUIET
        [[maybe_unused]] static const int once = setenv("OPENCV_FFMPEG_LOGLEVEL", quiet, 0);
        level = cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    }
    ~SilentOpenCv() {
        const std::lock_guard lock(mutex);
        if (--objects == 0) cv::utils::logging::setLogLevel(level);
    }
    SilentOpenCv(const SilentOpenCv&) = delete;
    SilentOpenCv& operator=(const SilentOpenCv&) = delete;

  private:
    static inline std::mutex mutex;
    static inline int objects = 0;
    static inline cv::utils::logging::LogLevel level{};
};

}  // namespace aperture::media
