#!/usr/bin/env python3
"""Recomputes vectors.json from docs/keystream.md alone, with nothing but the
standard library, and compares every value. Nothing here comes from the Go code:
a second implementation of the specification.

    python3 check_vectors.py [vectors.json]
"""
import base64
import datetime
import decimal
import hashlib
import hmac
import json
import math
import os
import re
import struct
import sys
from fractions import Fraction

# --- AES-256 (FIPS 197), encryption of one block ---------------------------------


def _sbox():
    exp, log = [0] * 512, [0] * 256
    x = 1
    for i in range(255):
        exp[i] = exp[i + 255] = x
        log[x] = i
        x ^= (x << 1) ^ (0x11B if x & 0x80 else 0)  # times 3
        x &= 0xFF
    box = []
    for a in range(256):
        b = exp[255 - log[a]] if a else 0
        s = 0x63
        for shift in range(5):
            s ^= ((b << shift) | (b >> (8 - shift))) & 0xFF
        box.append(s)
    return box


SBOX = _sbox()
XTIME = [((a << 1) ^ (0x11B if a & 0x80 else 0)) & 0xFF for a in range(256)]


class AES256:
    def __init__(self, key):
        assert len(key) == 32
        words = [list(key[4 * i : 4 * i + 4]) for i in range(8)]
        rcon = 1
        for i in range(8, 60):
            t = list(words[-1])
            if i % 8 == 0:
                t = [SBOX[b] for b in t[1:] + t[:1]]
                t[0] ^= rcon
                rcon = XTIME[rcon]
            elif i % 8 == 4:
                t = [SBOX[b] for b in t]
            words.append([a ^ b for a, b in zip(words[i - 8], t)])
        flat = [b for w in words for b in w]
        self.round_keys = [flat[16 * r : 16 * r + 16] for r in range(15)]

    def encrypt(self, block):
        s = [a ^ b for a, b in zip(block, self.round_keys[0])]
        for r in range(1, 15):
            s = [SBOX[s[(5 * i) % 16]] for i in range(16)]  # SubBytes and ShiftRows
            if r < 14:
                mixed = []
                for c in range(0, 16, 4):
                    a = s[c : c + 4]
                    every = a[0] ^ a[1] ^ a[2] ^ a[3]
                    mixed += [a[i] ^ every ^ XTIME[a[i] ^ a[(i + 1) % 4]] for i in range(4)]
                s = mixed
            s = [a ^ b for a, b in zip(s, self.round_keys[r])]
        return bytes(s)


assert (
    AES256(bytes(range(32))).encrypt(bytes.fromhex("00112233445566778899aabbccddeeff")).hex()
    == "8ea2b7ca516745bfeafc49904b496089"
), "AES-256 of FIPS 197, appendix C.3"


def hkdf(key, info, n):
    prk = hmac.new(bytes(32), key, hashlib.sha256).digest()
    out = t = b""
    i = 1
    while len(out) < n:
        t = hmac.new(prk, t + info + bytes([i]), hashlib.sha256).digest()
        out += t
        i += 1
    return out[:n]


# --- Floats ----------------------------------------------------------------------


def from_bits(h):
    return struct.unpack(">d", bytes.fromhex(h))[0]


def to_bits(x):
    return struct.pack(">d", x).hex()


def canonical_bits(x):
    if x == 0:
        return bytes(8)
    if x != x:
        return bytes.fromhex("7ff8000000000001")
    return struct.pack(">d", x)


# --- Elementary functions; Python rounds each operation by itself ----------------

LN2_HI, LN2_LO = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG2E = 1.44269504088896340735992468100189214
SQRT_HALF = 0.70710678118654752440084436210484903928


def log(x):
    if x == 0:
        return -math.inf
    m, k = math.frexp(x)
    if m < SQRT_HALF:
        m, k = m * 2, k - 1
    f = m - 1
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    t1 = s2 * (6.666666666666735130e-01 + s4 * (2.857142874366239149e-01 + s4 * (1.818357216161805012e-01 + s4 * 1.479819860511658591e-01)))
    t2 = s4 * (3.999999999940941908e-01 + s4 * (2.222219843214978396e-01 + s4 * 1.531383769920937332e-01))
    half = 0.5 * f * f
    return k * LN2_HI - ((half - (s * (half + (t1 + t2)) + k * LN2_LO)) - f)


def exp(x):
    if x > 7.09782712893383973096e02:
        return math.inf
    if x < -7.45133219101941108420e02:
        return 0.0
    if abs(x) < 2.0**-28:
        return 1 + x
    k = int(LOG2E * x - 0.5) if x < 0 else int(LOG2E * x + 0.5)
    hi = x - k * LN2_HI
    lo = k * LN2_LO
    r = hi - lo
    t = r * r
    c = r - t * (
        1.66666666666666657415e-01
        + t * (-2.77777777770155933842e-03 + t * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08)))
    )
    y = 1 - ((lo - (r * c) / (2 - c)) - hi)
    return math.ldexp(y, k)


def horner(c, r):
    v = c[-1]
    for a in reversed(c[:-1]):
        v = v * r + a
    return v


CENTRAL = (
    [3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3],
    [1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3],
)
MIDDLE = (
    [1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4],
    [1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9],
)
FAR = (
    [6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7],
    [1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15],
)


def normal_quantile(p):
    if p == 0:
        return -math.inf
    if p == 1:
        return math.inf
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * horner(CENTRAL[0], r) / horner(CENTRAL[1], r)
    r = math.sqrt(-log(1 - p if q > 0 else p))
    num, den = MIDDLE if r <= 5 else FAR
    r -= 1.6 if r <= 5 else 5
    x = horner(num, r) / horner(den, r)
    return -x if q < 0 else x


SMALL_NUM = [2.2352520354606839287, 1.6102823106855587881e2, 1.0676894854603709582e3, 1.8154981253343561249e4, 6.5682337918207449113e-2]
SMALL_DEN = [4.7202581904688241870e1, 9.7609855173777669322e2, 1.0260932208618978205e4, 4.5507789335026729956e4]
MIDDLE_NUM = [3.9894151208813466764e-1, 8.8831497943883759412, 9.3506656132177855979e1, 5.9727027639480026226e2, 2.4945375852903726711e3, 6.8481904505362823326e3, 1.1602651437647350124e4, 9.8427148383839780218e3, 1.0765576773720192317e-8]
MIDDLE_DEN = [2.2266688044328115691e1, 2.3538790178262499861e2, 1.5193775994075548050e3, 6.4855582982667607550e3, 1.8615571640885098091e4, 3.4900952721145977266e4, 3.8912003286093271411e4, 1.9685429676859990727e4]
LARGE_NUM = [2.1589853405795699e-1, 1.274011611602473639e-1, 2.2235277870649807e-2, 1.421619193227893466e-3, 2.9112874951168792e-5, 2.307344176494017303e-2]
LARGE_DEN = [1.28426009614491121, 4.68238212480865118e-1, 6.59881378689285515e-2, 3.78239633202758244e-3, 7.29751555083966205e-5]


def cody(num, den, s):
    """The last of num first, then num[0]+…, den[0]+… in turn, as in the specification."""
    a, b = num[-1] * s, s
    for i in range(len(den) - 1):
        a = (a + num[i]) * s
        b = (b + den[i]) * s
    return a + num[len(den) - 1], b + den[-1]


def normal_tails(x):
    y = abs(x)
    if y <= 0.67448975:
        a, b = cody(SMALL_NUM, SMALL_DEN, y * y)
        t = x * a / b
        return 0.5 + t, 0.5 - t
    if y <= 5.656854248:
        a, b = cody(MIDDLE_NUM, MIDDLE_DEN, y)
        tail = a / b
    elif y < 39:
        s = 1 / (y * y)
        a, b = cody(LARGE_NUM, LARGE_DEN, s)
        tail = (INVERSE_ROOT_2PI - s * a / b) / y
    else:
        y, tail = 39.0, 0.0
    head = math.floor(y * 16) / 16
    rest = (y - head) * (y + head)
    tail = exp(-0.5 * (head * head)) * exp(-0.5 * rest) * tail
    return (1 - tail, tail) if x > 0 else (tail, 1 - tail)


INVERSE_ROOT_2PI = 0.39894228040143267793994605993438


def laplace_quantile(p):
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return log(2 * p)
    return -log(2 * (1 - p))


def laplace_cdf(x):
    return 0.5 * exp(x) if x < 0 else 1 - 0.5 * exp(-x)


FUNCTIONS = {
    "log": log,
    "exp": exp,
    "normal_quantile": normal_quantile,
    "normal_cdf": lambda x: normal_tails(x)[0],
    "normal_survival": lambda x: normal_tails(x)[1],
    "laplace_quantile": laplace_quantile,
    "laplace_cdf": laplace_cdf,
    "laplace_survival": lambda x: laplace_cdf(-x),
}

# --- Ziggurat --------------------------------------------------------------------


def ziggurat_tables():
    D = decimal.Decimal
    decimal.getcontext().prec = 90

    def arctan_inverse(n):
        term = total = D(1) / n
        k = 1
        while abs(term) > D(10) ** -95:
            term = -term / (n * n)
            k += 2
            total += term / k
        return total

    pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))

    def height(x):
        return (-x * x / 2).exp()

    def area_beyond(r):  # √(π/2) less the series of ∫₀ʳ exp(−t²/2) dt
        term = total = r
        n = 0
        while abs(term) > D(10) ** -88:
            n += 1
            term = -term * r * r / (2 * n)
            total += term / (2 * n + 1)
        return (pi / 2).sqrt() - total

    def build(r):
        v = r * height(r) + area_beyond(r)
        xs, fs = [v / height(r), r], [height(v / height(r)), height(r)]
        while len(xs) < 256:
            fs.append(fs[-1] + v / xs[-1])
            xs.append((-2 * fs[-1].ln()).sqrt())
        return xs, fs, fs[-1] + v / xs[-1] - 1

    r0, r1 = D("3.654152885361008"), D("3.654152885361009")
    g0 = build(r0)[2]
    for _ in range(12):
        g1 = build(r1)[2]
        if g1 == g0 or abs(r1 - r0) < D(10) ** -75:
            break
        r0, g0, r1 = r1, g1, r1 - g1 * (r1 - r0) / (g1 - g0)
    xs, fs, _ = build(r1)
    x = [float(v) for v in xs] + [0.0]
    f = [float(v) for v in fs] + [1.0]
    return x, f, float(area_beyond(r1) / (2 * pi).sqrt())


X, F, TAIL = ziggurat_tables()
INSIDE = [int(X[i + 1] / X[i] * 2.0**53) for i in range(256)]


def uniform(word):
    return ((word >> 11) | 1) * 2.0**-53


def normal(blocks):
    """blocks gives the record's blocks 0, 1, … as pairs of words."""
    for w0, w1 in blocks:
        i, j = w0 & 0xFF, (w0 >> 11) | 1
        sign = -1.0 if w0 & 0x100 else 1.0
        x = j * (X[i] * 2.0**-53)
        if j < INSIDE[i]:
            return sign * x
        if i == 0:
            return sign * -normal_quantile(uniform(w1) * TAIL)
        if F[i] + uniform(w1) * (F[i + 1] - F[i]) < exp(-0.5 * (x * x)):
            return sign * x


def draws(block):
    """block(d) is block d of a record, 16 bytes."""

    def blocks():
        d = 0
        while True:
            yield struct.unpack(">QQ", block(d))
            d += 1

    word = next(blocks())[0]
    return {
        "Word": "%016x" % word,
        "Uniform": to_bits(uniform(word)),
        "Normal": to_bits(normal(blocks())),
        "Laplace": to_bits(laplace_quantile(uniform(word))),
    }


# --- Digests ---------------------------------------------------------------------


def entry(tag, data):
    return struct.pack(">BI", tag, len(data)) + data


def number(value):
    """An exact rational number, from an integer or a decimal."""
    nearest = float(value)
    if value.denominator == 1:
        if Fraction(nearest) == value:
            return entry(1, canonical_bits(nearest))
    else:
        digits = scaled(value)[0]
        if len(digits) <= 15:
            return entry(1, canonical_bits(nearest))
    digits, exponent = scaled(value)
    return entry(2, (("-" if value < 0 else "") + digits + "e" + str(exponent)).encode())


def scaled(value):
    exponent = 0
    value = abs(value)
    while value.denominator != 1:
        value, exponent = value * 10, exponent - 1
    digits = str(value.numerator)
    stripped = digits.rstrip("0")
    return stripped, exponent + len(digits) - len(stripped)


EPOCH = datetime.date(1970, 1, 1)


def seconds_and_nanos(total_nanos):
    return struct.pack(">qI", total_nanos // 10**9, total_nanos % 10**9)


def nanos_of_clock(text):
    h, m, s = text.split(":")
    return (int(h) * 60 + int(m)) * 60 * 10**9 + int(Fraction(s) * 10**9)


def encode(kind, text):
    if text == "∅":
        return entry(0, b"")
    if re.fullmatch(r"u?int(8|16|32|64)", kind) or kind.startswith("decimal"):
        return number(Fraction(text))
    if kind == "float64":
        return entry(1, canonical_bits(float(text)))
    if kind == "float32":
        return entry(1, canonical_bits(struct.unpack(">f", struct.pack(">f", float(text)))[0]))
    if kind == "utf8":
        return entry(3, text.encode())
    if kind == "binary":
        return entry(4, text.encode())
    if kind == "bool":
        return entry(5, b"\1" if text == "true" else b"\0")
    if kind in ("date32", "date64"):
        return entry(6, struct.pack(">q", (datetime.date.fromisoformat(text) - EPOCH).days * 86400000))
    if kind.startswith("timestamp"):
        day, clock = text.split("T")
        days = (datetime.date.fromisoformat(day) - EPOCH).days
        return entry(7, seconds_and_nanos(days * 86400 * 10**9 + nanos_of_clock(clock)))
    if kind.startswith("time"):
        return entry(8, struct.pack(">q", nanos_of_clock(text)))
    if kind.startswith("duration"):
        return entry(9, seconds_and_nanos(int(text.removesuffix("ms")) * 10**6))
    raise ValueError("no encoding for " + kind)


def named(label, *names):
    for name in names:
        label += struct.pack(">Q", len(name.encode())) + name.encode()
    return label


def cbc_mac(aes, message):
    state = bytes(16)
    for at in range(0, len(message), 16):
        state = aes.encrypt(bytes(a ^ b for a, b in zip(state, message[at : at + 16])))
    return state


# --- Comparison ------------------------------------------------------------------

compared = failed = 0


def same(what, got, want):
    global compared, failed
    compared += 1
    if got != want:
        failed += 1
        print("%s: computed %s, vectors have %s" % (what, got, want))


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json")
    with open(path, encoding="utf-8") as f:
        vectors = json.load(f)

    same("ziggurat", hashlib.sha256(b"".join(struct.pack(">d", v) for v in X + F + [TAIL])).hexdigest(), vectors["Ziggurat"])

    secrets = []
    for i, k in enumerate(vectors["Keys"]):
        secret = bytes.fromhex(k["Secret"])
        secrets.append(secret)
        same("key %d text" % i, base64.b64encode(secret).decode(), k["Text"])
        same("key %d id" % i, hkdf(secret, b"sdlfilter/key-id/2", 8).hex(), k["ID"])
        same("key %d digest subkey" % i, hkdf(secret, b"sdlfilter/digest/2", 32).hex(), k["DigestSubkey"])

    for i, s in enumerate(vectors["Streams"]):
        info = named(b"sdlfilter/stream/2", s["Mask"], s["Column"]) + struct.pack(">Q", s["Replicate"])
        same("stream %d info" % i, info.hex(), s["Info"])
        subkey = hkdf(secrets[s["Key"]], info, 32)
        same("stream %d subkey" % i, subkey.hex(), s["Subkey"])
        aes = AES256(subkey)

        def at_place(stream, record):
            return lambda d: aes.encrypt(struct.pack(">IIQ", d, stream, record))

        for r in s["Runs"]:
            for j, want in enumerate(r["Draws"]):
                same("stream %d, place (%d, %d)" % (i, r["Stream"], r["First"] + j), draws(at_place(r["Stream"], r["First"] + j)), want)
        run = b"".join(bytes.fromhex(draws(at_place(0, j))["Normal"]) for j in range(s["RunSHA256Of"]))
        same("stream %d, %d normals" % (i, s["RunSHA256Of"]), hashlib.sha256(run).hexdigest(), s["NormalsSHA256"])

    for i, s in enumerate(vectors["Releases"]):
        secret = secrets[s["Key"]]
        info = named(b"sdlfilter/place/2", s["Mask"], s["Done"], s["Column"], s["Scope"])
        same("release %d place info" % i, info.hex(), s["PlaceInfo"])
        subkey = hkdf(secret, info, 32)
        same("release %d place subkey" % i, subkey.hex(), s["PlaceSubkey"])
        place = AES256(subkey)
        info = named(b"sdlfilter/identity/2", s["Mask"], s["Done"], s["Column"])
        same("release %d identity info" % i, info.hex(), s["IdentityInfo"])
        subkey = hkdf(secret, info, 32)
        same("release %d identity subkey" % i, subkey.hex(), s["IdentitySubkey"])
        identity = AES256(subkey)

        def bound(stream, record, value):
            return lambda d: cbc_mac(place, struct.pack(">QQQ", d, stream, record) + canonical_bits(value))

        for j, want in enumerate(s["Places"]):
            at = (want.pop("Stream"), want.pop("Record"), from_bits(want.pop("Value")))
            same("release %d, place %d" % (i, j), draws(bound(*at)), want)
        for j, want in enumerate(s["Identified"]):
            digest, value = bytes.fromhex(want.pop("Digest")), from_bits(want.pop("Value"))
            message = lambda d: digest + canonical_bits(value) + struct.pack(">Q", d)
            same("release %d, identified %d" % (i, j), draws(lambda d: cbc_mac(identity, message(d))), want)
        run = b"".join(bytes.fromhex(draws(bound(0, j, float(j)))["Normal"]) for j in range(s["RunSHA256Of"]))
        same("release %d, %d normals" % (i, s["RunSHA256Of"]), hashlib.sha256(run).hexdigest(), s["NormalsSHA256"])
    names = {(s["PlaceInfo"]) for s in vectors["Releases"]}
    same("distinct names", len(names), len(vectors["Releases"]))

    for i, b in enumerate(vectors["Bindings"]):
        subkeys = hkdf(secrets[b["Key"]], b"sdlfilter/binding/2", 64)
        outer, inner = AES256(subkeys[:32]), AES256(subkeys[32:])
        message = struct.pack(">QQ", 0, len(b["Values"]))
        for v in b["Values"]:
            e = encode(v["Type"], v["Value"])
            if e[0] == 0:
                message += bytes(16)
            elif e[0] == 1:
                message += e[5:] + struct.pack(">Q", 1)
            else:
                entry_of_one = struct.pack(">QQ", len(e), 1) + e
                message += cbc_mac(inner, entry_of_one + bytes(-len(entry_of_one) % 16))
        state = cbc_mac(outer, message)
        same("binding %d" % i, to_bits(float(struct.unpack(">Q", state[:8])[0] >> 12)), b["Bound"])

    for i, d in enumerate(vectors["Digests"]):
        body = b"".join(encode(v["Type"], v["Value"]) for v in d["Values"])
        message = struct.pack(">QQ", len(body), len(d["Values"])) + body
        same("digest %d encoding" % i, message.hex(), d["Encoding"])
        message += bytes(-len(message) % 16)
        if len(body) == 5 * len(d["Values"]):  # all null or empty: nobody
            same("digest %d" % i, bytes(16).hex(), d["Digest"])
            continue
        same("digest %d" % i, cbc_mac(AES256(hkdf(secrets[d["Key"]], b"sdlfilter/digest/2", 32)), message).hex(), d["Digest"])

    for name, pairs in vectors["Functions"].items():
        for x, y in pairs:
            same("%s(%r)" % (name, from_bits(x)), to_bits(FUNCTIONS[name](from_bits(x))), y)

    print("%d values compared, %d differ" % (compared, failed))
    return 1 if failed or compared < 500 else 0


if __name__ == "__main__":
    sys.exit(main())
