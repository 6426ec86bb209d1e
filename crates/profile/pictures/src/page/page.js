// The report's script: values on hover and by arrow keys, one operation at a time, the switch between
// light and dark, and columns in three dimensions. It loads nothing and makes no markup from text.
"use strict";

(() => {
  const root = document.documentElement;
  window.addEventListener("error", (event) => { root.dataset.error = event.message; });
  document.addEventListener("securitypolicyviolation", (event) => {
    root.dataset.violation = `${event.violatedDirective} ${event.blockedURI}`;
  });
  root.classList.add("js");

  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const readout = byId("readout");

  /** Shows a text beside a point of the window; nothing if the text is empty. */
  function say(text, x = 0, y = 0) {
    readout.textContent = text;
    if (!text) return;
    const { offsetWidth: width, offsetHeight: height } = readout;
    const left = Math.min(x + 14, root.clientWidth - width - 8);
    const top = y + 18 + height > root.clientHeight ? y - height - 12 : y + 18;
    readout.style.left = `${Math.max(left, 8)}px`;
    readout.style.top = `${Math.max(top, 8)}px`;
  }

  // ---- Values of marks ----------------------------------------------------------------------

  /** Moves each mark's title, which browsers show late, to an attribute that we show at once. */
  function takeTitles() {
    for (const mark of document.querySelectorAll("svg .mark")) {
      const title = mark.querySelector("title");
      mark.dataset.tip = title.textContent;
      mark.setAttribute("aria-label", title.textContent);
      title.remove();
    }
  }

  let lit = null;

  function light(mark, x, y) {
    if (lit) lit.classList.remove("on");
    lit = mark;
    if (!mark) return say("");
    mark.classList.add("on");
    const operation = mark.closest("[data-operation]");
    const name = operation ? `${operation.dataset.operation}: ` : "";
    say(name + mark.dataset.tip, x, y);
  }

  /** Moves from mark to mark in the order in which they are drawn: left to right, top to bottom. */
  function step(svg, by) {
    const marks = [...svg.querySelectorAll(".mark")];
    if (marks.length === 0) return;
    const at = marks.indexOf(lit);
    const last = marks.length - 1;
    const next = at < 0 ? (by > 0 ? 0 : last) : Math.min(Math.max(at + by, 0), last);
    const box = marks[next].lastElementChild.getBoundingClientRect();
    light(marks[next], box.right, box.top);
  }

  function watchMarks() {
    document.addEventListener("pointermove", (event) => {
      if (event.target.id === "space-canvas") return;
      light(event.target.closest ? event.target.closest(".mark") : null, event.clientX, event.clientY);
    });
    for (const svg of document.querySelectorAll("svg[tabindex]")) {
      svg.addEventListener("keydown", (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (event.key === "Escape") light(null);
        if (!by) return;
        event.preventDefault();
        step(svg, by);
      });
      svg.addEventListener("blur", () => light(null));
    }
  }

  // ---- One operation at a time --------------------------------------------------------------

  function choose() {
    const all = [...document.querySelectorAll(".operation")];
    const asked = all.find((one) => `#${one.id}` === location.hash);
    const chosen = asked || all.find((one) => one.classList.contains("chosen")) || all[0];
    for (const one of all) one.classList.toggle("chosen", one === chosen);
    for (const link of document.querySelectorAll("#operations td a")) {
      const isChosen = Boolean(chosen) && link.hash === `#${chosen.id}`;
      link.closest("tr").classList.toggle("chosen", isChosen);
    }
    if (asked) asked.scrollIntoView();
  }

  // ---- Light and dark -----------------------------------------------------------------------

  const dark = matchMedia("(prefers-color-scheme: dark)");

  function switchTheme() {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
    root.dataset.theme = isDark ? "light" : "dark";
    drawSpace();
  }

  // ---- Columns in three dimensions ----------------------------------------------------------

  const canvas = byId("space-canvas");
  const view = { yaw: -0.6, pitch: 0.55, columns: [] };

  /** Returns a function from a point of the unit cube to a point of the canvas. */
  function projection(width, height) {
    const [sinYaw, cosYaw] = [Math.sin(view.yaw), Math.cos(view.yaw)];
    const [sinPitch, cosPitch] = [Math.sin(view.pitch), Math.cos(view.pitch)];
    const size = Math.min(width * 0.5, height * 0.72);
    const middle = height / 2 + 0.275 * cosPitch * size;
    return (x, y, z) => {
      const [a, b] = [x - 0.5, y - 0.5];
      const across = a * cosYaw - b * sinYaw;
      const back = a * sinYaw + b * cosYaw;
      const up = z * 0.55;
      return [width / 2 + across * size, middle - (back * sinPitch + up * cosPitch) * size];
    };
  }

  function colours() {
    const style = getComputedStyle(root);
    const named = (name) => style.getPropertyValue(`--${name}`).trim();
    return { heat: [0, 1, 2, 3, 4, 5, 6, 7, 8].map((at) => named(`h${at}`)), grid: named("grid"), text: named("faint") };
  }

  function polygon(points) {
    const path = new Path2D();
    points.forEach(([x, y], at) => (at ? path.lineTo(x, y) : path.moveTo(x, y)));
    path.closePath();
    return path;
  }

  /** Returns the columns of the chosen operation: bucket, row, value, share of the height. */
  function columns(operation, measure) {
    const all = [];
    operation.rows.forEach(([when, cells], row) => {
      for (const [bucket, count] of cells) {
        const [mean, range] = data.buckets[bucket];
        const latency = count * mean;
        all.push({ bucket, row, count, latency, range, when, value: measure === "calls" ? count : latency });
      }
    });
    const most = Math.max(...all.map((one) => one.value));
    const least = Math.min(...all.map((one) => one.value));
    for (const one of all) {
      const log = Math.log(one.value / least) / Math.max(Math.log(most / least), 1e-9);
      one.heat = most > least ? Math.round(log * 8) : 8;
      one.share = measure === "calls"
        ? (Math.log10(one.value) + 0.3) / (Math.log10(Math.max(most, 10)) + 0.3)
        : one.value / most;
    }
    return all;
  }

  function drawFloor(pen, at, ink, floor, operation) {
    pen.strokeStyle = ink.grid;
    pen.fillStyle = ink.text;
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    const line = (from, to) => { pen.beginPath(); pen.moveTo(...from); pen.lineTo(...to); pen.stroke(); };
    // Labels stand at the edges that are nearest to the viewer.
    const nearY = Math.cos(view.yaw) > 0 ? 0 : 1;
    const nearX = Math.sin(view.yaw) > 0 ? 0 : 1;
    const outside = (near) => (near ? 1.07 : -0.07);
    const stepX = Math.max(1, Math.ceil(floor.buckets / 8));
    for (let bucket = 0; bucket <= floor.buckets; bucket += stepX) {
      const x = bucket / floor.buckets;
      line(at(x, 0, 0), at(x, 1, 0));
      const words = data.buckets[floor.first + bucket];
      if (words) pen.fillText(words[2], ...at(x, outside(nearY), 0));
    }
    const stepY = Math.max(1, Math.ceil(floor.rows / 6));
    for (let row = 0; row <= floor.rows; row += stepY) {
      const y = row / floor.rows;
      line(at(0, y, 0), at(1, y, 0));
      if (operation.rows[row]) pen.fillText(operation.rows[row][0], ...at(outside(nearX), y, 0));
    }
    pen.font = "bold 12px system-ui, sans-serif";
    pen.fillText("latency", ...at(0.5, nearY ? 1.17 : -0.17, 0));
    pen.fillText("elapsed time", ...at(nearX ? 1.2 : -0.2, 0.5, 0));
  }

  function drawColumn(pen, at, ink, floor, column) {
    const [left, right] = [(column.bucket - floor.first + 0.06) / floor.buckets, (column.bucket - floor.first + 0.94) / floor.buckets];
    const [front, back] = [(column.row + 0.06) / floor.rows, (column.row + 0.94) / floor.rows];
    const corners = [[left, front], [right, front], [right, back], [left, back]];
    const faces = [[0, 1], [1, 2], [2, 3], [3, 0]].map(([a, b]) => {
      const points = [at(...corners[a], 0), at(...corners[b], 0), at(...corners[b], column.share), at(...corners[a], column.share)];
      return { points, shade: a % 2 ? 0.34 : 0.18 };
    });
    // Faces that are seen from outside run one way round on the canvas, hidden ones the other.
    const isSeen = ({ points: [a, b, c] }) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) < 0;
    const top = { points: corners.map((one) => at(...one, column.share)), shade: 0 };
    column.paths = [...faces.filter(isSeen), top].map(({ points, shade }) => {
      const path = polygon(points);
      pen.fillStyle = ink.heat[column.heat];
      pen.fill(path);
      pen.fillStyle = `rgba(0, 0, 0, ${shade})`;
      pen.fill(path);
      return path;
    });
  }

  function drawSpace() {
    if (!canvas) return;
    const operation = data.operations[Number(byId("space-operation").value)];
    if (!operation) return;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [860, 520];
    [canvas.width, canvas.height] = [width * ratio, height * ratio];
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const all = columns(operation, byId("space-measure").value);
    if (all.length === 0) return;
    const buckets = all.map((one) => one.bucket);
    const first = Math.max(Math.min(...buckets) - 1, 0);
    const floor = { first, buckets: Math.max(...buckets) + 2 - first, rows: operation.rows.length };
    const at = projection(width, height);
    const ink = colours();
    drawFloor(pen, at, ink, floor, operation);
    const depth = (one) => (one.bucket - first) / floor.buckets * Math.sin(view.yaw) + one.row / floor.rows * Math.cos(view.yaw);
    all.sort((a, b) => depth(b) - depth(a));
    for (const column of all) drawColumn(pen, at, ink, floor, column);
    view.columns = all;
    canvas.dataset.columns = all.length;
  }

  function turn(yaw, pitch) {
    view.yaw += yaw;
    view.pitch = Math.min(Math.max(view.pitch + pitch, 0.12), 1.45);
    drawSpace();
  }

  /** Says what the topmost column under the pointer stands for. */
  function pick(event) {
    const box = canvas.getBoundingClientRect();
    const pen = canvas.getContext("2d");
    const [x, y] = [(event.clientX - box.left) * canvas.width / box.width, (event.clientY - box.top) * canvas.height / box.height];
    const isHit = (one) => one.paths.some((path) => pen.isPointInPath(path, x, y));
    const hit = view.columns.findLast(isHit);
    if (!hit) return say("");
    const calls = hit.count === 1 ? "1 call" : `${hit.count.toLocaleString("en")} calls`;
    say(`from ${hit.when}: ${calls} of ${hit.range}, together about ${hit.latency.toPrecision(3)} s`, event.clientX, event.clientY);
  }

  function watchSpace() {
    const chooser = byId("space-operation");
    data.operations.forEach((one, at) => chooser.add(new Option(one.name, at)));
    chooser.addEventListener("change", drawSpace);
    byId("space-measure").addEventListener("change", drawSpace);
    canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
    canvas.addEventListener("pointermove", (event) => {
      if (!event.buttons) return pick(event);
      say("");
      turn(event.movementX * 0.01, event.movementY * 0.006);
    });
    canvas.addEventListener("pointerleave", () => say(""));
    canvas.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08] }[event.key];
      if (!by) return;
      event.preventDefault();
      turn(...by);
    });
    dark.addEventListener("change", drawSpace);
    matchMedia("print").addEventListener("change", drawSpace);
    drawSpace();
  }

  takeTitles();
  watchMarks();
  choose();
  window.addEventListener("hashchange", choose);
  byId("theme").addEventListener("click", switchTheme);
  byId("print").addEventListener("click", () => window.print());
  if (canvas) watchSpace();
  root.dataset.ready = "yes";
})();
