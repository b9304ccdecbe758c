// Pictures made beforehand, one of which a slider chooses; a button plays them one after another.

function render({ model, el }) {
  const urls = model.get("frames").map((data) => URL.createObjectURL(new Blob([data], { type: "image/png" })));
  const labels = model.get("labels");
  const ready = urls.map((url) => Object.assign(new Image(), { src: url })); // decoded, so that sliding is smooth
  const picture = document.createElement("img");
  const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, max: urls.length - 1, step: 1 });
  const play = document.createElement("button");
  const text = document.createElement("span");
  const bar = document.createElement("div");
  const name = document.createElement("label");
  let timer = null;

  function show() {
    const index = model.get("index");
    picture.src = ready[index].src;
    picture.alt = `${model.get("title")}: ${labels[index]}`;
    slider.value = index;
    slider.setAttribute("aria-valuetext", labels[index]);
    text.textContent = labels[index];
  }
  function choose(index) {
    model.set("index", index);
    model.save_changes();
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "▶";
    play.title = "Play";
  }
  play.addEventListener("click", () => {
    if (timer !== null) return stop();
    if (model.get("index") === urls.length - 1) choose(0);
    play.textContent = "❚❚";
    play.title = "Stop";
    timer = setInterval(() => {
      choose(model.get("index") + 1);
      if (model.get("index") === urls.length - 1) stop();
    }, model.get("pause"));
  });
  slider.addEventListener("input", () => {
    stop();
    choose(Number(slider.value));
  });
  stop();
  el.classList.add("bbgm-frames");
  // Or JupyterLab takes the arrow keys for the cell.
  for (const node of [slider, play]) node.setAttribute("data-lm-suppress-shortcuts", "");
  bar.className = "bbgm-bar";
  name.append(`${model.get("title")} `, slider);
  bar.append(play, name, text);
  el.append(bar, picture);
  model.on("change:index", show);
  show();
  return () => {
    stop();
    model.off("change:index", show);
    for (const url of urls) URL.revokeObjectURL(url);
  };
}

export default { render };
