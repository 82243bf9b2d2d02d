#include "integrations/pages/page_style.h"

#include "integrations/pages/markup.h"

namespace recrash::pages {

const char* const kPageStyle = R"css(
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --dim: #56606b; --edge: #cdd5dd; --soft: #f5f7f9;
  --here: #fff1bf; --bad: #a8201a; --good: #0f5c2e; --link: #0550ae; --value: #e3efff; }
@media (prefers-color-scheme: dark) { :root { --back: #14171c; --text: #e6e9ee; --dim: #a8b1bd; --edge: #3a4350;
  --soft: #1c2128; --here: #453a12; --bad: #ff9f96; --good: #7fe0a2; --link: #8bbcff; --value: #1d3450; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 84rem; padding: 1.25rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .5rem; color: var(--bad); }
h2 { font-size: 1.15rem; margin: 0 0 .75rem; }
h3 { font-size: 1rem; margin: 0; font-weight: 400; }
p { margin: 0 0 .75rem; }
a { color: var(--link); }
code, kbd { font: .8125rem/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; unicode-bidi: isolate; }
kbd { border: 1px solid var(--edge); border-radius: .25rem; padding: 0 .3rem; background: var(--soft); }
section { margin: 1.75rem 0 0; }
ol, ul { list-style: none; margin: 0; padding: 0; }
.dim { color: var(--dim); }
.badge { font-size: .8125rem; border: 1px solid; border-radius: 1rem; padding: .05rem .55rem; white-space: nowrap; }
.undone { color: var(--good); font-weight: 600; }
.note { border-left: .25rem solid var(--link); padding-left: .75rem; }
#steps > li { border: 1px solid var(--edge); border-left-width: .3rem; border-radius: .4rem; margin: 0 0 .75rem;
  padding: .6rem .75rem; scroll-margin: 1rem; }
#steps > .failed { border-left-color: var(--bad); }
#steps > .d1 { margin-left: 1.5rem; } #steps > .d2 { margin-left: 3rem; }
#steps > .d3 { margin-left: 4.5rem; } #steps > .d4 { margin-left: 6rem; }
#steps > [aria-current] { border-color: var(--link); box-shadow: 0 0 0 2px var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.about { display: flex; flex-wrap: wrap; gap: .1rem .75rem; align-items: baseline; margin: 0 0 .4rem; }
.source { background: var(--soft); border-radius: .3rem; padding: .25rem 0; }
.row { display: flex; padding: 0 .5rem; gap: .6rem; align-items: baseline; }
.row code { white-space: pre-wrap; flex: 1 1 auto; min-width: 0; }
.number { flex: 0 0 4.5ch; text-align: right; color: var(--dim); font: .8125rem/1.5 ui-monospace, monospace;
  white-space: nowrap; user-select: none; }
.here { background: var(--here); } .here .number, .here code { color: var(--text); font-weight: 600; }
.value { flex: 0 1 auto; max-width: 45%; background: var(--value); border-radius: .25rem; padding: 0 .4rem; }
.row .value code { white-space: normal; }
.graph svg { display: block; width: 100%; max-width: 20rem; height: auto; }
.graph rect { fill: var(--soft); stroke: var(--dim); } .graph .failed rect { stroke: var(--bad); stroke-width: 3; }
.graph text { fill: var(--text); font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.graph .name { font-weight: 700; } .graph .dim { fill: var(--dim); }
.graph path { stroke: var(--dim); fill: none; stroke-width: 1.5; } .graph .head { fill: var(--dim); stroke: none; }
.list > li { border-top: 1px solid var(--edge); padding: .5rem 0; }
.copy { display: flex; gap: .5rem; align-items: start; margin-top: .25rem; }
.copy code { flex: 1 1 auto; min-width: 0; background: var(--soft); border-radius: .3rem; padding: .3rem .5rem;
  white-space: pre-wrap; }
button { font: inherit; font-size: .8125rem; color: var(--text); background: var(--soft); cursor: pointer;
  border: 1px solid var(--dim); border-radius: .3rem; padding: .2rem .6rem; min-width: 4.5rem; }
[hidden] { display: none; }
@media (min-width: 64rem) {
  .beside { display: grid; grid-template-columns: minmax(0, 1fr) 20rem; gap: 1.75rem; }
  .beside .graph { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; }
}
@media (max-width: 40rem) {
  body { padding: .75rem; }
  h1 { font-size: 1.25rem; }
  .row { flex-wrap: wrap; gap: 0 .4rem; padding: 0 .35rem; } .row code { flex-basis: calc(100% - 6ch); }
  .number { flex-basis: 4ch; }
  .value { max-width: 100%; margin-left: 5ch; }
  #steps > .d1 { margin-left: .6rem; } #steps > .d2 { margin-left: 1.2rem; }
  #steps > .d3 { margin-left: 1.8rem; } #steps > .d4 { margin-left: 2.4rem; }
}
@media print { .copy button, #keys { display: none; } }
)css";

// Without it the page can be read, too. It holds neither "<" nor "&", so that the page is XML as well.
const char* const kPageScript = R"js(
"use strict";
{
  const steps = Array.from(document.querySelectorAll("#steps > li"));
  let at = -1;
  const mark = (to) => {
    at = to;
    steps.forEach((step, i) => {
      if (i === at) step.setAttribute("aria-current", "step");
      else step.removeAttribute("aria-current");
    });
  };
  const go = (to) => {
    if (!steps[to]) return;
    mark(to);
    steps[to].focus({preventScroll: true});
    steps[to].scrollIntoView({block: "nearest"});
  };
  const by_hash = () => {
    const to = steps.findIndex((step) => "#" + step.id === location.hash);
    if (to !== -1) go(to);
  };
  document.addEventListener("keydown", (event) => {
    if ([event.ctrlKey, event.altKey, event.metaKey, event.shiftKey].includes(true)) return;
    const by = {j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1}[event.key];
    if (!by) return;
    event.preventDefault();
    go(Math.max(0, at + by));
  });
  steps.forEach((step, i) => step.addEventListener("click", () => mark(i)));
  window.addEventListener("hashchange", by_hash);
  by_hash();
  const keys = document.getElementById("keys");
  if (keys) keys.hidden = steps.length === 0;
  const said = document.getElementById("said");
  document.querySelectorAll("button").forEach((button) => {
    const code = document.getElementById(button.dataset.copies);
    const tell = (text) => {
      button.textContent = text;
      said.textContent = text;
    };
    const select = () => {
      window.getSelection().selectAllChildren(code);
      tell("selected");
    };
    button.hidden = false;
    button.addEventListener("click", () => {
      if (!navigator.clipboard) return select();
      navigator.clipboard.writeText(code.textContent).then(() => tell("copied"), select);
    });
  });
}
)js";

std::string PageHead(const std::string& title) {
  const std::string policy = "default-src 'none'; style-src '" + PolicyHash(kPageStyle) + "'; script-src '" +
                             PolicyHash(kPageScript) + "'; base-uri 'none'; form-action 'none'";
  return "<head>\n<meta charset=\"utf-8\"/>\n<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy +
         "\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
         "<meta name=\"referrer\" content=\"no-referrer\"/>\n<title>" +
         Escaped(title) + "</title>\n<style>" + kPageStyle + "</style>\n</head>\n";
}

}  // namespace recrash::pages
