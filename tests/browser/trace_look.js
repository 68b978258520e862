// look(text): what there is in a trace, and what is wrong with it.
const look = (text) => {
  const events = JSON.parse(text).traceEvents;
  const faults = {};
  const fault = (kind, event) => {
    faults[kind] ??= {count: 0, first: event};
    ++faults[kind].count;
  };
  const names = new Map(), spans = new Map(), sent = new Map(), received = new Map();
  const decisions = [], marks = [];
  for (const event of events) {
    if (event.name === 'process_name') {
      if (names.has(event.pid)) fault('named twice', event);
      names.set(event.pid, event.args.name);
    } else if (event.ph === 'X') {
      if (!(event.dur >= 0) || !(event.ts >= 0)) fault('no duration', event);
      spans.has(event.pid) ? spans.get(event.pid).push(event) : spans.set(event.pid, [event]);
    } else if (event.ph === 's' || event.ph === 'f') {
      const ends = event.ph === 's' ? sent : received;
      if (ends.has(event.id)) fault('arrow twice', event);
      ends.set(event.id, event);
    } else if (event.ph === 'i' && event.cat === 'decision') {
      decisions.push(event);
      // Who comes or goes is told with what is known of it, which may be nothing more.
      const needsReason = event.name !== 'members';
      if (!event.args.what || (needsReason && !event.args.reason)) {
        fault('decision without reason', event);
      }
    } else if (event.ph === 'i') {
      marks.push([event.cat, event.name, names.get(event.pid), event.ts / 1e6]);
      if (event.cat !== 'term' && event.cat !== 'member') fault('unknown mark', event);
    }
    if (!names.has(event.pid)) fault('of nobody', event);
  }
  spans.forEach((row) => row.sort((a, b) => a.ts - b.ts));
  const isOnSpan = (event) => {
    const row = spans.get(event.pid) ?? [];
    let low = 0, high = row.length;  // the last one that begins before, or then
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      row[middle].ts <= event.ts + 0.002 ? low = middle : high = middle;
    }
    return row.length && row[low].ts <= event.ts + 0.002 &&
        event.ts <= row[low].ts + row[low].dur + 0.002;
  };
  sent.forEach((event, id) => {
    const other = received.get(id);
    if (!other) return fault('arrow without end', event);
    if (other.ts < event.ts) fault('arrow back in time', event);
    if (!isOnSpan(event)) fault('arrow from no span', event);
    if (!isOnSpan(other)) fault('arrow to no span', other);
  });
  received.forEach((event, id) => sent.has(id) || fault('arrow without beginning', event));
  return {faults, names: [...names.values()], arrows: sent.size, decisions: decisions.length, marks,
          spans: [...names].map(([pid, name]) => [name, (spans.get(pid) ?? []).length])};
};
