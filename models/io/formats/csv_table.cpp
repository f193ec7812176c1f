#include "models/io/formats/csv_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr std::int64_t kBytesMax = std::int64_t{1} << 50;

/// Walks the text field by field.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  bool done() const { return at_ >= text_.size(); }
  int line() const { return line_; }
  std::size_t at() const { return at_; }

  /// Goes on with the line after the one that begins at `row`, which is `line`.
  void skip_line(std::size_t row, int line) {
    const std::size_t end = text_.find('\n', row);
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
    line_ = line + 1;
  }

  std::vector<std::string> record() {
    std::vector<std::string> fields;
    while (true) {
      fields.push_back(!done() && text_[at_] == '"' ? quoted() : plain());
      if (done()) return fields;
      if (text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (text_[at_] == '\r' && text_.substr(at_, 2) != "\r\n") fail("a carriage return in a row");
      at_ += text_[at_] == '\r' ? 2 : 1;
      ++line_;
      return fields;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Place{file_, line_, {}}, what);
  }

  std::string plain() {
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    const std::string_view field = text_.substr(at_, end - at_);
    if (field.find('"') != std::string_view::npos)
      fail("a quote inside a field that does not begin with one");
    at_ = end;
    return std::string(field);
  }

  std::string quoted() {
    const int first = line_;
    std::string out;
    for (++at_; !done(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        out += text_[at_];
        continue;
      }
      if (++at_ < text_.size() && text_[at_] == '"') {
        out += '"';
        continue;
      }
      if (!done() && std::string_view(",\r\n").find(text_[at_]) == std::string_view::npos)
        fail("text after the closing quote of a field");
      return out;
    }
    line_ = first;
    fail("a quote that never ends");
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

CsvTable::CsvTable(std::string_view text, std::string file, std::vector<Error>* broken)
    : file_(std::move(file)) {
  CsvReader reader(text, file_);
  if (reader.done()) throw Error(Place{file_, 0, {}}, "the file is empty: a header is missing");
  const std::vector<std::string> header = reader.record();
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (!columns_.emplace(header[i], i).second)
      throw Error(Place{file_, 1, {}}, fmt::format("column \"{}\" twice", header[i]));
  }
  while (!reader.done()) {
    const int line = reader.line();
    const std::size_t at = reader.at();
    try {
      add_row(line, reader.record(), header.size());
    } catch (const Error& error) {
      if (broken == nullptr) throw;
      broken->push_back(error);
      reader.skip_line(at, line);
    }
  }
}

void CsvTable::add_row(int line, std::vector<std::string> fields, std::size_t columns) {
  if (fields.size() == 1 && fields[0].empty()) return;  // a blank line
  if (fields.size() != columns)
    throw Error(Place{file_, line, {}},
                fmt::format("{} fields, the header has {}", fields.size(), columns));
  rows_.push_back({line, std::move(fields)});
}

CsvRow CsvTable::row(std::size_t index) const { return {*this, rows_[index]}; }

std::size_t CsvTable::column(std::string_view name) const {
  const auto found = columns_.find(name);
  if (found != columns_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [column, unused] : columns_) known.push_back(column);
  const std::string near = nearest(name, known);
  throw Error(Place{file_, 1, {}}, fmt::format("no column \"{}\"", name),
              near.empty() ? std::string{} : fmt::format("\"{}\" is there", near));
}

const std::string& CsvRow::text(std::string_view column) const {
  return row_.fields[table_.column(column)];
}

const std::string& CsvRow::text_or_blank(std::string_view column) const {
  static const std::string blank;
  return table_.has(column) ? text(column) : blank;
}

std::optional<int> CsvRow::whole(std::string_view column, int min, int max) const {
  const std::string& field = text_or_blank(column);
  if (field.empty()) return std::nullopt;
  const auto value = to_number<int>(field);
  if (!value || *value < min || *value > max) {
    throw Error(place(column),
                fmt::format("\"{}\" is not a whole number from {} to {}", field, min, max));
  }
  return value;
}

std::optional<Bytes> CsvRow::bytes(std::string_view column) const {
  const std::string& field = text_or_blank(column);
  if (field.empty()) return std::nullopt;
  const auto value = to_number<std::int64_t>(field);
  if (!value || *value < 1 || *value > kBytesMax)
    throw Error(place(column), fmt::format("\"{}\" is not a whole number of bytes", field));
  return Bytes{*value};
}

std::optional<double> CsvRow::positive(std::string_view column) const {
  const std::string& field = text_or_blank(column);
  if (field.empty()) return std::nullopt;
  const auto value = finite_number(field);
  if (!value || *value < 0) {
    throw Error(place(column), fmt::format("\"{}\" is not a number from 0", field));
  }
  return value;
}

Place CsvRow::place(std::string_view column) const {
  return {table_.file_, row_.line, std::string(column)};
}

}  // namespace fabricast
