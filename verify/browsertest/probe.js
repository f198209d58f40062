// probe measures how far a page scrolls sideways and the least contrast of its text.
function probe() {
  const channel = c => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const colour = s => { const m = s.match(/[\d.]+/g); return m ? m.map(Number) : [0, 0, 0, 0]; };
  const over = (top, under) => { const a = top[3] ?? 1; return [0, 1, 2].map(i => top[i] * a + under[i] * (1 - a)); };
  function behind(e) {
    const layers = [];
    for (; e; e = e.parentElement) {
      const c = colour(getComputedStyle(e).backgroundColor);
      layers.push(c);
      if ((c[3] ?? 1) === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  }
  let worst = 99, where = "";
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    if (!e.checkVisibility({visibilityProperty: true}) || e.tagName === "title" || e.tagName === "OPTION" || e.closest(".spoken")) continue;
    const s = getComputedStyle(e);
    const front = colour(e instanceof SVGElement ? s.fill : s.color);
    const back = behind(e);
    const [a, b] = [light(over(front, back)), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < worst) { worst = ratio; where = e.tagName + "#" + e.id + "." + (e.getAttribute("class") || ""); }
  }
  const root = document.documentElement;
  return {overflow: Math.max(0, root.scrollWidth - root.clientWidth), contrast: worst, where};
}
