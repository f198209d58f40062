// Follows the stream: /events says what is, /column draws the chosen column.
"use strict";
(() => {
  const $ = id => document.getElementById(id);
  const whole = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});
  const tenth = new Intl.NumberFormat("en-US", {minimumFractionDigits: 1, maximumFractionDigits: 1});
  const raised = {"-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹"};

  // Text is written only where it changes, so that a screen reader is not told
  // the same again.
  const write = (e, text) => { if (e.textContent !== text) e.textContent = text; };
  const make = (tag, className, text) => {
    const e = document.createElement(tag);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const count = n => n === null || n === undefined ? "–" : whole.format(n);

  // number writes v with n significant digits as the report does: 603.7, 4.02×10⁻⁵.
  function number(v, n = 3) {
    if (v === null || v === undefined) return "–";
    if (v === "Infinity") return "∞";
    if (v === "-Infinity") return "−∞";
    if (v === 0) return "0";
    const [mantissa, exponent] = v.toExponential(n - 1).split("e");
    if (exponent < -3 || exponent >= 9) {
      return (mantissa + "×10" + [...String(Number(exponent))].map(c => raised[c]).join("")).replace("-", "−");
    }
    const digits = Math.max(0, n - 1 - exponent);
    return v.toLocaleString("en-US", {minimumFractionDigits: digits, maximumFractionDigits: digits}).replace("-", "−");
  }
  // trimmed is number without zeros at its end: a rounded 45 is not 45.0.
  const trimmed = v => number(v).replace(/(\.\d*?)0+(?=×|$)/, "$1").replace(/\.(?=×|$)/, "");
  const percent = v => typeof v === "number" ? tenth.format(100 * v).replace("-", "−") + "\u00a0%" : number(v);
  const rate = v => v > 0 && v < 100 ? tenth.format(v) : whole.format(v);
  const unit = u => u ? " " + u : "";
  const riskUnit = u => !u ? "" : /[/ ·*²]/.test(u) ? " 1/(" + u + ")²" : " 1/" + u + "²";
  function since(s) {
    if (s < 10 && s % 1) return tenth.format(s) + " s";
    if (s < 120) return whole.format(s) + " s";
    if (s < 7200) return Math.floor(s / 60) + " min";
    return Math.floor(s / 3600) + " h";
  }

  const heading = document.querySelector("h1").textContent;

  // ---- what changes from second to second

  function verdict(s) {
    const broken = s.gate.rules.filter(r => !r.passed).length;
    const rules = s.gate.rules.length;
    const which = broken === 0 ? "the gate does" : rules === 1 ? "the gate’s one rule does" : broken + " of the gate’s " + rules + " rules " + (broken === 1 ? "does" : "do");
    const failed = (which + " not hold").replace(/^t/, "T");
    const held = rules === 1 ? "The gate’s one rule holds." : "All " + rules + " rules of the gate hold.";
    if (s.mode === "stopped") {
      return ["bad", "✗", "Stopped", s.gate.judged && !s.gate.passed ? failed + ": nothing of the open transaction is released." : "Nothing more is released."];
    }
    if (s.mode === "holding") {
      return ["warn", "‖", "Holding", "Masked records go to the restricted topic until the rules hold again" + (broken ? ": " + which + " not." : ".")];
    }
    if (s.stuck) return ["bad", "!", "Stuck", "The filter makes no progress."];
    if (!s.connected) return ["warn", "!", "Disconnected", "The brokers cannot be reached: nothing is read or released until they can. Trying again."];
    if (s.gate.judged && !s.gate.passed) {
      return ["bad", "✗", "Gate failed", failed + ", and the configuration lets the stream go on."];
    }
    if (!s.gate.judged && s.has_snapshot) return ["good", "✓", "Releasing", "No gate rule is set: nothing is demanded of risk or utility."];
    if (!s.gate.judged) return ["", "·", "Releasing", "No verdict yet: the first snapshot is still to come."];
    return ["good", "✓", "Releasing", rules ? held : "The gate holds."];
  }

  // found and limit in words, as the report says them.
  function measured(r, v) {
    switch (r.measure) {
      case "min_efficiency": return percent(Math.floor(1000 * v + 1e-9) / 1000);  // never up to its limit
      case "min_rmse": return "± " + trimmed(v) + unit(r.unit);
      case "max_risk": return "R = " + trimmed(v) + (v > 0 ? ", known to ± " + trimmed(1 / Math.sqrt(v)) + unit(r.unit) : "");
      default: return number(v);
    }
  }

  let rulesShown = "";
  function showRules(rules) {
    const text = JSON.stringify(rules);
    if (text === rulesShown) return;
    rulesShown = text;
    $("rules").hidden = rules.length === 0;
    $("rules").replaceChildren(...rules.map(r => {
      const li = make("li", r.passed ? "kept" : "broken");
      const sign = make("span", "sign", r.passed ? "✓" : "✗");
      sign.setAttribute("aria-hidden", "true");
      const words = make("div");
      const rule = make("p", "rule", r.rule);
      rule.prepend(make("span", "spoken", r.passed ? "Holds: " : "Does not hold: "));
      words.append(rule);
      if (r.measure) {
        const found = r.later ? "judged since the last snapshot" : r.found === null ? "what was found is in the confidential report only" :
          "found " + measured(r, r.found);
        words.append(make("p", "found", found + "; limit " + measured(r, r.limit)));
      }
      if (!r.passed && r.advice) words.append(make("p", "found", r.advice));
      li.append(sign, words);
      return li;
    }));
  }

  const rates = []; // of the last two minutes: [time, records per second]
  function showRate(v) {
    write($("rate"), rate(v));
    const now = performance.now();
    rates.push([now, v]);
    while (rates[0][0] < now - 120000) rates.shift();
    const span = Math.max(20000, now - rates[0][0]), top = Math.max(...rates.map(r => r[1]));
    const x = t => (240 - 240 * (now - t) / span).toFixed(1);
    const line = rates.map(([t, r]) => x(t) + " " + (54 - 50 * r / (top || 1)).toFixed(1));
    $("spark").querySelector(".stroke").setAttribute("d", "M" + line.join("L"));
    $("spark").querySelector(".area").setAttribute("d", "M" + x(rates[0][0]) + " 56L" + line.join("L") + "L240 56Z");
    write($("spark-note"), "the last " + (span < 115000 ? since(Math.round(span / 1000)) : "two minutes") +
      (top > 0 ? ", at most " + rate(top) : ""));
  }

  let lagShown = "";
  function showLag(lag) {
    write($("lag"), count(lag.total));
    write($("lag-note"), lag.assigned === 0 ? "no partition is assigned" :
      "records, of " + (lag.assigned === 1 ? "1 partition" : lag.assigned + " partitions"));
    const text = JSON.stringify(lag);
    if (text === lagShown) return;
    lagShown = text;
    const rows = lag.partitions.map(p => {
      const tr = make("tr");
      tr.append(make("td", "", p.topic), make("td", "num", String(p.partition)), make("td", "num", count(p.records)));
      return tr;
    });
    const cell = text => {
      const tr = make("tr"), td = make("td", "", text);
      td.colSpan = 3;
      tr.append(td);
      return tr;
    };
    if (rows.length === 0) rows.push(cell("No partition is assigned."));
    if (lag.partitions.length < lag.assigned) rows.push(cell("The others of " + lag.assigned + " lag less."));
    $("partitions").replaceChildren(...rows);
  }

  function showNotes(s) {
    const notes = [];
    if (s.stuck) notes.push(["bad", "The loop makes no progress: " + s.stuck + "."]);
    else if (s.not_ready && s.mode !== "stopped") notes.push(["bad", s.not_ready[0].toUpperCase() + s.not_ready.slice(1) + "."]);
    if (s.reload) {
      const ago = since(s.reload.since) + " ago";
      notes.push(s.reload.error ? ["bad", "The changed configuration was refused " + ago + ", the old one goes on: " + s.reload.error]
        : ["calm", "Configuration taken on " + ago + "."]);
    }
    $("notes").hidden = notes.length === 0;
    $("notes").replaceChildren(...notes.map(([kind, text]) => make("li", kind, text)));
  }

  let droppedShown = "";
  function showDropped(s) {
    const rows = s.dropped.map(d => [d.reason, d.records]);
    if (s.dropped_other > 0) rows.push(["other reasons", s.dropped_other]);
    const text = JSON.stringify(rows);
    if (text === droppedShown) return;
    droppedShown = text;
    $("dropped").hidden = rows.length === 0;
    $("reasons").replaceChildren(...rows.map(([reason, n]) => {
      const tr = make("tr");
      tr.append(make("td", "", reason), make("td", "num", count(n)));
      return tr;
    }));
  }

  function showState(s) {
    const [kind, sign, word, line] = verdict(s);
    $("verdict").className = "verdict " + kind;
    write($("verdict-sign"), sign);
    write($("verdict-word"), word);
    write($("verdict-line"), line);
    document.title = (kind === "good" ? "" : word + ": ") + heading + (kind === "good" ? ": live" : "");
    showNotes(s);
    showRules(s.gate.rules);
    showRate(s.rate);
    showLag(s.lag);
    write($("commit"), s.since_commit === null ? "none yet" : since(s.since_commit) + " ago");
    write($("commit-note"), "running for " + since(s.uptime));
    write($("committed"), count(s.committed));
    write($("aborted"), count(s.aborted) + " aborted, " + count(s.rebalances) + (s.rebalances === 1 ? " rebalance" : " rebalances"));
    for (const fate in s.records) write($(fate), count(s.records[fate]));
    $("left_out-tile").hidden = !s.records.left_out;
    $("quarantined").classList.toggle("bad", s.records.quarantined > 0);
    $("held").classList.toggle("bad", s.records.held > 0);
    showDropped(s);
  }

  // ---- the chosen column

  const slim = matchMedia("(max-width: 560px)");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const chooser = $("column");

  const subject = g => { const s = g.getAttribute("aria-label"), i = s.indexOf(": R = "); return i < 0 ? s : s.slice(0, i); };
  const position = g => { const halo = g.querySelector(".halo"); return [Number(halo.getAttribute("cx")), Number(halo.getAttribute("cy"))]; };

  // draw puts a new map in the place of the old one. A mark of both moves from
  // where it was to where it is.
  function draw(text, sameColumn) {
    const svg = document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
    const old = $("map").querySelector("svg");
    const from = new Map();
    let focused = "";
    if (old && sameColumn && old.getAttribute("viewBox") === svg.getAttribute("viewBox")) {
      for (const g of old.querySelectorAll(".pt")) {
        from.set(subject(g), position(g));
        if (g === document.activeElement) focused = subject(g);
      }
    }
    $("map").replaceChildren(svg);
    for (const g of svg.querySelectorAll(".pt")) {
      const name = subject(g), was = from.get(name);
      if (name === focused) g.focus({preventScroll: true});
      if (!was || still.matches) continue;
      const [x, y] = position(g), dx = was[0] - x, dy = was[1] - y;
      if (dx === 0 && dy === 0) continue;
      for (const e of g.querySelectorAll(".mark, .halo")) {
        e.animate([{transform: "translate(" + dx + "px," + dy + "px)"}, {transform: "none"}], {duration: 900, easing: "cubic-bezier(.3,0,.2,1)"});
      }
    }
  }

  // put replaces a picture; a mark that has the focus keeps it.
  function put(id, text) {
    const place = $(id), old = place.querySelector(".pt:focus"), focused = old ? subject(old) : "";
    if (!text) {
      place.replaceChildren();
      return;
    }
    place.replaceChildren(document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true));
    if (focused) for (const g of place.querySelectorAll(".pt")) if (subject(g) === focused) g.focus({preventScroll: true});
  }

  function showMeasures(d) {
    const u = d.utility, row = (name, text) => {
      const div = make("div");
      div.append(make("dt", "", name), make("dd", "", text));
      return div;
    };
    write($("measures-title"), d.name + ", the whole stream so far");
    $("measures").replaceChildren(row("values", count(d.n)), row("efficiency U/U₀", percent(u.efficiency)),
      row("U", number(u.U, 4) + riskUnit(d.unit)), row("bias of the mean", number(u.bias) + unit(d.unit)),
      ...(d.history[0].worst ? [row("greatest risk shown", d.history[0].worst.target + ", " + d.history[0].worst.knowledge)] : []));
    write($("measures-note"), !d.enough ? "Fewer than 10 values: nothing is shown of them." :
      d.held ? "Fewer than 10 values have come since: the measures are of an earlier snapshot." : "");
  }

  function showHistory(d) {
    write($("snapshots-caption").firstChild, "Of the whole stream up to each snapshot; efficiency and risk of " + d.name);
    $("snapshots").replaceChildren(...d.history.map(h => {
      const tr = make("tr"), w = h.worst, first = make("th", "num", count(h.snapshot) + (h.emitted && h.emitted !== h.snapshot ? " (emitted as " + count(h.emitted) + ")" : ""));
      first.scope = "row";
      const time = make("td"), t = make("time", "", h.finished.slice(11, 19));
      t.dateTime = h.finished;
      time.append(t);
      const gate = make("td", !h.judged ? "" : h.passed ? "held" : "broken", !h.judged ? "no rule" : h.passed ? "✓ holds" : "✗ failed");
      tr.append(first, time, make("td", "num", count(h.records.released)), make("td", "num", count(h.records.quarantined)),
        make("td", "num", percent(h.efficiency)), make("td", "", w ? w.target + ", " + w.knowledge : "–"),
        make("td", "num", w ? "± " + trimmed(w.rmse) + unit(d.unit) : "–"), make("td", "num", w ? number(w.R) : "–"), gate);
      return tr;
    }));
  }

  // showColumn asks for the chosen column; what comes meanwhile is asked for after.
  let shown = "", busy = false, again = false;
  async function showColumn() {
    again = true;
    if (busy) return;
    busy = true;
    while (again) {
      again = false;
      const name = chooser.value;
      try {
        const answer = await fetch("column?name=" + encodeURIComponent(name) + (slim.matches ? "&size=slim" : ""),
          {cache: "no-store", signal: AbortSignal.timeout(10000)});
        const d = answer.ok ? await answer.json() : null;
        if (d && name === chooser.value) {
          draw(d.svg, shown === name);
          put("dots", d.dots);
          $("dots-figure").hidden = !d.dots;
          put("times", d.times);
          $("over-time").hidden = !d.times;
          shown = name;
          showMeasures(d);
          showHistory(d);
        }
      } catch {
        // The event stream says when the server is gone, and sends the snapshot again when it is back.
      }
      await new Promise(done => setTimeout(done, 200)); // five maps a second are enough
    }
    busy = false;
  }

  function showSnapshot(s) {
    const names = s.columns.map(c => c.name);
    if (names.length === 0) {
      $("map").replaceChildren(make("p", "empty", "No masked column is assessed."));
      return;
    }
    const have = [...chooser.options].map(o => o.value);
    if (have.join("\n") !== names.join("\n")) {
      const wanted = chooser.value || decodeURIComponent(location.hash.slice(1));
      chooser.replaceChildren(...names.map(n => new Option(n, n)));
      if (names.includes(wanted)) chooser.value = wanted;
      $("column-label").hidden = false;
    }
    showColumn();
  }

  chooser.addEventListener("change", () => {
    history.replaceState(null, "", "#" + encodeURIComponent(chooser.value));
    showColumn();
  });
  slim.addEventListener("change", () => { if (chooser.value) showColumn(); });

  // ---- the connection

  let source = null, heard = performance.now(), tried = heard, lostAt = null;
  function lost() {
    if (lostAt === null) lostAt = new Date();
    document.body.classList.remove("on", "waiting");
    document.body.classList.add("lost");
    write($("link-text"), "connection lost");
    write($("alarm"), "The connection to the filter was lost at " + lostAt.toISOString().slice(11, 19) +
      " UTC. Trying again; the figures below are from before.");
    $("alarm").hidden = false;
  }
  function found() {
    heard = performance.now();
    if (document.body.classList.contains("on")) return;
    lostAt = null;
    document.body.classList.remove("lost", "waiting");
    document.body.classList.add("on");
    write($("link-text"), "live");
    $("alarm").hidden = true;
    write($("alarm"), "");
  }
  function connect() {
    if (source) source.close();
    tried = performance.now();
    source = new EventSource("events");
    source.addEventListener("state", e => { found(); showState(JSON.parse(e.data)); });
    source.addEventListener("snapshot", e => { found(); showSnapshot(JSON.parse(e.data)); });
    source.addEventListener("error", lost);
  }
  connect();
  // A browser tries again by itself, except after an answer that is an error; and
  // of a connection that went silent it hears nothing. A state comes every second.
  setInterval(() => {
    const now = performance.now(), silent = now - heard > 6000;
    if (silent) lost();
    const dead = source.readyState === EventSource.CLOSED || silent && source.readyState === EventSource.OPEN;
    if (dead && now - tried > 3000) connect();
  }, 1000);
})();
