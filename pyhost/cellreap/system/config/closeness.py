# SPDX-License-Identifier: BSD-2-Clause
"""The policy of a configuration, if depth alone does not decide."""

from __future__ import annotations

from cellreap.model.closeness import Closeness, parse_share
from cellreap.system.config.schema import Config


def closeness_of(config: Config) -> Closeness | None:
    """The policy with its thresholds. None: depth alone decides."""
    policy = config.policy
    if policy.policy == "depth":
        return None
    least = tuple((name, *parse_share(share)) for name, share in policy.rsi_min.items())
    return Closeness(policy.policy, policy.fr_max, least)
