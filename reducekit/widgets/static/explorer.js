// The drawing and the index arithmetic. Values, results, rules, code and every refusal come
// from Python as text, so that this page cannot disagree with the library.

export const product = (ns) => ns.reduce((a, b) => a * b, 1);

// The index of the k-th element in C order.
export function unravel(k, shape) {
  const index = new Array(shape.length);
  for (let i = shape.length - 1; i >= 0; i--) {
    index[i] = k % shape[i];
    k = Math.floor(k / shape[i]);
  }
  return index;
}

export const ravel = (index, shape) => index.reduce((k, x, i) => k * shape[i] + x, 0);

// The reduced axes, in order; null where noop_with_empty_axes makes the call the identity.
export function reducedOf(choice, ndim) {
  if (!choice.axes.length) {
    if (choice.noop && choice.api !== "atb") return null;
    return [...Array(ndim).keys()];
  }
  return [...new Set(choice.axes.map((a) => (a < 0 ? a + ndim : a)))].sort((a, b) => a - b);
}

export function outShape(shape, reduced, keepdims) {
  if (!reduced || !shape.length) return [...shape];
  if (keepdims) return shape.map((n, i) => (reduced.includes(i) ? 1 : n));
  return shape.filter((_, i) => !reduced.includes(i));
}

// For each cell of a block in C order, the cell of the output that it goes to.
export function groups(shape, reduced) {
  const out = shape.map((n, i) => (reduced.includes(i) ? 1 : n));
  const found = new Array(product(shape));
  for (let k = 0; k < found.length; k++) {
    const index = unravel(k, shape);
    found[k] = ravel(index.map((x, i) => (out[i] === 1 ? 0 : x)), out);
  }
  return found;
}

// Neighbours along every axis and both diagonals differ.
export function hue(index) {
  return index.reduce((sum, x, i) => sum + x * (index.length - i), 0) % 6;
}

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

const SCALE = 1074n;
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
  const negative = n < 0n;
  let size = negative ? -n : n, shift = -SCALE;
  const length = size.toString(2).length;
  if (length > 64) {
    size >>= BigInt(length - 64);
    shift += BigInt(length - 64);
  }
  let x = Number(size);
  for (let s = Number(shift); s !== 0;) {
    const step = Math.max(-1000, Math.min(1000, s));
    x *= 2 ** step;
    s -= step;
  }
  return negative ? -x : x;
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
  const nan = values.map((v) => v !== v);
  if (nan.includes(true)) return nan;
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
const READ = ["_view", "_answer", "error"];
const API_NAMES = { reducekit: "reducekit", numpy: "NumPy", torch: "PyTorch", onnx: "ONNX", atb: "ATB" };
let serial = 0;

const tuple = (ns) => (ns.length === 1 ? `(${ns[0]},)` : `(${ns.join(", ")})`);
const letter = (k) => (k < 26 ? String.fromCharCode(65 + k) : "");
const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c != null));
  return node;
}

const set = (node, name, value) => {
  if (value == null || value === false) { if (node.hasAttribute(name)) node.removeAttribute(name); }
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
};
const say = (node, text) => { if (node.textContent !== text) node.textContent = text; };

class Explorer {
  constructor(model, el) {
    this.model = model;
    this.id = `rk${++serial}-${Math.random().toString(36).slice(2, 7)}`;
    this.alone = !!model.get("_alone");
    this.cleanup = [];
    this.step = null;
    this.tab = "reducekit";
    this.read();
    this.lastOpset = this.choice.opset;
    this.build(el);
    this.listen();
    this.draw();
  }

  read() {
    const m = this.model;
    this.choice = Object.fromEntries(Object.entries(TRAITS).map(([k, t]) => [k, m.get(t)]));
    this.view = m.get("_view");
    this.answer = m.get("_answer") || {};
  }

  // A change by the user: drawn at once, and sent to Python, which may be absent.
  change(part) {
    if ("opset" in part) this.said = this.changeWords(part.opset);
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
    for (const name of [...Object.values(TRAITS), ...READ]) {
      const event = `change:${name}`;
      this.model.on(event, changed);
      this.cleanup.push(() => this.model.off(event, changed));
    }
  }

  build(el) {
    const id = this.id;
    this.status = h("p", { class: "rkx-status", role: "status", "aria-live": "polite" });
    this.live = h("p", { class: "rkx-hint" });
    const pick = (name) => (event) => this.change({ [name]: event.target.value });
    const flag = (name, label, title) => {
      const input = h("input", { type: "checkbox", onchange: (e) => this.change({ [name]: e.target.checked }) });
      const node = h("label", { class: "rkx-flag", title }, input, label);
      return [node, input];
    };
    this.ops = {};
    const ops = h("div", { class: "rkx-ops", role: "group", "aria-label": "operator" });
    for (const op of Object.keys(this.view.ops)) {
      const button = h("button", { type: "button", onclick: () => this.change({ op }) }, op);
      this.ops[op] = button;
      ops.append(button);
    }
    [this.keepLabel, this.keep] = flag("keepdims", "keepdims", "reduced axes stay, with size 1");
    [this.noopLabel, this.noop] = flag("noop", "noop_with_empty_axes", "no axes: nothing is reduced");
    [this.strictLabel, this.strict] = flag("strict", "strict", "the types and axes of the opset hold");
    this.negative = h("input", {
      type: "checkbox",
      onchange: (e) => {
        const n = this.view.shape.length;
        const axes = this.choice.axes.map((a) => (e.target.checked ? (a < 0 ? a : a - n) : (a < 0 ? a + n : a)));
        this.fromEnd = e.target.checked;
        this.change({ axes });
      },
    });
    this.fromEnd = this.choice.axes.some((a) => a < 0);
    this.negativeLabel = h("label", { class: "rkx-flag", title: "write axes as -1, -2, ..." },
      this.negative, "count axes from the end");
    this.dtype = h("select", { "aria-label": "element type", onchange: pick("dtype") },
      ...this.view.dtypes.map((name) => h("option", { value: name }, name)));
    this.api = h("select", { "aria-label": "rules of", onchange: pick("api") },
      h("option", { value: "onnx" }, "ONNX"), h("option", { value: "atb" }, "Ascend ATB"));
    this.head = h("h3", { class: "rkx-shapes" });
    this.say = h("p", { class: "rkx-say" });
    this.slider = h("input", {
      type: "range", min: 1, max: this.view.newest, step: 1, id: `${id}-opset`,
      "aria-describedby": `${id}-error ${id}-changes`,
      oninput: (e) => this.change({ opset: Number(e.target.value) }),
    });
    this.opsetText = h("output", { for: `${id}-opset`, class: "rkx-opset" });
    this.ticks = h("div", { class: "rkx-ticks", "aria-hidden": "true" });
    this.changed = h("div", { class: "rkx-changes", id: `${id}-changes`, role: "status" });
    this.error = h("div", { class: "rkx-error", id: `${id}-error`, role: "alert" });
    this.opsetRow = h("div", { class: "rkx-opsetrow" },
      h("label", { for: `${id}-opset` }, "opset"),
      h("div", { class: "rkx-slider" }, this.slider, this.ticks), this.opsetText);
    this.atbBox = h("div", { class: "rkx-atb" });
    this.input = new Panel(this, "input");
    this.output = new Panel(this, "output");
    this.arrow = h("div", { class: "rkx-arrow", "aria-hidden": "true" });
    this.stage = h("div", { class: "rkx-stage" }, this.input.node, this.arrow, this.output.node);
    this.others = h("div", { class: "rkx-others", role: "group", "aria-label": "axes that are cut or fixed" });
    const button = (label, text, click) =>
      h("button", { type: "button", "aria-label": label, title: label, onclick: click }, text);
    this.play = button("Play", "\u25B6 play", () => this.toggle());
    this.back = button("Step back", "\u25C0", () => this.move(-1));
    this.forth = button("Step", "step \u25B6", () => this.move(1));
    this.end = button("Leave stepping", "whole picture", () => this.leave());
    this.speed = h("input", { type: "range", min: 1, max: 20, value: 3, id: `${id}-speed` });
    this.stepText = h("span", { class: "rkx-steptext" });
    this.steps = h("div", { class: "rkx-steps", role: "group", "aria-label": "stepping" },
      this.back, this.play, this.forth, this.end,
      h("label", { for: `${id}-speed` }, "speed"), this.speed, this.stepText);
    this.tabs = h("div", { class: "rkx-tabs", role: "group", "aria-label": "the same call in" });
    this.code = h("pre", { class: "rkx-code", tabindex: 0, "aria-label": "code" });
    this.copy = h("button", { type: "button", class: "rkx-copy", onclick: () => this.copyCode() }, "Copy");
    this.root = h("div", { class: "rkx", "data-rk-key": this.model.get("_key"), role: "group", "aria-label": "reduction explorer" },
      h("div", { class: "rkx-bar" }, ops, this.keepLabel, this.noopLabel, this.negativeLabel,
        this.strictLabel, h("label", {}, "type ", this.dtype), h("label", {}, "rules ", this.api)),
      this.opsetRow, this.changed, this.atbBox, this.error, this.head, this.say, this.stage,
      this.status, this.others, this.steps,
      h("div", { class: "rkx-codebox" }, h("div", { class: "rkx-codebar" }, this.tabs, this.copy), this.code));
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

  toggleAxis(axis) {
    const n = this.ndim;
    const reduced = reducedOf(this.choice, n);
    const axes = this.choice.axes.length ? [...this.choice.axes]
      : reduced === null ? [] : reduced.map((a) => (this.fromEnd ? a - n : a));
    const at = axes.findIndex((a) => (a < 0 ? a + n : a) === axis);
    if (at >= 0) axes.splice(at, 1);
    else axes.push(this.fromEnd ? axis - n : axis);
    axes.sort((a, b) => a - b);
    // The last axis that is kept again: an empty list would mean all of them.
    if (!axes.length && at >= 0) {
      if (this.choice.api === "atb" || this.choice.noop) return this.change({ axes });
      const since = this.view.ops[this.choice.op].versions.find((v) => !v.noop).since;
      if (this.choice.opset >= since) return this.change({ axes, noop: true });
      this.said = ["No axes means all axes: noop_with_empty_axes, which turns that off, begins at "
        + `opset ${since}.`];
      return this.change({ axes });
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
    else if (!this.valid) this.note = "where it is allowed:";
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
    for (const [op, node] of Object.entries(this.ops)) set(node, "aria-pressed", String(op === choice.op));
    const isAtb = choice.api === "atb";
    this.keep.checked = choice.keepdims && !isAtb;
    this.keep.disabled = isAtb;
    this.noop.checked = choice.noop && !isAtb;
    this.noop.disabled = isAtb;
    this.strict.checked = choice.strict;
    this.strict.disabled = isAtb;
    if (choice.axes.length) this.fromEnd = choice.axes.some((a) => a < 0);
    this.negative.checked = this.fromEnd;
    this.dtype.value = choice.dtype;
    this.dtype.disabled = this.alone;
    set(this.dtype, "title", this.alone ? "another type needs Python" : null);
    this.api.value = choice.api;
    const op = view.ops[choice.op];
    this.opsetRow.hidden = isAtb;
    this.slider.value = choice.opset;
    set(this.slider, "aria-valuetext", `opset ${choice.opset}, ${op.name}-${versionAt(op, choice.opset).since}`);
    say(this.opsetText, `${choice.opset} \u2192 ${op.name}-${versionAt(op, choice.opset).since}`);
    const first = error && !isAtb ? firstAllowed(choice, view) : null;
    const ticks = op.versions.map((v) => {
      const tick = h("span", { class: v.since === first ? "rkx-tick rkx-first" : "rkx-tick" }, String(v.since));
      tick.style.setProperty("--at", (v.since - 1) / (view.newest - 1));
      return tick;
    });
    this.ticks.replaceChildren(...ticks);
    const words = isAtb ? [] : this.said || [];
    if (this.saidShown !== words) {
      this.changed.replaceChildren(...words.map((w) => h("div", {}, w)));
      this.saidShown = words;
    }
    if (this.errorShown !== error + first) {
      this.errorShown = error + first;
      this.error.replaceChildren(...(error ? [h("b", {}, "Not allowed. "), error + " "] : []));
      if (first) {
        this.error.append(h("button", { type: "button", onclick: () => { this.change({ opset: first }); this.slider.focus(); } },
          `Go to opset ${first}, the first that allows this`));
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
    const op = view.ops[choice.op], n = this.ndim;
    const rules = [
      ["axis is not empty", choice.axes.length > 0],
      [`axis is not longer than the rank, ${n}`, choice.axes.length <= n],
      ["each axis is 0 or more, and less than the rank", choice.axes.every((a) => a >= 0 && a < n)],
      ["reduceType is REDUCE_MAX, REDUCE_MIN or REDUCE_SUM", true],
      ["no axis is given twice", new Set(choice.axes).size === choice.axes.length],
    ];
    const json = `{"reduceType": ${op.atb_number}, "axis": [${choice.axes.join(", ")}]}`;
    this.atbBox.replaceChildren(
      h("div", {}, h("b", {}, "reduceType "), `${op.atb} (${op.atb_number})  `, h("b", {}, "axis "), `[${choice.axes.join(", ")}]`),
      h("code", {}, json),
      h("ul", {}, ...rules.map(([text, holds]) =>
        h("li", { class: holds ? "rkx-ok" : "rkx-bad" }, `${holds ? "holds" : "broken"}: ${text}`))));
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
    const cube = this.view.cube[shown.op];
    if (cube) return cube[reduced.join(",")] || null;
    const a = this.answer;
    return a.op === shown.op && a.axes === reduced.join(",") && a.out ? a.out : null;
  }

  drawHead(shown) {
    const { view } = this;
    const shape = view.shape;
    const parts = [];
    shape.forEach((n, i) => {
      if (i) parts.push(", ");
      const gone = this.real.includes(i);
      parts.push(gone ? h("del", {}, String(n)) : h("span", {}, String(n)));
    });
    if (shape.length === 1) parts.push(",");
    const out = outShape(shape, this.reduced, this.keepdims);
    const label = `${tuple(shape)} becomes ${tuple(out)}`;
    const key = `${label}|${this.real}|${shown.op}`;
    if (this.headShown !== key) {
      this.headShown = key;
      this.head.replaceChildren(
        h("span", { class: "rkx-shape" }, "(", ...parts, ")"),
        h("span", { class: "rkx-to" }, ` \u2192 ${shown.op} \u2192 `),
        h("span", { class: "rkx-shape" }, tuple(out)));
      set(this.head, "aria-label", label);
    }
    const entry = this.entry(shown);
    say(this.say, entry ? entry.say.replace(/^.*?: /, "").replace(/^./, (c) => c.toUpperCase()) : "");
  }

  // What is drawn of each axis: all of the block, or one position of an axis that is not laid out.
  ranges() {
    const { view, choice } = this;
    return view.count.map((count, i) => {
      const laid = choice.layout.includes(i);
      if (!view.complete || laid) return { axis: i, first: 0, n: count, laid };
      return { axis: i, first: Math.min(choice.corner[i], Math.max(0, count - 1)), n: Math.min(1, count), laid };
    });
  }

  drawStage(shown) {
    const { view } = this;
    const ranges = this.ranges();
    const count = view.count;
    let left = [], texts = view.cells, now = this.real, done = Infinity;
    this.phase = null;
    if (this.step !== null) {
      const plan = this.plan();
      const s = Math.min(this.step, plan.total);
      let p = 0;
      while (p < plan.phases.length - 1 && s > plan.phases[p].end) p++;
      const phase = plan.phases[p];
      left = phase.before;
      texts = this.results(shown, left);
      now = phase.after;
      done = s - phase.begin;
      this.phase = { ...phase, p, s, total: plan.total };
    }
    this.left = left;
    const inCount = count.map((n, i) => (left.includes(i) ? 1 : n));
    const outCount = count.map((n, i) => (now.includes(i) ? 1 : n));
    const inRanges = ranges.map((r) => (left.includes(r.axis) ? { ...r, first: 0, n: 1 } : r));
    const outRanges = ranges.map((r) => (now.includes(r.axis) ? { ...r, first: 0, n: 1 } : r));
    const results = this.results(shown, now);
    const drop = this.step === null && !this.keepdims && this.reduced && this.reduced.length;
    const raw = left.length ? [] : view.raw;
    const values = (texts || []).map((t, k) => number(raw[k] || t, view.kind));
    const mark = product(outRanges.map((r) => r.n)) <= 26 && product(inRanges.map((r) => r.n)) <= 400;

    let widest = 3;
    for (const t of view.cells) if (t.length > widest) widest = t.length;
    for (const t of results || []) if (t.length > widest) widest = t.length;
    this.root.style.setProperty("--n", Math.min(widest, 11));
    this.input.layout(inRanges, true);
    this.output.layout(drop ? outRanges.filter((r) => !now.includes(r.axis)) : outRanges, false);
    // Cells of the two grids by the output cell that they belong to.
    const order = new Map();
    this.members = new Map();
    this.outAt = new Map();
    let place = 0;
    each(outRanges, (index) => {
      const g = ravel(index, outCount);
      order.set(g, place);
      this.members.set(g, []);
      const cell = this.output.cells[place];
      this.outAt.set(g, cell);
      const ready = place < done;
      const text = !ready ? "" : results ? results[g] : "\u2026";
      this.output.paint(cell, {
        text, hue: hue(index), mark: mark ? letter(place) : "", group: g, k: place,
        where: drop ? index.filter((_, i) => !now.includes(i)).map((x, i) => x + this.offset(outKept(now, i, this.ndim)))
          : index.map((x, i) => (now.includes(i) ? 0 : x + view.start[i])),
      });
      place++;
    });
    let k = 0;
    each(inRanges, (index) => {
      const at = ravel(index, inCount);
      const goes = index.map((x, i) => (now.includes(i) ? 0 : x));
      const g = ravel(goes, outCount);
      const cell = this.input.cells[k];
      this.input.paint(cell, {
        text: texts ? texts[at] : "\u2026", hue: hue(goes), mark: mark ? letter(order.get(g)) : "",
        group: g, k: at, where: index.map((x, i) => x + (left.includes(i) ? 0 : view.start[i])),
      });
      this.members.get(g).push(cell);
      k++;
    });
    this.input.refocus();
    this.output.refocus();
    this.values = values;
    this.results_ = results;
    this.shown = shown;
    say(this.arrow, `${shown.op} \u2192`);
    const stepping = this.step !== null;
    this.input.caption(
      stepping && left.length ? `after axes ${left.join(", ")}` : "input",
      left.length ? outShape(view.shape, left, true) : view.shape, view.dtype, this.cut(ranges));
    this.output.caption(stepping ? `output after ${now.length === 1 ? "axis" : "axes"} ${now.join(", ")}` : "output",
      outShape(view.shape, stepping ? now : this.reduced, stepping || this.keepdims), view.dtype,
      product(outShape(view.shape, this.real, true)) === 0 ? "no elements" :
        product(view.shape) === 0 && this.real.length ? `empty set: ${view.ops[shown.op].empty}` : "");
    this.lit = this.at = null;
    for (const cell of this.root.querySelectorAll(".rkx-lit, .rkx-at, .rkx-win")) cell.classList.remove("rkx-lit", "rkx-at", "rkx-win");
    this.refocusing?.focus({ preventScroll: true });
    this.refocusing = null;
    if (this.phase && done > 0 && done <= this.output.cells.length) {
      this.light(this.output.cells[done - 1], "output");
    } else {
      this.restoreLight();
    }
  }

  offset(axis) { return this.view.start[axis]; }

  cut(ranges) {
    const total = product(this.view.shape), drawn = product(ranges.map((r) => r.n));
    if (total === 0) return "no elements";
    return drawn < total ? `${plural(drawn, "cell")} of ${total.toLocaleString("en")} shown` : "";
  }

  restoreLight() {
    const active = this.root.getRootNode().activeElement;
    if (active && active.rkPanel && this.root.contains(active)) this.light(active, active.rkPanel.kind);
    else say(this.status, this.idleText());
  }

  idleText() {
    if (!product(this.view.shape)) return "There are no cells to point at: the result is that of an empty set.";
    return "Point at a cell, or move to one with the arrow keys, to see which cells belong together."
      + " Click an axis to collapse it.";
  }

  // Highlight a cell with all that belong to it, and say it in words.
  light(cell, kind) {
    const group = cell ? cell.rk.group : null;
    if (this.lit !== group || !cell) {
      if (this.lit != null) this.mark(this.lit, false);
      if (group !== null) this.mark(group, true);
      this.lit = group;
    }
    if (this.at && this.at !== cell) this.at.classList.remove("rkx-at");
    this.at = cell;
    if (!cell) return;
    cell.classList.add("rkx-at");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => say(this.status, this.words(cell, kind)), this.calm.matches ? 0 : 30);
  }

  mark(group, on) {
    const members = this.members.get(group) || [];
    const out = this.outAt.get(group);
    const op = this.shown.op;
    const win = on && op !== "sum" && members.length && this.real.length
      ? winners(members.map((c) => this.values[c.rk.k]), op) : [];
    members.forEach((cell, i) => {
      cell.classList.toggle("rkx-lit", on);
      cell.classList.toggle("rkx-win", on && !!win[i] && this.tied(group, cell));
    });
    if (out) out.classList.toggle("rkx-lit", on);
  }

  // In a tensor of which only a part is drawn, the winner may be elsewhere.
  tied(group, cell) {
    if (this.view.complete && this.ranges().every((r) => r.laid)) return true;
    return !this.results_ || this.results_[group] === cell.rk.text;
  }

  words(cell, kind) {
    const { view, shown } = this;
    const g = cell.rk.group;
    const members = this.members.get(g);
    const out = this.outAt.get(g);
    const result = this.results_ ? this.results_[g] : "unknown without Python";
    const where = (c) => `[${c.rk.where.join(", ")}]`;
    const all = product((this.step === null ? this.real : this.phase.axes).map((i) => view.shape[i]));
    const hidden = all > members.length ? `, of which ${members.length} shown` : "";
    if (kind === "input") {
      const others = all - 1;
      return `Input ${where(cell)} = ${cell.rk.text} goes to output ${where(out)} = ${result}`
        + (others ? `, with ${plural(others, "other")}${hidden}.` : ", alone.");
    }
    let text = `Output ${where(out)} = ${result}: `;
    if (!this.real.length) return `${text}passed on as it is.`;
    if (!all) return `${text}the ${view.ops[shown.op].verb} of an empty set.`;
    text += `${plural(all, "input cell")} collapse${all === 1 ? "s" : ""}${hidden}`;
    if (shown.op !== "sum") {
      const count = members.filter((c) => c.classList.contains("rkx-win")).length;
      return `${text}; ${count ? (count === 1 ? "1 wins (starred)" : `${count} tie (starred)`) : "the winner is not among the cells shown"}.`;
    }
    if (hidden || members.length > 200 || view.kind === "bool") return `${text}.`;
    const totals = runningTotals(members.map((c) => this.values[c.rk.k]), view.kind, view.bits);
    const some = (list, by) => (list.length > 12 ? [...list.slice(0, 11), "\u2026", list.at(-1)] : list).join(by);
    return `${text}: ${some(members.map((c) => c.rk.text), " + ")}. Running total: ${some(totals, ", ")}.`;
  }

  drawOthers() {
    const { view, choice } = this;
    const rows = [];
    view.shape.forEach((size, i) => {
      const laid = choice.layout.includes(i);
      if (laid && view.count[i] === size) return;
      if (laid && view.complete) return;
      const first = view.complete ? choice.corner[i] : view.start[i];
      const n = laid ? view.count[i] : Math.min(1, size);
      rows.push({ i, size, laid, first, n });
    });
    this.others.hidden = !rows.length;
    const key = JSON.stringify([rows, this.real, choice.layout]);
    if (key === this.othersShown) return;
    this.othersShown = key;
    const active = this.root.getRootNode().activeElement;
    const focus = active && this.others.contains(active) ? active.dataset.key : null;
    const move = (i, to) => {
      const corner = [...choice.corner];
      corner[i] = Math.max(0, Math.min(to, view.shape[i] - 1));
      this.change({ corner });
    };
    const blocked = this.alone && !view.complete;
    this.others.replaceChildren(...rows.map(({ i, size, laid, first, n }) => {
      const name = axisText(view, i);
      const last = first + n - 1;
      const where = size ? (n > 1 ? `${first} to ${last}` : `${first}`) : "empty";
      const row = h("div", { class: "rkx-other" }, h("bdi", {}, name),
        h("button", { type: "button", "data-key": `b${i}`, "aria-label": `earlier along ${name}`, disabled: blocked || first === 0, onclick: () => move(i, first - n) }, "\u2039"),
        h("span", { class: "rkx-where" }, `${where} of ${size.toLocaleString("en")}`),
        h("button", { type: "button", "data-key": `f${i}`, "aria-label": `later along ${name}`, disabled: blocked || last >= size - 1, onclick: () => move(i, first + n) }, "\u203A"),
        h("input", { type: "range", min: 0, max: Math.max(0, size - n), value: first, "data-key": `r${i}`, "aria-label": `position along ${name}`, disabled: blocked, onchange: (e) => move(i, Number(e.target.value)) }));
      if (!laid) {
        row.append(
          h("button", { type: "button", "data-key": `t${i}`, "aria-pressed": String(this.real.includes(i)), onclick: () => this.toggleAxis(i) },
            this.real.includes(i) ? "reduced" : "kept"),
          h("button", { type: "button", "data-key": `l${i}`, onclick: () => this.layOut(i) }, "lay out"));
      }
      return row;
    }));
    if (focus) {
      const again = this.others.querySelector(`[data-key="${focus}"]`);
      if (again && !again.disabled) again.focus();
      else this.others.querySelector("button:not([disabled]), input")?.focus();
    }
  }

  layOut(axis) {
    const layout = [...this.choice.layout.slice(this.choice.layout.length >= 4 ? 1 : 0), axis];
    this.change({ layout: layout.sort((a, b) => a - b) });
  }

  // One axis after another: for each, the cells of its output in order.
  plan() {
    const phases = [];
    const count = this.view.count;
    const ranges = this.ranges();
    let before = [], begin = 0;
    for (const axis of this.real) {
      const after = [...before, axis];
      const cells = product(ranges.map((r) => (after.includes(r.axis) ? 1 : r.n)));
      phases.push({ axis, axes: [axis], before, after, begin, end: begin + cells, cells });
      begin += cells;
      before = after;
    }
    return { phases, total: begin, count };
  }

  get steppable() {
    return !this.refused && this.real.length > 0 && this.view.complete
      && !!this.view.cube[this.choice.op] && product(this.view.count) > 0;
  }

  drawSteps() {
    const can = this.steppable;
    const on = this.step !== null;
    const total = can ? this.plan().total : 0;
    this.play.disabled = this.forth.disabled = !can;
    this.forth.disabled = !can || (on && this.step >= total);
    this.back.disabled = !can || !on || this.step <= 0;
    this.end.disabled = !on;
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
      : { reducekit: this.alone ? "needs Python for a tensor of this rank" : "..." };
    if (shown.api === "atb") {
      const op = this.view.ops[shown.op];
      code.atb = `{"reduceType": ${op.atb_number}, "axis": [${shown.axes.join(", ")}]}`;
      if (this.lastApi !== "atb") this.tab = "atb";
    }
    this.lastApi = shown.api;
    this.codes = code;
    const names = Object.keys(code);
    const tab = names.includes(this.tab) ? this.tab : "reducekit";
    if (names.join() !== this.tabsShown) {
      this.tabsShown = names.join();
      this.tabs.replaceChildren(...names.map((name) => h("button", {
        type: "button", "data-tab": name,
        onclick: () => { this.tab = name; this.drawCode(this.shown); },
      }, API_NAMES[name])));
    }
    for (const node of this.tabs.children) set(node, "aria-pressed", String(node.dataset.tab === tab));
    say(this.code, code[tab]);
    say(this.copy, "Copy");
  }

  async copyCode() {
    const text = this.code.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // not allowed in this frame: select it, so that Ctrl+C does it
      const range = document.createRange();
      range.selectNodeContents(this.code);
      const selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
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

const outKept = (reduced, place, ndim) => [...Array(ndim).keys()].filter((i) => !reduced.includes(i))[place];

function axisText(view, i) {
  const name = view.names && view.names[i];
  return name ? `axis ${i} ${name}` : `axis ${i}`;
}

// Every index within the ranges, in C order.
function each(ranges, visit) {
  if (ranges.some((r) => r.n === 0)) return;
  const index = ranges.map((r) => r.first);
  for (;;) {
    visit([...index]);
    let i = index.length - 1;
    while (i >= 0 && ++index[i] === ranges[i].first + ranges[i].n) {
      index[i] = ranges[i].first;
      i--;
    }
    if (i < 0) return;
  }
}

const proto = () => h("div", { class: "rkx-cell", role: "gridcell", tabindex: -1 },
  h("span", { class: "rkx-mark", "aria-hidden": "true" }), h("span", { class: "rkx-value" }));

// One tensor: brackets for its axes, and a grid of grids. Columns are the last axis, rows the
// one before it, then blocks beside each other, then blocks below each other.
class Panel {
  constructor(owner, kind) {
    this.owner = owner;
    this.kind = kind;
    this.cells = [];
    this.title = h("p", { class: "rkx-cap" });
    this.grid = h("div", { class: "rkx-grid", role: "grid", "aria-label": `${kind} tensor` });
    this.brackets = {};
    this.frame = h("div", { class: "rkx-frame" }, this.grid);
    this.node = h("div", { class: `rkx-panel rkx-${kind}` }, this.title, h("div", { class: "rkx-scroll" }, this.frame));
    const find = (e) => e.target.closest && e.target.closest(".rkx-cell");
    this.grid.addEventListener("pointerover", (e) => {
      const cell = find(e);
      if (cell && cell !== owner.at) owner.light(cell, kind);
    });
    this.grid.addEventListener("pointerleave", () => { owner.light(null); owner.restoreLight(); });
    this.grid.addEventListener("focusin", (e) => {
      const cell = find(e);
      if (!cell) return;
      this.rove(cell);
      owner.light(cell, kind);
    });
    this.grid.addEventListener("focusout", (e) => {
      if (!this.grid.contains(e.relatedTarget) && owner.step === null) owner.light(null);
    });
    this.grid.addEventListener("click", (e) => find(e)?.focus());
    this.grid.addEventListener("keydown", (e) => this.key(e));
  }

  rove(cell) {
    if (this.current && this.current !== cell) this.current.tabIndex = -1;
    cell.tabIndex = 0;
    this.current = cell;
  }

  caption(kind, shape, dtype, note) {
    const key = [kind, shape, dtype, note].join("|");
    if (this.captioned === key) return;
    this.captioned = key;
    this.title.replaceChildren(h("b", {}, kind), ` ${tuple(shape)} ${dtype}`, note ? h("span", { class: "rkx-note" }, ` \u00B7 ${note}`) : "");
    set(this.grid, "aria-label", `${this.kind} tensor`);
  }

  // Keep the nodes as long as the structure is the same.
  layout(ranges, buttons) {
    const { owner } = this;
    const laid = ranges.filter((r) => r.laid);
    const dims = laid.slice(-4).map((r) => r.n);
    while (dims.length < 4) dims.unshift(1);
    const [V, H, R, C] = dims;
    const key = dims.join();
    const focus = this.current && this.grid.contains(this.owner.root.getRootNode().activeElement) ? this.current.rk : null;
    if (key !== this.structure) {
      this.structure = key;
      this.dims = dims;
      this.build(V, H, R, C);
      this.lost = focus;  // what had the focus, to be found again once the cells are painted
    }
    const inner = `calc(${C} * var(--cw))`;
    const outerW = `calc(${H} * ${C} * var(--cw) + ${Math.max(0, H - 1)} * var(--gap))`;
    const innerH = `calc(${R} * var(--ch))`;
    const outerH = `calc(${V} * ${R} * var(--ch) + ${Math.max(0, V - 1)} * var(--gap))`;
    const sizes = [outerH, outerW, innerH, inner];
    const places = ["v2", "h2", "v1", "h1"];
    const wanted = new Set();
    laid.slice(-4).forEach((r, i, all) => {
      const slot = 4 - all.length + i;
      wanted.add(r.axis);
      this.bracket(r, places[slot], sizes[slot], buttons);
    });
    for (const [axis, node] of Object.entries(this.brackets)) {
      if (!wanted.has(Number(axis))) { node.remove(); delete this.brackets[axis]; }
    }
    set(this.frame, "data-blocks", V * H > 1 ? "many" : "one");
  }

  bracket(r, place, size, buttons) {
    const { owner } = this;
    const { view } = owner;
    const reduced = owner.real.includes(r.axis);
    let node = this.brackets[r.axis];
    if (!node) {
      node = h(buttons ? "button" : "div", buttons
        ? { type: "button", onclick: () => owner.toggleAxis(r.axis) } : {},
        h("span", { class: "rkx-axis" }), h("span", { class: "rkx-line", "aria-hidden": "true" }));
      this.brackets[r.axis] = node;
    }
    const total = view.shape[r.axis], name = view.names && view.names[r.axis];
    const label = node.firstChild;
    const cutText = r.n < total && !(reduced && !buttons) && owner.step === null ? `${r.n} of ` : "";
    const gone = reduced && !buttons;
    const key = [total, name, reduced, cutText, gone, owner.step === null].join("|");
    if (node.rkKey !== key) {
      node.rkKey = key;
      const sizeNode = h(reduced && buttons ? "del" : "span", { class: "rkx-size" }, gone ? "(1)" : `(${cutText}${total.toLocaleString("en")}${cutText ? " \u2026" : ""})`);
      label.replaceChildren(`axis ${r.axis} `, name ? h("bdi", { class: "rkx-name" }, name) : "", name ? " " : "", sizeNode,
        reduced && buttons ? h("span", { class: "rkx-tag" }, "reduced") : "");
      const spoken = `axis ${r.axis}${name ? ` ${name}` : ""} (${total})`;
      if (buttons) { set(node, "aria-label", spoken); set(node, "aria-pressed", String(reduced)); }
      set(node, "title", buttons ? `${spoken}: ${reduced ? "reduced; click to keep" : "kept; click to reduce"}` : spoken);
    }
    set(node, "class", `rkx-bracket rkx-${place[0]} rkx-${place}${reduced ? " rkx-reduced" : ""}`);
    node.style.setProperty("--span", size);
    // The order of the axes is the order of reading.
    const before = Object.keys(this.brackets).map(Number).filter((a) => a > r.axis && this.brackets[a].parentNode).sort((a, b) => a - b)[0];
    if (!node.parentNode) this.frame.insertBefore(node, before === undefined ? this.grid : this.brackets[before]);
  }

  build(V, H, R, C) {
    const cell = proto();
    this.cells = [];
    const blocks = [];
    for (let v = 0; v < V; v++) {
      for (let w = 0; w < H; w++) {
        const rows = [];
        for (let r = 0; r < R; r++) {
          const row = h("div", { class: "rkx-row", role: "row", "aria-label": `row ${r}` });
          for (let c = 0; c < C; c++) {
            const node = cell.cloneNode(true);
            node.rkPanel = this;
            this.cells.push(node);
            row.append(node);
          }
          rows.push(row);
        }
        blocks.push(h("div", { class: "rkx-block", role: "rowgroup" }, ...rows));
      }
    }
    this.grid.style.setProperty("--blocks", H);
    const empty = !this.cells.length;
    set(this.grid, "role", empty ? "img" : "grid");
    set(this.grid, "aria-label", empty ? `${this.kind} tensor without elements` : `${this.kind} tensor`);
    this.grid.replaceChildren(...(empty ? [h("div", { class: "rkx-empty" }, "no elements")] : blocks));
    this.current = null;
    if (this.cells.length) this.rove(this.cells[0]);
  }

  refocus() {
    const { lost } = this;
    this.lost = null;
    if (!lost || !this.cells.length) return;
    const same = this.cells.find((c) => c.rk.label === lost.label || c.rk.where.join() === lost.where.join());
    const cell = same || this.cells[Math.min(lost.k, this.cells.length - 1)];
    this.rove(cell);
    this.owner.refocusing = cell;
  }

  paint(cell, now) {
    const old = cell.rk;
    cell.rk = now;
    if (!old || old.text !== now.text) {
      cell.lastChild.textContent = now.text;
      const odd = now.text === "NaN" ? "nan" : /^-?inf$/.test(now.text) ? "inf" : now.text === "-0.0" ? "zero" : "";
      if (odd || cell.dataset.odd) cell.dataset.odd = odd;
    }
    if (!old || old.mark !== now.mark) cell.firstChild.textContent = now.mark;
    if (!old || old.hue !== now.hue) cell.className = `rkx-cell rkx-g${now.hue}`;
    const label = `[${now.where}] ${now.text}`;
    if (!old || old.label !== label) cell.setAttribute("aria-label", `index (${now.where.join(", ")}) value ${now.text || "not yet"}`);
    now.label = label;
  }

  key(e) {
    const cell = e.target.closest(".rkx-cell");
    if (!cell || e.altKey || e.metaKey) return;
    const k = this.cells.indexOf(cell);
    const [, H, R, C] = this.dims;
    let c = k % C, r = Math.floor(k / C) % R, b = Math.floor(k / C / R);
    const total = this.cells.length / (R * C);
    const at = (b2, r2, c2) => this.cells[(b2 * R + r2) * C + c2];
    let to;
    switch (e.key) {
      case "ArrowRight": to = c + 1 < C ? at(b, r, c + 1) : (b + 1) % H ? at(b + 1, r, 0) : null; break;
      case "ArrowLeft": to = c > 0 ? at(b, r, c - 1) : b % H ? at(b - 1, r, C - 1) : null; break;
      case "ArrowDown": to = r + 1 < R ? at(b, r + 1, c) : b + H < total ? at(b + H, 0, c) : null; break;
      case "ArrowUp": to = r > 0 ? at(b, r - 1, c) : b - H >= 0 ? at(b - H, R - 1, c) : null; break;
      case "Home": to = e.ctrlKey ? this.cells[0] : at(b, r, 0); break;
      case "End": to = e.ctrlKey ? this.cells.at(-1) : at(b, r, C - 1); break;
      case "PageDown": to = b + 1 < total ? at(b + 1, r, c) : null; break;
      case "PageUp": to = b > 0 ? at(b - 1, r, c) : null; break;
      default: return;
    }
    e.preventDefault();
    to?.focus();
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
