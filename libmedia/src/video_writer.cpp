// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/video_writer.hpp"

#include "aperture/core/error.hpp"

#if APERTURE_OPENCV
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/cpu.h>
}

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <string>

#include "libmedia/src/yuv_frame.hpp"
#endif

namespace aperture::media {

#if APERTURE_OPENCV

namespace {

constexpr double usual_rate = 25;
constexpr int most_threads = 8;  // each keeps frames

struct Free {
    void operator()(AVFormatContext* container) const {
        avio_closep(&container->pb);
        avformat_free_context(container);
    }
    void operator()(AVCodecContext* encoder) const { avcodec_free_context(&encoder); }
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
    void operator()(AVPacket* packet) const { av_packet_free(&packet); }
};

template <class T>
using Freed = std::unique_ptr<T, Free>;

/// FFmpeg's allocations fail for want of memory alone.
template <class T>
Freed<T> freed(T* allocated) {
    if (allocated == nullptr) throw std::bad_alloc();
    return Freed<T>(allocated);
}

struct Encoder {
    const char* name;
    AVPixelFormat pixels;
    const char* options;
};

/// In order of preference. x264's usual preset loses as much in half the bytes, but takes almost
/// twenty times as long.
constexpr std::array lossy_encoders{
    Encoder{"libx264", AV_PIX_FMT_YUV420P, "preset=ultrafast,crf=24"},
    Encoder{"mpeg4", AV_PIX_FMT_YUV420P, "flags=+qscale,global_quality=354"},
};
/// FFV1 takes seven times as long for two thirds of the bytes.
constexpr std::array grey_encoders{Encoder{"jpegls", AV_PIX_FMT_GRAY8, ""}};

/// Null if FFmpeg has no such encoder or it does not take such frames.
Freed<AVCodecContext> open_encoder(const Encoder& choice, int width, int height, AVRational rate) {
    const AVCodec* codec = avcodec_find_encoder_by_name(choice.name);
    if (codec == nullptr) return nullptr;
    Freed<AVCodecContext> encoder = freed(avcodec_alloc_context3(codec));
    encoder->width = width;
    encoder->height = height;
    encoder->pix_fmt = choice.pixels;
    encoder->framerate = rate;
    encoder->time_base = av_inv_q(rate);
    encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    encoder->thread_count = std::min(av_cpu_count(), most_threads);
    if (choice.pixels != AV_PIX_FMT_GRAY8) {
        // That of YuvFrame. Players would take BT.709 for large frames.
        encoder->colorspace = AVCOL_SPC_SMPTE170M;
        encoder->color_range = AVCOL_RANGE_MPEG;
    }
    AVDictionary* options = nullptr;
    av_dict_parse_string(&options, choice.options, "=", ",", 0);
    const int error = avcodec_open2(encoder.get(), codec, &options);
    av_dict_free(&options);
    return error < 0 ? nullptr : std::move(encoder);
}

}  // namespace

struct VideoWriter::State {
    std::string shown;
    AtomicFile file;
    int width;  ///< of incoming frames
    int height;
    bool grey;
    Freed<AVCodecContext> encoder;  ///< null when the video is finished
    Freed<AVFormatContext> container;
    Freed<AVFrame> frame;
    Freed<AVPacket> packet;
    std::int64_t written = 0;

    State(const std::filesystem::path& target, int columns, int rows, VideoCoding coding)
        : shown(target.string()),
          file(target),
          width(columns),
          height(rows),
          grey(coding == VideoCoding::lossless_grey) {}
    void open(AVRational rate);
    void begin_frame(bool of_levels, core::index_t columns, core::index_t rows);
    core::View<std::uint8_t, 2, core::Host> plane(std::size_t number) const;
    void end_frame();
    void encode(const AVFrame* next);
    void expects_done(int result) const;
};

/// Throws if a result of FFmpeg is an error.
void VideoWriter::State::expects_done(int result) const {
    if (result >= 0) return;
    constexpr int last_of_the_system = 4095;
    if (AVUNERROR(result) <= last_of_the_system) file.fail(AVUNERROR(result));
    std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
    av_strerror(result, text.data(), text.size());
    throw core::InvalidArgument(core::text(shown, ": cannot write: ", text.data()));
}

void VideoWriter::State::open(AVRational rate) {
    // Errors are reported once, by us; a level that somebody has chosen is kept.
    if (av_log_get_level() == AV_LOG_INFO) av_log_set_level(AV_LOG_QUIET);
    const int stored_width = grey ? width : width + width % 2;
    const int stored_height = grey ? height : height + height % 2;
    using Encoders = std::span<const Encoder>;
    for (const Encoder& choice : grey ? Encoders(grey_encoders) : Encoders(lossy_encoders)) {
        encoder = open_encoder(choice, stored_width, stored_height, rate);
        if (encoder) break;
    }
    core::expects(encoder != nullptr, shown, ": cannot write: no encoder for a video of ", width,
                  'x', height, " pixels");
    AVFormatContext* allocated = nullptr;
    expects_done(
        avformat_alloc_output_context2(&allocated, nullptr, grey ? "matroska" : "mp4", nullptr));
    container = freed(allocated);
    container->flags |= AVFMT_FLAG_BITEXACT;  // no random identifiers
    AVStream* stream = avformat_new_stream(container.get(), nullptr);
    if (stream == nullptr) throw std::bad_alloc();
    expects_done(avcodec_parameters_from_context(stream->codecpar, encoder.get()));
    stream->time_base = encoder->time_base;
    stream->avg_frame_rate = rate;
    const std::string path = "file:" + std::filesystem::absolute(file.partial()).string();
    expects_done(avio_open(&container->pb, path.c_str(), AVIO_FLAG_WRITE));
    expects_done(avformat_write_header(container.get(), nullptr));

    packet = freed(av_packet_alloc());
    frame = freed(av_frame_alloc());
    frame->width = stored_width;
    frame->height = stored_height;
    frame->format = encoder->pix_fmt;
    expects_done(av_frame_get_buffer(frame.get(), 0));
}

void VideoWriter::State::begin_frame(bool of_levels, core::index_t columns, core::index_t rows) {
    core::expects(encoder != nullptr, shown, ": the video is already finished");
    core::expects(of_levels == grey, shown, ": cannot write: a frame in ",
                  of_levels ? "grey in a video in colour" : "colour in a grey video");
    core::expects(columns == width && rows == height, shown, ": cannot write: a frame of ", columns,
                  'x', rows, " pixels in a video of ", width, 'x', height);
    expects_done(av_frame_make_writable(frame.get()));
}

void VideoWriter::State::end_frame() {
    frame->pts = written++;
    encode(frame.get());
}

/// Of the frame that is encoded next; chroma has half the size of the first.
core::View<std::uint8_t, 2, core::Host> VideoWriter::State::plane(std::size_t number) const {
    const int parts = number == 0 ? 1 : 2;
    return {frame->data[number],
            {frame->height / parts, frame->width / parts},
            {frame->linesize[number], 1}};
}

/// Without a frame, writes what the encoder has kept.
void VideoWriter::State::encode(const AVFrame* next) {
    expects_done(avcodec_send_frame(encoder.get(), next));
    const AVStream* stream = container->streams[0];
    while (true) {
        const int received = avcodec_receive_packet(encoder.get(), packet.get());
        if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) return;
        expects_done(received);
        packet->duration = 1;
        av_packet_rescale_ts(packet.get(), encoder->time_base, stream->time_base);
        expects_done(av_interleaved_write_frame(container.get(), packet.get()));
    }
}

VideoWriter::VideoWriter(const std::filesystem::path& target, int width, int height,
                         double frames_per_second, VideoCoding coding)
    : state_(core::owned(std::make_unique<State>(target, width, height, coding))) {
    core::expects(width > 0 && height > 0, state_->shown, ": cannot write: a video of ", width, 'x',
                  height, " pixels");
    core::expects(frames_per_second >= 0, state_->shown, ": cannot write: ", frames_per_second,
                  " frames/s");
    constexpr int most_of_mpeg4 = 65535;  // numerator and denominator
    state_->open(av_d2q(frames_per_second > 0 ? frames_per_second : usual_rate, most_of_mpeg4));
}

void VideoWriter::write(const Picture& frame) {
    state_->begin_frame(false, frame.width, frame.height);
    store_yuv(frame, {state_->plane(0), state_->plane(1), state_->plane(2)});
    state_->end_frame();
}

void VideoWriter::write(core::View<const std::uint8_t, 2, core::Host> levels) {
    const auto [rows, columns] = levels.extent;
    state_->begin_frame(true, columns, rows);
    const auto to = state_->plane(0);
    for (core::index_t y = 0; y < rows; ++y) {
        for (core::index_t x = 0; x < columns; ++x) to(y, x) = levels(y, x);
    }
    state_->end_frame();
}

AtomicFile VideoWriter::finish() {
    core::expects(state_->encoder != nullptr, state_->shown, ": the video is already finished");
    core::expects(state_->written > 0, state_->shown, ": cannot write: a video without frames");
    state_->encode(nullptr);
    state_->expects_done(av_write_trailer(state_->container.get()));
    state_->expects_done(avio_closep(&state_->container->pb));
    state_->encoder.reset();
    return std::move(state_->file);
}

#else

struct VideoWriter::State {
    AtomicFile file;
};

VideoWriter::VideoWriter(const std::filesystem::path& target, int, int, double, VideoCoding) {
    throw core::InvalidArgument(target.string() +
                                ": cannot write: a video requires a build with OpenCV");
}
void VideoWriter::write(const Picture&) {}
void VideoWriter::write(core::View<const std::uint8_t, 2, core::Host>) {}
AtomicFile VideoWriter::finish() { return std::move(state_->file); }

#endif

}  // namespace aperture::media
