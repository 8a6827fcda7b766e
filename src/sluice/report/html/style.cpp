// sluice/report/html/style.cpp - the style sheet of report.html.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/html/parts.h"

namespace sluice::report {
namespace {

// Two palettes of the same roles. Text colours keep a contrast of at least 4.5 against their
// background.
constexpr const char* kStyle = R"css(
:root {
  color-scheme: light dark;
  --paper: #fbfbfa; --card: #ffffff; --ink: #1c2126; --soft: #59636e; --line: #e4e6e8; --faint: #f2f3f4;
  --accent: #0f6a8b; --accent-soft: #b9d8e3; --dot: #0f6a8b;
  --good: #2b7044; --warn: #8a5a00; --warn-soft: #fdf3dc; --bad: #b3261e; --bad-soft: #fbe9e7;
  --p0: #0f6a8b; --p1: #a35c00; --p2: #3d7a2a; --p3: #7549a8; --p4: #b03a56; --p5: #1d7a70; --p6: #80632b; --p7: #8a929b;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --card: #1b1f23; --ink: #e4e7ea; --soft: #9aa5b0; --line: #2e343a; --faint: #22272c;
    --accent: #6cc0dd; --accent-soft: #1f4a5a; --dot: #8dd0e8;
    --good: #7cc796; --warn: #e8b75a; --warn-soft: #33290f; --bad: #f2958c; --bad-soft: #3a1d1b;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
main { max-width: 72rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -0.02em; margin: 0 0 .4rem; font-weight: 650; }
h2 { font-size: 1.2rem; letter-spacing: -0.01em; margin: 3rem 0 .4rem; font-weight: 650; }
h3 { font-size: .95rem; margin: 0; font-weight: 600; }
p { margin: 0 0 .8rem; max-width: 46rem; }
a { color: var(--accent); text-underline-offset: .18em; }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }
.skip { position: absolute; left: -999rem; } .skip:focus { left: 1rem; top: 1rem; }
.soft, .note { color: var(--soft); } .note { font-size: .875rem; }
.profile { max-width: none; font: .875rem/1.5 var(--mono); color: var(--soft); margin: 0; }
nav { margin: 1.1rem 0 0; font-size: .875rem; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; }
.index { display: block; margin: 0 0 2.5rem; } .index ol { margin: 0; padding-left: 1.4rem; } .index li { margin: .2rem 0; }
.session + .session { border-top: 3px double var(--line); margin-top: 4rem; padding-top: 3rem; }

.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(13.5rem, 1fr)); gap: .8rem; margin: 1.6rem 0 0; padding: 0; list-style: none; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1rem .8rem; }
.card .name { color: var(--soft); font-size: .8125rem; line-height: 1.35; }
.card .value { font-size: 1.6rem; line-height: 1.3; font-weight: 600; letter-spacing: -0.02em; }
.card .value small { font-size: .875rem; font-weight: 400; color: var(--soft); letter-spacing: 0; }
.card .more { font-size: .8125rem; color: var(--soft); line-height: 1.4; }

.callout { background: var(--warn-soft); border-left: 3px solid var(--warn); border-radius: .2rem .4rem .4rem .2rem; padding: .55rem .9rem; margin: 1rem 0 0; font-size: .9rem; }
.answer { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--accent); border-radius: .3rem .6rem .6rem .3rem; padding: 1.1rem 1.3rem; margin: 1.2rem 0 1rem; }
.headline { font-size: 1.45rem; line-height: 1.3; font-weight: 650; letter-spacing: -0.015em; max-width: 60rem; margin: 0; text-wrap: balance; } .headline.long { font-size: 1.1rem; letter-spacing: 0; }
.why { margin: .7rem 0 0; padding-left: 1.1rem; color: var(--soft); font-size: .9375rem; } .why li { margin: .15rem 0; }
.next { margin: .9rem 0 0; padding: .7rem 0 0; border-top: 1px solid var(--line); font-size: .9375rem; } .steps { margin: .2rem 0 0; padding-left: 1.1rem; } .steps li { margin: .2rem 0; }
code { font: .92em/1.4 var(--mono); } .answer code, .finding code { background: var(--faint); border-radius: .25rem; padding: .05rem .3rem; } .note strong { color: var(--ink); font-weight: 600; }
.callout strong { color: var(--warn); }
.callout ul { margin: 0; padding-left: 1.1rem; }

table { border-collapse: collapse; width: 100%; font-size: .9rem; }
.rows { margin-top: .8rem; }
.rows caption { text-align: left; color: var(--soft); font-size: .875rem; padding-bottom: .6rem; }
th, td { text-align: left; vertical-align: middle; padding: .45rem 1.3rem .45rem 0; border-bottom: 1px solid var(--line); }
thead th { overflow-wrap: normal; font-weight: 500; font-size: .8125rem; color: var(--soft); border-bottom-color: var(--soft); vertical-align: bottom; }
.rows th:last-child, .rows td:last-child { padding-right: 0; }
.rows tbody th { font-weight: 500; min-width: 11rem; }
.number { text-align: right; white-space: nowrap; }
.rows tr.again th { color: transparent; user-select: none; } .rows tr.inside th, .rows tr.inside td { border-bottom-color: transparent; }
td.empty { color: var(--soft); }
.best .median { font-weight: 700; }
.bar { width: 11rem; min-width: 7rem; } .library { min-width: 5.5rem; }
.range { display: block; font-size: .8125rem; color: var(--soft); white-space: nowrap; }
.chip { display: inline-block; font-size: .8125rem; white-space: nowrap; }
.chip::before { content: ""; display: inline-block; width: .5rem; height: .5rem; border-radius: 50%; margin-right: .4rem; background: currentColor; }
.chip.ok { color: var(--good); } .chip.unstable, .chip.early { color: var(--warn); } .chip.failed { color: var(--bad); }
.chip.unsupported, .chip.skipped { color: var(--soft); } .chip.unsupported::before, .chip.skipped::before { background: none; border: 1.5px solid currentColor; }
.reason { display: block; font-size: .8125rem; color: var(--soft); max-width: 24rem; }

.fit { overflow-x: auto; overflow-y: hidden; } .scroll.snug { width: fit-content; max-width: 100%; } .plain { width: auto; min-width: min(100%, 36rem); } .plain th, .plain td { padding: .35rem .9rem; } .plain tr:last-child td { border-bottom: 0; } .plain th:not(.number), .plain td:not(.number) { min-width: 5rem; max-width: 34rem; } .plain td:first-child, .plain th:first-child { min-width: 1rem; }
.table-title { margin: 1.6rem 0 .5rem; } .finding { margin: .9rem 0; } .finding p { margin: .15rem 0; } .finding ul { margin: .2rem 0; padding-left: 1.1rem; font-size: .9375rem; }
.scroll { overflow-x: auto; margin: .6rem 0 .8rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--card); }
.matrix { width: auto; min-width: 100%; font-size: .8125rem; }
.matrix th, .matrix td { padding: .4rem .4rem; text-align: right; white-space: nowrap; overflow-wrap: normal; }
.matrix th:first-child { text-align: left; position: sticky; left: 0; background: var(--card); border-right: 1px solid var(--line); z-index: 1; }
.matrix thead th { color: var(--ink); font-weight: 600; } .matrix thead small, .matrix td small { color: var(--soft); font-weight: 400; font-size: .75rem; } .matrix thead .lead small { display: inline-block; width: 5rem; white-space: normal; } .matrix td.lead small { display: block; }
.matrix tbody th { font-weight: 500; } .matrix tbody tr:hover > * { background: var(--faint); }
.matrix td small { padding-left: .1rem; } .matrix .marks { display: inline-block; min-width: .5rem; text-align: left; color: var(--warn); }
.matrix .best .median { font-weight: 700; color: var(--accent); } .matrix td.absent { color: var(--soft); }
.matrix td.aside .median { color: var(--soft); } .matrix td.early, .matrix td.skipped { color: var(--warn); } .matrix td.failed, .notes .failed { color: var(--bad); }
.matrix .share { display: block; height: 3px; margin: .15rem .5rem 0 0; background: var(--faint); border-radius: 2px; } .matrix .share span { display: block; height: 3px; border-radius: 2px; background: var(--accent-soft); margin-left: auto; }
.matrix .best .share span { background: var(--accent); } .matrix .lead { border-left: 1px solid var(--line); } .matrix tfoot > tr > * { border-bottom: 0; color: var(--soft); font-weight: 500; } .matrix tfoot td { padding-right: 1.4rem; } .matrix tfoot tr:first-child > * { border-top: 1px solid var(--soft); }
.notes { font-size: .875rem; color: var(--soft); padding-left: 1.1rem; margin: .4rem 0 0; max-width: 60rem; } .notes li { margin: .15rem 0; } .note strong { color: var(--ink); font-weight: 600; }
.cards.wide { grid-template-columns: repeat(auto-fill, minmax(min(100%, 16rem), 1fr)); } .cards.wide .value { font-size: 1.3rem; }

svg { display: block; width: 100%; overflow: visible; }
svg text { font-size: 11px; fill: var(--soft); font-family: inherit; }
.axis { stroke: var(--line); stroke-width: 1; } .zero { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 2; }
.band { fill: var(--accent-soft); } .edge { stroke: var(--accent); stroke-width: 1.5; }
.dot { fill: var(--dot); fill-opacity: .75; } .tick { stroke: var(--ink); stroke-width: 1.5; }
.throttled { fill: var(--bad); } .bin { fill: var(--dot); fill-opacity: .7; } .lane { stroke: var(--line); stroke-width: 1; }
.solid { fill: var(--accent); } .solid.other { fill: var(--soft); fill-opacity: .55; } .whisker { stroke: var(--ink); stroke-width: 1.5; }

.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: .8rem; margin-top: 1.4rem; }
.picture { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1.1rem .8rem; margin: 0; break-inside: avoid; min-width: 0; } .picture.wide { grid-column: 1 / -1; } .picture h3 { margin-bottom: .6rem; } .picture figcaption { margin-top: .5rem; line-height: 1.4; }
.track { fill: var(--faint); } .waiting { fill: var(--accent-soft); } .mark { stroke: var(--warn); stroke-width: 1.5; stroke-dasharray: 4 3; } .level { fill: var(--soft); } .stack text.on { fill: #fff; font-weight: 600; }
.p0 { fill: var(--p0); } .p1 { fill: var(--p1); } .p2 { fill: var(--p2); } .p3 { fill: var(--p3); } .p4 { fill: var(--p4); } .p5 { fill: var(--p5); } .p6 { fill: var(--p6); } .p7 { fill: var(--p7); }
.legend { max-width: 36rem; list-style: none; margin: .6rem 0 0; padding: 0; font-size: .875rem; } .legend li { display: grid; grid-template-columns: 12px 1fr auto 4.5rem; gap: .6rem; align-items: center; padding: .1rem 0; } .legend .value { text-align: right; white-space: nowrap; } .swatch { width: 12px; }
.chart { display: grid; grid-template-columns: fit-content(11rem) minmax(4rem, 1fr) max-content; gap: .25rem .8rem; align-items: center; font-size: .875rem; } .chart.four { grid-template-columns: fit-content(11rem) minmax(4rem, 1fr) max-content max-content; }
.met { fill: var(--good); } .missed { fill: var(--bad); } .unknown { fill: var(--soft); } .sign { font-weight: 650; } .checks .note { margin: .6rem 0 0; } .checks .notes { margin-top: .2rem; font-size: .8125rem; } dl + .note { margin-top: 1rem; } .sign.met { color: var(--good); } .sign.missed { color: var(--bad); }
.pair { display: contents; } .pair .value, .ceiling { text-align: right; white-space: nowrap; } .pair.best { font-weight: 650; } .ceiling { color: var(--soft); font-weight: 400; }

.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: .8rem; margin-top: 1rem; }
.plot { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem .6rem; margin: 0; break-inside: avoid; content-visibility: auto; contain-intrinsic-size: auto 9rem; }
.plot figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 .8rem; margin-bottom: .5rem; line-height: 1.35; }
.plot figcaption span { font-size: .8125rem; color: var(--soft); }
.lanes { display: grid; grid-template-columns: auto 1fr; gap: .7rem; }
.lanes .names { font-size: 11px; color: var(--soft); text-align: right; } .lanes .names span { display: block; }

dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .3rem 1.4rem; margin: .8rem 0 0; font-size: .9rem; }
dt { color: var(--soft); } dd { margin: 0; }
details { margin-top: 1rem; font-size: .9rem; } summary { cursor: pointer; color: var(--accent); }
pre { background: var(--faint); border: 1px solid var(--line); border-radius: .4rem; padding: .8rem 1rem; margin: .8rem 0 0; font: .875rem/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; }
footer { margin-top: 4rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: .8125rem; color: var(--soft); }

@media (max-width: 1010px) {
  main { padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.55rem; }
  .cards { grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .6rem; } .card { padding: .7rem .8rem; } .card .value { font-size: 1.3rem; }
  .rows, .rows tbody, .rows tr, .rows th, .rows td, .rows caption { display: block; }
  .rows thead { position: absolute; left: -999rem; }
  .rows tr { border-bottom: 1px solid var(--line); padding: .7rem 0; } .rows tr.inside { border-bottom-style: dashed; }
  .rows th, .rows td { border: 0; padding: .1rem 0; } .rows tbody th { font-weight: 600; } .rows tr.again th { color: var(--soft); font-weight: 400; }
  .rows td { display: grid; grid-template-columns: 7.5rem 1fr; gap: .8rem; text-align: left; align-items: start; }
  .rows td::before { content: attr(data-label); color: var(--soft); font-size: .8125rem; line-height: 1.35rem; font-weight: 400; }
  .rows td.empty { display: none; }
  .number, .range { white-space: normal; } .bar { width: auto; min-width: 0; } .library { min-width: 0; } .reason { max-width: none; } .matrix th, .matrix td { padding: .35rem .6rem; } .matrix { font-size: .8125rem; } .matrix th:first-child { min-width: 7.5rem; max-width: 9rem; white-space: normal; overflow-wrap: anywhere; }
  .headline { font-size: 1.2rem; } .headline.long { font-size: 1.05rem; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; }
}
@media (max-width: 640px) {
  .chart, .chart.four { grid-template-columns: fit-content(7rem) minmax(3rem, 1fr); } .pair .value, .ceiling { grid-column: 2; text-align: left; white-space: normal; margin-top: -.25rem; }
}
@media (min-width: 1100px) { .reason { min-width: 12rem; } }
@media print {
  :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #bbb; --accent: #0f6a8b; --accent-soft: #c9dfe7; --dot: #0f6a8b; --good: #1d5a34; --warn: #6d4700; --warn-soft: #fff; --bad: #8e1d17; }
  body { font-size: 10pt; -webkit-print-color-adjust: exact; print-color-adjust: exact; } main { max-width: none; padding: 0; }
  nav, .skip { display: none; } h2 { break-after: avoid; } tr, .card { break-inside: avoid; } .scroll { overflow: visible; border: 0; } .matrix { font-size: 8pt; } .matrix th, .matrix td { padding: 2pt 4pt; } .plot { content-visibility: visible; }
}
)css";

}  // namespace

const char* page_style() {
  return kStyle;
}

}  // namespace sluice::report
