"""Pictures: PNG of 8-bit RGB whose rows have no filter."""
import struct
import zlib


def get_nasa_astronomy_picture_of_the_day() -> dict:
    """Gets the NASA Astronomy Picture of the Day (APOD): title, explanation and address."""
    return ask_service(path="apod")


def download_image(url: str) -> str:
    """Downloads the picture at the given address and returns its path."""
    return fetch_picture(url=url)


def shrink_image(image: str, ratio: float) -> str:
    """Shrinks (resizes) the given picture by the given ratio, and returns the path of the new one."""
    rows = _read(image)
    height, width = round(len(rows) * ratio), round(len(rows[0]) * ratio)
    return _write(image, "small", [[rows[int(y / ratio)][int(x / ratio)] for x in range(width)] for y in range(height)])


def rotate_image(image: str, turns: int) -> str:
    """Rotates the given picture by quarter turns, and returns the path of the new one."""
    rows = _read(image)
    for _ in range(turns % 4):
        rows = [list(row) for row in zip(*rows[::-1])]
    return _write(image, "turned", rows)


def _read(path: str) -> list:
    data = open(path, "rb").read()
    width, height = struct.unpack(">II", data[16:24])
    at, packed = 8, b""
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        packed += data[at + 8 : at + 8 + size] if data[at + 4 : at + 8] == b"IDAT" else b""
        at += 12 + size
    raw, stride = zlib.decompress(packed), 3 * width + 1
    return [[raw[y * stride + 1 + 3 * x :][:3] for x in range(width)] for y in range(height)]


def _write(path: str, word: str, rows: list) -> str:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    packed = zlib.compress(b"".join(b"\0" + b"".join(row) for row in rows))
    made = path.replace(".png", f"-{word}.png")
    with open(made, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b""))
    return made
