// sluice/report/site/chart_script.cpp - the half of the page's script that draws a series on a
// canvas: range, axis, intervals, levels, base, cursor.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/site/script.h"

namespace sluice::report {
namespace {

constexpr const char* kChartScript = R"js(
const $ = id => document.getElementById(id);
const make = (tag, text, name) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;  // never markup: names come from files
  if (name) element.className = name;
  return element;
};

// Numbers. A series holds float32, little endian, in base64; it is opened when it is first drawn.
const bytes = text => {
  const letters = atob(text), out = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; ++i) out[i] = letters.charCodeAt(i);
  return out.buffer;
};
const opened = s => {
  if (s.values) return s;
  s.values = new Float32Array(bytes(s.y));
  s.ends = s.e ? new Float32Array(bytes(s.e)) : null;  // low and high of each
  s.at = s.i ? new Uint32Array(bytes(s.i)) : Uint32Array.from(s.values, (_, k) => k);
  return s;
};
const exact = v => String(Number(v.toPrecision(7)));
const digits = new Intl.NumberFormat('en-US', {maximumSignificantDigits: 5});
const scales = {B: [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']],
                s: [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']]};
/// The size and name of the unit that a value is shown in.
const shown_in = (v, unit) => {
  const steps = scales[unit] || [[1, unit]];
  return steps.find(([size]) => Math.abs(v) >= size) || steps[steps.length - 1];
};
const figure = (v, unit, [size, name] = shown_in(v, unit)) => digits.format(v / size) + (name ? ' ' + name : '');
const percent = v => (v > 0 ? '+' : v < 0 ? '−' : '') + Math.abs(v).toFixed(1) + ' %';
const short = commit => commit.slice(0, 10);
const day = time => time.slice(0, 10);

const ink = {};
const read_ink = () => {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['ink', 'soft', 'line', 'accent', 'accent-soft', 'dot', 'good', 'warn', 'bad', 'card'])
    ink[name] = style.getPropertyValue('--' + name).trim();
  ink.font = '11px ' + getComputedStyle(document.body).fontFamily;
};

/// Which way a change went, as a class of the style sheet.
const sense = (pct, wish) => !wish ? 'moved' : pct * wish < 0 ? 'worse' : 'gain';
const sense_ink = {worse: 'bad', gain: 'good', moved: 'warn'};

/// First point of a series at or after visit `k`.
const point_from = (s, k) => {
  let low = 0, high = s.at.length;
  while (low < high) { const mid = (low + high) >> 1; if (s.at[mid] < k) low = mid + 1; else high = mid; }
  return low;
};

const ticks_of = (low, high, count) => {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(one => one >= raw) || raw, out = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-6 && out.length < 12; v += step) out.push(Math.abs(v) < step / 1e6 ? 0 : v);
  return out;
};

/// Where everything of a chart goes. `view`: first and last visit, log, time, whiskers.
const plan_of = (g, s, view, width, height, large) => {
  const first = point_from(s, view.from), end = point_from(s, view.to + 1);
  let low = Infinity, high = -Infinity;
  for (let i = first; i < end; ++i) { low = Math.min(low, s.values[i]); high = Math.max(high, s.values[i]); }
  if (!(high >= low)) return null;
  if (view.whiskers && s.ends) {  // a wild interval does not flatten the rest
    const room = 0.6 * (high - low) + 0.02 * Math.abs(high), floor = low - room, roof = high + room;
    for (let i = first; i < end; ++i) {
      if (s.ends[2 * i] < low) low = Math.max(s.ends[2 * i], floor);
      if (s.ends[2 * i + 1] > high) high = Math.min(s.ends[2 * i + 1], roof);
    }
  }
  const log = view.log && low > 0;
  const to = v => log ? Math.log(v) : v;
  const pad = 0.07 * (to(high) - to(low)) || 0.05 * Math.abs(to(high)) || 1;
  const bottom = to(low) - pad, top = to(high) + pad;
  const box = {left: large ? 66 : 52, right: width - 8, top: large ? 14 : 8, bottom: height - (large ? 24 : 16)};
  const place = view.time ? k => g.ms[k] : k => k;
  const start = place(view.from), span = place(view.to) - start;
  return {first, end, low, high, log, box,
          x: k => span > 0 ? box.left + 4 + (box.right - box.left - 8) * (place(k) - start) / span : (box.left + box.right) / 2,
          y: v => box.bottom - (box.bottom - box.top) * (to(v) - bottom) / (top - bottom),
          from_y: log ? Math.exp(bottom) : bottom, to_y: log ? Math.exp(top) : top};
};

const draw_axis = (c, g, plan, view, unit, large) => {
  const {box} = plan;
  c.font = ink.font; c.fillStyle = ink.soft; c.strokeStyle = ink.line; c.lineWidth = 1;
  c.textBaseline = 'middle'; c.textAlign = 'right';
  const scale = shown_in(plan.high, unit), size = scale[0];  // round in the unit that is shown
  let ticks = ticks_of(plan.from_y / size, plan.to_y / size, large ? 5 : 4).map(v => v * size);
  if (plan.log && plan.to_y / plan.from_y > 20) {
    ticks = [];
    for (let e = Math.floor(Math.log10(plan.from_y)); e <= Math.log10(plan.to_y); ++e)
      if (10 ** e >= plan.from_y) ticks.push(10 ** e);
  }
  for (const v of ticks) {
    const y = Math.round(plan.y(v)) + 0.5;
    c.beginPath(); c.moveTo(box.left, y); c.lineTo(box.right, y); c.stroke();
    c.fillText(figure(v, unit, scale).replace(/ \S+\/s$/, ''), box.left - 5, y);
  }
  c.textBaseline = 'alphabetic';
  const label = k => view.time ? day(g.times[k]) : short(g.commit(k));
  const y = box.bottom + (large ? 17 : 13);
  c.textAlign = 'left'; c.fillText(label(view.from), box.left, y);
  if (view.to > view.from) { c.textAlign = 'right'; c.fillText(label(view.to), box.right, y); }
};

const draw_whiskers = (c, s, plan) => {
  if (!s.ends) return;
  const clamp = v => Math.min(Math.max(plan.y(v), plan.box.top - 4), plan.box.bottom + 4);
  const count = plan.end - plan.first, dense = count > (plan.box.right - plan.box.left) / 4;
  c.fillStyle = c.strokeStyle = ink['accent-soft'];
  if (dense) {
    c.beginPath();
    for (let i = plan.first; i < plan.end; ++i) c.lineTo(plan.x(s.at[i]), clamp(s.ends[2 * i + 1] === s.ends[2 * i + 1] ? s.ends[2 * i + 1] : s.values[i]));
    for (let i = plan.end - 1; i >= plan.first; --i) c.lineTo(plan.x(s.at[i]), clamp(s.ends[2 * i] === s.ends[2 * i] ? s.ends[2 * i] : s.values[i]));
    c.fill();
    return;
  }
  c.lineWidth = Math.min(5, Math.max(2, (plan.box.right - plan.box.left) / count / 2));
  c.beginPath();
  for (let i = plan.first; i < plan.end; ++i) {
    if (s.ends[2 * i] !== s.ends[2 * i]) continue;
    c.moveTo(plan.x(s.at[i]), clamp(s.ends[2 * i])); c.lineTo(plan.x(s.at[i]), clamp(s.ends[2 * i + 1]));
  }
  c.stroke();
};

const draw_values = (c, s, plan, large) => {
  const count = plan.end - plan.first;
  c.strokeStyle = ink.accent; c.lineWidth = large ? 1.3 : 1; c.globalAlpha = count > 200 ? 0.75 : 0.45;
  c.beginPath();
  for (let i = plan.first; i < plan.end; ++i) c.lineTo(plan.x(s.at[i]), plan.y(s.values[i]));
  c.stroke(); c.globalAlpha = 1;
  const radius = large ? 3 : 2;
  if (count * radius > (plan.box.right - plan.box.left) / 1.6) return;
  c.fillStyle = ink.dot;
  for (let i = plan.first; i < plan.end; ++i) {
    c.beginPath(); c.arc(plan.x(s.at[i]), plan.y(s.values[i]), radius, 0, 7); c.fill();
  }
};

const draw_base = (c, g, s, plan) => {
  let base = -1;
  for (let i = 0; i < s.at.length; ++i) if (g.flags[s.at[i]] & 1) base = i;
  if (base < 0) return;
  const y = plan.y(s.values[base]);
  if (y >= plan.box.top && y <= plan.box.bottom) {
    c.strokeStyle = ink.soft; c.lineWidth = 1; c.setLineDash([3, 3]);
    c.beginPath(); c.moveTo(plan.box.left, y); c.lineTo(plan.box.right, y); c.stroke(); c.setLineDash([]);
  }
  c.strokeStyle = ink.ink; c.fillStyle = ink.card; c.lineWidth = 1.3;
  let last = -9;
  for (let i = plan.first; i < plan.end; ++i) {
    if (!(g.flags[s.at[i]] & 1)) continue;
    const x = plan.x(s.at[i]), at = plan.y(s.values[i]);
    if (x - last < 5) continue;  // no more than can be told apart
    last = x;
    c.beginPath(); c.moveTo(x, at - 4.5); c.lineTo(x + 4, at); c.lineTo(x, at + 4.5); c.lineTo(x - 4, at); c.closePath(); c.fill(); c.stroke();
  }
};

const draw_levels = (c, s, plan, wish, large) => {
  if (!s.changes.length) return;
  for (let k = 0; k <= s.changes.length; ++k) {
    const from = k === 0 ? 0 : s.changes[k - 1][0], end = k === s.changes.length ? s.at.length : s.changes[k][0];
    const low = Math.max(from, plan.first), high = Math.min(end, plan.end) - 1;
    const level = k === 0 ? s.changes[0][1] : s.changes[k - 1][2];
    if (high >= low) {
      c.strokeStyle = ink.warn; c.lineWidth = 2;
      c.beginPath(); c.moveTo(plan.x(s.at[low]), plan.y(level)); c.lineTo(plan.x(s.at[high]), plan.y(level)); c.stroke();
    }
    if (k === 0 || from <= plan.first || from >= plan.end) continue;
    const [, , , pct, , gone] = s.changes[k - 1], x = (plan.x(s.at[from - 1]) + plan.x(s.at[from])) / 2;
    c.strokeStyle = c.fillStyle = ink[sense_ink[sense(pct, wish)]]; c.globalAlpha = gone ? 0.5 : 1;
    c.lineWidth = 1; c.setLineDash([4, 3]);
    c.beginPath(); c.moveTo(x, plan.box.top); c.lineTo(x, plan.box.bottom); c.stroke(); c.setLineDash([]);
    const tip = plan.box.top - 2, up = pct > 0 ? 0 : 6;
    c.beginPath(); c.moveTo(x - 4, tip + 6 - up); c.lineTo(x + 4, tip + 6 - up); c.lineTo(x, tip + up); c.fill();
    if (large) { c.font = ink.font; c.textAlign = 'left'; c.textBaseline = 'middle'; c.fillText(percent(pct), x + 7, plan.box.top + 2); }
    c.globalAlpha = 1;
  }
};

/// Draws series `s` of group `g`; returns its plan, by which a pointer finds a visit.
const draw = (canvas, g, s, metric, view, {large = false, cursor = -1, band = null} = {}) => {
  opened(s);
  const size = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  if (!size.width) return null;
  const wide = Math.round(size.width * ratio), tall = Math.round(size.height * ratio);
  if (canvas.width !== wide || canvas.height !== tall) { canvas.width = wide; canvas.height = tall; }
  const c = canvas.getContext('2d');
  c.setTransform(ratio, 0, 0, ratio, 0, 0); c.clearRect(0, 0, size.width, size.height);
  const plan = plan_of(g, s, view, size.width, size.height, large);
  if (!plan) {
    c.font = ink.font; c.fillStyle = ink.soft; c.textAlign = 'center';
    c.fillText('no visit of this stretch has it', size.width / 2, size.height / 2);
    return null;
  }
  draw_axis(c, g, plan, view, metric[1], large);
  if (band) { c.fillStyle = ink['accent-soft']; c.globalAlpha = 0.5; c.fillRect(Math.min(...band), plan.box.top, Math.abs(band[1] - band[0]), plan.box.bottom - plan.box.top); c.globalAlpha = 1; }
  if (view.whiskers) draw_whiskers(c, s, plan);
  draw_values(c, s, plan, large);
  draw_base(c, g, s, plan);
  draw_levels(c, s, plan, metric[2], large);
  if (cursor >= plan.first && cursor < plan.end) {
    const x = plan.x(s.at[cursor]), y = plan.y(s.values[cursor]);
    c.strokeStyle = ink.soft; c.lineWidth = 1;
    c.beginPath(); c.moveTo(x, plan.box.top); c.lineTo(x, plan.box.bottom); c.stroke();
    c.fillStyle = ink.card; c.strokeStyle = ink.accent; c.lineWidth = 2;
    c.beginPath(); c.arc(x, y, large ? 5 : 4, 0, 7); c.fill(); c.stroke();
  }
  return plan;
};

/// The point of a series that is nearest to `x`.
const point_at = (s, plan, x) => {
  let low = plan.first, high = plan.end - 1;
  while (low < high) { const mid = (low + high) >> 1; if (plan.x(s.at[mid]) < x) low = mid + 1; else high = mid; }
  return low > plan.first && x - plan.x(s.at[low - 1]) < plan.x(s.at[low]) - x ? low - 1 : low;
};
)js";

}  // namespace

const char* site_chart_script() {
  return kChartScript;
}

}  // namespace sluice::report
