// Test pairs of finished runs, each with the matchings of several methods beside each other. Everything is sent once and
// chosen, sorted and drawn here, so that no kernel is needed; only of many images the kernel sends those that are shown.

const GAP = 16, BORDER = 4; // between two images and around them, units of the drawing
const RADIUS = 6; // of a mark at the end of a line
const PATIENCE = 5000; // ms without an answer, after which the user is told
const ALL = "all classes";
const CHOICES = ["category", "methods_shown", "method", "least", "most", "order", "page"]; // what the user changes

// Keys of a pair, smallest first: `own` errors of the method that the controls name, `rest` those of the others shown.
const ORDERS = {
  "most errors": (own) => -own,
  "fewest errors": (own) => own,
  "worse than all others": (own, rest) => (rest.length ? Math.max(...rest) : 0) - own,
  "better than all others": (own, rest) => own - (rest.length ? Math.min(...rest) : 0),
  "order of the test": () => 0,
};

class Gallery {
  constructor(model, root) {
    this.model = model;
    this.urls = new Map(); // of the images that are here
    this.asked = new Set();
    this.pairs = model.get("pairs").map((pair) => ({
      ...pair,
      errors: pair.found.map((found) => found.filter((j, i) => j !== pair.truth[i]).length),
      right: pair.found.map((found) => found.filter((j, i) => j >= 0 && j === pair.truth[i]).length),
      total: pair.truth.filter((j) => j >= 0).length,
    }));
    this.build(root);
    this.draw = () => { cancelAnimationFrame(this.frame); this.frame = requestAnimationFrame(() => this.drawNow()); };
    this.receive = (content, buffers) => this.take(content, buffers);
    for (const name of CHOICES) model.on(`change:${name}`, this.draw);
    model.on("msg:custom", this.receive);
    this.drawNow();
  }

  close() {
    for (const name of CHOICES) this.model.off(`change:${name}`, this.draw);
    this.model.off("msg:custom", this.receive);
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    for (const url of this.urls.values()) URL.revokeObjectURL(url);
  }

  // ---- Controls

  build(root) {
    const { model } = this;
    const methods = model.get("methods");
    const options = (pairs) => pairs.map(([value, text]) => element("option", { value }, text));
    const choose = (name, pairs, read = String) =>
      element("select", { onchange: (event) => this.set({ [name]: read(event.target.value) }) }, ...options(pairs));
    // On each key, as JupyterLab keeps Enter for itself; on leaving it, the number that is used is shown.
    const number = (name) => element("input", { type: "number", min: 0, max: model.get("limit"), step: 1,
      oninput: ({ target }) => target.value !== "" && this.set({ [name]: Math.min(Math.max(Math.round(Number(target.value)), 0), model.get("limit")) }),
      onblur: () => this.draw() });
    const classes = [...new Set(this.pairs.map((pair) => pair.cls))];
    const count = (cls) => this.pairs.filter((pair) => pair.cls === cls).length;
    this.controls = {
      category: choose("category", [["", `${ALL} (${this.pairs.length})`], ...classes.map((cls) => [cls, `${cls} (${count(cls)})`])]),
      method: choose("method", methods.map((one, k) => [k, one.title]), Number),
      least: number("least"),
      most: number("most"),
      order: choose("order", Object.keys(ORDERS).map((name) => [name, name])),
    };
    this.boxes = methods.map((one, k) => element("input", { type: "checkbox", onchange: () => this.toggle(k) }));
    this.back = element("button", { onclick: () => this.set({ page: model.get("page") - 1 }), title: "Previous page" }, "◀");
    this.next = element("button", { onclick: () => this.set({ page: model.get("page") + 1 }), title: "Next page" }, "▶");
    this.status = element("span", { className: "bbgm-status", role: "status" });
    this.notice = element("div", { className: "bbgm-notice" });
    this.list = element("div", { className: "bbgm-pairs" });
    const label = (text, node) => {
      node.setAttribute("aria-label", text.trim()); // without the options
      return element("label", {}, text, node);
    };
    const { category, method, least, most, order } = this.controls;
    root.classList.add("bbgm-gallery");
    root.append(
      element("div", { className: "bbgm-bar" }, label("Class ", category), label("Errors of ", method), label("from ", least),
        label("to ", most), label("Sort by ", order)),
      element("fieldset", { className: "bbgm-bar" }, element("legend", {}, "Methods shown, and their accuracy"),
        ...methods.map((one, k) => element("label", {}, this.boxes[k], ` ${one.title} ${(100 * one.accuracy).toFixed(1)} %`))),
      element("div", { className: "bbgm-bar" }, this.back, this.next, this.status),
      this.notice, this.list);
  }

  // A choice; all but another page lead to the first page.
  set(values) {
    for (const [name, value] of Object.entries({ page: 0, ...values })) this.model.set(name, value);
    this.model.save_changes();
    this.drawNow();
  }

  toggle(k) {
    const shown = this.boxes.flatMap((box, at) => (box.checked ? [at] : []));
    if (shown.length) this.set({ methods_shown: shown, page: this.model.get("page") });
    else this.boxes[k].checked = true; // one is always shown
  }

  // ---- Which pairs

  chosen() {
    const [category, method, least, most, order] = ["category", "method", "least", "most", "order"].map((name) => this.model.get(name));
    const others = this.model.get("methods_shown").filter((k) => k !== method);
    const key = (pair) => ORDERS[order](pair.errors[method], others.map((k) => pair.errors[k]));
    return this.pairs
      .filter((pair) => (!category || pair.cls === category) && pair.errors[method] >= least && pair.errors[method] <= most)
      .map((pair) => [key(pair), pair])
      .sort((one, other) => one[0] - other[0]) // stable: equals stay in the order of the test
      .map(([, pair]) => pair);
  }

  drawNow() {
    cancelAnimationFrame(this.frame);
    const { model } = this;
    for (const [name, node] of Object.entries(this.controls)) if (node !== document.activeElement) node.value = model.get(name);
    const shown = model.get("methods_shown");
    this.boxes.forEach((box, k) => (box.checked = shown.includes(k)));
    const alone = shown.length === 1; // then pairs stand beside each other
    const pairs = this.chosen(), rows = model.get("rows") * (alone ? 3 : 1);
    const page = Math.min(Math.max(model.get("page"), 0), Math.max(Math.ceil(pairs.length / rows) - 1, 0));
    const start = page * rows, here = pairs.slice(start, start + rows);
    this.back.disabled = page === 0;
    this.next.disabled = start + rows >= pairs.length;
    this.status.textContent = pairs.length
      ? `Pairs ${start + 1} to ${start + here.length} of ${pairs.length}`
      : "No pair fits: choose another range of errors, method or class.";
    this.list.classList.toggle("bbgm-alone", alone);
    this.list.replaceChildren(...here.map((pair) => this.row(pair, shown)));
    this.ask(here);
  }

  // ---- Drawing

  row(pair, shown) {
    const [one, two] = pair.images.map((k) => this.model.get("images")[k].name);
    const about = [one.startsWith(`${pair.cls}/`) ? "" : pair.cls, pair.difficulty].filter(Boolean).join(", ");
    const cells = element("div", { className: "bbgm-cells" }, ...shown.map((k) => this.cell(pair, k)));
    return element("section", {}, element("h4", {}, element("code", {}, one), " and ", element("code", {}, two), about && ` (${about})`), cells);
  }

  cell(pair, k) {
    const { title } = this.model.get("methods")[k];
    const errors = pair.errors[k];
    const more = errors === pair.total - pair.right[k] ? "" : `, ${errors} error${errors === 1 ? "" : "s"}`;
    const score = `${pair.right[k]} of ${pair.total} right${more}`;
    const drawing = this.matching(pair, k);
    drawing.setAttribute("aria-label", `${title}: ${score}`);
    const figure = element("figure", { className: "bbgm-cell" },
      element("button", { title: "Larger, or smaller again", onclick: () => figure.classList.toggle("bbgm-large") }, drawing),
      element("figcaption", {}, element("b", {}, title), score));
    return figure;
  }

  matching(pair, k) {
    const frame = this.model.get("frame"), [right, wrong] = this.model.get("colours");
    const images = pair.images.map((at) => this.model.get("images")[at]);
    const left = [0, images[0].width + GAP];
    const total = left[1] + images[1].width;
    const place = (side, at) => {
      const [x, y] = images[side].xy[pair.kept[side][at]];
      return [left[side] + (x * images[side].width) / frame, y];
    };
    const name = (side, at) => images[side].names[pair.kept[side][at]];
    const nodes = images.map((one, side) => shape("image", { x: left[side], y: 0, width: one.width, height: frame,
      preserveAspectRatio: "none", "data-image": pair.images[side], href: this.url(pair.images[side]) }));
    const lines = [], marks = [];
    const found = pair.found[k];
    found.forEach((j, i) => {
      if (j < 0) return marks.push(this.hollow(place(0, i), pair.truth[i] >= 0 ? wrong : "white", name(0, i)));
      const good = j === pair.truth[i];
      const [[x1, y1], [x2, y2]] = [place(0, i), place(1, j)];
      const text = `${name(0, i)} – ${name(1, j)}: ${good ? "right" : "wrong"}`;
      const line = [shape("line", { x1, y1, x2, y2, class: "bbgm-under" }),
        shape("line", { x1, y1, x2, y2, class: "bbgm-match", stroke: good ? right : wrong, "stroke-dasharray": good ? "none" : "10 5" }, text)];
      if (good) lines.unshift(...line);
      else lines.push(...line); // wrong ones on top
      for (const [x, y] of [[x1, y1], [x2, y2]]) marks.push(good ? this.dot(x, y, right) : this.cross(x, y, wrong));
    });
    pair.kept[1].forEach((_, j) => {
      if (!found.includes(j)) marks.push(this.hollow(place(1, j), pair.truth.includes(j) ? wrong : "white", name(1, j)));
    });
    const drawing = shape("svg", { viewBox: `${-BORDER} ${-BORDER} ${total + 2 * BORDER} ${frame + 2 * BORDER}`, role: "img" });
    drawing.append(...nodes, ...lines, ...marks);
    return drawing;
  }

  dot(cx, cy, fill) {
    return shape("circle", { cx, cy, r: RADIUS, fill, class: "bbgm-mark" });
  }

  cross(x, y, stroke) {
    const r = RADIUS - 1, d = `M${x - r} ${y - r}L${x + r} ${y + r}M${x - r} ${y + r}L${x + r} ${y - r}`;
    const group = shape("g", {});
    group.append(shape("path", { d, class: "bbgm-rim" }), shape("path", { d, class: "bbgm-cross", stroke }));
    return group;
  }

  hollow([cx, cy], stroke, name) {
    const group = shape("g", {});
    group.append(shape("circle", { cx, cy, r: RADIUS, class: "bbgm-dark" }),
      shape("circle", { cx, cy, r: RADIUS, class: "bbgm-hollow", stroke }, `${name}: not matched`));
    return group;
  }

  // ---- Images

  url(at) {
    const data = this.model.get("pictures")[at];
    if (!this.urls.has(at) && data?.byteLength) this.keep(at, data);
    return this.urls.get(at) ?? "";
  }

  keep(at, data) {
    this.urls.set(at, URL.createObjectURL(new Blob([data], { type: "image/jpeg" })));
  }

  ask(pairs) {
    const wanted = [...new Set(pairs.flatMap((pair) => pair.images))].filter((at) => !this.urls.has(at));
    clearTimeout(this.timer);
    this.notice.textContent = "";
    if (!wanted.length) return;
    const asked = wanted.filter((at) => !this.asked.has(at));
    for (const at of asked) this.asked.add(at);
    if (asked.length) this.model.send({ kind: "images", wanted: asked });
    this.timer = setTimeout(() => {
      for (const at of wanted) this.asked.delete(at);
      this.notice.textContent = "The kernel does not send the images. If it was restarted, run this cell again.";
    }, PATIENCE);
  }

  take(content, buffers) {
    if (content.kind !== "images") return;
    content.wanted.forEach((at, k) => {
      if (!this.urls.has(at)) this.keep(at, buffers[k]);
      for (const node of this.list.querySelectorAll(`[data-image="${at}"]`)) node.setAttribute("href", this.urls.get(at));
    });
    if (![...this.list.querySelectorAll("image")].some((node) => !node.getAttribute("href"))) {
      clearTimeout(this.timer);
      this.notice.textContent = "";
    }
  }
}

function render({ model, el }) {
  const gallery = new Gallery(model, el);
  return () => gallery.close();
}

export default { render };
