#include "report/drawing/html.h"

#include <algorithm>

#include "base/text.h"
#include "report/drawing/page_style.h"

namespace tensorpress::report {

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

namespace {

/// Lets a narrow column break long names after one of these.
std::string breakable(std::string_view name, std::string_view after = "_") {
  std::string out;
  for (const char c : escape(name)) {
    out += c;
    if (after.find(c) != std::string_view::npos) out += "<wbr />";
  }
  return out;
}

}  // namespace

std::string html_of(const Table& table) {
  const auto cell_class = [&](std::size_t column) {
    if (column >= table.columns.size()) return "";
    return table.columns[column].number  ? " class=\"number\""
           : table.columns[column].wraps ? " class=\"words\""
                                         : "";
  };
  const auto content = [&](std::size_t column, const std::string& cell) {
    const bool wraps = column < table.columns.size() && table.columns[column].wraps;
    return wraps ? breakable(cell, "._") : escape(cell);
  };
  std::string out = "<div class=\"scroll\"><table>\n";
  if (!table.caption.empty()) out += text("<caption>", escape(table.caption), "</caption>\n");
  out += "<thead><tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    out += text("<th scope=\"col\"", cell_class(i));
    if (!column.hint.empty()) out += text(" title=\"", escape(column.hint), "\"");
    out += text(">", breakable(column.title), "</th>");
  }
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const bool starts_group = std::ranges::find(table.group_starts, r) != table.group_starts.end();
    out += starts_group ? "<tr class=\"group\">" : "<tr>";
    for (std::size_t i = 0; i < table.rows[r].size(); ++i) {
      out += text("<td", cell_class(i), ">", content(i, table.rows[r][i]), "</td>");
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

std::string figure(std::string_view html, std::string_view caption) {
  return text("<figure>", html, "<figcaption>", escape(caption), "</figcaption></figure>\n");
}

std::string image(std::string_view data_uri, std::string_view description) {
  return text("<img src=\"", data_uri, "\" alt=\"", escape(description), "\" />");
}

std::string side_by_side(const std::vector<std::string>& html, int minimum_width) {
  std::string out = text("<div class=\"side\" style=\"--minimum:", minimum_width, "px\">\n");
  for (const std::string& piece : html) out += piece;
  return out + "</div>\n";
}

std::string matrix(const std::vector<std::string>& html, std::size_t columns, int minimum_width) {
  std::string out = text("<div class=\"scroll\"><div class=\"matrix\" style=\"--columns:", columns,
                         ";--minimum:", minimum_width, "px\">\n");
  for (const std::string& piece : html) out += piece;
  return out + "</div></div>\n";
}

HtmlDocument::HtmlDocument(std::string_view title) : title_(escape(title)) {}

void HtmlDocument::heading(int level, std::string_view text) {
  body_ += tensorpress::text("<h", level, ">", escape(text), "</h", level, ">\n");
}

void HtmlDocument::paragraph(std::string_view text) {
  body_ += tensorpress::text("<p>", escape(text), "</p>\n");
}

std::string HtmlDocument::html() const {
  return text(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
      "<title>",
      title_, "</title>\n<style>\n", kStyleFiles.front().text,
      "</style>\n</head>\n<body>\n<main>\n<h1>", title_, "</h1>\n", body_,
      "</main>\n</body>\n</html>\n");
}

}  // namespace tensorpress::report
