// The drawing and the index arithmetic. Values, results, rules, code and every refusal come
// from Python as text, so that this page cannot disagree with the library.

export const product = (ns) => ns.reduce((a, b) => a * b, 1);

const sorted = (ns) => [...ns].sort((a, b) => a - b);

export const ravel = (index, shape) => index.reduce((k, x, i) => k * shape[i] + x, 0);

// The reduced axes, in order; null where noop_with_empty_axes makes the call the identity.
export function reducedOf(choice, ndim) {
  if (!choice.axes.length) {
    if (choice.noop && choice.api !== "atb") return null;
    return [...Array(ndim).keys()];
  }
  return sorted(new Set(choice.axes.map((a) => (a < 0 ? a + ndim : a))));
}

export function outShape(shape, reduced, keepdims) {
  if (!reduced || !shape.length) return [...shape];
  if (keepdims) return shape.map((n, i) => (reduced.includes(i) ? 1 : n));
  return shape.filter((_, i) => !reduced.includes(i));
}

// For each cell of a block in C order, the cell of the output that it goes to.
export function groups(shape, reduced) {
  let found = new Array(product(shape)).fill(0), size = 1, step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    if (!reduced.includes(i)) {
      for (let k = 0; k < found.length; k++) found[k] += step * (Math.floor(k / size) % shape[i]);
      step *= shape[i];
    }
    size *= shape[i];
  }
  return found;
}

// One of six colours. Neighbours differ, diagonal ones too, if the kept axes weigh 1 to 4.
export const hue = (index, weights) => index.reduce((sum, x, i) => sum + x * weights[i], 0) % 6;

export const versionAt = (op, opset) => op.versions.filter((v) => v.since <= opset).at(-1);

// The library's words against a choice, or "". The order of the checks is the library's.
export function refusal(choice, view) {
  const op = view.ops[choice.op];
  if (choice.api === "atb") {
    if (!choice.axes.length) return op.atb_errors.empty || "";
    const first = choice.axes.find((a) => a < 0);
    if (first !== undefined) return op.atb_errors.negative[first + view.shape.length] || "";
    return op.atb_errors.dtype || "";
  }
  const version = versionAt(op, choice.opset);
  if (choice.strict && version.dtype) return version.dtype;
  if (op.never) return op.never;
  if (choice.noop && version.noop) return version.noop;
  const first = choice.strict ? choice.axes.find((a) => a < 0) : undefined;
  return (first !== undefined && version.negative[first + view.shape.length]) || "";
}

// The first opset that allows the choice, or null.
export function firstAllowed(choice, view) {
  const found = view.ops[choice.op].versions.find(
    (v) => !refusal({ ...choice, opset: v.since }, view));
  return found ? found.since : null;
}

// What changed from one position of the slider to another, in words.
export function changes(op, from, to) {
  const index = (opset) => op.versions.indexOf(versionAt(op, opset));
  const a = index(from), b = index(to);
  if (a <= b) return op.versions.slice(a + 1, b + 1).flatMap((v) => v.up);
  return op.versions.slice(b + 1, a + 1).reverse().flatMap((v) => v.down);
}

export function fillCode(entry, choice, op) {
  const version = versionAt(op, choice.opset);
  const fill = (text) => text
    .replace("{opset}", choice.opset)
    .replace("{strict}", choice.strict ? "" : ", strict=False")
    .replace("{note}", version.note ? version.note + "\n" : "");
  const onnx = version.axes === "attribute" && entry.onnx_attribute;
  const code = {
    reducekit: fill(entry.reducekit), numpy: entry.numpy, torch: entry.torch,
    onnx: fill(onnx || entry.onnx),
  };
  if (entry.atb) code.atb = entry.atb;
  return code;
}

// Exact arithmetic on the texts of values, for running totals and winners.
export function number(text, kind) {
  if (kind === "bool") return text === "True" ? 1 : 0;
  if (kind !== "float") return BigInt(text);
  return text === "inf" ? Infinity : text === "-inf" ? -Infinity : Number(text);
}

function scaled(x) {  // a double as a whole number of 2^-1074
  const bytes = new DataView(new ArrayBuffer(8));
  bytes.setFloat64(0, x);
  const bits = bytes.getBigUint64(0);
  const exponent = (bits >> 52n) & 2047n;
  const fraction = bits & ((1n << 52n) - 1n);
  const size = exponent ? (fraction | (1n << 52n)) << (exponent - 1n) : fraction;
  return bits >> 63n ? -size : size;
}

function unscaled(n) {  // to about 17 digits: only for showing
  const size = n < 0n ? -n : n;
  const cut = Math.max(0, size.toString(2).length - 64);
  const shift = cut - 1074, half = shift >> 1;
  const x = Number(size >> BigInt(cut)) * 2 ** half * 2 ** (shift - half);
  return n < 0n ? -x : x;
}

// The exact partial sums as text; integers wrap in their type.
export function runningTotals(values, kind, bits) {
  if (kind !== "float") {
    let total = 0n;
    return values.map((v) => {
      total += BigInt(v);
      return String(kind === "int" ? BigInt.asIntN(bits, total) : BigInt.asUintN(bits, total));
    });
  }
  let total = 0n, odd = 0, zero = true;
  return values.map((v) => {
    if (!Number.isFinite(v)) odd += v;
    else if (!Object.is(odd, NaN) && odd === 0) total += scaled(v);
    zero &&= Object.is(v, -0);
    if (odd !== 0) return Number.isNaN(odd) ? "NaN" : odd > 0 ? "inf" : "-inf";
    if (zero) return "-0.0";
    const x = unscaled(total);
    return Number.isInteger(x) && Math.abs(x) < 1e9 ? `${x}.0` : String(Number(x.toPrecision(6)));
  });
}

// Which of a group's values win a maximum or minimum: all ties, and NaN before all.
export function winners(values, op) {
  if (values.some((v) => v !== v)) return values.map((v) => v !== v);
  const above = (a, b) => a > b || (a === 0 && b === 0 && Object.is(b, -0) && !Object.is(a, -0));
  const better = (a, b) => (op === "max" ? above(a, b) : above(b, a));
  let best = values[0];
  for (const v of values) if (better(v, best)) best = v;
  return values.map((v) => !better(best, v));
}

const TRAITS = {
  op: "op", axes: "axes", keepdims: "keepdims", noop: "noop_with_empty_axes", opset: "opset",
  dtype: "dtype", strict: "strict", api: "api", layout: "layout_axes", corner: "corner",
};
const API_NAMES = { reducekit: "reducekit", numpy: "NumPy", torch: "PyTorch", onnx: "ONNX", atb: "ATB" };
const LIT = "rkx-lit";
const SVG = "http://www.w3.org/2000/svg";
let serial = 0;

const tuple = (ns) => (ns.length === 1 ? `(${ns[0]},)` : `(${ns.join(", ")})`);
const letter = (k) => (k < 26 ? String.fromCharCode(65 + k) : "");
const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
const upTo = (n) => [...Array(n).keys()];

function h(tag, attributes = {}, ...children) {
  const node = /^(svg|path|text)$/.test(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else set(node, name, value === true ? "" : value);
  }
  node.append(...children.filter((c) => c != null));
  return node;
}
const div = (name, ...children) => h("div", { class: name }, ...children);
const select = (label, options, act, attributes) => h("select", { "aria-label": label, onchange: (e) => act(e.target.value), ...attributes },
  ...options.map(([value, text]) => h("option", { value }, text)));
const button = (text, onclick, attributes) => h("button", { type: "button", onclick, ...attributes }, text);

function set(node, name, value) {
  if (value == null || value === false) { if (node.hasAttribute(name)) node.removeAttribute(name); }
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}
function put(node, properties) {
  for (const [name, value] of Object.entries(properties)) if (node[name] !== value) node[name] = value;
}
// Whether what a node shows is another thing than before.
const fresh = (node, key) => node.rkKey !== key && (node.rkKey = key, true);
const say = (node, text) => { if (node.textContent !== text) node.textContent = text; };
// The state of a cell, and the classes that show it.
function dress(cell, part) {
  const now = Object.assign(cell.rk, part);
  cell.className = `rkx-cell${now.win ? " rkx-win" : ""}${now.lit ? ` ${LIT} rkx-g${now.hue}` : ""}${now.at ? " rkx-at" : ""}`;
}
const press = (node, on) => set(node, "aria-pressed", String(on));

class Explorer {
  constructor(model, el) {
    this.model = model;
    this.id = `rk${++serial}-${Math.random().toString(36).slice(2, 7)}`;
    this.alone = !!model.get("_alone");
    this.cleanup = [];
    this.step = null;
    this.tab = "reducekit";
    this.members = [];
    this.outAt = [];
    this.read();
    this.build(el);
    this.listen();
    this.draw();
  }

  read() {
    const m = this.model;
    this.choice = Object.fromEntries(Object.entries(TRAITS).map(([k, t]) => [k, m.get(t)]));
    this.view = m.get("_view");
    this.answer = m.get("_answer") || {};
    // Only Python can lay out other axes of a part.
    if (!this.view.complete) this.choice.layout = this.view.layout;
  }

  // A change by the user: drawn at once, and sent to Python, which may be absent.
  change(part, said = null) {
    this.said = said || ("opset" in part ? this.changeWords(part.opset) : null);
    this.step = null;
    this.stop();
    for (const [key, value] of Object.entries(part)) this.model.set(TRAITS[key], value);
    this.model.save_changes();
    this.queue();
  }

  queue() {
    if (this.queued) return;
    this.queued = true;
    queueMicrotask(() => {
      this.queued = false;
      if (this.gone) return;
      this.read();
      this.draw();
    });
  }

  listen() {
    const changed = () => this.queue();
    for (const name of [...Object.values(TRAITS), "_view", "_answer", "error"]) {
      const event = `change:${name}`;
      this.model.on(event, changed);
      this.cleanup.push(() => this.model.off(event, changed));
    }
  }

  build(el) {
    const { id, view } = this;
    const flag = (label, title, act) => h("label", { title }, h("input", { type: "checkbox", onchange: (e) => act(e.target.checked) }), label);
    const trait = (name) => (value) => this.change({ [name]: value });
    const group = (name, label, ...nodes) => h("div", { class: name, role: "group", "aria-label": label }, ...nodes);
    this.ops = Object.fromEntries(Object.keys(view.ops).map((op) => [op, button(op, () => this.change({ op }))]));
    this.keep = flag("keepdims", "reduced axes stay, with size 1", trait("keepdims"));
    this.noop = flag("noop_with_empty_axes", "no axes: nothing is reduced", trait("noop"));
    this.strict = flag("strict", "only the types and axes that the opset defines", trait("strict"));
    this.negative = flag("count axes from the end", "write axes as -1, -2, ...", (on) => {
      this.fromEnd = on;
      this.change({ axes: this.choice.axes.map((a) => this.signed(a < 0 ? a + this.ndim : a)) });
    });
    this.fromEnd = this.choice.axes.some((a) => a < 0);
    this.dtype = select("element type", view.dtypes.map((name) => [name, name]), trait("dtype"));
    this.api = select("rules of", [["onnx", "ONNX"], ["atb", "Ascend ATB"]], trait("api"));
    this.head = h("h3", { class: "rkx-shapes" });
    this.say = h("p", { class: "rkx-say" });
    this.slider = h("input", {
      type: "range", min: 1, max: view.newest, step: 1, id: `${id}-opset`,
      "aria-describedby": `${id}-error ${id}-changes`,
      oninput: (e) => this.change({ opset: Number(e.target.value) }),
    });
    this.opsetText = h("output", { for: `${id}-opset`, class: "rkx-opset" });
    this.ticks = h("div", { class: "rkx-ticks", "aria-hidden": "true" });
    this.changed = h("div", { class: "rkx-changes", id: `${id}-changes`, role: "status" });
    this.error = h("div", { class: "rkx-error", id: `${id}-error`, role: "alert" });
    this.opsetRow = div("rkx-opsetrow", h("label", { for: `${id}-opset` }, "opset"),
      div("rkx-slider", this.slider, this.ticks), this.opsetText);
    this.atbBox = div("rkx-atb");
    this.input = new Panel(this, "input");
    this.output = new Panel(this, "output");
    this.arrow = h("div", { class: "rkx-arrow", "aria-hidden": "true" });
    this.stage = div("rkx-stage", this.input.node, div("rkx-after", this.arrow, this.output.node));
    this.status = h("p", { class: "rkx-status", role: "status", "aria-live": "polite" });
    this.others = group("rkx-others", "axes that are cut or fixed");
    const named = (label, text, click) => button(text, click, { "aria-label": label, title: label });
    this.play = named("Play", "", () => this.toggle());
    this.back = named("Step back", "\u25C0", () => this.move(-1));
    this.forth = named("Step", "step \u25B6", () => this.move(1));
    this.end = named("Leave stepping", "whole picture", () => this.leave());
    this.speed = h("input", { type: "range", min: 1, max: 20, value: 3 });
    this.stepText = h("span", { class: "rkx-steptext" });
    this.tabs = group("rkx-tabs", "the same call in");
    this.code = h("pre", { class: "rkx-code", tabindex: 0, "aria-label": "code" });
    this.copy = button("Copy", () => this.copyCode());
    this.root = h("div", { class: "rkx", "data-rk-key": this.model.get("_key"), role: "group", "aria-label": "reduction explorer" },
      div("rkx-bar", group("rkx-ops", "operator", ...Object.values(this.ops)),
        h("label", {}, "rules ", this.api), h("label", {}, "type ", this.dtype), this.keep),
      div("rkx-bar rkx-flags", this.noop, this.negative, this.strict),
      this.opsetRow, this.changed, this.atbBox, this.error, this.head, this.say, this.stage, this.status, this.others,
      group("rkx-steps", "stepping", this.back, this.play, this.forth, this.end,
        h("label", {}, "speed ", this.speed), this.stepText),
      div("rkx-codebox", div("rkx-codebar", this.tabs, this.copy), this.code));
    // JupyterLab takes plain keys from cells' outputs; those that edit or save stay its own.
    this.root.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.key === "Tab" || e.key === "Escape") return;
      if (e.key === "Enter" && e.shiftKey) return;
      e.stopPropagation();
    });
    el.append(this.root);
    this.calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  }

  get ndim() { return this.view.shape.length; }

  get active() { return this.root.getRootNode().activeElement; }

  // An axis as the reader wants it written.
  signed(axis) { return this.fromEnd ? axis - this.ndim : axis; }

  toggleAxis(axis) {
    const { choice, ndim } = this;
    // No axes are none for ATB, which refuses that, and all of them for ONNX.
    const reduced = (choice.axes.length || choice.api !== "atb") && reducedOf(choice, ndim) || [];
    const kept = reduced.includes(axis) ? reduced.filter((a) => a !== axis) : [...reduced, axis];
    const axes = sorted(kept.map((a) => this.signed(a)));
    // The last axis that is kept again: an empty list would mean all of them.
    if (!axes.length && choice.api !== "atb" && !choice.noop) {
      const since = this.view.ops[choice.op].versions.find((v) => !v.noop).since;
      if (choice.opset >= since) return this.change({ axes, noop: true });
      return this.change({ axes }, [`No axes means all axes: noop_with_empty_axes, which turns that off, begins at opset ${since}.`]);
    }
    this.change({ axes });
  }

  changeWords(to) {
    const words = changes(this.view.ops[this.choice.op], this.choice.opset, to);
    return words.length ? words
      : [`Opset ${this.choice.opset} and ${to} mean the same version: nothing changed.`];
  }

  draw() {
    const { choice, view } = this;
    const error = refusal(choice, view);
    this.refused = !!error;
    if (!error) this.valid = choice;
    // Where nothing was valid before, the picture is that of the opset that will allow it.
    else if (!this.valid) this.note = view.ops[choice.op].never ? "what would collapse, if an opset allowed it:" : "where it is allowed:";
    if (!error) this.note = "the last valid picture:";
    this.valid ||= { ...choice, noop: false, opset: firstAllowed(choice, view) || choice.opset };
    const shown = this.valid;
    this.reduced = reducedOf(shown, this.ndim);
    this.real = this.reduced || [];
    this.keepdims = shown.api === "atb" ? false : shown.keepdims;
    this.drawControls(error);
    this.drawHead(shown);
    this.drawStage(shown);
    this.drawOthers();
    this.drawSteps();
    this.drawCode(shown);
  }

  drawControls(error) {
    const { choice, view } = this;
    const isAtb = choice.api === "atb";
    for (const [op, node] of Object.entries(this.ops)) press(node, op === choice.op);
    for (const name of ["keep", "noop", "strict"]) {
      put(this[name].firstChild, { checked: choice[name === "keep" ? "keepdims" : name] && !(isAtb && name !== "strict"), disabled: isAtb });
    }
    if (choice.axes.length) this.fromEnd = choice.axes.some((a) => a < 0);
    put(this.negative.firstChild, { checked: this.fromEnd });
    put(this.dtype, { value: choice.dtype, disabled: this.alone });
    set(this.dtype, "title", this.alone ? "another type needs Python" : null);
    put(this.api, { value: choice.api });
    const op = view.ops[choice.op];
    const version = `${op.name}-${versionAt(op, choice.opset).since}`;
    this.opsetRow.hidden = this.changed.hidden = isAtb;
    put(this.slider, { value: String(choice.opset) });
    set(this.slider, "aria-valuetext", `opset ${choice.opset}, ${version}`);
    say(this.opsetText, `${choice.opset} \u2192 ${version}`);
    const first = error && !isAtb ? firstAllowed(choice, view) : null;
    const barred = op.versions.map((v) => !!refusal({ ...choice, opset: v.since }, view));
    if (fresh(this.ticks, [op.name, first, barred].join())) {
      this.ticks.replaceChildren(...op.versions.map(({ since }, i) => {
        const tick = h("span", { class: `rkx-tick${barred[i] ? " rkx-no" : ""}${since === first ? " rkx-first" : ""}` }, String(since));
        tick.style.setProperty("--at", (since - 1) / (view.newest - 1));
        return tick;
      }));
    }
    const words = this.said || ["A new version of the operator begins at each mark"
      + (barred.includes(true) ? "; those struck out do not allow this choice." : ".")];
    if (fresh(this.changed, words.join())) this.changed.replaceChildren(...words.map((w) => div("", w)));
    if (fresh(this.error, error + first)) {
      this.error.replaceChildren(...(error ? [h("b", {}, "Not allowed. "), error + " "] : []));
      if (first) {
        this.error.append(button(`Go to opset ${first}, the first that allows this`,
          () => { this.change({ opset: first }); this.slider.focus(); }));
      }
    }
    this.error.hidden = !error;
    set(this.stage, "data-note", this.note);
    set(this.stage, "class", error ? "rkx-stage rkx-dim" : "rkx-stage");
    this.atbBox.hidden = !isAtb;
    if (isAtb) this.drawAtb();
  }

  drawAtb() {
    const { choice, view } = this;
    const { axes } = choice;
    const op = view.ops[choice.op], n = this.ndim;
    const rules = [
      ["axis is not empty", axes.length > 0],
      [`axis is not longer than the rank, ${n}`, axes.length <= n],
      ["each axis is 0 or more, and less than the rank", axes.every((a) => a >= 0 && a < n)],
      ["no axis is given twice", new Set(axes).size === axes.length],
      [`reduceType is ${Object.values(view.ops).map((o) => `${o.atb} (${o.atb_number})`).join(", ")}; REDUCE_UNDEFINED (0) is refused`, true],
      [`${view.dtype} has such a reduction`, !op.atb_errors.dtype],
    ];
    this.atbBox.replaceChildren(
      div("", h("b", {}, "reduceType "), `${op.atb} (${op.atb_number})  `, h("b", {}, "axis "), `[${axes.join(", ")}]`),
      h("ul", {}, ...rules.map(([text, holds]) => h("li", { class: !holds && "rkx-bad" }, `${holds ? "holds" : "broken"}: ${text}`))));
  }

  entry(shown) {
    const key = this.reduced === null ? "noop" : this.reduced.join(",");
    const table = this.view.codes[shown.op];
    if (table) return table[`${key}|${Number(this.keepdims)}`];
    const a = this.answer;
    return a.op === shown.op && a.axes === key && a.keepdims === this.keepdims ? a.code : null;
  }

  // The texts of the drawn results, or null where only a kernel knows them.
  results(shown, reduced) {
    if (!reduced.length) return this.view.cells;
    const key = reduced.join(",");
    const cube = this.view.cube[shown.op];
    if (cube) return cube[key] || null;
    const a = this.answer;
    return a.op === shown.op && a.axes === key && a.out ? a.out : null;
  }

  drawHead(shown) {
    const { shape } = this.view;
    const { real, reduced, keepdims } = this;
    const out = outShape(shape, reduced, keepdims);
    const label = `${tuple(shape)} becomes ${tuple(out)}`;
    if (fresh(this.head, `${label}|${real}|${shown.op}`)) {
      const parts = shape.flatMap((n, i) => [i ? ", " : "", h(real.includes(i) ? "del" : "span", {}, String(n))]);
      this.head.replaceChildren("(", ...parts, shape.length === 1 ? ",)" : ")",
        h("span", { class: "rkx-to" }, ` \u2192 ${shown.op} \u2192 `), tuple(out));
      set(this.head, "aria-label", label);
    }
    const entry = this.entry(shown);
    let text = entry ? entry.say.replace(/^.*?: /, "").replace(/^./, (c) => c.toUpperCase()) : "";
    if (real.length && shown.api !== "atb") {
      text += ` ${keepdims ? "Without" : "With"} keepdims: ${tuple(outShape(shape, reduced, !keepdims))}.`;
    }
    say(this.say, text);
  }

  // What is drawn of each axis: all of the block, or one position of an axis that is not laid out.
  ranges() {
    const { view, choice } = this;
    return view.count.map((count, axis) => {
      const laid = choice.layout.includes(axis);
      if (!view.complete || laid) return { axis, first: 0, n: count, laid };
      return { axis, first: Math.min(choice.corner[axis], Math.max(0, count - 1)), n: Math.min(1, count), laid };
    });
  }

  drawStage(shown) {
    const { view } = this;
    const ranges = this.ranges();
    let left = [], texts = view.cells, now = this.real, done = Infinity;
    const stepping = this.step !== null;
    this.phase = null;
    if (stepping) {
      const plan = this.plan();
      const s = Math.min(this.step, plan.total);
      let p = plan.phases.findIndex((phase) => s <= phase.end);
      if (p < 0) p = plan.phases.length - 1;
      this.phase = { ...plan.phases[p], p, s, total: plan.total };
      left = this.phase.before;
      texts = this.results(shown, left);
      now = this.phase.after;
      done = s - this.phase.begin;
    }
    const collapsed = (axes) => [view.count.map((n, i) => (axes.includes(i) ? 1 : n)),
      ranges.map((r) => (axes.includes(r.axis) ? { ...r, first: 0, n: 1 } : r))];
    const [inCount, inRanges] = collapsed(left);
    const [outCount, outRanges] = collapsed(now);
    const results = this.results(shown, now);
    const drop = !stepping && !this.keepdims && this.reduced && this.reduced.length;
    const values = this.numbers(texts || [], left.length ? [] : view.raw);
    const size = (rs) => product(rs.map((r) => r.n));
    const mark = size(outRanges) <= 26 && size(inRanges) <= 400;
    this.light(null);
    Object.assign(this, { values, shown, results_: results });

    let widest = 3;
    for (const list of [view.cells, results || []]) for (const t of list) widest = Math.max(widest, t.length);
    // Long values have room where there are few columns.
    const laid = inRanges.filter((r) => r.laid).slice(-4);
    this.most = Math.min(widest, Math.max(11, Math.floor(64 / (laid.at(-1)?.n || 1))));
    if (this.wide !== this.most) this.root.style.setProperty("--n", this.wide = this.most);
    this.input.layout(inRanges, this.real);
    this.output.layout(drop ? outRanges.filter((r) => !now.includes(r.axis)) : outRanges, now);
    const weights = view.shape.map(() => 0);
    laid.forEach((r, i) => { weights[r.axis] = now.includes(r.axis) ? 0 : laid.length - i; });
    // Cells of the two grids by the output cell that they belong to.
    const goesTo = groups(inCount, now), order = [], members = [], outAt = [];
    const outputs = this.output.places(outRanges, outCount), inputs = this.input.places(inRanges, inCount);
    outputs.forEach(([g], k) => {
      outAt[g] = this.output.cells[k];
      order[g] = k;
      members[g] = [];
    });
    inputs.forEach(([k], i) => members[goesTo[k]].push(i));
    const stars = new Set();
    this.ties = 0;
    if (shown.op !== "sum" && now.length && texts && values.length) {
      // In a tensor of which only a part is drawn, the winner may be elsewhere.
      const sure = !results || (view.complete && ranges.every((r) => r.laid));
      outputs.forEach(([g], k) => {
        if (k >= done) return;
        const won = winners(members[g].map((i) => values[inputs[i][0]]), shown.op);
        const best = members[g].filter((i, j) => won[j] && (sure || results[g] === texts[inputs[i][0]]));
        for (const i of best) stars.add(i);
        if (best.length > 1) this.ties++;
      });
    }
    // What the index of a cell leaves out, and where a block begins.
    this.output.placed(now, drop ? [] : [0], view.start);
    this.input.placed(left, [0], view.start);
    outputs.forEach(([g, index], k) => this.output.paint(k, index, k >= done ? "" : results ? results[g] : "\u2026",
      g, hue(index, weights), mark ? letter(k) : ""));
    inputs.forEach(([k, index], i) => this.input.paint(i, index, texts ? texts[k] : "\u2026",
      goesTo[k], hue(index, weights), mark ? letter(order[goesTo[k]]) : "", stars.has(i), k));
    this.output.color();
    this.input.color();
    outputs.forEach(([g]) => { members[g] = members[g].map((i) => this.input.cells[i]); });
    Object.assign(this, { members, outAt });
    const lost = this.input.refocus() || this.output.refocus();
    say(this.arrow, `${shown.op} \u2192`);
    const full = outShape(view.shape, this.real, true);
    this.input.caption(left.length ? `after ${axesText(left)}` : "input",
      left.length ? outShape(view.shape, left, true) : view.shape, view.dtype, this.cut(ranges));
    this.output.caption(stepping ? `output after ${axesText(now)}` : "output",
      outShape(view.shape, stepping ? now : this.reduced, stepping || this.keepdims), view.dtype,
      !product(full) ? "no elements" : !product(view.shape) && this.real.length ? `empty set: ${view.ops[shown.op].empty}` : "");
    lost?.focus({ preventScroll: true });
    if (this.phase && done > 0 && done <= this.output.cells.length) this.light(this.output.cells[done - 1]);
    else this.restoreLight();
  }

  // The values that texts stand for, kept as long as the texts are the same.
  numbers(texts, raw) {
    if (this.counted !== texts) {
      this.counted = texts;
      this.parsed = texts.map((t, k) => number(raw[k] || t, this.view.kind));
    }
    return this.parsed;
  }

  cut(ranges) {
    const total = product(this.view.shape), drawn = product(ranges.map((r) => r.n));
    if (total === 0) return "no elements";
    return drawn < total ? `${plural(drawn, "cell")} of ${total.toLocaleString("en")} shown` : "";
  }

  restoreLight() {
    const cell = [this.active, this.root.querySelector(".rkx-cell:hover")].find((c) => c?.rkPanel && this.root.contains(c));
    if (cell) this.light(cell);
    else say(this.status, this.idleText());
  }

  idleText() {
    const { shape } = this.view;
    if (!product(outShape(shape, this.real, true))) return "There are no cells to point at: an axis that is kept has size 0.";
    if (!product(shape)) return "The input has no elements, so each output is the result of an empty set.";
    return "Point at a cell, or move to one with the arrow keys, to see which cells belong together."
      + (shape.length ? " Click an axis to collapse it." : "")
      + (this.real.length && this.shown.op !== "sum" ? ` Stars mark the winners${this.ties ? `; ${plural(this.ties, "output")} ${this.ties === 1 ? "has" : "have"} a tie` : ""}.` : "");
  }

  // Highlight a cell with all that belong to it, and say it in words. Only cells whose state
  // changes are touched, and nothing is measured: the browser paints them once per frame.
  light(cell) {
    const group = cell ? cell.rk.group : null;
    if (this.lit !== group) {
      for (const [g, on] of [[this.lit, false], [group, true]]) {
        if (g == null) continue;
        const those = this.members[g] || [], { cells, grid } = this.input;
        // A large grid that is one group is framed as a whole.
        if (those.length > 400 && those.length === cells.length) grid.classList.toggle(LIT, on);
        else for (const node of those) dress(node, { lit: on });
        if (this.outAt[g]) dress(this.outAt[g], { lit: on });
      }
      this.lit = group;
    }
    if (this.at === cell) return;
    if (this.at) dress(this.at, { at: false });
    if (cell) dress(cell, { at: true });
    this.at = cell;
    clearTimeout(this.timer);
    if (cell) this.timer = setTimeout(() => say(this.status, this.words(cell)), this.calm.matches ? 0 : 60);
  }

  words(cell) {
    const { view, shown, real, phase } = this;
    const g = cell.rk.group;
    const members = this.members[g];
    const out = this.outAt[g];
    const result = this.results_ ? this.results_[g] : view.ops[shown.op].never ? "no result"
      : this.alone ? "unknown without Python" : "not known yet";
    const where = (c) => `[${c.rkPanel.where(c.rk).join(", ")}]`;
    const gone = phase ? phase.axes : real;
    const all = product(gone.map((i) => view.shape[i]));
    const inside = cell.rkPanel === this.input;
    const hidden = all > members.length ? `, of which ${members.length - inside} shown` : "";
    if (inside) {
      const others = all - 1;
      return `Input ${where(cell)} = ${cell.rk.text} goes to output ${where(out)} = ${result}`
        + (others ? `, with ${plural(others, "other")}${hidden}.` : ", alone.");
    }
    let text = `Output ${where(out)} = ${result}: `;
    if (!real.length) return `${text}passed on as it is.`;
    const { verb } = view.ops[shown.op];
    if (!all) return `${text}the ${verb} of an empty set.`;
    if (members.length && !(phase && phase.p)) {
      text += `the ${verb} of x[${this.input.where(members[0].rk).map((x, i) => (gone.includes(i) ? ":" : x)).join(", ")}]. `;
    }
    text += `${plural(all, "input cell")} collapse${all === 1 ? "s" : ""}${hidden}`;
    if (shown.op !== "sum") {
      const count = members.filter((c) => c.rk.win).length;
      return `${text}; ${count ? (count === 1 ? "1 wins (starred)" : `${count} tie (starred)`) : "the winner is not among the cells shown"}.`;
    }
    if (hidden || members.length > 200 || view.kind === "bool") return `${text}.`;
    const totals = runningTotals(members.map((c) => this.values[c.rk.k]), view.kind, view.bits);
    const some = (list, by) => (list.length > 12 ? [...list.slice(0, 11), "\u2026", list.at(-1)] : list).join(by);
    return `${text}: ${some(members.map((c) => c.rk.text), " + ")}. Running total: ${some(totals, ", ")}.`;
  }

  drawOthers() {
    const { view, choice } = this;
    const rows = this.ranges().map((r) => ({ ...r, i: r.axis, size: view.shape[r.axis], first: r.first + view.start[r.axis] })).filter((r) => r.n < r.size || !r.laid);
    this.others.hidden = !rows.length;
    if (!fresh(this.others, JSON.stringify([rows, this.real, choice.layout]))) return;
    const focus = this.others.contains(this.active) ? this.active.dataset.key : null;
    const move = (i, to) => this.change({
      corner: choice.corner.map((x, j) => (j === i ? Math.max(0, Math.min(to, view.shape[i] - 1)) : x)),
    });
    const blocked = this.alone && !view.complete;
    this.others.replaceChildren(blocked ? h("p", { class: "rkx-note" }, "Walking to the other cells needs Python.") : "", ...rows.map(({ i, size, laid, first, n }) => {
      const name = view.names?.[i] ? `axis ${i} ${view.names[i]}` : `axis ${i}`;
      const last = first + n - 1;
      const where = size ? (n > 1 ? `${first} to ${last}` : `${first}`) : "empty";
      const to = (key, label, text, disabled, place) => button(text, () => move(i, place),
        { "data-key": key + i, "aria-label": `${label} along ${name}`, disabled: blocked || disabled });
      const row = div("rkx-other", h("bdi", {}, name), to("b", "earlier", "\u2039", first === 0, first - n),
        h("span", { class: "rkx-where" }, `${where} of ${size.toLocaleString("en")}`),
        to("f", "later", "\u203A", last >= size - 1, first + n),
        h("input", { type: "range", min: 0, max: Math.max(0, size - n), value: first, "data-key": `r${i}`, "aria-label": `position along ${name}`, disabled: blocked, onchange: (e) => move(i, Number(e.target.value)) }));
      if (!laid) {
        const reduced = this.real.includes(i);
        row.append(
          button(reduced ? "reduced" : "kept", () => this.toggleAxis(i), { "data-key": `t${i}`, "aria-pressed": String(reduced) }),
          select(`lay out ${name}`, [["-", "lay out \u2026"], ...(choice.layout.length < 4 ? [["", "beside the others"]] : []),
            ...choice.layout.map((a) => [a, `in place of axis ${a}`])],
          (v) => this.change({ layout: sorted([...choice.layout.filter((a) => String(a) !== v), i]) }), { "data-key": `l${i}`, disabled: blocked }));
      }
      return row;
    }));
    if (focus) {
      const again = this.others.querySelector(`[data-key="${focus}"]`);
      if (again && !again.disabled) again.focus();
      else this.others.querySelector("button:not([disabled]), input")?.focus();
    }
  }

  // One axis after another: for each, the cells of its output in order.
  plan() {
    const ranges = this.ranges();
    let before = [], begin = 0;
    const phases = this.real.map((axis) => {
      const after = [...before, axis];
      const cells = product(ranges.map((r) => (after.includes(r.axis) ? 1 : r.n)));
      const phase = { axis, axes: [axis], before, after, begin, end: begin + cells, cells };
      begin += cells;
      before = after;
      return phase;
    });
    return { phases, total: begin };
  }

  get steppable() {
    return !this.refused && this.real.length > 0 && this.view.complete
      && !!this.view.cube[this.choice.op] && product(this.view.count) > 0;
  }

  drawSteps() {
    const can = this.steppable;
    const on = this.step !== null;
    const total = can ? this.plan().total : 0;
    put(this.play, { disabled: !can });
    put(this.forth, { disabled: !can || (on && this.step >= total) });
    put(this.back, { disabled: !can || !on || this.step <= 0 });
    put(this.end, { disabled: !on });
    say(this.play, this.playing ? "\u275A\u275A pause" : "\u25B6 play");
    set(this.play, "aria-label", this.playing ? "Pause" : "Play");
    let text = "";
    if (on && this.phase) {
      const { axis, s, total: all, begin, cells, p } = this.phase;
      text = `collapsing axis ${axis} (${p + 1} of ${this.real.length}), cell ${Math.min(s - begin, cells)} of ${cells}; step ${s} of ${all}`;
      if (this.choice.op === "sum" && this.view.kind === "float" && s === all) text += "; the sum itself is rounded only once";
    } else if (!can) {
      text = this.refused ? "" : !this.real.length ? "nothing collapses" :
        !product(this.view.shape) ? "an empty set: nothing to step through" : "too large to step through";
    }
    say(this.stepText, text);
  }

  move(by) {
    if (!this.steppable) return;
    const { total } = this.plan();
    this.step = Math.max(0, Math.min(total, (this.step ?? 0) + by));
    if (this.step >= total) this.stop();
    this.draw();
  }

  toggle() {
    if (this.playing) { this.stop(); this.drawSteps(); return; }
    const { total, phases } = this.plan();
    if (this.step === null || this.step >= total) this.step = 0;
    if (this.calm.matches) {  // a whole axis at each press instead of motion
      const phase = phases.find((p) => p.end > this.step) || phases.at(-1);
      this.step = phase.end;
      this.draw();
      return;
    }
    this.playing = true;
    const tick = () => {
      if (!this.playing || this.gone) return;
      this.move(1);
      if (this.playing) this.clock = setTimeout(tick, 1200 / Number(this.speed.value));
    };
    tick();
  }

  stop() {
    this.playing = false;
    clearTimeout(this.clock);
  }

  leave() {
    this.stop();
    this.step = null;
    this.draw();
    this.play.focus();
  }

  drawCode(shown) {
    const entry = this.entry(shown);
    const code = entry ? fillCode(entry, shown, this.view.ops[shown.op])
      : { reducekit: this.view.ops[shown.op].never ? "no call does this" : this.alone ? "needs Python for a tensor of this rank" : "..." };
    if (shown.api === "atb") {
      code.atb = `{"reduceType": ${this.view.ops[shown.op].atb_number}, "axis": [${shown.axes.join(", ")}]}`;
      if (this.lastApi !== "atb") this.tab = "atb";
    }
    this.lastApi = shown.api;
    this.codes = code;
    const names = Object.keys(code);
    const tab = names.includes(this.tab) ? this.tab : "reducekit";
    if (fresh(this.tabs, names.join())) {
      this.tabs.replaceChildren(...names.map((name) => button(API_NAMES[name],
        () => { this.tab = name; this.drawCode(this.shown); }, { "data-tab": name })));
    }
    for (const node of this.tabs.children) press(node, node.dataset.tab === tab);
    say(this.code, code[tab]);
    say(this.copy, "Copy");
  }

  async copyCode() {
    try {
      await navigator.clipboard.writeText(this.code.textContent);
    } catch {  // not allowed in this frame: select it, so that Ctrl+C does it
      window.getSelection().selectAllChildren(this.code);
      say(this.copy, "Selected");
      return;
    }
    say(this.copy, "Copied");
  }

  destroy() {
    this.gone = true;
    this.stop();
    clearTimeout(this.timer);
    for (const f of this.cleanup) f();
  }
}

const axesText = (axes) => `${axes.length === 1 ? "axis" : "axes"} ${axes.join(", ")}`;

// Every index within the ranges, in C order.
const indices = (ranges) => ranges.reduce(
  (all, { first, n }) => all.flatMap((index) => upTo(n).map((x) => [...index, first + x])), [[]]);

// One tensor: brackets for its axes, and a grid of grids. Columns are the last axis, rows the
// one before it, then blocks beside each other, then blocks below each other.
class Panel {
  constructor(owner, kind) {
    this.owner = owner;
    this.kind = kind;
    this.buttons = kind === "input";
    this.cells = [];
    this.backs = [];
    this.title = h("p", { class: "rkx-cap" });
    this.grid = h("div", { class: "rkx-grid", role: "grid", "aria-label": `${kind} tensor` });
    this.brackets = {};
    this.frame = div("rkx-frame", this.grid);
    this.node = div(`rkx-panel rkx-${kind}`, this.title, div("rkx-scroll", this.frame));
    const on = (event, act) => this.grid.addEventListener(event, (e) => act(e, e.target.closest(".rkx-cell")));
    on("pointerover", (e, cell) => { if (cell) owner.light(cell); });
    on("pointerleave", () => { owner.light(null); owner.restoreLight(); });
    on("focusin", (e, cell) => {
      if (!cell) return;
      this.rove(cell);
      owner.light(cell);
    });
    on("focusout", (e) => { if (!this.grid.contains(e.relatedTarget) && owner.step === null) owner.light(null); });
    on("click", (e, cell) => cell?.focus());
    on("keydown", (e, cell) => this.key(e, cell));
  }

  rove(cell) {
    if (this.current && this.current !== cell) this.current.tabIndex = -1;
    cell.tabIndex = 0;
    this.current = cell;
  }

  caption(kind, shape, dtype, note) {
    if (fresh(this.title, [kind, shape, dtype, note].join("|"))) this.title.replaceChildren(h("b", {}, kind), ` ${tuple(shape)} ${dtype}`, note ? h("span", { class: "rkx-note" }, ` \u00B7 ${note}`) : "");
  }

  // Keep the nodes as long as the structure is the same.
  layout(ranges, reduced) {
    const laid = ranges.filter((r) => r.laid).slice(-4);
    const dims = [...Array(4 - laid.length).fill(1), ...laid.map((r) => r.n)];
    const [V, H, R, C] = dims;
    if (fresh(this.grid, dims.join())) {
      // What had the focus is to be found again once the cells are painted.
      this.lost = this.grid.contains(this.owner.active) && this.current ? { k: this.current.rk.k, at: this.where(this.current.rk).join() } : null;
      this.dims = dims;
      this.build(V, H, R, C);
    }
    // For each place of an axis, what one of its positions takes, and how many there are.
    const places = [["v2", `${R} * var(--ch)`, V], ["h2", `${C} * var(--cw)`, H], ["v1", "var(--ch)", R], ["h1", "var(--cw)", C]];
    laid.forEach((r, i) => this.bracket(r, ...places[4 - laid.length + i], reduced.includes(r.axis)));
    for (const [axis, node] of Object.entries(this.brackets)) {
      if (!laid.some((r) => String(r.axis) === axis)) { node.remove(); delete this.brackets[axis]; }
    }
  }

  bracket(r, place, unit, n, reduced) {
    const { owner, buttons } = this;
    const { view } = owner;
    let node = this.brackets[r.axis];
    if (!node) {
      node = h(buttons ? "button" : "div", buttons ? { type: "button", onclick: () => owner.toggleAxis(r.axis) } : {},
        h("span", { class: "rkx-axis" }), h("span", { class: "rkx-line", "aria-hidden": "true" }), h("span", { class: "rkx-ruler", "aria-hidden": "true" }));
      this.brackets[r.axis] = node;
    }
    const total = view.shape[r.axis], name = view.names && view.names[r.axis];
    const [label, , ruler] = node.children;
    const gone = reduced && !buttons;
    const part = r.n < total && !gone && owner.step === null;
    const first = r.n === 1 && total > 1 ? 0 : view.start[r.axis];
    if (fresh(label, [total, name, reduced, part].join("|"))) {
      const strike = reduced && buttons;
      label.replaceChildren(`axis ${r.axis} `, ...(name ? [h("bdi", { class: "rkx-name" }, name), " "] : []),
        h(strike ? "del" : "span", { class: "rkx-size" }, gone ? "(1)" : `(${part ? `${r.n} of ` : ""}${total.toLocaleString("en")}${part ? " \u2026" : ""})`),
        strike ? h("span", { class: "rkx-tag" }, "reduced") : "");
      const spoken = `axis ${r.axis}${name ? ` ${name}` : ""} (${total})`;
      if (buttons) { set(node, "aria-label", spoken); press(node, reduced); }
      set(node, "title", buttons ? `${spoken}: ${reduced ? "reduced; click to keep" : "kept; click to reduce"}` : spoken);
    }
    if (fresh(ruler, `${first} ${n}`)) {
      ruler.replaceChildren(...(n > 400 ? [] : upTo(n).map((i) => h("i", {}, String(first + i)))));
    }
    set(node, "class", `rkx-bracket rkx-${place[0]} rkx-${place}${reduced ? " rkx-reduced" : ""}`);
    const span = `calc(${n} * ${unit} + ${place[1] === "2" ? Math.max(0, n - 1) : 0} * var(--gap))`;
    if (fresh(node, span)) node.style.setProperty("--span", span);
    // The order of the axes is the order of reading.
    const after = Object.keys(this.brackets).find((a) => Number(a) > r.axis && this.brackets[a].parentNode);
    if (!node.parentNode) this.frame.insertBefore(node, after === undefined ? this.grid : this.brackets[after]);
  }

  build(V, H, R, C) {
    const make = (n, f) => upTo(n).map(f);
    const cell = h("div", { class: "rkx-cell", role: "gridcell", tabindex: -1 }, "");
    this.cells = [];
    // Behind the cells of a block lies one shape for each colour, and over them one text with all
    // stars: to mark a thousand cells anew is to change seven nodes.
    this.backs = make(V * H, () => h("svg", { viewBox: `0 0 ${C} ${R}`, preserveAspectRatio: "none", "aria-hidden": "true" }));
    this.stars = [];
    const blocks = make(V * H, (b) => h("div", { class: "rkx-block", role: "rowgroup" }, this.backs[b], ...make(R, (r) =>
      h("div", { class: "rkx-row", role: "row", "aria-label": `row ${r}` }, ...make(C, () => {
        const node = cell.cloneNode(true);
        node.rkPanel = this;
        node.rk = { win: false };
        this.cells.push(node);
        return node;
      })))));
    for (const [name, n] of Object.entries({ H, R, C })) this.grid.style.setProperty(`--${name}`, n);
    const empty = !this.cells.length;
    set(this.grid, "role", empty ? "img" : "grid");
    set(this.grid, "aria-label", `${this.kind} tensor${empty ? " without elements" : ""}`);
    this.grid.replaceChildren(...(empty ? [div("rkx-empty", "no elements")] : blocks));
    this.current = null;
    if (!empty) this.rove(this.cells[0]);
  }

  // Each cell of the ranges: its place in a block of these sizes, and its index.
  places(ranges, count) {
    const key = JSON.stringify([ranges, count]);
    if (this.placesFor !== key) {
      this.placesFor = key;
      this.found = indices(ranges).map((index) => [ravel(index, count), index]);
    }
    return this.found;
  }

  color() {
    const [, , R, C] = this.dims;
    this.backs.forEach((back, b) => {
      const paths = new Map(), xs = [], ys = [];
      for (let r = 0; r < R; r++) {
        for (let c = 0, n; c < C; c += n) {
          const at = (i) => this.cells[(b * R + r) * C + i].rk, { hue } = at(c);
          for (n = 0; c + n < C && at(c + n).hue === hue; n++) {
            if (!at(c + n).win) continue;
            xs.push(`${100 * (c + n + 1) / C}%`);
            ys.push(`${100 * r / R}%`);
          }
          paths.set(hue, `${paths.get(hue) || ""}M${c} ${r}h${n}v1h-${n}z`);
        }
      }
      if (xs.length) this.stars[b] ||= back.parentNode.appendChild(h("svg", { class: "rkx-stars", "aria-hidden": "true" }, h("text"))).firstChild;
      const stars = this.stars[b];
      if (stars) {
        set(stars, "x", xs.join(" "));
        set(stars, "y", ys.join(" "));
        say(stars, "\u2605".repeat(xs.length));
      }
      if (fresh(back, JSON.stringify([...paths]))) back.replaceChildren(...[...paths].map(([hue, d]) => h("path", { class: `rkx-g${hue}`, d })));
    });
  }

  // The cell that stands for the one which had the focus before the cells were made anew.
  refocus() {
    const { lost, cells } = this;
    this.lost = null;
    if (!lost || !cells.length) return null;
    const cell = cells.find((c) => this.where(c.rk).join() === lost.at) || cells[Math.min(lost.k, cells.length - 1)];
    this.rove(cell);
    return cell;
  }

  // How the indices of cells are to be read from now on.
  placed(...how) {
    const key = JSON.stringify(how);
    this.relabel = key !== this.placedBy;
    this.placedBy = key;
    this.how = how;
  }

  where({ index }) {
    const [gone, instead, start] = this.how;
    return index.flatMap((x, i) => (gone.includes(i) ? instead : [x + start[i]]));
  }

  paint(k, index, text, group, hue, mark, win = false, place = k) {
    const cell = this.cells[k], { rk } = cell;
    const { most } = this.owner;
    if (rk.text !== text || rk.most !== most) {
      const drawn = text.length > most ? `${text.slice(0, most - 1)}\u2026` : text;
      if (cell.firstChild.data !== drawn) cell.firstChild.data = drawn;
      set(cell, "data-odd", { NaN: "nan", inf: "inf", "-inf": "inf", "-0.0": "zero" }[text]);
    }
    if (rk.mark !== mark) set(cell, "data-mark", mark || null);
    if (this.relabel || rk.text !== text || rk.index !== index) {
      cell.setAttribute("aria-label", `index (${this.where({ index }).join(", ")}) value ${text || "not yet"}`);
    }
    const won = rk.win;
    Object.assign(rk, { k: place, index, text, most, group, hue, mark, win });
    if (won !== win) dress(cell);
  }

  key(e, cell) {
    if (!cell || e.altKey || e.metaKey) return;
    const { cells } = this;
    const k = cells.indexOf(cell);
    const [V, H, R, C] = this.dims;
    const b = Math.floor(k / C / R), c = k % C;
    // Where the cell stands on the screen, blocks beside and below each other.
    const x = (b % H) * C + c, y = Math.floor(b / H) * R + Math.floor(k / C) % R;
    const wide = H * C, high = V * R;
    const to = {
      ArrowRight: [x + 1, y], ArrowLeft: [x - 1, y], ArrowDown: [x, y + 1], ArrowUp: [x, y - 1],
      Home: e.ctrlKey ? [0, 0] : [x - c, y], End: e.ctrlKey ? [wide - 1, high - 1] : [x - c + C - 1, y],
    }[e.key];
    const page = { PageDown: k + R * C, PageUp: k - R * C }[e.key];
    if (!to && page === undefined) return;
    e.preventDefault();
    if (!to) cells[page]?.focus();
    else if (to[0] >= 0 && to[0] < wide) cells[((Math.floor(to[1] / R) * H + Math.floor(to[0] / C)) * R + to[1] % R) * C + to[0] % C]?.focus();
  }
}

export function render({ model, el }) {
  const explorer = new Explorer(model, el);
  el.rkExplorer = explorer;
  return () => explorer.destroy();
}

// In a notebook the page stands beside the live view, and shows itself only where there is none:
// in a saved notebook that was not run, and in exports.
export function standIn(el, state, key) {
  const live = () => document.querySelector(`[data-rk-key="${key}"]`);
  const output = el.closest(".jp-OutputArea-child");
  const other = output && output.previousElementSibling;
  const started = Date.now();
  (output || el).style.display = "none";
  const look = () => {
    if (live()) return;
    const failed = other && /Error displaying widget|model not found/.test(other.textContent);
    const waited = Date.now() - started;
    const loading = other && other.textContent.includes("Loading widget") && waited < 20000;
    if (!failed && (loading || waited < 1500)) {
      setTimeout(look, 100);
      return;
    }
    if (failed) other.style.display = "none";
    (output || el).style.display = "";
    el.replaceChildren();
    mount(el, state);
  };
  look();
}

// A page without a kernel: the same view on a model that only remembers.
export function mount(el, state) {
  const listeners = {};
  const model = {
    get: (name) => (name === "_alone" ? true : state[name]),
    set(name, value) {
      state[name] = value;
      for (const f of listeners[`change:${name}`] || []) f();
    },
    save_changes() {},
    on: (event, f) => (listeners[event] ||= []).push(f),
    off(event, f) { listeners[event] = (listeners[event] || []).filter((g) => g !== f); },
  };
  return render({ model, el });
}

export default { render };
