// Two pictures side by side, whose keypoints are clicked, dragged, named, hidden and removed; matches follow as the
// kernel answers. Everything that is computed comes from bbgm/widgets/editor.py: here it is drawn.

const HEIGHT = 300, GAP = 16, BORDER = 8; // of the pictures, units of the drawing
const RADIUS = 5, NEAR = 9; // of a keypoint, and how close a click must be to hit it
const PART = 1 << 20, LARGEST = 64 << 20; // bytes of one message of an upload, and of a file
const PATIENCE = 3000; // ms without an answer, after which the user is told

function download(name, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

class Editor {
  constructor(model, root) {
    this.model = model;
    this.selected = null; // [side, id]
    this.dragged = null;
    this.urls = ["", ""];
    this.build(root);
    this.listeners = {
      "change:pictures": () => this.showPictures(),
      "change:keypoints": () => this.draw(),
      "change:result": () => this.draw(),
      "change:networks": () => this.showControls(),
      "change:network": () => this.showControls(),
      "change:solver": () => this.showControls(),
      "change:partial": () => this.showControls(),
      "change:graphs": () => { this.showControls(); this.draw(); },
    };
    for (const [event, listener] of Object.entries(this.listeners)) model.on(event, listener);
    this.showControls();
    this.showPictures();
  }

  close() {
    for (const [event, listener] of Object.entries(this.listeners)) this.model.off(event, listener);
    for (const url of this.urls) URL.revokeObjectURL(url);
    clearTimeout(this.timer);
  }

  // ---- What the user sees

  build(root) {
    const choose = (name) => element("select", { onchange: (event) => this.set(name, event.target.value) });
    const check = (name) => element("input", { type: "checkbox", onchange: (event) => this.set(name, event.target.checked) });
    this.network = choose("network");
    this.solver = choose("solver");
    this.partial = check("partial");
    this.graphs = check("graphs");
    const load = (event) => { if (event.target.value) this.model.send({ kind: "load", path: event.target.value }); event.target.value = ""; };
    this.file = element("input", { type: "text", placeholder: "load: path of a model file", size: 24, onchange: load });
    this.name = element("input", { type: "text", size: 14, placeholder: "no name", oninput: (event) => this.change({ name: event.target.value }) });
    this.hide = element("button", { onclick: () => this.toggle() }, "Hide");
    this.remove = element("button", { onclick: () => this.drop() }, "Remove");
    this.chosen = element("span", { className: "bbgm-chosen" });
    this.stage = shape("svg", { class: "bbgm-stage", tabindex: 0, [OWN_KEYS]: "", role: "application", "aria-label": "Two images with keypoints" });
    this.stage.addEventListener("pointerdown", (event) => this.press(event));
    this.stage.addEventListener("pointermove", (event) => this.drag(event));
    this.stage.addEventListener("pointerup", () => this.release());
    this.stage.addEventListener("pointercancel", () => this.release());
    this.stage.addEventListener("keydown", (event) => this.key(event));
    this.stage.addEventListener("dragover", (event) => event.preventDefault());
    this.stage.addEventListener("drop", (event) => this.receive(event));
    this.sides = [0, 1].map((side) => this.buildSide(side));
    this.status = element("div", { className: "bbgm-status", role: "status" });
    this.notice = element("div", { className: "bbgm-notice" });
    this.table = element("tbody");
    this.command = element("code");
    const heads = ["left", "right", "vertex cost", "edge costs", ""].map((text) => element("th", {}, text));
    const details = element("details", { className: "bbgm-costs" }, element("summary", {}, "Costs of the matches"),
      element("table", {}, element("thead", {}, element("tr", {}, ...heads)), this.table));
    const label = (text, ...nodes) => element("label", {}, text, ...nodes);
    root.classList.add("bbgm-editor");
    root.append(
      element("div", { className: "bbgm-bar" }, label("Network ", this.network), this.file, label("Solver ", this.solver),
        label("", this.partial, " keypoints may stay unmatched"), label("", this.graphs, " show graphs")),
      this.stage,
      element("div", { className: "bbgm-sides" }, ...this.sides),
      element("div", { className: "bbgm-bar" }, this.chosen, label("Name ", this.name), this.hide, this.remove),
      this.status, this.notice, details,
      element("div", { className: "bbgm-command" }, "The same on the command line: ", this.command));
  }

  buildSide(side) {
    const choose = element("input", { type: "file", accept: "image/*", hidden: true, onchange: (event) => this.upload(side, event.target.files[0]) });
    return element("div", {}, element("span", { className: "bbgm-name" }), choose,
      element("button", { onclick: () => { choose.value = ""; choose.click(); } }, "Choose image …"),
      element("button", { onclick: () => this.edit(side, () => []) }, "Clear keypoints"),
      element("button", { onclick: () => this.save(side) }, "Download keypoints"));
  }

  showControls() {
    const fill = (node, values, value) => {
      node.replaceChildren(...values.map((text) => element("option", { value: text }, text)));
      node.value = value;
    };
    fill(this.network, this.model.get("networks"), this.model.get("network"));
    fill(this.solver, this.model.get("solvers"), this.model.get("solver"));
    this.partial.checked = this.model.get("partial");
    this.graphs.checked = this.model.get("graphs");
  }

  showPictures() {
    const pictures = this.model.get("pictures");
    const widths = pictures.map((one) => (HEIGHT * one.width) / one.height);
    this.scale = pictures.map((one) => HEIGHT / one.height);
    this.left = [0, widths[0] + GAP];
    const total = widths[0] + widths[1] + GAP;
    this.stage.setAttribute("viewBox", `${-BORDER} ${-BORDER} ${total + 2 * BORDER} ${HEIGHT + 2 * BORDER}`);
    this.stage.style.maxWidth = `${Math.round(1.6 * total)}px`;
    for (const url of this.urls) URL.revokeObjectURL(url);
    this.urls = pictures.map((one) => URL.createObjectURL(new Blob([one.data], { type: "image/jpeg" })));
    const images = pictures.map((one, k) => shape("image",
      { href: this.urls[k], x: this.left[k], y: 0, width: widths[k], height: HEIGHT, preserveAspectRatio: "none" }));
    this.overlay = shape("g", {});
    this.stage.replaceChildren(...images, this.overlay);
    pictures.forEach((one, k) => (this.sides[k].firstChild.textContent = `${one.name} (${one.width} × ${one.height} px)`));
    this.selected = null;
    this.draw();
  }

  // ---- Drawing

  place(side, point) {
    return [this.left[side] + point.x * this.scale[side], point.y * this.scale[side]];
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    const result = this.model.get("result");
    const sides = this.model.get("keypoints");
    const found = sides.map((points) => new Map(points.map((one) => [one.id, one])));
    const nodes = [];
    const line = (from, to, attributes, title) => {
      const [[x1, y1], [x2, y2]] = [from, to];
      nodes.push(shape("line", { x1, y1, x2, y2, ...attributes }, title));
    };
    const both = (side, a, side2, b) => [found[side].get(a), found[side2].get(b)].every((one) => one && !one.hidden);
    if (this.model.get("graphs"))
      (result.edges ?? []).forEach((edges, side) => {
        for (const [a, b] of edges) if (both(side, a, side, b))
          for (const kind of ["rim", "edge"]) line(this.place(side, found[side].get(a)), this.place(side, found[side].get(b)), { class: `bbgm-${kind}` });
      });
    const colours = [new Map(), new Map()];
    for (const match of result.matches ?? []) {
      const [a, b] = match.ids;
      if (!both(0, a, 1, b)) continue;
      const ends = [this.place(0, found[0].get(a)), this.place(1, found[1].get(b))];
      line(...ends, { class: "bbgm-under" });
      line(...ends, { class: "bbgm-match", stroke: match.colour, "stroke-dasharray": match.right === false ? "7 4" : "none" }, match.names.join(" – "));
      colours[0].set(a, match.colour);
      colours[1].set(b, match.colour);
    }
    sides.forEach((points, side) => points.forEach((one) => {
      const [cx, cy] = this.place(side, one);
      const selected = this.selected && this.selected[0] === side && this.selected[1] === one.id;
      if (selected) nodes.push(shape("circle", { cx, cy, r: RADIUS + 4, class: "bbgm-ring" }));
      const fill = one.hidden ? "#999" : colours[side].get(one.id) ?? (result.matches ? "none" : "#0072B2");
      nodes.push(shape("circle", { cx, cy, r: RADIUS, fill, class: `bbgm-point${one.hidden ? " bbgm-hidden" : ""}` }, one.name || `no name, ${one.id}`));
    }));
    this.overlay.replaceChildren(...nodes);
    this.drawText(result);
  }

  drawText(result) {
    const point = this.point();
    const word = { true: "right", false: "wrong", null: "" };
    this.chosen.textContent = point ? `Keypoint in the ${this.selected[0] ? "right" : "left"} image:` : "Click a keypoint to name, hide or remove it.";
    if (document.activeElement !== this.name) this.name.value = point?.name ?? "";
    for (const node of [this.name, this.hide, this.remove]) node.disabled = !point;
    this.hide.textContent = point?.hidden ? "Show" : "Hide";
    this.status.textContent = result.summary ?? "";
    this.status.classList.toggle("bbgm-hint", !result.matches);
    this.notice.textContent = result.notice ?? "";
    this.command.textContent = result.command ?? "";
    this.command.parentNode.hidden = !result.command;
    this.table.replaceChildren(...(result.matches ?? []).map((one) => element("tr", {},
      ...[...one.names, one.unary.toFixed(3), one.edges.toFixed(3), word[one.right]].map((text) => element("td", {}, text)))));
    clearTimeout(this.timer);
    if (result.revision !== this.model.get("revision"))
      this.timer = setTimeout(() => (this.notice.textContent = "The kernel does not answer yet. If it was restarted, run this cell again."), PATIENCE);
  }

  // ---- Changes

  set(name, value) {
    this.model.set(name, value);
    this.send();
  }

  send(moving = false) {
    this.model.set("moving", moving);
    this.model.set("revision", this.model.get("revision") + 1);
    this.model.save_changes();
    this.draw();
  }

  edit(side, change, moving = false) {
    this.model.set("keypoints", this.model.get("keypoints").map((points, k) => (k === side ? change(points) : points)));
    this.send(moving);
  }

  point() {
    return this.selected && this.model.get("keypoints")[this.selected[0]].find((one) => one.id === this.selected[1]);
  }

  change(values, moving = false) {
    if (!this.point()) return;
    const [side, id] = this.selected;
    this.edit(side, (points) => points.map((one) => (one.id === id ? { ...one, ...values } : one)), moving);
  }

  toggle() {
    this.change({ hidden: !this.point()?.hidden });
  }

  drop() {
    if (!this.point()) return;
    const [side, id] = this.selected;
    this.selected = null;
    this.edit(side, (points) => points.filter((one) => one.id !== id));
  }

  // ---- Pointer and keys

  locate(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.stage.getScreenCTM().inverse());
    const side = at.x < this.left[1] - GAP / 2 ? 0 : 1;
    return { side, at: [at.x, at.y], xy: this.clip(side, (at.x - this.left[side]) / this.scale[side], at.y / this.scale[side]) };
  }

  clip(side, x, y) {
    const { width, height } = this.model.get("pictures")[side];
    return { x: Math.min(Math.max(x, 0), width), y: Math.min(Math.max(y, 0), height) };
  }

  press(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.stage.focus({ preventScroll: true });
    const { side, at, xy } = this.locate(event);
    const points = this.model.get("keypoints")[side];
    const far = (one) => Math.hypot(...this.place(side, one).map((value, k) => value - at[k]));
    const nearest = points.reduce((best, one) => (best && far(best) <= far(one) ? best : one), null);
    if (nearest && far(nearest) <= NEAR) {
      this.selected = [side, nearest.id];
      this.draw();
    } else {
      const id = 1 + Math.max(-1, ...points.map((one) => one.id));
      this.selected = [side, id];
      this.edit(side, (all) => [...all, { id, ...xy, name: "", hidden: false }]);
    }
    this.dragged = false;
    this.stage.setPointerCapture(event.pointerId);
  }

  drag(event) {
    if (this.dragged === null || !this.point()) return;
    const { at } = this.locate(event);
    const [x, y] = this.place(this.selected[0], this.point());
    if (!this.dragged && Math.hypot(at[0] - x, at[1] - y) < 3) return; // a click of an unsteady hand
    this.dragged = true;
    const side = this.selected[0];
    this.change(this.clip(side, (at[0] - this.left[side]) / this.scale[side], at[1] / this.scale[side]), true);
  }

  release() {
    if (this.dragged) this.send();
    this.dragged = null;
  }

  key(event) {
    const point = this.point();
    const step = event.shiftKey ? 10 : 1;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (!point) return;
    if (event.key === "Delete" || event.key === "Backspace") this.drop();
    else if (event.key === "h") this.toggle();
    else if (moves[event.key]) this.change(this.clip(this.selected[0], point.x + moves[event.key][0], point.y + moves[event.key][1]));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // ---- Files

  receive(event) {
    event.preventDefault();
    event.stopPropagation();
    this.upload(this.locate(event).side, event.dataTransfer.files[0]);
  }

  async upload(side, file) {
    if (!file) return;
    if (file.size > LARGEST) {
      this.notice.textContent = `${file.name} has ${Math.ceil(file.size / 2 ** 20)} MB, the limit is ${LARGEST / 2 ** 20}: scale it down.`;
      return;
    }
    this.notice.textContent = `Loading ${file.name} …`;
    const bytes = await file.arrayBuffer();
    const parts = Math.max(1, Math.ceil(bytes.byteLength / PART));
    for (let part = 0; part < parts; part++)
      this.model.send({ kind: "upload", side, name: file.name, part, parts }, undefined, [bytes.slice(part * PART, (part + 1) * PART)]);
  }

  save(side) {
    const file = this.model.get("result").files?.[side];
    if (file) download(file.name, file.text);
  }
}

function render({ model, el }) {
  const editor = new Editor(model, el);
  return () => editor.close();
}

export default { render };
