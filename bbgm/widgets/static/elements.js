// Elements of a page, with attributes, listeners and children. Other modules of this folder follow this one in their text.

const OWN_KEYS = "data-lm-suppress-shortcuts"; // or JupyterLab takes arrows and letters for the cell
const SVG = "http://www.w3.org/2000/svg";

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key in node && key !== "list") node[key] = value;
    else node.setAttribute(key, value);
  }
  if (["button", "input", "select"].includes(tag)) node.setAttribute(OWN_KEYS, "");
  node.append(...children);
  return node;
}

function shape(tag, attributes, title) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (title) node.append(Object.assign(document.createElementNS(SVG, "title"), { textContent: title }));
  return node;
}
