"use strict";
// Draws a run. All that comes from the trace is put into the page as text, never as markup.
(async () => {
  const el = (id) => document.getElementById(id);
  const packed = Uint8Array.from(atob(el("data").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const run = JSON.parse(await new Response(stream).text());
  el("data").remove();
  const count = run.events.length;
  const SVG = "http://www.w3.org/2000/svg";
  const ROW = 22, LANE = 20, NAMES = 150, TOP = 38;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let at = 0;
  let raw = false; // whether events are shown as the records that they are
  const tells = (k) => (raw ? run.records : run.events)[k];
  let from = 0, to = Math.max(1, count); // the events that the time line shows

  // The time of each event in nanoseconds, if the trace has times, and one behind the last one.
  const times = run.passed && [...run.passed, 1].reduce((all, passed) => {
    all.push((all.length ? all[all.length - 1] : 0) + passed);
    return all;
  }, []);
  const place = (k) => times ? times[Math.min(k, count)] : k;
  const milliseconds = (ns) => `${(ns / 1e6).toLocaleString("en", { minimumFractionDigits: 3,
    maximumFractionDigits: 3 })} ms`;
  const inside = (span, k) => k >= span[0] && (span[1] === null || k < span[1]);
  const find = (spans, k) => spans.find((span) => inside(span, k));
  const make = (name, attributes, parent) => {
    const made = document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (parent) parent.append(made);
    return made;
  };
  const add = (parent, name, text, of) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (of) made.className = of;
    parent.append(made);
    return made;
  };
  const bad = new Map();
  for (const [where, text] of run.bad) {
    if (where !== null) bad.set(where, [...(bad.get(where) || []), text]);
  }
  const badPlaces = [...bad.keys()].sort((a, b) => a - b);
  // A lane has one life after the other: the one at the chosen event, or the last one before it.
  // A lane for several protection domains that are alike has no id.
  const laneName = (lane, brackets) => {
    const id = idOf(lane);
    if (lane.many > 1 || lane.name === id) return lane.name;
    return brackets ? `${lane.name} (${id})` : `${lane.name} ${id}`;
  };
  const idOf = (lane) => (lane.lives.findLast((life) => life[0] <= at) || lane.lives[0])[2];

  // -- the graph

  const heads = {
    MANAGE: ["circle", { cx: 5, cy: 5, r: 3.5 }], REQUEST: ["path", { d: "M1 1 L9 5 L1 9 z" }],
    HOLD: ["path", { d: "M1 1 L9 5 L1 9" }], MAP: ["path", { d: "M1 1 L9 5 L1 9 z" }],
    FAULT: ["path", { d: "M8 0 L8 10", "stroke-width": 2 }],
    LINK: ["path", { d: "M0 0" }], OWN: ["path", { d: "M1 5 L5 2 L9 5 L5 8 z" }],
    SUBSCRIBE: ["path", { d: "M2 1 L9 5 L2 9" }],
  };
  // A small picture is drawn larger, but not wider than the page.
  const large = Math.min(1.35, Math.max(1, (el("graph").clientWidth - 4) / (run.size[0] + 8)));
  const svg = make("svg", { role: "img", width: (run.size[0] + 8) * large,
    height: (run.size[1] + 8) * large,
    viewBox: `-4 -4 ${run.size[0] + 8} ${run.size[1] + 8}` });
  const picture = make("title", {}, svg);
  const defs = make("defs", {}, svg);
  for (const kind of run.kinds) {
    const marker = make("marker", { id: `h-${kind}`, viewBox: "0 0 10 10", refX: 8, refY: 5,
      markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, defs);
    const [shape, attributes] = heads[kind];
    make(shape, { ...attributes, class: `m-${kind}` }, marker);
  }
  const text = (group, lines, x, y) => lines.map((line, number) => {
    const made = make("text", { x, y: y + number * 12, class: number ? "small" : "first" }, group);
    made.textContent = line;
    return made;
  });
  const clusters = run.nodes.map((node) => {
    if (!node.cluster) return null;
    const group = make("g", { class: "cluster" }, svg);
    const [x, y, width, height] = node.cluster;
    make("rect", { x, y, width, height, rx: 8 }, group);
    return group;
  });
  const paths = run.edges.map((edge) => {
    const kind = run.kinds[edge.kind], points = edge.curve;
    if (points.length < 4) return null;
    let d = `M${points[0]} ${points[1]}`;
    d += points.length < 8 ? ` L${points.slice(2).join(" ")}` : ` C${points.slice(2).join(" ")}`;
    const made = make("path", { d, class: `e k-${kind}`, "marker-end": `url(#h-${kind})` }, svg);
    const [source, target] = edge.ends.map((end) => run.nodes[end].label[0]);
    make("title", {}, made).textContent = `${source} ${run.means[edge.kind]} ${target}`;
    return made;
  });
  const shapes = run.nodes.map((node) => {
    const group = make("g", { class: node.kind }, svg);
    const [x, y, width, height] = node.box;
    const round = node.kind === "resource" ? 7 : 0;
    const rect = make("rect", { x, y, width, height, rx: round }, group);
    const lines = text(group, [...node.label, ""], x + width / 2, 0);
    const hover = make("title", {}, group);
    return { hover, group, rect, lines, x, y, width, height };
  });
  const reasons = make("g", {}, svg);
  el("graph").append(svg);

  const setClass = (shape, value) => {
    if (shape.getAttribute("class") !== value) shape.setAttribute("class", value);
  };
  let begun = false; // the first event is shown at once
  let crashed = -1; // the node at depth 0 that was last brought into sight
  const show = (number) => {
    if (number === crashed) return;
    crashed = number;
    if (number < 0) return;
    const box = el("graph"), shape = shapes[number];
    box.scrollTo({ left: shape.x * large - box.clientWidth / 3,
      top: shape.y * large - box.clientHeight / 3,
      behavior: begun && !still ? "smooth" : "instant" });
  };
  const drawGraph = () => {
    let first = -1;
    const alive = { pd: 0, space: 0, resource: 0 }, doomed = [], broken = [];
    run.nodes.forEach((node, number) => {
      const shape = shapes[number];
      const there = find(node.spans, at);
      const doom = there && find(node.doomed, at);
      // What has gone is shown until the next one is at its place.
      const left = node.spans[0][0] <= at && (node.next === null || at < node.next);
      let state = there ? "" : left ? " gone" : " off";
      if (there) {
        alive[node.kind] += node.members.filter((span) => inside(span, at)).length || 1;
      }
      if (doom) state += " doomed";
      const kept = there ? node.broken.filter((span) => inside(span, at)) : [];
      if (kept.length) state += " broken";
      for (const span of kept) broken.push(span[2]);
      const stuck = there && find(node.stuck, at);
      if (stuck) state += " stuck";
      setClass(shape.group, node.kind + state);
      if (clusters[number]) setClass(clusters[number], `cluster${state}`);
      const depth = doom ? doom[2] : -1;
      const fills = run.fills;
      if (depth === 0 && first < 0) first = number;
      shape.rect.style.fill = depth >= 0 ? fills[Math.min(depth, fills.length - 1)] : "";
      let told = "";
      if (state === " gone") told = "gone";
      else if (doom && node.kind !== "resource") {
        told = doom[3] || (depth > 0 ? `doomed at depth ${depth}` : "doomed");
      }
      if (node.kind === "resource") told = "";
      if (stuck && !told) told = stuck[2];
      if (doom && node.kind !== "resource") doomed.push(`${node.label.join(", ")}: ${told}`);
      const lines = shape.lines, last = lines[lines.length - 1];
      if (last.textContent !== told) last.textContent = told;
      shape.hover.textContent = [...node.label, told, ...kept.map((span) => span[2])]
        .filter((each) => each).join(", ");
      const shown = lines.filter((line) => line.textContent).length;
      const top = shape.y + shape.height / 2 - (shown - 1) * 6 + 4;
      lines.forEach((line, which) => line.setAttribute("y", top + which * 12));
    });
    show(first);
    reasons.replaceChildren();
    const why = [];
    run.edges.forEach((edge, number) => {
      const path = paths[number];
      const there = find(edge.spans, at);
      const guilty = there && find(edge.why, at), lost = there && find(edge.lost, at);
      if (guilty) why.push(guilty[2]);
      if (!path) return;
      const kind = run.kinds[edge.kind];
      const broken = there && find(edge.broken, at);
      const state = there ? guilty ? " why" : lost ? " lost" : broken ? " broken" : "" : " off";
      setClass(path, `e k-${kind}${state}`);
      if (!guilty && !lost) return;
      const points = edge.curve, middle = Math.floor(points.length / 4) * 2;
      const [x, y] = edge.label.length ? edge.label : [points[middle], points[middle + 1] - 6];
      const label = make("text", { x, y: y + 3, class: "reason" }, reasons);
      label.textContent = guilty ? guilty[2] : "lost";
    });
    const others = { pd: 0, space: 0, resource: 0 };
    for (const [kind, ...span] of run.rest) if (inside(span, at)) others[kind] += 1;
    alive.pd += others.pd;
    alive.space += others.space;
    const counted = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;
    const told = `${counted(alive.pd, "protection domain")}, ${counted(alive.space, "space")} ` +
      "and their resources, without the root task." + (run.rest.length
        ? ` ${counted(others.pd, "protection domain")} and ${counted(others.space, "space")} ` +
          "that no cleanup touched are left out of the picture." : "");
    picture.textContent = told;
    el("alive").textContent = told +
      (doomed.length ? ` Doomed: ${doomed.join("; ")}.` : "") +
      (why.length ? ` Because ${why.join("; ")}.` : "") +
      (broken.length ? ` Broken: ${broken.slice(0, 50).join("; ")}` +
        `${broken.length > 50 ? `; and ${broken.length - 50} more` : ""}.` : "");
  };

  // -- the time line

  const canvas = el("canvas"), lanes = el("lanes"), context = canvas.getContext("2d");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
  const waitColour = (told) => told === "stopped" || told.startsWith("frozen") ? "--stop" :
    told.startsWith("has notice") ? "--wait" : told.startsWith("deals") ? "--work" : "--held";
  // The lanes in which nothing happens in the whole run are one row, until they are opened.
  const idle = new Set(run.lanes.keys());
  run.lanes.forEach((lane, number) => {
    if (number === 0 || lane.waits.length || lane.marks.length ||
      lane.lives.length > lane.many || lane.lives.some((life) => life[1] !== null)) {
      idle.delete(number);
    }
  });
  for (const [, , , source, target] of run.arrows) {
    idle.delete(source);
    idle.delete(target);
  }
  const foldable = idle.size > 1;
  let folded = foldable && run.lanes.length > 12;
  let order = []; // row -> lane; the last one is that of the lanes that are folded
  const rowOf = new Map();
  const fold = (wanted) => {
    folded = foldable && wanted;
    order = [...run.lanes.keys()].filter((number) => !folded || !idle.has(number));
    order.forEach((number, row) => rowOf.set(number, row));
    for (const number of folded ? idle : []) rowOf.set(number, order.length);
    el("tall").style.height = `${TOP + (order.length + (folded ? 1 : 0)) * LANE + 4}px`;
    const button = document.querySelector('[data-go="fold"]');
    button.hidden = !foldable;
    button.textContent = `${folded ? "Show" : "Fold"} ${idle.size} idle lanes`;
  };
  const drawLanes = () => {
    const width = Math.max(320, lanes.clientWidth);
    const height = Math.min(el("tall").offsetHeight, Math.max(120, lanes.clientHeight));
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== width * scale || canvas.height !== height * scale) {
      canvas.width = width * scale;
      canvas.height = height * scale;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = colour("--paper");
    context.fillRect(0, 0, width, height);
    const begins = place(from);
    const per = (width - NAMES - 8) / Math.max(1, place(to) - begins);
    const x = (k) => NAMES +
      (place(Math.min(Math.max(k === null ? count : k, from), to)) - begins) * per;
    const scrolled = lanes.scrollTop;
    const y = (row) => TOP + row * LANE - scrolled;
    const seen = (begin, end) => begin < to && (end === null || end > from);
    context.font = '11px "DejaVu Sans", Verdana, sans-serif';
    for (const cleanup of run.cleanups) {
      if (!seen(...cleanup.span)) continue;
      for (const [begin, end, phase] of cleanup.phases) {
        if (!seen(begin, end)) continue;
        context.fillStyle = colour(`--p-${phase}`);
        context.fillRect(x(begin), TOP, Math.max(1, x(end) - x(begin)), height);
      }
    }
    const first = Math.max(0, Math.floor(scrolled / LANE));
    const last = Math.min(order.length, Math.ceil((scrolled + height) / LANE));
    for (let row = first; row < last; row += 1) {
      const lane = run.lanes[order[row]], top = y(row);
      for (const [begin, end] of lane.lives) {
        if (!seen(begin, end)) continue;
        context.fillStyle = colour("--life");
        context.fillRect(x(begin), top + 5, Math.max(1, x(end) - x(begin)), LANE - 10);
      }
      for (const [begin, end, told] of lane.waits) {
        if (!seen(begin, end)) continue;
        context.fillStyle = colour(waitColour(told));
        context.fillRect(x(begin), top + 5, Math.max(1.5, x(end) - x(begin)), LANE - 10);
      }
      let drawn = -10;
      for (const [where, what] of lane.marks) {
        if (where < from || where >= to || x(where) - drawn < 2) continue;
        drawn = x(where);
        const trigger = ["FAULT", "EXIT", "terminate", "late"].includes(what);
        context.fillStyle = colour(trigger ? "--doom" : "--ink");
        context.fillRect(drawn, top + (trigger ? 2 : 7), trigger ? 3 : 1.5,
          LANE - (trigger ? 4 : 14));
      }
    }
    context.strokeStyle = context.fillStyle = colour("--soft");
    context.lineWidth = 1;
    let arrows = 0;
    const beside = new Map(); // lanes -> the last arrow between them
    for (const [, , , about, receiver, queued, taken] of run.arrows) {
      const source = rowOf.get(about), target = rowOf.get(receiver);
      const end = taken === null ? queued : taken;
      if (!seen(queued, end + 1) || (source < first && target < first)) continue;
      if ((source >= last && target >= last) || (arrows += 1) > 2000) continue;
      const drawn = `${source} ${target}`, near = beside.get(drawn);
      if (near && Math.abs(x(queued) - near[0]) + Math.abs(x(end) - near[1]) < 12) continue;
      beside.set(drawn, [x(queued), x(end)]);
      const x0 = x(queued), y0 = y(source) + LANE / 2, x1 = x(end), y1 = y(target) + LANE / 2;
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
      const angle = Math.atan2(y1 - y0, x1 - x0);
      context.beginPath();
      context.moveTo(x1, y1);
      context.lineTo(x1 - 7 * Math.cos(angle - 0.4), y1 - 7 * Math.sin(angle - 0.4));
      context.lineTo(x1 - 7 * Math.cos(angle + 0.4), y1 - 7 * Math.sin(angle + 0.4));
      context.fill();
    }
    context.fillStyle = colour("--doom");
    for (const where of badPlaces) {
      if (where >= from && where < to) context.fillRect(x(where) - 1, TOP, 3, height);
    }
    context.fillStyle = colour("--paper");
    context.fillRect(0, 0, NAMES, height);
    context.fillRect(0, 0, width, TOP);
    context.fillStyle = colour("--ink");
    for (let row = first; row <= last; row += 1) {
      if (row === order.length && !folded || row > order.length) break;
      let told = row < order.length ? laneName(run.lanes[order[row]], false)
        : `${idle.size} idle lanes`;
      while (told.length > 4 && context.measureText(told).width > NAMES - 12) {
        told = `${told.slice(0, -2)}…`;
      }
      if (y(row) >= TOP - 6) context.fillText(told, 6, y(row) + 14);
    }
    context.fillStyle = colour("--soft");
    context.fillText(times ? "time" : "events", 6, 13);
    for (const [value, told] of ticks(begins, place(to) - begins, width - NAMES)) {
      const left = NAMES + (value - begins) * per;
      context.fillRect(left, 16, 1, 4);
      if (left + context.measureText(told).width < width) context.fillText(told, left + 3, 13);
    }
    context.fillStyle = colour("--ink");
    let free = NAMES;
    for (const cleanup of run.cleanups) {
      if (!seen(...cleanup.span)) continue;
      const begin = x(cleanup.span[0]), told = `cleanup ${cleanup.n}`;
      if (begin < free) continue;
      context.fillText(told, begin + 7, 30);
      free = begin + context.measureText(told).width + 14;
    }
    context.fillStyle = colour("--chosen");
    context.fillRect(x(at), 0, Math.max(2, Math.min(x(at + 1) - x(at), 6)), height);
  };

  // The axis: steps of 1, 2 or 5 of a power of 10, of nanoseconds or of events.
  const ticks = (begins, span, width) => {
    const least = span * 90 / width, power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    const step = power * ([1, 2, 5].find((times) => power * times >= least) || 10);
    const unit = !times ? [1, ""] : step >= 1e6 ? [1e6, " ms"] : step >= 1e3 ? [1e3, " µs"] :
      [1, " ns"];
    const found = [];
    for (let value = Math.ceil(begins / step) * step; value <= begins + span; value += step) {
      found.push([value, `${(value / unit[0]).toLocaleString("en")}${unit[1]}`]);
    }
    return found;
  };
  // What the protection domains of a lane do at an event. Of several, each thing once.
  const doing = (lane, k) => {
    const does = lane.waits.filter((wait) => inside(wait, k)).map((wait) => wait[2]);
    for (const [where, what] of lane.marks) {
      if (where === k) does.push(what === "SAY" ? run.events[k] : run.says[what]);
    }
    if (lane.many === 1) return does;
    const counts = new Map();
    for (const each of does) {
      const told = each.replace(/(notice|ticket) \d+/, "a $1");
      counts.set(told, (counts.get(told) || 0) + 1);
    }
    return [...counts].map(([told, number]) => `${number} of ${lane.many}: ${told}`);
  };
  canvas.addEventListener("mousemove", (event) => {
    const lane = run.lanes[order[Math.floor((event.offsetY - TOP + lanes.scrollTop) / LANE)]];
    const width = Math.max(320, lanes.clientWidth) - NAMES - 8;
    const share = (event.offsetX - NAMES) / width;
    if (!lane || event.offsetY < TOP || share < 0 || share > 1) {
      canvas.title = "";
      return;
    }
    const wanted = place(from) + share * (place(to) - place(from));
    let low = from, high = Math.max(from, to - 1);
    while (low < high) { // the last event that is not later
      const middle = Math.ceil((low + high) / 2);
      if (place(middle) <= wanted) low = middle; else high = middle - 1;
    }
    const when = times ? `event ${low}, ${milliseconds(times[low])}` : `event ${low}`;
    canvas.title = [`${laneName(lane, true)}, ${when}`, ...doing(lane, low)].join("\n");
  });

  // -- words

  const drawNow = () => {
    const list = el("now");
    list.replaceChildren();
    for (const lane of run.lanes) {
      if (!find(lane.lives, at)) continue;
      const does = doing(lane, at);
      if (does.length) add(list, "li", `${laneName(lane, true)}: ${does.join("; ")}`);
    }
    if (!list.children.length) add(list, "li", "Nobody waits, and no notice is on its way.");
  };
  let shownCleanup = null;
  const drawCleanup = () => {
    const cleanup = [...run.cleanups].reverse().find((each) => each.span[0] <= at) || null;
    const box = el("cleanup");
    if (cleanup !== shownCleanup) {
      shownCleanup = cleanup;
      box.replaceChildren();
      if (!cleanup) {
        add(box, "p", "None has begun.");
        return;
      }
      add(box, "h3", cleanup.told);
      add(box, "p", `${cleanup.steps.length} steps, ${cleanup.calls} kernel calls`);
      for (const line of cleanup.memory) add(box, "p", `Memory: ${line}.`);
      const table = add(add(box, "div", undefined, "steps"), "table");
      const head = add(add(table, "thead"), "tr");
      const titles = ["Event", "Step", "About", "Kernel calls"];
      if (times) titles.push("Time");
      for (const title of titles) {
        add(head, "th", title).scope = "col";
      }
      const body = add(table, "tbody");
      let before = cleanup.span[0]; // a step is recorded when it is done
      for (const [where, name, node, pd, kinds, count] of cleanup.steps.slice(0, 1000)) {
        const row = add(body, "tr");
        row.dataset.at = where;
        add(row, "td", where, "n");
        add(row, "td", name);
        const about = count > 1 ? `${node} and ${count - 1} more` : node;
        const named = new Set([about, pd].filter((each) => each !== "-"));
        add(row, "td", [...named].join(", "));
        add(row, "td", kinds === "-" ? "" : kinds.replaceAll(",", ", "));
        if (times) add(row, "td", milliseconds(times[where] - times[before]), "n");
        before = where;
      }
      if (cleanup.steps.length > 1000) add(box, "p", "The first 1,000 steps are shown.");
    }
    for (const row of box.querySelectorAll("tbody tr")) {
      row.className = Number(row.dataset.at) === at ? "here" : "";
    }
  };

  // -- how close two PDs are: docs/metrics.md defines what is computed here

  const near = run.near;
  const within = (times, state) => times.filter((each) => each <= state).length % 2 === 1;
  const put = (map, key, value) => {
    if (!map.has(key)) map.set(key, new Set());
    map.get(key).add(value);
  };
  const measuring = new Map(); // state -> what measures there
  const measuringAt = (state) => {
    if (measuring.has(state)) return measuring.get(state);
    const of = near.kinds.map(() => []);
    for (const [kind, source, target, times] of near.edges) {
      if (within(times, state)) of[kind].push([source, target]);
    }
    const [holds, requests, maps, manages, members] = of;
    const space = new Map(members), manager = new Map(manages.map(([pd, it]) => [it, pd]));
    const held = new Map(), asked = new Map(), lower = new Map(), lowerTypes = new Map();
    for (const [pd, node] of holds) {
      put(held, pd, node);
      if (space.has(node)) put(asked, pd, space.get(node));
    }
    for (const [pd, it] of requests) put(asked, pd, it);
    const type = (node) => near.nodes[node][0];
    for (const [upper, under] of maps) {
      put(lower, upper, under);
      put(lowerTypes, type(upper), type(under));
    }
    const reached = (pd) => {
      let last = new Set([...held.get(pd) || []].filter((node) => space.has(node)));
      const found = new Set(last);
      for (let k = 0; k < near.maps; k += 1) {
        last = new Set([...last].flatMap((node) => [...lower.get(node) || []]));
        for (const node of last) found.add(node);
      }
      return found;
    };
    const hops = (pd) => {
      const types = new Set([...held.get(pd) || []].map(type));
      const next = (here) => [...asked.get(here) || []].filter((it) => types.has(type(it)) &&
        manager.get(it) !== near.root);
      const search = () => {
        const far = new Map([[pd, 0]]);
        for (const here of far.keys()) { // also those that come meanwhile
          for (const it of next(here)) {
            const server = manager.get(it);
            if (!far.has(server)) far.set(server, far.get(here) + 1);
          }
        }
        return far;
      };
      for (;;) {
        const far = search(), before = types.size;
        for (const here of far.keys()) {
          for (const it of next(here)) {
            for (const under of lowerTypes.get(type(it)) || []) types.add(under);
          }
        }
        if (types.size === before) return far;
      }
    };
    const measure = (a, b) => {
      const ours = reached(a), theirs = reached(b), rsi = new Map();
      for (const node of new Set([...ours, ...theirs])) {
        const [kind, weight] = near.nodes[node];
        const [shared, every] = rsi.get(kind) || [0, 0];
        const both = ours.has(node) && theirs.has(node);
        rsi.set(kind, [shared + (both ? weight : 0), every + weight]);
      }
      const mine = hops(a), others = hops(b);
      let fr = Infinity;
      for (const [pd, far] of mine) {
        if (others.has(pd)) fr = Math.min(fr, far, others.get(pd));
      }
      return { fr, rsi: new Map([...rsi].filter((each) => each[1][1])
        .map(([kind, pair]) => [near.types[kind], pair])) };
    };
    measuring.set(state, measure);
    return measure;
  };
  const lived = (pd, state) => within(near.pds[pd][3], state);
  const nameOf = ([, id, name]) => name ? `${name} (${id})` : id;
  const far = (fr) => fr === Infinity ? "inf" : String(fr);
  const drawNear = () => {
    const picked = [el("near-a"), el("near-b")].map((box) => Number(box.value));
    const cleanup = [...run.cleanups].reverse().find((each) => each.span[0] <= at) ||
      run.cleanups[0];
    const states = near.states.flatMap(([n, when], state) =>
      cleanup && n === cleanup.n ? [[state, when]] : []);
    const table = el("near-table"), [caption, head, body] = table.children;
    const key = [...picked, ...states].join();
    if (table.dataset.of === key) return;
    table.dataset.of = key;
    for (const part of [head, body]) part.replaceChildren();
    table.hidden = !states.length || !near.pds.length;
    el("near-blast").textContent = "";
    if (table.hidden) {
      el("near-told").textContent = near.all ? "No cleanup is there to compare before and after."
        : "Not measured: the trace breaks a rule before, so its states may be wrong.";
      return;
    }
    const [a, b] = picked.map((pd) => near.pds[pd]);
    const found = states.map(([state, when]) => {
      const gone = picked.filter((pd) => !lived(pd, state)).map((pd) => near.pds[pd]);
      const title = `${when} cleanup ${cleanup.n}`;
      if (gone.length) return { title, gone: [...new Set(gone)] };
      return { title, ...measuringAt(state)(a[0], b[0]) };
    });
    caption.textContent = `${nameOf(a)} and ${nameOf(b)}`;
    const titles = add(head, "tr");
    add(titles, "th", "Measure").scope = "col";
    for (const { title } of found) add(titles, "th", title).scope = "col";
    const row = (name, cells) => {
      const made = add(body, "tr");
      add(made, "th", name).scope = "row";
      for (const cell of cells) add(made, "td", cell);
    };
    const gone = (each) => `${each.gone.map(nameOf).join(", ")} not there`;
    row("FR", found.map((each) => each.gone ? gone(each) : far(each.fr)));
    const types = [...new Set(found.flatMap((each) => [...each.rsi?.keys() || []]))].sort();
    const share = (each, kind) => each.gone ? "–" : (each.rsi.get(kind) || [0, 0]).join("/");
    for (const kind of types) row(`RSI ${kind}`, found.map((each) => share(each, kind)));
    const said = (each) => each.gone ? gone(each) : [`FR ${far(each.fr)}`, ...[...each.rsi]
      .filter((one) => one[1][0]).map(([kind, pair]) => `RSI ${kind} ${pair.join("/")}`)]
      .join(", ");
    el("near-told").textContent = `${caption.textContent}: ` +
      `${found.map((each) => `${each.title}, ${said(each)}`).join("; ")}.`;
    const blast = near.blasts.find((each) => each[0] === cleanup.n);
    if (!blast || blast[1] < 0) return;
    const trigger = near.pds.find((pd) => pd[0] === blast[1]);
    const measure = measuringAt(states[0][0]);
    const most = Math.max(...blast[2].slice(0, 200).map((pd) => measure(blast[1], pd).fr));
    el("near-blast").textContent = !blast[2].length
      ? `Cleanup ${cleanup.n} destroyed nobody but ${nameOf(trigger)}.`
      : `Cleanup ${cleanup.n} destroyed ${blast[2].length} beside ${nameOf(trigger)}, ` +
        `${blast[2].length > 200 ? "the first 200 " : ""}at an FR of at most ${far(most)}.`;
  };
  for (const id of ["near-a", "near-b"]) {
    near.pds.forEach((pd, number) => {
      add(el(id), "option", nameOf(pd)).value = number;
    });
    el(id).addEventListener("change", drawNear);
  }
  if (near.pds.length) { // at first: what crashed first, and another that went with it
    const [, trigger, dead] = near.blasts[0] || [0, -1, []];
    const place = (node) => near.pds.findIndex((pd) => pd[0] === node);
    const one = Math.max(0, place(trigger));
    el("near-a").value = one;
    el("near-b").value = dead.length ? place(dead[0]) : one ? 0 : Math.min(1, near.pds.length - 1);
  }

  // -- the table of events: only the rows that are seen exist

  const table = el("table"), rows = el("rows");
  table.setAttribute("aria-rowcount", count + 1);
  rows.style.height = `${count * ROW}px`;
  const drawRows = (begin, end) => {
    const shown = document.createDocumentFragment();
    for (let k = begin; k < end; k += 1) {
      const row = add(shown, "div", undefined, `row${k === at ? " here" : ""}` +
        `${bad.has(k) ? " bad" : ""}`);
      row.setAttribute("role", "row");
      row.setAttribute("aria-rowindex", k + 2);
      if (k === at) row.setAttribute("aria-current", "true");
      row.style.top = `${k * ROW}px`;
      row.dataset.at = k;
      row.title = run.records[k];
      for (const cell of [k, run.lines[k], tells(k)]) {
        add(row, "span", cell).setAttribute("role", "cell");
      }
    }
    rows.replaceChildren(shown);
  };
  const seenRows = () => {
    const begin = Math.max(0, Math.floor(table.scrollTop / ROW) - 10);
    drawRows(begin, Math.min(count, begin + Math.ceil(table.clientHeight / ROW) + 20));
  };

  // -- choosing

  const choose = (k) => {
    at = Math.min(Math.max(0, k), Math.max(0, count - 1));
    if (at < from || at >= to) {
      const width = to - from;
      from = Math.max(0, Math.min(count - width, at - Math.floor(width / 2)));
      to = from + width;
    }
    const slider = el("at");
    slider.value = at;
    let clock = null;
    for (const each of run.clock) {
      if (each[0] > at) break;
      clock = each[1];
    }
    const when = times ? ` at ${milliseconds(times[at])}` : clock === null ? "" : ` at ${clock} ms`;
    const said = count ? `${at}${when}: ${tells(at)}` : "no events";
    slider.setAttribute("aria-valuetext", said);
    const violated = bad.get(at) || [];
    el("event").textContent = [said, ...violated.map((each) => `Violation: ${each}`)].join("\n");
    el("event").className = violated.length ? "bad" : "";
    const top = at * ROW;
    if (top < table.scrollTop || top > table.scrollTop + table.clientHeight - 3 * ROW) {
      table.scrollTo({ top: top - table.clientHeight / 2, behavior: "instant" });
    }
    drawGraph();
    drawLanes();
    drawNow();
    drawCleanup();
    drawNear();
    seenRows();
  };
  const zoom = (factor) => {
    const width = Math.round(Math.min(count, Math.max(Math.min(count, 20), (to - from) * factor)));
    from = Math.max(0, Math.min(count - width, at - Math.floor(width / 2)));
    to = from + Math.max(1, width);
    drawLanes();
  };
  const begins = run.cleanups.map((cleanup) => cleanup.span[0]);
  const go = {
    first: () => choose(0),
    last: () => choose(count - 1),
    back: (far) => choose(at - (far ? 10 : 1)),
    on: (far) => choose(at + (far ? 10 : 1)),
    "next-cleanup": () => choose(begins.find((k) => k > at) ?? at),
    "last-cleanup": () => choose([...begins].reverse().find((k) => k < at) ?? at),
    "next-bad": () => choose(badPlaces.find((k) => k > at) ?? badPlaces[0] ?? at),
    raw: () => {
      raw = !raw;
      document.querySelector('[data-go="raw"]').textContent = raw ? "In words" : "As records";
      choose(at);
    },
    fold: () => {
      fold(!folded);
      drawLanes();
    },
    closer: () => zoom(0.5),
    wider: () => zoom(2),
  };
  const keys = { ArrowRight: "on", ArrowLeft: "back", Home: "first", End: "last",
    PageDown: "next-cleanup", PageUp: "last-cleanup", v: "next-bad", "+": "closer",
    "-": "wider", f: "fold", r: "raw" };
  document.addEventListener("keydown", (event) => {
    const name = keys[event.key];
    if (!name || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.closest?.("select")) return; // keys choose there
    event.preventDefault();
    go[name](event.shiftKey);
  });
  el("at").addEventListener("input", () => choose(Number(el("at").value)));
  document.addEventListener("click", (event) => {
    const target = event.target;
    const jump = target.closest("[data-go]");
    if (jump) go[jump.dataset.go](event.shiftKey);
    else if (target.closest("[data-at]")) choose(Number(target.closest("[data-at]").dataset.at));
  });
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    const part = (event.clientX - box.left - NAMES) / (box.width - NAMES - 8);
    if (part < 0) return;
    const wanted = place(from) + part * (place(to) - place(from));
    choose(times ? Math.max(0, times.findLastIndex((time) => time <= wanted))
      : Math.floor(wanted));
  });
  lanes.addEventListener("scroll", drawLanes);
  table.addEventListener("scroll", seenRows);
  window.addEventListener("resize", drawLanes);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawLanes);
  // On paper, the events around the chosen one, or all of a short run.
  window.addEventListener("beforeprint", () => {
    drawRows(count > 500 ? Math.max(0, at - 250) : 0, count > 500 ? Math.min(count, at + 250)
      : count);
  });
  window.addEventListener("afterprint", seenRows);
  document.querySelector('[data-go="next-bad"]').hidden = !badPlaces.length;
  fold(folded);

  const wanted = Number(/^#event=(\d+)$/.exec(location.hash)?.[1] ?? NaN);
  const middle = run.cleanups.length ? run.cleanups[0].phases.find((each) => each[2] === "mark")
    : null;
  choose(Number.isFinite(wanted) ? wanted : badPlaces[0] ?? (middle ? middle[0] : count - 1));
  begun = true;
  document.documentElement.dataset.ready = still ? "still" : "yes";
  performance.mark("ready");
})();
