// The look of every page: one style sheet, no fonts from outside. Colours are variables, so that
// the dark half only redefines them; plots and heat maps use the same variables.
//
// The series colours are those of Okabe and Ito (2008), which readers with any colour vision can
// tell apart; the dark half lightens them for contrast. Markers and dashes differ as well.
#pragma once

#include <string_view>

namespace tensorpress::report {

inline constexpr std::string_view kPageStyle = R"css(
:root {
  color-scheme: light dark;
  --paper: #ffffff; --panel: #f6f7f9; --ink: #1d232b; --soft: #5a6572; --rule: #d9dee4; --grid: #e6e9ee;
  --series-0: #0072b2; --series-1: #d55e00; --series-2: #009e73; --series-3: #b0538a;
  --series-4: #8a6d00; --series-5: #3b8fc4; --series-6: #555555;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181d; --panel: #1c2229; --ink: #e4e8ed; --soft: #9aa6b3; --rule: #333c47; --grid: #2a323b;
    --series-0: #56b4e9; --series-1: #f28e42; --series-2: #2fc79a; --series-3: #e39ac3;
    --series-4: #f0c445; --series-5: #8fd0f5; --series-6: #bbbbbb;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
main { max-width: 1120px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .6em; }
h2 { font-size: 1.35rem; line-height: 1.25; margin: 2.4em 0 .4em; padding-top: .9em; border-top: 1px solid var(--rule); }
h3 { font-size: 1.05rem; margin: 1.6em 0 .4em; }
p { max-width: 72ch; margin: .6em 0; }
figure { margin: 0; min-width: 0; }
figcaption { color: var(--soft); font-size: .85rem; line-height: 1.4; margin-top: .35em; }
svg { display: block; width: 100%; height: auto; }
svg text { font-family: inherit; fill: var(--ink); }
svg .soft { fill: var(--soft); }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .axis { stroke: var(--soft); stroke-width: 1; }
img { display: block; width: 100%; height: auto; image-rendering: pixelated; border-radius: 3px; }
.side { display: grid; gap: 20px; margin: 1em 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, var(--minimum)), 1fr)); }
.matrix { display: grid; gap: 12px; margin: 1em 0;
  grid-template-columns: repeat(var(--columns), minmax(var(--minimum), 1fr)); }
.scroll { overflow-x: auto; margin: 1em 0; }
table { border-collapse: collapse; font-size: .86rem; line-height: 1.35; width: 100%; }
caption { text-align: left; color: var(--soft); padding-bottom: .5em; }
th, td { padding: .32em .6em; text-align: left; white-space: nowrap; }
th { color: var(--soft); font-weight: 600; white-space: normal; vertical-align: bottom; border-bottom: 2px solid var(--rule); }
th[title] { text-decoration: underline dotted; text-underline-offset: 3px; }
td { border-bottom: 1px solid var(--grid); }
tr.group td { border-top: 2px solid var(--rule); }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--paper); }
.number { text-align: right; font-variant-numeric: tabular-nums; }
tbody tr:hover td { background: var(--panel); }
@media (max-width: 560px) {
  main { padding: 20px 14px 48px; }
  h1 { font-size: 1.5rem; }
}
@media print { main { max-width: none; padding: 0; } }
)css";

}  // namespace tensorpress::report
