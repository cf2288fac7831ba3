// A page that stands alone: one HTML file with its style, plots (inline SVG) and pictures (PNG as
// base64) inside, nothing fetched from anywhere, light or dark as the reader's system asks.
//
//   HtmlDocument page("Results");
//   page.heading(2, "Sea temperature");
//   page.paragraph("Plain text; <, > and & are escaped.");
//   page.add(html_of(table));
//   page.add(figure(plot_svg(plot), "What the reader sees here"));
//   write(page.html());
//
// Functions that take `html` take finished markup; everything else is text and is escaped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorpress::report {

/// Text for element content and for attribute values in double quotes.
std::string escape(std::string_view text);

struct Column {
  std::string title;
  std::string hint = {};  // shown when the pointer rests on the title
  bool number = true;     // right-aligned with equal digits
  bool wraps = false;     // long names break after dots, underscores and spaces
};

struct Table {
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  /// Rows that start a new group get a stronger rule above them.
  std::vector<std::size_t> group_starts;
};

/// Scrolls sideways inside itself on narrow screens; the first column stays.
std::string html_of(const Table& table);

/// `html` with a caption below it.
std::string figure(std::string_view html, std::string_view caption);
/// A picture with its sharp pixels. `data_uri` from picture.h.
std::string image(std::string_view data_uri, std::string_view description);
/// Puts pieces side by side as far as the width allows, each at least `minimum_width` pixels wide.
std::string side_by_side(const std::vector<std::string>& html, int minimum_width);
/// A grid of fixed columns that scrolls sideways on narrow screens.
std::string matrix(const std::vector<std::string>& html, std::size_t columns, int minimum_width);

class HtmlDocument {
 public:
  explicit HtmlDocument(std::string_view title);

  void heading(int level, std::string_view text);
  void paragraph(std::string_view text);
  void add(std::string_view html) { body_ += html; }

  std::string html() const;

 private:
  std::string title_;
  std::string body_;
};

}  // namespace tensorpress::report
