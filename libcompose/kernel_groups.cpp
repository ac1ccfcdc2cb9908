// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/kernel_groups.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "aperture/core/error.hpp"
#include "libcompose/loops.hpp"
#include "libcore/cache_folder.hpp"
#include "libcore/gpu/compile_kernel.hpp"

namespace aperture::compose {
namespace {

/// All that a kernel's machine code depends on, but for the compiler, and how KnownPlaces writes.
std::string identity(const GeneratedKernel& kernel, Target target, std::uint64_t files) {
    constexpr int format = 1;
    std::string all = core::text(format, target == Target::cpu ? " cpu " : " device ", files);
    const auto add = [&all](const std::string& part) {
        all += core::text('\n', part.size(), '\n', part);
    };
    for (const std::string& name : kernel.headers) add(name);
    for (const std::string& text : kernel.definitions) add(text);
    add(kernel.text);
    return all;
}

/// Where this process and others have compiled kernels, by the kernels' identities. On disk a place
/// is its first function's number, the functions of its group, an empty line, and the text.
class KnownPlaces {
  public:
    std::optional<KernelPlace> find(const std::string& identity) {
        const std::scoped_lock lock(mutex_);
        const auto found = places_.find(identity);
        if (found != places_.end()) return found->second;
        const auto cache = core::CacheFolder::open();
        const auto contents = cache ? cache->read(extension, identity) : std::nullopt;
        if (!contents) return std::nullopt;
        KernelPlace place;
        KernelGroup group;
        std::istringstream lines(*contents);
        lines >> place.first >> std::ws;
        for (std::string line; std::getline(lines, line) && !line.empty();) {
            group.functions.push_back(line);
        }
        group.text = contents->substr(static_cast<std::size_t>(lines.tellg()));
        place.group = std::make_shared<KernelGroup>(std::move(group));
        return keep(identity, std::move(place));
    }
    void add(const std::string& identity, const KernelPlace& place) {
        const std::scoped_lock lock(mutex_);
        keep(identity, place);
        const auto cache = core::CacheFolder::open();
        if (!cache) return;
        std::string contents = core::text(place.first, '\n');
        for (const std::string& function : place.group->functions) contents += function + '\n';
        cache->write(extension, identity, contents + '\n' + place.group->text);
    }

  private:
    static constexpr const char* extension = ".kernel";

    const KernelPlace& keep(const std::string& identity, KernelPlace place) {
        constexpr std::size_t most = 4096;
        if (places_.size() >= most) places_.clear();
        return places_[identity] = std::move(place);
    }

    std::mutex mutex_;
    std::map<std::string, KernelPlace> places_;
};

/// Calls action(i) for i below `count` on all processors, and throws what one of them threw.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& action) {
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr error;
    const auto work = [&] {
        for (std::size_t i = next++; i < count; i = next++) {
            try {
                action(i);
            } catch (...) {
                const std::scoped_lock lock(mutex);
                error = std::current_exception();
            }
        }
    };
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 1; i < std::min(count, processors()); ++i) {
            threads.emplace_back(work);
        }
        work();
    }
    if (error) std::rethrow_exception(error);
}

struct NewKernel {
    std::string identity;
    GeneratedKernel generated;
};

/// A group to compile, or to take from a cache: that has no new kernels.
struct Job {
    std::shared_ptr<const KernelGroup> group;
    std::vector<std::pair<std::string, std::size_t>> new_kernels{};  ///< and their first functions
};

/// Of every `step`th kernel from `first` on.
Job job_of(std::span<const NewKernel> kernels, std::size_t first, std::size_t step, Target target) {
    Job job;
    KernelGroup group;
    std::vector<GeneratedKernel> texts;
    for (std::size_t i = first; i < kernels.size(); i += step) {
        const NewKernel& kernel = kernels[i];
        job.new_kernels.emplace_back(kernel.identity, group.functions.size());
        for (const char* const function : kernel.generated.functions) {
            group.functions.push_back(function_name(function, texts.size()));
        }
        texts.push_back(kernel.generated);
    }
    group.text = text_of(texts, target);
    job.group = std::make_shared<KernelGroup>(std::move(group));
    return job;
}

/// Long kernels are dealt out first, so that the groups take about the same time.
std::vector<Job> jobs_of(std::vector<NewKernel> kernels, Target target) {
    std::stable_sort(kernels.begin(), kernels.end(), [](const NewKernel& a, const NewKernel& b) {
        return a.generated.text.size() > b.generated.text.size();
    });
    const std::size_t count = std::min(kernels.size(), processors());
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < count; ++i) jobs.push_back(job_of(kernels, i, count, target));
    return jobs;
}

/// Those of the kernels by their numbers, without a text where there is none, and of loops in one.
std::vector<GeneratedKernel> generated_of(const Plan& plan, Target target) {
    std::vector<GeneratedKernel> all;
    for (const Kernel* kernel : plan.kernels()) {
        all.push_back(is_generated(*kernel) ? generate(*plan.program, *kernel, target)
                                            : GeneratedKernel());
    }
    if (target == Target::cpu) return all;
    for (const Step* loop : loops_in_one_kernel(plan)) {
        all.push_back(generate(*plan.program, *loop));
    }
    return all;
}

}  // namespace

std::size_t processors() { return static_cast<std::size_t>(std::max(omp_get_num_procs(), 1)); }

std::vector<std::vector<KernelPlace>> compile_groups(
    std::span<const Plan> plans, Target target,
    const std::function<bool(const KernelGroup&)>& compile) {
    static auto& known_places = *new KnownPlaces;
    const std::uint64_t files = core::text_hash(included_texts(plans.front()));
    std::map<std::string, KernelPlace> places;                        // by identities
    std::map<std::string, std::shared_ptr<const KernelGroup>> known;  // by their texts
    std::vector<std::vector<std::string>> identities;                 // empty: without a text
    std::vector<NewKernel> unknown;
    for (const Plan& plan : plans) {
        identities.emplace_back();
        for (GeneratedKernel& generated : generated_of(plan, target)) {
            std::string& its = identities.back().emplace_back();
            if (generated.text.empty()) continue;
            its = identity(generated, target, files);
            const auto [entry, is_new] = places.try_emplace(its);
            if (!is_new) continue;
            if (const auto place = known_places.find(its)) {
                const auto [same, is_first] = known.try_emplace(place->group->text, place->group);
                entry->second = {same->second, place->first};
            } else {
                unknown.push_back({its, std::move(generated)});
            }
        }
    }
    std::vector<Job> jobs = jobs_of(std::move(unknown), target);
    for (const auto& [text, group] : known) jobs.push_back({group});
    in_parallel(jobs.size(), [&](std::size_t i) {
        const Job& job = jobs[i];
        const bool has_code = compile(*job.group);
        for (const auto& [its, first] : job.new_kernels) {
            const KernelPlace place{job.group, first};
            places.at(its) = place;  // Each thread has kernels of its own.
            if (has_code) known_places.add(its, place);
        }
    });
    std::vector<std::vector<KernelPlace>> all;
    for (const auto& of_plan : identities) {
        all.emplace_back();
        for (const std::string& its : of_plan) {
            all.back().push_back(its.empty() ? KernelPlace() : places.at(its));
        }
    }
    return all;
}

}  // namespace aperture::compose
