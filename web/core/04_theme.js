"use strict";
// Colours of charts, light and dark. Hues are told apart by the colour-blind (after Okabe and Ito).
globalThis.fabricast ??= {};
(() => {
  const light = {
    name: "light",
    text: "#1b1f24",
    muted: "#57606a",
    line: "#8c959f",
    grid: "#e3e6ea",
    background: "#ffffff",
    raised: "#f6f8fa",
    good: "#0072b2",
    bad: "#c04a00",
    palette: [
      "#0072b2",
      "#d55e00",
      "#009e73",
      "#aa4499",
      "#b8860b",
      "#3aa0d8",
      "#882255",
      "#7a7a1f",
      "#332288",
      "#666666",
    ],
    // Low to high.
    scale: ["#d7dde3", "#8fb8d8", "#3f8fc4", "#e39a2d", "#c8371b"],
    heat: ["#f3f5f7", "#fbe3b5", "#f3b457", "#dd7a2b", "#a83a12"],
    diverging: ["#0072b2", "#9fcbe6", "#eef0f2", "#f2b58a", "#c04a00"],
  };
  const dark = {
    name: "dark",
    text: "#e6edf3",
    muted: "#9da7b3",
    line: "#6e7681",
    grid: "#2d333b",
    background: "#14181d",
    raised: "#1c2128",
    good: "#58a6e0",
    bad: "#f0883e",
    palette: [
      "#58a6e0",
      "#f0883e",
      "#35c29a",
      "#d886c9",
      "#e3b341",
      "#8fd3f7",
      "#d16b93",
      "#b9b94c",
      "#9d8df1",
      "#a5a5a5",
    ],
    scale: ["#3a424c", "#35678c", "#4a9fd4", "#e3a53d", "#f0603a"],
    heat: ["#20262d", "#4d3f1d", "#8a5f1a", "#c97a24", "#f59f4a"],
    diverging: ["#58a6e0", "#2d5877", "#2a3038", "#7d4a26", "#f0883e"],
  };

  let printing = false;
  const query = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
  const forced = () => document.documentElement.dataset.theme;

  fabricast.theme = () => {
    if (printing) return light;
    const wanted = forced();
    if (wanted === "light") return light;
    if (wanted === "dark") return dark;
    return query?.matches ? dark : light;
  };
  fabricast.set_printing = (value) => {
    printing = value;
  };
  fabricast.is_printing = () => printing;
  fabricast.on_theme = (listener) => query?.addEventListener?.("change", listener);

  fabricast.font =
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

  // ECharts' own theme object.
  fabricast.echarts_theme = (theme) => {
    const axis = {
      axisLine: { show: true, lineStyle: { color: theme.line } },
      axisTick: { lineStyle: { color: theme.line } },
      axisLabel: { color: theme.muted, fontSize: 12 },
      nameTextStyle: { color: theme.text, fontSize: 12 },
      splitLine: { lineStyle: { color: theme.grid } },
      minorSplitLine: { lineStyle: { color: theme.grid, opacity: 0.5 } },
    };
    return {
      color: theme.palette,
      backgroundColor: theme.background,
      textStyle: { color: theme.text, fontFamily: fabricast.font },
      legend: {
        textStyle: { color: theme.text, fontSize: 12 },
        pageTextStyle: { color: theme.text },
        pageIconColor: theme.text,
        inactiveColor: theme.line,
      },
      tooltip: {
        backgroundColor: theme.raised,
        borderColor: theme.line,
        textStyle: { color: theme.text, fontSize: 13 },
      },
      categoryAxis: { ...axis, splitLine: { show: false } },
      valueAxis: axis,
      logAxis: axis,
    };
  };

  // One family of hues for each algorithm, lighter for the protocols below Simple.
  const families = {
    Ring: ["#6aaede", "#2f86c1", "#0a4f85"],
    Tree: ["#6cc093", "#2f9a69", "#0b5c3d"],
    NVLS: ["#e8b04a", "#c98a12", "#8a5900"],
    NVLSTree: ["#ea8f68", "#d05f2b", "#983408"],
    CollNetDirect: ["#c397d6", "#a06bb8", "#6d3589"],
    CollNetChain: ["#b196e8", "#8461c4", "#4f2f94"],
    PAT: ["#e58fb6", "#cb5489", "#8f2156"],
  };
  const symbols = {
    Ring: "circle",
    Tree: "triangle",
    NVLS: "rect",
    NVLSTree: "diamond",
    CollNetDirect: "pin",
    CollNetChain: "arrow",
    PAT: "roundRect",
  };
  const protocols = ["LL", "LL128", "Simple"];
  const dashes = { LL: "dotted", LL128: "dashed", Simple: "solid" };

  // Look of "Tree LL128, 16 channels" or of ("Tree", "LL128").
  fabricast.choice_style = (algorithm, protocol) => {
    const words = `${algorithm ?? ""} ${protocol ?? ""}`.split(/[\s,]+/);
    const family = families[words[0]];
    const known = words.find((w) => protocols.includes(w)) ?? "Simple";
    let color = "#8a939c";
    if (Object.hasOwn(families, words[0])) {
      color = family[protocols.indexOf(known)];
      // Dark hues are lost on a dark page.
      if (known === "Simple" && fabricast.theme().name === "dark") {
        color = fabricast.shade([color, "#ffffff"], 0.3);
      }
    }
    return {
      color,
      dash: dashes[known],
      symbol: Object.hasOwn(symbols, words[0]) ? symbols[words[0]] : "circle",
    };
  };

  // Black or white, whichever is read on the colour.
  fabricast.ink_on = (color) => {
    const hex = /^#([0-9a-f]{6})$/i.exec(color)?.[1];
    if (!hex) return "#000000";
    const [r, g, b] = [0, 2, 4].map((i) => {
      const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#111111" : "#ffffff";
  };

  // Colour at share (0..1) of a scale of colours.
  fabricast.shade = (scale, share) => {
    const at = Math.min(1, Math.max(0, share)) * (scale.length - 1);
    const low = Math.min(scale.length - 2, Math.floor(at));
    const mix = at - low;
    const channel = (hex, i) => Number.parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
    const parts = [0, 1, 2].map((i) =>
      Math.round(channel(scale[low], i) * (1 - mix) + channel(scale[low + 1], i) * mix)
        .toString(16)
        .padStart(2, "0"),
    );
    return `#${parts.join("")}`;
  };
})();
