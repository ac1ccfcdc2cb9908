// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// Options with several values on a command line: "--alpha 1:64:log:32", "--solver cg,redblack".
namespace aperture::apps {

/// Of what a list consists. Only numbers have ranges; whole numbers of a range are rounded.
enum class SweptValues { numbers, whole_numbers, words };

/// An option that takes a list or a range in place of a value.
struct SweptOption {
    std::string name;  ///< "--loading"
    SweptValues values = SweptValues::numbers;
    std::string prefix{};      ///< may precede numbers: "rel:"
    bool scores_only = false;  ///< reaches only what follows the computation
};

/// The values of one option.
struct SweepAxis {
    SweptOption option;
    bool has_prefix = false;
    bool logarithmic = false;
    std::vector<std::string> texts{};  ///< each as the option takes it: "rel:0.1"
    std::vector<double> numbers{};     ///< the same without prefix; empty if they are words
    std::size_t word = 0;              ///< index of the word that has them
    std::string before{};              ///< what that word has before them: "--loading="

    /// "training_block", with its prefix "loading_rel".
    std::string name() const;
};

/// The most runs of a sweep.
inline constexpr std::size_t max_sweep_runs = 10'000;

/// The number of combinations of values; 0 without axes.
std::size_t count_runs(const std::vector<SweepAxis>& axes);

/// The number of consecutive runs that differ in values of scores only, at least 1.
std::size_t runs_scored_together(const std::vector<SweepAxis>& axes);

/// Finds the options among the words of a command line that have a list or a range. Axes are in the
/// words' order, but those of scores only are last. Throws core::InvalidArgument for a list that
/// cannot be read, and for more runs than max_sweep_runs.
std::vector<SweepAxis> find_sweep_axes(const std::vector<SweptOption>& options, int argc,
                                       const char* const* argv);

/// The index of an axis' value in a run. Runs are numbered such that the last axis changes fastest.
std::size_t value_index(const std::vector<SweepAxis>& axes, std::size_t axis, std::size_t run);

/// A command line with the values of one run in place of lists; as it is if there are no axes.
class RunArguments {
  public:
    RunArguments(int argc, const char* const* argv, const std::vector<SweepAxis>& axes,
                 std::size_t run);
    RunArguments(const RunArguments&) = delete;
    RunArguments& operator=(const RunArguments&) = delete;

    int count() const { return static_cast<int>(words_.size()); }
    char** words() { return pointers_.data(); }

  private:
    std::vector<std::string> words_;
    std::vector<char*> pointers_;
};

}  // namespace aperture::apps
