// sluice/report/site/page_script.cpp - the half of the page's script that the reader talks to:
// groups, filter, zoom, the large chart, and what `serve` sends.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/site/script.h"

namespace sluice::report {
namespace {

constexpr const char* kPageScript = R"js(
let site = null, group = null, cards = [], drag = null, large = null;
const view = {from: 0, to: 0, log: false, time: false, whiskers: true};

const prepare = document_ => {
  site = document_;
  for (const g of site.groups) {
    let last = 0;
    for (const s of g.series) s.changes = s.c || [];
    g.ms = g.times.map(time => { const ms = Date.parse(time); return last = ms === ms ? Math.max(ms, last) : last; });
    g.commit = k => g.commits.of[g.commits.at[k]];
    g.build = k => g.versions.of[g.versions.at[k]];
  }
};
const zoomed = () => group && (view.from > 0 || view.to < group.times.length - 1);

/// What is said of a point: value, interval, commit, time.
const words_of = (s, metric, i) => {
  const k = s.at[i], flags = group.flags[k];
  const interval = s.ends && s.ends[2 * i] === s.ends[2 * i]
    ? ' (' + figure(s.ends[2 * i], metric[1]) + ' to ' + figure(s.ends[2 * i + 1], metric[1]) + (metric[3] ? ', 95 %' : ', runs') + ')' : '';
  const change = s.changes.find(one => one[0] === i);
  return [figure(s.values[i], metric[1]) + interval,
          'commit ' + short(group.commit(k)) + (flags & 2 ? ', with changes' : '') + ' · ' + (group.times[k] || 'no time') + (flags & 1 ? ' · promoted to base' : ''),
          (group.build(k) ? 'sluice ' + group.build(k) + ' · ' : '') + group.profile,
          ...(change ? [percent(change[3]) + ' against the level before, p ' + change[4].toPrecision(2) + (change[5] ? ', went away again' : '')] : [])];
};

// The small charts. Only what is in view is drawn.
const paint = card => { card.stale = false; card.plan = draw(card.canvas, group, card.s, card.metric, view, {cursor: card.cursor, band: card.band}); };
const watcher = new IntersectionObserver(entries => {
  for (const entry of entries) {
    const card = cards[entry.target.dataset.card];
    if (!card) continue;
    card.seen = entry.isIntersecting;
    if (card.seen && card.stale) paint(card);
  }
  if (!document.documentElement.dataset.drawn) document.documentElement.dataset.drawn = Math.round(performance.now());
}, {rootMargin: '150px'});
const refresh = () => {
  if (!group) return;
  for (const card of cards) { card.stale = true; if (card.seen) paint(card); }
  $('reset').disabled = !zoomed();
  if (large) paint_large();
  keep_address();
};

const card_of = (s, index) => {
  const metric = site.metrics[s.m], box = make('figure', undefined, 'plot'), caption = make('figcaption'), name = make('h3');
  const button = make('button', metric[0]);
  button.type = 'button'; button.title = metric[0];
  button.addEventListener('click', () => open_large(index));
  name.append(button);
  const n = s.n;
  const canvas = make('canvas'), last = make('span', undefined, 'last');
  caption.append(name, last);
  canvas.dataset.card = index;
  last.append(make('span', figure(s.l, metric[1]) + (n < group.times.length ? ' · ' + n + (n === 1 ? ' visit' : ' visits') : '')));
  if (s.changes.length) {
    opened(s);
    const change = s.changes[s.changes.length - 1];
    last.append(make('span', percent(change[3]) + ' at ' + short(group.commit(s.at[change[0]])), sense(change[3], metric[2])));
  }
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', metric[0] + ': ' + n + ' visits, newest ' + figure(s.l, metric[1]));
  box.append(caption, canvas);
  return {s, metric, box, canvas, stale: true, seen: false, cursor: -1, band: null, plan: null};
};

const show_changes = () => {
  const rows = [];
  group.series.forEach((s, index) => s.changes.forEach(change => rows.push({s, index, change, time: group.times[s.at[change[0]]]})));
  rows.sort((a, b) => a.time < b.time ? 1 : a.time > b.time ? -1 : 0);
  $('changes-of-level').hidden = !rows.length;
  $('change-rows').replaceChildren(...rows.slice(0, 200).map(({s, index, change, time}) => {
    const metric = site.metrics[s.m], row = make('tr'), cell = make('td', undefined, 'metric'), button = make('button', metric[0]);
    button.type = 'button';
    button.addEventListener('click', () => { open_large(index); set_cursor(change[0]); });
    cell.append(button);
    const commits = make('td'), code = make('code', short(group.commit(s.at[change[0] - 1])) + '..' + short(group.commit(s.at[change[0]])));
    commits.append(code);
    row.append(make('td', time), cell, make('td', percent(change[3]), 'number ' + sense(change[3], metric[2])), make('td', figure(change[1], metric[1]), 'number'),
               make('td', figure(change[2], metric[1]), 'number'), commits, make('td', change[4].toPrecision(2), 'number'), make('td', change[5] ? 'went away again' : '', 'soft'));
    return row;
  }));
};

const show_group = (index, whole = true) => {
  group = site.groups[index];
  if (!group) { $('count').textContent = 'No visit is stored yet.'; $('charts').replaceChildren(); cards = []; return; }
  if (whole) { view.from = 0; view.to = group.times.length - 1; }
  watcher.disconnect();
  cards = group.series.map(card_of);
  filter_cards();
  show_changes();
};
const filter_cards = () => {
  const words = $('filter').value.toLowerCase().split(/\s+/).filter(Boolean), shown = [];
  for (const card of cards) {
    const name = card.metric[0].toLowerCase();
    if (words.every(word => name.includes(word)) && (!$('changed').checked || card.s.changes.length)) shown.push(card);
  }
  watcher.disconnect();
  for (const card of cards) { card.seen = false; card.stale = true; }
  $('charts').replaceChildren(...shown.map(card => card.box));
  for (const card of shown) watcher.observe(card.canvas);
  const n = group.times.length;
  $('count').textContent = shown.length + ' of ' + cards.length + (cards.length === 1 ? ' metric, ' : ' metrics, ') + n + (n === 1 ? ' visit, ' : ' visits, ') + (group.times[0] || '?') + ' to ' + (group.times[n - 1] || '?');
  $('reset').disabled = !zoomed();
  keep_address();
};

const fill_groups = () => $('group').replaceChildren(...site.groups.map((g, index) => {
  const option = make('option', (g.work || 'work ' + (g.workload || 'not told')) + ' on ' + (g.profile || 'an unknown machine') + ' (' + g.times.length + ')');
  option.value = index;
  return option;
}));

// Zoom: a stretch of visits, the same for all charts.
const zoom_to = (from, to) => {
  const last = group.times.length - 1;
  view.from = Math.max(0, Math.min(from, last)); view.to = Math.min(last, Math.max(to, view.from));
  if (view.to === view.from && last > 0) { view.from = Math.max(0, view.from - 1); view.to = Math.min(last, view.to + 1); }
  refresh();
};
const zoom_by = (factor, middle) => {
  const span = Math.max(1, (view.to - view.from) * factor);
  const share = view.to > view.from ? (middle - view.from) / (view.to - view.from) : 0.5;
  zoom_to(Math.round(middle - span * share), Math.round(middle + span * (1 - share)));
};

const tip = (event, lines) => {
  const box = $('tip');
  box.textContent = lines.join('\n'); box.hidden = false;
  const size = box.getBoundingClientRect();
  box.style.left = Math.min(event.clientX + 14, innerWidth - size.width - 6) + 'px';
  box.style.top = (event.clientY + 18 + size.height > innerHeight ? event.clientY - size.height - 10 : event.clientY + 18) + 'px';
};
const leave = card => { $('tip').hidden = true; card.cursor = -1; card.band = null; paint(card); };

const x_in = (event, canvas) => event.clientX - canvas.getBoundingClientRect().left;
const listen = (canvas, found) => {  // found(): what is drawn there, or nothing
  canvas.addEventListener('pointerdown', event => {
    const on = found(event);
    if (!on || !on.plan || event.button) return;
    drag = {on, start: x_in(event, event.target)};
    try { event.target.setPointerCapture(event.pointerId); } catch { /* the pointer is gone */ }
  });
  canvas.addEventListener('pointermove', event => {
    const on = drag ? drag.on : found(event);
    if (!on || !on.plan) return;
    const x = x_in(event, on.canvas);
    if (drag && Math.abs(x - drag.start) > 4) on.band = [drag.start, x];
    on.move(point_at(on.s, on.plan, x), event);
  });
  canvas.addEventListener('pointerup', event => {
    if (!drag) return;
    const {on, start} = drag, x = x_in(event, on.canvas);
    drag = null;
    if (!on.band) return on.click(point_at(on.s, on.plan, x));
    on.band = null;
    zoom_to(on.s.at[point_at(on.s, on.plan, Math.min(x, start))], on.s.at[point_at(on.s, on.plan, Math.max(x, start))]);
  });
  canvas.addEventListener('pointercancel', () => { drag = null; });
};
const small = event => {
  const card = cards[event.target.dataset && event.target.dataset.card];
  if (!card) return null;
  opened(card.s);
  card.move = (i, at) => { card.cursor = i; paint(card); tip(at, words_of(card.s, card.metric, i)); };
  card.click = i => { open_large(cards.indexOf(card)); set_cursor(i); };
  return card;
};
listen($('charts'), small);
$('charts').addEventListener('pointerout', event => { const card = small(event); if (card && !drag) leave(card); });
$('charts').addEventListener('dblclick', () => zoom_to(0, group.times.length - 1));

// The large chart.
const paint_large = () => { large.plan = draw($('large-chart'), group, large.s, large.metric, view, {large: true, cursor: large.cursor, band: large.band}); };
const set_cursor = i => {
  if (!large) return;
  large.cursor = Math.max(0, Math.min(i, large.s.at.length - 1));
  const k = large.s.at[large.cursor];
  if (k < view.from || k > view.to) { const span = view.to - view.from; zoom_to(k < view.from ? k : k - span, k < view.from ? k + span : k); }
  $('readout').textContent = words_of(large.s, large.metric, large.cursor).join('\n');
  const link = $('raw'), file = group.files[k];
  link.hidden = !file;
  if (file) { link.href = file; link.textContent = 'Raw file: ' + decode(file); }
  paint_large();
};
const decode = text => { try { return decodeURIComponent(text); } catch { return text; } };
const open_large = index => {
  const card = cards[index];
  opened(card.s);
  large = {index, s: card.s, metric: card.metric, canvas: $('large-chart'), cursor: -1, band: null, plan: null,
           move: i => set_cursor(i), click: i => set_cursor(i)};
  $('tip').hidden = true;
  $('large-name').textContent = card.metric[0];
  $('large-about').textContent = (group.work || 'work ' + group.workload) + ' on ' + group.profile + (card.metric[2] ? card.metric[2] > 0 ? ' · more is better' : ' · less is better' : '');
  $('large-chart').setAttribute('aria-label', card.metric[0] + ' over ' + card.s.values.length + ' visits');
  $('large-log').checked = view.log; $('large-time').checked = view.time;
  $('values').open = false; $('value-rows').replaceChildren();
  if (!$('large').open) $('large').showModal();
  $('large-chart').focus({preventScroll: true});
  set_cursor(Math.min(point_from(card.s, view.to + 1), card.s.at.length) - 1);
  keep_address();
};
$('large').addEventListener('close', () => { const was = large; large = null; keep_address(); if (was && cards[was.index]) cards[was.index].box.querySelector('button').focus(); });
$('close').addEventListener('click', () => $('large').close());
$('zoom-in').addEventListener('click', () => zoom_by(0.5, large.s.at[large.cursor]));
$('zoom-out').addEventListener('click', () => zoom_by(2, large.s.at[large.cursor]));
$('zoom-all').addEventListener('click', () => zoom_to(0, group.times.length - 1));
listen($('large-chart'), () => large);
$('large-chart').addEventListener('wheel', event => {
  if (!large || !large.plan) return;
  event.preventDefault();
  zoom_by(event.deltaY > 0 ? 1.25 : 0.8, large.s.at[point_at(large.s, large.plan, x_in(event, $('large-chart')))]);
}, {passive: false});
$('large-chart').addEventListener('dblclick', () => zoom_to(0, group.times.length - 1));
$('large-chart').addEventListener('keydown', event => {
  const far = event.shiftKey ? 10 : 1, middle = large.s.at[large.cursor];
  const does = {ArrowLeft: () => set_cursor(large.cursor - far), ArrowRight: () => set_cursor(large.cursor + far), Home: () => set_cursor(0),
                End: () => set_cursor(large.s.at.length - 1), '+': () => zoom_by(0.5, middle), '=': () => zoom_by(0.5, middle), '-': () => zoom_by(2, middle),
                0: () => zoom_to(0, group.times.length - 1), l: () => set_flag('log', !view.log), Enter: () => { if (!$('raw').hidden) $('raw').click(); }}[event.key];
  if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  does();
});
$('values').addEventListener('toggle', () => {
  if (!$('values').open || $('value-rows').children.length) return;
  const {s} = large, rows = [];
  for (let i = s.at.length - 1; i >= 0 && rows.length < 10000; --i) {
    const k = s.at[i], row = make('tr'), ends = s.ends && s.ends[2 * i] === s.ends[2 * i];
    row.append(make('td', group.times[k]), make('td', group.commit(k)), make('td', exact(s.values[i]), 'number'), make('td', ends ? exact(s.ends[2 * i]) : '', 'number'),
               make('td', ends ? exact(s.ends[2 * i + 1]) : '', 'number'), make('td', group.flags[k] & 1 ? 'base' : ''));
    rows.push(row);
  }
  $('value-rows').replaceChildren(...rows);
});

// Choices, and the address that keeps them.
const set_flag = (name, on) => {
  view[name] = on;
  for (const id of [name, 'large-' + name]) if ($(id)) $(id).checked = on;
  refresh();
};
for (const name of ['log', 'time', 'whiskers']) $(name).addEventListener('change', event => set_flag(name, event.target.checked));
for (const name of ['log', 'time']) $('large-' + name).addEventListener('change', event => set_flag(name, event.target.checked));
$('group').addEventListener('change', event => show_group(Number(event.target.value)));
$('filter').addEventListener('input', () => filter_cards());
$('changed').addEventListener('change', () => filter_cards());
$('reset').addEventListener('click', () => zoom_to(0, group.times.length - 1));
$('tools').addEventListener('submit', event => event.preventDefault());
const keep_address = () => {
  if (!group) return;
  const words = new URLSearchParams();
  if (site.groups.length > 1) { words.set('profile', group.profile); words.set('workload', group.workload); }
  if ($('filter').value) words.set('filter', $('filter').value);
  for (const name of ['log', 'time']) if (view[name]) words.set(name, '1');
  if ($('changed').checked) words.set('changed', '1');
  if (large) words.set('metric', large.metric[0]);
  try { history.replaceState(null, '', '#' + words); } catch { /* a page of its own kind, as in a frame */ }
};
const read_address = () => {
  const words = new URLSearchParams(location.hash.slice(1));
  for (const name of ['log', 'time']) set_now(name, words.has(name));
  $('changed').checked = words.has('changed');
  $('filter').value = words.get('filter') || '';
  const index = site.groups.findIndex(g => g.profile === words.get('profile') && g.workload === words.get('workload'));
  return {index: Math.max(index, 0), metric: words.get('metric')};
};
const set_now = (name, on) => { view[name] = on; $(name).checked = on; };

// `serve` says when something is new.
const follow = () => {
  const source = new EventSource('events');
  source.addEventListener('site', async () => {
    const answer = await fetch('data.json');
    if (!answer.ok) return;
    const was = group && [group.profile, group.workload], whole = !group || !zoomed(), open = large && large.metric[0], cursor = large && large.cursor;
    prepare(await answer.json());
    fill_groups();
    const index = Math.max(0, site.groups.findIndex(g => was && g.profile === was[0] && g.workload === was[1]));
    $('group').value = index;
    show_group(index, whole);
    const again = cards.findIndex(card => card.metric[0] === open);
    if (again >= 0) { open_large(again); set_cursor(cursor); }
    $('about').textContent = site.groups.reduce((sum, g) => sum + g.times.length, 0) + ' visits, read ' + site.made + '.';
  });
  source.addEventListener('runs', event => {
    const runs = JSON.parse(event.data);
    $('live').hidden = !runs.length;
    $('runs').replaceChildren(...runs.map(run => {
      const item = make('li', run.name + ' · ' + run.rows + (run.rows === 1 ? ' row' : ' rows') + ' so far' + (run.last ? ' · ' + run.last : '') + ' ');
      if (run.file) { const link = make('a', 'raw file'); link.href = run.file; item.append(link); }
      return item;
    }));
  });
};

const begin = () => {
  read_ink();
  prepare(JSON.parse($('data').textContent));
  fill_groups();
  const start = read_address();
  $('group').value = start.index;
  show_group(start.index);
  if (start.metric !== null) { const index = cards.findIndex(card => card.metric[0] === start.metric); if (index >= 0) open_large(index); }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { read_ink(); refresh(); });
  let waiting = 0;
  addEventListener('resize', () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(refresh); });
  if (site.live) follow();
};
// The frame of the page is painted before its numbers are read.
requestAnimationFrame(() => setTimeout(begin));
)js";

}  // namespace

const char* site_page_script() {
  return kPageScript;
}

}  // namespace sluice::report
