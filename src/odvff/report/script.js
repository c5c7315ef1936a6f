"use strict";
// Draws figures as they come into view, in the colours of the page, and wires the few controls.
(() => {
  const { dark, figures } = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Set();
  let printing = false;
  let ownScale = false;

  const isDark = () => !printing && (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

  // only under keys that name colours, so that no label is taken for one
  const recoloured = (value, isColour) => {
    if (typeof value === "string") return (isColour && dark[value]) || value;
    if (Array.isArray(value)) {
      return isColour || typeof value[0] === "object" ? value.map((v) => recoloured(v, isColour)) : value;
    }
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, recoloured(v, isColour || /color/i.test(k))]));
  };

  const copied = (value) => (typeof structuredClone === "function" ? structuredClone(value) : JSON.parse(JSON.stringify(value)));

  const draw = (place) => {
    const figure = figures[place.id];
    const { data, layout } = isDark() ? recoloured(figure, false) : copied({ data: figure.data, layout: figure.layout });
    if (figure.views.length) data.forEach((trace, i) => { trace.visible = i === (figure.view || 0); });
    if (layout.meta) layout[layout.meta.axis].range = ownScale ? layout.meta.own : layout.meta.common;
    const config = { displayModeBar: false, responsive: true, showTips: false, doubleClick: "reset" };
    drawn.add(place);
    return window.Plotly.react(place, copied(data), copied(layout), config);
  };
  const redraw = () => drawn.forEach((place) => { if (place.offsetParent) draw(place); else drawn.delete(place); });

  const places = [...document.querySelectorAll(".plot")];
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting && !drawn.has(entry.target)) draw(entry.target);
  }, { rootMargin: "400px" });
  places.forEach((place) => watcher.observe(place));

  // colours
  const button = document.getElementById("theme");
  const recolour = () => { button.setAttribute("aria-pressed", String(isDark())); redraw(); };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; recolour(); });
  prefersDark.addEventListener("change", recolour);
  button.setAttribute("aria-pressed", String(isDark()));
  const print = (now) => { printing = now; places.filter((p) => p.offsetParent).forEach(draw); };
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));

  // controls
  const scale = document.getElementById("own-scale");
  if (scale) {
    ownScale = scale.checked;
    scale.addEventListener("change", () => { ownScale = scale.checked; redraw(); });
  }
  const chosen = document.getElementById("class");
  if (chosen) {
    const show = () => {
      document.querySelectorAll("[data-class]").forEach((part) => { part.hidden = part.dataset.class !== chosen.value; });
      redraw();
    };
    chosen.addEventListener("change", show);
    show(); // browsers keep a choice when a page is loaded again
  }
  document.querySelectorAll("[data-view]").forEach((option) => {
    option.addEventListener("change", () => {
      figures[option.dataset.figure].view = Number(option.dataset.view);
      draw(document.getElementById(option.dataset.figure));
    });
  });

  // links to pictures that are folded away unfold them
  document.querySelectorAll(".ranking a").forEach((link) => {
    link.addEventListener("click", () => {
      const folded = document.getElementById(link.hash.slice(1)).closest("details");
      if (folded) folded.open = true;
    });
  });

  // where in the contents are we?
  const links = new Map([...document.querySelectorAll(".contents a")].map((a) => [a.hash.slice(1), a]));
  const reader = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const link = links.get(entry.target.id);
      if (link && entry.isIntersecting) {
        links.forEach((other) => other.removeAttribute("aria-current"));
        link.setAttribute("aria-current", "true");
      }
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  document.querySelectorAll("main > section").forEach((section) => reader.observe(section));
})();
