#include "models/io/imports/nccl_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/io/imports/import_readers.hpp"
#include "text/numbers.hpp"

namespace fabricast::import_readers {

namespace {

using enum NcclMessage::Matters;

// Words as src/*.cc of NCCL 2.4 to 2.30, aws-ofi-nccl and RCCL print them. The first that fits.
constexpr NcclMessage kMessages[] = {
    {"P2P is disabled between NVLINK connected GPUs",
     "NVLink is there and the driver offers no P2P: a fault of the hardware or of the fabric "
     "manager"},
    {"P2P is disabled between connected GPUs",
     "the driver offers no P2P there, so data go through host memory: as it should be with GeForce "
     "cards and in many virtual machines, else look at `nvidia-smi topo -p2p rw`, ACS and the "
     "IOMMU"},
    {"Could not enable P2P between dev",
     "these GPUs cannot reach each other's memory: data go through host memory or the network; "
     "look at `nvidia-smi topo -p2p rw`, ACS and the IOMMU"},
    {"peer access is not supported between these two devices",
     "these GPUs have no P2P: look at `nvidia-smi topo -p2p rw`"},
    {"NET/IB : No device found",
     "NCCL sees no InfiniBand or RoCE device: RDMA devices are not in the container, their driver "
     "is missing, or NCCL_IB_HCA names none. On one node it does not matter",
     no_rdma},
    {"Failed to open libibverbs.so",
     "the library of RDMA verbs is missing in the image (libibverbs1 of rdma-core)", no_rdma},
    {"Failed to initialize any NET plugin",
     "no network is left: NCCL_NET names one that is not there, or no interface fits "
     "NCCL_SOCKET_IFNAME"},
    {"Failed to initialize NET plugin", "NCCL goes on to the next network", no_rdma},
    {"GLIBC_", "the plugin was built for a newer C library than the image has, and is not loaded"},
    {"aws-ofi-nccl initialization failed",
     "the libfabric plugin does not start, and NCCL goes on without it: look at the lines of "
     "NET/OFI before, and at `fi_info -p efa`"},
    {"NET/OFI Initializing plugin failed",
     "the libfabric plugin does not start, and NCCL goes on without it: look at the lines of "
     "NET/OFI before"},
    {"Could not find: libnccl-net.so",
     "no net plugin is loaded: on EFA, Slingshot and TCPX that means sockets", no_rdma},
    {"No plugin found (libnccl-net.so)",
     "no net plugin is loaded: on EFA, Slingshot and TCPX that means sockets", no_rdma},
    {"libnccl-net.so: cannot open shared object file",
     "no net plugin is loaded: on EFA, Slingshot and TCPX that means sockets", no_rdma},
    {"disabling GDR", "the plugin does without GPUDirect RDMA: bytes go through host memory"},
    {"Setting NCCL_PROTO to", "the plugin allows one protocol: LL and LL128 are off"},
    {"Need to force simple protocol", "the plugin allows one protocol: LL and LL128 are off"},
    {"Duplicate GPU detected",
     "two processes use one GPU: each has to choose its own (torch.cuda.set_device, "
     "CUDA_VISIBLE_DEVICES)"},
    {"Mismatched NCCL version detected", "processes have loaded different NCCLs"},
    {"failed to extend /dev/shm",
     "shared memory is full: docker --shm-size, or an emptyDir of medium Memory at /dev/shm"},
    {"Missing \"iommu=pt\"", "the kernel's command line lacks iommu=pt, which AMD asks for"},
    {"Got async event : port error", "the port of a NIC went down"},
    {"Call to ibv_modify_qp failed",
     "two ports do not come together: they are in different subnets, or the GID index or the "
     "version of RoCE is wrong"},
    {"Call to ibv_reg_mr failed",
     "memory could not be registered: ulimit -l, nvidia_peermem or dma-buf"},
    {"no socket interface found", "no interface fits NCCL_SOCKET_IFNAME"},
    {"Connection refused", "the other process has gone, or another interface than it has is used"},
    {"Software caused connection abort",
     "the other process has gone, or another interface than it has is used"},
    {"remote process exited",
     "another process has ended, or the network between them broke: look at what the others said "
     "first"},
};

struct Status {
  std::string_view name, means;
};

// enum ibv_wc_status of rdma-core's verbs.h, in its order.
constexpr std::array<std::string_view, 22> kStatuses = {
    "SUCCESS",          "LOC_LEN_ERR",       "LOC_QP_OP_ERR",     "LOC_EEC_OP_ERR",
    "LOC_PROT_ERR",     "WR_FLUSH_ERR",      "MW_BIND_ERR",       "BAD_RESP_ERR",
    "LOC_ACCESS_ERR",   "REM_INV_REQ_ERR",   "REM_ACCESS_ERR",    "REM_OP_ERR",
    "RETRY_EXC_ERR",    "RNR_RETRY_EXC_ERR", "LOC_RDD_VIOL_ERR",  "REM_INV_RD_REQ_ERR",
    "REM_ABORT_ERR",    "INV_EECN_ERR",      "INV_EEC_STATE_ERR", "FATAL_ERR",
    "RESP_TIMEOUT_ERR", "GENERAL_ERR"};

constexpr Status kMeanings[] = {
    {"RETRY_EXC_ERR",
     "the other side did not answer: a link or a switch lost packets, its process has gone, or "
     "RoCE is not lossless; NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT say how long it waits"},
    {"RNR_RETRY_EXC_ERR", "the other side had no receive ready: its process hangs or has gone"},
    {"WR_FLUSH_ERR", "a consequence of an error before it on the same queue pair"},
    {"REM_ACCESS_ERR",
     "the other side refused access to its memory: its process has gone, or "
     "memory was freed"},
    {"LOC_PROT_ERR", "memory was not registered for this queue pair"},
};

bool is_whole(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

const NcclMessage* known_message(std::string_view line) {
  for (const NcclMessage& message : kMessages) {
    const bool library = message.words == "GLIBC_";
    if (line.find(message.words) != std::string_view::npos &&
        (!library || line.find("not found") != std::string_view::npos))
      return &message;
  }
  return nullptr;
}

std::string completion_status(std::string_view line) {
  constexpr std::string_view prefix = "IBV_WC_";
  const std::string_view status = after(line, "status=");
  std::string_view name;
  std::size_t number = 0;
  if (status.starts_with(prefix)) {
    name = status.substr(prefix.size());
    name = name.substr(0, name.find_first_of("( )"));
    number = static_cast<std::size_t>(std::ranges::find(kStatuses, name) - kStatuses.begin());
  } else if (const auto value = leading_number<std::int64_t>(status);
             line.find("Got completion") != std::string_view::npos && value && *value > 0 &&
             *value < static_cast<std::int64_t>(kStatuses.size())) {
    number = static_cast<std::size_t>(*value);
    name = kStatuses[number];
  }
  if (name.empty()) return {};
  std::string out(name);
  if (number < kStatuses.size()) out += fmt::format(" ({})", number);
  for (const Status& known : kMeanings)
    if (known.name == name) out += fmt::format(": {}", known.means);
  return out;
}

std::string port_named(std::string_view line) {
  const std::string_view word = after(line, "NET/IB : ");
  const std::string_view port = word.substr(0, word.find(' '));
  const std::size_t colon = port.find(':');
  if (colon == 0 || colon == std::string_view::npos || !is_whole(port.substr(colon + 1))) return {};
  return std::string(port.substr(0, colon));
}

std::string host_of(std::string_view line) {
  std::string_view found;
  for (const std::string_view word : split_words(line.substr(0, line.find("NCCL ")))) {
    const std::size_t last = word.rfind(':');
    if (last == std::string_view::npos || last == 0) continue;
    const std::size_t before = word.rfind(':', last - 1);
    if (before == std::string_view::npos || before == 0) continue;
    if (is_whole(word.substr(last + 1)) && is_whole(word.substr(before + 1, last - before - 1)))
      found = word.substr(0, before);
  }
  return std::string(found);
}

}  // namespace fabricast::import_readers
