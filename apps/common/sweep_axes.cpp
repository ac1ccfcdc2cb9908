// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/sweep_axes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "aperture/core/error.hpp"
#include "apps/common/argument_fields.hpp"

namespace aperture::apps {
namespace {

constexpr NumberRange any_number{-1e300, 1e300};

/// The shortest text that is read as this number; of a whole number, its digits.
std::string number_text(double number) {
    constexpr double exact = 9007199254740992.0;  // 2^53
    if (number == std::floor(number) && std::abs(number) <= exact) {
        return std::to_string(static_cast<long long>(number));
    }
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    return {text.data(), end};
}

/// Without the rounding errors of a range: 1e-7 for 9.999999999999998e-8.
double twelve_digits(double number) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.12g", number);
    return std::strtod(text.data(), nullptr);
}

bool is_list(const SweptOption& option, std::string_view text) {
    if (option.values == SweptValues::words) return text.find(',') != std::string_view::npos;
    return text.find_first_of(",:") != std::string_view::npos;
}

SweepAxis read_words(SweepAxis axis, std::string_view text) {
    for (const std::string_view word : split(text, ',')) axis.texts.emplace_back(word);
    return axis;
}

SweepAxis read_numbers(SweepAxis axis, std::string_view text) {
    axis.numbers = parse_values(axis.option.name, text, any_number);
    const bool range = text.find(':') != std::string_view::npos;
    axis.logarithmic = range && text.find("log") != std::string_view::npos;
    if (range) {
        for (double& number : axis.numbers) number = twelve_digits(number);
    }
    if (range && axis.option.values == SweptValues::whole_numbers) {
        for (double& number : axis.numbers) number = std::round(number);
        axis.numbers.erase(std::unique(axis.numbers.begin(), axis.numbers.end()),
                           axis.numbers.end());
    }
    for (const double number : axis.numbers) {
        axis.texts.push_back((axis.has_prefix ? axis.option.prefix : "") + number_text(number));
    }
    return axis;
}

/// Nothing if the text is a single value.
std::optional<SweepAxis> read_axis(const SweptOption& option, std::string_view text) {
    SweepAxis axis{.option = option};
    axis.has_prefix = !option.prefix.empty() && text.starts_with(option.prefix);
    if (axis.has_prefix) text.remove_prefix(option.prefix.size());
    if (!is_list(option, text)) return std::nullopt;
    for (const std::string_view value : split(text, ',')) {
        core::expects(!value.empty(), option.name, ' ', text, ": a value is empty");
    }
    return option.values == SweptValues::words ? read_words(std::move(axis), text)
                                               : read_numbers(std::move(axis), text);
}

}  // namespace

std::string SweepAxis::name() const {
    std::string name = option.name.substr(option.name.find_first_not_of('-'));
    std::replace(name.begin(), name.end(), '-', '_');
    if (has_prefix) name += '_' + option.prefix.substr(0, option.prefix.size() - 1);
    return name;
}

std::size_t count_runs(const std::vector<SweepAxis>& axes) {
    std::size_t runs = axes.empty() ? 0 : 1;
    for (const SweepAxis& axis : axes) runs *= axis.texts.size();
    return runs;
}

std::size_t runs_scored_together(const std::vector<SweepAxis>& axes) {
    std::size_t runs = 1;
    for (const SweepAxis& axis : axes) {
        if (axis.option.scores_only) runs *= axis.texts.size();
    }
    return runs;
}

std::vector<SweepAxis> find_sweep_axes(const std::vector<SweptOption>& options, int argc,
                                       const char* const* argv) {
    std::vector<SweepAxis> axes;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        for (const SweptOption& option : options) {
            const std::string with_value = option.name + "=";
            const bool joined = word.starts_with(with_value);
            if (!joined && (word != option.name || i + 1 == argc)) continue;
            const int at = joined ? i : i + 1;
            const std::string before = joined ? with_value : "";
            auto axis = read_axis(option, std::string_view(argv[at]).substr(before.size()));
            if (!axis) continue;
            axis->word = static_cast<std::size_t>(at);
            axis->before = before;
            axes.push_back(std::move(*axis));
            const std::size_t runs = count_runs(axes);
            core::expects(runs <= max_sweep_runs, option.name, ' ', argv[at] + before.size(), ": ",
                          runs, " runs, expected at most ", max_sweep_runs);
        }
    }
    std::stable_partition(axes.begin(), axes.end(),
                          [](const SweepAxis& axis) { return !axis.option.scores_only; });
    return axes;
}

std::size_t value_index(const std::vector<SweepAxis>& axes, std::size_t axis, std::size_t run) {
    for (std::size_t later = axes.size() - 1; later > axis; --later) {
        run /= axes[later].texts.size();
    }
    return run % axes[axis].texts.size();
}

RunArguments::RunArguments(int argc, const char* const* argv, const std::vector<SweepAxis>& axes,
                           std::size_t run)
    : words_(argv, argv + argc) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
        words_[axes[i].word] = axes[i].before + axes[i].texts[value_index(axes, i, run)];
    }
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
}

}  // namespace aperture::apps
