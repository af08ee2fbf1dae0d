"""Finds the flaws of a file of trace events, by the description of the format that chrome://tracing and
Perfetto read ("Trace Event Format", JSON object form)."""
import json


def flaws(path):
    """Returns (flaws, waits): sentences, none for a well-formed file, and the file's complete events."""
    out = []
    trace = json.loads(path.read_text())
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        return ["no object with a list traceEvents"], []
    if trace.get("displayTimeUnit") not in ("ms", "ns"):
        out.append(f"displayTimeUnit {trace.get('displayTimeUnit')}")
    waits, named, tracks = [], set(), {}
    for event in trace["traceEvents"]:
        number = (lambda key, kinds=(int, float): isinstance(event.get(key), kinds)
                  and not isinstance(event.get(key), bool))
        if not isinstance(event.get("name"), str) or not event["name"] or not number("pid", int):
            out.append(f"without name or process: {event}")
        elif event.get("ph") == "M":
            if event["name"] != "process_name" or not isinstance(event.get("args", {}).get("name"), str):
                out.append(f"metadata of no known kind: {event}")
            named.add(event["pid"])
        elif event.get("ph") != "X" or not isinstance(event.get("cat"), str) or not number("tid", int):
            out.append(f"neither a complete event nor metadata: {event}")
        elif not number("ts") or not number("dur") or event["ts"] < 0 or event["dur"] < 0:
            out.append(f"no time: {event}")
        else:
            waits.append(event)
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    out += [f"process {pid} has no name" for pid in {e["pid"] for e in waits} - named]
    # a thread does one thing at a time; times are rounded to less than a nanosecond
    for track, events in tracks.items():
        events.sort(key=lambda e: e["ts"])
        for one, next_one in zip(events, events[1:]):
            if next_one["ts"] < one["ts"] + one["dur"] - 0.001:
                out.append(f"track {track}: {next_one} begins before {one} has ended")
    return out, waits
