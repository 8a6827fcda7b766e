// sluice/aug/make_transform.h - a transform's own types and functions become a TransformSpec.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/field.h"
#include "sluice/aug/transform.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace sluice::aug {

/// The draw of a transform without choice.
struct NoDraw {};
/// The parameters of a transform without any.
struct NoParams {};

template <class P, class D>
struct Definition {
  template <class From, class To>
  using Fast = void (*)(const Frames<From, To>&, const D&, Scratch&);
  template <class From, class To>
  using Reference = void (*)(ImageSpan<To> dst, ImageView<From> src, const D&);

  /// One function per type of sample; a template's name stands for all of its functions.
  template <template <class, class> class Function>
  struct OfTypes {
    Function<std::uint8_t, std::uint8_t> u8 = nullptr;
    Function<float, float> f32 = nullptr;
    Function<std::uint8_t, float> u8_f32 = nullptr;
  };

  std::string name;
  std::string doc;
  Parity parity = Parity::property;
  std::vector<Field<P>> params{};
  std::vector<Field<D>> draw{};
  /// Parameters and input size to a draw. Null: the transform draws nothing and D is made by
  /// `fixed`.
  D (*sample)(const P&, Rng&, Shape) = nullptr;
  /// Without randomness: what the parameters mean for this input size.
  D (*fixed)(const P&, Shape) = nullptr;
  Shape (*output)(const D&, Shape) = nullptr;  // null: the shape of the input
  Status (*check)(const P&) = nullptr;         // beyond the ranges of the fields
  Status (*fits)(const D&, Shape) = nullptr;   // a replayed draw may not suit the image
  OfTypes<Fast> fast{};
  OfTypes<Reference> reference{};
  Tolerance u8{};
  Tolerance f32{};
  ChannelRule channels = ChannelRule::any;
  bool in_place = false;
};

namespace detail {

template <class P, class D>
struct Shared {
  Definition<P, D> definition;
  TransformSpec spec;  // as the registry has it, less `make`
};

template <class P, class D>
class TransformOf final : public Transform {
 public:
  TransformOf(std::shared_ptr<const Shared<P, D>> shared, P params)
      : shared_(std::move(shared)), params_(std::move(params)) {}

  [[nodiscard]] const TransformSpec& spec() const override { return shared_->spec; }
  [[nodiscard]] Json parameters() const override {
    return aug::to_json(definition().params, params_);
  }
  [[nodiscard]] Draw sample(Rng& rng, Shape input) const override {
    if (definition().sample != nullptr) return Draw::of(definition().sample(params_, rng, input));
    if (definition().fixed != nullptr) return Draw::of(definition().fixed(params_, input));
    return Draw::of(D{});
  }
  [[nodiscard]] Json to_json(const Draw& draw) const override {
    return aug::to_json(definition().draw, draw.as<D>());
  }
  [[nodiscard]] Result<Draw> draw_from_json(const Json& json) const override {
    D draw{};
    if (Status read = from_json(draw, json, definition().draw); !read)
      return Error{read.error().code, fmt::format("{}: {}", spec().name, read.error().message)};
    return Draw::of(draw);
  }
  [[nodiscard]] Shape output_shape(Shape input, const Draw& draw) const override {
    return definition().output == nullptr ? input : definition().output(draw.as<D>(), input);
  }

 protected:
  [[nodiscard]] Status fits(Shape input, const Draw& draw) const override {
    return definition().fits == nullptr ? Status(ok) : definition().fits(draw.as<D>(), input);
  }
  void run(const Frames<std::uint8_t>& f, const Draw& draw, Scratch& scratch) const override {
    run_fast(definition().fast.u8, f, draw, scratch);
  }
  void run(const Frames<float>& f, const Draw& draw, Scratch& scratch) const override {
    run_fast(definition().fast.f32, f, draw, scratch);
  }
  void run(const Frames<std::uint8_t, float>& f, const Draw& draw,
           Scratch& scratch) const override {
    run_fast(definition().fast.u8_f32, f, draw, scratch);
  }
  void run_reference(const Frames<std::uint8_t>& f, const Draw& draw) const override {
    run_plain(definition().reference.u8, f, draw);
  }
  void run_reference(const Frames<float>& f, const Draw& draw) const override {
    run_plain(definition().reference.f32, f, draw);
  }
  void run_reference(const Frames<std::uint8_t, float>& f, const Draw& draw) const override {
    run_plain(definition().reference.u8_f32, f, draw);
  }

 private:
  const Definition<P, D>& definition() const { return shared_->definition; }
  template <class F, class From, class To>
  void run_fast(F fast, const Frames<From, To>& frames, const Draw& draw, Scratch& scratch) const {
    assert(fast != nullptr);
    fast(frames, draw.as<D>(), scratch);
  }
  template <class F, class From, class To>
  void run_plain(F plain, const Frames<From, To>& frames, const Draw& draw) const {
    assert(plain != nullptr);
    for (std::size_t i = 0; i < frames.size(); ++i)
      plain(frames.dst[i], frames.src[i], draw.as<D>());
  }

  std::shared_ptr<const Shared<P, D>> shared_;
  P params_;
};

}  // namespace detail

template <class P, class D>
TransformSpec make_transform(Definition<P, D> definition) {
  TransformSpec spec;
  spec.name = definition.name;
  spec.doc = definition.doc;
  spec.parity = definition.parity;
  spec.u8 = definition.u8;
  spec.f32 = definition.f32;
  spec.channels = definition.channels;
  spec.in_place = definition.in_place;
  spec.makes_f32 = definition.fast.u8_f32 != nullptr;
  spec.draws = definition.sample != nullptr;
  for (const Field<P>& field : definition.params)
    spec.parameters.push_back({field.name, field.accepted, field.doc});
  spec.defaults = to_json(definition.params, P{});
  auto shared = std::make_shared<const detail::Shared<P, D>>(
      detail::Shared<P, D>{std::move(definition), spec});
  spec.make = [shared](const Json& json) -> Result<std::unique_ptr<Transform>> {
    const auto named = [&](const Status& status) {
      return Error{status.error().code,
                   fmt::format("{}: {}", shared->spec.name, status.error().message)};
    };
    P params{};
    if (Status read = from_json(params, json, shared->definition.params); !read) return named(read);
    if (shared->definition.check != nullptr)
      if (Status sound = shared->definition.check(params); !sound) return named(sound);
    return std::unique_ptr<Transform>(
        std::make_unique<detail::TransformOf<P, D>>(shared, std::move(params)));
  };
  return spec;
}

}  // namespace sluice::aug
