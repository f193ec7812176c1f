"use strict";
// Drawing of one node: sockets, PCIe switches, GPUs, NICs, NVSwitch, leaves; links by utilisation.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data } = fabricast;

  const strip_node = (name) => String(name).replace(/^node(\d+|\*):\s*/, "");
  const class_of_name = (name) => strip_node(name).replace(/[\d.]+$/, "");

  // "node0: gpu1 -> nvswitch (NVLink x18)" -> {from, to, what}
  function parse(link) {
    const match = /^(.*?) -> (.*?)(?: \(([^()]*)\))?$/.exec(String(link));
    if (!match) return null;
    return { from: strip_node(match[1]), to: strip_node(match[2]), what: match[3] ?? "" };
  }

  const is_leaf = (name) => /^leaf/.test(name);

  // Utilisation of each directed pair of one node; a row with copies stands for all of its kind.
  function utilisations(machine, rows) {
    const exact = new Map();
    const classes = new Map();
    const kinds = new Map(machine.devices.map((d) => [d.name, d.kind]));
    const kind = (name) => kinds.get(name) ?? class_of_name(name);
    for (const row of rows ?? []) {
      const link = parse(row.link);
      if (!link || !data.finite(row.utilisation)) continue;
      const to = is_leaf(link.to) ? "leaf" : link.to;
      const from = is_leaf(link.from) ? "leaf" : link.from;
      const key = `${from}|${to}`;
      const known = exact.get(key);
      if (!known || known.utilisation < row.utilisation) exact.set(key, row);
      if ((row.copies ?? 1) > 1) {
        const its_class = `${is_leaf(from) ? "leaf" : kind(from)}|${is_leaf(to) ? "leaf" : kind(to)}`;
        const other = classes.get(its_class);
        if (!other || other.utilisation < row.utilisation) classes.set(its_class, row);
      }
    }
    return (from, to) =>
      exact.get(`${from}|${to}`) ??
      classes.get(`${is_leaf(from) ? "leaf" : kind(from)}|${is_leaf(to) ? "leaf" : kind(to)}`) ??
      null;
  }

  // Columns: one for each GPU and NIC, in the order of the devices below a socket.
  function layout(machine) {
    const devices = machine.devices ?? [];
    const children = data.group(devices, (d) => d.parent ?? "");
    const place = new Map();
    let column = 0;
    let depth = 0;

    function visit(device, level) {
      const below = [...(children.get(device.name) ?? [])];
      // GPUs stand left of their NICs.
      const weight = (d) => (d.kind === "gpu" ? 0 : d.kind === "nic" ? 1 : 2);
      below.sort((a, b) => weight(a) - weight(b) || (a.index ?? 0) - (b.index ?? 0));
      const first = column;
      for (const child of below) visit(child, level + 1);
      if (below.length === 0) column += 1;
      const last = column;
      if (device.kind !== "gpu" && device.kind !== "nic") depth = Math.max(depth, level);
      place.set(device.name, {
        device,
        level,
        first,
        last,
        x: (first + last) / 2,
      });
    }
    for (const device of devices) {
      if (device.parent || device.kind === "nvswitch") continue;
      visit(device, 0);
      column += 0.4;
    }
    const columns = Math.max(1, column - 0.4);
    // From top to bottom: sockets, PCIe switches, GPUs and NICs, leaves, NVSwitch.
    const row_end = depth + 1;
    for (const p of place.values()) {
      const end = p.device.kind === "gpu" || p.device.kind === "nic";
      p.y = end ? row_end : p.level;
    }
    const leaves = [];
    for (const p of [...place.values()]) {
      if (p.device.kind !== "nic") continue;
      const rail = p.device.rail ?? p.device.index ?? 0;
      const name = `leaf ${rail}`;
      leaves.push({ nic: p, name, rail });
    }
    const switches = devices.filter((d) => d.kind === "nvswitch");
    // Links between sockets that are not neighbours are arcs above them.
    const sockets = devices.filter((d) => d.kind === "cpu").map((d) => d.name);
    const sockets_apart = (machine.links ?? []).some(
      (l) => l.kind === "socket" && Math.abs(sockets.indexOf(l.from) - sockets.indexOf(l.to)) > 1,
    );
    // Arcs between GPUs need room above the leaves.
    const direct = (machine.links ?? []).some(
      (l) => l.kind === "nvlink" && place.has(l.from) && place.has(l.to),
    );
    return {
      place,
      columns,
      row_end,
      leaves,
      switches,
      leaf_y: row_end + (direct ? 1.7 : 1),
      head: sockets_apart ? 44 : 0,
    };
  }

  const shape_of = {
    cpu: { fill: 8, label: "socket" },
    pcie_switch: { fill: 9, label: "PCIe switch" },
    gpu: { fill: 2, label: "GPU" },
    nic: { fill: 0, label: "NIC" },
    nvswitch: { fill: 4, label: "NVSwitch" },
    leaf: { fill: 3, label: "leaf of the fabric" },
  };

  function fabric_text(machine) {
    const f = machine.fabric;
    if (!f) return "";
    const parts = [
      `Fabric ${f.name}${f.is_assumed ? " (assumed)" : ""}: ${String(f.shape ?? "").replaceAll("_", " ")}`,
      data.finite(f.planes)
        ? format.count(f.planes, f.shape === "rail_optimised" ? "rail" : "plane")
        : "",
      data.finite(f.leaves_per_plane)
        ? `${format.count(f.leaves_per_plane, "leaf", "leaves")} (${f.leaf}) in each`
        : "",
      data.finite(f.leaf_down_ports) && data.finite(f.uplinks_per_leaf)
        ? `${f.leaf_down_ports} ports down and ${f.uplinks_per_leaf} up a leaf`
        : "",
      f.spine ? `spines ${f.spine}` : "",
      data.finite(f.oversubscription)
        ? `oversubscription ${format.number(f.oversubscription)}:1`
        : "",
    ];
    return `${parts.filter(Boolean).join(", ")}.`;
  }

  const rate = (bytes) => (data.finite(bytes) ? format.number(bytes / 1e9, "GB/s") : "");

  function edges(machine, plan, use) {
    const all = [];
    const seen = new Set();
    const add = (from, to, a, b, link) => {
      const row = use ? use(from, to) : null;
      all.push({
        from,
        to,
        a,
        b,
        kind: link.kind,
        rate: link.bytes_per_s,
        latency: link.latency_ns,
        utilisation: use ? (row?.utilisation ?? 0) : null,
        carried: row?.carried_bytes ?? null,
      });
    };
    const nv_y = plan.row_end + 2;
    const first_switch = plan.switches[0]?.name;
    for (const link of machine.links ?? []) {
      const key = `${link.from}|${link.to}`;
      if (seen.has(key) || link.from === link.to) continue;
      seen.add(key);
      const from = plan.place.get(link.from);
      const to = plan.place.get(link.to);
      if (from && to) {
        add(link.from, link.to, from, to, link);
      } else if (link.to === first_switch && from) {
        add(link.from, link.to, from, { x: from.x, y: nv_y, wide: true }, link);
      } else if (link.from === first_switch && to) {
        add(link.from, link.to, { x: to.x, y: nv_y, wide: true }, to, link);
      }
    }
    for (const { nic } of plan.leaves) {
      const port = { kind: "network", bytes_per_s: nic.device.port_bytes_per_s };
      const leaf = { x: nic.x, y: plan.leaf_y };
      add(nic.device.name, "leaf", nic, leaf, port);
      add("leaf", nic.device.name, leaf, nic, port);
    }
    return all;
  }

  function draw(machine, use, theme) {
    const plan = layout(machine);
    const all = edges(machine, plan, use);
    const has_switch = plan.switches.length > 0;
    const has_leaf = plan.leaves.length > 0;
    const rows = has_switch ? plan.row_end + 2 : has_leaf ? plan.leaf_y : plan.row_end;
    const many = plan.columns > 22;

    // Boxes: value is [x, y, left column, right column].
    const boxes = [];
    for (const p of plan.place.values()) {
      const wide = p.device.kind === "cpu" || p.device.kind === "pcie_switch";
      boxes.push({
        value: [p.x, p.y, wide ? p.first : p.x - 0.5, wide ? p.last : p.x + 0.5],
        kind: p.device.kind,
        text: p.device.name,
        device: p.device,
      });
    }
    for (const leaf of plan.leaves) {
      boxes.push({
        value: [leaf.nic.x, plan.leaf_y, leaf.nic.x - 0.5, leaf.nic.x + 0.5],
        kind: "leaf",
        text: leaf.name,
        device: { name: leaf.name, part: machine.fabric?.leaf, kind: "leaf" },
      });
    }
    if (has_switch) {
      boxes.push({
        value: [plan.columns / 2, plan.row_end + 2, 0, plan.columns],
        kind: "nvswitch",
        text: `${plan.switches.map((s) => s.name).join(", ")}`,
        device: plan.switches[0],
      });
    }

    const color_of = (e) => {
      if (e.utilisation === null) {
        return (
          { nvlink: theme.palette[4], network: theme.palette[0], c2c: theme.palette[3] }[e.kind] ??
          theme.muted
        );
      }
      return fabricast.shade(theme.scale, e.utilisation);
    };
    const width_of = (e) =>
      e.utilisation === null
        ? Math.min(6, 1 + Math.sqrt((e.rate ?? 5e10) / 5e10))
        : 1 + 6 * Math.min(1, e.utilisation);

    const kinds = data.unique(boxes.map((b) => b.kind));
    return {
      grid: { left: 8, right: 8, top: 34 + plan.head, bottom: use ? 38 : 8 },
      legend: { top: 4, left: 8, itemWidth: 16, data: kinds.map((k) => shape_of[k]?.label ?? k) },
      tooltip: {
        trigger: "item",
        formatter: (p) => {
          const e = p.data?.edge;
          if (e) {
            return fabricast.tip(`${e.from} → ${e.to}`, [
              `${e.kind}, ${rate(e.rate)}`,
              data.finite(e.latency) ? `latency ${format.number(e.latency, "ns")}` : null,
              e.utilisation === null
                ? null
                : `carries bytes ${format.percent(e.utilisation)} of the time`,
              e.carried === null ? null : `${format.bytes(e.carried)} carried`,
            ]);
          }
          const d = p.data?.device;
          if (!d) return "";
          return fabricast.tip(d.name, [
            d.part,
            d.numa !== undefined ? `NUMA node ${d.numa}` : null,
            d.pcie_gen ? `PCIe gen${d.pcie_gen} x${d.pcie_width}` : null,
            d.nvlinks ? `${d.nvlinks} NVLinks` : null,
            data.finite(d.port_bytes_per_s) ? `port ${rate(d.port_bytes_per_s)}` : null,
            d.rail !== undefined ? `rail ${d.rail}` : null,
            d.busid,
          ]);
        },
      },
      xAxis: { type: "value", show: false, min: -0.2, max: plan.columns + 0.2 },
      yAxis: { type: "value", show: false, inverse: true, min: -0.65, max: rows + 0.5 },
      series: [
        {
          type: "custom",
          name: "links",
          data: all.map((edge) => ({ value: [edge.a.x, edge.a.y, edge.b.x, edge.b.y], edge })),
          encode: { x: [0, 2], y: [1, 3] },
          z: 1,
          renderItem: (params, api) => {
            const edge = all[params.dataIndex];
            const a = api.coord([api.value(0), api.value(1)]);
            const b = api.coord([api.value(2), api.value(3)]);
            // Vertical links end at the wide box above or below them.
            if (edge.a.y < edge.b.y && edge.a.first !== undefined) a[0] = b[0];
            if (edge.b.y < edge.a.y && edge.b.first !== undefined) b[0] = a[0];
            // The two directions run side by side.
            const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
            const off = 3.6;
            const dx = (-(b[1] - a[1]) / length) * off;
            const dy = ((b[0] - a[0]) / length) * off;
            const style = { stroke: color_of(edge), lineWidth: width_of(edge), fill: null };
            const far = edge.a.y === edge.b.y;
            if (far) {
              const reach = Math.abs(api.value(2) - api.value(0));
              const widths = (edge.a.last - edge.a.first + edge.b.last - edge.b.first) / 2;
              const neighbours = edge.kind === "socket" && reach <= widths + 1;
              // Sockets that are not neighbours: an arc above; GPUs: an arc below.
              const up = edge.kind === "socket";
              const bend = neighbours ? 0 : (up ? -1 : 1) * Math.min(54, 14 + length * 0.07);
              const y = a[1] + (neighbours ? dy : up ? -13 : 13);
              return {
                type: "bezierCurve",
                shape: {
                  x1: a[0],
                  y1: y,
                  x2: b[0],
                  y2: y,
                  cpx1: (a[0] * 2 + b[0]) / 3,
                  cpy1: y + bend + dy,
                  cpx2: (a[0] + b[0] * 2) / 3,
                  cpy2: y + bend + dy,
                },
                style,
              };
            }
            return {
              type: "line",
              shape: { x1: a[0] + dx, y1: a[1] + dy, x2: b[0] + dx, y2: b[1] + dy },
              style,
            };
          },
        },
        ...kinds.map((kind) => ({
          type: "custom",
          name: shape_of[kind]?.label ?? kind,
          z: 3,
          itemStyle: { color: theme.palette[shape_of[kind]?.fill ?? 9], decal: { symbol: "none" } },
          encode: { x: [0, 2, 3], y: 1 },
          data: boxes.filter((b) => b.kind === kind),
          renderItem: (params, api) => {
            const box = boxes.filter((b) => b.kind === kind)[params.dataIndex];
            const left = api.coord([api.value(2), api.value(1)]);
            const right = api.coord([api.value(3), api.value(1)]);
            const pad = Math.min(5, (right[0] - left[0]) * 0.06);
            const width = Math.max(4, right[0] - left[0] - 2 * pad);
            const tall = 26;
            const color = theme.palette[shape_of[kind]?.fill ?? 9];
            // A box that is too narrow shows the end of its name: the number.
            const fits = Math.floor((width - 2) / 6.3);
            const text =
              box.text.length <= fits
                ? box.text
                : (/[\d_]+$/.exec(box.text)?.[0].replace(/^_/, "") ?? "").slice(-Math.max(fits, 1));
            return {
              type: "group",
              children: [
                {
                  type: "rect",
                  shape: { x: left[0] + pad, y: left[1] - tall / 2, width, height: tall, r: 4 },
                  style: { fill: theme.background, stroke: color, lineWidth: 2 },
                },
                {
                  type: "text",
                  silent: true,
                  style: {
                    text,
                    x: left[0] + pad + width / 2,
                    y: left[1],
                    align: "center",
                    verticalAlign: "middle",
                    fill: theme.text,
                    fontSize: many ? 10 : 11.5,
                    fontFamily: fabricast.font,
                  },
                },
              ],
            };
          },
        })),
      ],
      ...(use
        ? {
            visualMap: {
              type: "continuous",
              seriesIndex: [],
              min: 0,
              max: 1,
              orient: "horizontal",
              left: "center",
              bottom: 2,
              itemHeight: 130,
              itemWidth: 10,
              calculable: false,
              text: ["100 % busy", "0 %"],
              textStyle: { color: theme.text },
              inRange: { color: theme.scale },
            },
          }
        : {}),
    };
  }

  const count_of = (machine, kind) => (machine.devices ?? []).filter((d) => d.kind === kind).length;

  fabricast.machine_figures = (machine, utilisation) => {
    if (!Array.isArray(machine?.devices) || machine.devices.length === 0) return [];
    const use = utilisation?.length ? utilisations(machine, utilisation) : null;
    const plan = layout(machine);
    const all = edges(machine, plan, use);
    const counted = [
      format.count(count_of(machine, "cpu"), "socket"),
      format.count(count_of(machine, "gpu"), "GPU"),
      format.count(count_of(machine, "nic"), "NIC"),
      count_of(machine, "pcie_switch")
        ? format.count(count_of(machine, "pcie_switch"), "PCIe switch", "PCIe switches")
        : null,
      count_of(machine, "nvswitch") ? "NVSwitch" : null,
    ].filter(Boolean);
    const busy = use ? [...all].sort((a, b) => b.utilisation - a.utilisation).slice(0, 3) : [];
    const title = use ? "The links of a node, by how busy they are" : `One node of ${machine.name}`;
    const hint = [
      machine.title ? `${machine.title}.` : "",
      machine.nodes ? `${format.count(machine.nodes, "node")}.` : "",
      fabric_text(machine),
      use
        ? "Width and colour of a line say which share of the time the link carries bytes; both directions are drawn, and links without bytes are thin. Where nodes differ, the busiest one is shown."
        : "The width of a line grows with the rate of the link; both directions are drawn.",
    ]
      .filter(Boolean)
      .join(" ");
    return [
      {
        id: "machine",
        machine: true,
        title,
        hint,
        alt: `Drawing of one node of ${machine.name}: ${format.list(counted)}.${
          busy.length
            ? ` Busiest: ${busy.map((e) => `${e.from} to ${e.to} ${format.percent(e.utilisation)}`).join(", ")}.`
            : ""
        }`,
        height:
          (use ? 120 : 90) +
          plan.head +
          72 * (plan.switches.length ? plan.row_end + 2 : plan.leaf_y),
        table: data.table_of(
          "links of a node",
          [
            ["from", "string"],
            ["to", "string"],
            ["kind", "string"],
            ["rate_GBps", "number", "GB/s"],
            ["latency_ns", "number", "ns"],
            ...(use ? [["utilisation", "number"]] : []),
          ],
          all.map((e) => ({
            from: e.from,
            to: e.to,
            kind: e.kind,
            rate_GBps: data.finite(e.rate) ? e.rate / 1e9 : null,
            latency_ns: e.latency ?? null,
            utilisation: e.utilisation,
          })),
        ),
        option: (theme) => draw(machine, use, theme),
      },
    ];
  };

  const machine_only = (part) => fabricast.machine_figures(part?.machine ?? part?.report?.machine);
  fabricast.figures.topo = machine_only;
  fabricast.figures.machine = machine_only;
})();
