// fabricast._fabricast: the library as Python objects. What is pleasant to use is in fabricast/.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>
#include <span>

#include "fabricast/estimator.hpp"
#include "fabricast/fabricast.hpp"

namespace py = pybind11;
namespace api = fabricast::api;

namespace {

using Strings = std::vector<std::string>;

void raise(const api::Error& error) {
  const py::object type = py::module_::import("fabricast._error").attr("Error");
  const py::object one =
      type(error.file(), error.line(), error.path(), error.message(), error.hint());
  PyErr_SetObject(type.ptr(), one.ptr());
}

/// What ends an answer early: Ctrl-C, and what a function of the caller raises. Only the first
/// thread of Python hears of a signal; the others end by what it threw.
class Interruption {
 public:
  template <class Call>
  void checked(const Call& call) {
    const py::gil_scoped_acquire lock;
    if (thrown_) std::rethrow_exception(thrown_);
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      call();
    } catch (...) {
      thrown_ = std::current_exception();
      throw;
    }
  }
  void check() {
    checked([] {});
  }

 private:
  std::exception_ptr thrown_;  ///< of whoever holds Python's lock
};

/// `said` and `progress`: callables or None.
api::Report ask(const std::string& study, const api::Options& options, const Strings& arguments,
                const py::object& said, const py::object& progress) {
  Interruption interruption;
  api::Listener listener;
  listener.said = [&](std::string_view text) {
    const py::gil_scoped_acquire lock;
    if (!said.is_none()) said(text);
  };
  listener.progress = [&](double share) {
    interruption.checked([&] {
      if (!progress.is_none()) progress(share);
    });
  };
  listener.poll = [&] { interruption.check(); };
  const py::gil_scoped_release others_run;
  return api::ask({study, options, arguments}, listener);
}

const char* type_word(api::Column::Type type) {
  constexpr const char* kWords[] = {"text", "flag", "whole", "number"};
  return kWords[static_cast<std::size_t>(type)];
}

/// (name, [(name, type, unit)], [column of cells]).
py::tuple table_tuple(const api::Table& table) {
  py::list columns, cells;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const api::Column& column = table.columns[i];
    columns.append(py::make_tuple(column.name, type_word(column.type), column.unit));
    py::list values;
    for (const std::vector<api::Cell>& row : table.rows) values.append(py::cast(row[i]));
    cells.append(std::move(values));
  }
  return py::make_tuple(table.name, std::move(columns), std::move(cells));
}

py::list tables(const api::Report& report) {
  py::list out;
  for (const api::Table& table : report.tables()) out.append(table_tuple(table));
  return out;
}

py::list studies() {
  py::list out;
  for (const api::Study& study : api::studies()) {
    py::list options;
    for (const api::StudyOption& one : study.options) {
      using namespace py::literals;
      options.append(py::dict("name"_a = one.name, "letter"_a = one.letter, "help"_a = one.help,
                              "type"_a = one.type, "default"_a = one.preset, "group"_a = one.group,
                              "is_flag"_a = one.is_flag, "is_argument"_a = one.is_argument,
                              "is_required"_a = one.is_required, "repeats"_a = one.repeats));
    }
    out.append(py::make_tuple(study.name, study.help, std::move(options)));
  }
  return out;
}

py::tuple estimate(const api::Estimator& estimator, std::string_view collective, std::int64_t bytes,
                   std::string_view datatype, int ranks) {
  api::Estimate found;
  {
    Interruption interruption;
    const py::gil_scoped_release others_run;
    found = estimator.estimate(collective, bytes, datatype, ranks, [&] { interruption.check(); });
  }
  return py::make_tuple(found.time_us, found.lower_us, found.upper_us, found.algorithm,
                        found.protocol, found.nchannels);
}

using Sizes = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

/// Of the shape of `sizes`.
py::tuple estimate_many(const api::Estimator& estimator, std::string_view collective,
                        const Sizes& sizes, std::string_view datatype, int ranks) {
  std::vector<api::Estimate> found;
  {
    const std::span<const std::int64_t> all(sizes.data(), static_cast<std::size_t>(sizes.size()));
    Interruption interruption;
    const py::gil_scoped_release others_run;
    found = estimator.estimate(collective, all, datatype, ranks, [&] { interruption.check(); });
  }
  const std::vector<py::ssize_t> shape(sizes.shape(), sizes.shape() + sizes.ndim());
  py::array_t<double> time(shape), lower(shape), upper(shape);
  py::array_t<int> channels(shape);
  py::list algorithm, protocol;
  for (std::size_t i = 0; i < found.size(); ++i) {
    time.mutable_data()[i] = found[i].time_us;
    lower.mutable_data()[i] = found[i].lower_us;
    upper.mutable_data()[i] = found[i].upper_us;
    channels.mutable_data()[i] = found[i].nchannels;
    algorithm.append(found[i].algorithm);
    protocol.append(found[i].protocol);
  }
  return py::make_tuple(time, lower, upper, algorithm, protocol, channels);
}

}  // namespace

PYBIND11_MODULE(_fabricast, module) {
  module.attr("__version__") = FABRICAST_VERSION;
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const api::Error& error) {
      raise(error);
    }
  });
  module.def("ask", &ask);
  module.def("studies", &studies);
  module.def("page_of", &api::page_of, py::call_guard<py::gil_scoped_release>());

  const auto unlocked = py::call_guard<py::gil_scoped_release>();
  py::class_<api::Report>(module, "Report")
      .def_property_readonly("study", &api::Report::study)
      .def_property_readonly("command", &api::Report::command)
      .def_property_readonly("answer", &api::Report::answer)
      .def_property_readonly("notes", &api::Report::notes)
      .def_property_readonly("holds", &api::Report::holds)
      .def_property_readonly("text", &api::Report::text)
      .def("tables", &tables)
      .def("json", &api::Report::json, unlocked)
      .def("csv", &api::Report::csv, unlocked)
      .def("html", &api::Report::html, unlocked);

  py::class_<api::Estimator>(module, "Estimator")
      .def(py::init<const api::Options&>(), unlocked)
      .def_property_readonly("ranks", &api::Estimator::ranks)
      .def_property_readonly("notes", &api::Estimator::notes)
      .def("estimate", &estimate)
      .def("estimate_many", &estimate_many);
}
