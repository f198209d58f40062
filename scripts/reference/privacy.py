#!/usr/bin/env python3
"""What two other programs say of the privacy of mechanisms: OpenDP and Google's dp-accounting.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install opendp==0.16.0 dp-accounting==0.6.0
    /tmp/venv/bin/python scripts/reference/privacy.py >internal/privacy/testdata/reference.json

Every list is [arguments…, result]:
  laplace         width, SD of the noise → ε (OpenDP: make_laplace, whose scale is SD/√2)
  gaussian        width, SD → ρ (OpenDP: make_gaussian)
  response        categories, probability to keep → ε (OpenDP: make_randomized_response)
  composed_pure   SD of several Laplace noises of width 1 → ε (OpenDP: make_composition)
  composed_rho    SD of several normal noises of width 1 → ρ (OpenDP: make_composition)
  delta_gaussian  SD of normal noise of width 1, ε → δ (dp-accounting: analytic Gaussian by its PLD accountant, pessimistic)
  epsilon_gaussian  SD, δ → ε (dp-accounting: the same)
  epsilon_rho     ρ, δ → ε (OpenDP: make_zCDP_to_approxDP)
  epsilon_renyi   SD, δ → ε (dp-accounting: its Rényi accountant, which takes orders from a list: not below the least)
  amplified       SD of Laplace noise of width 1, rate → ε at δ = 0 (dp-accounting: PLD of Poisson sampling)
"""
import json
import math
import sys

import dp_accounting
import opendp
import opendp.prelude as dp
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant

dp.enable_features("contrib", "idealized-numerics")
SPACE = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

WIDTHS = [(1.0, 1.0), (1000.0, 90.0), (60.0, 90.0), (2884.6, 4000.0), (0.5, 12.25), (1.0, 1000.0)]
SDS = [0.5, 1.0, 2.0, 5.0, 20.0]


def laplace(width, sd):
    return dp.m.make_laplace(*SPACE, scale=sd / math.sqrt(2)).map(width)


def gaussian(width, sd):
    return dp.m.make_gaussian(*SPACE, scale=sd).map(width)


def response(categories, keep):
    return dp.m.make_randomized_response([str(k) for k in range(categories)], prob=keep).map(1)


def composed(make, sds):
    return dp.c.make_composition([make(sd) for sd in sds]).map(1.0)


def epsilon_rho(rho, delta):
    m = dp.m.make_gaussian(*SPACE, scale=1.0)
    profile = dp.c.make_zCDP_to_approxDP(m).map(math.sqrt(2 * rho))
    return profile.epsilon(delta)


def accountant(kind, sd):
    a = kind()
    a.compose(dp_accounting.GaussianDpEvent(sd))
    return a


def amplified(sd, rate):
    return pld.from_laplace_mechanism(sd / math.sqrt(2), value_discretization_interval=1e-4, sampling_prob=rate).get_epsilon_for_delta(0)


LAPLACES, NORMALS = [[1.0, 2.0], [3.0, 5.0, 7.0], [90.0] * 4], [[1.0, 2.0], [3.0, 5.0, 7.0], [9.0] * 4]
DELTAS = [1e-3, 1e-6, 1e-9]
json.dump(
    {
        "made_with": {"opendp": opendp.__version__ if hasattr(opendp, "__version__") else "0.16.0", "dp_accounting": "0.6.0", "python": sys.version.split()[0]},
        "laplace": [[w, s, laplace(w, s)] for w, s in WIDTHS],
        "gaussian": [[w, s, gaussian(w, s)] for w, s in WIDTHS],
        "response": [[k, p, response(k, p)] for k, p in [(2, 0.75), (2, 0.9), (5, 0.6), (12, 0.85)]],
        "composed_pure": [[*s, composed(lambda sd: dp.m.make_laplace(*SPACE, scale=sd / math.sqrt(2)), s)] for s in LAPLACES],
        "composed_rho": [[*s, composed(lambda sd: dp.m.make_gaussian(*SPACE, scale=sd), s)] for s in NORMALS],
        "delta_gaussian": [[s, e, accountant(PLDAccountant, s).get_delta(e)] for s in SDS for e in (0.1, 1.0, 3.0)],
        "epsilon_gaussian": [[s, d, accountant(PLDAccountant, s).get_epsilon(d)] for s in SDS for d in DELTAS],
        "epsilon_rho": [[r, d, epsilon_rho(r, d)] for r in (0.001, 0.02, 0.5, 2.0) for d in DELTAS],
        "epsilon_renyi": [[s, d, accountant(RdpAccountant, s).get_epsilon(d)] for s in SDS for d in DELTAS],
        "amplified": [[s, q, amplified(s, q)] for s in (0.5, 1.0, 5.0) for q in (0.01, 0.1, 0.5)],
    },
    sys.stdout,
    indent=1,
)
print()
