// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/flow_peers.hpp"

#if APERTURE_OPENCV_VIDEO
#include <opencv2/core.hpp>
#include <opencv2/video.hpp>
#endif
#if APERTURE_OPENCV_OPTFLOW
#include <opencv2/optflow.hpp>
#endif

namespace aperture::bench {

#if APERTURE_OPENCV_VIDEO

namespace {

cv::Mat to_opencv(const core::Array<float, 2>& image) {
    const auto [rows, columns] = image.extent();
    const cv::Mat values(static_cast<int>(rows), static_cast<int>(columns), CV_32F,
                         const_cast<float*>(image.data()));
    cv::Mat bytes;
    values.convertTo(bytes, CV_8U);
    return bytes;
}

core::Array<float, 3> from_opencv(const cv::Mat& flow) {
    core::Array<float, 3> planes({2, flow.rows, flow.cols});
    for (int y = 0; y < flow.rows; ++y) {
        for (int x = 0; x < flow.cols; ++x) {
            const auto& uv = flow.at<cv::Vec2f>(y, x);
            planes(0, y, x) = uv[0];
            planes(1, y, x) = uv[1];
        }
    }
    return planes;
}

FlowPeer peer(const std::string& name, const cv::Ptr<cv::DenseOpticalFlow>& algorithm,
              int threads) {
    return {name, [algorithm, threads](const core::Array<float, 2>& image0,
                                       const core::Array<float, 2>& image1) {
                cv::setNumThreads(threads);
                cv::Mat flow;
                algorithm->calc(to_opencv(image0), to_opencv(image1), flow);
                return from_opencv(flow);
            }};
}

}  // namespace

std::vector<FlowPeer> flow_peers(int threads) {
    const auto dis = [](int preset) -> cv::Ptr<cv::DenseOpticalFlow> {
        return cv::DISOpticalFlow::create(preset);
    };
    std::vector<FlowPeer> peers{
        peer("DIS-ultrafast", dis(cv::DISOpticalFlow::PRESET_ULTRAFAST), threads),
        peer("DIS-fast", dis(cv::DISOpticalFlow::PRESET_FAST), threads),
        peer("DIS-medium", dis(cv::DISOpticalFlow::PRESET_MEDIUM), threads),
        // The parameters of OpenCV's own examples, which differ from the class defaults.
        peer("Farneback", cv::FarnebackOpticalFlow::create(3, 0.5, false, 15, 3, 5, 1.2), threads)};
#if APERTURE_OPENCV_OPTFLOW
    peers.push_back(peer("DualTVL1", cv::optflow::createOptFlow_DualTVL1(), threads));
    peers.push_back(peer("DeepFlow", cv::optflow::createOptFlow_DeepFlow(), threads));
#endif
    return peers;
}

std::string missing_flow_peers() {
#if APERTURE_OPENCV_OPTFLOW
    return "";
#else
    return "DualTVL1 and DeepFlow: OpenCV's contributed module optflow is not installed";
#endif
}

#else

std::vector<FlowPeer> flow_peers(int) { return {}; }
std::string missing_flow_peers() {
    return "DIS, Farneback, DualTVL1 and DeepFlow: built without OpenCV";
}

#endif

}  // namespace aperture::bench
