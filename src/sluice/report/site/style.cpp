// sluice/report/site/style.cpp - what the page of stored visits adds to the style of report.html.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/site/page.h"

namespace sluice::report {
namespace {

constexpr const char* kSiteStyle = R"css(
main { max-width: 90rem; }
.bar-of-tools { position: sticky; top: 0; z-index: 5; display: flex; flex-wrap: wrap; align-items: end; gap: .6rem 1.1rem; background: var(--paper); border-bottom: 1px solid var(--line); padding: .7rem 0; margin-top: 1.4rem; font-size: .875rem; }
.bar-of-tools label { color: var(--soft); } .bar-of-tools .field { display: grid; gap: .15rem; min-width: 0; } .bar-of-tools .grow { flex: 1 1 18rem; }
.bar-of-tools select, .bar-of-tools input[type=search] { width: 100%; max-width: 44rem; height: 2.2em; }
select, input[type=search], button { font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .3rem .55rem; }
button { cursor: pointer; } button:hover { border-color: var(--accent); } button:disabled { color: var(--soft); cursor: default; }
select:focus-visible, input:focus-visible, button:focus-visible, canvas:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.check { display: inline-flex; gap: .35rem; align-items: center; padding: .3rem 0; white-space: nowrap; } .check input { accent-color: var(--accent); margin: 0; }
.multiples { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: .8rem; margin-top: 1rem; }
.multiples .plot { padding: .7rem .8rem .5rem; content-visibility: visible; } .multiples .plot:hover { border-color: var(--accent-soft); }
.multiples figcaption { display: block; margin-bottom: .25rem; } .multiples h3 { font-size: .875rem; }
.multiples h3 button { border: 0; background: none; padding: 0; font-weight: 600; text-align: left; max-width: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; display: block; } .multiples h3 button:hover { color: var(--accent); }
.plot canvas { display: block; width: 100%; height: 108px; touch-action: pan-y; cursor: crosshair; }
.plot figcaption .last { display: flex; justify-content: space-between; gap: .6rem; } .plot figcaption .last span + span { white-space: nowrap; } .plot figcaption .worse { color: var(--bad); } .plot figcaption .gain { color: var(--good); } .plot figcaption .moved { color: var(--warn); } .worse { color: var(--bad); } .gain { color: var(--good); } .moved { color: var(--warn); }
#tip { position: fixed; z-index: 40; pointer-events: none; background: var(--card); border: 1px solid var(--line); border-radius: .4rem; box-shadow: 0 4px 18px rgb(0 0 0 / .16); padding: .45rem .65rem; font-size: .8125rem; line-height: 1.4; max-width: 24rem; white-space: pre-line; } #tip[hidden] { display: none; }
dialog { width: min(72rem, calc(100vw - 2rem)); max-height: calc(100vh - 2rem); border: 1px solid var(--line); border-radius: .7rem; background: var(--card); color: var(--ink); padding: 1.1rem 1.3rem; } dialog::backdrop { background: rgb(0 0 0 / .45); }
dialog header { display: flex; justify-content: space-between; gap: 1rem; align-items: start; } dialog h2 { margin: 0; } dialog .tools { display: flex; flex-wrap: wrap; gap: .45rem .8rem; align-items: center; margin: .7rem 0; font-size: .875rem; }
dialog canvas { display: block; width: 100%; height: min(46vh, 380px); cursor: crosshair; touch-action: none; }
.readout { min-height: 3rem; font-size: .9rem; margin: .5rem 0 .2rem; white-space: pre-line; }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .8125rem; color: var(--soft); margin: .6rem 0 0; padding: 0; list-style: none; } .key svg { display: inline-block; width: 22px; height: 10px; vertical-align: -1px; margin-right: .3rem; }
.key .level-line { stroke: var(--warn); stroke-width: 2; } .key .base-line { stroke: var(--soft); stroke-dasharray: 3 3; } .key .diamond { fill: none; stroke: var(--ink); stroke-width: 1.3; }
kbd { font: .85em var(--mono); border: 1px solid var(--line); border-radius: .25rem; padding: 0 .3rem; background: var(--faint); }
.live { border-left-color: var(--good); } .live .chip { color: var(--good); } .live progress { width: 10rem; accent-color: var(--accent); }
.changes td { white-space: nowrap; } .changes td.metric { white-space: normal; min-width: 18rem; } .changes button { border: 0; background: none; padding: 0; color: var(--accent); text-decoration: underline; text-underline-offset: .18em; text-align: left; }
.changes code { font-size: .8125rem; }
@media (max-width: 640px) { .bar-of-tools { position: static; } }
@media print { .bar-of-tools, dialog, #tip { display: none; } }
)css";

}  // namespace

const char* site_style() {
  return kSiteStyle;
}

}  // namespace sluice::report
