"""Event files, read by a reader that shares nothing with motley: framing by hand, checksums of
python3-crc32c, messages of python3-protobuf from TensorFlow's field numbers.
usage: event_file_test.py PATH_OF_WRITE_SAMPLES"""

import math
import struct
import unittest

import crc32c
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import samples


class Damaged(Exception):
    pass


def checked(data, masked):
    """Returns `data` if its masked checksum is right."""
    crc = crc32c.crc32c(data)
    if masked != ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF:
        raise Damaged("checksum")
    return data


def records(raw):
    """Yields the records of a TFRecord file."""
    at = 0
    while at < len(raw):
        if len(raw) - at < 12:
            raise Damaged("the file ends in a length")
        (length,) = struct.unpack("<Q", checked(raw[at : at + 8], *struct.unpack_from("<I", raw, at + 8)))
        at += 12
        if len(raw) - at < length + 4:
            raise Damaged("the file ends in a record")
        yield checked(raw[at : at + length], *struct.unpack_from("<I", raw, at + length))
        at += length + 4


def event_class():
    """Parses the part of tensorflow.Event (event.proto, summary.proto) that scalars need."""
    F = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="t", syntax="proto3")

    def message(name, *fields):
        made = file.message_type.add(name=name)
        for number, field, kind, *rest in fields:
            made.field.add(
                name=field,
                number=number,
                type=F.TYPE_MESSAGE if isinstance(kind, str) else kind,
                type_name=f".t.{kind}" if isinstance(kind, str) else None,
                label=F.LABEL_REPEATED if rest else F.LABEL_OPTIONAL,
            )

    message("PluginData", (1, "plugin_name", F.TYPE_STRING), (2, "content", F.TYPE_BYTES))
    message("Metadata", (1, "plugin_data", "PluginData"), (2, "display_name", F.TYPE_STRING))
    message("Value", (1, "tag", F.TYPE_STRING), (2, "simple_value", F.TYPE_FLOAT), (9, "metadata", "Metadata"))
    message("Summary", (1, "value", "Value", "repeated"))
    message(
        "Event",
        (1, "wall_time", F.TYPE_DOUBLE),
        (2, "step", F.TYPE_INT64),
        (3, "file_version", F.TYPE_STRING),
        (5, "summary", "Summary"),
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("t.Event"))


def no_unknown(message):
    """Asserts that these messages have no unknown field."""
    assert not list(message.UnknownFields()), message
    for field, value in message.ListFields():
        if field.message_type:
            for each in value if field.label == field.LABEL_REPEATED else [value]:
                no_unknown(each)


def events(raw):
    Event = event_class()
    for record in records(raw):
        event = Event.FromString(record)
        no_unknown(event)
        yield event


def scalars(event):
    return {value.tag: value.simple_value for value in event.summary.value}


def file_with_events():
    (path,) = samples.directory().glob("*tfevents*")
    return path.read_bytes()


class EventFile(unittest.TestCase):
    def test_begins_with_its_version(self):
        first = next(events(file_with_events()))
        self.assertEqual((first.wall_time, first.step, first.file_version), (1700000000.5, 0, "brain.Event:2"))
        self.assertFalse(first.HasField("summary"))

    def test_has_the_scalars(self):
        _, first, second, *_ = events(file_with_events())
        self.assertEqual((first.wall_time, first.step), (1700000001.25, 50))
        expected = {
            "test/loss": 0.9,
            "test/accuracy": 0.7,
            "train/loss": 1.1,
            "throughput/samples_per_second": 10240.0,
            "compute/worker_0": 0.75,
            "wait/worker_0": 0.125,
            "compute/worker_1": 0.5,
            "wait/worker_1": 0.5,
        }
        read = scalars(first)
        self.assertEqual(read.keys(), expected.keys())
        for tag, value in expected.items():
            self.assertAlmostEqual(read[tag], value, delta=1e-6 * value)

        self.assertEqual(second.step, 1 << 40)
        read = scalars(second)
        self.assertTrue(math.isnan(read.pop("train/loss")))
        self.assertEqual(
            read,
            {
                "throughput/samples_per_second": 1024.0,
                "compute/worker_0": 0.25,
                "wait/worker_0": 0.75,
            },
        )

    def test_every_length_is_read(self):
        rest = list(events(file_with_events()))[3:]
        self.assertEqual(len(rest), 300)
        for step, event in enumerate(rest):
            self.assertEqual((event.wall_time, event.step), (step, step))
            self.assertEqual(scalars(event), {"long/" + "t" * step: step / 8})

    def test_a_tag_says_once_what_it_is(self):
        described = []
        tags = set()
        for event in events(file_with_events()):
            for value in event.summary.value:
                tags.add(value.tag)
                if value.HasField("metadata"):
                    self.assertEqual(value.metadata.plugin_data.plugin_name, "scalars")
                    described.append(value.tag)
        self.assertEqual(sorted(described), sorted(tags))

    def test_the_reader_notices_what_is_missing_or_wrong(self):
        raw = file_with_events()
        ends = [0]
        for record in records(raw):
            ends.append(ends[-1] + len(record) + 16)
        self.assertEqual(ends[-1], len(raw))
        for end in range(ends[2], ends[3]):
            damaged = raw[:end]
            if end in ends:
                self.assertEqual(len(list(records(damaged))), ends.index(end))
            else:
                self.assertRaises(Damaged, list, records(damaged))
        for bit in range(8 * ends[1], 8 * ends[2]):
            damaged = bytearray(raw[: ends[2]])
            damaged[bit // 8] ^= 1 << bit % 8
            self.assertRaises(Damaged, list, records(bytes(damaged)))


if __name__ == "__main__":
    samples.main()
