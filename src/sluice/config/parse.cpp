// sluice/config/parse.cpp - builds Nodes from yaml-cpp's events; no other file sees yaml-cpp.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/parse.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/node/node.h>  // parser.h only names YAML::Node, which clang-tidy takes for ours
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

namespace sluice::config {
namespace {

/// Thrown through yaml-cpp's parser to end it; caught in parse().
struct Refusal {
  int line;
  std::string message;
};

/// yaml-cpp turns the escapes \N and \_ into the single bytes 85 and a0. The document itself is
/// UTF-8, so a continuation byte without a character before it is one of those two, and becomes the
/// character that was meant.
std::string with_whole_escapes(const std::string& value) {
  if (is_utf8(value)) return value;
  std::string whole;
  int continuation = 0;  // bytes that the character begun still needs
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = byte >= 0x80 && byte < 0xc0;
    if (continues && continuation == 0) whole += '\xc2';
    if (continues && continuation > 0) --continuation;
    if (!continues) continuation = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
    whole += c;
  }
  return whole;
}

class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::shared_ptr<const std::string> name) : name_(std::move(name)) {}

  Node root;
  bool has_document = false;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (has_document) throw Refusal{line_of(mark), "a second document; only one is accepted"};
    has_document = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) throw Refusal{line_of(mark), "a key is empty"};
    add(finished(Node(), mark), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& parsed) override {
    check_tag(mark, tag);
    const std::string value = with_whole_escapes(parsed);
    if (!expects_key()) {
      add(finished(Node::scalar(value, tag == kQuoted), mark), anchor);
      return;
    }
    if (value.size() > kMaxKeyBytes) {
      throw Refusal{line_of(mark), fmt::format("a key of {} bytes; at most {} are accepted",
                                               value.size(), kMaxKeyBytes)};
    }
    if (anchor != YAML::NullAnchor) throw Refusal{line_of(mark), "an anchor on a key"};
    Frame& frame = frames_.back();
    frame.key = value;
    frame.key_line = line_of(mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) throw Refusal{line_of(mark), "an alias used as a key"};
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) {
      throw Refusal{line_of(mark), "an alias inside the value that it names"};
    }
    count_nodes(mark, it->second.nodes);
    check_depth(mark, frames_.size() + it->second.depth);
    add(it->second.node, YAML::NullAnchor, it->second.depth);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(Node::list(), mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(Node::map(), mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  static constexpr std::string_view kQuoted = "!";
  static constexpr std::string_view kPlain = "?";

  struct Frame {
    Node node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    std::size_t nodes_before = 0;
    std::size_t depth_below = 0;  // levels of the deepest child so far
    std::optional<std::string> key;
    int key_line = 0;
  };
  struct Anchored {
    Node node;
    std::size_t nodes = 0;
    std::size_t depth = 0;
  };

  int line_of(const YAML::Mark& mark) {
    if (mark.line >= 0) last_line_ = mark.line + 1;
    return last_line_;
  }

  [[nodiscard]] bool expects_key() const {
    return !frames_.empty() && frames_.back().node.is_map() && !frames_.back().key;
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == kPlain || tag == kQuoted) return;
    throw Refusal{line_of(mark), fmt::format("a tag ('{}'); tags are not accepted",
                                             printable(std::string_view(tag).substr(0, 80)))};
  }

  void check_depth(const YAML::Mark& mark, std::size_t depth) {
    if (depth > kMaxDepth) {
      throw Refusal{line_of(mark), fmt::format("nesting deeper than {} levels", kMaxDepth)};
    }
  }

  void count_nodes(const YAML::Mark& mark, std::size_t count) {
    nodes_ += count;
    if (nodes_ > kMaxNodes) {
      throw Refusal{line_of(mark),
                    fmt::format("more than {} values (aliases count once per use)", kMaxNodes)};
    }
  }

  Node finished(Node node, const YAML::Mark& mark) {
    count_nodes(mark, 1);
    node.set_origin(name_, line_of(mark));
    return node;
  }

  void open(Node node, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (expects_key())
      throw Refusal{line_of(mark), "a list or a map as a key, or a bracket that is not closed"};
    check_tag(mark, tag);
    check_depth(mark, frames_.size() + 1);
    Frame frame;
    frame.nodes_before = nodes_;
    frame.node = finished(std::move(node), mark);
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    const std::size_t depth = frame.depth_below + 1;
    if (frame.anchor != YAML::NullAnchor) {
      anchors_[frame.anchor] = Anchored{frame.node, nodes_ - frame.nodes_before, depth};
    }
    add(std::move(frame.node), YAML::NullAnchor, depth);
  }

  void add(Node node, YAML::anchor_t anchor, std::size_t depth = 0) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = Anchored{node, 1, 0};
    if (frames_.empty()) {
      root = std::move(node);
      return;
    }
    Frame& parent = frames_.back();
    parent.depth_below = std::max(parent.depth_below, depth);
    if (parent.node.is_list()) {
      parent.node.push(std::move(node));
    } else {
      parent.node.entries().push_back(
          Entry{std::exchange(parent.key, std::nullopt).value(), parent.key_line, std::move(node)});
    }
  }

  std::shared_ptr<const std::string> name_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::size_t nodes_ = 0;
  int last_line_ = 1;
};

Error refused(std::string_view name, int line, std::string_view what) {
  return {Errc::invalid_config, fmt::format("{}:{}: {}", name, line, what)};
}

/// Characters that YAML forbids and yaml-cpp lets through.
std::optional<Error> check_characters(std::string_view text, std::string_view name) {
  if (!is_utf8(text)) {
    return Error{Errc::invalid_config, fmt::format("{}: not text in UTF-8", name)};
  }
  int line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    const auto byte = static_cast<unsigned char>(c);
    const bool control = byte < 0x20 && c != '\n' && c != '\r' && c != '\t';
    if (control || byte == 0x7f) {
      return refused(name, line, fmt::format("the control character {}", printable({&c, 1})));
    }
  }
  return std::nullopt;
}

/// yaml-cpp 0.7 takes a quote that is still open at the end of the last line for closed. It does
/// refuse the end of the document inside quotes, so that is added; without a last line break the
/// open quote is found anyway.
std::string with_document_end(std::string_view text) {
  std::string whole(text);
  const auto last = text.find_last_not_of(" \t\r");
  if (last == std::string_view::npos || text[last] != '\n') return whole;
  return whole.append(text.back() == '\n' ? "...\n" : "\n...\n");
}

Error syntax_error(const YAML::Exception& e, std::string_view text, std::string_view name) {
  const auto lines = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  if (e.mark.line >= lines && e.msg == YAML::ErrorMsg::DOC_IN_SCALAR) {
    return refused(name, lines, "not valid YAML: a quote that is not closed");
  }
  return refused(
      name, e.mark.line + 1,
      fmt::format("not valid YAML: {} (column {})", printable(e.msg), e.mark.column + 1));
}

}  // namespace

Result<Node> parse(std::string_view text, std::string_view name) {
  const auto shown = std::make_shared<const std::string>(printable(name));
  if (text.size() > kMaxFileBytes) {
    return Error{Errc::invalid_config,
                 fmt::format("{}: larger than the {} bytes accepted here", *shown, kMaxFileBytes)};
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  if (auto error = check_characters(text, *shown)) return *std::move(error);
  Builder builder(shown);
  try {
    std::istringstream stream(with_document_end(text));
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refusal& refusal) {
    return refused(*shown, refusal.line, refusal.message);
  } catch (const YAML::Exception& e) {
    return syntax_error(e, text, *shown);
  } catch (const std::exception& e) {  // yaml-cpp's own containers
    return Error{Errc::invalid_config,
                 fmt::format("{}: not valid YAML: {}", *shown, printable(e.what()))};
  }
  Node root = std::move(builder.root);
  if (root.is_null()) {
    root = Node::map();
    root.set_origin(shown, 1);
  }
  root.set_place(nullptr);
  return root;
}

Result<Node> load(const std::filesystem::path& path) {
  SLUICE_TRY(const std::string text, read_text_file(path, kMaxFileBytes));
  return parse(text, path.native());
}

}  // namespace sluice::config
