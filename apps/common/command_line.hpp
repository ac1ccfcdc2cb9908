// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "apps/common/argument_fields.hpp"
#include "apps/common/program.hpp"
#include "apps/common/sweep_axes.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
class Option;
}  // namespace CLI

namespace aperture::apps {

/// Properties of an added option that few options have.
class Option {
  public:
    explicit Option(CLI::Option* option) : option_(option) {}

    Option& required();
    /// The default value shown in the help.
    Option& default_text(const std::string& value);
    /// Restricts the option to use with `other`, or to use without it.
    Option& needs(const Option& other);
    Option& excludes(const Option& other);

  private:
    CLI::Option* option_;
};

/// The options of a program. `name` is "--out", "-o,--out" or, without dashes, a positional
/// argument; `value_name` represents the value in the help. Only this class's translation unit
/// includes CLI11, which compiles slowly. Arguments passed by reference must outlive parse().
class CommandLine {
  public:
    CommandLine(const std::string& program, const std::string& description,
                const std::string& example = "");
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    /// "--signed,!--unsigned": the second name stores false.
    Option flag(const std::string& name, bool& value, const std::string& description);
    /// One value; `store` throws core::InvalidArgument for an invalid text.
    Option text(const std::string& name, const std::string& value_name,
                const std::function<void(const std::string&)>& store,
                const std::string& description);
    /// `least` to `most` consecutive values; `most` < 0 means any number.
    Option texts(const std::string& name, const std::string& value_name, int least, int most,
                 const std::function<void(const std::vector<std::string>&)>& store,
                 const std::string& description);
    /// One file for each occurrence of the option.
    Option repeated_file(const std::string& name, const std::string& value_name,
                         std::vector<std::filesystem::path>& value, const std::string& description);

    /// One value, which `value_of` returns for its text.
    template <class Value, class Parse>
    Option parsed(const std::string& name, const std::string& value_name, Value& value,
                  Parse value_of, const std::string& description) {
        return text(
            name, value_name,
            [&value, value_of](const std::string& text) { value = value_of(text); }, description);
    }
    /// `value` is a path or an optional path.
    template <class Value>
    Option file(const std::string& name, const std::string& value_name, Value& value,
                const std::string& description) {
        return parsed(name, value_name, value, std::identity(), description);
    }
    /// `least` to `most` consecutive files; `most` < 0 means any number.
    Option files(const std::string& name, const std::string& value_name, int least, int most,
                 std::vector<std::filesystem::path>& value, const std::string& description);

    /// A whole number from `least` to `most`; `value` is an integer or an optional integer.
    template <class Value>
    Option whole_number(const std::string& name, const std::string& value_name, Value& value,
                        std::int64_t least, std::int64_t most, const std::string& description) {
        return text(
            name, value_name,
            [&value, name, least, most](const std::string& text) {
                store_number(value, parse_whole_number(name, text, least, most));
            },
            description);
    }

    /// A number in `range`; `value` is a double or an optional double.
    template <class Value>
    Option number(const std::string& name, const std::string& value_name, Value& value,
                  const NumberRange& range, const std::string& description) {
        const auto value_of = [name, range](const std::string& text) {
            return parse_number(name, text, range);
        };
        return parsed(name, value_name, value, value_of, description);
    }

    /// One of `choices`; `value` is an Enum or an optional Enum.
    template <class Enum, std::size_t Count, class Value>
    Option choice(const std::string& name, const Choices<Enum, Count>& choices, Value& value,
                  const std::string& description) {
        const auto value_of = [name, &choices](const std::string& text) {
            return parse_choice(name, choices, text);
        };
        return parsed(name, choice_names(choices), value, value_of, description);
    }

    /// Lets an added option take a list or a range in place of its value.
    void sweeps(const SweptOption& option);

    /// Returns false after printing what --help or --version asks for. Of a list or a range of an
    /// option that sweeps, only the first value is stored. Throws core::InvalidArgument with a
    /// one-line message for invalid arguments.
    bool parse(int argc, char** argv);
    /// The lists and ranges of the parsed command line.
    const std::vector<SweepAxis>& axes() const { return axes_; }
    /// Whether the option was given; valid after parse().
    bool given(const std::string& name) const;
    /// Throws core::InvalidArgument "NAME requires OTHER" if the option was given, unless `met`.
    void needs(const std::string& name, const char* other, bool met) const;
    /// Throws core::InvalidArgument "NAME requires OTHER" if an option was given that is not in
    /// `names`.
    void allows_only(const std::vector<std::string>& names, const char* other) const;

  private:
    friend void add_common_options(CommandLine&, const std::string&, const std::string&,
                                   CommonOptions&);
    std::string nearest_option(const std::string& unknown) const;

    template <class Value>
    static void store_number(Value& value, std::int64_t number) {
        value = static_cast<Value>(number);
    }
    template <class Value>
    static void store_number(std::optional<Value>& value, std::int64_t number) {
        value = static_cast<Value>(number);
    }

    std::string program_;
    std::unique_ptr<CLI::App> app_;
    std::vector<SweptOption> swept_;
    std::vector<SweepAxis> axes_;
};

/// The options of CommonOptions. The help names the value of --out `value_name` and shows
/// `out_default` after "Output file".
void add_common_options(CommandLine& line, const std::string& value_name,
                        const std::string& out_default, CommonOptions& options);
/// The same with --device and --repeat.
void add_run_options(CommandLine& line, const std::string& value_name,
                     const std::string& out_default, RunOptions& options);

}  // namespace aperture::apps
