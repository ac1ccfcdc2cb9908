// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/output_files.hpp"

#include <array>
#include <numeric>

#include "aperture/media/image_file.hpp"
#include "aperture/media/npy_file.hpp"
#include "aperture/media/video_writer.hpp"
#include "aperture/rpca/score.hpp"
#include "apps/common/file_names.hpp"

namespace aperture::apps {
namespace {

using std::filesystem::path;

/// In the order of `output_files`.
enum Kind { background, foreground, mask, overlay };
constexpr std::array<const char*, 4> kind_names{"background", "foreground", "mask", "overlay"};

constexpr media::Colour tint{255, 64, 0};
constexpr float tint_opacity = 0.35F;

bool marked(rpca::MaskView mask, index_t row, index_t column) {
    return row >= 0 && row < mask.extent[0] && column >= 0 && column < mask.extent[1] &&
           mask(row, column) != 0;
}

/// Whether one of the four neighbours is unmarked; pixels beyond the border count as unmarked.
bool on_outline(rpca::MaskView mask, index_t row, index_t column) {
    return !marked(mask, row - 1, column) || !marked(mask, row + 1, column) ||
           !marked(mask, row, column - 1) || !marked(mask, row, column + 1);
}

/// Tints and outlines the marked pixels of the frame. The mask has the frame's size.
media::Picture draw_overlay(const media::Picture& frame, rpca::MaskView mask) {
    media::Picture picture = frame;
    for (index_t row = 0; row < mask.extent[0]; ++row) {
        for (index_t column = 0; column < mask.extent[1]; ++column) {
            if (!marked(mask, row, column)) continue;
            picture.blend(static_cast<int>(column), static_cast<int>(row), tint,
                          on_outline(mask, row, column) ? 1.0F : tint_opacity);
        }
    }
    return picture;
}

std::array<media::Picture, 4> draw(const FrameResult& result) {
    return {media::to_picture(result.background), media::to_picture(result.difference),
            media::to_picture(result.mask), draw_overlay(result.picture, result.mask)};
}

class Videos final : public ResultOutput {
  public:
    Videos(const BgsubOptions& options, const OutputDescription& description) {
        const NamedFiles files = output_files(options);
        for (const Kind kind : {background, foreground, mask, overlay}) {
            writers_.emplace_back(
                files[kind].path, static_cast<int>(description.shape.columns),
                static_cast<int>(description.shape.rows), description.frames_per_second,
                kind == mask ? media::VideoCoding::lossless_grey : media::VideoCoding::lossy);
        }
    }
    void write(const FrameResult& result) override {
        const auto pictures = draw(result);
        for (std::size_t i = 0; i < pictures.size(); ++i) writers_[i].write(pictures[i]);
    }
    void finish(media::OutputSet& outputs) override {
        for (media::VideoWriter& writer : writers_) outputs.add(writer.finish());
    }

  private:
    std::vector<media::VideoWriter> writers_;
};

class Pictures final : public ResultOutput {
  public:
    explicit Pictures(const BgsubOptions& options) : folders_(output_files(options)) {}
    void write(const FrameResult& result) override {
        const auto pictures = draw(result);
        media::OutputSet outputs;
        for (std::size_t i = 0; i < pictures.size(); ++i) {
            outputs.add(media::new_picture(numbered_file(folders_[i].path, result.number, ".png"),
                                           pictures[i]));
        }
        outputs.commit();
    }
    void finish(media::OutputSet&) override {}

  private:
    NamedFiles folders_;
};

class Arrays final : public ResultOutput {
  public:
    Arrays(const NamedFiles& files, const FrameShape& shape)
        : background_(files[background].path, {shape.channels, shape.rows, shape.columns}),
          foreground_(files[foreground].path, {shape.channels, shape.rows, shape.columns}),
          mask_(files[mask].path, {shape.rows, shape.columns}) {}
    void write(const FrameResult& result) override {
        background_.append(result.background.data);
        foreground_.append(result.difference.data);
        mask_.append(result.mask.data);
    }
    void finish(media::OutputSet& outputs) override {
        outputs.add(background_.finish());
        outputs.add(foreground_.finish());
        outputs.add(mask_.finish());
    }

  private:
    media::NpyWriter<float> background_;
    media::NpyWriter<float> foreground_;
    media::NpyWriter<std::uint8_t> mask_;
};

class Datasets final : public ResultOutput {
  public:
    Datasets(const BgsubOptions& options, const OutputDescription& description)
        : file_(options.output(".bgsub.h5")) {
        const auto [channels, rows, columns] = description.shape;
        const index_t frames = description.frames;
        for (const Kind kind : {background, foreground}) {
            file_.create<float>(dataset(kind), {frames, channels, rows, columns},
                                {"frame", "channel", "row", "column"}, frames == 0);
        }
        file_.create<std::uint8_t>(dataset(mask), {frames, rows, columns},
                                   {"frame", "row", "column"}, frames == 0);
        write_pixels("row", rows);
        write_pixels("column", columns);
        write_parameters(file_, options.common, input_files(options), description.parameters);
    }
    void write(const FrameResult& result) override {
        write_frame<float>(background, result.background);
        write_frame<float>(foreground, result.difference);
        const auto [rows, columns] = result.mask.extent;
        file_.write_part(
            dataset(mask), {written_, 0, 0},
            core::View<const std::uint8_t, 3, core::Host>(result.mask.data, {1, rows, columns}));
        numbers_.push_back(static_cast<double>(result.number));
        ++written_;
    }
    void finish(media::OutputSet& outputs) override {
        file_.coordinates("frame", numbers_, "frames", "number of the frame in the input");
        outputs.add(file_.finish());
    }

  private:
    static std::string dataset(Kind kind) { return core::text('/', kind_names[kind]); }

    template <class T>
    void write_frame(Kind kind, core::View<const T, 3, core::Host> frame) {
        const auto [channels, rows, columns] = frame.extent;
        file_.write_part(
            dataset(kind), {written_, 0, 0, 0},
            core::View<const T, 4, core::Host>(frame.data, {1, channels, rows, columns}));
    }

    void write_pixels(const char* axis, index_t count) {
        std::vector<double> values(static_cast<std::size_t>(count));
        std::iota(values.begin(), values.end(), 0.0);
        file_.coordinates(axis, values, "pixels", axis);
    }

    media::ResultFile file_;
    std::vector<double> numbers_;  ///< of the frames written
    index_t written_ = 0;
};

}  // namespace

void check_outputs(const BgsubOptions& options, const FrameReader& frames) {
    const NamedFiles outputs = output_files(options);
    const bool folders = options.format == OutFormat::png;
    check_output_files(named_files("frame", frames.files()), folders ? NamedFiles{} : outputs,
                       options.common);
    if (folders) check_output_folders(outputs, frames.images());
}

std::unique_ptr<ResultOutput> open_output(const BgsubOptions& options,
                                          const OutputDescription& description) {
    switch (options.format) {
        case OutFormat::mp4:
            return std::make_unique<Videos>(options, description);
        case OutFormat::png:
            return std::make_unique<Pictures>(options);
        case OutFormat::npy:
            return std::make_unique<Arrays>(output_files(options), description.shape);
        case OutFormat::h5:
            break;
    }
    return std::make_unique<Datasets>(options, description);
}

}  // namespace aperture::apps
