// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/background_peers.hpp"

#include "aperture/core/timing.hpp"

#if APERTURE_OPENCV_VIDEO
#include <opencv2/core.hpp>
#include <opencv2/video/background_segm.hpp>
#endif
#if APERTURE_OPENCV_BGSEGM
#include <opencv2/bgsegm.hpp>
#endif

namespace aperture::bench {

#if APERTURE_OPENCV_VIDEO

namespace {

/// Blue, green and red, the channel order that OpenCV's methods expect.
cv::Mat to_opencv(const media::Picture& frame) {
    cv::Mat pixels(frame.height, frame.width, CV_8UC3);
    for (int y = 0; y < frame.height; ++y) {
        for (int x = 0; x < frame.width; ++x) {
            const auto [red, green, blue] = frame.at(x, y);
            pixels.at<cv::Vec3b>(y, x) = {blue, green, red};
        }
    }
    return pixels;
}

template <class Create>
BackgroundPeer peer(const std::string& name, int threads, const Create& create) {
    const auto begin = [create, threads]() -> BackgroundModel {
        cv::setNumThreads(threads);
        // Some replace samples at random.
        cv::setRNGSeed(1);
        const cv::Ptr<cv::BackgroundSubtractor> model = create();
        return [model](const media::Picture& frame, core::Array<std::uint8_t, 2>& mask) {
            const cv::Mat pixels = to_opencv(frame);
            cv::Mat moving;
            const core::Stopwatch watch;
            model->apply(pixels, moving);
            const double ms = watch.ms();
            mask.reshape({frame.height, frame.width});
            moving.copyTo(cv::Mat(frame.height, frame.width, CV_8U, mask.data()));
            return ms;
        };
    };
    return {name, begin};
}

}  // namespace

std::vector<BackgroundPeer> background_peers(int threads) {
    std::vector<BackgroundPeer> peers{
        peer("MOG2", threads, [] { return cv::createBackgroundSubtractorMOG2(); }),
        peer("MOG2 without shadows", threads,
             [] {
                 auto model = cv::createBackgroundSubtractorMOG2();
                 model->setDetectShadows(false);
                 return model;
             }),
        peer("KNN", threads, [] { return cv::createBackgroundSubtractorKNN(); }),
        peer("KNN without shadows", threads, [] {
            auto model = cv::createBackgroundSubtractorKNN();
            model->setDetectShadows(false);
            return model;
        })};
#if APERTURE_OPENCV_BGSEGM
    namespace contributed = cv::bgsegm;
    const auto add = [&](const char* name, const auto& create) {
        peers.push_back(peer(name, threads, create));
    };
    add("MOG", [] { return contributed::createBackgroundSubtractorMOG(); });
    add("GMG", [] { return contributed::createBackgroundSubtractorGMG(); });
    add("CNT", [] { return contributed::createBackgroundSubtractorCNT(); });
    add("LSBP", [] { return contributed::createBackgroundSubtractorLSBP(); });
    add("GSOC", [] { return contributed::createBackgroundSubtractorGSOC(); });
#endif
    return peers;
}

std::string missing_background_peers() {
#if APERTURE_OPENCV_BGSEGM
    return "";
#else
    return "MOG, GMG, CNT, LSBP and GSOC: OpenCV's contributed module bgsegm is not installed";
#endif
}

#else

std::vector<BackgroundPeer> background_peers(int) { return {}; }
std::string missing_background_peers() {
    return "MOG2, KNN, MOG, GMG, CNT, LSBP and GSOC: built without OpenCV";
}

#endif

}  // namespace aperture::bench
