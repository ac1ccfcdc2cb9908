// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/output_files.hpp"

#include <algorithm>
#include <concepts>
#include <numeric>
#include <sstream>
#include <utility>

#include "aperture/core/version.hpp"
#include "aperture/media/image_file.hpp"
#include "aperture/media/npy_file.hpp"
#include "aperture/media/video_writer.hpp"
#include "aperture/rpca/score.hpp"
#include "apps/common/file_names.hpp"

namespace aperture::apps {
namespace {

using std::filesystem::path;

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
    const auto [rows, columns] = mask.extent;
    for (index_t row = 0; row < rows; ++row) {
        const std::uint8_t* const marks = &mask(row, 0);
        if (std::count(marks, marks + columns, 0) == columns) continue;
        for (index_t column = 0; column < columns; ++column) {
            if (!marked(mask, row, column)) continue;
            picture.blend(static_cast<int>(column), static_cast<int>(row), tint,
                          on_outline(mask, row, column) ? 1.0F : tint_opacity);
        }
    }
    return picture;
}

rpca::MaskView mask_of(const ResultFrames& results, index_t frame) {
    return std::as_const(results.masks).view()[frame];
}

media::Picture overlay_of(const ResultFrames& results, index_t frame) {
    return draw_overlay(results.pictures[static_cast<std::size_t>(frame)], mask_of(results, frame));
}

media::VideoCoding coding_of(Content content) {
    return content == Content::mask ? media::VideoCoding::lossless_grey : media::VideoCoding::lossy;
}

/// Calls `use` with the picture of a frame's results, of a mask with its levels.
template <class Use>
void draw(Content content, const ResultFrames& results, index_t frame, const Use& use) {
    switch (content) {
        case Content::background:
            return use(media::to_picture(std::as_const(results.background).view()[frame]));
        case Content::foreground:
            return use(media::to_picture(std::as_const(results.difference).view()[frame]));
        case Content::mask:
            return use(mask_of(results, frame));
        case Content::overlay:
            return use(overlay_of(results, frame));
    }
}

class Video final : public ResultOutput {
  public:
    Video(Content content, const path& file, const OutputDescription& description)
        : content_(content),
          writer_(file, static_cast<int>(description.shape.columns),
                  static_cast<int>(description.shape.rows), description.frames_per_second,
                  coding_of(content)) {}
    void write(const ResultFrames& results) override {
        for (index_t i = results.first; i < results.last; ++i) {
            draw(content_, results, i, [&](const auto& drawn) { writer_.write(drawn); });
        }
    }
    std::optional<media::AtomicFile> finish() override { return writer_.finish(); }

  private:
    Content content_;
    media::VideoWriter writer_;
};

class Pictures final : public ResultOutput {
  public:
    Pictures(Content content, path folder, std::string comment)
        : content_(content), folder_(std::move(folder)), comment_(std::move(comment)) {}
    void write(const ResultFrames& results) override {
        for (index_t i = results.first; i < results.last; ++i) {
            draw(content_, results, i, [&](const auto& drawn) {
                media::new_picture(numbered_file(folder_, results.number(i), ".png"), drawn,
                                   comment_)
                    .commit_unsynced();
            });
            ++frames_;
        }
    }
    std::optional<media::AtomicFile> finish() override {
        media::sync_file_system(folder_);
        return std::nullopt;
    }
    index_t frames_there() const override { return frames_; }

  private:
    Content content_;
    path folder_;
    std::string comment_;
    index_t frames_ = 0;
};

/// Calls `write` with each frame's results: a view of float or std::uint8_t.
template <class Write>
void for_each_frame(Content content, const ResultFrames& results, const Write& write) {
    for (index_t i = results.first; i < results.last; ++i) {
        switch (content) {
            case Content::background:
                write(std::as_const(results.background).view()[i]);
                break;
            case Content::foreground:
                write(std::as_const(results.difference).view()[i]);
                break;
            case Content::mask:
                write(mask_of(results, i));
                break;
            case Content::overlay: {
                media::Picture picture = overlay_of(results, i);
                write(core::View<const std::uint8_t, 3, core::Host>(picture.view()));
                break;
            }
        }
    }
}

/// Extents of one frame's results.
std::vector<index_t> frame_extents(Content content, const FrameShape& shape) {
    switch (content) {
        case Content::mask:
            return {shape.rows, shape.columns};
        case Content::overlay:
            return {shape.rows, shape.columns, 3};
        default:
            return {shape.channels, shape.rows, shape.columns};
    }
}

bool of_bytes(Content content) { return content == Content::mask || content == Content::overlay; }

template <class T>
class Numbers final : public ResultOutput {
  public:
    Numbers(Content content, const path& file, const FrameShape& shape)
        : content_(content), writer_(file, frame_extents(content, shape)) {}
    void write(const ResultFrames& results) override {
        for_each_frame(content_, results, [&](const auto& frame) {
            if constexpr (std::same_as<decltype(frame.data), const T*>) writer_.append(frame.data);
        });
    }
    std::optional<media::AtomicFile> finish() override { return writer_.finish(); }

  private:
    Content content_;
    media::NpyWriter<T> writer_;
};

class Datasets final : public ResultOutput {
  public:
    Datasets(const BgsubOptions& options, const OutputDescription& description)
        : contents_(options.saved), file_(output_files(options).front().path) {
        for (const Content content : contents_) create(content, description);
        write_pixels("row", description.shape.rows);
        write_pixels("column", description.shape.columns);
        write_parameters(file_, options.common, input_files(options), description.parameters);
    }
    void write(const ResultFrames& results) override {
        for (const Content content : contents_) {
            auto at = static_cast<index_t>(numbers_.size());
            for_each_frame(content, results,
                           [&](const auto& frame) { write_frame(content, at++, frame); });
        }
        for (index_t i = results.first; i < results.last; ++i) {
            numbers_.push_back(static_cast<double>(results.number(i)));
        }
    }
    std::optional<media::AtomicFile> finish() override {
        file_.coordinates("frame", numbers_, "frames", "number of the frame in the input");
        return file_.finish();
    }

  private:
    static std::string dataset(Content content) {
        return core::text('/', choice_name(content_choices, content));
    }

    void create(Content content, const OutputDescription& description) {
        std::vector<index_t> extents = frame_extents(content, description.shape);
        extents.insert(extents.begin(), description.frames);
        const bool grows = description.frames == 0;
        switch (content) {
            case Content::mask:
                file_.create<std::uint8_t>(dataset(content), extents, {"frame", "row", "column"},
                                           grows);
                break;
            case Content::overlay:
                file_.create<std::uint8_t>(dataset(content), extents,
                                           {"frame", "row", "column", "colour"}, grows);
                break;
            default:
                file_.create<float>(dataset(content), extents,
                                    {"frame", "channel", "row", "column"}, grows);
        }
    }

    template <class T, int Rank>
    void write_frame(Content content, index_t at, const core::View<T, Rank, core::Host>& frame) {
        core::Extents<Rank + 1> first{at};
        core::Extents<Rank + 1> extents{1};
        std::copy(frame.extent.begin(), frame.extent.end(), extents.begin() + 1);
        file_.write_part(dataset(content), first,
                         core::View<const T, Rank + 1, core::Host>(frame.data, extents));
    }

    void write_pixels(const char* axis, index_t count) {
        std::vector<double> values(static_cast<std::size_t>(count));
        std::iota(values.begin(), values.end(), 0.0);
        file_.coordinates(axis, values, "pixels", axis);
    }

    std::vector<Content> contents_;
    media::ResultFile file_;
    std::vector<double> numbers_;  ///< of the frames written
};

std::unique_ptr<ResultOutput> open_output(const BgsubOptions& options, Content content,
                                          const path& file, const OutputDescription& description) {
    switch (options.format) {
        case OutFormat::mp4:
            return std::make_unique<Video>(content, file, description);
        case OutFormat::png:
            return std::make_unique<Pictures>(content, file, description.run(options));
        default:
            break;
    }
    if (of_bytes(content)) {
        return std::make_unique<Numbers<std::uint8_t>>(content, file, description.shape);
    }
    return std::make_unique<Numbers<float>>(content, file, description.shape);
}

}  // namespace

void check_outputs(const BgsubOptions& options, const FrameReader& frames) {
    const NamedFiles outputs = output_files(options);
    const bool folders = options.format == OutFormat::png;
    NamedFiles files = folders ? NamedFiles{} : outputs;
    append(files, "plot of shifts", options.plot_shifts);
    check_output_files(named_files("frame", frames.files()), files, options.common);
    if (folders) check_output_folders(outputs, frames.images());
}

void check_run_outputs(const BgsubOptions& run) {
    const NamedFiles outputs = output_files(run);
    if (run.format == OutFormat::png) return check_output_folders(outputs, {});
    check_output_files(input_files(run), outputs, run.common);
}

std::string OutputDescription::run(const BgsubOptions& options) const {
    std::ostringstream text;
    text << "bgsub " << core::version();
    for (const auto& [name, value] : parameters) {
        text << ' ' << name << '=';
        std::visit([&](const auto& stored) { text << stored; }, value);
    }
    if (options.frames.last) text << " last=" << *options.frames.last;
    for (const path& input : options.inputs) {
        text << ' ' << input.string();
        std::error_code error;
        if (const auto size = std::filesystem::file_size(input, error); !error) {
            text << ':' << size;
        }
    }
    return text.str();
}

index_t output_bytes(const BgsubOptions& options, const FrameShape& shape) {
    index_t bytes = 0;
    if (options.format != OutFormat::mp4) return bytes;
    for (const Content content : options.saved) {
        bytes += shape.pixels() * media::encoder_bytes_per_pixel(coding_of(content));
    }
    return bytes;
}

bool read_pictures(const BgsubOptions& options, const OutputDescription& description,
                   ResultFrames& results) {
    const NamedFiles folders = output_files(options);
    const std::string run = description.run(options);
    const auto file = [](const path& folder, index_t number) {
        return media::picture_name(numbered_file(folder, number, ".png"));
    };
    for (index_t i = results.first; i < results.last; ++i) {
        for (const NamedFile& folder : folders) {
            if (!media::is_whole_picture(file(folder.path, results.number(i)), run)) return false;
        }
    }
    const auto mask = std::find(options.saved.begin(), options.saved.end(), Content::mask);
    const path& masks = folders[static_cast<std::size_t>(mask - options.saved.begin())].path;
    const auto [channels, rows, columns] = description.shape;
    results.masks.reshape({static_cast<index_t>(results.numbers.size()), rows, columns});
    for (index_t i = results.first; i < results.last; ++i) {
        const media::Image image = media::read_image(file(masks, results.number(i)));
        std::transform(image.planes.begin(), image.planes.begin() + rows * columns,
                       &results.masks(i, 0, 0),
                       [](float level) { return static_cast<std::uint8_t>(level); });
    }
    return true;
}

std::vector<std::unique_ptr<ResultOutput>> open_outputs(const BgsubOptions& options,
                                                        const OutputDescription& description) {
    std::vector<std::unique_ptr<ResultOutput>> outputs;
    if (options.format == OutFormat::h5) {
        outputs.push_back(std::make_unique<Datasets>(options, description));
        return outputs;
    }
    const NamedFiles files = output_files(options);
    for (std::size_t i = 0; i < files.size(); ++i) {
        outputs.push_back(open_output(options, options.saved[i], files[i].path, description));
    }
    return outputs;
}

}  // namespace aperture::apps
