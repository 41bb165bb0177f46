// Draws the numbers of a table. The table stays, for users who cannot see the chart.
"use strict";

const HEIGHT = 168;
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

const shown = (value, unit) => {
  if (unit === "$") return `$${short.format(value)}`;
  if (unit === "s" && value >= 60) return `${short.format(value / 60)} min`;
  return `${short.format(value)}${unit ? ` ${unit}` : ""}`;
};

// The top of an axis: a round number, so that the highest line of the grid is above the data.
const TOPS = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];
const topOf = (high, unit) => {
  if (!(high > 0)) return 1;
  if (unit === "s") {
    const step = TIME_STEPS.find((one) => high / one <= 4) ?? TIME_STEPS.at(-1);
    return Math.ceil(high / step) * step;
  }
  const size = 10 ** Math.floor(Math.log10(high));
  const top = size * TOPS.find((one) => one * size >= high);
  return unit === "" ? Math.ceil(top) : top;
};
// Seconds that are round in minutes and hours: a third of a minute is not.
const TIME_STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];
// Counts have no halves.
const COUNT_STEPS = [1, 2, 5].flatMap((one) => [0, 1, 2, 3, 4, 5, 6].map((zeros) => one * 10 ** zeros))
  .sort((one, other) => one - other);

const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });
const hour = new Intl.DateTimeFormat("en", {
  hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC",
});
const DAY = 86400;

const numbers = (rows, column) =>
  rows.map((row) => {
    const text = row.cells[column].dataset.value;
    return text === undefined || text === "" ? null : Number(text);
  });

// One series for each column in `data-columns`, as stacked bars or as a line.
const series = (figure, rows) => {
  const columns = figure.dataset.columns.split(" ").map((one) => one.split(":"));
  const values = columns.map(([column]) => numbers(rows, Number(column)));
  const isBars = figure.dataset.kind === "bars";
  if (isBars) {
    for (let one = 1; one < values.length; one += 1) {
      values[one] = values[one].map((value, at) => (value || 0) + (values[one - 1][at] || 0));
    }
  }
  const drawn = columns.map(([, name]) => ({
    stroke: color(name),
    fill: isBars ? color(name) : undefined,
    width: isBars ? 0 : 2,
    paths: isBars ? uPlot.paths.bars({ size: [0.7, 32] }) : undefined,
    points: { show: !isBars, size: 5, fill: color(name) },
    spanGaps: true,
  }));
  // The tallest bar is drawn first, so that the others are in front of it.
  return isBars ? [drawn.reverse(), values.reverse()] : [drawn, values];
};

const draw = (figure) => {
  const rows = [...document.getElementById(figure.dataset.chart).tBodies[0].rows];
  const at = rows.map((row) => Date.parse(row.dataset.at) / 1000);
  const [drawn, values] = series(figure, rows);
  if (!values.flat().some(Boolean)) {
    figure.textContent = "Nothing to show yet.";
    return null;
  }
  const axis = {
    stroke: color("--muted"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
    font: `11px ${color("--sans")}`,
  };
  const unit = figure.dataset.unit || "";
  const steps = { "": COUNT_STEPS, s: TIME_STEPS }[unit];
  const format = Number(figure.dataset.step) < DAY ? hour : day;
  const moment = (seconds) => format.format(new Date(seconds * 1000));
  const options = {
    width: figure.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { range: (_, low, high) => [low - figure.dataset.step / 2, high + figure.dataset.step / 2] },
      y: { range: (_, low, high) => [0, Number(figure.dataset.top) || topOf(high, unit)] },
    },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    axes: [
      { ...axis, grid: { show: false }, size: 34, gap: 11, values: (_, splits) => splits.map(moment) },
      { ...axis, size: 56, ...(steps && { incrs: steps }), values: (_, splits) => splits.map((value) => shown(value, unit)) },
    ],
    padding: [8, 8, 0, 0],
    series: [{}, ...drawn],
  };
  figure.replaceChildren();
  return new uPlot(options, [at, ...values], figure);
};

const drawAll = () => document.querySelectorAll("[data-chart]").forEach(draw);
let width = 0;
new ResizeObserver(() => {
  if (document.documentElement.clientWidth === width) return;
  width = document.documentElement.clientWidth;
  drawAll();
}).observe(document.documentElement);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
