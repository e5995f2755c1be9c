"""Makes the seeds of the fuzz targets anew: corpus/<target>/<name>.  Needs nothing but Python."""
import io
import json
import pathlib
import struct
import zipfile

HERE = pathlib.Path(__file__).parent / "corpus"


def seed(target, name, content):
    path = HERE / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def npy(descr, shape, data, fortran=False, version=1):
    shape = "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    start = 10 if version == 1 else 12
    length = -(-(start + len(text) + 1) // 64) * 64 - start
    head = b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", length)
    return head + text.ljust(length - 1) + b"\n" + data


def npz(members, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = method
            archive.writestr(info, content)
    return file.getvalue()


def safetensors(entries, data, metadata=None):
    header = {"__metadata__": metadata} if metadata else {}
    for name, (dtype, shape, begin, end) in entries.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


X = npy("<f4", (2, 2, 2), struct.pack("<8f", *range(8)))
Y = npy("|i1", (2,), b"\x01\xff")
RAGGED = npy("<f8", (3, 2), struct.pack("<6d", *range(6)))
OFFSETS = npy("<i8", (3,), struct.pack("<3q", 0, 1, 3))

seed("npy", "equal", X)
seed("npy", "labels", Y)
seed("npy", "scalar", npy("<f8", (), struct.pack("<d", 1.5)))
seed("npy", "empty", npy("<u2", (0, 3), b""))
seed("npy", "fortran", npy("<i2", (2, 3), bytes(12), fortran=True))
seed("npy", "swapped", npy(">f8", (1, 1, 2), struct.pack(">2d", 1, 2)))
seed("npy", "version2", npy("<f2", (2, 2), bytes(8), version=2))
seed("npy", "version3", npy("|b1", (4,), b"\0\1\0\1", version=3))
seed("npy", "eight", npy("|u1", (1, 1, 1, 2, 1, 1, 1, 1), b"ab"))
seed("npy", "object", npy("|O", (1,), bytes(8)))
seed("npy", "large", npy("<f4", (4, 8, 4), bytes(512)))

for method, suffix in ((zipfile.ZIP_STORED, "stored"), (zipfile.ZIP_DEFLATED, "deflated")):
    seed("npz", f"equal_{suffix}", npz({"X.npy": X, "Y.npy": Y}, method))
    seed("npz", f"ragged_{suffix}", npz({"X.npy": RAGGED, "offsets.npy": OFFSETS, "y.npy": Y}, method))
    seed("npz", f"table_{suffix}",
         npz({"E.npy": RAGGED, "tokens.npy": npy("<i4", (3,), struct.pack("<3i", 2, 0, 1)),
              "offsets.npy": OFFSETS, "Y.npy": Y}, method))
    seed("npz", f"queries_{suffix}",
         npz({"X.npy": X, "Z.npy": npy("<f4", (2, 2), bytes(16)), "note.txt": b"no array"}, method))
    seed("npz", f"large_{suffix}", npz({"X.npy": npy("<f4", (4, 8, 8), bytes(1024))}, method))
    seed("npz", f"orders_{suffix}",
         npz({"X.npy": npy(">f8", (1, 2, 2), struct.pack(">4d", 1, 2, 3, 4), fortran=True),
              "Y.npy": npy(">i2", (1,), b"\0\1")}, method))
seed("npz", "nothing", npz({}))

seed("safetensors", "equal",
     safetensors({"X": ("F32", [2, 2, 2], 0, 32), "Y": ("I8", [2], 32, 34)},
                 struct.pack("<8f", *range(8)) + b"\x01\xff", {"made": "by hand"}))
seed("safetensors", "ragged",
     safetensors({"offsets": ("I64", [2], 48, 64), "X": ("F64", [3, 2], 0, 48)},
                 struct.pack("<6d2q", *range(6), 0, 3)))
seed("safetensors", "bfloat", safetensors({"X": ("BF16", [1, 2, 2], 0, 8)}, b"\x80\x3f" * 4))
seed("safetensors", "kinds",
     safetensors({"a": ("U64", [1], 0, 8), "b": ("I32", [1], 8, 12), "c": ("F16", [], 12, 14),
                  "d": ("U16", [1], 14, 16), "e": ("BOOL", [2], 16, 18), "f": ("U8", [0], 18, 18)},
                 bytes(18)))
seed("safetensors", "empty", safetensors({}, b""))
seed("safetensors", "large", safetensors({"X": ("F32", [4, 8, 8], 0, 1024)}, bytes(1024)))

seed("csv", "plain", "a,1,0.5,2\na,1,-3e2,4\nb,-1,5,6\n")
seed("csv", "titles", "bag,label,x,y\n1,0,1,2\n2,1,3,4\n")
seed("csv", "quoted", "\"a,\"\"b\"\"\",1,2\r\n\"a,\"\"b\"\"\",1,+.5\r\n\"c\nd\",-1, 7. \r\n")
seed("csv", "tabs", "a b\t1\t2\t3\na b\t1\t1e-5\t1E+5\n")
seed("csv", "mark", "\ufeffa,1,2\n\n\nb,0,3\n")
seed("csv", "digits", "a,1,0.1234567890123456789,123456789012345678901234567890e-300\n")
seed("csv", "bad", "a,1,nan\na,2,inf\n")

seed("json", "object", '{"a": 1, "b": [1.5, null, true, "x\\n\\u00e9"], "c": {}}')
seed("json", "numbers", "[0, -1, 1e5, 1E-5, -0.0, 9223372036854775807, 1.7976931348623157e308]")
seed("json", "nested", "[[[[[[[[[[{\"a\": [[]]}]]]]]]]]]]")
seed("json", "text", '"\\ud83d\\ude00 \u20ac \\\\ \\""')
seed("json", "twice", '{"a": 1, "a": 2}')
seed("json", "spaces", " \t\r\n {  } \n")

# the first byte is a setting's number, counted over all tables
for number, value in enumerate(["1", "0", "-5", "1e6", "4096", "yes", "off", "gauss", "planted-p",
                                "float32", "0.5", "1e-300", "inf", "nan", "0x10", "9e15", "", " 1",
                                "99999999999999999999", "6666666666666666", "lq:3", "lq:", "concave:2",
                                "causal", "md:1.5", "rescale:1e3", "adam"]):
    for index in range(0, 64, 27):
        seed("settings", f"{number:02}_{index}", bytes([index + number]) + value.encode())
seed("settings", "long_integer", b"\x0f6666666666666667")
