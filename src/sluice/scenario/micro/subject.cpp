// sluice/scenario/micro/subject.cpp - runs, checks and samples a MicroOp for the worker protocol.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/scenario/micro/check.h"
#include "sluice/scenario/micro/micro.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::scenario {
namespace {

using View = image::ImageView<std::uint8_t>;

constexpr std::size_t kCheckedImages = 3;
constexpr std::size_t kCheckedClips = 1;

/// One op per thread; a draw belongs to its item, so the outputs do not depend on their number.
class MicroSubject final : public measure::Subject {
 public:
  MicroSubject(MicroCase one, std::shared_ptr<const MicroInputs> inputs,
               std::vector<std::unique_ptr<MicroOp>> ops, std::uint64_t seed)
      : one_(std::move(one)),
        inputs_(std::move(inputs)),
        ops_(std::move(ops)),
        op_(ops_.front().get()),
        pool_(static_cast<unsigned>(ops_.size())),
        seed_(seed) {}

  /// Runs item 0 once, for what the answer to `prepare` says about the output.
  void look() {
    run(0, 0, 0, 0);
    bytes_per_item_ = 0;
    for (const View& frame : op_->output(0))
      bytes_per_item_ += static_cast<double>(frame.row_bytes()) * frame.height();
    for (const auto& frame : op_->output_f32(0))
      bytes_per_item_ += static_cast<double>(frame.row_bytes()) * frame.height();
  }

  Result<std::string> check() override {
    try {
      return digest_of_checked();
    } catch (const Json::exception& problem) {
      return Error{Errc::usage, fmt::format("spec.params: {}", problem.what())};
    } catch (const std::exception& problem) {  // the library itself refuses
      return Error{Errc::unsupported, printable(problem.what())};
    }
  }
  void run_pass() override {
    run_from(0, inputs_->size());
    ++pass_;
  }
  std::int64_t run_items(std::int64_t first, std::int64_t count) override {
    const auto begin = std::min(static_cast<std::size_t>(first), inputs_->size());
    const auto end = std::min(begin + static_cast<std::size_t>(count), inputs_->size());
    run_from(begin, end);
    return static_cast<std::int64_t>(end - begin);
  }
  [[nodiscard]] std::int64_t items_per_pass() const override {
    return static_cast<std::int64_t>(inputs_->size());
  }
  [[nodiscard]] double bytes_per_item() const override { return bytes_per_item_; }
  [[nodiscard]] Json output_info() const override {
    return Json{{"shape", shape_}, {"dtype", dtype_}};
  }
  Result<measure::OutputSamples> sample(std::int64_t items, std::int64_t draws) override {
    measure::OutputSamples samples;
    for (std::size_t item = 0; item < static_cast<std::size_t>(items); ++item) {
      for (std::int64_t draw = 0; draw < draws; ++draw) {
        run(item, 0, 0, static_cast<std::uint32_t>(draw));
        if (const auto bytes = op_->output(0); !bytes.empty())
          add(samples, bytes.front());
        else
          add(samples, op_->output_f32(0).at(0));
      }
    }
    return samples;
  }

 private:
  void run(std::size_t item, std::size_t slot, std::uint64_t pass, std::uint32_t draw) {
    Rng rng(RngKey{seed_, pass, item, draw, 0});
    op_->run(item, slot, rng);
  }
  void run_from(std::size_t begin, std::size_t end) {
    if (pool_.size() > 1) {
      pool_.parallel_for(end - begin, [&](std::size_t i, unsigned worker) {
        Rng rng(RngKey{seed_, pass_, begin + i, 0, 0});
        ops_[worker]->run(begin + i, i % kMicroSlots, rng);
      });
      return;
    }
    for (std::size_t item = begin; item < end; ++item)
      run(item, item % kMicroSlots, pass_, 0);
  }

  /// Of the first outputs, with the draws of pass 0: the same in every process.
  Result<std::string> digest_of_checked() {
    const std::size_t count =
        std::min(inputs_->size(), inputs_->clips() ? kCheckedClips : kCheckedImages);
    Sha256 sha;
    bool changed = false;
    bool could_change = false;
    for (std::size_t item = 0; item < count; ++item) {
      run(item, 0, 0, 0);
      if (item == 0) SLUICE_CHECK(op_->verify(item, 0));
      const std::vector<View> frames = op_->output(0);
      if (frames.empty()) {
        SLUICE_CHECK(check_f32(sha, item));
        changed = true;
        continue;
      }
      if (static_cast<int>(frames.size()) != inputs_->frames(item))
        return Error{Errc::measurement,
                     fmt::format("{}: output has {} frames, the input {}", one_.transform,
                                 frames.size(), inputs_->frames(item))};
      for (std::size_t f = 0; f < frames.size(); ++f) {
        const View input = inputs_->view(item, static_cast<int>(f));
        SLUICE_CHECK(check_output(one_, input, frames[f]));
        add(sha, frames[f]);
        changed |= !same_samples(input, frames[f]);
        could_change |= !flat(input);
      }
      if (item == 0) note_shape(frames);
    }
    if (could_change && !changed && !may_keep(one_.transform))
      return Error{Errc::measurement, fmt::format("{}: the output is the input", one_.transform)};
    return sha.hex();
  }
  /// Finite values of the input's shape; verify() has compared them with the definition.
  Status check_f32(Sha256& sha, std::size_t item) {
    const auto frames = op_->output_f32(0);
    if (frames.empty() || static_cast<int>(frames.size()) != inputs_->frames(item))
      return Error{Errc::measurement,
                   fmt::format("{}: output has {} frames, the input {}", one_.transform,
                               frames.size(), inputs_->frames(item))};
    for (const image::ImageView<float>& frame : frames) {
      if (!image::same_shape(frame, inputs_->view(item)))
        return Error{Errc::measurement,
                     fmt::format("{}: output is {}x{}x{}", one_.transform, frame.width(),
                                 frame.height(), frame.channels())};
      for (std::size_t k = 0; k < frame.samples(); ++k)
        if (!std::isfinite(frame.data()[k]))
          return Error{Errc::measurement, one_.transform + ": a value is not finite"};
      add(sha, frame);
    }
    if (item == 0) note_shape(frames);
    return ok;
  }
  template <class T>
  void note_shape(const std::vector<image::BasicView<T>>& frames) {
    shape_ = {frames[0].height(), frames[0].width(), frames[0].channels()};
    if (inputs_->clips()) shape_.insert(shape_.begin(), static_cast<std::int64_t>(frames.size()));
    dtype_ = std::same_as<std::remove_const_t<T>, float> ? "float32" : "uint8";
  }
  template <class T>
  static void add(Sha256& sha, image::BasicView<T> frame) {
    sha.update(fmt::format("{}x{}x{} {};", frame.height(), frame.width(), frame.channels(),
                           sizeof(T) == 1 ? "u8" : "f32"));
    for (int y = 0; y < frame.height(); ++y)
      sha.update(std::span(reinterpret_cast<const std::uint8_t*>(frame.row(y)), frame.row_bytes()));
  }
  template <class T>
  static void add(measure::OutputSamples& samples, image::BasicView<T> frame) {
    samples.shapes.push_back({frame.height(), frame.width(), frame.channels()});
    for (int y = 0; y < frame.height(); ++y)
      samples.values.insert(samples.values.end(), frame.row(y), frame.row(y) + frame.row_samples());
  }
  /// One colour all over: then most transforms change nothing.
  static bool flat(View input) {
    for (int y = 0; y < input.height(); ++y)
      for (int x = 0; x < input.width(); ++x)
        for (int c = 0; c < input.channels(); ++c)
          if (input.at(x, y, c) != input.at(0, 0, c)) return false;
    return true;
  }

  MicroCase one_;
  std::shared_ptr<const MicroInputs> inputs_;
  std::vector<std::unique_ptr<MicroOp>> ops_;
  MicroOp* op_;  // the first: checks and samples are its work
  ThreadPool pool_;
  std::uint64_t seed_;
  std::uint64_t pass_ = 1;  // 0 is that of check(); later ones draw anew
  double bytes_per_item_ = 0;
  std::vector<std::int64_t> shape_;
  const char* dtype_ = "uint8";
};

Result<MicroCase> read_case(const measure::SubjectContext& context) {
  MicroCase one;
  const std::string& name = context.case_name;
  one.scenario = name.substr(0, name.find('/'));
  one.transform = name.substr(name.rfind('/') + 1);
  const Json spec = context.spec.is_object() ? context.spec : Json::object();
  one.transform = spec.value("transform", one.transform);
  one.params = spec.value("params", Json::object());
  one.channels = spec.value("channels", one.scenario == "image-9ch" ? 9 : 3);
  one.clips = one.scenario == "video-16f";
  one.frames = one.clips ? spec.value("clip_length", 16) : 1;
  if (!one.params.is_object()) return Error{Errc::usage, "spec.params is no object"};
  if ((one.channels != 3 && one.channels != 9) || one.frames < 1 || one.frames > 1024)
    return Error{Errc::usage, fmt::format("spec has channels {} (3 or 9), clip_length {} (1 to "
                                          "1024)",
                                          one.channels, one.frames)};
  return one;
}

/// The synthetic inputs asked for last: a worker is asked for all transforms of a scenario in turn.
class MadeInputs {
 public:
  Result<std::shared_ptr<const MicroInputs>> of(const MicroCase& one) {
    if (inputs_ == nullptr || channels_ != one.channels || inputs_->clips() != one.clips ||
        inputs_->frames(0) != one.frames) {
      SLUICE_TRY(auto made, MicroInputs::synthetic(one));
      inputs_ = std::make_shared<const MicroInputs>(std::move(made));
      channels_ = one.channels;
    }
    return inputs_;
  }

 private:
  std::shared_ptr<const MicroInputs> inputs_;
  int channels_ = 0;
};

/// The items fit the row: clips for clips, and as many channels as it says.
Status check_inputs(const MicroCase& one, const MicroInputs& inputs) {
  if (inputs.clips() != one.clips)
    return Error{Errc::usage,
                 fmt::format("{} works on {}, the loaded inputs are {}", one.scenario,
                             one.clips ? "clips" : "images", one.clips ? "images" : "clips")};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs.view(i).channels() != one.channels)
      return Error{Errc::usage,
                   fmt::format("{} works on {} channels, loaded item {} has {}", one.scenario,
                               one.channels, i, inputs.view(i).channels())};
  return ok;
}

}  // namespace

void add_micro_subjects(measure::Catalogue& catalogue, const std::vector<std::string>& transforms,
                        MicroSubjectFactory make) {
  auto loaded = std::make_shared<std::shared_ptr<const MicroInputs>>();
  const auto made = std::make_shared<MadeInputs>();
  const auto factory =
      [loaded, made, make = std::move(make)](
          const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
    SLUICE_TRY(MicroCase one, read_case(context));
    std::shared_ptr<const MicroInputs> inputs = *loaded;
    if (context.synthetic) {
      SLUICE_TRY(inputs, made->of(one));
    }
    if (inputs == nullptr)
      return Error{Errc::usage, "no inputs are loaded: `load` with `inputs` comes first"};
    SLUICE_CHECK(check_inputs(one, *inputs));
    try {
      return make(std::move(one), inputs, context);
    } catch (const std::exception& problem) {
      return Error{Errc::unsupported, printable(problem.what())};
    }
  };
  for (const char* prefix : {"image-rgb/micro/", "image-9ch/micro/", "video-16f/micro/"})
    catalogue.prefixes[prefix] = factory;
  catalogue.cases = transforms;
  catalogue.load = [loaded](const measure::SubjectContext& context) -> Result<Json> {
    loaded->reset();
    if (context.inputs_index.empty()) return Json::object();  // a case that reads data_dir itself
    SLUICE_TRY(auto inputs,
               MicroInputs::open(context.inputs_index, context.inputs_data, context.num_items));
    *loaded = std::make_shared<const MicroInputs>(std::move(inputs));
    return Json{{"items", (*loaded)->size()}, {"bytes", (*loaded)->bytes()}};
  };
}

void add_micro(measure::Catalogue& catalogue, const std::vector<std::string>& transforms,
               MicroOpFactory make) {
  add_micro_subjects(
      catalogue, transforms,
      [make = std::move(make)](
          MicroCase one, std::shared_ptr<const MicroInputs> inputs,
          const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
        std::vector<std::unique_ptr<MicroOp>> ops;
        for (int thread = 0; thread < std::max(1, context.threads); ++thread) {
          SLUICE_TRY(auto op, make(one, *inputs));
          ops.push_back(std::move(op));
        }
        auto subject = std::make_unique<MicroSubject>(std::move(one), std::move(inputs),
                                                      std::move(ops), context.seed);
        subject->look();
        return std::unique_ptr<measure::Subject>(std::move(subject));
      });
}

}  // namespace sluice::scenario
