// Traces of PyTorch as JSON: Kineto's, execution traces, Chakra. What is asked for is the list of
// collective calls.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>

#include "models/io/formats/text_file.hpp"
#include "models/io/imports/collective_word.hpp"
#include "models/io/imports/import_readers.hpp"
#include "models/io/records/flight_dump.hpp"
#include "text/counted.hpp"

namespace fabricast {

std::string collective_word(std::string name) {
  const std::string word = collective_of_torch(name);
  return word == "send" || word == "recv" ? "sendrecv" : word;
}

}  // namespace fabricast

namespace fabricast::import_readers {

namespace {

using InputJson = nlohmann::json;

const InputJson& child(const InputJson& object, const char* key) {
  static const InputJson none;
  if (!object.is_object()) return none;
  const auto at = object.find(key);
  return at == object.end() ? none : *at;
}
std::string text_of(const InputJson& value) {
  return value.is_string() ? value.get<std::string>() : "";
}
std::int64_t whole_of(const InputJson& value) {
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}
double number_of(const InputJson& value) { return value.is_number() ? value.get<double>() : 0; }

int rank_count(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, 0, 1 << 24));
}

/// Elements of the tensors in "Input Dims", [[16777216]] or [[2, 3], [4]].
std::int64_t elements_of(const InputJson& dims) {
  if (!dims.is_array()) return 0;
  double sum = 0;
  for (const InputJson& tensor : dims) {
    double product = tensor.is_array() && !tensor.empty() ? 1 : 0;
    if (tensor.is_array()) {
      for (const InputJson& extent : tensor) product *= number_of(extent);
    }
    sum += product;
  }
  return sum > 0 && sum < 9e18 ? static_cast<std::int64_t>(sum) : 0;
}

class TraceReader {
 public:
  explicit TraceReader(ImportedFile& out) : out_(out) {}

  bool read(const std::string& text) {
    return take(InputJson::parse(text, needed(), false, true), text);
  }
  bool read_file(const std::string& file) {
    std::ifstream in = open_file(file);
    return take(InputJson::parse(in, needed(), false, true), begin_of_file(file));
  }

 private:
  /// Keeps of the long lists only what is told: kernels of NCCL, and calls.
  InputJson::parser_callback_t needed() {
    return [this](int depth, InputJson::parse_event_t event, InputJson& json) {
      if (depth != 2 || event != InputJson::parse_event_t::object_end) return true;
      ++listed_;
      const std::string name =
          text_of(child(json, child(json, "Name").is_null() ? "name" : "Name"));
      return !json.is_object() || name.empty() || name.find("nccl") != std::string::npos ||
             name == "record_param_comms" || whole_of(child(json, "NodeType")) == 7;
    };
  }

  bool take(const InputJson& json, const std::string& text) {
    if (json.is_discarded()) return broken(text);
    if (child(json, "traceEvents").is_array()) {
      kineto(json);
    } else if (child(json, "nodes").is_array()) {
      execution_trace(json);
    } else if (child(json, "workload_graph").is_array()) {
      chakra(child(json, "workload_graph"));
    } else if (child(json, "gpus").is_array() && child(json, "collective").is_string()) {
      mscclpp();
    } else {
      return false;
    }
    tell();
    return true;
  }

  bool broken(const std::string& text) {
    const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
    if (has("\"threadblocks\"") && has("\"gpus\"")) {
      mscclpp();
    } else if (has("\"traceEvents\"") || has("\"workload_graph\"") || has("record_param_comms")) {
      out_.kind = "trace";
    } else {
      return false;
    }
    out_.remark("this JSON is cut off or broken: nothing could be read of it");
    return true;
  }

  void mscclpp() {
    out_.kind = "MSCCL++ execution plan";
    out_.remark("no MSCCL XML: plans of MSCCL++ are not read");
  }

  void kernel(const std::string& name, double duration) {
    const std::size_t at = name.find("nccl");
    if (at == std::string::npos) return;
    const std::size_t open = name.find('_');
    if (name.find("Kernel") == std::string::npos || open == std::string::npos) return;
    const std::string what = name.substr(open + 1, name.find('(') - open - 1);
    ++kernels_[what];
    kernel_us_ += duration;
  }

  void kineto(const InputJson& json) {
    out_.kind = "Kineto trace";
    const InputJson& distributed = child(json, "distributedInfo");
    if (distributed.is_object()) {
      out_.add("rank", std::to_string(whole_of(child(distributed, "rank"))));
      out_.add("world size", std::to_string(whole_of(child(distributed, "world_size"))));
      out_.add("nccl", text_of(child(distributed, "nccl_version")));
      if (const InputJson& groups = child(distributed, "pg_config"); groups.is_array()) {
        std::vector<std::string> words;
        for (const InputJson& group : groups)
          words.push_back(fmt::format("{} {} of {}", text_of(child(group, "pg_name")),
                                      text_of(child(group, "pg_desc")),
                                      whole_of(child(group, "pg_size"))));
        out_.add("groups", joined(words, "; "));
      }
    }
    std::vector<TracedCall> annotations;
    for (const InputJson& event : child(json, "traceEvents")) {
      if (!event.is_object()) continue;
      const std::string name = text_of(child(event, "name")), kind = text_of(child(event, "cat"));
      const InputJson& args = child(event, "args");
      if (kind == "kernel") kernel(name, number_of(child(event, "dur")));
      TracedCall call;
      call.start_us = number_of(child(event, "ts"));
      call.duration_us = number_of(child(event, "dur"));
      if (name == "record_param_comms" && child(args, "Collective name").is_string()) {
        call.collective = collective_word(text_of(child(args, "Collective name")));
        call.in_elements = whole_of(child(args, "In msg nelems"));
        call.out_elements = whole_of(child(args, "Out msg nelems"));
        call.dtype = text_of(child(args, "dtype"));
        call.group = text_of(child(args, "Process Group Description"));
        call.group_size = rank_count(whole_of(child(args, "Group size")));
        keep(std::move(call));
      } else if (kind == "user_annotation" && name.starts_with("nccl:")) {
        call.collective = collective_word(name);
        call.in_elements = elements_of(child(args, "Input Dims"));
        if (const InputJson& types = child(args, "Input type"); types.is_array() && !types.empty())
          call.dtype = text_of(types[0]);
        annotations.push_back(std::move(call));
      }
    }
    if (out_.calls.empty()) {
      for (TracedCall& call : annotations) keep(std::move(call));
    } else if (!annotations.empty()) {
      out_.remark(fmt::format("{} of the same calls are passed over",
                              counted(std::ssize(annotations), "annotation")));
    }
  }

  /// Positional inputs: tensors, sequence, (group, description), rank, collective, split sizes, ...
  void execution_trace(const InputJson& json) {
    out_.kind = "PyTorch execution trace";
    out_.add("schema", text_of(child(json, "schema")));
    for (const InputJson& node : child(json, "nodes")) {
      if (text_of(child(node, "name")) != "record_param_comms") continue;
      const InputJson& values = child(child(node, "inputs"), "values");
      if (!values.is_array()) continue;
      TracedCall call;
      for (const InputJson& value : values) {
        if (value.is_string() && call.collective.empty())
          call.collective = value.get<std::string>();
        if (value.is_array() && value.size() == 2 && value[0].is_string())
          call.group = text_of(value[1]);
      }
      if (call.collective.empty() || call.collective == "wait" || call.collective == "init")
        continue;
      call.collective = collective_word(call.collective);
      const InputJson& last = values.back();
      call.group_size = rank_count(whole_of(last));
      call.in_elements = tensor_elements(values);
      call.out_elements = tensor_elements(child(child(node, "outputs"), "values"));
      if (const InputJson& types = child(child(node, "inputs"), "types");
          types.is_array() && !types.empty()) {
        const std::string type = text_of(types[0]);
        const std::size_t open = type.find("Tensor(");
        if (open != std::string::npos)
          call.dtype = type.substr(open + 7, type.find(')', open) - open - 7);
      }
      keep(std::move(call));
    }
  }

  /// Lists of six: tensor id, storage id, offset, elements, bytes of an element, device.
  static std::int64_t tensor_elements(const InputJson& values) {
    if (!values.is_array() || values.empty() || !values[0].is_array()) return 0;
    std::int64_t sum = 0;
    const auto add = [&](const InputJson& tensor) {
      if (tensor.is_array() && tensor.size() == 6 && tensor[3].is_number_integer())
        sum += std::clamp<std::int64_t>(tensor[3].get<std::int64_t>(), 0, std::int64_t{1} << 40);
    };
    add(values[0]);
    for (const InputJson& tensor : values[0]) add(tensor);
    return sum;
  }

  /// Keys in several spellings; NodeType 7 = a collective.
  void chakra(const InputJson& nodes) {
    out_.kind = "Chakra trace (JSON)";
    out_.add("nodes", listed_);
    for (const InputJson& node : nodes) {
      const InputJson& type = child(node, "NodeType");
      const std::string name =
          text_of(child(node, child(node, "Name").is_null() ? "name" : "Name"));
      if (name.find("ncclKernel") != std::string::npos ||
          name.find("ncclDevKernel") != std::string::npos) {
        kernel(name, number_of(child(node, "runtime")));
        continue;
      }
      if (whole_of(type) != 7) continue;
      TracedCall call;
      call.collective = collective_word(name.substr(0, name.find('(')));
      call.duration_us = number_of(child(node, "runtime"));
      keep(std::move(call));
    }
  }

  void keep(TracedCall call) { out_.calls.push_back(std::move(call)); }

  void tell() {
    std::map<std::string, int> by_name;
    bool sized = true;
    for (const TracedCall& call : out_.calls) {
      ++by_name[call.collective];
      sized = sized && (call.in_elements > 0 || call.out_elements > 0);
    }
    std::vector<std::string> words, kernels;
    for (const auto& [name, count] : by_name) words.push_back(fmt::format("{} x{}", name, count));
    for (const auto& [name, count] : kernels_)
      kernels.push_back(fmt::format("{} x{}", name, count));
    out_.add("calls", joined(words));
    out_.add("kernels", joined(kernels));
    if (kernel_us_ > 0) out_.add("time in kernels", fmt::format("{:.1f} us", kernel_us_));
    if (!out_.calls.empty() && !sized) out_.remark("some calls have no size");
    if (out_.calls.empty() && kernels_.empty() && out_.kind.find("MSCCL") == std::string::npos &&
        out_.remarks.empty())
      out_.remark("no collective is in it");
    std::ranges::stable_sort(out_.calls, {}, &TracedCall::start_us);
  }

  ImportedFile& out_;
  std::size_t listed_ = 0;  ///< objects in lists
  std::map<std::string, int> kernels_;
  double kernel_us_ = 0;
};

}  // namespace

bool read_trace(const std::string& text, ImportedFile& out) { return TraceReader(out).read(text); }

bool read_trace_file(const std::string& file, ImportedFile& out) {
  return TraceReader(out).read_file(file);
}

}  // namespace fabricast::import_readers
