#pragma once
// Reads NCCL's topology XML as tests need it. What a file leaves to NCCL's detection is made up:
// GPUs and NICs known only by PCI class become GPUs of `sm` and NICs of 200 Gb/s.

#include <cstdlib>
#include <pugixml.hpp>
#include <stdexcept>
#include <string>

#include "models/nccl/node_description.hpp"

namespace fabricast::testing {

class NcclXmlReader {
 public:
  explicit NcclXmlReader(int sm = 80) : sm_(sm) {}

  NodeDescription read(const std::string& path) {
    pugi::xml_document document;
    if (!document.load_file(path.c_str())) throw std::runtime_error("cannot read " + path);
    NodeDescription out;
    out.name = path;
    for (const pugi::xml_node node : document.child("system").children("cpu")) {
      NodeDescription::Cpu& cpu = out.cpus.emplace_back();
      cpu.numa = node.attribute("numaid").as_int();
      cpu.arch = node.attribute("arch").as_string();
      cpu.vendor = node.attribute("vendor").as_string();
      cpu.family = node.attribute("familyid").as_int();
      cpu.model = node.attribute("modelid").as_int();
      cpu.affinity = node.attribute("affinity").as_string();
      cpu.host_hash = node.attribute("host_hash").as_string();
      cpu.children = read_children(node);
    }
    return out;
  }

 private:
  std::vector<NodeDescription::Pci> read_children(pugi::xml_node parent) {
    std::vector<NodeDescription::Pci> out;
    for (const pugi::xml_node node : parent.children()) {
      if (std::string(node.name()) == "pci") out.push_back(read_pci(node));
      if (std::string(node.name()) == "nic" && std::string(parent.name()) == "cpu") {
        out.emplace_back().nic = read_nic(node);
      }
    }
    return out;
  }

  NodeDescription::Pci read_pci(pugi::xml_node node) {
    NodeDescription::Pci out;
    out.busid = node.attribute("busid").as_string();
    out.device_class = node.attribute("class").as_string();
    out.vendor = node.attribute("vendor").as_string();
    out.device = node.attribute("device").as_string();
    out.subsystem_vendor = node.attribute("subsystem_vendor").as_string();
    out.subsystem_device = node.attribute("subsystem_device").as_string();
    out.link_speed = node.attribute("link_speed").as_string();
    out.link_width = node.attribute("link_width").as_int();
    if (const pugi::xml_node gpu = node.child("gpu")) {
      out.gpu = read_gpu(gpu);
    } else if (const pugi::xml_node nic = node.child("nic")) {
      out.nic = read_nic(nic);
    } else if (out.device_class.starts_with("0x03") || out.device_class.starts_with("0x12")) {
      out.gpu.emplace();
      out.gpu->dev = gpus_++;
      out.gpu->sm = sm_;
    } else if (out.device_class.starts_with("0x02")) {
      out.nic.emplace().nets.push_back({.name = "net",
                                        .dev = nets_++,
                                        .speed_mbps = 200000,
                                        .port = 1,
                                        .guid = {},
                                        .gdr = true});
    }
    out.children = read_children(node);
    return out;
  }

  NodeDescription::Gpu read_gpu(pugi::xml_node node) {
    NodeDescription::Gpu out;
    out.dev = node.attribute("dev").as_int();
    out.sm = node.attribute("sm").as_int();
    out.gdr = node.attribute("gdr").as_int() != 0;
    for (const pugi::xml_node link : node.children("nvlink")) {
      out.nvlinks.push_back({link.attribute("target").as_string(), link.attribute("count").as_int(),
                             link.attribute("tclass").as_string()});
    }
    for (const pugi::xml_node link : node.children("c2c")) {
      out.c2c.push_back({link.attribute("count").as_int(), link.attribute("bw").as_int()});
    }
    return out;
  }

  NodeDescription::Nic read_nic(pugi::xml_node node) {
    NodeDescription::Nic out;
    for (const pugi::xml_node net : node.children("net")) {
      NodeDescription::Net& made = out.nets.emplace_back();
      made.name = net.attribute("name").as_string();
      made.dev = nets_++;
      made.speed_mbps = net.attribute("speed").as_int();
      made.port = net.attribute("port").as_int();
      if (const pugi::xml_attribute guid = net.attribute("guid")) {
        made.guid = std::strtoull(guid.value(), nullptr, 16);
      }
      made.gdr = net.attribute("gdr").as_int() != 0;
      made.latency_us = net.attribute("latency").as_float();
      made.max_connections = net.attribute("maxconn").as_int();
    }
    return out;
  }

  int sm_;
  int gpus_ = 0, nets_ = 0;
};

}  // namespace fabricast::testing
