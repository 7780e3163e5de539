"""Reads Perfetto traces independently of the writer: protocol buffers, and the fields of TracePacket for slices, instants,
counters and flows, with the numbers of Perfetto's .proto files."""

import collections
import struct


class Truncated(Exception):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data):
            raise Truncated
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """Returns the fields of a message: lists of values by field number."""
    out = collections.defaultdict(list)
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value = struct.unpack_from("<Q", data, at)[0]
            at += 8
        elif kind == 2:
            length, at = varint(data, at)
            if at + length > len(data):
                raise Truncated
            value = data[at : at + length]
            at += length
        else:
            raise ValueError(f"wire type {kind}")
        out[tag >> 3].append(value)
    return out


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Slice:
    def __init__(self, track, name, category, begin, parent):
        self.track, self.name, self.category, self.begin, self.parent = track, name, category, begin, parent
        self.end = None  # None: open at the end of the trace
        self.arguments, self.flows, self.ended_flows = {}, [], []

    def __repr__(self):
        return f"{self.name}[{self.begin}..{self.end}] {self.arguments}"


class Trace:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.tracks, self.slices, self.counters = {}, [], collections.defaultdict(list)
        self.truncated = False
        events = []
        names = {}  # interned names, by sequence
        at = 0
        while at < len(data):
            try:
                tag, start = varint(data, at)
                assert tag == (1 << 3 | 2), f"a packet should begin at byte {at}"
                length, start = varint(data, start)
                if start + length > len(data):
                    raise Truncated
                packet = fields(data[start : start + length])
            except Truncated:
                self.truncated = True
                break
            at = start + length
            self._packet(packet, names, events)
        events.sort(key=lambda event: event[0])  # stable, like trace_processor's sort
        self._nest(events)

    def _packet(self, packet, names, events):
        sequence = packet[10][0]
        if packet[13][0] & 1:
            names[sequence] = {1: {}, 2: {}, 3: {}}
        known = names[sequence]
        assert len(packet[12]) <= 1, "a second InternedData takes the place of the first"
        for interned in packet[12]:
            for kind, entries in fields(interned).items():
                for entry in entries:
                    entry = fields(entry)
                    known[kind][entry[1][0]] = entry[2][0].decode()
        for descriptor in packet[60]:
            descriptor = fields(descriptor)
            self.tracks[descriptor[1][0]] = self._track(descriptor)
        for event in packet[11]:
            event = fields(event)
            arguments = {}
            for annotation in event[4]:
                annotation = fields(annotation)
                value = None
                for kind in (2, 3, 4, 6, 7):
                    for raw in annotation[kind]:
                        value = signed(raw) if kind == 4 else raw.decode() if kind == 6 else raw
                arguments[known[3][annotation[1][0]]] = value
            name = event[23][0].decode() if event[23] else known[2][event[10][0]] if event[10] else None
            category = known[1][event[3][0]] if event[3] else None
            events.append((packet[8][0], event, name, category, arguments))

    @staticmethod
    def _track(descriptor):
        track = {"parent": descriptor[5][0] if descriptor[5] else None,
                 "name": descriptor[2][0].decode() if descriptor[2] else None}
        for process in descriptor[3]:
            track["pid"] = fields(process)[1][0]
        for thread in descriptor[4]:
            thread = fields(thread)
            track["pid"], track["tid"] = thread[1][0], thread[2][0]
        return track

    def _nest(self, events):
        stacks = collections.defaultdict(list)
        for time, event, name, category, arguments in events:
            kind, track = event[9][0], event[11][0]
            assert track in self.tracks, "an event of a track that nobody has described"
            stack = stacks[track]
            if kind == 4:
                self.counters[track].append((time, signed(event[30][0])))
                continue
            if kind == 2:
                assert stack, f"an end without a beginning at {time}"
                slice_ = stack.pop()
                slice_.end = time
            else:
                slice_ = Slice(track, name, category, time, stack[-1] if stack else None)
                self.slices.append(slice_)
                if kind == 1:
                    stack.append(slice_)
                else:
                    slice_.end = time
            slice_.arguments.update(arguments)
            slice_.flows += event[47]
            slice_.ended_flows += event[48]

    def named(self, name):
        return [slice_ for slice_ in self.slices if slice_.name == name]

    def of(self, category):
        return [slice_ for slice_ in self.slices if slice_.category == category]

    def path_of(self, track):
        """Returns the names of the track's ancestors, from below the process to the track."""
        names = []
        while track is not None:
            names.insert(0, self.tracks[track]["name"])
            track = self.tracks[track]["parent"]
        return names[1:]
