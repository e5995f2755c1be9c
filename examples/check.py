#!/usr/bin/env python3
"""A third checker for results of `attsvm svm`, in exact rational numbers.

    python3 check.py DATA.npz RESULT.npz [TOL]

Optimal p, v and W in l2 (Frobenius), and infeasible results, from docs/certificates.md alone.
Exit status: 0 proved, 1 not proved, 2 not covered or no such file. Not for python -O.
"""
import ast
import json
import math
import struct
import sys
import zipfile
from fractions import Fraction
from itertools import product

CODES = dict(zip("f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1".split(), "efdbhiqBHIQ?"))


def read_npy(raw):
    """(shape, flat list in C order) of a .npy file."""
    size = struct.unpack("<H", raw[8:10])[0] if raw[6] == 1 else struct.unpack("<I", raw[8:12])[0]
    start = (10 if raw[6] == 1 else 12) + size
    head = ast.literal_eval(raw[start - size:start].decode())
    shape, code = head["shape"], CODES[head["descr"][1:]]
    count = math.prod(shape)
    order = ">" if head["descr"][0] == ">" else "<"
    flat = list(struct.unpack_from(f"{order}{count}{code}", raw, start))
    if head["fortran_order"]:
        strides = [math.prod(shape[:k]) for k in range(len(shape))]
        places = product(*(range(extent) for extent in shape))
        flat = [flat[sum(i * s for i, s in zip(place, strides))] for place in places]
    return shape, flat


def read_npz(path):
    with zipfile.ZipFile(path) as archive:
        return {name[:-4]: read_npy(archive.read(name)) for name in archive.namelist()}


def rows_of(array):
    (*_, d), flat = array
    return [[Fraction(x) for x in flat[k * d:k * d + d]] for k in range(len(flat) // d)]


def dot(x, y):
    return sum(a * b for a, b in zip(x, y) if a and b)


class Problem:
    def __init__(self, data, result):
        text = json.loads(bytes(result["settings"][1]).decode())
        self.settings = s = text | text.get("svm", {})  # older files have no inner object
        if s["problem"] not in ("p", "v", "W") or s["soft"] or s["rank"]:
            raise NotImplementedError(f"problem {s['problem']}, soft or with a rank limit")
        tokens = rows_of(data["E"] if "E" in data else data["X"])
        if "E" in data:
            tokens = [tokens[k] for k in data["tokens"][1]]
        if "offsets" in data:
            first = data["offsets"][1]
        else:
            n, T = data["X"][0][:2]
            first = [i * T for i in range(n + 1)]
        self.X = [tokens[a:b] for a, b in zip(first, first[1:])]
        self.labels = [1 if y > 0 else -1 for y in data.get("Y", data.get("y", ((), ())))[1]]
        self.Z = rows_of(data["Z"]) if "Z" in data else None
        self.map = rows_of(data["W"]) if "W" in data and s["problem"] == "p" else None
        self.head = [Fraction(x) for x in data["v"][1]] if "v" in data else None
        self.ids = iter(result["ids"][1])
        self.rows = dict(self.all_rows())

    def queries(self, i):
        """(query number, z, tokens that it sees) of sequence i."""
        s, X = self.settings, self.X[i]
        if s["problem"] != "W":
            return [(0, None, len(X))]
        if s["query"] in ("all", "causal"):
            return [(m, z, m + 1 if s["query"] == "causal" else len(X)) for m, z in enumerate(X)]
        if s["query"] == "given" and self.Z:
            M = len(self.Z) // len(self.X)
            return [(m, self.Z[i * M + m], len(X)) for m in range(M)]
        return [(0, X[-1 if s["query"] == "last" else s["query_token"]], len(X))]

    def is_copy(self, x, y, key):
        """Copies of the selected token have no row (unless duplicates are strict)."""
        if self.settings["duplicates"] == "strict":
            return False
        if x == y:
            return True
        if any(key) or not self.map or not self.head:
            return False
        if self.settings["head"] != "linear":
            raise NotImplementedError("keys that a map makes equal, with a nonlinear head")
        return dot(self.head, x) == dot(self.head, y)

    def all_rows(self):
        for i, X in enumerate(self.X):
            for m, z, visible in self.queries(i):
                alpha = next(self.ids)
                if self.settings["problem"] == "v":
                    yield (i, m, alpha), [self.labels[i] * x for x in X[alpha]]
                    continue
                for t in range(visible):
                    if t == alpha:
                        continue
                    delta = [a - b for a, b in zip(X[alpha], X[t])]
                    key = [dot(w, delta) for w in self.map] if self.map else delta
                    if not self.is_copy(X[alpha], X[t], key):
                        yield (i, m, t), [k * q for k in key for q in z] if z else key


def values(result, name):
    """An array with its low parts: the first part is the sum rounded to double."""
    total = [Fraction(x) for x in result[name][1]]
    before = result[name][1]
    for part in (name + "_lo", name + "_lo2"):
        if part in result:
            low = result[part][1]
            assert len(low) == len(before) and all(a + b == a for a, b in zip(before, low)), part
            total, before = [a + Fraction(b) for a, b in zip(total, low)], low
    return total


def named(result):
    shape, flat = result["active"]
    names = [tuple(flat[k * shape[1]:(k + 1) * shape[1]]) for k in range(shape[0])]
    return [n if len(n) == 3 else (n[0], 0, n[1]) for n in names]


def eliminate(rows, weights):
    """Weights with sum 0 near the given ones, or None: rows that depend keep their own."""
    order = sorted(range(len(rows)), key=lambda k: -weights[k])
    basis, found = [], [Fraction(0)] * len(rows)
    for k in order:
        row, made = list(rows[k]), {k: Fraction(1)}
        for pivot, other, combination in basis:
            if row[pivot]:
                f = row[pivot] / other[pivot]
                row = [a - f * b for a, b in zip(row, other)]
                for j, c in combination.items():
                    made[j] = made.get(j, 0) - f * c
        pivot = next((j for j, a in enumerate(row) if a), None)
        if pivot is not None:
            basis.append((pivot, row, made))
            continue
        for j, c in made.items():
            found[j] += weights[k] * c
    return found if sum(found) > 0 and min(found) >= 0 else None


def check(data, result, tol):
    problem = Problem(data, result)
    rows, status = problem.rows, problem.settings["status"]
    names, weights = named(result), values(result, "lambda")
    assert len(set(names)) == len(names) and rows.keys() >= set(names), "rows that do not exist"
    assert len(names) == len(weights) and all(w >= 0 for w in weights), "a negative multiplier"
    A, value = [rows[n] for n in names], sum(weights)
    G = [sum(c) for c in zip(*[[w * a for a in row] for w, row in zip(weights, A)])]
    lengths = [dot(row, row) for row in rows.values() if any(row)]  # squares; m = 1/sqrt(min)
    if status == "infeasible":
        assert value > 0, "the multipliers have no value"
        if not any(G) or eliminate(A, weights):
            return "infeasible: the rows contradict each other"
        assert problem.settings["norm"] in ("l2", "fro"), "no exact proof in this norm"
        assert value**2 * min(lengths) >= 10**36 * dot(G, G), "a solution is not excluded"
        return f"infeasible: every solution has norm at least {float(value**2 / dot(G, G))**.5:.3e}"
    if status != "optimal" or problem.settings["norm"] not in ("l2", "fro"):
        raise NotImplementedError(f"status {status} in norm {problem.settings['norm']}")
    theta = values(result, "theta")
    square = dot(theta, theta)
    if not rows:
        assert square == 0, "there are no rows, but theta is not 0"
        return "optimal: theta = 0"
    kappa = min(dot(row, theta) for row in rows.values())
    assert abs(kappa - 1) <= tol, f"the smallest margin is {float(kappa)!r}"
    assert square * min(lengths) < 10**36 * kappa**2, "the norm is out of reach"
    q = value**2 * kappa**2 / (square * dot(G, G)) if any(G) else Fraction(0)
    gap = (1 - q) / (1 + q)
    assert gap <= tol, f"the gap is {float(gap):.3e}"
    return f"optimal: norm {float(square)**.5:.17g}, gap at most {float(gap):.1e}"


def main(arguments):
    if len(arguments) not in (2, 3) or not __debug__:  # -O leaves out the assertions
        print(__doc__)
        return 2
    try:
        tol = Fraction(arguments[2] if len(arguments) > 2 else "1e-12")
        print("proved,", check(read_npz(arguments[0]), read_npz(arguments[1]), tol))
    except (AssertionError, ValueError, OverflowError) as error:  # the latter two: NaN, infinite
        print("NOT proved:", error)
        return 1
    except (NotImplementedError, OSError, zipfile.BadZipFile, KeyError, IndexError) as error:
        print("not covered:", repr(error))
        return 2


sys.exit(main(sys.argv[1:]))
